"""Functions of binary64 numbers, correctly rounded on any machine.

`pow` and the natives go through mpmath at rising precision until the rounding is certain (Ziv's strategy); the
machine's own `sin` or `exp` never decides a bit. Knows numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath

_GUARD_BITS = 10
_PRECISIONS = (90, 160, 320, 640, 1300)

_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    name: (lambda mp, x, name=name: getattr(mp, name)(x)) for name in ("exp", "log", "sin", "cos", "tanh", "erf")
}


def _certain(compute: Callable[[Any], Any]) -> float:
    """The double nearest to what `compute` gives in ever more precise contexts."""
    context = mpmath.mp.clone()
    value: Any = context.mpf(0)
    for bits in _PRECISIONS:
        context.prec = bits
        value = compute(context)
        if value == 0:
            return 0.0
        slack = abs(value) * context.mpf(2) ** (_GUARD_BITS - bits)
        low, high = _nearest(value - slack), _nearest(value + slack)
        if low == high:
            return low
    return _nearest(value)  # an exact tie: every precision shows it, and ties go to even


def _nearest(value: Any) -> float:
    """Rounded to nearest even, subnormals and overflow included."""
    sign, mantissa, exponent, _ = value._mpf_
    if mantissa == 0:
        return 0.0
    number = Fraction(int(mantissa)) * Fraction(2) ** int(exponent) if exponent > -4000 else Fraction(0)
    try:
        result = float(number)
    except OverflowError:
        result = math.inf
    return -result if sign else result


@lru_cache(maxsize=1 << 16)
def apply(fn: str, x: float) -> float:
    """`fn(x)` for sqrt, abs, neg, exp, log, sin, cos, tanh, erf; NaN where it has no value, infinities as in C."""
    match fn:
        case "abs":
            return abs(x)
        case "neg":
            return -x
        case "sqrt":
            return math.sqrt(x) if x >= 0 else math.nan
        case _:
            pass
    if math.isnan(x):
        return x
    if x == 0 and fn in ("sin", "tanh", "erf"):
        return x
    if math.isinf(x):
        limits = {"exp": (0.0, math.inf), "log": (math.nan, math.inf), "tanh": (-1.0, 1.0), "erf": (-1.0, 1.0)}
        low, high = limits.get(fn, (math.nan, math.nan))
        return low if x < 0 else high
    if fn == "log" and x <= 0:
        return -math.inf if x == 0 else math.nan
    if fn == "exp" and abs(x) > 800:
        return math.inf if x > 0 else 0.0
    if fn in ("tanh", "erf") and abs(x) > 30:
        return math.copysign(1.0, x)
    function = _FUNCTIONS[fn]
    return _certain(lambda mp: function(mp, mp.mpf(x)))


@lru_cache(maxsize=1 << 16)
def power(x: float, y: float) -> float:
    """C's `pow(x, y)`, correctly rounded."""
    special = not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0 or x == 1 or (x < 0 and y != int(y))
    if special:
        try:
            return math.pow(x, y)
        except ValueError:
            if x != 0:
                return math.nan
            odd = y == int(y) and int(y) % 2 == 1
            return math.copysign(math.inf, x) if odd else math.inf
    sign = -1.0 if x < 0 and int(y) % 2 else 1.0
    size = abs(y * math.log2(abs(x)))
    if size > 1100:
        return sign * (math.inf if (y > 0) == (abs(x) > 1) else 0.0)
    if y == int(y) and abs(y) <= 64:
        return sign * float(Fraction(abs(x)) ** int(y))
    return sign * _certain(lambda mp: mp.mpf(abs(x)) ** mp.mpf(y))
