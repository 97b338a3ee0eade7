"""The price of every candidate at once, in closed form.

A section takes as long as its longest path: the compute engine, the busiest mover, or the shared memory (with single
buffers computing waits for moving: their sum); plus the fill before the first page is there, plus the fixed costs of a
section and of each step. Compute: page products at the matrix datapath's step granularity, elementwise work lane by
lane, both no faster than pages get in and out of scratch. A mover carries loads, multicasts and stores one after the
other. Memory: bytes of all readers and writers together. Figures come from the target alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.target import Target


@dataclass(frozen=True)
class Price:
    """Over candidates: cycles of the section, bytes moved from and to memory, and the three paths the cycles come
    of."""

    cycles: Floats
    traffic: Floats
    compute: Floats
    movers: Floats
    memory: Floats


def price(m: Measures) -> Price:
    """The price of every candidate."""
    compute, steps = _compute(m)
    movers, traffic, first = _moves(m)
    memory = traffic / m.target.memory.rate
    moving = np.maximum(movers, memory)
    path = np.where(m.candidates.buffers > 1, np.maximum(compute, moving), compute + moving)
    fixed = m.target.section_cycles + steps * m.target.step_cycles
    return Price(path + first + fixed, traffic, compute, movers, memory)


def _compute(m: Measures) -> tuple[Floats, Floats]:
    """(cycles of the compute engine, steps it takes) over the call of one site."""
    math = np.zeros(m.candidates.count)
    for work in m.model.work:
        math = math + m.evaluations(work) * work.cycles
    computed = {w.stage for w in m.model.work}
    popped, pushed, steps = (np.zeros(m.candidates.count) for _ in range(3))
    for stream in m.model.streams:
        moved = (m.pages(stream) * m.fires(stream)).astype(np.float64)
        if stream.consumer in computed:
            popped = popped + moved * stream.page_bytes
            steps = np.maximum(steps, m.fires(stream).astype(np.float64))
        if stream.producer in computed:
            pushed = pushed + moved * stream.page_bytes
    turn = np.maximum(np.maximum(math, popped / m.target.unpack), pushed / m.target.pack)
    turns = m.turns.astype(np.float64)
    return turn * turns, steps * turns


def _moves(m: Measures) -> tuple[Floats, Floats, Floats]:
    """(cycles of the busiest mover, bytes from and to memory, cycles until the first page is there)."""
    total, largest, traffic, first = (np.zeros(m.candidates.count) for _ in range(4))
    for load in m.model.loads:
        stream = m.model.streams[load.stream]
        once = m.pages(stream) * m.fires(stream)
        times = np.where(m.stays(load), 1, m.turns)
        cast = m.cast(load)
        each = _page_cycles(m.target, load, stream.page_bytes)
        busy = (once * times * each * np.where(cast, 2.0, 1.0)).astype(np.float64)
        total, largest = total + busy, np.maximum(largest, busy)
        read = np.where(cast | m.stays(load), m.readers(load) * times, m.items)
        traffic = traffic + once * read * _bytes(m.target, load)
        first = np.maximum(first, m.target.memory.latency + m.pages(stream) * each * np.where(cast, 2.0, 1.0))
    for store in m.model.stores:
        stream = m.model.streams[store.stream]
        once = m.pages(stream) * m.fires(stream)
        busy = (once * m.turns * _page_cycles(m.target, store, stream.page_bytes)).astype(np.float64)
        total, largest = total + busy, np.maximum(largest, busy)
        traffic = traffic + once * m.items * _bytes(m.target, store)
    movers = max(len(m.target.engine_of("load")), 1)
    return np.maximum(total / movers, largest), traffic, first


def _page_cycles(target: Target, moved: Moved, page_bytes: int) -> float:
    """Cycles one page keeps a mover: a transaction for each run, then the bytes at the network's rate."""
    return max(moved.runs * target.network.issue, page_bytes / target.network.rate)


def _bytes(target: Target, moved: Moved) -> int:
    """Bytes of memory traffic one page makes: every run covers whole aligned units."""
    unit = target.memory.align
    return moved.runs * -(-moved.run_bytes // unit) * unit
