"""Bounds of floats, as far as the way from a float to an integer needs them.

Known are constants, integers made floats, what `min` and `max` bound, and functions bounded by themselves; sums and
products of floats are not followed. A NaN loses against the other operand of `min` and `max`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite

import numpy as np

from spatial.ir.body import Const, Convert, Expr, Lanes, Op
from spatial.numerics import is_float, round_to


@dataclass(frozen=True)
class Bounds:
    """Least and greatest value, and whether it may be no number."""

    low: float
    high: float
    nan: bool = False

    @property
    def finite(self) -> bool:
        """Whether it is a number within finite bounds."""
        return not self.nan and isfinite(self.low) and isfinite(self.high)


ANYTHING = Bounds(-inf, inf, True)


def rounded(bounds: Bounds, prec: str) -> Bounds:
    """The bounds after rounding to the float format `prec`, which is monotone."""
    with np.errstate(over="ignore"):
        low, high = (float(round_to(prec, np.array([v]))[0]) for v in (bounds.low, bounds.high))
    return Bounds(low, high, bounds.nan)


def bounds_of_float(
    value: Expr, leaf: Callable[[Expr], Bounds], whole: Callable[[Expr], tuple[int, int] | None]
) -> Bounds:
    """The bounds of a float expression.

    `leaf`: of pages and accumulators; `whole`: the interval of an integer expression, None of a float one.
    """

    def of(x: Expr) -> Bounds:
        return bounds_of_float(x, leaf, whole)

    match value:
        case Const():
            return Bounds(float(value.value), float(value.value))
        case Convert(prec=prec, arg=arg) if is_float(prec):
            if isinstance(arg, Op) and arg.op in ("eq", "ne", "lt", "le", "and", "or", "not"):
                return Bounds(0.0, 1.0)
            interval = whole(arg)
            return rounded(of(arg) if interval is None else Bounds(float(interval[0]), float(interval[1])), prec)
        case Lanes(op="min" | "max", arg=arg):
            return of(arg)
        case Op(op="select", args=(_, x, y)):
            a, b = of(x), of(y)
            return Bounds(min(a.low, b.low), max(a.high, b.high), a.nan or b.nan)
        case Op(op="min" | "max" as op, args=(x, y)):
            return _extremum(min if op == "min" else max, of(x), of(y))
        case Op(op=op, args=(x,)):
            return _unary(op, of(x))
        case Op() | Lanes():
            return ANYTHING
        case _:
            return leaf(value)


def _extremum(pick: Callable[[float, float], float], a: Bounds, b: Bounds) -> Bounds:
    low, high = pick(a.low, b.low), pick(a.high, b.high)
    for one, other in ((a, b), (b, a)):
        if one.nan:
            low, high = min(low, other.low), max(high, other.high)
    return Bounds(low, high, a.nan and b.nan)


def _unary(op: str, a: Bounds) -> Bounds:
    match op:
        case "neg":
            return Bounds(-a.high, -a.low, a.nan)
        case "abs":
            least = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return Bounds(least, max(abs(a.low), abs(a.high)), a.nan)
        case "floor" | "ceil" | "round" if a.finite:
            return Bounds(float(floor(a.low)), float(ceil(a.high)))
        case "sin" | "cos" | "tanh" | "erf" if a.finite:
            return Bounds(-1.0, 1.0)
        case _:
            return ANYTHING
