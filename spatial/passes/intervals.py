"""Intervals of the integers of a body: what each queue, accumulator and stored page is proved to hold.

From the ranges of the operands read, through every expression. What leaves the integer format of the datapath that
computes it, or of the queue that holds it, is refused: integers are exact or not computed at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage
from spatial.ir.typing import expr_type
from spatial.numerics import int_range, is_float
from spatial.passes.float_bounds import ANYTHING, Bounds, bounds_of_float, rounded
from spatial.passes.orders import dataflow_order
from spatial.target import Target

Interval = tuple[int, int]


@dataclass
class Proof:
    """The intervals proved so far, by queue, and of computed floats the bounds."""

    body: Body
    target: Target
    queues: dict[str, Interval] = field(default_factory=dict[str, Interval])
    stored: dict[str, Interval] = field(default_factory=dict[str, Interval])
    floats: dict[str, Bounds] = field(default_factory=dict[str, Bounds])

    def fits(self, interval: Interval, prec: str, what: str) -> Interval:
        """The interval, which must lie in the integer format `prec`."""
        low, high = int_range(prec)
        if interval[0] < low or interval[1] > high:
            raise Refused(
                f"{what} may reach {interval[0] if interval[0] < low else interval[1]}, outside {prec}",
                "integers are computed exactly or refused",
                "declare narrower ranges for the tables it is computed from, or use a target with wider integers",
            )
        return interval


def prove(body: Body, target: Target) -> dict[str, Interval]:
    """For each integer operand stored to, by name, the interval of what is stored; raises `Refused` on overflow."""
    proof = Proof(body, target)
    for stage in dataflow_order(body.stages):
        _stage(proof, stage)
    return proof.stored


def _stage(proof: Proof, stage: Stage) -> None:
    body = proof.body
    match stage.kind:
        case "load" if stage.access is not None:
            operand = body.operand(stage.access.operand)
            queue = body.queue(stage.outs[0].queue)
            if is_float(queue.prec):
                return
            known = int_range("i8") if operand.prec == "q8_0" else operand.range or int_range(operand.prec)
            interval = (min(known[0], 0), max(known[1], 0))  # lanes beyond the extent are zero
            proof.queues[queue.name] = proof.fits(interval, queue.prec, f"what {stage.name} loads")
        case "store" if stage.access is not None:
            interval = proof.queues.get(stage.ins[0].queue)
            if interval is not None:
                old = proof.stored.get(stage.access.operand, interval)
                proof.stored[stage.access.operand] = (min(old[0], interval[0]), max(old[1], interval[1]))
        case "permute" | "multicast" | "scatter":
            interval = proof.queues.get(stage.ins[0].queue)
            if interval is not None:
                proof.queues[stage.outs[0].queue] = interval
        case _:
            _compute(proof, stage)


def _compute(proof: Proof, stage: Stage) -> None:
    cells: dict[int, Interval] = {}
    width = proof.target.matrix.int_accumulate if stage.kind == "matmul" else proof.target.vector.int
    for n, state in enumerate(stage.states):
        if not is_float(state.prec):
            cells[n] = (int(state.init), int(state.init))
    for n in range(len(stage.states)):
        if n in cells:
            cells[n] = _accumulate(proof, stage, n, cells, width)
    for port in stage.outs:
        queue = proof.body.queue(port.queue)
        if port.value is None:
            continue
        _conversions(proof, stage, port.value, cells, width)
        if is_float(queue.prec):
            proof.floats[queue.name] = rounded(_float_bounds(proof, stage, port.value, cells, width), queue.prec)
            continue
        interval = _interval(proof, stage, port.value, cells, width)
        proof.queues[queue.name] = proof.fits(interval, queue.prec, f"what {stage.name} pushes to {queue.name}")


def _conversions(proof: Proof, stage: Stage, value: Expr, cells: dict[int, Interval], width: str) -> None:
    """Holds every float that becomes an integer to its bounds, also where a float or a truth is made of it."""
    match value:
        case Op():
            for arg in value.args:
                _conversions(proof, stage, arg, cells, width)
        case Convert():
            if not is_float(value.prec):
                _converted(proof, stage, value, cells, width)
            _conversions(proof, stage, value.arg, cells, width)
        case Lanes():
            _conversions(proof, stage, value.arg, cells, width)
        case _:
            return


def _accumulate(proof: Proof, stage: Stage, number: int, cells: dict[int, Interval], width: str) -> Interval:
    """The interval of an accumulator over all its updates: a sum grows with each, a choice stays within its terms."""
    state = stage.states[number]
    steps = prod(stage.loops[max(state.depth, 0) : state.at]) // prod(state.cells)
    init = cells[number]
    match state.update:
        case Op(op="add", args=(Cell(state=n), term)) if n == number:
            if isinstance(term, Matmul):
                a, b = (proof.queues[stage.ins[p.port].queue] for p in (term.a, term.b))
                k = proof.body.queue(stage.ins[term.a.port].queue).page[1]
                low, high = _times(a, b)
                low, high = low * k, high * k
            else:
                low, high = _interval(proof, stage, term, cells, width)
            grown = (init[0] + min(steps * low, low, 0), init[1] + max(steps * high, high, 0))
            return proof.fits(grown, state.prec, f"the sum in {stage.name}")
        case Op(op="mul", args=(Cell(state=n), term)) if n == number:
            low, high = _interval(proof, stage, term, cells, width)
            most = max(abs(low), abs(high), 1) ** steps * max(abs(init[0]), abs(init[1]))
            return proof.fits((-most if low < 0 else 0, most), state.prec, f"the product in {stage.name}")
        case Op(op="min" | "max" | "select", args=args):
            seen = [_interval(proof, stage, a, cells, width) for a in args if not _is_truth(a)]
            low, high = min(init[0], *(s[0] for s in seen)), max(init[1], *(s[1] for s in seen))
            if low < init[0] and high > init[1]:
                raise Refused(
                    f"the extremum in {stage.name} starts from {init[0]}, which its terms pass on both sides",
                    "its start must leave every term as it is",
                    "declare narrower ranges for the tables it is computed from",
                )
            return proof.fits((low, high), state.prec, f"the accumulator of {stage.name}")
        case _:
            return int_range(state.prec)


def _float_bounds(proof: Proof, stage: Stage, value: Expr, cells: dict[int, Interval], width: str) -> Bounds:
    def leaf(x: Expr) -> Bounds:
        return proof.floats.get(stage.ins[x.port].queue, ANYTHING) if isinstance(x, Page) else ANYTHING

    def whole(x: Expr) -> Interval | None:
        return None if _is_float(proof, stage, x) else _interval(proof, stage, x, cells, width)

    return bounds_of_float(value, leaf, whole)


def _is_float(proof: Proof, stage: Stage, value: Expr) -> bool:
    match value:
        case Page():
            return is_float(proof.body.queue(stage.ins[value.port].queue).prec)
        case Cell():
            return is_float(stage.states[value.state].prec)
        case Const():
            return value.kind == "float"
        case Convert():
            return is_float(value.prec)
        case Op():
            return not _is_truth(value) and _is_float(proof, stage, value.args[-1])
        case Lanes():
            return _is_float(proof, stage, value.arg)
        case Matmul():
            return _is_float(proof, stage, value.a)
        case Coord():
            return False


def _is_truth(value: Expr) -> bool:
    return isinstance(value, Op) and value.op in ("eq", "ne", "lt", "le", "and", "or", "not")


def _times(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _interval(proof: Proof, stage: Stage, value: Expr, cells: dict[int, Interval], width: str) -> Interval:
    """The interval of an integer expression; each step must fit the datapath's integer format."""
    return proof.fits(_raw(proof, stage, value, cells, width), width, f"a value in {stage.name}")


