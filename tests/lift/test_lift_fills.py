"""Build-time constants: formulas kept, values correctly rounded."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from effort import effort
from graphs import at, var
from hypothesis import given, settings
from hypothesis import strategies as st
from lifting import Facts, graph_of, parse

from spatial.ir.affine import Affine
from spatial.ir.graph import Fn, Graph, Num, Piece, Value, Var
from spatial.lift.algebra import exact
from spatial.lift.algebra.fills import evaluate_fill, fill_values
from spatial.logos.interpret import interpret

ROTARY = """## To native cos (x: Float) -> Float
## Main
Let angles be a new Seq of (Seq of Float).
Repeat for p from 0 to positions - 1:
    Let row be a new Seq of Float.
    Repeat for i from 0 to head / 2 - 1:
        Push cos(p * pow(100000.0, 0.0 - 2.0 * i / head)) to row.
    Push row to angles.
Let y be a new Seq of (Seq of Float).
Repeat for p from 1 to positions:
    Let row be a new Seq of Float.
    Repeat for i from 1 to head / 2:
        Push item i of (item p of angles) * item i of (item p of x) to row.
    Push row to y.
"""


def the_fill(graph: Graph) -> tuple[Piece, tuple[int, ...]]:
    ((piece, dims),) = [(t.fill, t.dims) for t in graph.tensors if t.fill is not None]
    return piece, dims


def test_a_rotary_table_is_a_fill_of_a_few_hundred_calls_a_value() -> None:
    graph = graph_of(ROTARY, Facts({"positions": 256, "head": 64}, {}, ("x",)))
    piece, dims = the_fill(graph)
    assert dims == (256, 32)
    values, calls = effort(lambda: evaluate_fill(piece, dims))
    assert calls < 300 * values.size
    assert values.dtype == np.float64
    with mpmath.workprec(200):
        for p, i in [(0, 0), (1, 1), (100, 7), (255, 31), (254, 3)]:
            step = float(mpmath.mpf(100000.0) ** mpmath.mpf(-2.0 * i / 64))
            assert values[p, i] == float(mpmath.cos(mpmath.mpf(p * step)))


def test_a_fill_of_integers_is_inlined_where_it_is_linear() -> None:
    source = """## Main
Let steps be a new Seq of Int.
Repeat for i from 0 to 4:
    Push 2 * i + 1 to steps.
Let y be a new Seq of Float.
Repeat for i from 1 to 5:
    Push item (item i of steps) of x to y.
"""
    graph = graph_of(source, Facts({}, {}, ("x",)))
    assert not any(t.fill for t in graph.tensors)
    assert [t.dims for t in graph.tensors if t.role == "weight"] == [(9,)]


NATIVES = ("exp", "log", "sin", "cos", "tanh", "erf")


@given(st.sampled_from(NATIVES), st.floats(-700, 700, allow_nan=False))
@settings(max_examples=60, deadline=None)
def test_natives_are_correctly_rounded(fn: str, x: float) -> None:
    got = exact.apply(fn, x)
    if fn == "log" and x <= 0:
        assert math.isnan(got) or got == -math.inf
        return
    with mpmath.workprec(400):
        want = getattr(mpmath, fn)(mpmath.mpf(x))
        if abs(want) > mpmath.mpf(2) ** -1022:
            assert got == float(want)


@given(st.floats(1e-8, 1e8), st.floats(-20, 20))
@settings(max_examples=60, deadline=None)
def test_pow_is_correctly_rounded(x: float, y: float) -> None:
    got = exact.power(x, y)
    with mpmath.workprec(400):
        assert got == float(mpmath.mpf(x) ** mpmath.mpf(y))


@pytest.mark.parametrize(
    ("x", "y", "want"), [(2.0, 3.0, 8.0), (9.0, 0.5, 3.0), (-2.0, 3.0, -8.0), (0.0, -1.0, math.inf)]
)
def test_pow_where_it_is_exact(x: float, y: float, want: float) -> None:
    assert exact.power(x, y) == want


HALVES = (0.49999999999999994, 0.5, 1.5, 2.5, 4503599627370495.5, 4503599627370497.0, 9.3e18, 1.0e300)


@pytest.mark.parametrize("value", [sign * v for v in HALVES for sign in (1.0, -1.0)])
@pytest.mark.parametrize("fn", ("floor", "ceil", "round"))
def test_whole_numbers_are_those_of_the_interpreter(fn: str, value: float) -> None:
    want = interpret(parse(f"## Main\nLet y be {fn}(x).\n"), {"x": value}).variables["y"]
    piece = Piece((), (), (), Fn(fn, (Num(value, "float"),), "int"))
    assert fill_values(piece, ()).item() == want


def test_what_a_fill_shares_is_spelled_once() -> None:
    source = """## Main
Let y be a new Seq of Float.
Repeat for c from 0 to 3:
    Let z be c / 5.0.
    Repeat for step from 1 to 8:
        Set z to z * z - z * 0.5 + c * 0.25.
    Push z to y.
"""
    piece, _ = the_fill(graph_of(source, Facts({}, {})))
    pending: list[Value] = [piece.value]
    seen: dict[int, Value] = {}
    while pending:
        value = pending.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            pending += value.args if isinstance(value, Fn) else ()
    assert len(seen) <= 60  # written out, more than 3 ** 8


def test_integers_beyond_64_bits_stay_exact_on_the_way_to_a_float() -> None:
    far = 1 << 62
    whole = Fn("float", (Var(Affine.of(0, {"v0": far})),), "float")
    piece = Piece((5,), (), at(var(0)), whole)
    assert fill_values(piece, (5,)).tolist() == [float(n * far) for n in range(5)]
    rest = Fn("rem", (Var(Affine.of(5, {"v0": 4 * far})), Num(1000, "int")), "int")
    assert fill_values(Piece((3,), (), at(var(0)), rest), (3,)).tolist() == [(n * 4 * far + 5) % 1000 for n in range(3)]


@pytest.mark.parametrize("sign", (1, -1))
def test_integers_beyond_the_floats_are_infinite_as_floats(sign: int) -> None:
    far = sign * 10**307
    least = Fn("min", (Fn("float", (Var(Affine.of(0, {"v0": far})),), "float"), Num(2.0, "float")), "float")
    source = f"## Main\nLet y be min(n * {sign} * 10 ** 307, 2.0).\n"
    want = [interpret(parse(source), {"n": n}).variables["y"] for n in range(40)]
    assert fill_values(Piece((40,), (), at(var(0)), least), (40,)).tolist() == want
    single = Piece((), (), (), Fn("float", (Num(far * 100, "int"),), "float"))
    assert fill_values(single, ()).item() == math.copysign(math.inf, far)
