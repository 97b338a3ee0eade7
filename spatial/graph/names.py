"""Names for what a program keeps beside its tables: none that the program itself has given."""

from __future__ import annotations

from collections.abc import Set

from spatial.ir.graph import Graph


def names_of(graph: Graph) -> frozenset[str]:
    """The names of a program's tables and results."""
    return frozenset(t.name for t in graph.tensors) | {name for name, _ in graph.results}


def untaken(name: str, taken: Set[str]) -> str:
    """`name`, with as many `_` before it as make it none of those `taken`."""
    while name in taken:
        name = f"_{name}"
    return name
