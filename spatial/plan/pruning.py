"""Which candidates have to be priced, so that the best of them is the best of all.

Blockings that take too long at their place in any variant are left out first. Of the rest none is walked that is in a
later band by its `bound` than the best; and of those that may be in the best one's band, what comes first by all else
is walked first. Walks go over some candidates at once: one costs hardly less than many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from spatial.plan.bound import bound, least, readers
from spatial.plan.candidates import VARIANTS, Ints, Truth
from spatial.plan.constraints import legal
from spatial.plan.cost import Price, cycles_of, price_of, traffic
from spatial.plan.measures import Measures
from spatial.plan.order import bands, beside
from spatial.plan.work import parts_of, paths

NEAR = 5
"""Bands, from the lowest that some blocking may be in, that are looked at first."""

FEW = 64
"""Blockings at their places that are looked at first, at least."""

SOME = 48
"""Candidates that are walked at once; more where they were not enough."""

ROUNDING = 1e-9
"""The part of itself by which a sum hangs on the order it is made in, at most."""


def variants(spots: Measures) -> Measures:
    """The legal variants of blockings at their places, each plan once: a flag is set only where some load is multicast
    or stays by it, or is read beside the banks. `spots`: all multicast and held that can be."""
    casts, stays = (np.zeros(spots.candidates.count, dtype=np.bool_) for _ in range(2))
    for load in spots.model.loads:
        casts, stays = casts | spots.cast(load), stays | spots.stays(load)
    multicast, resident, buffers, beside = VARIANTS.T
    tells = (casts[:, None] | (multicast == 0)) & (stays[:, None] | (resident == 0))
    tells &= readers(spots).beside[:, None] | (beside == 0)
    rows, flags = np.nonzero(tells)
    many = spots.candidates.take(rows)
    set_to = {"multicast": multicast, "resident": resident, "buffers": buffers, "beside": beside}
    many = replace(many, **{name: flag[flags] for name, flag in set_to.items()})
    m = Measures(spots.model, many, spots.target)
    return m.take(np.nonzero(legal(m))[0])


Keep = Callable[[Measures], Truth]
"""Which of some candidates are looked at: a search held to part of its space."""


def pruned(spots: Measures, keep: Keep | None = None) -> tuple[Measures, Price] | None:
    """Of all variants of `spots` (those of `keep`) the candidates that were priced, the best among them; None where
    none is legal."""
    if not spots.candidates.count:
        return None
    floor = bands(least(spots) * (1.0 - ROUNDING))
    first, last = int(floor.min()), int(floor.max())
    reach = max(first + NEAR, int(np.sort(floor)[:FEW][-1]))
    while True:
        some = variants(spots.take(np.nonzero(floor <= reach)[0]))
        some = some if keep is None else some.take(np.nonzero(keep(some))[0])
        if some.candidates.count:
            search = _Search(some)
            if search.best(reach if reach < last else None):
                return search.found()
            reach = search.attained()
        elif reach >= last:
            return None
        else:
            reach += 2 * (reach - first)


class _Search:
    """Legal candidates, their lowest cycles, and the cycles of those that were walked."""

    def __init__(self, m: Measures) -> None:
        self.parts = parts_of(m)
        self.lowest = bound(self.parts)
        self.order = np.argsort(self.lowest, kind="stable")
        self.cycles = np.full(m.candidates.count, np.inf)
        self.many = SOME

    @property
    def known(self) -> Truth:
        """Where a candidate was walked."""
        return self.cycles < np.inf

    def found(self) -> tuple[Measures, Price]:
        """The candidates that were walked, and their prices."""
        parts = self.parts.take(np.nonzero(self.known)[0])
        return parts.m, price_of(parts, self.cycles[self.known])

    def best(self, reach: int | None) -> bool:
        """Walk until the best is known, if it is in a band up to `reach`: whether it is."""
        lowest = bands(self.lowest)
        band = int(lowest.min())
        while reach is None or band <= reach:
            if self._first(np.nonzero(lowest <= band)[0], band):
                return True
            band += 1
        return False

    def attained(self) -> int:
        """The lowest band of those that were walked."""
        if not self.known.any():
            self._walk(self.order[:1])
        return int(bands(self.cycles).min())

    def _first(self, rows: Ints, band: int) -> bool:
        """Walk until the first in a band is known, of those that may be in it; or it is known that none is."""
        rows = rows[~self.known[rows] | (bands(self.cycles[rows]) == band)]
        place = self._places(rows) if len(rows) > SOME else np.zeros(len(rows), dtype=np.int64)
        order = np.argsort(place, kind="stable")
        while True:
            known = self.known[rows]
            there = known & (bands(self.cycles[rows]) == band)
            first = place[there].min(initial=len(rows))
            todo = rows[order[~known[order] & (place[order] <= first)]]
            if not len(todo):
                return bool(there.any())
            self._walk(todo)

    def _walk(self, rows: Ints) -> None:
        """Walk the first of `rows`, the lowest of all else too if they are few; the next time more at once."""
        if len(rows) < self.many:
            others = self.order[~self.known[self.order]][: 2 * self.many]
            rows = np.concatenate((rows, others[~np.isin(others, rows)]))
        rows = rows[: self.many]
        self.cycles[rows] = cycles_of(self.parts.take(rows), self.lowest[rows])
        self.many *= 4

    def _places(self, rows: Ints) -> Ints:
        """The places of candidates of one band among the different ones of them."""
        few = self.parts.take(rows)
        keys = beside(few.m, paths(few), traffic(few.m))
        order = np.lexsort(keys[::-1])
        differs = np.zeros(len(order), dtype=np.bool_)
        for key in keys:
            differs[1:] |= key[order[1:]] != key[order[:-1]]
        out = np.empty(len(order), dtype=np.int64)
        out[order] = np.cumsum(differs)
        return out
