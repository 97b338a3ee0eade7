"""Obligation 8: every load and store reaches an operand of the right mode and plane, and no byte outside its binding.

The rule for places. A direct access (no run-time index) may lie anywhere: lanes outside the binding's extent are zero
on load and not stored, by definition and by constants known to the mover, so that ragged edges, and pages of a block
that lie wholly beyond an edge, touch nothing. A run-time index is not known to the mover, so the base of an indexed
access must lie inside the extent on the index's axis in every turn that is not idle, and only lanes may overhang; the
proof is the interval of element [0, 0] of the index's queue. Idle turns touch nothing, so that where each turn's index
is loaded in that turn, on that site, what an idle turn loads is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spatial.check.coords import coordinates, page_ranges, sites_of, turns_of
from spatial.check.cover import Box
from spatial.check.expression_spans import Flow
from spatial.check.queues import ends_of
from spatial.check.spans import Span, is_int, stored
from spatial.check.stage_parts import access_of, moved_port
from spatial.check.verdict import Log
from spatial.ir.body import Body, Operand, Stage
from spatial.numerics import Q8_BLOCK

AXES = ("slice", "row", "column")


@dataclass(frozen=True)
class Reach:
    """Where the pages of a load or store have lane [0, 0], on each axis, in turns that are not idle, index left out.

    `idle`: whether some turn is idle; `page`: lanes on each axis.
    """

    base: tuple[tuple[int, int], ...]
    idle: bool
    page: tuple[int, int, int]


def plane_extent(operand: Operand, plane: str) -> tuple[int, int, int]:
    """Slices, rows and columns of a plane of an operand."""
    slices, rows, cols = operand.extent
    return (slices, rows // Q8_BLOCK, cols) if plane == "scales" else (slices, rows, cols)


def operand_span(operand: Operand, plane: str) -> Span:
    """What the elements of an operand's plane are said to hold."""
    prec = {"values": "i8", "scales": "f16"}[plane] if operand.layout == "q8_0" else operand.prec
    if is_int(prec) and operand.range is not None:
        return Span("int", *operand.range)
    return stored(prec)


def reach_of(body: Body, stage: Stage) -> Reach:
    """The reach of a load or store."""
    port = moved_port(stage)
    ranges = coordinates(body, stage, port.depth, live=True) | page_ranges(port.pages)
    idle = port.depth >= 0 and turns_of(body, sites_of(body, stage)).idle
    base = tuple(form.bounds(ranges) for form in access_of(stage).place)
    return Reach(base, idle, (1, *body.queue(port.queue).page))


def reached(body: Body, stage: Stage, flows: Mapping[str, Flow]) -> Box | None:
    """A box around all elements a load or store touches in its operand, or None where it touches none."""
    access, reach = access_of(stage), reach_of(body, stage)
    extent = plane_extent(body.operand(access.operand), access.plane)
    edges: list[int] = []
    for axis, ((low, high), lanes, n) in enumerate(zip(reach.base, reach.page, extent, strict=True)):
        if access.index is not None and access.index.axis == axis:
            low, high = indexed(body, stage, flows)
        edges += [max(low, 0), min(high + lanes, n)]
    s0, s1, r0, r1, c0, c1 = edges
    return (s0, s1, r0, r1, c0, c1) if s0 < s1 and r0 < r1 and c0 < c1 else None


def indexed(body: Body, stage: Stage, flows: Mapping[str, Flow]) -> tuple[int, int]:
    """Least and greatest base on the axis of an indexed access."""
    access = access_of(stage)
    index = access.index
    if index is None:
        return 0, 0
    first = _in_its_turn(body, stage, index.port) or flows[stage.ins[index.port].queue].first
    low, high = reach_of(body, stage).base[index.axis]
    steps = (index.scale * int(first.low), index.scale * int(first.high))
    return low + min(steps), high + max(steps)


def _in_its_turn(body: Body, stage: Stage, port: int) -> Span | None:
    """What element [0, 0] of an index's pages holds in turns that are not idle, where each is loaded in its own turn.

    A queue that both its ends move in every turn is balanced in each: what a turn pops was pushed in it.
    """
    taken = stage.ins[port]
    producers = ends_of(body)[taken.queue].producers
    if taken.depth < 0 or len(producers) != 1:
        return None
    source = body.stages[producers[0][0]]
    if source.kind != "load" or source.outs[0].depth < 0:
        return None
    access = access_of(source)
    operand = body.operand(access.operand)
    extents = zip(reach_of(body, source).base, plane_extent(operand, access.plane), strict=True)
    if access.index is not None or any(low < 0 or high >= n for (low, high), n in extents):
        return None
    return operand_span(operand, access.plane)


def check_operands(body: Body, place: str, log: Log) -> bool:
    """Whether every load and store has an operand of its mode, and a plane of it."""
    before = log.findings
    for stage in body.stages:
        if stage.kind not in ("load", "store"):
            continue
        at, access = log.at("access", f"{place}, stage {stage.name}"), access_of(stage)
        operand = body.operand(access.operand)
        mode = "in" if stage.kind == "load" else "out"
        at.require(operand.mode == mode, f"it is a {stage.kind}, and operand {operand.name} is {operand.mode}")
        planes = ("values", "scales") if operand.layout == "q8_0" else ("",)
        words = f"it has {' and '.join(planes)}" if all(planes) else "it has but one"
        at.require(access.plane in planes, f"operand {operand.name} has no plane {access.plane!r}", words)
    return log.findings == before


def check_indices(body: Body, flows: Mapping[str, Flow], place: str, log: Log) -> bool:
    """Whether every run-time index keeps its base inside the operand."""
    before = log.findings
    for stage in body.stages:
        index = None if stage.access is None else stage.access.index
        if index is None:
            continue
        operand = body.operand(access_of(stage).operand)
        low, high = indexed(body, stage, flows)
        n = plane_extent(operand, access_of(stage).plane)[index.axis]
        log.at("access", f"{place}, stage {stage.name}").require(
            low >= 0 and high < n,
            f"the run-time index puts the {AXES[index.axis]} at {low} to {high}, and {operand.name} has {n} "
            f"{AXES[index.axis]}s",
            "declare a narrower range of the index, or bind a larger part",
        )
    return log.findings == before
