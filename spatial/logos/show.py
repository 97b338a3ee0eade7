"""How a value reads: what Show prints, and the formats of a string's holes.

Formatting alone; knows no program, and of Bool, Text and Seq only that `str` gives their form.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, localcontext
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
    with localcontext(Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])):
        return format(_decimal(value, value.bit_length(), {}), "f")


def _decimal(value: int, bits: int, powers: dict[int, Decimal]) -> Decimal:
    """An integer of so many bits as a Decimal, whose products of long numbers are fast: by halves, high and low."""
    if bits < 3 * _DIGITS_AT_ONCE:
        return Decimal(value)
    half = bits // 2
    if half not in powers:
        powers[half] = Decimal(2) ** half
    low = _decimal(value & ((1 << half) - 1), half, powers)
    return low + _decimal(value >> half, bits - half, powers) * powers[half]


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
