"""Which candidates have to be priced, so that the best of them is the best of all.

Blockings that take too long at their place in any variant are left out first: most by what they compute alone, others
by all that is known without their variants. Some of the lowest give a plan that is nearly the best, or is; then all
that may come before it are looked at. Of these none is walked that is in a later band by its `bound` than the best, nor
one in its band that comes after it by all else. Walks go over some candidates at once: one costs hardly less than many
of its form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spatial.plan.bound import bound, fastest, least, readers
from spatial.plan.candidates import VARIANTS, Ints, Truth
from spatial.plan.constraints import legal
from spatial.plan.cost import Price, cycles_of, price_of, traffic
from spatial.plan.measures import Measures
from spatial.plan.order import EDGES, bands, beside
from spatial.plan.places import Spots
from spatial.plan.walk import kinds
from spatial.plan.work import parts_of, paths

FEW = 128
"""Blockings at their places that are looked at first; more where none of them has a legal variant."""

WIDE = 4
"""The first are found among so many times as many, those that compute fastest; among all, where these are few more."""

SOME = 128
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
    set_to = {"multicast": multicast, "resident": resident, "buffers": buffers, "beside": beside}
    m = spots.take(rows).variant(**{name: flag[flags] for name, flag in set_to.items()})
    return m.take(np.nonzero(legal(m))[0])


Keep = Callable[[Measures], Truth]
"""Which of some candidates are looked at: a search held to part of its space."""


def pruned(spots: Spots, keep: Keep | None = None) -> tuple[Measures, Price] | None:
    """Of all variants of `spots` (those of `keep`) the candidates that were priced, the best among them; None where
    none is legal."""
    if not spots.count:
        return None
    floors, count = _Floors(spots), FEW
    while True:
        near = floors.first(count)
        first = _kept(near, keep)
        if first.candidates.count:
            break
        if count >= spots.count:
            return None
        count *= 8
    search = _Search(first)
    search.walk(search.todo())
    rest = floors.upto(*search.place())
    if not np.isin(rest.candidates.spot, near.candidates.spot).all():
        search = _Search(_kept(rest, keep), search)
    search.best()
    return search.found()


def _kept(spots: Measures, keep: Keep | None) -> Measures:
    """The legal variants of some blockings at their places, those of `keep`."""
    some = variants(spots)
    return some if keep is None else some.take(np.nonzero(keep(some))[0])


class _Floors:
    """Blockings at their places, what they compute at least; and of those `near`, that compute for `reach` cycles at
    most, the lowest band that a variant may be in, and the lowest of its second longest path."""

    def __init__(self, spots: Spots) -> None:
        self.spots, self.computing = spots, fastest(spots) * (1.0 - ROUNDING)
        self.reach = -1.0

    def first(self, count: int) -> Measures:
        """The first `count`, of many more that compute fastest."""
        most, every = WIDE * count, len(self.computing)
        self._near(float(np.partition(self.computing, most)[most]) if every > WIDE * most else np.inf)
        return self.near.take(np.lexsort((self.second, self.lowest))[:count])

    def upto(self, band: int, second: int) -> Measures:
        """Those of which a variant may come before one in `band` whose second longest path is in the band `second`."""
        self._near(float(EDGES[band]) - self.spots.target.section_cycles)
        alike = (self.lowest == band) & (self.second <= second)
        return self.near.take(np.nonzero((self.lowest < band) | alike)[0])

    def _near(self, reach: float) -> None:
        """Know those that compute for `reach` cycles at most."""
        if reach > self.reach:
            rows, self.reach = np.nonzero(self.computing <= reach)[0], reach
            self.near = self.spots.at(rows)
            cycles, second = least(self.near, self.computing[rows])
            self.lowest, self.second = bands(cycles * (1.0 - ROUNDING)), bands(second * (1.0 - ROUNDING))


class _Search:
    """Legal candidates, their lowest cycles, and the cycles of those that were walked, in a search `before` too."""

    def __init__(self, m: Measures, before: _Search | None = None) -> None:
        self.parts = parts_of(m)
        self.lowest = bound(self.parts)
        self.bands = bands(self.lowest)
        self.order = np.argsort(self.lowest, kind="stable")
        self.forms = _forms(m)
        self.cycles = np.full(m.candidates.count, np.inf)
        self.many = SOME
        # Of those in a band up to `placed`, their places by all but their cycles.
        self.placed, self.places = -1, np.zeros(m.candidates.count, dtype=np.int64)
        if before is not None:
            _, own, other = np.intersect1d(_codes(m), _codes(before.parts.m), return_indices=True)
            self.cycles[own] = before.cycles[other]

    @property
    def known(self) -> Truth:
        """Where a candidate was walked."""
        return self.cycles < np.inf

    def found(self) -> tuple[Measures, Price]:
        """The candidates that were walked, and their prices."""
        parts = self.parts.take(np.nonzero(self.known)[0])
        return parts.m, price_of(parts, self.cycles[self.known])

    def place(self) -> tuple[int, int]:
        """The band of the best that was walked, and that of its second longest path."""
        found = bands(self.cycles)
        few = self.parts.take(np.nonzero(found == found.min())[0])
        second, *_ = beside(few.m, paths(few), traffic(few.m))
        return int(found.min()), int(second.min())

    def best(self) -> None:
        """Walk until the best is known."""
        while len(rows := self.todo()):
            self.walk(rows)

    def todo(self) -> Ints:
        """Those that may come before the best that was walked, the likeliest first: those that may be in a lower band,
        and those of its band that come before it by all else. Where none was walked, those of the lowest band."""
        found = bands(self.cycles)
        band = int(found.min()) if self.known.any() else int(self.bands.min())
        if band > self.placed:
            self.placed, rows = band, np.nonzero(self.bands <= band)[0]
            self.places[rows] = self._places(rows) if len(rows) > FEW else 0
        level = np.nonzero(np.where(self.known, found, self.bands) == band)[0]
        first = self.places[level[self.known[level]]].min(initial=len(self.places))
        before = level[self.places[level] <= first]
        before = before[np.argsort(self.places[before], kind="stable")]
        rows = np.concatenate((self.order[self.bands[self.order] < band], before))
        return rows[~self.known[rows]]

    def walk(self, rows: Ints) -> None:
        """Walk the first of `rows`; where none was walked, those of the form of the first alone, and others of it."""
        if not self.known.any():
            rows = np.concatenate((rows, self.order[~np.isin(self.order, rows)]))
            rows = rows[self.forms[rows] == self.forms[rows[0]]]
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


def _forms(m: Measures) -> Ints:
    """The same number for candidates that are walked together for little more than one: those of one kind that send on
    and hold the same loads."""
    form = kinds(m)
    for load in m.model.loads:
        form = 8 * form + 4 * m.cast(load) + 2 * m.stays(load) + m.scattered(load)
    return form


def _codes(m: Measures) -> Ints:
    """A number of each candidate's own."""
    c, code = m.candidates, m.candidates.spot
    for flag in (c.multicast, c.resident, c.buffers - 1, c.beside):
        code = 2 * code + flag
    return code
