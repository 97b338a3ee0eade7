"""Graph values to section expressions over the pages of one stage.

Floats are computed in the vector datapath's float format, integers in its integer format. Refuses by name what a
section has no operation for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spatial.graph.ranges import range_of_value, remainder
from spatial.ir.affine import Affine
from spatial.ir.body import Convert, Coord, Expr, Op
from spatial.ir.graph import Acc, Fn, Num, Read, Statement, Value, Var
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
SHORT = 8
"""Whole exponents up to which a power is reasonably written out as a product."""
MANY = 1 << 31
"""More instances than any block has."""


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
        if value.fn in ("floor", "ceil", "round"):
            return Convert(self.emitter.target.vector.int, Op(value.fn, (self.spell(value.args[0]),)))
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
            return Op("add", (whole, constant(cyclic.shift, "int"))) if cyclic.shift else whole
        args = [self.spell(a) for a in value.args]
        if value.fn in DIVISIONS:
            args[1] = self.divisor(value.args[1], args[1])
        return Op(value.fn, tuple(args))

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
