"""What no candidate can take less than, in closed form: the search walks only those that may still be best.

A call lasts at least as long as the compute engine works, the busiest mover, the busiest port and the fullest bank;
and as the longest circle of waits: a multicast's mover waits for every batch it sends on, and a queue of so many
batches lets a read begin only when what computes has done with the one so many before. Nothing is computed before the
first batch of some load is there; the last batch there is to be computed with, and what that makes to be stored. A
price is never below, so nothing that is cheaper is left out. What all variants of a blocking at its place have in
common is found first (`least`).
"""

from __future__ import annotations

import numpy as np

from spatial.ir.body import Body
from spatial.plan.compute import computing_of
from spatial.plan.engines import sender_of
from spatial.plan.figures import sending_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.movers import Reading, evened, landing
from spatial.plan.places import Spots
from spatial.plan.turn import grain
from spatial.plan.work import Parts, busiest, moving, received, sent, served, steps, stored, trips, written


def fastest(spots: Spots) -> Floats:
    """Cycles that each blocking at its place computes at least, in any variant: what a turn takes is the same at all
    places, but where there is one turn and nothing is held."""
    m, number = spots.alone(), spots.places.number
    once, turn = (np.zeros(m.candidates.count) for _ in range(2))
    for work in m.model.work:
        does, stage = computing_of(m, work), m.model.body.stage(work.stage)
        for depth in {*does.step, *does.update, *does.made}:
            each = does.least(depth) * trips(m, stage, depth)
            once, turn = (once, turn + each) if depth >= 0 else (once + each, turn)
    return once[number] + turn[number] * spots.places.turns


def least(spots: Measures, computing: Floats) -> tuple[Floats, Floats]:
    """Cycles that each blocking at its place takes at least, in any variant; and that its second longest path works:
    of `computing`, of the movers and of the banks, with readers beside the banks or none. `spots`: all multicast and
    held that can be, with most room in queues."""
    (memory, movers), beside = _moved(spots), readers(spots)
    rows = np.nonzero(beside.beside)[0]
    if len(rows):
        banks, moves = _moved(beside.take(rows))
        memory[rows], movers[rows] = np.minimum(memory[rows], banks), np.minimum(movers[rows], moves)
    shorter, longer = np.minimum(computing, movers), np.maximum(computing, movers)
    longest = np.maximum(longer, memory + spots.target.memory.latency)
    return longest + spots.target.section_cycles, np.maximum(shorter, np.minimum(longer, memory))


def readers(spots: Measures) -> Measures:
    """The same blockings at their places, with readers beside the banks."""
    return spots.variant(beside=1)


