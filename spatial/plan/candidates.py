"""Every plan under consideration, as columns of arrays: one row a candidate.

Blockings are the divisors of each coordinate that can be blocked. A blocking at a place (`places`) is a candidate in
several variants: what is multicast, what is held, how many batches a queue has room for, whether readers beside the
banks read for the sites after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import product

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
    where sites beside the banks read tables dealt by width for those after them; `spot`: the same number for the
    variants of one blocking at one place.
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
    return Candidates(combos, np.ones_like(combos), alone, -one, one, none, none, none + 1, none, np.arange(n))


def variants_of(spots: Candidates) -> Candidates:
    """Every variant of every candidate."""
    n, v = spots.count, len(VARIANTS)
    flags = np.tile(VARIANTS, (n, 1))
    many = spots.take(np.repeat(np.arange(n), v))
    return replace(many, multicast=flags[:, 0], resident=flags[:, 1], buffers=flags[:, 2], beside=flags[:, 3])
