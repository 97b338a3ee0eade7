"""Bounds of an expression of a stage, from those of its pages, accumulators and coordinates.

Every integer result must lie in the format of the datapath, whether a selection takes it or not; where a selection
takes a value, its condition bounds it (`graph.conditions`). A float becomes an integer only where it is bounded. Knows
no queue's producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spatial.errors import Refused
from spatial.graph.conditions import MOST_FACTS, Bounds, Fact, Line, Reading, facts_of, line_of, narrowed
from spatial.ir.body import Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage
from spatial.ir.typing import expr_type
from spatial.numerics import int_range, is_float
from spatial.passes.coordinates import bounds_of
from spatial.passes.float_bounds import ANYTHING, float_result, is_finite, rounded
from spatial.passes.integer_bounds import integer_result
from spatial.target import Target

TRUTH = Bounds(0, 1, kind="truth")
_TRUTHS = ("eq", "ne", "lt", "le", "and", "or", "not")

Facts = tuple[Fact[Expr], ...]


@dataclass(frozen=True)
class Place:
    """Where expressions stand. `pages`, `cells`: the bounds of what each port pops and each accumulator holds; `width`:
    the integer format they are computed in."""

    body: Body
    stage: Stage
    target: Target
    pages: Mapping[int, Bounds]
    cells: Mapping[int, Bounds]
    width: str

    def leaf(self, value: Expr) -> Bounds | None:
        """What is read or counted as it is; None of what is computed."""
        match value:
            case Const(kind="float"):
                return rounded(Bounds(float(value.value), float(value.value)), self.target.vector.float)
            case Const():
                return whole(int(value.value), int(value.value))
            case Coord():
                return whole(*value.value.bounds(bounds_of(self.body, self.stage, value.value, value.shape)))
            case Page():
                return self.entered(self.pages.get(value.port, ANYTHING))
            case Cell():
                return self.entered(self.cells.get(value.state, ANYTHING))
            case _:
                return None

    def entered(self, bounds: Bounds) -> Bounds:
        """Floats as the datapath takes them."""
        return rounded(bounds, self.target.vector.float) if bounds.kind == "float" else bounds

    def held(self, bounds: Bounds, prec: str, what: str) -> Bounds:
        """The bounds of an integer, which must lie in the format `prec`; floats as the datapath holds them."""
        if bounds.kind == "int":
            fits((int(bounds.low), int(bounds.high)), prec, f"{what} in {self.stage.name}")
        return self.entered(bounds)


def whole(low: int, high: int) -> Bounds:
    """The integers from `low` to `high`."""
    return Bounds(low, high, kind="int")


def is_truth(value: Expr) -> bool:
    """Whether an expression is a condition."""
    return isinstance(value, Op) and value.op in _TRUTHS


def fits(interval: tuple[int, int], prec: str, what: str) -> tuple[int, int]:
    """The interval, which must lie in the integer format `prec`."""
    low, high = int_range(prec)
    if interval[0] < low or interval[1] > high:
        raise Refused(
            f"{what} may reach {interval[0] if interval[0] < low else interval[1]}, outside {prec}",
            "integers are computed exactly or refused",
            "declare narrower ranges for the tables it is computed from, or use a target with wider integers",
        )
    return interval


def bounds_of_value(value: Expr, place: Place) -> Bounds:
    """The bounds of an expression."""
    return _lanes(value, place, ())[1]


def _lanes(value: Expr, place: Place, facts: Facts) -> tuple[Bounds, Bounds]:
    """The bounds of what is computed in any lane, and of what is taken, where the facts hold."""
    match value:
        case Op():
            return _operation(value, place, facts)
        case Convert():
            computed, taken = _lanes(value.arg, place, facts)
            made = place.held(_converted(computed, value.prec, place), place.width, "a value")
            inner = place.entered(_converted(taken, value.prec, place))
        case Lanes():
            inner = made = place.held(_across(value, bounds_of_value(value.arg, place), place), place.width, "a value")
        case Matmul():
            inner = made = whole(*int_range(place.width)) if _is_whole(value, place) else ANYTHING
        case _:
            inner = made = place.held(place.leaf(value) or ANYTHING, place.width, "a value")
    return made, _taken(value, made, inner, place, facts)


def _operation(value: Op, place: Place, facts: Facts) -> tuple[Bounds, Bounds]:
    """An elementwise operation; a selection takes of each of its values what its condition leaves of it."""
    known = [facts] * len(value.args)
    if value.op == "select":
        told = [facts_of(value.args[0], holds, _reading(place)) for holds in (True, False)]
        known[1:] = [(*new, *facts)[:MOST_FACTS] for new in told]
    found = [_lanes(a, place, f) for a, f in zip(value.args, known, strict=True)]
    computed, taken = [c for c, _ in found], [t for _, t in found]
    if is_truth(value):
        return TRUTH, TRUTH
    inner = _result(value.op, taken)
    made = inner if value.op == "select" and not facts else _result(value.op, computed)
    made = place.held(made, place.width, "a value")
    return made, _taken(value, made, place.entered(inner), place, facts)


def _result(op: str, args: list[Bounds]) -> Bounds:
    if op == "select":
        a, b = args[1:]
        return Bounds(min(a.low, b.low), max(a.high, b.high), a.nan or b.nan, a.kind)
    if args[0].kind == "float":
        return float_result(op, args)
    return whole(*integer_result(op, [(int(a.low), int(a.high)) for a in args]))


def _taken(value: Expr, made: Bounds, inner: Bounds, place: Place, facts: Facts) -> Bounds:
    return narrowed(value, inner, facts, _reading(place)) if facts else made


def _converted(bounds: Bounds, prec: str, place: Place) -> Bounds:
    if is_float(prec):
        return rounded(Bounds(float(bounds.low), float(bounds.high), bounds.nan), prec)
    if bounds.kind == "truth":
        return whole(0, 1)
    if bounds.kind == "float":
        if not is_finite(bounds):
            raise Refused(
                "a float that is not proved bounded becomes an integer",
                "what lies outside the integer's format has no value there",
                "bound it first: min(max(x, low), high)",
            )
        bounds = whole(round(bounds.low), round(bounds.high))
    return place.held(bounds, prec, "a conversion")


def _across(value: Lanes, bounds: Bounds, place: Place) -> Bounds:
    if value.op != "sum":
        return bounds
    if bounds.kind == "float":
        return ANYTHING
    shape = expr_type(value.arg, place.stage, place.body, place.target).shape
    lanes = shape[0] if value.axis == "rows" else shape[1]
    return whole(int(min(bounds.low * lanes, bounds.low)), int(max(bounds.high * lanes, bounds.high)))


def _is_whole(product: Matmul, place: Place) -> bool:
    return place.pages.get(product.a.port, ANYTHING).kind == "int"


def _reading(place: Place) -> Reading[Expr]:
    return Reading(_parts, place.leaf, _line)


def _parts(value: Expr) -> tuple[str, tuple[Expr, ...]]:
    return (value.op, value.args) if isinstance(value, Op) else ("", ())


def _line(value: Expr) -> Line[Expr]:
    match value:
        case Coord(form, shape):
            return line_of(form, lambda plain: Coord(plain, shape))
        case Op("add", (inner, Const(n, "int")) | (Const(n, "int"), inner)):
            return _line(inner).plus(int(n))
        case Op("sub", (inner, Const(n, "int"))):
            return _line(inner).plus(-int(n))
        case Op("sub", (Const(n, "int"), inner)):
            return _line(inner).taken_from(int(n))
        case _:
            return Line(value)