def _raw(proof: Proof, stage: Stage, value: Expr, cells: dict[int, Interval], width: str) -> Interval:
    def of(x: Expr) -> Interval:
        return _interval(proof, stage, x, cells, width)

    match value:
        case Const():
            return int(value.value), int(value.value)
        case Coord():
            return value.value.bounds(bounds_of(proof.body, stage, value.value, value.shape))
        case Page():
            return proof.queues[stage.ins[value.port].queue]
        case Cell():
            return cells[value.state]
        case Lanes():
            low, high = of(value.arg)
            if value.op != "sum":
                return low, high
            shape = expr_type(value.arg, stage, proof.body, proof.target).shape
            lanes = shape[0] if value.axis == "rows" else shape[1]
            return min(low * lanes, low), max(high * lanes, high)
        case Convert():
            return _converted(proof, stage, value, cells, width)
        case Op():
            return _operation(value, of)
        case Matmul():
            return int_range(width)


def _converted(proof: Proof, stage: Stage, value: Convert, cells: dict[int, Interval], width: str) -> Interval:
    if _is_truth(value.arg):
        return 0, 1
    if _is_float(proof, stage, value.arg):
        found = _float_bounds(proof, stage, value.arg, cells, width)
        if not found.finite:
            raise Refused(
                "a float that is not proved bounded becomes an integer",
                "what lies outside the integer's format has no value there",
                "bound it first: min(max(x, low), high)",
            )
        return proof.fits((round(found.low), round(found.high)), value.prec, f"a conversion in {stage.name}")
    return proof.fits(_interval(proof, stage, value.arg, cells, width), value.prec, f"a conversion in {stage.name}")


