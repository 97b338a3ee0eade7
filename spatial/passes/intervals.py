"""Intervals of the integers of a body: what each queue, accumulator and stored page is proved to hold.

From the ranges of the operands read, through every expression (`expression_bounds`). What leaves the integer format of
the datapath that computes it, or of the queue that holds it, is refused: integers are exact or not computed at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from spatial.errors import Refused
from spatial.graph.conditions import Bounds
from spatial.ir.body import Body, Cell, Expr, Matmul, Op, Stage
from spatial.numerics import int_range, is_float
from spatial.passes.expression_bounds import Place, bounds_of_value, fits, is_truth, whole
from spatial.passes.float_bounds import ANYTHING, rounded
from spatial.passes.integer_bounds import times
from spatial.passes.orders import dataflow_order
from spatial.target import Target

Interval = tuple[int, int]

_BEYOND = 64
"""A power of two that no integer format holds."""


@dataclass
class Proof:
    """The bounds proved so far, by queue, and the intervals of what is stored, by operand."""

    body: Body
    target: Target
    flows: dict[str, Bounds] = field(default_factory=dict[str, Bounds])
    stored: dict[str, Interval] = field(default_factory=dict[str, Interval])


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
            proof.flows[queue.name] = whole(*fits(interval, queue.prec, f"what {stage.name} loads"))
        case "store" if stage.access is not None:
            found = proof.flows.get(stage.ins[0].queue, ANYTHING)
            if found.kind == "int":
                low, high = _ends(found)
                old = proof.stored.get(stage.access.operand, (low, high))
                proof.stored[stage.access.operand] = (min(old[0], low), max(old[1], high))
        case "permute" | "multicast" | "scatter":
            proof.flows[stage.outs[0].queue] = proof.flows.get(stage.ins[0].queue, ANYTHING)
        case _:
            _compute(proof, stage)


def _compute(proof: Proof, stage: Stage) -> None:
    pages = {n: proof.flows[port.queue] for n, port in enumerate(stage.ins) if port.queue in proof.flows}
    width = proof.target.matrix.int_accumulate if stage.kind == "matmul" else proof.target.vector.int
    cells = {n: whole(int(s.init), int(s.init)) for n, s in enumerate(stage.states) if not is_float(s.prec)}
    place = Place(proof.body, stage, proof.target, pages, cells, width)
    for n in tuple(cells):
        cells[n] = whole(*_accumulate(place, n))
    for state in stage.states:
        if is_float(state.prec):
            bounds_of_value(state.update, place)
    for port in stage.outs:
        queue = proof.body.queue(port.queue)
        if port.value is None:
            continue
        found = bounds_of_value(port.value, place)
        if is_float(queue.prec):
            proof.flows[queue.name] = rounded(found, queue.prec)
        else:
            proof.flows[queue.name] = whole(
                *fits(_ends(found), queue.prec, f"what {stage.name} pushes to {queue.name}")
            )


def _ends(bounds: Bounds) -> Interval:
    return int(bounds.low), int(bounds.high)


def _accumulate(place: Place, number: int) -> Interval:
    """The interval of an accumulator over all its updates: a sum grows with each, a choice stays within its terms."""
    stage = place.stage
    state = stage.states[number]
    steps = prod(stage.loops[max(state.depth, 0) : state.at]) // prod(state.cells)
    init = _ends(place.cells[number])

    def of(value: Expr) -> Interval:
        return _ends(bounds_of_value(value, place))

    match state.update:
        case Op(op="add", args=(Cell(state=n), term)) if n == number:
            if isinstance(term, Matmul):
                a, b = (_ends(place.pages[p.port]) for p in (term.a, term.b))
                k = place.body.queue(stage.ins[term.a.port].queue).page[1]
                low, high = (end * k for end in times(a, b))
            else:
                low, high = of(term)
            grown = (init[0] + min(steps * low, low, 0), init[1] + max(steps * high, high, 0))
            return fits(grown, state.prec, f"the sum in {stage.name}")
        case Op(op="mul", args=(Cell(state=n), term)) if n == number:
            low, high = of(term)
            # What a long product may reach is not written out: it is beyond every format long before.
            most = max(abs(low), abs(high), 1) ** min(steps, _BEYOND) * max(abs(init[0]), abs(init[1]))
            return fits((-most if low < 0 else 0, most), state.prec, f"the product in {stage.name}")
        case Op(op="min" | "max" | "select", args=args):
            intervals = [(of(a), is_truth(a)) for a in args]
            seen = [interval for interval, truth in intervals if not truth]
            low, high = min(init[0], *(s[0] for s in seen)), max(init[1], *(s[1] for s in seen))
            if low < init[0] and high > init[1]:
                raise Refused(
                    f"the extremum in {stage.name} starts from {init[0]}, which its terms pass on both sides",
                    "its start must leave every term as it is",
                    "declare narrower ranges for the tables it is computed from",
                )
            return fits((low, high), state.prec, f"the accumulator of {stage.name}")
        case _:
            return int_range(state.prec)
