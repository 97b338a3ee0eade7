"""The compiler's digest: by content, floor by floor, and no floor imports what its list leaves out."""

import ast
from pathlib import Path

import pytest

from spatial import errors
from spatial.build.fingerprint import FLOORS, LIBRARIES, compiler_digest, floors_digest, library_versions
from spatial.errors import Bug

PACKAGE = Path(errors.__file__).parent


def test_content_counts_and_other_floors_do_not(tmp_path):
    for name in ("ir/a.py", "ir/deep/b.py", "lift/c.py", "errors.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    floors = ("errors", "ir")
    base = floors_digest(floors, tmp_path)
    assert floors_digest(tuple(reversed(floors)), tmp_path) == base
    (tmp_path / "lift/c.py").write_text("x = 2\n")
    (tmp_path / "ir/note.txt").write_text("no code\n")
    assert floors_digest(floors, tmp_path) == base
    (tmp_path / "ir/deep/b.py").write_text("x = 3\n")
    changed = floors_digest(floors, tmp_path)
    assert changed != base
    (tmp_path / "ir/deep/b.py").rename(tmp_path / "ir/deep/d.py")
    assert floors_digest(floors, tmp_path) not in (base, changed)


def test_every_kind_has_a_digest_of_its_own_and_unknown_kinds_are_our_bug():
    assert len({compiler_digest(kind) for kind in FLOORS}) == len(FLOORS)
    assert set(LIBRARIES) == set(FLOORS)
    with pytest.raises(Bug):
        compiler_digest("paint")


def test_absent_libraries_are_named_so():
    assert library_versions(("no-such-library-here",)) == {"no-such-library-here": "absent"}


def files_of(floor: str) -> list[Path]:
    module = PACKAGE / (floor + ".py")
    return [module] if module.is_file() else sorted((PACKAGE / floor).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The modules of `spatial` a file imports anywhere, as paths from the package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{a.name}" for a in node.names}
            found |= {m if (PACKAGE.parent / (m.replace(".", "/") + ".py")).exists() else node.module for m in inner}
    return {m.removeprefix("spatial.").replace(".", "/") for m in found if m.startswith("spatial.")}


@pytest.mark.parametrize("kind", sorted(FLOORS))
def test_a_floor_imports_only_what_its_kind_names(kind):
    """Else a change there would not redo what it can change."""
    floors = FLOORS[kind]
    for floor in floors:
        for path in files_of(floor):
            for module in imported(path):
                assert any(module == f or module.startswith(f + "/") for f in floors), f"{path} imports {module}"
