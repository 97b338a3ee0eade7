"""What one batch of a load or a store costs its mover, its port and the banks, over candidates.

A read keeps its mover for the issue of its transactions alone, a multicast and a write for the transfers; a port is
kept for the bytes that come in; a bank for every access, at the placed rate where its reader stands beside it. Such a
reader's batch is that of all the sites it reads for. Knows no order and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from spatial.plan.banks import fullest
from spatial.plan.candidates import Ints, Truth
from spatial.plan.figures import bank_cycles, message_cycles, sending_cycles, spreading_cycles, transfer_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved


@dataclass(frozen=True)
class Reading:
    """A load. `fires`: batches in a turn; `times`: batches that it loads at once where it stays, else one; `cast`,
    `stays`: whether its pages are sent on, and whether it is loaded once a call; `apart`: whether another mover sends
    them.

    Cycles of a batch: `issue` of its transactions; `serve` of one access at its bank; `even` of the fullest bank by
    the batches of all sites; `round` of it as far as one site waits; `transfer` of its way into a port; `send` of a
    multicast or scatter, `way` of its message to the farthest site.
    """

    moved: Moved
    row: int
    fires: Ints
    times: Ints
    stays: Truth
    cast: Truth
    apart: Truth
    issue: Floats
    serve: Floats
    even: Floats
    round: Floats
    transfer: Floats
    send: Floats
    receive: Floats
    way: Floats

    def take(self, rows: Ints) -> Reading:
        """The same of some candidates."""
        own = (getattr(self, f.name)[rows] for f in fields(self)[2:])
        return Reading(self.moved, self.row, *own)


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


def serving(m: Measures, moved: Moved) -> Floats:
    """Cycles for which an access of a load keeps its bank."""
    size = -(-moved.run_bytes // m.target.memory.align) * m.target.memory.align
    return np.where(m.members(moved) > 0, bank_cycles(m.target, size, True), bank_cycles(m.target, size))


def evened(m: Measures, moved: Moved, apart: bool = False) -> Floats:
    """Cycles for which the batches of a load of all sites keep the fullest bank; `apart`: were it not multicast. Of so
    many accesses on their way some banks have none: assumed is half the loss of a closed network of equal servers of
    random times, for these are not."""
    readers, cast = (m.sites, False) if apart else (m.readers(moved), m.cast(moved))
    stream, banks, members = m.model.streams[moved.stream], m.target.memory.banks, m.members(moved)
    pages, fires = m.pages(stream).astype(np.float64), m.fires(stream)
    access, sites = moved.runs * serving(m, moved), np.minimum(readers, m.items)
    # Where the last turn is not full, a turn has fewer readers on the average.
    part = np.where(m.stays(moved) | cast, 1.0, m.items / (sites * m.turns))
    ahead = np.maximum(sites * pages * np.minimum(m.candidates.buffers, fires), banks)
    loss = 0.5 * (banks - 1) / ahead * (1.0 - 1.0 / sites)
    # Whatever order sites come in, banks even out over a turn and no further: each site has its own pages of it. A bank
    # with a reader of its own is never without one, and has no part in turns that others are spared.
    even, own = fullest(m, moved, True, sites) / fires, _full(m, moved, np.maximum(members, 1))
    return np.where(members > 0, even * access * own, even * part * access * (1.0 + loss))


def reading(m: Measures, moved: Moved, row: int) -> Reading:
    """The figures of a load."""
    target, stream, members = m.target, m.model.streams[moved.stream], m.members(moved)
    size, pages = -(-moved.run_bytes // target.memory.align) * target.memory.align, m.pages(stream).astype(np.float64)
    each, serve = np.maximum(members, 1), serving(m, moved)
    runs, fires, stays, cast = pages * each * moved.runs, m.fires(stream), m.stays(moved), m.cast(moved)
    access, sent = moved.runs * serve, sending_cycles(target, stream.page_bytes)
    own = even = evened(m, moved)
    apart = ((m.candidates.buffers == 1) | cast) & (members == 0)
    if apart.any():
        own = fullest(m, moved, False)
        own = np.where(stays, fullest(m, moved, True) / fires, own) if stays.any() else own
        own = np.where(apart, own * access, even)
    x, y = m.group(moved)
    rect = m.candidates.rect
    hops = np.where(x, rect[:, 0] - 1, 0) + np.where(y, rect[:, 1] - 1, 0) + each - 1
    return Reading(
        moved,
        row,
        fires,
        np.where(stays, fires, 1),
        stays,
        m.sends(moved),
        m.beside,
        runs * target.network.issue,
        serve,
        even,
        own,
        runs * transfer_cycles(target, size),
        (pages * each - 1) * spreading_cycles(target, stream.page_bytes) + sent,
        pages * sent,
        message_cycles(target, 0) + hops * target.network.hop,
    )


def _full(m: Measures, moved: Moved, members: Ints) -> Floats:
    """The part of the pages of full turns that the fullest bank has, of a load whose readers stand beside the banks."""
    if not moved.strip:
        return np.ones(m.candidates.count)
    items = m.grid[:, min(moved.axes)]
    turns = -(-items // m.sites)
    return ((turns - 1) * members + np.minimum(items - (turns - 1) * m.sites, members)) / (turns * members)


def landing(m: Measures, moved: Moved) -> Floats:
    """Cycles for which the batches of a store of all sites keep the fullest bank."""
    size = -(-moved.run_bytes // m.target.memory.granule) * m.target.memory.granule
    return fullest(m, moved, False, np.minimum(m.sites, m.items)) * moved.runs * bank_cycles(m.target, size)


def writing(m: Measures, moved: Moved, row: int) -> Writing:
    """The figures of a store."""
    size = -(-moved.run_bytes // m.target.memory.granule) * m.target.memory.granule
    first, serve = sending_cycles(m.target, size), bank_cycles(m.target, size)
    pages = m.pages(m.model.streams[moved.stream]).astype(np.float64)
    return Writing(moved, row, first, pages * moved.runs * first, serve, landing(m, moved))
