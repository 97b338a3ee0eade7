"""Build-time constants: the values of a fill's formula, the same on every machine.

Arithmetic and square roots are IEEE operations, done on whole arrays; `pow` and the natives are correctly rounded,
once for each distinct argument. Integers stay exact. What is stored is rounded once more, by whoever packs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.graph import Fn, Num, Piece, Value, Var
from spatial.lift.algebra import exact

Array = npt.NDArray[Any]

_LEAST, _MOST = -(2**63), 2**63 - 1


def evaluate_fill(piece: Piece, dims: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The values of a fill of `dims` as binary64 (integers as floats, where they are exact)."""
    return fill_values(piece, dims).astype(np.float64)


def fill_values(piece: Piece, dims: tuple[int, ...]) -> Array:
    """The values of a fill in their own kind: float64, or Python integers in an object array."""
    grid = np.indices(piece.par, dtype=np.int64) if piece.par else np.zeros((0,), np.int64)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(_value(piece.value, grid), piece.par)
    out = np.zeros(dims, dtype=values.dtype)
    places = tuple(np.broadcast_to(_form(at.base, grid), piece.par) for at in piece.pos)
    out[places] = values
    return out


def _form(form: Affine, grid: Array) -> Array:
    total = np.asarray(form.const, dtype=grid.dtype)
    for symbol, c in form.terms:
        total = total + c * grid[int(symbol[1:])]
    return total


def _value(value: Value, grid: Array) -> Array:
    match value:
        case Num(v, kind):
            return np.asarray(v, dtype={"float": np.float64, "bool": np.bool_}.get(kind, object))
        case Var(form):
            reach = abs(form.const) + sum(abs(c) * grid.shape[int(s[1:]) + 1] for s, c in form.terms)
            return _form(form, grid if reach <= _MOST else grid.astype(object)).astype(object)
        case Fn(fn, args, kind):
            return _apply(fn, [_value(a, grid) for a in args], kind)
        case _:
            raise Bug("a fill that reads a tensor")


def _apply(fn: str, args: list[Array], kind: str) -> Array:
    if fn in _DISTINCT:
        return _each(lambda x: exact.apply(fn, x), args[0])
    if fn == "pow":
        return _pairs(exact.power, args[0], args[1])
    if fn == "float":
        return np.asarray(_nearest(args[0]), dtype=np.float64)
    if fn == "select":
        return np.where(args[0].astype(np.bool_), args[1], args[2])
    if fn in ("floor", "ceil", "round"):
        return _each_int(fn, args[0])
    if fn in ("and", "or", "not"):
        args = [a.astype(np.bool_) for a in args]
    found = _INTEGER.get(fn) if kind == "int" and fn in _INTEGER else _PLAIN.get(fn)
    if found is None:
        raise Bug(f"a fill with the operation {fn}")
    result = np.asarray(found(*args))
    return result.astype(np.bool_) if kind == "bool" else result


_DISTINCT = ("exp", "log", "sin", "cos", "tanh", "erf")


def _floor_divide(a: Array, b: Array) -> Array:
    return np.floor(np.divide(a, b))


_PLAIN: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": _floor_divide,
    # A NaN operand loses.
    "min": np.fmin,
    "max": np.fmax,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
}


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _truncated(a, b)


_INTEGER: dict[str, Callable[..., Any]] = {
    "floordiv": np.floor_divide,
    "truncdiv": np.frompyfunc(_truncated, 2, 1),
    "rem": np.frompyfunc(_remainder, 2, 1),
    "min": np.minimum,
    "max": np.maximum,
}


_nearest: Callable[[Array], Any] = np.frompyfunc(exact.nearest, 1, 1)


def _each(function: Callable[[float], float], args: Array) -> Array:
    """A function of one float, once for each distinct argument (bit pattern)."""
    flat = np.ascontiguousarray(args, dtype=np.float64)
    bits, place = np.unique(flat.view(np.int64).ravel(), return_inverse=True)
    values = np.array([function(float(x)) for x in bits.view(np.float64)], dtype=np.float64)
    return values[place].reshape(flat.shape)


def _pairs(function: Callable[[float, float], float], a: Array, b: Array) -> Array:
    """A function of two floats, once for each distinct pair."""
    x, y = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    known: dict[tuple[float, float], float] = {}
    values = np.empty(x.shape, dtype=np.float64)
    for place, pair in zip(np.ndindex(x.shape), zip(x.flat, y.flat, strict=True), strict=True):
        key = (float(pair[0]), float(pair[1]))
        if key not in known:
            known[key] = function(*key)
        values[place] = known[key]
    return values


def _each_int(fn: str, args: Array) -> Array:
    def one(x: float) -> int:
        if x != x:
            return 0
        if x in (math.inf, -math.inf):
            return _MOST if x > 0 else _LEAST
        return max(_LEAST, min(_MOST, _TO_INT[fn](x)))

    return np.asarray(np.frompyfunc(one, 1, 1)(np.asarray(args, dtype=np.float64)), dtype=object)


def _half_away(x: float) -> int:
    whole = math.floor(abs(x))
    away = whole + (abs(x) - whole >= 0.5)
    return away if x >= 0 else -away


_TO_INT: dict[str, Callable[[float], int]] = {"floor": math.floor, "ceil": math.ceil, "round": _half_away}
