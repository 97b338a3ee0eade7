"""What follows from a change: each row of the table in `docs/deployments.md`, tried."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from repository import Repository

from spatial.build import actions
from spatial.build.fingerprint import FLOORS

EVERYTHING = {
    "lift:put",
    "lift:sum",
    "agree",
    "lower:put",
    "lower:sum",
    "pack:w",
    "pack:b",
    "link",
    "certify",
    "deploy",
}


@pytest.fixture(autouse=True, scope="module")
def compiler() -> Iterator[dict[str, str]]:
    """The digests of the compiler's floors, held still while tests run: by kind of step, to change where one is due."""
    digests = {kind: f"{kind} as it was" for kind in FLOORS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actions, "compiler_digest", digests.__getitem__)
        patch.setattr(actions, "known_compiler", digests.__getitem__)
        yield digests


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which `small` was built."""
    repository = Repository.make(tmp_path_factory.mktemp("built") / "repository")
    made, _ = repository.build()
    assert made == EVERYTHING
    return repository.root


@pytest.fixture
def repository(built: Path, tmp_path: Path) -> Repository:
    """A copy of it, to change."""
    shutil.copytree(built, tmp_path / "repository", symlinks=True)
    return Repository(tmp_path / "repository")


def edit(path: Path, pattern: str, by: str) -> None:
    """Replace the one place of `path` that matches."""
    text, count = re.subn(pattern, by, path.read_text())
    assert count == 1, f"{pattern} occurs {count} times"
    path.write_text(text)


def comment(r: Repository) -> None:
    edit(r.source("put"), "## Main\n", "## Main\n\n# A remark.\n")


def local_name(r: Repository) -> None:
    r.source("put").write_text(r.source("put").read_text().replace("total", "amount"))


def statement(r: Repository) -> None:
    edit(r.source("sum"), r"Set total to total \+ item j", "Set total to total + 2.0 * item j")


def bias_bytes(r: Repository) -> None:
    edit(r.spec, "scale: 0.5}", "scale: 0.5, around: {b: 1}}")


def stored_otherwise(r: Repository) -> None:
    edit(r.spec, "w: q8_0, b", "w: f32, b")


def target_figure(r: Repository) -> None:
    edit(r.root / "targets/reference.yaml", r"section_cycles: \{value: \d+", "section_cycles: {value: 1999")


def target_remark(r: Repository) -> None:
    path = r.root / "targets/reference.yaml"
    path.write_text(path.read_text() + "\n# A remark.\n")


def spec_spelling(r: Repository) -> None:
    text = r.spec.read_text().replace("w: q8_0, b: f32", '"b": "f32", w: q8_0  # in another order\n ')
    r.spec.write_text(text + "\n")


def touched(r: Repository) -> None:
    for path in (r.spec, r.source("put"), r.source("sum")):
        os.utime(path, (1, 1))


def renamed(r: Repository) -> None:
    edit(r.spec, "  sum: {", "  total: {")


def wider_range(r: Repository) -> None:
    edit(r.spec, r"range: \[0, rows - 1\]", "range: [0, rows - 2]")


def removed(r: Repository) -> None:
    edit(r.spec, r"  sum: .*\n", "")


def unpublished(r: Repository) -> None:
    shutil.rmtree(r.root / "artifacts/small")


def damaged(r: Repository) -> None:
    blobs = sorted((r.root / "artifacts/small/blobs/sha256").iterdir(), key=lambda p: -p.stat().st_size)
    data = blobs[0].read_bytes()
    blobs[0].unlink()
    blobs[0].write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def nothing(r: Repository) -> None:
    """Change nothing."""


LINKED = {"link", "certify", "deploy"}


@pytest.mark.parametrize(
    ("change", "redone"),
    [
        (nothing, set[str]()),
        (touched, set[str]()),
        (spec_spelling, set[str]()),
        (target_remark, set[str]()),
        (comment, {"lift:put"}),
        (local_name, {"lift:put"}),
        (statement, {"lift:sum", "agree", "lower:sum", *LINKED}),
        (bias_bytes, {"pack:b", *LINKED}),
        (stored_otherwise, {"agree", "pack:w", "lower:put", *LINKED}),
        (target_figure, {"agree", "lower:put", "lower:sum", *LINKED}),
        (wider_range, {"lift:put", "agree", "lower:put", *LINKED}),
        (renamed, LINKED),
        (removed, {"agree", "lower:put", *LINKED}),  # its table need no longer suit two
        (unpublished, {"deploy"}),
        (damaged, {"deploy"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_change_redoes_what_it_touches(
    repository: Repository, change: Callable[[Repository], None], redone: set[str]
) -> None:
    change(repository)
    made, digest = repository.build()
    assert made == redone
    again, same = repository.build()
    assert (again, same) == (set(), digest)


@pytest.mark.parametrize(
    ("kind", "redone"),
    [
        ("certify", {"certify"}),
        ("pack", {"pack:w", "pack:b"}),
        ("lift", {"lift:put", "lift:sum"}),
        ("lower", {"lower:put", "lower:sum"}),
    ],
)
def test_a_changed_compiler_redoes_what_it_makes_and_stops_where_bytes_are_equal(
    repository: Repository, compiler: dict[str, str], kind: str, redone: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(compiler, kind, f"{kind} as it is now")
    made, _ = repository.build()
    assert made == redone


def test_what_a_comment_changes_is_not_in_the_deployment(repository: Repository) -> None:
    _, before = repository.build()
    comment(repository)
    _, after = repository.build()
    assert before == after


def test_another_folder_and_an_empty_store_give_the_same_bytes(repository: Repository, tmp_path: Path) -> None:
    _, before = repository.build()
    moved = Repository(tmp_path / "elsewhere" / "deep")
    shutil.copytree(repository.root, moved.root, symlinks=True)
    assert moved.build() == (set(), before)
    shutil.rmtree(moved.root / "artifacts/store")
    made, after = moved.build()
    assert made == EVERYTHING - {"deploy"}
    assert after == before


def test_a_second_deployment_that_says_the_same_shares_everything(repository: Repository) -> None:
    _, first = repository.build()
    shutil.copy(repository.spec, repository.root / "deployments/other.yaml")
    made, second = repository.build("other")
    assert made == {"deploy"}
    assert first == second


def test_a_damaged_object_of_the_store_is_made_again(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    _, before = repository.build()
    for path in (repository.root / "artifacts/store/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    shutil.rmtree(repository.root / "artifacts/small")
    made, after = repository.build()
    assert made == EVERYTHING
    assert after == before
    assert "set aside" in capsys.readouterr().err
