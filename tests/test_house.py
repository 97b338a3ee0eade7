"""The house rules that no linter knows: imports go down the floors, files say what they are, and stay readable.

The floors are those of the listing in `spatial/__init__.py`. Each rule is a function that lists violations of a text,
so that it is itself held to examples which break it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import spatial

ROOT = Path(__file__).parents[1]

FLOORS = (
    "errors",
    "numerics",
    "target",
    "ir",
    "logos",
    "graph",
    "lift",
    "select",
    "plan",
    "passes",
    "parallel",
    "lowering",
    "calibration",
    "build",
    "report",
    "cli",
    "__main__",
)
"""Modules and packages directly under `spatial`, from the ground up. A file imports its own floor and those below."""

BESIDE: dict[str, tuple[str, ...]] = {
    "check": ("spatial.errors", "spatial.numerics", "spatial.target", "spatial.ir"),
    "simulate": ("spatial.errors", "spatial.numerics", "spatial.target", "spatial.ir"),
}
"""Packages beside the stack, and all they may import: what the compiler believes must not be believed there."""

BESIDE_NEVER = ("spatial.ir.validate",)
"""Parts of `ir` that hold the compiler's own judgement; the packages beside the stack judge for themselves."""

USERS_OF_BESIDE = ("build", "report", "cli", "__main__")
"""The floors that may call the packages beside the stack; below them the compiler does without."""

ROOMS: dict[str, tuple[str, ...]] = {
    "lift": ("algebra", "context", "carried", "execution", "canonical", "roots", "outcome", "lifter", "__init__"),
}
"""Floors of which the rooms have an order of their own, from the ground up."""

LONGEST = 450
"""Lines of the longest file a person is asked to read in one sitting."""

LONGER: dict[str, str] = {
    "spatial/logos/syntax.py": "the two closed families of the syntax tree belong on one page",
}
"""Files that may be longer, each with its reason."""

SKIPPED = {"artifacts", "build", "dist", "data"}
TEXTS = {".py", ".md", ".yaml", ".toml", ".lg", ".case", ".txt", ".cfg", ".ini", ""}


# ---------------------------------------------------------------- rules


def imported(module: str, source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of ours that `source`, the text of `module`, imports, wherever it does so.

    `module` ends in `.__init__` for a package's own file. `from a import b` gives `a.b`.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=name, names=names, level=level):
                parents = module.split(".")[:-level] if level else []
                base = ".".join([*parents, *([name] if name else [])])
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name
            case _:
                pass


def upward(module: str, source: str) -> list[str]:
    """The imports of `source`, the text of `module`, that the floors forbid."""
    here = module.split(".")[1]
    found: list[str] = []
    for line, name in imported(module, source):
        if name.split(".")[0] != "spatial" or name == "spatial.__version__":
            continue
        there = name.split(".")[1] if "." in name else ""
        if not _allowed(here, there, name) or not _in_order(module, name):
            found.append(f"{module}:{line} imports {name}")
    return found


def _allowed(here: str, there: str, name: str) -> bool:
    if here == there:
        return True
    if here in BESIDE:
        wanted = any(f"{name}.".startswith(f"{allowed}.") for allowed in BESIDE[here])
        return wanted and not any(f"{name}.".startswith(f"{never}.") for never in BESIDE_NEVER)
    if there in BESIDE:
        return here in USERS_OF_BESIDE
    return here in FLOORS and there in FLOORS and FLOORS.index(there) < FLOORS.index(here)


def _in_order(module: str, name: str) -> bool:
    """Whether an import within one floor keeps to the order of its rooms."""
    here, there = (f"{m}.__init__".split(".")[1:3] for m in (module, name))
    rooms = ROOMS.get(here[0], ())
    if here[0] != there[0] or not rooms:
        return True
    return here[1] in rooms and there[1] in rooms and rooms.index(there[1]) <= rooms.index(here[1])


def circle(sources: Mapping[str, str]) -> list[str]:
    """Modules that import each other in a circle, local imports and those for types counted; [] if none do.

    `sources`: the text of each module, by a name as in `imported`. A package's own file counts where it is named.
    """
    names = {module.removesuffix(".__init__"): module for module in sources}
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        found = graph.setdefault(module, set())
        for _, name in imported(module, source):
            while name and name not in names:
                name = name.rpartition(".")[0]
            if name:
                found.add(names[name])
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


_FOLDERS = "home|root|work|tmp|mnt|Users|opt|srv"
_HOSTS = ("pypi.org", "pypi.io", "pythonhosted.org", "huggingface.co", "anaconda.org", "crates.io")
_NOT_OURS = re.compile(
    rf"{re.escape('/'.join(('..', 'shared')))}|(?<![\w.~}}])/(?:{_FOLDERS})/[\w.]|{'|'.join(map(re.escape, _HOSTS))}"
)
"""Paths of one machine, folders outside the repository, and hosts of registries."""


def foreign(source: str) -> list[str]:
    """Lines of `source` that name a place only some machines have."""
    lines = enumerate(source.splitlines(), 1)
    return [f"line {n}: {found[0]}" for n, line in lines if (found := _NOT_OURS.search(line))]


# ---------------------------------------------------------------- files


def files(*suffixes: str) -> list[Path]:
    """The repository's own files with these suffixes, from its root, sorted; nothing built, hidden or copied."""
    found: list[Path] = []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part != ".ci" for part in parts)
        skipped = parts[0] in SKIPPED or "data" in parts or "__pycache__" in parts or parts[0].endswith(".egg-info")
        if path.is_file() and not hidden and not skipped and path.suffix in suffixes:
            found.append(path.relative_to(ROOT))
    return found


