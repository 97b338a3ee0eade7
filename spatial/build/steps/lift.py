"""lift: a source to its tensor graph.

Expects: the files aside; `results`; and under `facts` the values of the names the source mentions, no others.
Ensures: `graph`, the wire form of a `Graph`; `side`, that of the `Lifted` without its graph: places and counts, which
only messages read; `tables`, the names of the inputs, weights and state the graph has. Raises SourceError or Refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spatial.build.canonical import encode
from spatial.build.steps.given import Given
from spatial.build.steps.missing import problems_of
from spatial.build.steps.sources import read_program, with_paths
from spatial.errors import Refused
from spatial.ir import wire
from spatial.ir.graph import Graph, Lifted
from spatial.lift import Facts, Table, lift


def run(given: Given) -> dict[str, bytes]:
    """The graph of a source, and its side file."""
    lifted, graph = with_paths(given, lambda: whole(lifted_program(given)))
    return {
        "graph": wire.pack(graph),
        "side": wire.pack(replace(lifted, graph=None)),
        "tables": encode(table_names(graph)),
    }


def lifted_program(given: Given) -> Lifted:
    """What lifting makes of the program, be it whole or not."""
    facts, results = facts_of(given.params["facts"]), tuple(given.params["results"])
    return lift(read_program(given), facts, results)


def facts_of(facts: Mapping[str, Any]) -> Facts:
    """The record of what parameters say."""
    tables = {
        name: Table(tuple(t["dims"]), t["kind"], tuple(t["range"]) if t["range"] else None, t["state"])
        for name, t in facts["tables"].items()
    }
    return Facts(dict(facts["sizes"]), tables, tuple(facts["weights"]), tuple(facts["assume"]))


def table_names(graph: Graph) -> list[str]:
    """The tables and weights a graph reads or writes, sorted."""
    return sorted({t.name for t in graph.tensors if t.role in ("input", "weight", "state")})


def whole(lifted: Lifted) -> tuple[Lifted, Graph]:
    """`lifted` and its graph, if nothing is missing. Raises Refused with every statement that is."""
    if lifted.graph is None or lifted.missing:
        missing, depending = lifted.missing, lifted.depending
        count = lifted.statements - len(missing) - len(depending)
        raise Refused(problems_of("lifted", count, lifted.statements, missing, depending))
    return lifted, lifted.graph