def _moved(m: Measures) -> tuple[Floats, Floats]:
    """Cycles of the fullest bank, and of the movers evenly used, in a call: of what is multicast if it can be, or is
    not, the fewer."""
    target, step = m.target, m.target.step_cycles
    memory, movers = (np.zeros(m.candidates.count) for _ in range(2))
    again = np.zeros(m.candidates.count, dtype=np.bool_)
    for load in m.model.loads:
        stream, stays, members = m.model.streams[load.stream], m.stays(load), m.members(load)
        pages, fires = m.pages(stream).astype(np.float64), m.fires(stream)
        steps, times = np.where(stays, 1, fires * m.turns), np.where(stays, fires, 1)
        even, again = evened(m, load), again | ~stays
        even = np.minimum(even, evened(m, load, apart=True)) if m.cast(load).any() else even
        memory = memory + even * (steps * times)
        each = times * pages * np.maximum(members, 1)
        sent = np.where(members > 0, each * sending_cycles(target, stream.page_bytes) + step, 0.0)
        movers = movers + steps * (step + each * load.runs * target.network.issue + sent)
    for store in m.model.stores:
        stream, unit = m.model.streams[store.stream], target.memory.granule
        send = store.runs * sending_cycles(target, -(-store.run_bytes // unit) * unit)
        movers = movers + (step + m.pages(stream) * send) * m.fires(stream) * m.turns
        # Of what is stored after the last load none waits.
        memory = memory + landing(m, store) * np.where(again, m.fires(stream) * (m.turns - 1), 0)
    return memory, movers / len(moving(target))


def bound(parts: Parts) -> Floats:
    """Cycles that each candidate takes at least."""
    m, target = parts.m, parts.m.target
    memory, fed = served(parts) + target.memory.latency, np.zeros(m.candidates.count)
    after, first = np.full(m.candidates.count, np.inf), np.full(m.candidates.count, np.inf)
    worked, last = (np.zeros(m.candidates.count) for _ in range(2))
    again = np.zeros(m.candidates.count, dtype=np.bool_)
    movers: dict[str, Floats] = {}
    for name, load in parts.loads.items():
        kept, alone, casts = _kept(parts, load), _alone(parts, load), np.where(load.cast, load.times * load.send, 0.0)
        fed = np.maximum(fed, _circle(parts, load, alone, kept) + kept)
        after, first = np.minimum(after, casts + kept), np.minimum(first, target.step_cycles + alone + casts)
        waits = np.maximum(load.times * load.issue + target.step_cycles, alone) + casts
        keeps = np.where(load.cast & ~load.apart, waits, load.times * load.issue)
        movers[name] = steps(m, load) * (target.step_cycles + keeps)
        movers[sender_of(m, load.moved)] = sent(m, load)
        again = again | ~load.stays
    for name, store in parts.stores.items():
        movers[name] = written(m, store)
        # What is stored after the last load is no wait of it.
        memory = memory - store.round * np.where(again, stored(m, store) // m.turns, stored(m, store))
        packed = m.model.streams[store.moved.stream].page_bytes / target.pack
        ends = np.maximum(store.send + store.serve, store.round) + target.network.message
        last = np.maximum(last, packed + ends)
    for each in parts.computed.values():
        worked = worked + each
    moved = np.maximum(busiest(parts, movers), received(parts))
    if not parts.works or not parts.loads:
        return np.maximum(np.maximum(worked, memory), moved) + target.section_cycles
    # Before the first batch is there, what computes has begun all its iterations.
    begun = sum(grain(m.model.body.stage(w)) + 2 for w in parts.works) * target.step_cycles
    starts = np.maximum(first - begun, 0.0) if _all_fed(parts) else 0.0
    longest = np.maximum(np.maximum(memory + after, fed), starts + worked) + last
    return np.maximum(np.maximum(longest, moved), _turning(parts)) + target.section_cycles


def _all_fed(parts: Parts) -> bool:
    """Whether every stage that computes takes pages of others."""
    body = parts.m.model.body
    made = {p.queue for s in body.stages for p in s.outs}
    return all(any(p.queue in made for p in body.stage(w).ins) for w in parts.works)


def _turning(parts: Parts) -> Floats:
    """Cycles of the turns where one mover has a load and a store: it reads for the next turn when it has stored the
    last, and what hangs on its load is computed in between."""
    m, step, body = parts.m, parts.m.target.step_cycles, parts.m.model.body
    longest = np.zeros(m.candidates.count)
    for name, load in parts.loads.items():
        hanging = _hanging(body, name)
        works = hanging & set(parts.works)
        worked = np.zeros(m.candidates.count)
        for work in works:
            begun = (grain(body.stage(work)) + 2) * step * m.turns
            worked = worked + np.maximum(parts.computed[work] - begun, 0.0)
        there = step + _alone(parts, load) + np.where(load.cast, load.send + load.way, 0.0)
        for last, store in parts.stores.items() if works else ():
            packed = m.model.streams[store.moved.stream].page_bytes / m.target.pack
            # Where sites come together its batch stands behind what all of them have stored.
            behind = np.where(m.together, np.maximum(store.round - store.send, 0.0), 0.0)
            turns = m.turns * (there + packed + store.send) + (m.turns - 1) * behind + worked
            both = (parts.engines[name] == parts.engines[last]) & ~load.stays & (last in hanging)
            longest = np.where(both, np.maximum(longest, turns), longest)
    return longest


def _hanging(body: Body, load: str) -> set[str]:
    """The stages that take what a load brings, or what is made of it."""
    found = {load}
    while True:
        made = {p.queue for s in body.stages if s.name in found for p in s.outs}
        more = {s.name for s in body.stages if any(p.queue in made for p in s.ins)} - found
        if not more:
            return found
        found |= more


def _alone(parts: Parts, load: Reading) -> Floats:
    """Cycles from the start of a batch's read to its arrival, were there no others."""
    return np.maximum(load.times * load.issue + load.serve, load.times * load.round) + parts.m.target.memory.latency


def _circle(parts: Parts, load: Reading, alone: Floats, kept: Floats) -> Floats:
    """Cycles until the last batch of a load is there, by its own circles of waits alone."""
    m, step, buffers = parts.m, parts.m.target.step_cycles, parts.m.candidates.buffers
    times, casts = steps(m, load), load.times * load.send
    rounds = -(-times // buffers) - 1
    slots = alone + rounds * (alone + kept)
    mover = np.where(load.apart, alone + rounds * (alone + casts) + casts, times * (alone + casts + step))
    sends = np.maximum(mover, alone + casts + rounds * (casts + 2 * load.way + kept)) + load.way
    return np.where(load.cast, sends, np.where(load.stays, alone, slots))


def _kept(parts: Parts, load: Reading) -> Floats:
    """Cycles for which what computes keeps a batch of a load at the least: to the end of the iteration that takes
    it."""
    m, queue = parts.m, parts.m.model.streams[load.moved.stream].queue
    total = np.zeros(m.candidates.count)
    for work, does in parts.works.items():
        stage = m.model.body.stage(work)
        for port in stage.ins:
            if port.queue == queue:
                for depth in {*does.update, *does.made}:
                    if depth >= max(port.depth, 0):
                        within = trips(m, stage, depth) / trips(m, stage, port.depth)
                        total = total + (does.least(depth) - does.step.get(depth, 0.0)) * within
    return total
