"""How a value reads: what Show prints, and the formats of a string's holes.

Formatting alone; knows no program, and of Bool, Text and Seq only that `str` gives their form.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

# Python refuses to print larger integers in one go.
_DIGITS_AT_ONCE = 4000


def show_value(value: object) -> str:
    """The Show form of a value: `true`, `2` for 2.0, `[1, [2, 3]]`, `nothing`.

    A Float has its shortest digits, never an exponent and no trailing `.0`.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return _show_int(value)
        case float():
            return _show_float(value)
        case None:
            return "nothing"
        case _:
            return str(value)  # a str, or one of the classes of `values`, which know their form


def _show_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def _show_int(value: int) -> str:
    if value.bit_length() < 3 * _DIGITS_AT_ONCE:
        return str(value)
    if value < 0:
        return "-" + _show_int(-value)
    digits = value.bit_length() * 3 // 20 + 1  # about half of them
    high, low = divmod(value, 10**digits)
    return _show_int(high) + _show_int(low).zfill(digits)


def format_value(value: Any, spec: str) -> str:
    """The value in the format of a hole: `.N` decimals, a width with `<`, `>`, `^` or none, `$`, or none at all."""
    number = type(value) in (int, float)
    if spec == "$":
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            return f"${show_value(value)}.00"
        return "$" + (_fixed(value, 2) if number else show_value(value))
    if spec.startswith("."):
        return _fixed(value, int(spec[1:])) if number else show_value(value)
    text = show_value(value)
    if not spec:
        return text
    align, width = (spec[0], spec[1:]) if spec[0] in "<>^" else (">", spec)
    return format(text, f"{align}{width}") if int(width) else text


def _fixed(value: float, decimals: int) -> str:
    """N decimals of the exact binary value, ties to even."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    return "NaN" if math.isnan(number) else format(number, f".{decimals}f")
