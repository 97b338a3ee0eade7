"""`spatial show ARTIFACT [SECTION]`: the text form of an artifact, whole or in part."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spatial.build.artifacts import Artifact, open_artifact
from spatial.errors import UsageError, nearest

if TYPE_CHECKING:
    from spatial.ir.bundle import Bundle
    from spatial.ir.program import Program


def run(options: argparse.Namespace) -> int:
    """Print it."""
    for line in _lines(open_artifact(options.artifact), options.section):
        print(line)
    return 0


def _lines(artifact: Artifact, section: str | None) -> Iterator[str]:
    parts = _parts(artifact)
    name, _, number = (section or "").partition(":")
    if not section:
        for part in parts.values():
            yield from part
    elif name not in parts:
        known = ", ".join(parts)
        raise UsageError(f"there is no section {name}", f"there are {known}", nearest(name, parts))
    elif number:
        yield _body(_program(artifact, name), name, number)
    else:
        yield from parts[name]


def _parts(artifact: Artifact) -> dict[str, Iterator[str]]:
    """Every section by name, each made when it is printed."""
    if artifact.bundle is None:
        return {"program": _text(_program(artifact, "program"), "")}
    bundle = artifact.bundle
    parts = {"tables": _tables(bundle), "memory": _memory(bundle)}
    if artifact.certificate is not None:
        parts["certificate"] = _certificate(artifact)
    return parts | {e.name: _text(e.program, f"# program {e.name}") for e in bundle.entries}


def _program(artifact: Artifact, name: str) -> Program:
    if artifact.bundle is None:
        assert artifact.program is not None
        return artifact.program
    return artifact.bundle.entry(name).program


def _text(program: Program, title: str) -> Iterator[str]:
    from spatial.ir.text import print_program

    if title:
        yield title
    yield print_program(program).rstrip("\n")


def _body(program: Program, name: str, number: str) -> str:
    from spatial.ir.text import print_body

    if not number.isdecimal() or int(number) >= len(program.bodies):
        raise UsageError(f"program {name} has no body {number}", f"it has 0 to {len(program.bodies) - 1}")
    return print_body(program.bodies[int(number)]).rstrip("\n")


def _tables(bundle: Bundle) -> Iterator[str]:
    yield f"# target {bundle.target.name}"
    for e in bundle.entries:
        told = ((what, names) for what, names in (("takes", e.inputs), ("gives", e.results), ("carries", e.state)))
        yield f"# program {e.name}: " + "; ".join(f"{what} {', '.join(names)}" for what, names in told if names)
    for table in bundle.tables:
        bounds = "" if table.range is None else f" {table.range[0]}..{table.range[1]}"
        yield f"# table {table.name}: {table.role} {table.kind} {list(table.dims)}{bounds}"
    for relation in bundle.assume:
        yield f"# assume {relation}"
    for role, value in bundle.generate:
        yield f"# generate {role}: {value if isinstance(value, str) else list(value)}"


def _memory(bundle: Bundle) -> Iterator[str]:
    for p in bundle.memory:
        data = f" data {p.data[:12]}" if p.data else ""
        owner = f" of {p.program}" if p.program else ""
        yield f"# {p.address:>12} {p.bytes:>12} bytes: {p.tensor}{owner}{data}"


def _certificate(artifact: Artifact) -> Iterator[str]:
    found = artifact.certificate
    assert found is not None
    yield f"# certificate of bundle {found.bundle}"
    for name, low, high in found.ranges:
        yield f"# assumes {name} in {low}..{high}"
    for relation in found.relations:
        yield f"# assumes {relation}"
    for name, count in found.totals:
        yield f"# {name}: {count}"
    for claim in found.bodies:
        yield f"# body {claim.body[:12]}: scratch {claim.scratch} bytes"
