"""Rules on a body's parts one by one: names, operands, queues, items. Knows no flow and no stage's inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spatial.errors import Problem
from spatial.ir.body import Body
from spatial.ir.validate.problems import problem
from spatial.numerics import PRECISIONS, Q8_BLOCK, int_range
from spatial.target import Target


def repeated(names: Sequence[str]) -> list[str]:
    """The names that occur more than once, sorted."""
    return sorted({n for n in names if names.count(n) > 1})


def names(body: Body, target: Target) -> Iterator[Problem]:
    """Operands, queues, stages, engines, and the states of a stage, have distinct names that are not empty."""
    parts = {
        "operand": [o.name for o in body.operands],
        "queue": [q.name for q in body.queues],
        "stage": [s.name for s in body.stages],
        "engine": [e.name for e in body.engines],
    }
    for stage in body.stages:
        parts[f"stage {stage.name} / state"] = [s.name for s in stage.states]
    for what, found in parts.items():
        for name in repeated(found):
            yield problem(f"{what} {name}", "the name is taken twice", "parts are referred to by name", "rename one")
        if not all(found):
            yield problem(what, "a name is empty", "parts are referred to by name", "name it")


def operands(body: Body, target: Target) -> Iterator[Problem]:
    """Operands have a known format, layout and mode, and an extent; a range lies within the format."""
    for o in body.operands:
        place = f"operand {o.name}"
        if o.mode not in ("in", "out"):
            yield problem(place, f"the mode {o.mode!r}", "an operand is in or out")
        if min(o.extent) < 1:
            yield problem(place, f"the extent {o.extent} is empty", "every axis has an element at least")
        if (o.layout == "q8_0") != (o.prec == "q8_0"):
            yield problem(place, f"{o.prec} in the layout {o.layout}", "q8_0 is a format and a layout at once")
        elif o.layout == "q8_0":
            if o.mode == "out":
                yield problem(place, "a q8_0 operand is stored", "sections only read that format")
            if o.extent[1] % Q8_BLOCK:
                yield problem(place, f"{o.extent[1]} rows of q8_0", f"rows are whole blocks of {Q8_BLOCK}")
        elif o.prec not in PRECISIONS or o.layout not in ("flat", "dense"):
            yield problem(place, f"no format is {o.prec} {o.layout}")
        elif o.range is not None:
            low, high = o.range
            if PRECISIONS[o.prec].kind != "int":
                yield problem(place, f"a range of {o.prec}", "only integers have ranges")
            elif not (int_range(o.prec)[0] <= low <= high <= int_range(o.prec)[1]):
                yield problem(place, f"the range {low}..{high}", f"it is empty or leaves {o.prec}")


def queues(body: Body, target: Target) -> Iterator[Problem]:
    """Queues have pages no larger than a tile, of a known format, and a capacity that is none or positive."""
    th, tw = target.tile
    for q in body.queues:
        place = f"queue {q.name}"
        rows, cols = q.page
        if not (1 <= rows <= th and 1 <= cols <= tw):
            why = f"the largest page of the chip is {th}x{tw}"
            yield problem(place, f"pages of {rows}x{cols}", why, "cut the page")
        if q.prec not in PRECISIONS:
            yield problem(place, f"no precision is called {q.prec!r}")
        if q.cap < 0:
            yield problem(place, f"a capacity of {q.cap}", "0 stands for not sized yet")


def items(body: Body, target: Target) -> Iterator[Problem]:
    """The grid has one item coordinate an axis, affine in sites and turns; rectangle, grid and turns are not empty."""
    grid, trips, coord = body.items.grid, body.items.trips, body.items.coord
    if min(body.rect) < 1:
        yield problem("rect", f"{body.rect[0]} x {body.rect[1]} sites", "a body has a site at least")
    if min(grid, default=0) < 1 or min(trips, default=1) < 1:
        yield problem("items", f"a grid {grid} met in {trips} turns", "every axis has a step at least")
    if len(coord) != len(grid):
        what = f"{len(coord)} item coordinates for a grid of {len(grid)} axes"
        yield problem("items", what, "each axis has one")
    known = {"sx", "sy", *(f"t{n}" for n in range(len(trips)))}
    for axis, form in enumerate(coord):
        for symbol in sorted(set(form.symbols) - known):
            why = f"items are affine in {', '.join(sorted(known))}"
            yield problem(f"items / coordinate {axis}", f"{form} uses {symbol}", why)