PYTHON = files(".py")
PACKAGE = [path for path in PYTHON if path.parts[0] == "spatial"]


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


@pytest.mark.parametrize("path", PACKAGE, ids=str)
def test_imports_go_down_the_floors(path: Path) -> None:
    if path.parts[1:] == ("__init__.py",):
        assert not list(imported("spatial.__init__", (ROOT / path).read_text()))
    else:
        assert upward(_module(path), (ROOT / path).read_text()) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle({_module(path): (ROOT / path).read_text() for path in PACKAGE}) == []


def test_every_part_of_the_package_stands_on_a_floor_that_its_docstring_lists() -> None:
    tops = {path.parts[1].removesuffix(".py") for path in PACKAGE} - {"__init__"}
    assert tops <= {*FLOORS, *BESIDE}
    listing = spatial.__doc__ or ""
    unlisted = [top for top in sorted(tops - {"__main__"}) if not re.search(rf"^ {{4}}.*\b{top}\b", listing, re.M)]
    assert unlisted == []


@pytest.mark.parametrize("path", PYTHON, ids=str)
def test_a_file_opens_with_a_docstring_and_reads_in_one_sitting(path: Path) -> None:
    source = (ROOT / path).read_text()
    assert ast.get_docstring(ast.parse(source)), "the file does not say what it is"
    assert str(path) in LONGER or source.count("\n") <= LONGEST, "look for the second idea inside"


def test_exceptions_are_needed() -> None:
    assert [name for name in LONGER if (ROOT / name).read_text().count("\n") <= LONGEST] == []


@pytest.mark.parametrize("path", [path for path in files(*TEXTS) if path.name != "test_house.py"], ids=str)
def test_no_file_names_a_place_that_other_machines_lack(path: Path) -> None:
    assert foreign((ROOT / path).read_text()) == []


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci/run").read_text()
    command = re.search(r'test_command="(.*)"', script)
    assert command
    assert f"\npython3 -m venv .venv && {command[1]}\n" in (ROOT / "README.md").read_text()
    assert "python3 -m venv .venv" in script


# ---------------------------------------------------------------- the rules can fail


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("spatial.ir.body", "from spatial.build.store import Store"),
        ("spatial.ir.body", "def f():\n    import spatial.lift.forms as forms"),
        ("spatial.ir.body", "from ..lift import forms"),
        ("spatial.ir.text.__init__", "from ...plan import cost"),
        ("spatial.errors", "from spatial import numerics"),
        ("spatial.numerics", "import importlib\nimportlib.import_module('spatial.target')"),
        ("spatial.passes.verify", "from spatial.check import check"),
        ("spatial.check.rates", "from spatial.ir import validate"),
        ("spatial.check.rates", "from spatial.ir.validate import validate"),
        ("spatial.check.rates", "from spatial.simulate import run"),
        ("spatial.simulate.run", "from spatial.plan.cost import price"),
        ("spatial.simulate.run", "import spatial"),
        ("spatial.lift.algebra.values", "from spatial.lift.context.state import Seq"),
        ("spatial.lift.context.machine", "from spatial.lift import lift"),
        ("spatial.lift.corridor", "from spatial.lift.algebra import arith"),
    ],
)
def test_an_import_that_goes_up_is_found(module: str, source: str) -> None:
    assert len(upward(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("spatial.build.link", "from spatial.check import check\nfrom spatial.ir.bundle import Bundle"),
        ("spatial.passes.verify", "from spatial.passes.order import PASSES\nfrom . import tile\nimport numpy"),
        ("spatial.check.rates", "from spatial.ir.body import Body\nfrom spatial import target, errors"),
        ("spatial.lift.canonical.graph", "from . import units\nfrom spatial.lift.algebra import arith"),
        ("spatial.lift.__init__", "from spatial.lift.lifter import lift"),
        ("spatial.cli", "from spatial import __version__\nfrom spatial.build.spec import load_deployment"),
    ],
)
def test_an_import_that_goes_down_is_let_be(module: str, source: str) -> None:
    assert upward(module, source) == []


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "


@pytest.mark.parametrize(
    ("back", "long"),
    [
        ("from spatial.lift.a import A", 3),
        ("def f():\n    from spatial.lift import a\n    return a", 3),
        (f"{FOR_TYPES}from .a import A", 3),
        ("import spatial.lift.c as c", 2),
        ("from spatial.lift import c", 2),
        ("from .. import lift", 3),
    ],
)
def test_a_circle_of_imports_is_found(back: str, long: int) -> None:
    sources = {
        "spatial.lift.__init__": "from spatial.lift.a import A",
        "spatial.lift.a": "from spatial.lift.b import B",
        "spatial.lift.b": "from spatial.lift.c import C",
        "spatial.lift.c": "from spatial.errors import SourceError",
        "spatial.errors": "",
    }
    assert circle(sources) == []
    found = circle({**sources, "spatial.lift.c": back})
    assert found[0] == found[-1]
    assert set(found) <= set(sources)
    assert len(found) >= long


@pytest.mark.parametrize(
    "parts", [("..", "shared", "x"), ("see ", "home", "me"), ("a ", "tmp", "b"), ("https:", "", "pypi" + ".org")]
)
def test_a_place_that_other_machines_lack_is_found(parts: tuple[str, ...]) -> None:
    assert len(foreign("fine\n" + "/".join(parts))) == 1


@pytest.mark.parametrize("text", ["#!/usr/bin/env bash", "docs/work/x", "a/tmp/b", "${HOME}/opt/x", "pypi package"])
def test_other_paths_are_let_be(text: str) -> None:
    assert foreign(text) == []
