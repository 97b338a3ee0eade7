"""Every plan under consideration, as columns of arrays: one row a candidate.

Blockings are the divisors of each coordinate that can be blocked; placements put one item axis over the whole
rectangle, or one along x and one along y. Rectangles are those no smaller one does as well as, and the one whose sites
readers beside all banks serve. A blocking at a place
is a candidate in several variants: what is multicast, what is held, how many batches a queue has room for, whether
readers beside the banks read for the sites after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from spatial.plan.model import Model
from spatial.target import Target

Ints = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]

LIMIT = 60_000
"""Blockings considered at most; beyond it the largest factors of the longest coordinate are left out first."""

VARIANTS: Ints = np.array(list(product((1, 0), (1, 0), (2, 1), (0, 1))), dtype=np.int64)
"""(multicast, resident, buffers, beside) of every variant."""


@dataclass(frozen=True)
class Candidates:
    """`factors`: [candidates, coordinates]; `spread`: [candidates, item axes] sites along each axis (w, h, w * h or 1);

    `inner`: [candidates, coordinates] the part of each factor that is blocked innermost (`innermost`); `along`:
    [candidates, 2] axis along x and along y (-1: none; both equal: one axis over the rectangle); `rect`:
    [candidates, 2]; `multicast`, `resident`: 0 or 1; `buffers`: batches of pages a streamed queue holds; `beside`: 1
    where sites beside the banks read tables dealt by width for those after them; `blocking`: the same number for those
    of one blocking; `spot`: for the variants of one blocking at one place.
    """

    factors: Ints
    inner: Ints
    spread: Ints
    along: Ints
    rect: Ints
    multicast: Ints
    resident: Ints
    buffers: Ints
    beside: Ints
    blocking: Ints
    spot: Ints

    def take(self, keep: Truth | Ints) -> Candidates:
        """The candidates `keep` selects, in order."""
        return Candidates(*(getattr(self, f.name)[keep] for f in fields(self)))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.factors)


def blockings(model: Model, most: int, factors: Sequence[tuple[int, ...]] | None = None) -> list[tuple[int, ...]]:
    """Combinations of factors, small first; thinned to about `most`. `factors`: those of each coordinate that are
    considered; all where None."""
    choices = [list(c.factors) for c in model.coordinates] if factors is None else [list(f) for f in factors]
    while np.prod([len(c) for c in choices]) > most:
        longest = max(range(len(choices)), key=lambda k: len(choices[k]))
        choices[longest] = choices[longest][:-1]
    return list(product(*choices))


def useful(extents: Ints, most: int) -> Truth:
    """[..., most]: for which widths from 1 on no smaller one needs as few turns for so many items."""
    widths = np.arange(1, most + 1)
    turns = -(-extents[..., None] // widths)
    fewer = turns[..., 1:] < turns[..., :-1]
    return np.concatenate((np.ones((*extents.shape, 1), dtype=np.bool_), fewer), axis=-1)


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


def placements(
    grids: Ints, target: Target, rect: tuple[int, int] | None = None, serve: Ints | None = None
) -> tuple[Ints, Ints, Ints]:
    """Of every placement of every grid of items (a row each): the number of the grid, (axis along x, axis along y),
    (width, height). `rect`: the one rectangle that is considered, however much of it is idle. `serve`: of each axis of
    a grid how many sites readers beside all banks serve, 0 where there are none."""
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
    several = grids > 1
    found: list[tuple[Ints, Ints, Ints]] = []
    everywhere: Ints = np.arange(count if rect in (None, (1, 1)) else 0, dtype=np.int64)
    alone = len(everywhere), 2
    found.append((everywhere, np.full(alone, -1, dtype=np.int64), np.ones(alone, dtype=np.int64)))
    for a, b in [*((a, a) for a in range(axes)), *permutations(range(axes), 2)]:
        fits = one[where[:, a]] if a == b else y[:, b, :, None] & x[:, a, None, :]
        if a == b and serve is not None and serve[:, a].any() and rect is None:
            there = (widths == target.columns) & (widths * heights[:, None] == serve[:, a, None, None])
            fits = fits | (there & (widths * (heights[:, None] - 1) < grids[:, a, None, None]))
        grid, h, w = np.nonzero(fits & (several[:, a] & several[:, b])[:, None, None])
        along: Ints = np.tile(np.array([a, b]), (len(grid), 1))
        found.append((grid.astype(np.int64), along, np.column_stack((w, h)).astype(np.int64) + 1))
    return (
        np.concatenate([f[0] for f in found]),
        np.concatenate([f[1] for f in found]),
        np.concatenate([f[2] for f in found]),
    )


def innermost(model: Model, target: Target, combos: Ints) -> Ints:
    """Of each blocking (a row of factors) the part of each factor that is blocked inside the loop, so that a product
    works on no more sums at a time than there are registers: along the last item axis as much as fits, for what does
    not differ along it is got out of scratch once, then along the one before."""
    out = np.ones_like(combos)
    products = [w for w in model.work if w.matrix and w.tiles]
    looped = [combos[:, model.loop] if model.loop is not None and model.loop in w.cells else 1 for w in products]
    rooms: list[Ints] = [
        target.matrix.registers // w.tiles // (n * np.ones(len(combos), dtype=np.int64))
        for w, n in zip(products, looped, strict=True)
    ]
    for k in reversed(range(len(model.body.items.grid))):
        celled = [n for n, w in enumerate(products) if k in w.cells]
        if celled:
            room = reduce(np.minimum, [rooms[n] for n in celled])
            for size in range(2, int(room.max(initial=1)) + 1):
                out[:, k] = np.where((size <= room) & (combos[:, k] % size == 0), size, out[:, k])
            for n in celled:
                rooms[n] = rooms[n] // out[:, k]
    return out


def smallest(combos: Ints, axes: int) -> Candidates:
    """Of each blocking (a row of factors) the candidate that needs least: on one site, with one batch a queue, nothing
    multicast and nothing held."""
    n = len(combos)
    one, none = np.ones((n, 2), dtype=np.int64), np.zeros(n, dtype=np.int64)
    alone = np.ones((n, axes), dtype=np.int64)
    own = np.arange(n)
    return Candidates(combos, np.ones_like(combos), alone, -one, one, none, none, none + 1, none, own, own)


def spots_of(
    model: Model, target: Target, combos: Ints | None = None, only: tuple[int, int] | None = None
) -> Candidates:
    """Every blocking at every place, in the first of all variants: all multicast and held that can be, with most room
    in queues. `combos`: blockings to keep to (rows of
    factors); all where None. `only`: the rectangle to keep to."""
    combos = np.array(blockings(model, LIMIT), dtype=np.int64) if combos is None else combos
    axes = len(model.body.items.grid)
    grids: Ints = np.array(model.body.items.grid, dtype=np.int64) // combos[:, :axes]
    rows, along, rect = placements(grids, target, only, served(model, target, combos))
    spread = np.ones((len(rows), axes), dtype=np.int64)
    for axis in range(axes):
        for side in range(2):
            spread[:, axis] *= np.where(along[:, side] == axis, rect[:, side], 1)
    flags = (np.full(len(rows), flag, dtype=np.int64) for flag in VARIANTS[0])
    inner = innermost(model, target, combos)[rows]
    return Candidates(combos[rows], inner, spread, along, rect, *flags, rows, np.arange(len(rows)))


def variants_of(spots: Candidates) -> Candidates:
    """Every variant of every candidate."""
    n, v = spots.count, len(VARIANTS)
    flags = np.tile(VARIANTS, (n, 1))
    many = spots.take(np.repeat(np.arange(n), v))
    return replace(many, multicast=flags[:, 0], resident=flags[:, 1], buffers=flags[:, 2], beside=flags[:, 3])


def candidates_of(model: Model, target: Target, combos: Ints | None = None) -> Candidates:
    """Every candidate plan of a template."""
    return variants_of(spots_of(model, target, combos))
