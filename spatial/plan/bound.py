"""What no candidate can take less than, in closed form: the search walks only those that may still be best.

A call lasts at least as long as the compute engine works; as the movers have to do between them; as the banks serve,
spread evenly; and as the longest circle of waits: a multicast's mover waits for every batch it sends on, and a queue
of so many batches lets a read begin only when the one so many before has been taken. Nothing is computed before the
first batch of some load is there, and what is stored last is sent after all that. Every term is part of what `walk`
adds up, so nothing it calls cheaper is left out.
"""

from __future__ import annotations

import numpy as np

from spatial.plan.compute import computing_of
from spatial.plan.figures import bank_cycles, sending_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.plan.turn import grain


def bound(m: Measures) -> Floats:
    """Cycles that each candidate takes at least."""
    target, movers = m.target, max(len(set(m.target.engine_of("load")) | set(m.target.engine_of("store"))), 1)
    moving, memory, longest = (np.zeros(m.candidates.count) for _ in range(3))
    for load in m.model.loads:
        busy, served, circle = _load(m, load)
        moving, memory, longest = moving + busy, memory + served, np.maximum(longest, circle)
    for store in m.model.stores:
        stream = m.model.streams[store.stream]
        size = -(-store.run_bytes // target.memory.granule) * target.memory.granule
        each = target.step_cycles + m.pages(stream) * store.runs * sending_cycles(target, size)
        moving = moving + each * m.fires(stream) * m.turns
    fed = np.maximum(memory + target.memory.latency, longest)
    least = np.maximum(np.maximum(fed, _fill(m) + _compute(m)) + _drain(m), moving / movers)
    return least + target.section_cycles


def _compute(m: Measures) -> Floats:
    """Cycles of the compute engine in a call; all its stages are on one."""
    total = np.zeros(m.candidates.count)
    for work in m.model.work:
        stage, does = m.model.body.stage(work.stage), computing_of(m, work)
        for depth in {*does.step, *does.update, *does.made} - {-1}:
            trips = np.full(m.candidates.count, float(np.prod(stage.loops[:depth])))
            loop = m.model.loop
            if loop is not None and m.model.coordinates[loop].name == f"l{depth}":
                trips = trips / m.model.coordinates[loop].trips * _rounds(m, loop)
            total = total + does.least(depth) * trips
    return total * m.turns


def _fill(m: Measures) -> Floats:
    """Cycles until the first batch of any load is there, less the steps that what computes takes meanwhile."""
    model, target = m.model, m.target
    made = {p.queue for s in model.body.stages for p in s.outs}
    if not model.loads or any(not any(p.queue in made for p in model.body.stage(w.stage).ins) for w in model.work):
        return np.zeros(m.candidates.count)
    first = np.full(m.candidates.count, np.inf)
    for load in model.loads:
        stream, unit = model.streams[load.stream], target.memory.align
        pages = m.pages(stream) * np.where(m.stays(load), m.fires(stream), 1)
        size = -(-load.run_bytes // unit) * unit
        read = target.step_cycles + pages * load.runs * target.network.issue + bank_cycles(target, size)
        sent = target.step_cycles + pages * sending_cycles(target, stream.page_bytes) + target.network.message
        first = np.minimum(first, read + target.memory.latency + np.where(m.cast(load), sent, 0.0))
    before = sum((grain(model.body.stage(w.stage)) + 2 for w in model.work), 0) * target.step_cycles
    return np.maximum(first - before, 0.0)


def _drain(m: Measures) -> Floats:
    """Cycles from the last page there is to compute to the end: of its store, where there is one alone."""
    if len(m.model.stores) != 1 or not m.model.work:
        return np.zeros(m.candidates.count)
    (store,), target = m.model.stores, m.target
    stream, unit = m.model.streams[store.stream], target.memory.granule
    size = -(-store.run_bytes // unit) * unit
    send = m.pages(stream).astype(np.float64) * store.runs * sending_cycles(target, size)
    return send + stream.page_bytes / target.pack + bank_cycles(target, size) + target.network.message


def _rounds(m: Measures, loop: int) -> Floats:
    return np.asarray(m.model.coordinates[loop].trips // m.candidates.factors[:, loop], dtype=np.float64)


def _load(m: Measures, load: Moved) -> tuple[Floats, Floats, Floats]:
    """(cycles of its mover, cycles of the banks, its longest circle of waits) of a load in a call."""
    target, stream = m.target, m.model.streams[load.stream]
    unit = target.memory.align
    serve = bank_cycles(target, -(-load.run_bytes // unit) * unit)
    pages, fires, stays, cast = m.pages(stream), m.fires(stream), m.stays(load), m.cast(load)
    sites = np.minimum(m.readers(load), m.items)
    part = np.where(cast | stays, 1.0, m.items / (m.sites * m.turns))
    batches = fires * np.where(stays, 1, m.turns)
    memory = batches * pages * sites * part * load.runs * serve / target.memory.banks
    send = pages * sending_cycles(target, stream.page_bytes)
    issue = pages * load.runs * target.network.issue
    # What stays is one step for all its batches.
    steps = np.where(stays, 1, batches) * target.step_cycles
    busy = batches * (issue + np.where(cast, send, 0.0)) + steps * np.where(cast, 2, 1)
    arrival = target.memory.latency + serve
    sent = batches * send + np.where(stays, 1, batches) * (arrival + target.step_cycles)
    slots = -(-batches // m.candidates.buffers) * arrival
    return busy, memory, np.where(cast, sent, np.where(stays, arrival, slots))
