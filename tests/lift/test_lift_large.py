"""Ints beyond 64 bits and beyond the Floats: what the interpreter makes of them, or a refusal that says so."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from lifting import Facts, Table, agree, graph_of, lifted, parse

from spatial.ir import wire
from spatial.ir.graph import Graph
from spatial.logos.interpret import interpret

FACTS = Facts({"n": 6}, {"x": Table((6,), "float"), "q": Table((6,), "int", (-9, 9))})
INPUTS = {"x": np.linspace(-1.0, 2.0, 6), "q": np.arange(6) - 2}


def grown(use: str, sign: str = "+") -> str:
    """A use of k, an Int that sums past the largest Float, or to less than the least."""
    return f"""## Main
Let k be 0.
Repeat for i from 1 to 40:
    Set k to k {sign} 10 ** 307.
Let y be {use}.
"""


USES = (
    "min(k, item 1 of x)",
    "max(item 2 of x, k)",
    "item 1 of x / k",
    "k / item 1 of x",
    "pow(k, 0.5)",
    "min(sqrt(k), 2.0)",
    "k // 10 ** 306 + item 1 of q",
)


@pytest.mark.parametrize("use", USES)
def test_an_int_beyond_the_floats_is_infinite_to_functions_of_floats(use: str) -> None:
    for sign in "+-":
        source = grown(use, sign)
        graph = graph_of(source, FACTS)
        ((_, y),) = graph.results
        given = {name: value.tolist() for name, value in INPUTS.items()}
        want = interpret(parse(source), {**FACTS.sizes, **given}).variables["y"]
        assert np.array_equal(evaluate(graph, INPUTS)[y].value, np.asarray(want), equal_nan=True)


@pytest.mark.parametrize("use", ["k + item 1 of x", "item 1 of x - k", "k * item 1 of x", "0.5 * k"])
def test_an_int_beyond_the_floats_beside_one_is_refused(use: str) -> None:
    (missing,) = lifted(grown(use), FACTS).missing
    assert "stands beside a Float" in missing.why
    assert "start from 1.0" in missing.mend
    agree(grown(use).replace("307", "306"), FACTS, INPUTS)


def listed(item: str, kind: str = "Float") -> str:
    return f"## Main\nLet y be a new Seq of {kind}.\nRepeat for i from 1 to n:\n    Push {item} to y.\n"


@pytest.mark.parametrize(
    "item", ["min(i * 10 ** 307, 2.0)", "min(i * 10 ** 307, item i of x)", "i * i * 10 ** 20", "10 ** 19 + item i of q"]
)
def test_an_int_that_a_graph_cannot_name_is_refused(item: str) -> None:
    (missing,) = lifted(listed(item), FACTS).missing
    assert "and a program on a chip has 64" in missing.why
    assert "Floats" in missing.mend
    assert missing.line == 4


@pytest.mark.parametrize("item", ["i * 10 ** 17", "-(2 ** 62) * 2 + i", "2 ** 62 + item i of q", "i * i * 10 ** 16"])
def test_an_int_of_64_bits_is_named(item: str) -> None:
    graph = agree(listed(item, "Int"), FACTS, INPUTS)
    assert wire.unpack(wire.pack(graph), Graph) == graph


def test_a_product_that_64_bits_may_not_hold_has_no_range() -> None:
    graph = graph_of(listed("(i * 10 ** 10 + 3) * (i * 10 ** 10 + 1)", "Int"), FACTS)
    assert [t.range for t in graph.tensors] == [None]
    assert wire.unpack(wire.pack(graph), Graph) == graph
