"""The shipped Llama sources: what they lift to, and that the graphs compute what the interpreter says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lifting import Array, Facts, Table, agree, floats, graph_of, parse_files

from spatial.ir.graph import Block, Graph

SOURCES = Path(__file__).parents[2] / "deployments" / "llama"
WEIGHTS = ["embed", "attn_norm", "wq", "wk", "wv", "wo", "ffn_norm", "wgate", "wup", "wdown", "output_norm"]
SMALL = {"layers": 2, "width": 8, "heads": 4, "groups": 2, "head": 2, "ffn": 12, "vocab": 11, "positions": 6, "rows": 3}
REAL = {
    "layers": 30,
    "width": 576,
    "heads": 9,
    "groups": 3,
    "head": 64,
    "ffn": 1536,
    "vocab": 49152,
    "positions": 256,
    "rows": 32,
}


def facts(**sizes: int) -> Facts:
    sizes = {**sizes, "kv": sizes["groups"] * sizes["head"]}
    positions, rows, vocab = sizes["positions"], sizes["rows"], sizes["vocab"]
    cache = Table((sizes["layers"], positions, sizes["kv"]), "float", None, True)
    tables = {
        "tokens": Table((rows,), "int", (0, vocab - 1)),
        "start": Table((1,), "int", (0, positions - rows)),
        "count": Table((1,), "int", (1, rows)),
        "token": Table((1,), "int", (0, vocab - 1)),
        "position": Table((1,), "int", (0, positions - 1)),
        "k_cache": cache,
        "v_cache": cache,
    }
    return Facts(sizes, tables, WEIGHTS)


def program(name: str):
    return parse_files([(f, (SOURCES / f).read_text()) for f in ("layers.lg", name)])


def lift_llama(name: str, **sizes: int) -> Graph:
    return graph_of(program(name), facts(**sizes), ("logits",))


def weights(
    layers: int, width: int, heads: int, groups: int, head: int, ffn: int, vocab: int, **_: int
) -> dict[str, Array]:
    shapes = {
        "embed": (vocab, width),
        "attn_norm": (layers, width),
        "wq": (layers, heads * head, width),
        "wk": (layers, groups * head, width),
        "wv": (layers, groups * head, width),
        "wo": (layers, width, heads * head),
        "ffn_norm": (layers, width),
        "wgate": (layers, ffn, width),
        "wup": (layers, ffn, width),
        "wdown": (layers, width, ffn),
        "output_norm": (width,),
    }
    return {name: floats(n, *shape) for n, (name, shape) in enumerate(shapes.items())}


def caches(seed: int, layers: int, positions: int, groups: int, head: int, **_: int) -> dict[str, Array]:
    return {name: floats(seed + n, layers, positions, groups * head) for n, name in enumerate(("k_cache", "v_cache"))}


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
