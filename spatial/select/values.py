"""Graph values to section expressions over the pages of one stage.

Floats are computed in the vector datapath's float format, integers in its integer format. Refuses by name what a
section has no operation for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from spatial.graph.ranges import range_of_value, remainder
from spatial.ir.affine import Affine
from spatial.ir.body import Convert, Coord, Expr, Op
from spatial.ir.graph import Acc, Fn, Num, Read, Statement, Value, Var
from spatial.numerics import round_to
from spatial.select.emit import Emitter, Misfit, Ports, constant
from spatial.select.lanes import Lane
from spatial.select.pieces import Placed, Stored

SAME = frozenset(
    (
        *("neg", "abs", "exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "not", "add", "sub", "mul", "div"),
        *("truncdiv", "floordiv", "rem", "min", "max", "eq", "ne", "lt", "le", "and", "or", "select"),
    )
)
"""Operations that are called the same in graphs and in sections."""
DIVISIONS = frozenset(("truncdiv", "floordiv", "rem"))
"""Operations of integers that have no value where the second is zero."""
ROUNDINGS = ("floor", "ceil", "round")
"""Operations that make an integer of a float."""
SHORT = 8
"""Whole exponents up to which a power is reasonably written out as a product."""
MANY = 1 << 31
"""More instances than any block has."""


@dataclass(frozen=True)
class Clamp:
    """A rounding to an integer, `value`, held between two integers."""

    value: Fn
    low: int
    high: int


def clamp_of(value: Fn) -> Clamp | None:
    """What `min` and `max` with constants, in any order, make of a rounding to an integer; None if not bounded both
    ways."""
    chain: list[tuple[str, int]] = []
    at: Value = value
    while isinstance(at, Fn) and at.fn in ("min", "max") and at.kind == "int":
        match at.args:
            case (Num(n), inner) | (inner, Num(n)):
                chain.append((at.fn, int(n)))
                at = inner
            case _:
                return None
    if not isinstance(at, Fn) or at.fn not in ROUNDINGS:
        return None
    low, high = None, None
    for fn, n in reversed(chain):
        if fn == "min":
            low, high = (None if low is None else min(low, n)), (n if high is None else min(high, n))
        else:
            low, high = (n if low is None else max(low, n)), (None if high is None else max(high, n))
    return None if low is None or high is None else Clamp(at, low, high)


def ends_of(value: Value) -> tuple[bool, bool]:
    """Whether a float is bounded below, and above, by constants; what is bounded so is a number."""
    match value:
        case Num() | Fn("float"):
            return True, True
        case Fn("min" | "max" as fn, args):
            (low, high), (below, above) = (ends_of(a) for a in args)
            return (low and below, high or above) if fn == "min" else (low or below, high and above)
        case Fn("select", (_, a, b)):
            (low, high), (below, above) = ends_of(a), ends_of(b)
            return low and below, high and above
        case Fn("neg", (a,)):
            low, high = ends_of(a)
            return high, low
        case Fn("abs" | "sin" | "cos" | "tanh" | "erf" | "add" | "sub" | "mul", args):
            known = all(end for a in args for end in ends_of(a))
            return known, known
        case _:
            return False, False


def _number(value: Expr) -> Expr:
    """A float, and zero where it is no number, which is what that rounds to."""
    return Op("select", (Op("eq", (value, value)), value, constant(0.0, "float")))


@dataclass
class Speller:
    """Spells values of one piece for one stage. `accs`: what each `Acc` stands for there."""

    emitter: Emitter
    placed: Placed
    ports: Ports
    row: Lane
    col: Lane
    accs: Mapping[int, Expr] = field(default_factory=dict[int, Expr])

    def spell(self, value: Value) -> Expr:
        """The expression of `value`."""
        match value:
            case Num():
                return constant(value.value, value.kind)
            case Var():
                return self.coordinate(self.placed.form(value.value))
            case Read():
                return self.ports.read(value, self.placed.reads[value], self.row, self.col)
            case Acc():
                return self.accs[value.red]
            case Fn():
                return self.function(value)

    def function(self, value: Fn) -> Expr:
        """The expression of an operation."""
        if value.fn in ROUNDINGS:
            inner = self.spell(value.args[0])
            number = inner if all(ends_of(value.args[0])) else _number(inner)
            return Convert(self.emitter.target.vector.int, Op(value.fn, (number,)))
        held = clamp_of(value)
        if held is not None and (bounded := self.rounded_within(held)) is not None:
            return bounded
        if value.fn == "float":
            return Convert(self.emitter.target.vector.float, self.spell(value.args[0]))
        if value.fn == "floordiv" and value.kind == "float":
            return Op("floor", (Op("div", tuple(self.spell(a) for a in value.args)),))
        if value.fn == "pow":
            raise no_power(value.args[1])
        if value.fn not in SAME:
            raise Misfit(f"`{value.fn}` of run-time values", "sections have no such operation", "compute it otherwise")
        cyclic = remainder(value)
        if cyclic is not None:
            whole = Op("mod", (self.spell(cyclic.of), constant(cyclic.modulus, "int")))
            if cyclic.scale > 1:
                whole = Op("mul", (whole, constant(cyclic.scale, "int")))
            return Op("add", (whole, constant(cyclic.shift, "int"))) if cyclic.shift else whole
        args = [self.spell(a) for a in value.args]
        if value.fn in DIVISIONS:
            args[1] = self.divisor(value.args[1], args[1])
        return Op(value.fn, tuple(args))

    def rounded_within(self, held: Clamp) -> Expr | None:
        """A rounded float that is held between integers, as what is held first, then rounded: rounding keeps the order
        of its operands and the integers as they are. A float that is no number is rounded to zero.

        None where the float is bounded already, and where the bounds are no floats.
        """
        value = held.value.args[0]
        vector = self.emitter.target.vector
        limits = round_to(vector.float, np.array([held.low, held.high], dtype=np.float64))
        if all(ends_of(value)) or [int(n) for n in limits] != [held.low, held.high]:
            return None
        inner = self.spell(value)
        above = Op("max", (_number(inner), constant(float(held.low), "float")))
        return Convert(vector.int, Op(held.value.fn, (Op("min", (above, constant(float(held.high), "float"))),)))

    def divisor(self, value: Value, spelled: Expr) -> Expr:
        """An integer divisor that is zero in no lane: not where pages overhang, nor where no result is meant."""
        if isinstance(value, Num) and value.value:
            return spelled
        known = {n: t.range for n, t in self.emitter.tensors.items() if t.is_int and t.range is not None}
        low, high = range_of_value(value, self.placed.piece, known, MANY) or (-1, 1)
        if low >= 0:
            return Op("max", (spelled, constant(1, "int")))
        if high <= 0:
            return Op("min", (spelled, constant(-1, "int")))
        raise Misfit(
            "an integer divisor may be of either sign, so that zero is not left out",
            "lanes that no result comes from are divided too, and a division by zero has no value",
            "declare a range of one sign for the table the divisor comes from",
        )

    def coordinate(self, form: Affine) -> Expr:
        """The integer page of an affine form over piece variables; lanes this stage's pages lack count as 0."""
        if form.coef("b"):
            raise Misfit(
                "the number of a block's iteration is used as a value",
                "one body serves all iterations, so it knows no number of its own",
                "read it from a sequence, by the loop's variable",
            )
        return self.bounded(form, self.lanes(form)) if self.emitter.bounded else self.lanes(form)

    def bounded(self, form: Affine, lanes: Expr) -> Expr:
        """The page with what lies outside the box of the piece's variables drawn to its edge."""
        low, high = form.bounds({f"v{n}": (0, extent - 1) for n, extent in enumerate(self.placed.extents)})
        if any(c > 0 for _, c in form.terms):
            lanes = Op("min", (lanes, constant(high, "int")))
        if any(c < 0 for _, c in form.terms):
            lanes = Op("max", (lanes, constant(low, "int")))
        return lanes

    def lanes(self, form: Affine) -> Expr:
        """The form at each lane, those that hang over the box counted on."""
        out = self.emitter.nest.form(form)
        rows, cols = form.coef(f"v{self.row.var}"), form.coef(f"v{self.col.var}")
        out = out + Affine.sym("r", rows)
        page = (self.row.tile if rows else 1, self.col.tile if cols else 1)
        if self.col.step == 1:
            return Coord(out + Affine.sym("c", cols), page)
        if not cols:
            return Coord(out, page)
        lane = Op("floordiv", (Coord(Affine.sym("c"), (1, self.col.tile)), constant(self.col.step, "int")))
        return Op("add", (Coord(out, (page[0], 1)), Op("mul", (lane, constant(cols, "int")))))


def within(e: Emitter, value: Expr, out: Stored, statement: Statement) -> Expr:
    """An integer about to be stored, drawn into the range proved of it, which only lanes that hang over can leave."""
    if not (e.bounded and out.is_int and out.range is not None and statement.over is None):
        return value
    low, high = out.range
    return Op("max", (Op("min", (value, constant(high, "int"))), constant(low, "int")))


def no_power(exponent: Value) -> Misfit:
    """The refusal of a power, with a spelling that has operations: it rounds otherwise, so it is not chosen here."""
    match exponent:
        case Num(value=0.5):
            mend = "write sqrt(x)"
        case Num(value=n) if float(n).is_integer() and 2 <= abs(n) <= SHORT:
            product = " * ".join("x" * int(abs(n)))
            mend = f"write {product}" if n > 0 else f"write 1.0 / ({product})"
        case Num():
            mend = "write it with exp and log: exp(log(x) * c), for an x above zero"
        case _:
            mend = "write it with exp and log: exp(y * log(x)), for an x above zero"
    return Misfit("a power of run-time values", "sections have products, exp and log, and no power", mend)
