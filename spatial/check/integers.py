"""Obligation 13: every integer fits where it is computed, kept, pushed and stored.

Intervals run through the body: from what operands are said to hold, through queues, expressions and accumulators, to
what stores write. An accumulator of `add(state, e)` is bounded by the number of its updates, any other state by
following its updates until nothing changes. Where queues form a cycle, a queue is taken to hold all its format holds,
which is sound because every push is judged against that format. An integer that becomes a float is rounded, which is
no fault; a float becomes an integer only where it is bounded and no NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spatial.check.accesses import operand_span, plane_extent, reach_of
from spatial.check.coords import coordinates, page_ranges
from spatial.check.expression_spans import Flow, Scope, span_of, state_spans
from spatial.check.queues import ends_of
from spatial.check.spans import Span, hull, is_int, rounded, stored, with_zero, within
from spatial.check.stage_parts import access_of, moved_port
from spatial.check.verdict import Log, Spot
from spatial.errors import Bug
from spatial.ir.body import Body, OutPort, Stage
from spatial.numerics import int_range
from spatial.target import Target


@dataclass(frozen=True)
class Values:
    """Intervals a body was proved to keep: of each queue, and of what is stored through each operand."""

    queues: Mapping[str, Flow]
    stored: Mapping[str, Span]


def check_integers(body: Body, target: Target, place: str, log: Log) -> Values:
    """The intervals of `body`; what may not fit is told to `log`."""
    flows: dict[str, Flow] = {}
    partial: dict[str, Flow] = {}
    producers = {name: {s for s, _ in ends.producers} for name, ends in ends_of(body).items()}
    rest = list(range(len(body.stages)))
    while rest:
        for name, made in producers.items():
            if name not in flows and name in partial and not made.intersection(rest):
                flows[name] = partial[name]
        ready = [s for s in rest if all(p.queue in flows for p in body.stages[s].ins)]
        if not ready:
            around = next(p.queue for s in rest for p in body.stages[s].ins if p.queue not in flows)
            anything = stored(body.queue(around).prec)
            flows[around] = Flow(anything, anything)
        for s in ready:
            stage = body.stages[s]
            at = log.at("integer", f"{place}, stage {stage.name}")
            for port, flow in zip(stage.outs, _pushed(body, stage, flows, target, at), strict=True):
                known = partial.get(port.queue, flow)
                partial[port.queue] = Flow(hull(known.lanes, flow.lanes), hull(known.first, flow.first))
            rest.remove(s)
    return Values(flows | {n: f for n, f in partial.items() if n not in flows}, _stores(body, flows, place, log))


def _pushed(body: Body, stage: Stage, flows: Mapping[str, Flow], target: Target, at: Spot) -> list[Flow]:
    """The flow of each out port of a stage."""
    match stage.kind:
        case "load":
            return [_fit(body, stage.outs[0], _loaded(body, stage), at.at("out port 0"))]
        case "matmul" | "generic":
            return _computed(body, stage, flows, target, at)
        case "store":
            return []
        case _:
            flow = flows[stage.ins[0].queue]
            return [Flow(flow.lanes, flow.lanes if stage.kind == "permute" else flow.first)]


def _loaded(body: Body, stage: Stage) -> Flow:
    """Lanes outside the extent and pages of idle turns are zero."""
    access = access_of(stage)
    operand = body.operand(access.operand)
    values = operand_span(operand, access.plane)
    reach = reach_of(body, stage)
    extent = plane_extent(operand, access.plane)
    page = body.queue(stage.outs[0].queue).page
    based = not reach.idle and all(
        (low >= 0 and high < n) or (access.index is not None and access.index.axis == axis)
        for axis, ((low, high), n) in enumerate(zip(reach.base, extent, strict=True))
    )
    covered = based and access.index is None
    covered = covered and reach.base[1][1] + page[0] <= extent[1] and reach.base[2][1] + page[1] <= extent[2]
    return Flow(values if covered else with_zero(values), values if based else with_zero(values))


def _computed(body: Body, stage: Stage, flows: Mapping[str, Flow], target: Target, at: Spot) -> list[Flow]:
    queues = {q.name: q for q in body.queues}
    states: list[Span] = []
    for state, found in zip(stage.states, state_spans(body, stage, queues, flows, target), strict=True):
        at.at(f"state {state.name}").require(
            not isinstance(found, str), str(found), "widen the format or narrow a range"
        )
        states.append(stored(state.prec) if isinstance(found, str) else found)
    out: list[Flow] = []
    for n, port in enumerate(stage.outs):
        here = at.at(f"out port {n}")
        if port.value is None:
            raise Bug(f"stage {stage.name} pushes no value")
        ranges = coordinates(body, stage, port.depth) | page_ranges(port.pages)
        scope = Scope(stage, queues, flows, tuple(states), ranges, target.vector.int, target.vector.float)
        whole, first = span_of(port.value, scope), span_of(port.value, replace(scope, first=True))
        if isinstance(whole, str) or isinstance(first, str):
            here.require(False, whole if isinstance(whole, str) else str(first), "widen the format or narrow a range")
            anything = stored(body.queue(port.queue).prec)
            out.append(Flow(anything, anything))
        else:
            out.append(_fit(body, port, Flow(whole, first), here))
    return out


def _fit(body: Body, port: OutPort, flow: Flow, at: Spot) -> Flow:
    """The flow as the queue holds it: floats rounded, integers held to its format."""
    prec = body.queue(port.queue).prec
    if not is_int(prec):
        return Flow(rounded(flow.lanes, prec), rounded(flow.first, prec))
    if at.require(
        within(flow.lanes, int_range(prec)),
        f"values {flow.lanes} do not fit the pages of {port.queue}, which are {prec}",
        "widen the queue's format or narrow a range",
    ):
        return flow
    return Flow(stored(prec), stored(prec))


def _stores(body: Body, flows: Mapping[str, Flow], place: str, log: Log) -> dict[str, Span]:
    """What is stored through each operand, held to what the operand says."""
    out: dict[str, Span] = {}
    for stage in body.stages:
        if stage.kind != "store":
            continue
        operand = body.operand(access_of(stage).operand)
        span = flows[moved_port(stage).queue].lanes
        if is_int(operand.prec):
            said = operand_span(operand, "")
            log.at("integer", f"{place}, stage {stage.name}").require(
                within(span, int_range(operand.prec)) and within(span, (int(said.low), int(said.high))),
                f"values {span} are stored through {operand.name}, which holds {said} of {operand.prec}",
                "widen the operand's range or format",
            )
        else:
            span = rounded(span, operand.prec)
        out[operand.name] = hull(out.get(operand.name, span), span)
    return out
