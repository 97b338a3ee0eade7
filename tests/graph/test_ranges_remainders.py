"""Which differences are remainders, and so have bounds: `a - n * (x // n)` with a = x + shift, terms in any order."""

from __future__ import annotations

import pytest

from spatial.graph.ranges import Remainder, remainder
from spatial.ir.affine import Affine
from spatial.ir.graph import Fn, Num, Read, Value, Var

A, B = Read(0, ()), Read(1, ())
V = Var(Affine.sym("v0"))


def num(value: int) -> Value:
    return Num(value, "int")


def op(fn: str, *args: Value) -> Value:
    return Fn(fn, args, "int")


def less_multiple(a: Value, x: Value, n: int = 5, m: int = 5) -> Value:
    return op("sub", a, op("mul", num(n), op("floordiv", x, num(m))))


SHIFTED = {
    "as it stands": (A, A, 0),
    "one more": (op("add", A, num(1)), A, 1),
    "sums in another order": (op("add", A, op("add", B, num(1))), op("add", B, A), 1),
    "constants on both sides": (op("add", op("add", A, num(4)), B), op("add", op("sub", A, num(-1)), B), 3),
    "beside a variable": (op("add", A, Var(Affine.sym("v0", 2) + 3)), op("add", op("mul", V, num(2)), A), 3),
}

MULTIPLES = {
    "of what is divided": (op("mul", A, num(2)), A, 15, 5, 2, 0),
    "a term twice": (op("add", A, A), A, 10, 5, 2, 0),
    "and one more": (op("add", op("mul", op("add", A, B), num(3)), num(1)), op("add", B, A), 12, 4, 3, 1),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_a_remainder_is_known_by_its_terms(name: str) -> None:
    a, x, shift = SHIFTED[name]
    assert remainder(less_multiple(a, x)) == Remainder(x, 5, 1, shift)


@pytest.mark.parametrize("name", MULTIPLES)
def test_a_multiple_of_a_remainder_is_known(name: str) -> None:
    a, x, n, m, scale, shift = MULTIPLES[name]
    if name == "of what is divided":
        assert remainder(less_multiple(a, x, n, m)) is None  # three times, and twice what is divided
        n = 10
    assert remainder(less_multiple(a, x, n, m)) == Remainder(x, m, scale, shift)


OTHERS = {
    "another term": (op("add", A, B), op("add", A, A), 5, 5),
    "a term more": (op("add", A, B), A, 5, 5),
    "a term twice": (op("add", A, A), A, 5, 5),
    "a term subtracted": (op("sub", A, B), op("add", A, B), 5, 5),
    "another multiple": (op("add", A, num(1)), A, 5, 6),
    "a negative multiple": (A, A, -5, -5),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_a_remainder_is_none(name: str) -> None:
    a, x, n, m = OTHERS[name]
    assert remainder(less_multiple(a, x, n, m)) is None
