"""The order of plans from best to worst: total, so that equal templates get equal plans on any machine.

Cycles in bands of 2 %; in a band the plan whose second longest path works less, in such bands too (what is nearer to
bounding it too); then less traffic, less scratch, fewer sites, fewer cycles, the candidate's own numbers. The edges of
the bands are the same for all plans, so what tells two of them apart does not hang on a third.
"""

from __future__ import annotations

import numpy as np

from spatial.plan.candidates import Ints
from spatial.plan.cost import Price
from spatial.plan.measures import Floats, Measures

BAND = 0.02
"""The part of itself by which the upper edge of a band is above the lower one."""

EDGES = np.cumprod(np.full(2400, 1.0 + BAND))


def bands(cycles: Floats) -> Ints:
    """The bands of cycles, from 0 on."""
    return np.searchsorted(EDGES, cycles, side="right").astype(np.int64)


def ranked(m: Measures, cost: Price) -> Ints:
    """The candidates from best to worst."""
    c = m.candidates
    own = [c.factors[:, k] for k in range(c.factors.shape[1])]
    own += [c.along[:, 0], c.along[:, 1], c.rect[:, 0], c.rect[:, 1], -c.multicast, -c.resident, -c.buffers, -c.beside]
    keys = (bands(cost.cycles), *beside(m, cost.paths, cost.traffic), cost.cycles, *own)
    return np.lexsort(keys[::-1]).astype(np.int64)


def beside(m: Measures, paths: Floats, traffic: Floats) -> tuple[Ints, Floats, Ints, Ints]:
    """What tells candidates of one band apart, most telling first; no price is needed for it."""
    return bands(np.sort(paths, axis=0)[-2]), traffic, m.scratch, m.sites
