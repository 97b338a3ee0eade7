"""Obligation 1, shape: a body has a meaning at all.

Names resolve, sizes are positive, ports and choices lie in range, forms use only coordinates in scope. What the parts
of each stage kind are is judged in `stage_parts`. Once a body passes, the other obligations may index it freely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from spatial.check.coords import inside, turn_ranges, whole
from spatial.check.stage_parts import check_parts
from spatial.check.typing_rules import form_fault, no_precision
from spatial.check.verdict import Log, Spot
from spatial.ir.body import KINDS, Body, Operand, Queue, Stage, count
from spatial.numerics import PRECISIONS, Q8_BLOCK
from spatial.target import Target

MOST_STEPS = 1 << 32
"""Iterations of a stage in one call on one site: what no call comes near, and no count here overflows with."""

MOST_PAGES = 1 << 20
"""Pages a port moves at once, for the same reason."""

MOST_AXES = 16
"""Loops of a nest, axes of a grid, page dimensions of a port."""

MOST_ELEMENTS = 1 << 53
"""Elements of an operand: so many are counted exactly."""

AWAY = ("send", "receive", "allreduce")
"""Stage kinds that reach over chips."""


def check_shape(body: Body, target: Target, place: str, log: Log) -> bool:
    """Whether `body` is well formed; tells `log` what is not."""
    before = log.findings
    at = log.at("shape", place)
    _names(at, "operand", [o.name for o in body.operands])
    _names(at, "queue", [q.name for q in body.queues])
    _names(at, "stage", [s.name for s in body.stages])
    w, h = body.rect
    at.require(
        1 <= w <= target.columns and 1 <= h <= target.rows,
        f"the rectangle of {w} x {h} sites is none of a chip of {target.columns} x {target.rows}",
        "give the body a rectangle that the chip has",
    )
    if log.findings == before:
        _items(body, at)
    if log.findings > before:
        return False
    for operand in body.operands:
        _operand(operand, at.at(f"operand {operand.name}"))
    for queue in body.queues:
        _queue(queue, target, at.at(f"queue {queue.name}"))
    queues = {q.name: q for q in body.queues}
    for stage in body.stages:
        _stage(body, stage, queues, at.at(f"stage {stage.name}"))
    if log.findings > before:
        return False
    for stage in body.stages:
        check_parts(body, stage, queues, at.at(f"stage {stage.name}"))
    return log.findings == before


def _names(at: Spot, what: str, names: Sequence[str]) -> None:
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    at.require(not twice, f"two {what}s are called {', '.join(twice)}")
    at.require(all(names), f"{what} without a name")


def _items(body: Body, at: Spot) -> None:
    items = body.items
    fine = at.require(
        len(items.grid) == len(items.coord) >= 1,
        f"{len(items.coord)} item coordinates map onto a grid of {len(items.grid)} axes",
    )
    fine &= at.require(
        all(n >= 1 for n in (*items.grid, *items.trips))
        and max(prod(items.trips), prod(items.grid)) < MOST_STEPS
        and max(len(items.grid), len(items.trips)) <= MOST_AXES,
        f"a grid {items.grid} met by a nest of {items.trips} turns has no sense",
    )
    if fine:
        ranges = turn_ranges(body, whole(body))
        for axis, form in enumerate(items.coord):
            fault = form_fault(form, ranges)
            at.at(f"item coordinate {axis}").require(not fault, fault)


def _operand(operand: Operand, at: Spot) -> None:
    at.require(operand.mode in ("in", "out"), f"the mode {operand.mode!r} is neither in nor out")
    sizes = operand.extent
    at.require(min(sizes) >= 1 and prod(sizes) < MOST_ELEMENTS, f"the extent {sizes} is empty or beyond all memory")
    if operand.layout == "q8_0":
        at.require(operand.prec == "q8_0" and operand.mode == "in", "a q8_0 operand is of that format and only read")
        rows = operand.extent[1]
        at.require(rows % Q8_BLOCK == 0, f"{rows} rows are not whole blocks of {Q8_BLOCK}")
    else:
        at.require(operand.layout in ("flat", "dense"), f"no layout is called {operand.layout!r}")
        at.require(operand.prec in PRECISIONS, no_precision(operand.prec))
    at.require(operand.range is None or operand.range[0] <= operand.range[1], f"the range {operand.range} is empty")


def _queue(queue: Queue, target: Target, at: Spot) -> None:
    rows, cols = queue.page
    at.require(queue.prec in PRECISIONS, no_precision(queue.prec))
    at.require(
        1 <= rows <= target.tile[0] and 1 <= cols <= target.tile[1],
        f"a page of {rows} x {cols} is none of a chip whose tile is {target.tile[0]} x {target.tile[1]}",
    )
    at.require(queue.cap >= 1, f"the capacity is {queue.cap}", "give the queue room for a page")


def _stage(body: Body, stage: Stage, queues: Mapping[str, Queue], at: Spot) -> None:
    """Kind, sites, loops, ports, states: what must hold before coordinates of the stage make sense."""
    if stage.kind in AWAY:
        at.log.count("shape")
        at.unsure(f"stages of kind {stage.kind} are not judged yet")
        return
    at.require(stage.kind in KINDS, f"no stage kind is called {stage.kind!r}")
    at.require(stage.on is None or inside(stage.on, *body.rect), f"not all of {stage.on} are sites of the body")
    at.require(
        all(n >= 1 for n in stage.loops)
        and prod(stage.loops) * prod(body.items.trips) < MOST_STEPS
        and len(stage.loops) <= MOST_AXES,
        f"the loops {stage.loops} have no sense",
    )
    ports = [(f"in port {n}", p) for n, p in enumerate(stage.ins)]
    ports += [(f"out port {n}", p) for n, p in enumerate(stage.outs)]
    for name, port in ports:
        here = at.at(name)
        here.require(port.queue in queues, f"no queue is called {port.queue!r}")
        here.require(-1 <= port.depth <= stage.depth, f"depth {port.depth} is none of the nest {stage.loops}")
        fine = all(n >= 1 for n in port.pages) and count(port.pages) < MOST_PAGES and len(port.pages) <= MOST_AXES
        here.require(fine, f"{port.pages} is no number of pages")
    _names(at, "state", [s.name for s in stage.states])
    for state in stage.states:
        here = at.at(f"state {state.name}")
        here.require(state.prec in PRECISIONS, no_precision(state.prec))
        here.require(
            -1 <= state.depth <= state.at <= stage.depth,
            f"set at depth {state.depth} and updated at {state.at} in a nest of depth {stage.depth}",
        )
        sizes = (*state.shape, *state.cells)
        here.require(
            min(sizes) >= 1 and prod(sizes) < MOST_STEPS and len(state.cells) <= MOST_AXES,
            f"cells {state.cells} of shape {state.shape}",
        )
