"""Obligation 2: every precision exists on the datapath that uses it.

Page products take pages of the matrix datapath's formats and accumulate in its accumulator's; elementwise stages take,
keep and push formats the vector datapath holds; movers change no format but by the rounding of a push, between floats
or between integers. Knows no shape and no tensor.
"""

from __future__ import annotations

from spatial.check.stage_parts import access_of, moved_port
from spatial.check.typing_rules import walk
from spatial.check.verdict import Log, Spot
from spatial.ir.body import Body, Convert, Matmul, Page, Stage
from spatial.numerics import PRECISIONS
from spatial.target import Target


def check_precisions(body: Body, target: Target, place: str, log: Log) -> bool:
    """Whether every format has its datapath."""
    before = log.findings
    for stage in body.stages:
        at = log.at("precision", f"{place}, stage {stage.name}")
        match stage.kind:
            case "matmul":
                _products(body, stage, target, at)
                _elementwise(body, stage, target, at)
            case "generic" | "permute":
                _elementwise(body, stage, target, at)
            case "load" | "store":
                _mover(body, stage, at)
            case _:
                pass
    return log.findings == before


def _products(body: Body, stage: Stage, target: Target, at: Spot) -> None:
    matrix = target.matrix
    for state in stage.states:
        here = at.at(f"state {state.name}")
        for expr in walk(state.update):
            if not isinstance(expr, Matmul):
                continue
            precs = [body.queue(stage.ins[p.port].queue).prec for p in (expr.a, expr.b)]
            floats = all(p in matrix.floats for p in precs)
            ints = all(p in matrix.ints for p in precs)
            here.require(
                floats or ints,
                f"pages of {' and '.join(precs)} are no operands of the matrix datapath",
                f"it takes floats ({', '.join(matrix.floats)}) or integers ({', '.join(matrix.ints)})",
            )
            wanted = matrix.float_accumulate if floats else matrix.int_accumulate
            here.require(
                state.prec == wanted or not (floats or ints),
                f"an accumulator of {state.prec} does not exist",
                f"the matrix datapath accumulates such products in {wanted}",
            )


def _elementwise(body: Body, stage: Stage, target: Target, at: Spot) -> None:
    holds = target.vector.holds
    words = f"it holds {', '.join(holds)}"
    for n, port in enumerate(stage.outs):
        prec = body.queue(port.queue).prec
        at.at(f"out port {n}").require(prec in holds, f"{prec} does not leave the vector datapath", words)
    if stage.kind == "permute":
        prec = body.queue(stage.ins[0].queue).prec
        at.at("in port 0").require(prec in holds, f"{prec} does not enter the vector datapath", words)
        return
    kept = (*holds, target.vector.float, target.vector.int)
    for state in stage.states if stage.kind == "generic" else ():
        here = at.at(f"state {state.name}")
        here.require(state.prec in kept, f"the vector datapath keeps no {state.prec}", words)
    # What a product's update reads enters the matrix datapath; everything else is elementwise.
    values = [p.value for p in stage.outs if p.value is not None]
    values += [s.update for s in stage.states] if stage.kind == "generic" else []
    for value in values:
        for part in walk(value):
            match part:
                case Page(port):
                    prec = body.queue(stage.ins[port].queue).prec
                    at.require(prec in holds, f"{prec} does not enter the vector datapath", words)
                case Convert(prec):
                    at.require(prec in kept, f"the vector datapath converts to no {prec}", words)
                case _:
                    pass


def _mover(body: Body, stage: Stage, at: Spot) -> None:
    """A mover rounds a float to a float and narrows an integer to an integer, and changes no kind."""
    access = access_of(stage)
    operand = body.operand(access.operand)
    planes = {"values": "i8", "scales": "f16"}
    stored = planes.get(access.plane, "") if operand.prec == "q8_0" else operand.prec
    if stored not in PRECISIONS:
        return
    queue = body.queue(moved_port(stage).queue)
    at.require(
        PRECISIONS[queue.prec].kind == PRECISIONS[stored].kind,
        f"elements of {stored} and pages of {queue.prec} differ in kind",
        "convert in an elementwise stage",
    )