def _operation(value: Op, of: Callable[[Expr], Interval]) -> Interval:
    if _is_truth(value):
        return 0, 1
    args = value.args[1:] if value.op == "select" else value.args
    parts = [of(a) for a in args]
    a, b = parts[0], parts[-1]
    match value.op:
        case "add":
            return a[0] + b[0], a[1] + b[1]
        case "sub":
            return a[0] - b[1], a[1] - b[0]
        case "mul":
            return _times(a, b)
        case "neg":
            return -a[1], -a[0]
        case "abs":
            return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "select":
            return min(a[0], b[0]), max(a[1], b[1])
        case "mod" | "rem" | "floordiv" | "truncdiv" if b[0] <= 0 <= b[1]:
            raise Refused(
                f"{value.op} divides by values {list(b)}, zero among them",
                "a division by zero has no value",
                "declare a range without zero for the table the divisor comes from",
            )
        case "mod":
            return (0, b[1] - 1) if b[0] > 0 else (b[0] + 1, 0)
        case "rem":
            most = max(abs(b[0]), abs(b[1])) - 1
            return max(min(a[0], 0), -most), min(max(a[1], 0), most)
        case "floordiv" | "truncdiv":
            by: Callable[[int, int], int] = _floor if value.op == "floordiv" else _trunc
            corners = [by(x, y) for x in a for y in b]  # monotonic in each operand, the divisor being of one sign
            return min(corners), max(corners)
        case _:
            return min(a[0], b[0]), max(a[1], b[1])


def _floor(a: int, b: int) -> int:
    return a // b


def _trunc(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _last_item(body: Body, axis: int) -> int:
    """The greatest item coordinate an idle turn may show too: what is computed there must fit as well.

    Of a template, under any placement: an axis is spread over less than twice as many sites as it has items, and its
    last turn is not all idle.
    """
    if body.phase == "template":
        return 3 * body.items.grid[axis] - 1
    ranges = {"sx": (0, body.rect[0] - 1), "sy": (0, body.rect[1] - 1)}
    ranges |= {f"t{n}": (0, trips - 1) for n, trips in enumerate(body.items.trips)}
    return body.items.coord[axis].bounds(ranges)[1]


def bounds_of(body: Body, stage: Stage, form: Affine, shape: tuple[int, int]) -> dict[str, Interval]:
    """Bounds of every coordinate that occurs in a form of the stage."""
    out: dict[str, Interval] = {}
    for s in form.symbols:
        match s[0]:
            case "i":
                out[s] = (0, _last_item(body, int(s[1:])))
            case "l":
                out[s] = (0, stage.loops[int(s[1:]) - 1] - 1)
            case "p":
                out[s] = (0, max((p.pages[int(s[1:])] for p in stage.outs if len(p.pages) > int(s[1:])), default=1) - 1)
            case "r":
                out[s] = (0, shape[0] - 1)
            case "c":
                out[s] = (0, shape[1] - 1)
            case _:
                out[s] = (0, body.rect[0 if s == "sx" else 1] - 1)
    return out
