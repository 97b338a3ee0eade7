"""Where a blocking's items may be spread, and every blocking at every place.

Placements put one item axis over the whole rectangle, or one along x and one along y. Rectangles are those no smaller
one does as well as, and the one whose sites readers beside all banks serve. There are tens of thousands of blockings at
places and few are ever looked at: so no more is kept of each than what tells it, and how many turns it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from spatial.plan.candidates import LIMIT, VARIANTS, Candidates, Ints, Truth, blockings, innermost, variants_of
from spatial.plan.measures import Measures
from spatial.plan.model import Model
from spatial.target import Target


@dataclass(frozen=True)
class Places:
    """One place of one grid of items in each row. `number`: which grid it is; `pair`: which of `pairs`, (axis along x,
    axis along y); `corner`: the last site of the rectangle, counted row by row of the chip's `columns`; `turns`: how
    many a site takes."""

    pairs: tuple[tuple[int, int], ...]
    columns: int
    number: Ints
    pair: Ints
    corner: Ints
    turns: Ints

    def take(self, rows: Ints) -> Places:
        """Some of them."""
        own = (self.number[rows], self.pair[rows], self.corner[rows], self.turns[rows])
        return Places(self.pairs, self.columns, *own)

    @property
    def along(self) -> Ints:
        """[places, 2]: the axis along x and the axis along y, -1 where there is none."""
        return np.array(self.pairs, dtype=np.int64)[self.pair]

    @property
    def rect(self) -> Ints:
        """[places, 2]: width and height."""
        return np.column_stack((self.corner % self.columns, self.corner // self.columns)) + 1


def useful(extents: Ints, most: int) -> Truth:
    """[..., most]: for which widths from 1 on no smaller one needs as few turns for so many items."""
    turns = _turns(extents, np.arange(1, most + 1))
    fewer = turns[..., 1:] < turns[..., :-1]
    return np.concatenate((np.ones((*extents.shape, 1), dtype=np.bool_), fewer), axis=-1)


def _turns(extents: Ints, sites: Ints) -> Ints:
    """Of each extent and each number of sites the turns of so many items on so many sites."""
    return -(-extents.reshape(*extents.shape, *(1 for _ in sites.shape)) // sites)


def _squarest(target: Target) -> Truth:
    """[rows, columns]: whether no other rectangle of as many sites is nearer to a square; of two the wider one is."""
    h, w = np.meshgrid(np.arange(1, target.rows + 1), np.arange(1, target.columns + 1), indexing="ij")
    around = 2 * (h + w) + (h > w)
    least = np.full(int(h.size) + 1, around.max() + 1)
    np.minimum.at(least, h * w, around)
    return np.asarray(around == least[h * w], dtype=np.bool_)


def served(model: Model, target: Target, combos: Ints) -> Ints:
    """[blockings, axes]: how many sites the readers beside all banks serve, where some read for an axis; else 0."""
    out = np.zeros((len(combos), len(model.body.items.grid)), dtype=np.int64)
    for load in model.loads:
        for axis in load.axes if load.strip else ():
            out[:, axis] = target.memory.banks * (load.strip // combos[:, axis])
    return out


def placements(grids: Ints, target: Target, rect: tuple[int, int] | None = None, serve: Ints | None = None) -> Places:
    """Every place of every grid of items (a row each). `rect`: the one rectangle that is considered, however much of it
    is idle. `serve`: of each axis of a grid how many sites readers beside all banks serve, 0 where there are none."""
    count, axes = grids.shape
    extents, where = np.unique(grids, return_inverse=True)
    where = where.reshape(grids.shape)
    x, y = useful(extents, target.columns)[where], useful(extents, target.rows)[where]
    widths, heights = np.arange(1, target.columns + 1), np.arange(1, target.rows + 1)
    one = useful(-(-extents[:, None] // heights), target.columns)
    # Of one axis over a rectangle no whole row of sites is idle, and nothing but its sites and how near they are tells.
    one &= (widths * (heights[:, None] - 1) < extents[:, None, None]) & _squarest(target)
    if rect is not None:
        wide, high = widths == rect[0], heights == rect[1]
        one = np.broadcast_to(wide & high[:, None], one.shape)
        x, y = np.broadcast_to(wide, x.shape), np.broadcast_to(high, y.shape)
    in_x, in_y, over = _turns(extents, widths), _turns(extents, heights), _turns(extents, widths * heights[:, None])
    several = grids > 1
    pairs = [(-1, -1), *((a, a) for a in range(axes)), *permutations(range(axes), 2)]
    everywhere: Ints = np.arange(count if rect in (None, (1, 1)) else 0, dtype=np.int64)
    found = [(everywhere, 0 * everywhere, grids.prod(axis=1)[everywhere])]
    for a, b in pairs[1:]:
        fits = one[where[:, a]] if a == b else y[:, b, :, None] & x[:, a, None, :]
        if a == b and serve is not None and serve[:, a].any() and rect is None:
            there = (widths == target.columns) & (widths * heights[:, None] == serve[:, a, None, None])
            fits = fits | (there & (widths * (heights[:, None] - 1) < grids[:, a, None, None]))
        turns = over[where[:, a]] if a == b else in_y[where[:, b], :, None] * in_x[where[:, a], None, :]
        others = np.delete(grids, [a, b], axis=1).prod(axis=1)[:, None, None]
        fits = (fits & (several[:, a] & several[:, b])[:, None, None]).reshape(count, -1)
        number, corner = np.nonzero(fits)
        found.append((number, corner, (turns * others).reshape(count, -1)[fits]))
    number, corner, turns = (np.concatenate(part) for part in zip(*found, strict=True))
    pair = np.repeat(np.arange(len(pairs)), [len(f[0]) for f in found])
    return Places(tuple(pairs), target.columns, number, pair, corner, turns)


@dataclass(frozen=True)
class Spots:
    """Every blocking (`combos`: a row of factors each) at every place."""

    model: Model
    target: Target
    combos: Ints
    places: Places

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.places.number)

    @cached_property
    def inner(self) -> Ints:
        """Of each blocking what is blocked innermost."""
        return innermost(self.model, self.target, self.combos)

    def at(self, rows: Ints | None = None) -> Measures:
        """Those `rows`, all where None, in the first of all variants: all multicast and held that can be, with most
        room in queues."""
        rows = np.arange(self.count) if rows is None else rows
        places = self.places.take(rows)
        along, rect, number = places.along, places.rect, places.number
        spread = np.ones((len(rows), len(self.model.body.items.grid)), dtype=np.int64)
        for axis in range(spread.shape[1]):
            for side in range(2):
                spread[:, axis] *= np.where(along[:, side] == axis, rect[:, side], 1)
        return self._first(number, spread, along, rect, rows)

    def alone(self) -> Measures:
        """Every blocking on one site, all held that can be."""
        count, axes = len(self.combos), len(self.model.body.items.grid)
        one, spread = np.ones((count, 2), dtype=np.int64), np.ones((count, axes), dtype=np.int64)
        return self._first(np.arange(count), spread, -one, one, np.arange(count))

    def _first(self, number: Ints, spread: Ints, along: Ints, rect: Ints, spot: Ints) -> Measures:
        multicast, resident, buffers, beside = (np.full(len(number), flag) for flag in VARIANTS[0])
        flags = multicast, resident, buffers, beside
        own = Candidates(self.combos[number], self.inner[number], spread, along, rect, *flags, spot)
        return Measures(self.model, own, self.target)


def spots_of(model: Model, target: Target, combos: Ints | None = None, only: tuple[int, int] | None = None) -> Spots:
    """Every blocking at every place. `combos`: blockings to keep to (rows of factors); all where None. `only`: the
    rectangle to keep to."""
    combos = np.array(blockings(model, LIMIT), dtype=np.int64) if combos is None else combos
    grids: Ints = np.array(model.body.items.grid, dtype=np.int64) // combos[:, : len(model.body.items.grid)]
    return Spots(model, target, combos, placements(grids, target, only, served(model, target, combos)))


def candidates_of(model: Model, target: Target, combos: Ints | None = None) -> Candidates:
    """Every candidate plan of a template."""
    return variants_of(spots_of(model, target, combos).at().candidates)
