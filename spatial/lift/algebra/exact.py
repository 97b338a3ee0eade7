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

from mpmath import libmp  # pyright: ignore[reportMissingTypeStubs]

_GUARD_BITS = 10
_PRECISIONS = (80, 130, 260, 520, 1100)
_lib: Any = libmp

_FUNCTIONS: dict[str, Callable[[Any, int], Any]] = {
    "exp": lambda x, bits: _lib.mpf_exp(x, bits, "n"),
    "log": lambda x, bits: _lib.mpf_log(x, bits, "n"),
    "sin": lambda x, bits: _lib.mpf_sin(x, bits, "n"),
    "cos": lambda x, bits: _lib.mpf_cos(x, bits, "n"),
    "tanh": lambda x, bits: _lib.mpf_tanh(x, bits, "n"),
    "erf": lambda x, bits: _lib.mpf_erf(x, bits, "n"),
}


def _certain(compute: Callable[[int], Any]) -> float:
    """The double nearest to what `compute` gives at ever more bits."""
    low = 0.0
    for bits in _PRECISIONS:
        sign, mantissa, exponent, count = compute(bits)
        mantissa, exponent, count = int(mantissa), int(exponent), int(count)
        if mantissa == 0:
            return 0.0
        shift = max(bits - count, 0)
        mantissa, exponent = mantissa << shift, exponent - shift
        slack = 1 << _GUARD_BITS
        low, high = _nearest(mantissa - slack, exponent), _nearest(mantissa + slack, exponent)
        if low == high:
            return -low if sign else low
        low = _nearest(mantissa, exponent) * (-1 if sign else 1)
    return low  # an exact tie: every precision shows it, and ties go to even


def _nearest(mantissa: int, exponent: int) -> float:
    """`mantissa * 2**exponent` rounded to nearest even, subnormals and overflow included."""
    if exponent >= 0:
        try:
            return float(mantissa << exponent) if exponent < 2000 else math.inf
        except OverflowError:
            return math.inf
    if mantissa.bit_length() + exponent < -1080:
        return 0.0
    try:
        return mantissa / (1 << -exponent)  # Python rounds quotients of integers correctly
    except OverflowError:
        return math.inf


def nearest(n: int) -> float:
    """The double nearest to an integer, infinite beyond the largest."""
    try:
        return float(n)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


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
    number = _lib.from_float(x)
    return _certain(lambda bits: function(number, bits))


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
        try:
            return sign * float(Fraction(abs(x)) ** int(y))
        except OverflowError:
            return sign * math.inf
    base, exponent = _lib.from_float(abs(x)), _lib.from_float(y)
    return sign * _certain(lambda bits: _lib.mpf_pow(base, exponent, bits, "n"))
