"""Rules on what sites do and hold: items met exactly once, capacities, scratch. Knows no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from spatial.errors import Problem
from spatial.ir.affine import Affine
from spatial.ir.body import Body, count
from spatial.ir.registers import held_tiles
from spatial.ir.typing import sites_of
from spatial.ir.validate.flow import receivers
from spatial.ir.validate.problems import problem
from spatial.numerics import PRECISIONS
from spatial.target import Target

MOST_TURNS = 1 << 20
"""Turns of all sites that are looked at one by one; a body with more is left to the checker."""


def covered(body: Body, target: Target) -> Iterator[Problem]:
    """The rectangle fits the chip, and its sites and turns meet every item exactly once."""
    w, h = body.rect
    if w > target.columns or h > target.rows:
        what = f"{w} x {h} sites"
        yield problem("rect", what, f"the chip has {target.columns} x {target.rows}", "more turns on fewer sites")
    grid, trips = body.items.grid, body.items.trips
    turns = w * h * prod(trips)
    if turns > MOST_TURNS:
        return
    if turns < prod(grid):
        yield problem("items", f"{turns} turns of all sites meet a grid of {prod(grid)}", mend="add turns or sites")
        return
    inside, items = _met(body)
    first = np.unique(items, return_index=True)[1]
    if len(first) < len(items):
        again = np.ones(len(items), dtype=np.bool_)
        again[first] = False
        item = _item(int(items[int(np.argmax(again))]), grid)
        yield problem("items", f"item {item} is met twice", "the map covers the grid exactly once")
        return
    if len(items) < prod(grid):
        missing = int(np.argmin(np.bincount(items, minlength=prod(grid))))
        yield problem("items", f"item {_item(missing, grid)} is met by no site", "the map covers the grid exactly once")
    idle = {(int(x), int(y)) for x, y in np.argwhere(~inside.all(axis=2))}
    for stage in body.stages:
        on = sites_of(stage, body)
        meets_idle = any(on.x <= x < on.x + on.w and on.y <= y < on.y + on.h for x, y in idle)
        for state in stage.states if meets_idle else ():
            if state.depth < 0:
                place = f"stage {stage.name} / state {state.name}"
                yield problem(place, "a state of depth -1 on a site with idle turns", "an idle turn would update it")


def _met(body: Body) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """[width, height, turns]: which turns of which sites meet an item; and the numbers of the items they meet, in the
    order of sites and turns."""
    extents = (*body.rect, *body.items.trips)
    names = ("sx", "sy", *(f"t{n}" for n in range(len(body.items.trips))))
    inside = np.ones(extents, dtype=np.bool_)
    number = np.zeros(extents, dtype=np.int64)
    for form, n in zip(body.items.coord, body.items.grid, strict=True):
        place = _places(form, dict(zip(names, extents, strict=True)), n)
        inside &= place >= 0
        number = number * n + np.maximum(place, 0)
    return inside.reshape(*body.rect, -1), number[inside]


def _places(form: Affine, extents: Mapping[str, int], most: int) -> npt.NDArray[np.int64]:
    """What a form is at every point of a box, where it is below `most` and not below 0; else -1."""
    shape = tuple(extents.values())
    low, high = form.bounds({name: (0, n - 1) for name, n in extents.items()})
    if low < -_WIDE or high > _WIDE:  # a person wrote it; 64 bits may not hold what is between
        points = (form.at(dict(zip(extents, point, strict=True))) for point in product(*map(range, shape)))
        return np.array([v if 0 <= v < most else -1 for v in points], dtype=np.int64).reshape(shape)
    place = np.full(shape, form.const, dtype=np.int64)
    for name, coef in form.terms:
        steps = coef * np.arange(extents[name], dtype=np.int64)
        place = place + steps.reshape([-1 if other == name else 1 for other in extents])
    return np.where((place >= 0) & (place < most), place, -1)


_WIDE = 1 << 60


def _item(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The item with a number, counted with the last axis fastest."""
    return tuple(int(n) for n in np.unravel_index(number, grid))


def capacities(body: Body, target: Target) -> Iterator[Problem]:
    """Every queue has room, at least for what one iteration of its consumer holds."""
    for q in body.queues:
        held = max((count(p.pages) for s in body.stages for p in s.ins if p.queue == q.name), default=1)
        if q.cap < max(held, 1):
            why = f"its consumer holds {held} at once"
            yield problem(f"queue {q.name}", f"room for {q.cap} pages", why, f"a capacity of {held} at least")


def fits(body: Body, target: Target) -> Iterator[Problem]:
    """Queues and accumulators of each site fit its scratch; those a stage works on at once, the registers."""
    use: dict[tuple[int, int], int] = {}
    number: dict[tuple[int, int], int] = {}
    sizes = {q.name: q.cap * target.slot(prod(q.page) * PRECISIONS[q.prec].bytes) for q in body.queues}
    for stage in body.stages:
        on = sites_of(stage, body)
        states = sum(prod(s.cells) * target.slot(prod(s.shape) * PRECISIONS[s.prec].bytes) for s in stage.states)
        for site in product(range(on.x, on.x + on.w), range(on.y, on.y + on.h)):
            use[site] = use.get(site, 0) + states
        for site in receivers(stage, body):
            use[site] = use.get(site, 0) + sum(sizes[p.queue] for p in stage.outs)
            number[site] = number.get(site, 0) + len(stage.outs)
        tiles = held_tiles(stage, target)
        most = target.matrix.registers if stage.kind == "matmul" else target.vector.registers
        if tiles > most:
            what = f"accumulators of {tiles} registers"
            yield problem(f"stage {stage.name}", what, f"the datapath has {most}", "keep fewer cells")
    worst = max(use, key=lambda site: use[site], default=None)
    if worst is not None and use[worst] > target.scratch:
        what = f"{use[worst]} bytes of queues and accumulators on site {worst}"
        yield problem("scratch", what, f"a site has {target.scratch}", "smaller capacities or blocks")
    most_queues = max(number.values(), default=0)
    if most_queues > target.queues:
        yield problem("queues", f"{most_queues} queues on a site", f"it has {target.queues}")
