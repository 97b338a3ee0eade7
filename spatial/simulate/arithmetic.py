"""What one elementwise operation and one in-page reduction compute on a target's vector datapath.

The single meaning of the operations of `ir.body.OPS`: both executors, and nothing else, call it. A value is a numpy
array with any leading axes; its kind is its dtype's: floats are held in float32 (already rounded to the datapath's
format), integers in any signed type (widened to int64 to compute), truth in bool. Results depend on values alone,
never on shape, strides or alignment. Knows no stage, no queue and no tensor.

Where `OPS` leaves a choice: of equal operands (the two zeros) `min` and `max` return the second; an integer divided by
zero gives quotient and remainder 0 (lanes beyond an extent are zeros, and their results are never stored).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spatial.errors import Bug, Refused
from spatial.ir.body import OPS
from spatial.numerics import Array, int_range, precision, round_to
from spatial.target import Target

_F32 = np.dtype(np.float32)
_VECTOR_LANES = 64


@dataclass(frozen=True)
class Arithmetic:
    """The vector datapath: its `float` format, its `int` format."""

    float: str
    int: str

    @staticmethod
    def of(target: Target) -> Arithmetic:
        """The vector datapath of `target`."""
        return Arithmetic(target.vector.float, target.vector.int)

    def enter(self, page: Array) -> Array:
        """A stored page as the datapath sees it: floats rounded to its float format, integers as they are."""
        if page.dtype == _F32 and self.float == "f32":
            return page
        if page.dtype.kind in "iub":
            return page
        return self.round(page.astype(np.float32))

    def round(self, values: Array) -> Array:
        """Float results rounded to the datapath's format, held in float32."""
        if self.float == "f32":
            return values.astype(np.float32, copy=False)
        return round_to(self.float, values).astype(np.float32)

    def constant(self, value: float | int, kind: str) -> Array:
        """A constant of `kind` as a page of one lane."""
        if kind == "int":
            return np.full((1, 1), value, np.int64)
        return self.round(np.full((1, 1), value, np.float64))

    def apply(self, op: str, args: tuple[Array, ...]) -> Array:
        """Operation `op` of `OPS` over `args`, lanes broadcast; raises `Refused` where an integer leaves the format."""
        if OPS.get(op) != len(args):
            raise Bug(f"{op} with {len(args)} operands is no operation")
        if op in _LOGIC:
            return _LOGIC[op](*(_truth(op, a) for a in args))
        if op == "select":
            x, y = _alike(op, args[1], args[2])
            return np.where(_truth(op, args[0]), x, y)
        if len(args) == 2:
            x, y = _alike(op, args[0], args[1])
            if x.dtype.kind == "f":
                return self._floats(op, x, y)
            return _COMPARE[op](x, y) if op in _COMPARE else self._ints(op, x, y)
        x = args[0]
        if x.dtype.kind == "b":
            raise Refused(f"{op} of a truth value", "only and, or, not, select and conversions take one")
        if x.dtype.kind == "f":
            return self._float(op, x)
        if op in ("neg", "abs"):
            wide = x.astype(np.int64)
            negated = self._ints("sub", np.zeros_like(wide), wide)
            return negated if op == "neg" else np.maximum(wide, negated)
        raise Refused(f"{op} of integers", "the datapath has it for floats only", "convert to a float first")

    def checked(self, values: Array) -> Array:
        """int64 `values` themselves; raises `Refused` where one lies outside the datapath's integer format."""
        low, high = int_range(self.int)
        if values.size and (values.min() < low or values.max() > high):
            raise Refused(
                f"an integer leaves {self.int}, the vector datapath's format",
                f"a value reached {int(values.min() if values.min() < low else values.max())}",
            )
        return values

    def convert(self, prec: str, values: Array) -> Array:
        """`values` rounded to precision `prec` (to nearest even), as the datapath holds them afterwards."""
        target = precision(prec)
        if values.dtype.kind == "b":
            values = values.astype(np.int8)
        if target.kind == "float":
            exact = values.dtype == np.int8 or values.dtype == np.int16
            rounded = values.astype(np.float32) if prec == "f32" and exact else round_to(prec, values)
            return self.enter(rounded)
        if values.dtype.kind == "f":
            values = np.rint(values)
            low, high = int_range(prec)
            # The bound one past the greatest integer is a float exactly; NaN fails both comparisons.
            if not bool(np.all((values >= low) & (values < float(high + 1)))):
                raise Refused(f"a float converted to {prec} has no value there", "it is not finite or out of range")
            return values.astype(np.float64).astype(target.dtype)
        return fit(prec, values)

    def fold(self, op: str, axis: str, values: Array) -> Array:
        """In-page reduction in halving order: the upper half of the lanes onto the lower until one is left.

        Of n lanes the upper n // 2 fold onto the first n // 2; with an odd n the middle lane waits for the next round.
        """
        along = -2 if axis == "rows" else -1
        if op not in ("sum", "max", "min"):
            raise Bug(f"no lane reduction is called {op!r}")
        step = "add" if op == "sum" else op
        lanes = np.moveaxis(values, along, 0)
        while len(lanes) > 1:
            keep = (len(lanes) + 1) // 2
            upper = len(lanes) - keep
            folded = self.apply(step, (lanes[:upper], lanes[keep:]))
            lanes = folded if upper == keep else np.concatenate((folded, lanes[upper:keep].astype(folded.dtype)))
        return np.moveaxis(lanes, 0, along)

    def _float(self, op: str, x: Array) -> Array:
        if op in _EXACT:
            return self.round(_EXACT[op](x))
        if op in _TRANSCENDENTAL:
            return self.round(_in_binary64(_TRANSCENDENTAL[op], x))
        raise Refused(f"{op} of a float", "the datapath has it for other operands only")

    def _floats(self, op: str, x: Array, y: Array) -> Array:
        if op in _COMPARE:
            return _COMPARE[op](x, y)
        if op == "min":
            return np.where((x < y) | np.isnan(y), x, y)
        if op == "max":
            return np.where((x > y) | np.isnan(y), x, y)
        if op in _FLOAT2:
            return self.round(_FLOAT2[op](x, y))
        raise Refused(f"{op} of floats", "the datapath has it for integers only")

    def _ints(self, op: str, x: Array, y: Array) -> Array:
        match op:
            case "add" | "sub":
                exact = x + y if op == "add" else x - y
                # The signs tell a sum that wrapped around int64.
                wrapped = (x ^ exact) & ((y ^ exact) if op == "add" else (x ^ y))
                if self.int == "i64" and bool(np.any(wrapped < 0)):
                    raise Refused("an integer leaves i64, the vector datapath's format", f"in {op}")
                return self.checked(exact)
            case "mul":
                bound = _magnitude(x) * _magnitude(y)
                if bound > int_range("i64")[1]:
                    return self._wide_product(x, y)
                return self.checked(x * y)
            case "min":
                return np.minimum(x, y)
            case "max":
                return np.maximum(x, y)
            case "floordiv" | "mod":
                some = np.where(y == 0, 1, y)
                found = np.floor_divide(x, some) if op == "floordiv" else np.remainder(x, some)
                return self.checked(np.where(y == 0, 0, found))
            case "truncdiv" | "rem":
                some = np.where(y == 0, 1, y)
                rest = np.fmod(x, some)
                return self.checked(np.where(y == 0, 0, rest if op == "rem" else (x - rest) // some))
            case _:
                raise Refused(f"{op} of integers", "the datapath has it for floats only", "convert to a float first")

    def _wide_product(self, x: Array, y: Array) -> Array:
        exact = np.multiply(x.astype(object), y.astype(object))
        low, high = int_range(self.int)
        if any(not low <= int(v) <= high for v in exact.ravel()):
            raise Refused(f"an integer leaves {self.int}, the vector datapath's format", "in mul")
        return exact.astype(np.int64)


def fit(prec: str, values: Array) -> Array:
    """`values` in the storage type of `prec`: floats rounded, integers checked.

    Raises `Refused` where an integer does not fit, or where the kind (float, integer, truth) is another.
    """
    target = precision(prec)
    if values.dtype == target.dtype:
        return values
    if target.kind == "float":
        if values.dtype.kind in "iub":
            raise Refused(f"a value that is no float meets {prec}", "kinds never change silently", "convert it")
        return round_to(prec, values)
    if values.dtype.kind not in "iu":
        raise Refused(f"a value that is no integer meets {prec}", "kinds never change silently", "convert it")
    low, high = int_range(prec)
    if values.size and (values.min() < low or values.max() > high):
        bad = int(values.min() if values.min() < low else values.max())
        raise Refused(f"{bad} does not fit {prec}", f"it holds {low} to {high}")
    return values.astype(target.dtype)


def _truth(op: str, values: Array) -> Array:
    if values.dtype.kind != "b":
        raise Refused(f"{op} takes truth values", "and was given numbers", "compare first")
    return values


def _alike(op: str, x: Array, y: Array) -> tuple[Array, Array]:
    kinds = x.dtype.kind, y.dtype.kind
    if kinds == ("f", "f"):
        return x, y
    if kinds[0] in "iu" and kinds[1] in "iu":
        return x.astype(np.int64, copy=False), y.astype(np.int64, copy=False)
    if kinds == ("b", "b") and op == "select":
        return x, y
    raise Refused(f"{op} of operands of two kinds", "it takes two floats or two integers", "convert one of them")


def _magnitude(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0


def _in_binary64(fn: Callable[[Array], Array], x: Array) -> Array:
    """`fn` over `x` in binary64, on one contiguous run padded to whole vectors.

    Vectorised libraries may take another path for the last few lanes or for strided ones; here no lane is last.
    """
    flat = np.ones(-(-x.size // _VECTOR_LANES) * _VECTOR_LANES, np.float64)
    flat[: x.size] = x.ravel()
    return fn(flat)[: x.size].reshape(x.shape)


def _erf(x: Array) -> Array:
    return np.fromiter(map(math.erf, x.tolist()), np.float64, x.size)


def _half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(np.float32(1), x), whole)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _reciprocal(x: Array) -> Array:
    return np.float32(1) / x


_EXACT: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": _half_away,
    "sqrt": np.sqrt,
    "reciprocal": _reciprocal,
}
"""Operations whose float32 result, rounded once more to a narrower format, is the correctly rounded one."""

_TRANSCENDENTAL: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _erf,
    "rsqrt": _rsqrt,
}

_FLOAT2: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}

_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
}

_LOGIC: dict[str, Callable[..., Array]] = {"and": np.logical_and, "or": np.logical_or, "not": np.logical_not}
