"""Powers that are one rounded operation are that operation; others keep their own. Floors of quotients of Floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evaluate import evaluate
from lifting import Facts, Table, agree, graph_of, ints, parse, refusals

from spatial.ir.graph import Graph
from spatial.logos.interpret import Seq, interpret

FACTS = Facts({"n": 8}, {"x": Table((8,), "float"), "q": Table((8,), "int", (-9, 9))}, ())
SPECIAL = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5e200, 3.0e-200, -2.75])


def mapped(value: str) -> str:
    return f"## Main\nLet y be a new Seq of Float.\nRepeat for k from 1 to n:\n    Push {value} to y.\n"


def graph(value: str) -> Graph:
    return graph_of(mapped(value), FACTS)


@pytest.mark.parametrize(
    ("power", "operation"),
    (
        ("x[k] ** 2", "x[k] * x[k]"),
        ("pow(x[k], 2.0)", "x[k] * x[k]"),
        ("(x[k] + 1.0) ** 2", "(x[k] + 1.0) * (x[k] + 1.0)"),
        ("x[k] ** 1 + 2.0", "x[k] + 2.0"),
        ("pow(x[k], -1)", "1.0 / x[k]"),
        ("x[k] ** 0 * x[k] + 1.0", "1.0 * x[k] + 1.0"),
        ("q[k] ** 3", "q[k] * q[k] * q[k]"),
    ),
)
def test_a_power_of_one_operation_is_that_operation(power: str, operation: str):
    assert graph(power) == graph(operation)


@pytest.mark.parametrize(
    ("power", "other"),
    (
        ("x[k] ** 3", "x[k] * x[k] * x[k]"),
        ("x[k] ** 4", "x[k] ** 2 * x[k] ** 2"),
        ("x[k] ** 0.5", "sqrt(x[k])"),
        ("x[k] ** -2", "1.0 / (x[k] * x[k])"),
        ("x[k] ** 2.0000001", "x[k] * x[k]"),
        ("2.0 ** x[k]", "x[k] ** 2"),
        ("(0.0 - x[k]) ** 2", "0.0 - x[k] ** 2"),
        ("x[k] // 2.0", "x[k] / 2.0"),
        ("x[k] // 2.0", "x[k] * 0.5"),
    ),
)
def test_what_rounds_otherwise_is_another_graph(power: str, other: str):
    assert graph(power) != graph(other)


@pytest.mark.parametrize("power", ("x[k] ** 2", "pow(x[k], 2.0)", "x[k] ** 1.0", "x[k] ** -1", "x[k] ** 0"))
def test_a_power_of_what_is_no_plain_number_is_that_of_the_interpreter(power: str):
    text = mapped(power)
    found = evaluate(graph(power), {"x": SPECIAL})
    (_, number) = graph(power).results[0]
    want = interpret(parse(text), {"n": 8, "x": SPECIAL.tolist()}).variables["y"]
    assert isinstance(want, Seq)
    assert np.allclose(found[number].value, want.to_array(), rtol=1e-15, atol=0.0, equal_nan=True)
    assert np.array_equal(np.signbit(found[number].value), np.signbit(want.to_array()))


@pytest.mark.parametrize(
    "value", ("(0.1 * q[k]) // 0.1", "x[k] // 0.3", "x[k] - x[k] // 2.5 * 2.5", "q[k] // 2.5", "7 // x[k]")
)
def test_floors_of_quotients_are_those_of_the_interpreter(value: str):
    for seed in (1, 2):
        given = {"x": np.random.default_rng(seed).normal(size=8), "q": ints(seed, -9, 9, 8)}
        agree(mapped(value), FACTS, given, tolerance=0.0)


LISTED = ["2 ** k", "2 ** (k - 1) + q[k]", "(-3) ** (8 - k)", "2 ** (q[k] + 9)", "1.5 + 10 ** (k % 3)", "0 ** (k - 1)"]


@pytest.mark.parametrize("power", LISTED)
def test_a_power_of_a_known_int_is_an_item_of_the_list_of_its_powers(power: str) -> None:
    for seed in range(2):
        agree(mapped(power), FACTS, {"q": ints(seed, -9, 9, 8)} if "q[k]" in power else {})
    listed = f"## Main\nLet powers be [{', '.join(str(2**n) for n in range(9))}].\n"
    spelled = mapped("item (k + 1) of powers").replace("## Main\n", listed)
    assert graph("2 ** k") == graph_of(spelled, FACTS)


@pytest.mark.parametrize("power", ["2 ** (k - 2)", "2 ** q[k]", "k ** k", "q[k] ** k", "2 ** (k * 8)", "k ** (0 - 2)"])
def test_other_powers_of_ints_are_refused(power: str) -> None:
    ((_, why),) = refusals(mapped(power), FACTS)
    assert "a power of Ints" in why
