"""Every plan under consideration, as columns of arrays: one row a candidate.

Blockings are the divisors of each coordinate that can be blocked; spreads put one item axis over the whole rectangle,
or one along x and one along y. Rectangles are those no smaller one does as well as.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from spatial.plan.model import Model
from spatial.target import Target

Ints = npt.NDArray[np.int64]

LIMIT = 60_000
"""Blockings considered at most; beyond it the largest factors of the longest coordinate are left out first."""


@dataclass(frozen=True)
class Candidates:
    """`factors`: [candidates, coordinates]; `spread`: [candidates, item axes] sites along each axis (w, h, w * h or 1);

    `along`: [candidates, 2] axis along x and along y (-1: none; both equal: one axis over the rectangle); `rect`:
    [candidates, 2]; `multicast`, `resident`: 0 or 1; `buffers`: pages sets a streamed queue holds.
    """

    factors: Ints
    spread: Ints
    along: Ints
    rect: Ints
    multicast: Ints
    resident: Ints
    buffers: Ints

    def take(self, keep: npt.NDArray[np.bool_] | Ints) -> Candidates:
        """The candidates `keep` selects, in order."""
        return Candidates(
            self.factors[keep],
            self.spread[keep],
            self.along[keep],
            self.rect[keep],
            self.multicast[keep],
            self.resident[keep],
            self.buffers[keep],
        )

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.factors)


def useful_widths(extent: int, most: int) -> list[int]:
    """Widths up to `most` for which no smaller width needs as few turns for `extent` items."""
    seen: dict[int, int] = {}
    for w in range(1, min(extent, most) + 1):
        seen.setdefault(-(-extent // w), w)
    return sorted(seen.values())


def placements(grid: tuple[int, ...], target: Target) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """((axis along x, axis along y), (width, height)) of every placement of a grid of items."""
    found: dict[tuple[tuple[int, int], tuple[int, int]], None] = {((-1, -1), (1, 1)): None}
    for a, extent in enumerate(grid):
        if extent == 1:
            continue
        for h in range(1, target.rows + 1):
            for w in useful_widths(-(-extent // h), target.columns):
                if w * (h - 1) < extent:
                    found[(a, a), (w, h)] = None
    for a, b in product(range(len(grid)), repeat=2):
        if a == b or grid[a] == 1 or grid[b] == 1:
            continue
        for w in useful_widths(grid[a], target.columns):
            for h in useful_widths(grid[b], target.rows):
                found[(a, b), (w, h)] = None
    return list(found)


def blockings(model: Model, most: int) -> list[tuple[int, ...]]:
    """Combinations of factors, small first; thinned to about `most`."""
    choices = [list(c.factors) for c in model.coordinates]
    while np.prod([len(c) for c in choices]) > most:
        longest = max(range(len(choices)), key=lambda k: len(choices[k]))
        choices[longest] = choices[longest][:-1]
    return list(product(*choices))


def smallest(combos: Ints, axes: int) -> Candidates:
    """Of each blocking (a row of factors) the candidate that needs least: on one site, with one batch a queue, nothing
    multicast and nothing held."""
    n = len(combos)
    one, none = np.ones((n, 2), dtype=np.int64), np.zeros(n, dtype=np.int64)
    return Candidates(combos, np.ones((n, axes), dtype=np.int64), -one, one, none, none, none + 1)


def candidates_of(model: Model, target: Target, combos: Ints | None = None) -> Candidates:
    """Every candidate plan of a template. `combos`: blockings to keep to (rows of factors); all where None."""
    combos = np.array(blockings(model, LIMIT), dtype=np.int64) if combos is None else combos
    rows: list[tuple[Ints, Ints, Ints, Ints]] = []
    axes = len(model.body.items.grid)
    grids = np.array(model.body.items.grid, dtype=np.int64) // combos[:, :axes]
    unique, where = np.unique(grids, axis=0, return_inverse=True)
    where = where.reshape(-1)
    for g, grid in enumerate(unique):
        mine = combos[where == g]
        spots = placements(tuple(int(x) for x in grid), target)
        along = np.array([s[0] for s in spots], dtype=np.int64)
        rect = np.array([s[1] for s in spots], dtype=np.int64)
        spread = np.ones((len(spots), axes), dtype=np.int64)
        for n, ((a, b), (w, h)) in enumerate(spots):
            if a == b and a >= 0:
                spread[n, a] = w * h
            elif a >= 0:
                spread[n, a], spread[n, b] = w, h
        rows.append(
            (
                np.repeat(mine, len(spots), axis=0),
                np.tile(spread, (len(mine), 1)),
                np.tile(along, (len(mine), 1)),
                np.tile(rect, (len(mine), 1)),
            )
        )
    factors, spread, along, rect = (np.concatenate([r[k] for r in rows]) for k in range(4))
    variants = np.array(list(product((1, 0), (1, 0), (2, 1))), dtype=np.int64)
    n, v = len(factors), len(variants)
    flags = np.tile(variants, (n, 1))
    return Candidates(
        np.repeat(factors, v, axis=0),
        np.repeat(spread, v, axis=0),
        np.repeat(along, v, axis=0),
        np.repeat(rect, v, axis=0),
        flags[:, 0],
        flags[:, 1],
        flags[:, 2],
    )
