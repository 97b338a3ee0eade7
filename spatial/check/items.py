"""Obligation 4: the sites' turns meet every item of the grid exactly once.

Exact by enumeration: all turns of all sites at once, as arrays. Also says where turns are idle, on which accumulators
and loads of the whole call depend.
"""

from __future__ import annotations

from math import prod

import numpy as np

from spatial.check.coords import MOST_POINTS, sites_of, turn_count, turns_of, whole
from spatial.check.verdict import Log
from spatial.ir.body import Body


def check_items(body: Body, place: str, log: Log) -> bool:
    """Whether the map covers the grid once."""
    at = log.at("items", f"{place}, items")
    rect, grid = whole(body), body.items.grid
    turns, items = turn_count(body, rect), prod(grid)
    if not at.require(items <= turns, f"{turns} turns of all sites cannot meet {items} items"):
        return False
    if turns > MOST_POINTS:
        at.unsure(f"{turns} turns of all sites are more than the {MOST_POINTS} that are looked at")
        return False
    met = turns_of(body, rect)
    flat = np.zeros(int(met.live.sum()), dtype=np.int64)
    for axis, n in enumerate(grid):
        flat = flat * n + met.values[f"i{axis}"][met.live]
    times = np.bincount(flat, minlength=items)
    log.count("items", items)
    fine = True
    for wrong, words in ((times == 0, "is met by no turn"), (times > 1, "is met by several turns")):
        if wrong.any():
            fine = False
            item = tuple(int(v) for v in np.unravel_index(int(np.argmax(wrong)), grid))
            at.reject(f"item {item} of the grid {grid} {words}", "let site and turn coordinates count the items once")
    if fine and met.idle:
        for stage in body.stages:
            for state in stage.states:
                if state.depth == -1 and turns_of(body, sites_of(body, stage)).idle:
                    fine = False
                    log.reject(
                        "items",
                        f"{place}, stage {stage.name}, state {state.name}",
                        "it lives for the whole call, and a site of its stage has idle turns",
                        "set the state in each turn, or let the grid fill the sites",
                    )
    return fine
