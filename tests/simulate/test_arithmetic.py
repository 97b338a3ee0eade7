"""Each operation and rounding of the vector datapath against exact references, and its independence of shape."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import REFERENCE, TF32

from spatial.errors import Bug, Refused
from spatial.ir.body import OPS
from spatial.numerics import Array, round_to
from spatial.simulate.arithmetic import Arithmetic, fit

F32 = Arithmetic.of(REFERENCE)
BF16 = Arithmetic("bf16", "i32")
NARROW = Arithmetic.of(TF32)
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
INTS = st.integers(-(1 << 31), (1 << 31) - 1)


def page(*values: float, dtype: object = np.float32) -> Array:
    return np.array([values], dtype)


def ints(*values: int) -> Array:
    return page(*values, dtype=np.int64)


def nearest_f32(value: Fraction) -> float:
    """The float32 nearest to an exact value, ties to even, by brute comparison of neighbours."""
    with np.errstate(over="ignore"):
        guess = np.float32(float(value))
    near = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    finite = [x for x in near if np.isfinite(x)]
    return float(min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.uint32)) & 1)))


@given(SINGLES, SINGLES)
def test_float_arithmetic_is_correctly_rounded(x: float, y: float):
    exact = {"add": Fraction(x) + Fraction(y), "sub": Fraction(x) - Fraction(y), "mul": Fraction(x) * Fraction(y)}
    if y:
        exact["div"] = Fraction(x) / Fraction(y)
    for op, value in exact.items():
        if abs(value) < 2**127:
            with np.errstate(all="ignore"):
                assert float(F32.apply(op, (page(x), page(y)))[0, 0]) == nearest_f32(value), op


@given(SINGLES, SINGLES)
def test_a_narrow_datapath_rounds_each_result_once(x: float, y: float):
    a, b = BF16.enter(page(x)), BF16.enter(page(y))
    with np.errstate(all="ignore"):
        for op in ("add", "sub", "mul"):
            exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](
                a.astype(np.float64), b.astype(np.float64)
            )
            found = BF16.apply(op, (a, b))
            if op == "mul" or abs(float(exact[0, 0])) == 0:
                np.testing.assert_array_equal(found, round_to("bf16", exact).astype(np.float32))
            assert round_to("bf16", found).astype(np.float32)[0, 0] == found[0, 0] or np.isnan(found[0, 0])


@pytest.mark.parametrize("op", ("exp", "log", "sin", "cos", "tanh", "erf", "rsqrt", "sqrt", "reciprocal"))
@pytest.mark.parametrize("x", (0.001, 0.5, 1.0, 1.7, 3.25, 20.5))
def test_transcendental_functions_are_rounded_once(op: str, x: float):
    exact = {"rsqrt": lambda v: 1 / mpmath.sqrt(v), "reciprocal": lambda v: 1 / v}.get(op, getattr(mpmath, op, None))
    with mpmath.workprec(200):
        value = exact(mpmath.mpf(float(np.float32(x))))
        expected = nearest_f32(Fraction(int(mpmath.floor(value * mpmath.mpf(2) ** 180)), 2**180))
    assert float(F32.apply(op, (page(x),))[0, 0]) == expected


@pytest.mark.parametrize("op", [op for op, arity in OPS.items() if arity == 1 and op not in ("not",)])
def test_results_do_not_depend_on_shape_strides_or_company(op: str):
    values = np.abs(np.random.default_rng(1).standard_normal((5, 7, 3, 11)).astype(np.float32)) + np.float32(0.01)
    whole = F32.apply(op, (values,))
    turned = F32.apply(op, (values.transpose(3, 1, 0, 2),)).transpose(2, 1, 3, 0)
    alone = np.array([F32.apply(op, (values[i : i + 1, j : j + 1],)) for i in range(5) for j in range(7)])
    spread = F32.apply(op, (np.repeat(values, 2, axis=-1)[..., ::2],))
    assert whole.tobytes() == np.ascontiguousarray(turned).tobytes() == spread.tobytes()
    assert whole.tobytes() == alone.reshape(whole.shape).tobytes()


def test_rounding_halves_go_away_from_zero():
    found = F32.apply("round", (page(0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609.0, -0.0),))
    assert found.tolist() == [[1, -1, 2, 3, -3, 0, 8388609, 0]]


def test_min_and_max_pass_over_nan_and_prefer_the_second_of_equals():
    nan = math.nan
    assert F32.apply("max", (page(nan, 1, nan, 2), page(1, nan, nan, 3))).tolist()[0][:2] == [1, 1]
    assert F32.apply("min", (page(nan, 1, 5, 2), page(1, nan, 4, 3))).tolist() == [[1, 1, 4, 2]]
    assert np.isnan(F32.apply("max", (page(nan), page(nan)))).all()
    zeros = F32.apply("max", (page(0.0, -0.0), page(-0.0, 0.0)))
    assert np.signbit(zeros).tolist() == [[True, False]]


def test_select_shows_no_nan_it_did_not_choose():
    chosen = F32.apply("select", (page(1, 0, dtype=np.bool_), page(2, 3), page(math.nan, 4)))
    assert chosen.tolist() == [[2, 4]]


@given(INTS, INTS)
def test_integer_division_goes_down_or_toward_zero(x: int, y: int):
    found = {op: int(F32.apply(op, (ints(x), ints(y)))[0, 0]) for op in ("floordiv", "mod", "truncdiv", "rem")}
    if y == 0:
        assert set(found.values()) == {0}
        return
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    assert found == {"floordiv": x // y, "mod": x % y, "truncdiv": quotient, "rem": x - quotient * y}


@given(st.integers(-(1 << 62), 1 << 62), st.integers(-(1 << 62), 1 << 62))
def test_integers_are_exact_or_refused(x: int, y: int):
    for op, exact in (("add", x + y), ("sub", x - y), ("mul", x * y)):
        for path, bits in ((F32, 64), (NARROW, 32)):
            if -(1 << (bits - 1)) <= exact < 1 << (bits - 1):
                assert int(path.apply(op, (ints(x), ints(y)))[0, 0]) == exact
            else:
                with pytest.raises(Refused, match="leaves i"):
                    path.apply(op, (ints(x), ints(y)))


def test_the_least_integer_has_no_negative():
    for op in ("neg", "abs"):
        with pytest.raises(Refused, match="leaves i64"):
            F32.apply(op, (ints(-(1 << 63)),))
    assert F32.apply("abs", (ints(-5, 5),)).tolist() == [[5, 5]]


def test_comparisons_and_connectives():
    x, y = page(1, 2, math.nan), page(2, 2, math.nan)
    assert F32.apply("lt", (x, y)).tolist() == [[True, False, False]]
    assert F32.apply("le", (x, y)).tolist() == [[True, True, False]]
    assert F32.apply("eq", (x, y)).tolist() == [[False, True, False]]
    assert F32.apply("ne", (x, y)).tolist() == [[True, False, True]]
    both = F32.apply("and", (F32.apply("le", (x, y)), F32.apply("not", (F32.apply("eq", (x, y)),))))
    assert both.tolist() == [[True, False, False]]
    assert F32.apply("or", (F32.apply("lt", (x, y)), F32.apply("eq", (x, y)))).tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    "op, args",
    (
        ("add", (page(1), ints(1))),
        ("add", (page(1, dtype=np.bool_), page(1, dtype=np.bool_))),
        ("and", (page(1), page(1))),
        ("select", (page(1), page(1), page(1))),
        ("div", (ints(4), ints(2))),
        ("mod", (page(4), page(2))),
        ("exp", (ints(1),)),
    ),
)
def test_operands_of_the_wrong_kind_are_refused(op: str, args: tuple[Array, ...]):
    with pytest.raises(Refused):
        F32.apply(op, args)


def test_an_unknown_operation_is_a_bug():
    with pytest.raises(Bug):
        F32.apply("sinh", (page(1),))


def test_conversions():
    assert F32.convert("i32", page(0.5, 1.5, 2.5, -0.5)).tolist() == [[0, 2, 2, 0]]
    assert F32.convert("f32", ints(16777217)).tolist() == [[16777216]]
    assert F32.convert("bf16", page(1.0039062)).tolist() == [[1.0]]
    assert F32.convert("f32", page(1, 0, dtype=np.bool_)).tolist() == [[1.0, 0.0]]
    assert F32.convert("i8", page(1, 0, dtype=np.bool_)).tolist() == [[1, 0]]
    for bad in (math.nan, math.inf, 2147483648.0):
        with pytest.raises(Refused, match="i32"):
            F32.convert("i32", page(bad))
    with pytest.raises(Refused, match="does not fit i8"):
        F32.convert("i8", ints(128))


def test_one_rounding_to_bfloat16_from_binary64_and_from_wide_integers():
    tie = np.array([1 + 2**-8, 1 + 2**-8 + 2**-40, -(1 + 2**-8 + 2**-40)])
    assert round_to("bf16", tie).astype(np.float64).tolist() == [1.0, 1.0078125, -1.0078125]
    wide = np.array([(1 << 56) + (1 << 48), (1 << 56) + (1 << 48) + 1])
    assert [int(x) for x in round_to("bf16", wide).astype(np.float64)] == [1 << 56, (1 << 56) + (1 << 49)]


@pytest.mark.parametrize("n", range(1, 34))
def test_lane_sums_fold_the_upper_half_onto_the_lower(n: int):
    values = np.random.default_rng(n).standard_normal((3, 2, n)).astype(np.float32)
    lanes = [values[..., k] for k in range(n)]
    while len(lanes) > 1:
        keep = (len(lanes) + 1) // 2
        lanes = [lanes[k] + lanes[keep + k] if keep + k < len(lanes) else lanes[k] for k in range(keep)]
    assert F32.fold("sum", "cols", values)[..., 0].tobytes() == lanes[0].tobytes()
    turned = F32.fold("sum", "rows", values.swapaxes(-1, -2))
    assert np.ascontiguousarray(turned[..., 0, :]).tobytes() == lanes[0].tobytes()
    assert F32.fold("max", "cols", values)[..., 0].tolist() == values.max(-1).tolist()
    assert F32.fold("min", "cols", values)[..., 0].tolist() == values.min(-1).tolist()


def test_storing_never_changes_a_kind():
    with pytest.raises(Refused, match="no float"):
        fit("f32", ints(1))
    with pytest.raises(Refused, match="no integer"):
        fit("i32", page(1.0))
    assert fit("f16", page(1.0)).dtype == np.float16


def test_the_datapath_is_the_targets():
    wide = replace(REFERENCE, vector=replace(REFERENCE.vector, float="bf16"))
    assert Arithmetic.of(wide).constant(1.0039062, "float").tolist() == [[1.0]]
    assert Arithmetic.of(wide).enter(page(3.01)).tolist() == [[3.015625]]
