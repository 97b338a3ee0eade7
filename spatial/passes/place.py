"""place: items to sites.

Expects: tiled.  Ensures: placed; the rectangle and the map of sites and turns onto items are the plan's.
Leaves alone: operands, stages, queues, the plan.

    rect 1x1  items [48] trips [48] at (t0)    ->    rect 8x3  items [48] trips [2] at (sx + 8*sy + 24*t0)

An axis spread over the whole rectangle runs along x first; neighbouring sites have neighbouring items, so that the
sites of one row read neighbouring pages. What overhangs the grid is idle.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Items
from spatial.passes.due import due
from spatial.target import Target


def place(body: Body, target: Target) -> Body:
    """Return `body` with its items on the plan's rectangle."""
    if not due("place", "tiled", body):
        return body
    plan = body.plan
    if plan is None:
        raise Bug("a tiled body has no plan to be placed by")
    w, h = plan.rect
    spread = dict(plan.spread)
    trips: list[int] = []
    coord: list[Affine] = []
    for axis, extent in enumerate(body.items.grid):
        match spread.get(axis):
            case "xy":
                here, sites = Affine.sym("sx") + Affine.sym("sy", w), w * h
            case "x":
                here, sites = Affine.sym("sx"), w
            case "y":
                here, sites = Affine.sym("sy"), h
            case _:
                here, sites = Affine(), 1
        turns = -(-extent // sites)
        coord.append(here + (Affine.sym(f"t{axis}", sites) if turns > 1 else Affine()))
        trips.append(turns)
    return replace(body, rect=plan.rect, items=Items(body.items.grid, tuple(trips), tuple(coord)), phase="placed")
