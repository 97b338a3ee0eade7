"""Intervals of values, and what each operation makes of them.

The arithmetic of obligation 13. An integer or truth has exact inclusive bounds. A float has bounds that may be
infinite, and may be NaN. Sums, differences, products and quotients of bounded floats are bounded by those of the
bounds, since rounding is monotone: the caller rounds a bound as the datapath rounds the result. Of other functions few
have bounds.
Knows no stage and no queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spatial.numerics import PRECISIONS, int_range, precision, round_to


@dataclass(frozen=True)
class Span:
    """Values between `low` and `high`, of `kind` "int", "float" or "truth"; `nan`: a float that may be NaN."""

    kind: str
    low: float | int
    high: float | int
    nan: bool = False

    @property
    def finite(self) -> bool:
        """Whether no value is infinite or NaN."""
        return not self.nan and not math.isinf(self.low) and not math.isinf(self.high)

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]" + (" or NaN" if self.nan else "")


ANY_FLOAT = Span("float", -math.inf, math.inf, True)
TRUTH = Span("truth", 0, 1)


def ints(low: int, high: int) -> Span:
    """The integers from `low` to `high`."""
    return Span("int", low, high)


def stored(prec: str) -> Span:
    """Everything the format `prec` can hold."""
    return ints(*int_range(prec)) if precision(prec).kind == "int" else ANY_FLOAT


def hull(a: Span, b: Span) -> Span:
    """The least interval around both."""
    return Span(a.kind, min(a.low, b.low), max(a.high, b.high), a.nan or b.nan)


def with_zero(a: Span) -> Span:
    """`a` and zero."""
    return Span(a.kind, min(a.low, 0), max(a.high, 0), a.nan)


def within(a: Span, bounds: tuple[int, int]) -> bool:
    """Whether an integer interval lies inside inclusive `bounds`."""
    return bounds[0] <= a.low and a.high <= bounds[1]


def rounded(a: Span, prec: str) -> Span:
    """Float values rounded to the float format `prec`: rounding is monotone, so it may be done on the bounds."""
    with np.errstate(over="ignore"):
        low, high = (float(round_to(prec, np.array([v], dtype=np.float64))[0]) for v in (a.low, a.high))
    return Span("float", low, high, a.nan)


def convert(a: Span, prec: str) -> Span | str:
    """`a` converted to `prec`, or why that may fail. Integers become floats by rounding, which loses digits only."""
    if precision(prec).kind == "float":
        if a.kind == "float":
            return rounded(a, prec)
        if max(abs(a.low), abs(a.high)) >= 1 << 1000:
            return ANY_FLOAT
        return rounded(Span("float", float(a.low), float(a.high)), prec)
    if a.kind == "float":
        if not a.finite:
            return f"a float of values {a} becomes an integer"
        a = ints(_nearest(a.low), _nearest(a.high))
    whole = ints(int(a.low), int(a.high))
    return whole if within(whole, int_range(prec)) else f"values {whole} do not fit {prec}"


def _nearest(x: float) -> int:
    return round(x)


def lanes(op: str, a: Span, n: int) -> Span:
    """A reduction over `n` lanes; sums of integers with every partial sum, sums of floats unknown."""
    if op != "sum":
        return a
    if a.kind == "float":
        return ANY_FLOAT
    return ints(int(min(a.low, n * a.low)), int(max(a.high, n * a.high)))


def apply(op: str, args: Sequence[Span]) -> Span | str:
    """What an elementwise operation makes of its operands, or why it may fail."""
    if op == "select":
        return hull(args[1], args[2])
    kind = args[0].kind
    if op in ("eq", "ne", "lt", "le", "and", "or", "not"):
        return TRUTH
    return _float(op, args) if kind == "float" else _int(op, [(int(a.low), int(a.high)) for a in args])


def _float(op: str, args: Sequence[Span]) -> Span:
    a = args[0]
    match op:
        case "neg":
            return Span("float", -a.high, -a.low, a.nan)
        case "abs":
            low = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return Span("float", low, max(abs(a.low), abs(a.high)), a.nan)
        case "min" | "max":
            b = args[1]
            pick = min if op == "min" else max
            low, high = pick(a.low, b.low), pick(a.high, b.high)
            # Where one operand is NaN the other comes out as it is.
            for one, other in ((a, b), (b, a)):
                if one.nan:
                    low, high = min(low, other.low), max(high, other.high)
            return Span("float", low, high, a.nan and b.nan)
        case "floor" | "ceil" | "round" if a.finite:
            return Span("float", float(math.floor(a.low)), float(math.ceil(a.high)))
        case "sin" | "cos" | "tanh" | "erf" if a.finite:
            return Span("float", -1.0, 1.0)
        case "add" | "sub" | "mul" | "div":
            return _arithmetic(op, a, args[1])
        case _:
            return ANY_FLOAT


def _arithmetic(op: str, a: Span, b: Span) -> Span:
    """Of the ends of both, in binary64, which rounds a result of two narrower floats as if it were exact.

    Between finite floats no NaN comes about, a quotient by zero apart; a NaN of either stays one.
    """
    ends = (a.low, a.high, b.low, b.high)
    if any(math.isinf(x) for x in ends) or (op == "div" and b.low <= 0 <= b.high):
        return ANY_FLOAT
    pairs = [(float(x), float(y)) for x in (a.low, a.high) for y in (b.low, b.high)]
    match op:
        case "add":
            corners = [x + y for x, y in pairs]
        case "sub":
            corners = [x - y for x, y in pairs]
        case "mul":
            corners = [x * y for x, y in pairs]
        case _:
            corners = [x / y for x, y in pairs]
    return Span("float", min(corners), max(corners), a.nan or b.nan)


def _int(op: str, args: Sequence[tuple[int, int]]) -> Span | str:
    a = args[0]
    match op:
        case "neg":
            return ints(-a[1], -a[0])
        case "abs":
            return ints(0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1])), max(abs(a[0]), abs(a[1])))
        case _:
            pass
    b = args[1]
    match op:
        case "add":
            return ints(a[0] + b[0], a[1] + b[1])
        case "sub":
            return ints(a[0] - b[1], a[1] - b[0])
        case "mul":
            corners = [x * y for x in a for y in b]
            return ints(min(corners), max(corners))
        case "min":
            return ints(min(a[0], b[0]), min(a[1], b[1]))
        case "max":
            return ints(max(a[0], b[0]), max(a[1], b[1]))
        case _ if b[0] <= 0 <= b[1]:
            return f"{op} divides by values [{b[0]}, {b[1]}], zero among them"
        case "floordiv":
            corners = [x // y for x in a for y in b]
            return ints(min(corners), max(corners))
        case "truncdiv":
            corners = [_trunc(x, y) for x in a for y in b] + ([0] if a[0] <= 0 <= a[1] else [])
            return ints(min(corners), max(corners))
        case "mod":
            return _mod(a, b)
        case _:
            most = max(abs(b[0]), abs(b[1])) - 1
            return ints(max(min(a[0], 0), -most), min(max(a[1], 0), most))


def _trunc(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _mod(a: tuple[int, int], b: tuple[int, int]) -> Span:
    """a - b * floor(a / b): of the sign of b, and a itself where it already lies there."""
    if b[0] > 0:
        return ints(*a) if a[0] >= 0 and a[1] < b[0] else ints(0, b[1] - 1)
    return ints(*a) if a[1] <= 0 and a[0] > b[1] else ints(b[0] + 1, 0)


def is_int(prec: str) -> bool:
    """Whether `prec` is an integer format."""
    return PRECISIONS[prec].kind == "int"
