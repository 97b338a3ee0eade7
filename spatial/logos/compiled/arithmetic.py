"""Compiled arithmetic: every operator and numeric builtin of the language, once for each kind of operands.

Named after what they do and the kinds they take: `divide_int`, `divide_float`. Where the language stops, so do these,
leaving the operands; where an Int would need more than 64 bits they stop too, for another reason. The functions of
mathematics are the C library's, the very ones the interpreter calls, so that results agree to the last bit.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from spatial.logos.compiled.machine import (
    RULE,
    WIDTH,
    difference_of,
    helper,
    product_of,
    routine,
    stop,
    sum_of,
    word,
)

_MIN = -(1 << 63)
_MAX = (1 << 63) - 1
_BEYOND = 9223372036854775808.0
_EPSILON = 2.220446049250313e-16


def _c_function(name: str, takes: int = 1) -> Any:
    """A function of the C library this process runs on."""
    found = getattr(ctypes.CDLL(None), name)
    found.restype = ctypes.c_double
    found.argtypes = [ctypes.c_double] * takes
    return found


_cos, _erf, _exp, _log, _sin, _tanh = (_c_function(name) for name in ("cos", "erf", "exp", "log", "sin", "tanh"))
_pow = _c_function("pow", 2)


# Ints


@helper
def add_int(rt: int, site: int, a: int, b: int) -> int:
    """`a + b`."""
    found, wrong = sum_of(a, b)
    if wrong:
        stop(rt, site, WIDTH, a, b)
    return found


@helper
def subtract_int(rt: int, site: int, a: int, b: int) -> int:
    """`a - b`."""
    found, wrong = difference_of(a, b)
    if wrong:
        stop(rt, site, WIDTH, a, b)
    return found


@helper
def multiply_int(rt: int, site: int, a: int, b: int) -> int:
    """`a * b`."""
    found, wrong = product_of(a, b)
    if wrong:
        stop(rt, site, WIDTH, a, b)
    return found


@helper
def _floor_quotient(rt: int, site: int, a: int, b: int) -> int:
    if b == 0:
        stop(rt, site, RULE, a, b)
    if a == _MIN and b == -1:
        stop(rt, site, WIDTH, a, b)
    return a // b


@helper
def divide_int(rt: int, site: int, a: int, b: int) -> int:
    """`a / b`, toward zero."""
    found = _floor_quotient(rt, site, a, b)
    return found + 1 if found < 0 and found * b != a else found


@helper
def floor_divide_int(rt: int, site: int, a: int, b: int) -> int:
    """`a // b`, toward minus infinity."""
    return _floor_quotient(rt, site, a, b)


@helper
def remainder_int(rt: int, site: int, a: int, b: int) -> int:
    """`a % b`, with the sign of `a`."""
    if b == 0:
        stop(rt, site, RULE, a, b)
    if b == -1:
        return 0
    rest = a % b
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest


@routine
def power_int(rt: int, site: int, a: int, b: int) -> int:
    """`a ** b`, exact."""
    if b < 0:
        stop(rt, site, RULE, a, b)
    found, base, left = 1, a, b
    while left > 0:
        if left & 1:
            found, wrong = product_of(found, base)
            if wrong:
                stop(rt, site, WIDTH, a, b)
        left >>= 1
        if left > 0:
            base, wrong = product_of(base, base)
            if wrong:
                stop(rt, site, WIDTH, a, b)
    return found


@helper
def absolute_int(rt: int, site: int, a: int) -> int:
    """`abs(a)`."""
    if a == _MIN:
        stop(rt, site, WIDTH, a, 0)
    return -a if a < 0 else a


@helper
def minimum_int(a: int, b: int) -> int:
    """`min(a, b)`."""
    return a if a <= b else b


@helper
def maximum_int(a: int, b: int) -> int:
    """`max(a, b)`."""
    return a if a >= b else b


@helper
def shift_left_int(a: int, b: int) -> int:
    """`a shifted left by b`, wrapped to 64 bits."""
    return a << (b & 63)  # a machine's shift: what leaves the word is lost


@helper
def shift_right_int(a: int, b: int) -> int:
    """`a shifted right by b`, the sign kept."""
    return a >> (b & 63)


@routine
def count_ones_int(a: int) -> int:
    """`count_ones(a)`."""
    found = 0
    for bit in range(64):
        found += (a >> bit) & 1
    return found


@helper
def after(rt: int, site: int, last: int) -> int:
    """Where a count that includes `last` ends."""
    if last == _MAX:
        stop(rt, site, WIDTH, last, 0)
    return last + 1


# Floats


@helper
def divide_float(rt: int, site: int, a: float, b: float) -> float:
    """`a / b`."""
    if b == 0.0:
        stop(rt, site, RULE, word(a), word(b))
    return a / b


@helper
def floor_divide_float(rt: int, site: int, a: float, b: float) -> float:
    """`a // b`: the floor of the quotient."""
    quotient = divide_float(rt, site, a, b)
    return math.copysign(np.floor(quotient), quotient) if math.isfinite(quotient) else quotient


@helper
def power_float(a: float, b: float) -> float:
    """`a ** b`, C's pow."""
    return _pow(a, b)


