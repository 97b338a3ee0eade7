"""Bundles: all programs of a deployment linked over one memory, as one self-contained record.

A bundle names its big data (stored weights, constant fills) by digest; everything else it holds. Tables shared by
several programs have one name, one placement and one meaning. Knows no path and no spec.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.ir.graph import Graph
from spatial.ir.program import Program
from spatial.target import Target


@dataclass(frozen=True)
class Placement:
    """Where a tensor lies: `bytes` from `address` on. `program` is "" for a table of the deployment, else whose
    scratch it is.

    `data`: SHA-256 (hex) of the raw bytes a weight or fill starts with; "" for zeros (state) or nothing (the rest).
    """

    program: str
    tensor: str
    address: int
    bytes: int
    data: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the deployment as its host sees it: `dims` and `kind` as the spec says, IR `shape`, declared range.

    `role`: "input", "weight", "state" or "result".
    """

    name: str
    dims: tuple[int, ...]
    kind: str
    role: str
    shape: tuple[int, int, int]
    range: tuple[int, int] | None = None


@dataclass(frozen=True)
class Entry:
    """A program of the deployment: what it takes, gives and carries, by table name; and the graph it was lowered
    from."""

    name: str
    program: Program
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    state: tuple[str, ...]
    graph: Graph | None = None


@dataclass(frozen=True)
class Bundle:
    """A linked deployment. `assume`: relations between inputs, as `a + b <= c` texts; `generate`: roles of a
    language model.

    `generate` maps prefill, decode, tokens, start, count, token, position, logits (a name each) and stop (ids) to
    their values.
    """

    target: Target
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]
    memory: tuple[Placement, ...]
    assume: tuple[str, ...] = ()
    generate: tuple[tuple[str, str | tuple[int, ...]], ...] = ()

    def entry(self, name: str) -> Entry:
        """The program of that name."""
        return next(e for e in self.entries if e.name == name)

    def table(self, name: str) -> Table:
        """The table of that name."""
        return next(t for t in self.tables if t.name == name)
