"""Bounds of floats, as far as the way from a float to an integer needs them.

Followed are constants, integers made floats, `min` and `max`, the arithmetic of bounded floats, and functions bounded
by themselves. Rounding is monotone, so a result lies between the rounded results of the ends. A NaN loses against the
other operand of `min` and `max`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil, floor, inf, isfinite

import numpy as np

from spatial.graph.conditions import Bounds
from spatial.numerics import round_to

ANYTHING = Bounds(-inf, inf, True)


def is_finite(bounds: Bounds) -> bool:
    """Whether it is a number within finite bounds."""
    return not bounds.nan and isfinite(bounds.low) and isfinite(bounds.high)


def rounded(bounds: Bounds, prec: str) -> Bounds:
    """The bounds after rounding to the float format `prec`, which is monotone."""
    if bounds == ANYTHING:
        return bounds
    with np.errstate(over="ignore"):
        low, high = (float(round_to(prec, np.array([v], np.float64))[0]) for v in (bounds.low, bounds.high))
    return Bounds(low, high, bounds.nan)


def float_result(op: str, args: Sequence[Bounds]) -> Bounds:
    """What an elementwise operation makes of floats, before the result is rounded."""
    a, b = args[0], args[-1]
    match op:
        case "min" | "max":
            return _extremum(min if op == "min" else max, a, b)
        case "neg":
            return Bounds(-a.high, -a.low, a.nan)
        case "abs":
            least = 0.0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
            return Bounds(least, max(abs(a.low), abs(a.high)), a.nan)
        case "floor" | "ceil" | "round" if is_finite(a):
            return Bounds(float(floor(a.low)), float(ceil(a.high)))
        case "sin" | "cos" | "tanh" | "erf" if is_finite(a):
            return Bounds(-1.0, 1.0)
        case "add" | "sub" | "mul" | "div":
            return _arithmetic(op, a, b)
        case _:
            return ANYTHING


def _extremum(pick: Callable[[float, float], float], a: Bounds, b: Bounds) -> Bounds:
    low, high = pick(a.low, b.low), pick(a.high, b.high)
    for one, other in ((a, b), (b, a)):
        if one.nan:
            low, high = min(low, other.low), max(high, other.high)
    return Bounds(low, high, a.nan and b.nan)


def _arithmetic(op: str, a: Bounds, b: Bounds) -> Bounds:
    """Of finite floats: monotone in each operand, so the ends decide; an infinity may meet another and make a NaN."""
    if not all(isfinite(x) for x in (a.low, a.high, b.low, b.high)) or (op == "div" and b.low <= 0 <= b.high):
        return ANYTHING
    if op == "sub":
        b = replace(b, low=-b.high, high=-b.low)
    ends = [_result(op, x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Bounds(min(ends), max(ends), a.nan or b.nan)


def _result(op: str, x: float, y: float) -> float:
    match op:
        case "mul":
            return x * y
        case "div":
            return x / y
        case _:
            return x + y
