"""What one batch of a load or a store costs its mover, its port and the banks, over candidates.

A read keeps its mover for the issue of its transactions alone, a multicast and a write for the transfers; a port is
kept for the bytes that come in; a bank for every access, at the unplaced rate. Knows no order and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.plan.banks import fullest
from spatial.plan.candidates import Ints, Truth
from spatial.plan.figures import bank_cycles, message_cycles, sending_cycles, spreading_cycles, transfer_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved


@dataclass(frozen=True)
class Reading:
    """A load. `fires`: batches in a turn; `times`: batches that it loads at once where it stays, else one; `cast`,
    `stays`: whether it is multicast, and whether it is loaded once a call.

    Cycles of a batch: `issue` of its transactions; `serve` of one access at its bank; `even` of the fullest bank by
    the batches of all sites; `round` of it as far as one site waits; `transfer` of its way into a port; `send` of a
    multicast, `way` of its message to the farthest site.
    """

    moved: Moved
    row: int
    fires: Ints
    times: Ints
    stays: Truth
    cast: Truth
    issue: Floats
    serve: float
    even: Floats
    round: Floats
    transfer: Floats
    send: Floats
    receive: Floats
    way: Floats

    def take(self, rows: Ints) -> Reading:
        """The same of some candidates."""
        few = (self.fires[rows], self.times[rows], self.stays[rows], self.cast[rows], self.issue[rows])
        cycles = (self.even[rows], self.round[rows], self.transfer[rows], self.send[rows])
        sent = self.receive[rows], self.way[rows]
        return Reading(self.moved, self.row, *few, self.serve, *cycles, *sent)


@dataclass(frozen=True)
class Writing:
    """A store. Cycles of a batch: `send` of its runs, `first` of one of them; `serve`, `round` as of a load."""

    moved: Moved
    row: int
    first: float
    send: Floats
    serve: float
    round: Floats

    def take(self, rows: Ints) -> Writing:
        """The same of some candidates."""
        return Writing(self.moved, self.row, self.first, self.send[rows], self.serve, self.round[rows])


def reading(m: Measures, moved: Moved, row: int) -> Reading:
    """The figures of a load. Of so many accesses on their way some banks have none: assumed is half the loss of a
    closed network of equal servers of random times, for these are not."""
    target, stream = m.target, m.model.streams[moved.stream]
    unit, banks, buffers = target.memory.align, target.memory.banks, m.candidates.buffers
    size, pages = -(-moved.run_bytes // unit) * unit, m.pages(stream).astype(np.float64)
    runs, fires, stays, cast = pages * moved.runs, m.fires(stream), m.stays(moved), m.cast(moved)
    serve = bank_cycles(target, size)
    access, sent = moved.runs * serve, sending_cycles(target, stream.page_bytes)
    sites = np.minimum(m.readers(moved), m.items)
    # Where the last turn is not full, a turn has fewer readers on the average.
    part = np.where(cast | stays, 1.0, m.items / (sites * m.turns))
    ahead = np.maximum(sites * pages * np.minimum(buffers, fires), banks)
    loss = 0.5 * (banks - 1) / ahead * (1.0 - 1.0 / sites)
    # Whatever order sites come in, banks even out over a turn and no further: each site has its own pages of it.
    even = fullest(m, moved, fires, sites) / fires * part * access * (1.0 + loss)
    times = np.where(stays, fires, 1)
    apart = (buffers == 1) | cast
    own = even
    if apart.any():
        once = fullest(m, moved, np.ones_like(fires))
        own = np.where(apart, np.where(stays, fullest(m, moved, fires) / fires, once) * access, even)
    x, y = m.group(moved)
    rect = m.candidates.rect
    hops = np.where(x, rect[:, 0] - 1, 0) + np.where(y, rect[:, 1] - 1, 0)
    return Reading(
        moved,
        row,
        fires,
        times,
        stays,
        cast,
        runs * target.network.issue,
        serve,
        even,
        own,
        runs * transfer_cycles(target, size),
        (pages - 1) * spreading_cycles(target, stream.page_bytes) + sent,
        pages * sent,
        message_cycles(target, 0) + hops * target.network.hop,
    )


def writing(m: Measures, moved: Moved, row: int) -> Writing:
    """The figures of a store."""
    unit = m.target.memory.granule
    size = -(-moved.run_bytes // unit) * unit
    first, serve = sending_cycles(m.target, size), bank_cycles(m.target, size)
    sites, once = np.minimum(m.sites, m.items), np.ones(m.candidates.count, dtype=np.int64)
    pages = m.pages(m.model.streams[moved.stream]).astype(np.float64)
    return Writing(
        moved, row, first, pages * moved.runs * first, serve, fullest(m, moved, once, sites) * moved.runs * serve
    )
