"""The price of every candidate at once, and what bounds it.

The price is a walk's (`walk`): the first rounds of the schedule on clocks, what repeats multiplied. Figures come from
the target alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.plan.walk import parts_of, rounds, walk
from spatial.target import Target


@dataclass(frozen=True)
class Price:
    """Over candidates: cycles of the section, bytes moved from and to memory, and how long each of the paths works:
    the compute engine, the busiest mover, the busiest port, the fullest bank."""

    cycles: Floats
    traffic: Floats
    compute: Floats
    movers: Floats
    port: Floats
    memory: Floats


def price(m: Measures) -> Price:
    """The price of every candidate."""
    parts, found = parts_of(m), np.zeros((5, m.candidates.count))
    kinds, where = np.unique(rounds(m), axis=0, return_inverse=True)
    for kind in range(len(kinds)):
        rows = np.nonzero(where.reshape(-1) == kind)[0]
        walked = walk(parts.take(rows))
        found[:, rows] = walked.cycles, walked.compute, walked.movers, walked.port, walked.memory
    cycles, compute, movers, port, memory = found
    return Price(cycles + m.target.section_cycles, traffic(m), compute, movers, port, memory)


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
