"""The functions of the language that are always there, and the six natives a program may declare.

Each takes and returns run-time values; a misuse raises `Stop`. Which of them exist, and with how many arguments, is
listed in `words`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from spatial.logos.arithmetic import c_pow, int_power, is_number, length, to_float
from spatial.logos.show import show_value
from spatial.logos.stop import Stop, check_items
from spatial.logos.values import Seq, Text, type_name
from spatial.logos.words import INT64_MAX, INT64_MIN

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.IGNORECASE)


def _number(name: str, value: Any) -> Any:
    if not is_number(value):
        raise Stop(f"{name} takes a number, not a {type_name(value)}")
    return value


def _absolute(x: Any) -> Any:
    return abs(_number("abs", x))


def _square_root(x: Any) -> float:
    value = to_float(_number("sqrt", x))
    return math.nan if value < 0 else math.sqrt(value)


def _extreme(name: str, x: Any, y: Any, first_wins: Callable[[Any, Any], bool]) -> Any:
    if type(x) is int and type(y) is int:
        if not (INT64_MIN <= x <= INT64_MAX and INT64_MIN <= y <= INT64_MAX):
            raise Stop(f"{name} of an Int beyond 64 bits")
        return x if first_wins(x, y) else y
    a, b = to_float(_number(name, x)), to_float(_number(name, y))
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return a if first_wins(a, b) else b


def _minimum(x: Any, y: Any) -> Any:
    return _extreme("min", x, y, lambda a, b: a <= b)


def _maximum(x: Any, y: Any) -> Any:
    return _extreme("max", x, y, lambda a, b: a >= b)


def _to_int(name: str, x: Any, rounded: Callable[[float], int]) -> int:
    """An Int as it is; a Float rounded, and saturated to 64 bits (nan to 0)."""
    if type(_number(name, x)) is int:
        return x
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return INT64_MAX if x > 0 else INT64_MIN
    return min(max(rounded(x), INT64_MIN), INT64_MAX)


def _half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (int(math.copysign(1, x)) if abs(x - whole) >= 0.5 else 0)


def _floor(x: Any) -> int:
    return _to_int("floor", x, math.floor)


def _ceil(x: Any) -> int:
    return _to_int("ceil", x, math.ceil)


def _round(x: Any) -> int:
    return _to_int("round", x, _half_away)


def _pow(x: Any, y: Any) -> Any:
    if type(_number("pow", x)) is int and type(_number("pow", y)) is int and y >= 0:
        return int_power(x, y)
    return c_pow(to_float(x), to_float(y))


def _quoted(text: Text) -> str:
    return f'"{text.value}"' if len(text.value) <= 80 else f'"{text.value[:80]}..."'


def _parse_int(text: Any) -> int:
    if type(text) is not Text:
        raise Stop(f"parseInt takes a Text, not a {type_name(text)}")
    if _INT.fullmatch(text.value.strip()) and len(text.value.strip()) < 40:
        value = int(text.value.strip())
        if INT64_MIN <= value <= INT64_MAX:
            return value
    raise Stop(f"cannot parse {_quoted(text)} as Int")


def _parse_float(text: Any) -> float:
    if type(text) is not Text:
        raise Stop(f"parseFloat takes a Text, not a {type_name(text)}")
    if not _FLOAT.fullmatch(text.value.strip()):
        raise Stop(f"cannot parse {_quoted(text)} as Float")
    return float(text.value.strip())


def _count_ones(n: Any) -> int:
    if type(n) is not int or not INT64_MIN <= n <= INT64_MAX:
        raise Stop(f"count_ones takes a 64-bit Int, not a {type_name(n)}")
    return (n & ((1 << 64) - 1)).bit_count()


def _character(n: Any) -> Text:
    if type(n) is not int:
        raise Stop(f"chr takes an Int, not a {type_name(n)}")
    code = n & 0xFFFFFFFF
    if code >= 0x110000 or 0xD800 <= code < 0xE000:
        raise Stop(f"{show_value(n)} is no character")
    return Text(chr(code))


def _format(x: Any) -> Text:
    return Text(show_value(x))


def _repeat(x: Any, n: Any) -> Seq:
    if type(n) is not int:
        raise Stop(f"the number of copies is an Int, not a {type_name(n)}")
    check_items(n)
    return Seq([x.alias() if type(x) is Seq else x for _ in range(n)])


def _copy(x: Any) -> Any:
    return x.alias() if type(x) is Seq else x


# `args` and `show` need the run they are part of: the interpreter supplies them.
BUILTIN_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": _absolute,
    "ceil": _ceil,
    "chr": _character,
    "copy": _copy,
    "count_ones": _count_ones,
    "floor": _floor,
    "format": _format,
    "length": length,
    "max": _maximum,
    "min": _minimum,
    "parseFloat": _parse_float,
    "parseInt": _parse_int,
    "pow": _pow,
    "repeatSeq": _repeat,
    "round": _round,
    "sqrt": _square_root,
}


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def _sin(x: float) -> float:
    return math.nan if math.isinf(x) else math.sin(x)


def _cos(x: float) -> float:
    return math.nan if math.isinf(x) else math.cos(x)


def _native(name: str, function: Callable[[float], float]) -> Callable[[Any], float]:
    def call(x: Any) -> float:
        return function(to_float(_number(name, x)))

    return call


# Of one number, in double precision; where mathematics has no value they give infinities or nan, as C does.
NATIVE_FUNCTIONS: Final[dict[str, Callable[[Any], float]]] = {
    "cos": _native("cos", _cos),
    "erf": _native("erf", math.erf),
    "exp": _native("exp", _exp),
    "log": _native("log", _log),
    "sin": _native("sin", _sin),
    "tanh": _native("tanh", math.tanh),
}
