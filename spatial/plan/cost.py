"""The price of every candidate, and what bounds it.

The price is a walk's (`walk`): the first rounds of the schedule on clocks, what repeats multiplied. Figures come from
the target alone. `docs/planning.md` tells the formulas and what they assume.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.plan.walk import parts_of, rounds, walk
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

    @property
    def second(self) -> Floats:
        """The path that works second longest."""
        return np.sort(self.paths, axis=0)[-2]


def price(m: Measures) -> Price:
    """The price of every candidate."""
    parts, found = parts_of(m), np.zeros((5, m.candidates.count))
    kinds, where = np.unique(rounds(m), axis=0, return_inverse=True)
    for kind in range(len(kinds)):
        rows = np.nonzero(where.reshape(-1) == kind)[0]
        walked = walk(parts.take(rows))
        found[:, rows] = walked.cycles, walked.compute, walked.movers, walked.port, walked.memory
    return Price(found[0] + m.target.section_cycles, traffic(m), found[1:], roofline(m))


def joined(a: Price, b: Price) -> Price:
    """The prices of two lists of candidates of one section as of one list."""
    return Price(
        np.concatenate((a.cycles, b.cycles)),
        np.concatenate((a.traffic, b.traffic)),
        np.concatenate((a.paths, b.paths), axis=1),
        a.roofline,
    )


def roofline(m: Measures) -> float:
    """Cycles that no plan is spared: operations spread over all sites, or every page of an operand moved once at the
    memory's placed rate."""
    model, target = m.model, m.target
    computing = 0.0
    for work in model.work:
        stage = model.body.stage(work.stage)
        for e in work.evaluated:
            computing += e.cycles * e.times * prod(stage.loops[: max(e.depth, 0)])
    items = prod(model.body.items.grid)
    moving = 0.0
    for moved in (*model.loads, *model.stores):
        stream = model.streams[moved.stream]
        places = prod(model.body.items.grid[a] for a in moved.axes)
        moving += stream.fires * places * _bytes(target, moved)
    return max(computing * items / target.sites, moving / target.memory.rate, 1.0)


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