@helper
def absolute_float(a: float) -> float:
    """`abs(a)`."""
    return math.fabs(a)


@helper
def square_root(a: float) -> float:
    """`sqrt(a)`."""
    return math.nan if a < 0.0 else math.sqrt(a)


@helper
def minimum_float(a: float, b: float) -> float:
    """`min(a, b)`: a NaN loses."""
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    return a if a <= b else b


@helper
def maximum_float(a: float, b: float) -> float:
    """`max(a, b)`: a NaN loses."""
    if math.isnan(a):
        return b
    if math.isnan(b):
        return a
    return a if a >= b else b


@helper
def _saturated(a: float) -> Any:
    """A Float without fraction as an Int: the nearest of 64 bits, 0 for NaN."""
    if math.isnan(a):
        return 0
    if a >= _BEYOND:
        return _MAX
    if a < -_BEYOND:
        return _MIN
    return np.int64(a)


@helper
def floor_float(a: float) -> int:
    """`floor(a)`."""
    return _saturated(np.floor(a))


@helper
def ceil_float(a: float) -> int:
    """`ceil(a)`."""
    return _saturated(np.ceil(a))


@helper
def round_float(a: float) -> int:
    """`round(a)`: halves away from zero."""
    whole = np.trunc(a)
    if math.fabs(a - whole) >= 0.5:
        whole += math.copysign(1.0, a)
    return _saturated(whole)


@helper
def near(a: float, b: float) -> bool:
    """`a is approximately b`."""
    larger = max(math.fabs(a), math.fabs(b))
    return a == b or math.fabs(a - b) <= max(1e-9 * larger, 1e-12)


@helper
def native_cos(a: float) -> float:
    """The cosine; NaN of an infinity."""
    return math.nan if math.isinf(a) else _cos(a)


@helper
def native_erf(a: float) -> float:
    """The error function."""
    return _erf(a)


@helper
def native_exp(a: float) -> float:
    """The exponential; an infinity where it is too large."""
    return _exp(a)


@helper
def native_log(a: float) -> float:
    """The logarithm; NaN below zero."""
    if a > 0.0:
        return _log(a)
    return -math.inf if a == 0.0 else math.nan


@helper
def native_sin(a: float) -> float:
    """The sine; NaN of an infinity."""
    return math.nan if math.isinf(a) else _sin(a)


@helper
def native_tanh(a: float) -> float:
    """The hyperbolic tangent."""
    return _tanh(a)


# An Int and a Float, compared as the numbers they are


@routine
def order(a: int, b: float) -> int:
    """-1, 0 or 1 as `a` is below, at or above `b`; 2 if `b` is NaN."""
    if math.isnan(b):
        return 2
    if b >= _BEYOND:
        return -1
    if b < -_BEYOND:
        return 1
    whole = np.trunc(b)
    other = np.int64(whole)
    if a != other:
        return -1 if a < other else 1
    rest = b - whole
    return -1 if rest > 0.0 else 1 if rest < 0.0 else 0


@helper
def order_float(b: float, a: int) -> int:
    """The same, the Float first."""
    return order(a, b)


@helper
def close(a: float, b: float) -> bool:
    """Whether Floats count as one where a Seq is searched."""
    return math.fabs(a - b) < _EPSILON
