"""Small layers to write programs of: a product, a normed row, a residual sum; how their graphs and values are held."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lifting import Facts, Table, agree, floats, graph_of

from spatial.ir.graph import Block, Graph

FUNCTIONS = """## To product (x: Seq of Float, m: Seq of Seq of Float) -> Seq of Float:
    Let result be a new Seq of Float.
    Repeat for j from 1 to n:
        Let total be 0.0.
        Repeat for i from 1 to n:
            Set total to total + item i of (item j of m) * item i of x.
        Push max(total * 0.3, 0.01 * total) to result.
    Return result.

## To normed (x: Seq of Float, gain: Seq of Float) -> Seq of Float:
    Let result be a new Seq of Float.
    Let total be 0.0.
    Repeat for j from 1 to n:
        Set total to total + item j of x * item j of x.
    Repeat for j from 1 to n:
        Push item j of x / sqrt(total + 0.5) * item j of gain to result.
    Return result.

## To plus (x: Seq of Float, y: Seq of Float) -> Seq of Float:
    Let result be a new Seq of Float.
    Repeat for j from 1 to n:
        Push item j of x + item j of y to result.
    Return result.

## Main
"""
FACTS = Facts(
    {"n": 4, "layers": 3, "steps": 2},
    {
        "x": Table((4,), "float"),
        "z": Table((4,), "float"),
        "log": Table((6, 4), "float", None, True),
        "rows": Table((5, 4), "float"),
        "spot": Table((1,), "int", (0, 4)),
    },
    ["w", "g", "one", "two", "words"],
)


def graph(body: str, results: Sequence[str] = ("y",)) -> Graph:
    """The graph of a body of Main, held to the interpreter on two draws of its inputs."""
    found = graph_of(FUNCTIONS + body, FACTS, results)
    for seed in (1, 2):
        given = {
            t.name: floats(seed + sum(map(ord, t.name)), *t.dims) if t.kind == "float" else np.array([3 * seed % 5])
            for t in found.tensors
            if t.name
        }
        agree(FUNCTIONS + body, FACTS, given, results, found)
    return found


def trips(found: Graph) -> list[int]:
    """The instances of each block."""
    return [n.trip for n in found.nodes if isinstance(n, Block)]
