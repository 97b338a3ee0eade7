"""Lifting in tests: a source to its graph, and the graph held to the interpreter of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from evaluate import evaluate

from spatial.check.graphs import check_graph
from spatial.check.verdict import Log
from spatial.ir.graph import Block, Graph, Lifted
from spatial.lift import Facts, Table, flat_tables, lift
from spatial.logos.interpret import Seq, interpret, show_value
from spatial.logos.parser import parse, parse_files
from spatial.logos.syntax import Program

Array = npt.NDArray[Any]

__all__ = [
    "Facts",
    "Table",
    "agree",
    "flat_tables",
    "floats",
    "graph_of",
    "ints",
    "lifted",
    "parse",
    "parse_files",
    "refusals",
    "statements",
]


def lifted(source: str | Program, facts: Facts, results: Sequence[str] | None = ("y",)) -> Lifted:
    program = parse(source, "test.lg") if isinstance(source, str) else source
    return lift(program, facts, results)


def graph_of(source: str | Program, facts: Facts, results: Sequence[str] | None = ("y",)) -> Graph:
    found = lifted(source, facts, results)
    assert found.graph is not None, found.missing
    assert not found.missing
    return found.graph


def refusals(source: str, facts: Facts, results: Sequence[str] | None = ("y",)) -> list[tuple[int, str]]:
    """Lines and reasons of what is refused."""
    found = lifted(source, facts, results)
    assert found.graph is None
    return [(m.line, m.why) for m in found.missing]


def statements(graph: Graph) -> int:
    return sum(len(n.body) if isinstance(n, Block) else 1 for n in graph.nodes)


def floats(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def ints(seed: int, low: int, high: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(low, high + 1, size=shape)


def agree(
    source: str | Program,
    facts: Facts,
    inputs: Mapping[str, Array],
    results: Sequence[str] = ("y",),
    graph: Graph | None = None,
    tolerance: float = 1e-12,
    flat: frozenset[str] | None = None,
) -> Graph:
    """Holds the graph to the interpreter on these inputs (results, state afterwards, lines shown) and to the checker.

    `flat`: the tables that the program indexes as one sequence, where that is known already.
    """
    program = parse(source, "test.lg") if isinstance(source, str) else source
    if graph is None:
        graph = graph_of(program, facts, results)
    if flat is None:
        flat = flat_tables(program, facts) if any(v.ndim > 1 for v in inputs.values()) else frozenset[str]()
    given = {name: (value.ravel() if name in flat else value).tolist() for name, value in inputs.items()}
    lines: list[str] = []
    ran = interpret(program, {**facts.sizes, **given}, output=lines.append)
    held = evaluate(graph, inputs)
    log = Log()
    check_graph(graph, "graph", log)
    assert log.verdict().accepted, [str(f) for f in (*log.failures, *log.unsupported)]
    for name, number in graph.results:
        _same(held[number].value, ran.variables[name], name, graph.tensors[number].kind, tolerance)
    assert {name for name, _ in graph.results} == set(results)
    for name, _, last in graph.state:
        _same(
            held[last].value.ravel() if name in flat else held[last].value,
            ran.variables[name],
            name,
            graph.tensors[last].kind,
            tolerance,
        )
    shown = [
        "".join(p if isinstance(p, str) else show_value(held[p].value.tolist()) for p in s.parts) for s in graph.shows
    ]
    assert shown == lines
    for n, tensor in enumerate(graph.tensors):
        if tensor.kind == "int" and tensor.range is not None and n in held and held[n].value.size:
            assert tensor.range[0] <= held[n].value.min() and held[n].value.max() <= tensor.range[1]
    return graph


def _same(got: Array, want: object, name: str, kind: str, tolerance: float) -> None:
    expected = want.to_array() if isinstance(want, Seq) else np.asarray(want)
    assert got.shape == expected.shape, (name, got.shape, expected.shape)
    if kind == "int":
        assert expected.dtype.kind == "i", name
        assert np.array_equal(got, expected), (name, got, expected)
    else:
        assert expected.dtype.kind == "f", name
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        assert np.allclose(got, expected, rtol=0, atol=tolerance * scale), (name, got, expected)
