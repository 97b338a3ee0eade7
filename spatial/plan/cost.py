"""The price of every candidate, and what bounds it.

The price is a walk's (`walk`): the first rounds of the schedule on clocks, what repeats multiplied. Figures come from
the target alone. `docs/planning.md` tells the formulas and what they assume.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.plan.bound import bound
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.plan.walk import kinds, walk
from spatial.plan.work import Parts, parts_of, paths
from spatial.target import Target

PATHS = ("compute", "mover", "network", "memory")
"""What may bound a section, in the order of `Price.paths`."""


@dataclass(frozen=True)
class Price:
    """Over candidates: cycles of the section; bytes moved from and to memory; `paths`: [4, candidates], for how many
    cycles the compute engine works, the busiest mover, the busiest port and the fullest bank. `roofline`: the cycles
    that no plan of the section is spared."""

    cycles: Floats
    traffic: Floats
    paths: Floats
    roofline: float

    @property
    def ratio(self) -> Floats:
        """Cycles over the roofline."""
        return self.cycles / self.roofline

    def bound(self, row: int) -> str:
        """What bounds a candidate: the path that works longest; "fixed" where none works for half of its cycles: then
        it is the start of the section, and waiting for latencies."""
        longest = int(np.argmax(self.paths[:, row]))
        return PATHS[longest] if 2.0 * self.paths[longest, row] >= self.cycles[row] else "fixed"


def price(m: Measures) -> Price:
    """The price of every candidate."""
    parts = parts_of(m)
    return price_of(parts, cycles_of(parts, bound(parts)))


def price_of(parts: Parts, cycles: Floats) -> Price:
    """The price of candidates whose cycles are known."""
    return Price(cycles, traffic(parts.m), paths(parts), roofline(parts.m))


def cycles_of(parts: Parts, lowest: Floats) -> Floats:
    """Cycles of the section, of every candidate: those of a walk, no less than `lowest`, its bound: what a walk's
    first rounds have not shown yet is there in the bound."""
    m, cycles = parts.m, np.zeros(parts.m.candidates.count)
    kind = kinds(m)
    for one in np.unique(kind).tolist():
        rows = np.nonzero(kind == one)[0]
        cycles[rows] = walk(parts if len(rows) == len(kind) else parts.take(rows))
    return np.maximum(cycles + m.target.section_cycles, lowest)


def roofline(m: Measures) -> float:
    """Cycles that no plan is spared: operations spread over all sites, those that serve several items done once for
    them; or every page of an operand moved once at the memory's placed rate."""
    model, target = m.model, m.target
    grid = dict(enumerate(model.body.items.grid))
    computing = 0.0
    for work in model.work:
        stage = model.body.stage(work.stage)
        for e in work.evaluated:
            times = e.times * prod(stage.loops[: max(e.depth, 0)]) * prod(grid.get(k, 1) for k in e.coords)
            computing += e.cycles * times
    moving = 0.0
    for moved in (*model.loads, *model.stores):
        stream = model.streams[moved.stream]
        places = prod(model.body.items.grid[a] for a in moved.axes)
        moving += stream.fires * places * _bytes(target, moved)
    return max(computing / target.sites, moving / target.memory.rate, 1.0)


def traffic(m: Measures) -> Floats:
    """Bytes moved from and to memory."""
    total = np.zeros(m.candidates.count)
    for load in m.model.loads:
        stream = m.model.streams[load.stream]
        once = m.pages(stream) * m.fires(stream)
        times = np.where(m.stays(load), 1, m.turns)
        read = np.where(m.cast(load) | m.stays(load), m.readers(load) * times, m.items)
        total = total + once * read * _bytes(m.target, load)
    for store in m.model.stores:
        stream = m.model.streams[store.stream]
        total = total + m.pages(stream) * m.fires(stream) * m.items * _bytes(m.target, store)
    return total


def _bytes(target: Target, moved: Moved) -> int:
    """Bytes of memory traffic one page makes: every run covers whole aligned units."""
    unit = target.memory.align
    return moved.runs * -(-moved.run_bytes // unit) * unit
