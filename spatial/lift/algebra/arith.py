"""LOGOS arithmetic on symbolic values: kinds, exact simplifications, and nothing that rounds differently.

Integers go to linear forms; floats keep their operations as written (only constants fold, each operation correctly
rounded). `/` and `%` of integers become floor operations where the operand is proved non-negative. A meaning error
that is certain (division by the constant zero, a comparison of unlike things) raises `Undefined` with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from spatial.lift.algebra import exact
from spatial.lift.algebra.bounds import bounds, decided
from spatial.lift.algebra.values import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Const,
    Fold,
    Lin,
    Node,
    Op,
    combine,
    constant,
    int_constant,
    integer,
    linear,
    parts,
    plus,
    raw_op,
    real,
    scale,
    truth,
)

_POWER = 16
"""The greatest exponent for which a power of Ints is multiplied out."""


class Undefined(Exception):
    """An operation that LOGOS would stop on, or that has no meaning here: why, and what would mend it."""

    def __init__(self, why: str, mend: str = "") -> None:
        super().__init__(why)
        self.mend = mend


def to_float(a: Node) -> Node:
    """An Int as functions of Floats see it: the nearest, infinite beyond the largest."""
    if a.kind == "float":
        return a
    if a.kind == "mixed":
        raise Undefined("an item may be an Int or a Float", "store one kind everywhere (0.0)")
    if a.kind == "none":
        raise Undefined(
            "an item is read of a sequence that has none as the loop begins",
            "compute each item from the inputs alone: what adds up, by a sum of its own",
        )
    if a.kind != "int":
        raise Undefined("a truth value is not a number", "choose a number with If: 1 or 0")
    n = int_constant(a)
    return real(exact.nearest(n)) if n is not None else raw_op("float", (a,), "float")


def _beside_float(a: Node) -> Node:
    """An Int as `+`, `-` and `*` with a Float see it: they stop on one that no Float is near."""
    n, x = int_constant(a), to_float(a)
    if n is not None and isinstance(x, Const) and math.isinf(float(x.value)):
        raise Undefined(
            f"an Int of {n.bit_length()} bits stands beside a Float, of which the largest is about 1.8e308",
            "compute with Floats: start from 1.0",
        )
    return x


def _numbers(a: Node, b: Node) -> bool:
    """Whether both are Int; raises if one is no number."""
    if a.kind == "bool" or b.kind == "bool":
        raise Undefined("a truth value is not a number", "choose a number with If: 1 or 0")
    return a.kind == b.kind == "int"


def _floats(fn: str, a: Node, b: Node, fold: Callable[[float, float], float]) -> Node:
    see = to_float if fn == "div" else _beside_float
    x, y = see(a), see(b)
    if isinstance(x, Const) and isinstance(y, Const):
        return real(fold(float(x.value), float(y.value)))
    return raw_op(fn, (x, y), "float")


def add(a: Node, b: Node) -> Node:
    """`a + b`; a sum that starts from zero is the sum."""
    for zero, total in ((a, b), (b, a)):
        if constant(zero) == 0 and isinstance(total, Fold) and total.op == "sum" and total.init is None:
            return to_float(total) if zero.kind == "float" else total
    return combine(a, b) if _numbers(a, b) else _floats("add", a, b, lambda x, y: x + y)


def sub(a: Node, b: Node) -> Node:
    """`a - b`; `0 - x` of a Float is its own spelling of minus."""
    return combine(a, b, -1) if _numbers(a, b) else _floats("sub", a, b, lambda x, y: x - y)


def mul(a: Node, b: Node) -> Node:
    """`a * b`."""
    if not _numbers(a, b):
        return _floats("mul", a, b, lambda x, y: x * y)
    n, m = int_constant(a), int_constant(b)
    if n is not None:
        return scale(b, n)
    if m is not None:
        return scale(a, m)
    return raw_op("mul", tuple(sorted((a, b), key=lambda n: n.serial)), "int")


def div(a: Node, b: Node) -> Node:
    """`a / b`: truncating between Ints."""
    if _numbers(a, b):
        return _int_div("truncdiv", a, b)
    if constant(b) == 0:
        raise Undefined("division by zero", "divide by something else")
    return _floats("div", a, b, lambda x, y: x / y)


def floordiv(a: Node, b: Node) -> Node:
    """`a // b`: the floor of the quotient, a Float if either is."""
    if _numbers(a, b):
        return _int_div("floordiv", a, b)
    if constant(b) == 0:
        raise Undefined("division by zero", "divide by something else")
    return raw_op("floordiv", (to_float(a), to_float(b)), "float")


def rem(a: Node, b: Node) -> Node:
    """`a % b` of Ints, with the sign of a."""
    if not _numbers(a, b):
        raise Undefined("% is of two Ints", "subtract whole multiples: x - x // m * m")
    n, m = int_constant(a), _divisor(b)
    if n is not None and m is not None:
        return integer(int(math.fmod(n, m)) if abs(n) < 2**53 else (abs(n) % abs(m)) * (1 if n >= 0 else -1))
    if m is not None and m > 0 and _not_negative(a):
        return combine(a, scale(_floor(a, m), m), -1)
    return raw_op("rem", (a, b), "int")


def _divisor(b: Node) -> int | None:
    m = int_constant(b)
    if m == 0:
        raise Undefined("division by zero", "divide by something else")
    if m is None:
        low, high = bounds(b)
        if (low is None or low <= 0) and (high is None or high >= 0):
            raise Undefined(
                "the divisor is not proved to differ from zero", "declare a range without 0, or divide by max(1, …)"
            )
    return m


def _not_negative(a: Node) -> bool:
    low = bounds(a)[0]
    return low is not None and low >= 0


def _int_div(fn: str, a: Node, b: Node) -> Node:
    n, m = int_constant(a), _divisor(b)
    if n is not None and m is not None:
        quotient = abs(n) // abs(m)
        if fn == "floordiv":
            return integer(n // m)
        return integer(quotient if (n < 0) == (m < 0) else -quotient)
    if m is not None and m > 0 and (fn == "floordiv" or _not_negative(a)):
        return _floor(a, m)
    return raw_op(fn, (a, b), "int")


def _floor(a: Node, m: int) -> Node:
    """The floor of `a / m`, multiples of m pulled out; exact for any a."""
    if m == 1:
        return a
    const, terms = parts(a)
    outer = {atom: c // m for atom, c in terms if c % m == 0}
    inner = {atom: c for atom, c in terms if c % m}
    rest = linear(const, inner)
    low, high = bounds(rest)
    if low is not None and high is not None and low // m == high // m:
        return linear(low // m, outer)
    whole = const // m
    rest = linear(const - whole * m, inner)
    # A common factor of the rest and of m divides out: (2 i + 1) // 4 is i // 2.
    common = math.gcd(m, *inner.values())
    if common > 1:
        rest = linear((const - whole * m) // common, {atom: c // common for atom, c in inner.items()})
        m //= common
    quotient = raw_op("floordiv", (rest, integer(m)), "int") if m > 1 else rest
    return combine(linear(whole, outer), quotient)


def power(a: Node, b: Node, named: bool) -> Node:
    """`pow(a, b)` (`named`) or `a ** b`: of Floats the power, correctly rounded.

    Where one rounded operation gives that, it is the operation: the exponents 0, 1, 2 and -1.
    """
    if _numbers(a, b):
        n, m = int_constant(a), int_constant(b)
        if m is not None and m >= 0:
            if n is not None and (abs(n) < 2 or m < 4096):
                return integer(n**m)
            if m <= _POWER:
                result = ONE
                for _ in range(m):
                    result = mul(result, a)
                return result
        if not named or n is None or m is None or n == 0 or m >= 0:
            if m is not None and m > _POWER:
                why = f"a power of Ints is a product of at most {_POWER} of them, and this one of {m}"
                raise Undefined(why, "multiply in a loop, or start from a Float: 2.0")
            raise Undefined("a power of Ints needs a known exponent that is not negative", "start from a Float: 2.0")
    x, y = to_float(a), to_float(b)
    if isinstance(x, Const) and isinstance(y, Const):
        return real(exact.power(float(x.value), float(y.value)))
    match constant(y):
        case 0.0:
            return real(1.0)
        case 1.0:
            return x
        case 2.0:
            return mul(x, x)
        case -1.0:
            return raw_op("div", (real(1.0), x), "float")
        case _:
            return raw_op("pow", (x, y), "float")


def extreme(fn: str, a: Node, b: Node) -> Node:
    """`min(a, b)` or `max(a, b)`."""
    if _numbers(a, b):
        gap = plus(combine(a, b, -1), 0)
        low, high = bounds(gap)
        if low is not None and low >= 0:
            return a if fn == "max" else b
        if high is not None and high <= 0:
            return b if fn == "max" else a
        return raw_op(fn, tuple(sorted((a, b), key=lambda n: n.serial)), "int")
    x, y = to_float(a), to_float(b)
    if isinstance(x, Const) and isinstance(y, Const):
        p, q = float(x.value), float(y.value)
        if math.isnan(p) or math.isnan(q):
            return y if math.isnan(p) else x
        return real(max(p, q) if fn == "max" else min(p, q))
    return raw_op(fn, (x, y), "float")


def function(fn: str, a: Node) -> Node:
    """A builtin or native of one argument: sqrt, abs, floor, ceil, round, exp, log, sin, cos, tanh, erf."""
    if a.kind == "bool":
        raise Undefined("a truth value is not a number", "choose a number with If: 1 or 0")
    if fn in ("floor", "ceil", "round"):
        return a if a.kind == "int" else raw_op(fn, (a,), "int")
    if fn == "abs" and a.kind == "int":
        low, high = bounds(a)
        if low is not None and low >= 0:
            return a
        return scale(a, -1) if high is not None and high <= 0 else raw_op("abs", (a,), "int")
    x = to_float(a)
    if isinstance(x, Const):
        return real(exact.apply(fn, float(x.value)))
    return raw_op(fn, (x,), "float")


# ---------------------------------------------------------------- truth


def nonneg(a: Node) -> Node:
    """Whether an Int is at least 0; a common factor of its terms is divided out."""
    const, terms = parts(a)
    common = math.gcd(*(c for _, c in terms)) if terms else 1
    if common > 1:
        a = linear(const // common, {atom: c // common for atom, c in terms})
    condition = raw_op("nonneg", (a,), "bool")
    known = decided(condition)
    return condition if known is None else truth(known)


def truthy(a: Node) -> Node:
    """The truth of a value."""
    return a if a.kind == "bool" else compare("!=", a, ZERO)


def negate(a: Node) -> Node:
    """`not a` of a truth value."""
    match a:
        case Const(value=value):
            return truth(not value)
        case Op(fn="nonneg", args=(form,)):
            return nonneg(plus(scale(form, -1), -1))
        case Op(fn="not", args=(inner,)):
            return inner
        case _:
            return raw_op("not", (a,), "bool")


def both(a: Node, b: Node) -> Node:
    """`a and b` of truth values."""
    if a is FALSE or b is FALSE:
        return FALSE
    if a is TRUE or a is b:
        return b
    return a if b is TRUE else raw_op("and", (a, b), "bool")


def either(a: Node, b: Node) -> Node:
    """`a or b` of truth values."""
    if a is TRUE or b is TRUE:
        return TRUE
    if a is FALSE or a is b:
        return b
    return a if b is FALSE else raw_op("or", (a, b), "bool")


def compare(op: str, a: Node, b: Node) -> Node:
    """A comparison of numbers (exact between an Int and a Float only where the Int is a small constant)."""
    if a.kind == "bool" or b.kind == "bool":
        if op in ("==", "!=") and a.kind == b.kind:
            same = TRUE if a is b else either(both(a, b), both(negate(a), negate(b)))
            return same if op == "==" else negate(same)
        raise Undefined("truth values are not ordered", "compare numbers")
    if a.kind == b.kind == "int":
        gap = combine(a, b, -1)
        match op:
            case "<":
                return nonneg(plus(scale(gap, -1), -1))
            case "<=":
                return nonneg(scale(gap, -1))
            case ">":
                return nonneg(plus(gap, -1))
            case ">=":
                return nonneg(gap)
            case _:
                return _equal(gap, op == "==")
    x, y = _comparable(a), _comparable(b)
    if op in (">", ">="):
        op, x, y = ("<" if op == ">" else "<="), y, x
    if isinstance(x, Const) and isinstance(y, Const):
        p, q = float(x.value), float(y.value)
        return truth({"<": p < q, "<=": p <= q, "==": p == q, "!=": p != q}[op])
    if op == "!=":
        return negate(raw_op("eq", (x, y), "bool"))
    return raw_op({"<": "lt", "<=": "le", "==": "eq"}[op], (x, y), "bool")


def _comparable(a: Node) -> Node:
    n = int_constant(a)
    if a.kind == "int" and (n is None or abs(n) > 2**53):
        low, high = bounds(a)
        if low is None or high is None or max(abs(low), abs(high)) > 2**53:
            raise Undefined("an Int that may exceed 2^53 is compared with a Float", "declare a narrower range")
    return to_float(a)


def _equal(gap: Node, wanted: bool) -> Node:
    low, high = bounds(gap)
    if int_constant(gap) == 0:
        return truth(wanted)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return truth(not wanted)
    const, terms = parts(gap)
    if terms and terms[0][1] < 0:
        gap = scale(gap, -1)
        const, terms = parts(gap)
    if terms and const % math.gcd(*(c for _, c in terms)):
        return truth(not wanted)
    same = raw_op("eq", (gap, ZERO), "bool")
    return same if wanted else negate(same)


def select(condition: Node, a: Node, b: Node) -> Node:
    """`a` where the condition holds, else `b`."""
    if isinstance(condition, Const):
        return a if condition.value else b
    if a is b:
        return a
    match condition:
        case Op(fn="not", args=(inner,)):
            return select(inner, b, a)
        case _:
            pass
    if a.kind == b.kind == "bool":
        return either(both(condition, a), both(negate(condition), b))
    if a.kind != b.kind:
        raise Undefined(
            "the value is an Int on one branch and a Float on the other", "make it a Float on both: 0.0 is one"
        )
    return raw_op("select", (condition, a, b), a.kind)


def rebuild(fn: str, args: tuple[Node, ...], kind: str) -> Node:
    """The operation over changed operands, simplified anew."""
    match fn:
        case "nonneg":
            return nonneg(args[0])
        case "not":
            return negate(args[0])
        case "and":
            return both(*args)
        case "or":
            return either(*args)
        case "select":
            return select(*args)
        case "eq" if args[0].kind == "int" and args[1].kind == "int":
            return _equal(combine(args[0], args[1], -1), True)
        case "mul" if kind == "int":
            return mul(*args)
        case "floordiv" if kind == "int":
            return floordiv(*args)
        case "truncdiv":
            return div(*args)
        case "rem":
            return rem(*args)
        case "min" | "max":
            return extreme(fn, *args)
        case "add" | "sub" | "mul" | "div":
            if any(isinstance(a, Const) for a in args):
                return {"add": add, "sub": sub, "mul": mul, "div": div}[fn](*args)
            return raw_op(fn, args, kind)
        case "pow":
            return power(args[0], args[1], True)
        case "float":
            return to_float(args[0])
        case "abs" | "sqrt" | "exp" | "log" | "sin" | "cos" | "tanh" | "erf" | "floor" | "ceil" | "round":
            return function(fn, args[0])
        case _:
            return raw_op(fn, args, kind)


def is_linear(node: Node) -> bool:
    """Whether an integer is a plain sum of box variables."""
    return isinstance(node, Lin)
