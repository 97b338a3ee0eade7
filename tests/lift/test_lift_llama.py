"""The shipped Llama sources: what they lift to, and that the graphs compute what the interpreter says."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import agree, graph_of
from llama_sources import REAL, SMALL, caches, facts, program, weights

from spatial.ir.graph import Block, Graph


def lift_llama(name: str, **sizes: int) -> Graph:
    return graph_of(program(name), facts(**sizes), ("logits",))


@pytest.mark.parametrize("position", [0, 1, 5])
def test_decode_computes_what_the_interpreter_says(position: int) -> None:
    given = {**weights(**SMALL), **caches(50, **SMALL), "token": np.array([7]), "position": np.array([position])}
    agree(program("decode.lg"), facts(**SMALL), given, ("logits",))


@pytest.mark.parametrize(("start", "count"), [(0, 3), (0, 1), (3, 3), (2, 2)])
def test_prefill_computes_what_the_interpreter_says(start: int, count: int) -> None:
    given = {
        **weights(**SMALL),
        **caches(60, **SMALL),
        "tokens": np.array([3, 10, 0]),
        "start": np.array([start]),
        "count": np.array([count]),
    }
    agree(program("prefill.lg"), facts(**SMALL), given, ("logits",))


@pytest.mark.parametrize("name", ["decode.lg", "prefill.lg"])
def test_a_layer_is_nineteen_statements(name: str) -> None:
    """Two norms, seven products (two joined with their residual), rotations, attention in five, the gate."""
    graph = lift_llama(name, **REAL)
    (block,) = (n for n in graph.nodes if isinstance(n, Block))
    assert block.trip == 30
    assert len(block.body) == 19
    for s in block.body:
        for p in s.pieces:
            assert len(p.accs) <= 1
    products = sum(1 for s in block.body for p in s.pieces for a in p.accs if a.op == "sum" and not a.guards)
    assert products == 7 + 2 + 1  # with the two sums of squares, and the scores


def test_each_layer_is_lifted_once() -> None:
    """Forty layers and two give the same graph but for the extents that say how many."""
    few, many = (lift_llama("decode.lg", **{**SMALL, "layers": n}) for n in (2, 40))
    assert [type(n) for n in few.nodes] == [type(n) for n in many.nodes]
    for a, b in zip(few.nodes, many.nodes, strict=True):
        if isinstance(a, Block) and isinstance(b, Block):
            assert a.body == b.body and a.carried == b.carried
            assert (a.trip, b.trip) == (2, 40)
        else:
            assert a == b


def test_state_and_results() -> None:
    graph = lift_llama("prefill.lg", **SMALL)
    assert [name for name, _ in graph.results] == ["logits"]
    assert [name for name, _, _ in graph.state] == ["k_cache", "v_cache"]
    assert graph.tensors[graph.results[0][1]].dims == (11,)
    for _, first, last in graph.state:
        assert graph.tensors[first].role == "state"
        assert first != last
