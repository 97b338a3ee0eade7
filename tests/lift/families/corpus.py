"""Corpora of hand-written spellings: a file a family, with the facts of its programs and the programs themselves.

A file begins with facts in YAML: `sizes` (name to number, or to a list of numbers for the sizes it is tried at),
`tables`, `weights` (their extents may be names of sizes), `results`, `natives`, `assume`. A line `--- KIND TITLE` opens
a program: `same` ones mean the same and lift to one graph; `rounds` ones compute the same numbers up to rounding, by
another expression, and of some inputs other bits; `also` opens another problem of the family: the programs after it are
compared with it. A program without a header of its own is all Main.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from lifting import Array, Facts, Table

from spatial.graph import describe
from spatial.ir.graph import At, Block, Fn, Graph, Read, Value

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Family:
    """The facts that all programs of a file share, at one of its sizes."""

    name: str
    facts: Facts
    shapes: Mapping[str, tuple[int, ...]]
    results: tuple[str, ...]

    def inputs(self, way: int, seed: int = 5) -> dict[str, Array]:
        """Drawn inputs; of `way` 1 and 2, the one-item integers are at their least and their greatest."""
        rng = np.random.default_rng(seed)
        found: dict[str, Array] = {}
        for name, shape in self.shapes.items():
            table = self.facts.tables.get(name)
            if table is None or table.range is None:
                found[name] = rng.normal(size=shape)
            elif shape == (1,) and way:
                found[name] = np.full(shape, table.range[way - 1])
            else:
                found[name] = rng.integers(table.range[0], table.range[1] + 1, size=shape)
        return found

    def ways(self) -> range:
        """The inputs worth trying."""
        single = any(t.range is not None and self.shapes[n] == (1,) for n, t in self.facts.tables.items())
        return range(3 if single else 1)


@dataclass(frozen=True)
class Spelling:
    """A program: `kind` is "same", "rounds" or "also"; `plain`: the source it is compared with."""

    family: str
    title: str
    kind: str
    source: str
    plain: str

    @property
    def name(self) -> str:
        return f"{self.family}: {self.title}"


def names() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("*.spellings"))


def spellings(family: str) -> list[Spelling]:
    """All programs of a family, each with the one it is compared with."""
    header, *parts = (FOLDER / f"{family}.spellings").read_text().split("\n--- ")
    natives = "".join(f"## To native {n} (x: Float) -> Float\n" for n in _yaml(header).get("natives", ()))
    found: list[Spelling] = []
    plain = ""
    for part in parts:
        heading, _, body = part.partition("\n")
        kind, _, title = heading.partition(" ")
        assert kind in ("same", "rounds", "also"), heading
        source = natives + (body if "## Main" in body else f"## Main\n{body}") + "\n"
        if kind == "also" or not found:
            plain = source
        found.append(Spelling(family, title, kind, source, plain))
    assert len({s.title for s in found}) == len(found), f"two spellings of {family} of one title"
    return found


def every() -> Iterator[Spelling]:
    for family in names():
        yield from spellings(family)


@functools.cache
def facts(family: str, size: int = 0) -> Family:
    """The facts of a family at the first or second of its sizes."""
    read = _yaml((FOLDER / f"{family}.spellings").read_text().split("\n--- ")[0])
    sizes = {n: v[size] if isinstance(v, list) else v for n, v in read.get("sizes", {}).items()}

    def number(value: int | str) -> int:
        return value if isinstance(value, int) else int(eval(value, {"__builtins__": {}}, dict(sizes)))

    def extents(shape: list[int | str]) -> tuple[int, ...]:
        return tuple(number(s) for s in shape)

    tables: dict[str, Table] = {}
    for name, row in read.get("tables", {}).items():
        low_high = tuple(number(v) for v in row["range"]) if "range" in row else None
        tables[name] = Table(extents(row["shape"]), row["type"].lower(), low_high, row.get("state", False))  # type: ignore[arg-type]
    weights = {n: extents(shape) for n, shape in read.get("weights", {}).items()}
    shapes = {**{n: t.dims for n, t in tables.items()}, **weights}
    known = Facts(sizes, tables, tuple(weights), tuple(read.get("assume", ())))
    return Family(family, known, shapes, tuple(read.get("results", ("y",))))


@functools.cache
def _yaml(text: str) -> dict[str, Any]:
    return yaml.safe_load(text) or {}


# ---------------------------------------------------------------- the family of a graph


def kinds(graph: Graph) -> tuple[str, ...]:
    """The families of a graph's statements, sorted; maps and copies apart, which expressions add and take away."""
    found = (describe.family(s) for node in graph.nodes for s in (node.body if isinstance(node, Block) else (node,)))
    return tuple(sorted(f for f in found if f not in ("map", "copy")))


def places(graph: Graph) -> frozenset[tuple[str, tuple[At, ...]]]:
    """Where maps read named tables of as many axes as they have themselves."""
    found: set[tuple[str, tuple[At, ...]]] = set()
    for _, statement, _ in describe.statements_of(graph):
        for piece in statement.pieces:
            pending: list[Value] = [piece.value, *piece.guards]
            while pending:
                match pending.pop():
                    case Read(tensor, at) if graph.tensors[tensor].name and len(at) == len(piece.par) > 1:
                        found.add((graph.tensors[tensor].name, at))
                    case Fn(args=args):
                        pending += args
                    case _:
                        pass
    return frozenset(found)
