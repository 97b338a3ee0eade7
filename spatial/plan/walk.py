"""The time of a call, over candidates: its first rounds walked, and what repeats multiplied.

One site stands for all: it carries everything that any site does, and is as far from the others as any. Along the one
order of a turn, each step moves the clocks of its engine, its port, its bank and its queues on, by maxima and sums
alone, so every queue, credit and wait of the schedule is there: a load waits for room, a multicast for its batch and
for room everywhere, a stage for its pages. The first rounds of a loop are walked; from then on each takes as long as
those before (a graph of maxima and sums becomes periodic), so the rest of them is one product; the last is walked
again. Loops inside turns and turns themselves go the same way.

Several sites at one memory are told by two figures (`banks`): a round of batches takes as long as its fullest bank,
and the rounds of all loads and stores together no less than their sum.

Candidates walked together have as many walked rounds: `cost` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spatial.ir.body import Loop, Stage, Step
from spatial.plan.banks import fullest
from spatial.plan.candidates import Ints
from spatial.plan.compute import Making, making, updating
from spatial.plan.engines import engines_of
from spatial.plan.figures import bank_cycles, message_cycles, sending_cycles, transfer_cycles
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved
from spatial.plan.turn import grain, turn_of

ROUNDS = 6
"""Rounds of a loop that are walked: enough that queues of two batches fill and what repeats every second round shows."""


def rounds_walked(m: Measures) -> Ints:
    """[candidates, 2]: the rounds walked of the blocked loop, and of the turns."""
    loop = np.ones(m.candidates.count, dtype=np.int64) if m.model.loop is None else _trips(m)
    return np.minimum(np.column_stack((loop, m.turns)), ROUNDS)


def _trips(m: Measures) -> Ints:
    """Rounds of the blocked loop in a turn."""
    loop = m.model.loop
    assert loop is not None
    return m.model.coordinates[loop].trips // m.candidates.factors[:, loop]


@dataclass(frozen=True)
class Walked:
    """Over candidates: cycles from the start of a call to its end, and for how many of them the compute engine, the
    busiest mover, the port of the busiest network and the fullest bank have worked."""

    cycles: Floats
    compute: Floats
    movers: Floats
    port: Floats
    memory: Floats


def walk(m: Measures) -> Walked:
    """The time of a call of every candidate."""
    walker = _Walker(m)
    walker.call()
    names = m.target.engines
    moving = [n for n, e in enumerate(names) if e.network >= 0]
    computing = [n for n, e in enumerate(names) if e.network < 0]
    return Walked(
        np.maximum(walker.engine.max(axis=0), walker.landed[0]),
        walker.working[computing].max(axis=0),
        walker.working[moving].max(axis=0),
        walker.received.max(axis=0),
        walker.served[0],
    )


class _Walker:
    """The clocks of one site, row by row, over candidates."""

    def __init__(self, m: Measures) -> None:
        self.m, self.target, self.model = m, m.target, m.model
        self.count = m.candidates.count
        self.columns = np.arange(self.count)
        self.stages = {s.name: s for s in m.model.body.stages}
        self.number = {s.queue: n for n, s in enumerate(m.model.streams)}
        self.engines = engines_of(m)
        self.networks = np.array([max(e.network, 0) for e in m.target.engines])
        self.works = {w.stage: w for w in m.model.work}
        self.moves = {x.stage: x for x in (*m.model.loads, *m.model.stores)}
        self.single = m.candidates.buffers == 1
        self.steps: dict[str, _Computing] = {}
        self.loads = {x.stage: _Reading(m, x) for x in m.model.loads}
        self.stores = {x.stage: _Writing(m, x) for x in m.model.stores}
        for work in m.model.work:
            self.steps[work.stage] = _Computing.of(m, self.stages[work.stage], self.number)
        self.ahead = [(n, self.loads.get(name)) for n, name in enumerate(self.moves)]
        self._rows()

    def _rows(self) -> None:
        """Lay the clocks out in one array, which a jump over many rounds moves as a whole; counts in another."""
        target, streams = self.target, len(self.model.streams)
        sizes = {
            "engine": len(target.engines),
            "packer": len(target.engines),
            "ports": max(target.network.count, int(self.networks.max(initial=0)) + 1),
            "there": streams,
            "free": streams,
            "before": streams,
            "bank": len(self.moves),
            "asked": len(self.moves),
            "evened": len(self.moves),
            "landed": 1,
        }
        self.clocks = np.zeros((sum(sizes.values()), self.count))
        at, views = 0, {}
        for name, size in sizes.items():
            views[name] = self.clocks[at : at + size]
            at += size
        self.engine, self.packer, self.ports = views["engine"], views["packer"], views["ports"]
        self.there, self.free, self.before = views["there"], views["free"], views["before"]
        self.bank, self.asked, self.evened = views["bank"], views["asked"], views["evened"]
        self.landed = views["landed"]
        self.counts = np.zeros((len(target.engines) + sizes["ports"] + 1, self.count))
        self.working = self.counts[: len(target.engines)]
        self.received = self.counts[len(target.engines) : -1]
        self.served = self.counts[-1:]

    # ------------------------------------------------------------ loops

    def call(self) -> None:
        """What is loaded once, then the turns."""
        for load in self.loads.values():
            if load.stays.any():
                self._load(load, self.stages[load.moved.stage], load.stays)
        order = turn_of(self.model.body.stages)
        turns = self.m.turns

        def turn(first: bool, last: bool) -> None:
            self._nodes(order, {-1: (first, last)}, 0)

        self._rounds(turns, turn)

    def _nodes(self, nodes: Sequence[Loop | Step], ends: Mapping[int, tuple[bool, bool]], depth: int) -> None:
        """The nodes of one iteration at `depth`; `ends`: of each depth, whether its iteration is the first or last."""
        for node in nodes:
            match node:
                case Step():
                    self._step(self.stages[node.stage], ends)
                case Loop():
                    self._rounds(self._loop_trips(node, depth), self._inside(node, ends, depth))

    def _inside(self, node: Loop, ends: Mapping[int, tuple[bool, bool]], depth: int):
        def inside(first: bool, last: bool) -> None:
            self._nodes(node.body, {**ends, depth: (first, last)}, depth + 1)

        return inside

    def _loop_trips(self, node: Loop, depth: int) -> Ints:
        loop = self.model.loop
        trips = np.full(self.count, node.count, dtype=np.int64)
        if loop is not None and self.model.coordinates[loop].name == f"l{depth + 1}":
            trips = trips // self.m.candidates.factors[:, loop]
        return trips

    def _rounds(self, trips: Ints, run) -> None:
        """Walk the first rounds of a loop and its last; jump over those between."""
        walked = int(min(trips.min(), ROUNDS))
        marks: list[Floats] = []
        counts: list[Floats] = []
        for n in range(walked):
            last = n == walked - 1
            if last and walked == ROUNDS:
                skipped = trips - ROUNDS
                self.clocks += skipped * (marks[-1] - marks[-3]) / 2
                self.counts += skipped * (counts[-1] - counts[-3]) / 2
            run(n == 0, last)
            if walked == ROUNDS and not last:
                marks.append(self.engine.max(axis=0))
                counts.append(self.counts.copy())

    # ------------------------------------------------------------ steps

    def _step(self, stage: Stage, ends: Mapping[int, tuple[bool, bool]]) -> None:
        """One step of a stage: the iterations that begin with it, and those that end."""
        deepest = grain(stage)
        begin, end = deepest, deepest
        while begin > -1 and ends[begin - 1][0]:
            begin -= 1
        while end > -1 and ends[end - 1][1]:
            end -= 1
        if stage.name in self.loads:
            load = self.loads[stage.name]
            if not load.stays.all():
                self._load(load, stage, ~load.stays)
        elif stage.name in self.stores:
            self._store(self.stores[stage.name], stage)
        else:
            self._compute(stage, begin, end, deepest)

    def _time(self, stage: str) -> tuple[Ints, Floats]:
        engine = self.engines[stage]
        return engine, self.engine[engine, self.columns]

    def _release(self, queue: str, time: Floats, where: np.ndarray | bool = True) -> None:
        """The slots of a batch are free from `time` on."""
        n = self.number[queue]
        self.before[n] = np.where(where, self.free[n], self.before[n])
        self.free[n] = np.where(where, time, self.free[n])

    def _room(self, n: int) -> Floats:
        """When the next batch of stream `n` has room."""
        return np.where(self.single, self.free[n], self.before[n])

    def _load(self, load: _Reading, stage: Stage, where: np.ndarray) -> None:
        """Issue the reads of a batch; where they are multicast, wait for them and send them on."""
        n = load.moved.stream
        times = np.where(load.stays, load.fires, 1) if load.stays.any() else 1
        engine, began = self._time(stage.name)
        start = began + self.target.step_cycles
        for port in stage.ins:
            start = np.maximum(start, self.there[self.number[port.queue]])
        start = np.where(load.cast | load.stays, start, np.maximum(start, self._room(n)))
        issued = start + times * load.issue
        network = self.networks[engine]
        others = self._others(load.row, start, issued)
        bank = np.maximum(self.bank[load.row], start) + times * load.round
        evened = np.maximum(self.evened[load.row], start) + times * load.even
        self.served[0] += np.where(where, times * load.even, 0.0)
        met = others + self._between(load, start) + times * load.round
        served = np.maximum(np.maximum(np.maximum(bank, met), self.served[0]), issued + load.serve)
        port = np.where(load.cast, start, np.maximum(self.ports[network, self.columns], start)) + times * load.transfer
        there = np.maximum(served + self.target.memory.latency, port)
        ends, busy = issued, times * load.issue + self.target.step_cycles
        received = times * load.transfer
        if load.cast.any():
            begin = np.maximum(issued + self.target.step_cycles, there)
            begin = np.where(load.stays, begin, np.maximum(begin, self._room(n) + load.way))
            sent = begin + times * load.send
            into = np.maximum(self.ports[network, self.columns], begin) + times * load.send
            ends = np.where(load.cast, sent, ends)
            there = np.where(load.cast, np.maximum(sent, into) + load.way, there)
            port = np.where(load.cast, into, port)
            busy = busy + np.where(load.cast, times * load.send + self.target.step_cycles, 0.0)
            received = np.where(load.cast, times * load.send, received)
        for p in stage.ins:
            self._release(p.queue, issued, where)
        self.bank[load.row] = np.where(where, bank, self.bank[load.row])
        self.evened[load.row] = np.where(where, evened, self.evened[load.row])
        self.asked[load.row] = np.where(where, start, self.asked[load.row])
        self.there[n] = np.where(where, np.maximum(there, self.there[n]), self.there[n])
        self._set(self.ports, network, port, where)
        self.received[network, self.columns] += np.where(where, received, 0.0)
        self._set(self.engine, engine, ends, where)
        self.working[engine, self.columns] += np.where(where, busy, 0.0)

    def _between(self, load: _Reading, start: Floats) -> Floats:
        """What a site alone with one batch at a time waits for others of its load: they come at any time of its period,
        so it meets them with the odds of their part of it, and in the middle of it; at first they come together."""
        period = np.maximum(start - self.asked[load.row], 1.0)
        met = np.where(self.asked[load.row] > 0, load.even / (2.0 * period), 1.0)
        return np.minimum(met * load.even, np.maximum(load.even - load.round, 0.0))

    def _others(self, row: int, start: Floats, last: Floats) -> Floats:
        """When the banks have served what others had asked for at `start`: their rounds so far, and those that they
        read ahead, which come later in the order and earlier in time."""
        free = start
        for other, load in self.ahead:
            if other == row:
                continue
            clock = self.evened[other]
            if load is None:
                free = np.where(self.asked[other] <= start, np.maximum(free, clock), free)
                continue
            # A batch is asked for page by page, and so is this one: of one begun before its last page, all may be met.
            free = np.where(self.asked[other] - load.issue < last, np.maximum(free, clock), free)
            if other > row:
                known = self._room(load.moved.stream)
                part = np.clip((last - known) / load.issue, 0.0, 1.0) * (~load.cast & ~load.stays)
                free = np.where(part > 0, np.maximum(free, np.maximum(clock, known) + part * load.even), free)
        return np.where(self.m.together, free, start)

    def _set(self, rows: Floats, at: Ints, value: Floats, where: np.ndarray) -> None:
        rows[at, self.columns] = np.where(where, value, rows[at, self.columns])

    def _store(self, store: _Writing, stage: Stage) -> None:
        """Write a batch: the mover is kept by every run; it lands when the banks have served all sites'."""
        engine, began = self._time(stage.name)
        start = began + self.target.step_cycles
        for port in stage.ins:
            start = np.maximum(start, self.there[self.number[port.queue]])
        ends = start + store.send
        self.served[0] += store.even
        others = self._others(store.row, start + store.first, ends)
        bank = np.maximum(np.maximum(self.bank[store.row], others) + store.round, ends + store.serve)
        self.evened[store.row] = np.maximum(self.evened[store.row], start + store.first) + store.even
        self.bank[store.row], self.asked[store.row] = bank, start
        self.landed[0] = np.maximum(self.landed[0], bank + self.target.network.message)
        for port in stage.ins:
            self._release(port.queue, ends)
        self.engine[engine, self.columns] = ends
        self.working[engine, self.columns] += store.send + self.target.step_cycles

    def _compute(self, stage: Stage, begin: int, end: int, deepest: int) -> None:
        """Begin the iterations from depth `begin` down to the deepest, then end those up to `end`."""
        does = self.steps[stage.name]
        engine, time = self._time(stage.name)
        busy = np.zeros(self.count)
        for depth in range(begin, deepest + 1):
            if depth in does.step:
                time, busy = time + does.step[depth], busy + does.step[depth]
            for port in stage.ins:
                if port.depth == depth:
                    time = np.maximum(time, self.there[self.number[port.queue]])
        packer = self.packer[engine, self.columns]
        for depth in range(deepest, end - 1, -1):
            if depth in does.update:
                time, busy = time + does.update[depth], busy + does.update[depth]
            for made in does.made.get(depth, ()):
                room = self._room(made.stream)
                time = np.maximum(time, room)
                first = np.maximum(time + made.evaluate, packer)
                done = first + (made.pages - 1) * np.maximum(made.evaluate, made.pack)
                busy = busy + (done - time)
                time, packer = done, done + made.pack
                self.there[made.stream] = packer
            for port in stage.ins:
                if port.depth == depth:
                    self._release(port.queue, time)
        self.packer[engine, self.columns] = packer
        self.engine[engine, self.columns] = time
        self.working[engine, self.columns] += busy


class _Reading:
    """A load's figures, of one batch: cycles of issuing it, of its last access, of its round at the fullest bank, of
    its way through a port; of sending it on, and how far."""

    def __init__(self, m: Measures, moved: Moved) -> None:
        target, stream = m.target, m.model.streams[moved.stream]
        pages, unit = m.pages(stream), target.memory.align
        size = -(-moved.run_bytes // unit) * unit
        runs = pages * moved.runs
        self.moved, self.row = moved, _row(m, moved)
        self.fires, self.stays, self.cast = m.fires(stream), m.stays(moved), m.cast(moved)
        self.issue = runs * target.network.issue
        self.serve = bank_cycles(target, size)
        # Whatever order sites come in, banks even out over a turn and no further: each site has its own pages of it.
        sites, access = np.minimum(m.readers(moved), m.items), moved.runs * self.serve
        part = np.where(self.cast | self.stays, 1.0, m.items / (m.sites * m.turns))
        # Of so many accesses on their way some banks have none (assumed: half the loss of a closed network of equal
        # servers of random times, for these are not).
        pages_ahead = np.maximum(sites * pages * np.minimum(m.candidates.buffers, self.fires), target.memory.banks)
        loss = 0.5 * (target.memory.banks - 1) / pages_ahead * (1.0 - 1.0 / sites)
        self.even = fullest(m, moved, self.fires, sites) / self.fires * part * access * (1.0 + loss)
        window = np.where(self.stays, self.fires, 1)
        alone = ~m.together & (m.candidates.buffers == 1)
        self.round = np.where(alone, fullest(m, moved, window) / window * access, self.even)
        self.transfer = runs * transfer_cycles(target, size)
        self.send = pages * sending_cycles(target, stream.page_bytes)
        x, y = m.group(moved)
        rect = m.candidates.rect
        hops = np.where(x, rect[:, 0] - 1, 0) + np.where(y, rect[:, 1] - 1, 0)
        self.way = message_cycles(target, 0) + hops * target.network.hop


class _Writing:
    """A store's figures, of one batch: cycles it keeps its mover, of its first run, of its last access, of its round
    at the fullest bank."""

    def __init__(self, m: Measures, moved: Moved) -> None:
        target, unit = m.target, m.target.memory.granule
        size = -(-moved.run_bytes // unit) * unit
        self.moved, self.row = moved, _row(m, moved)
        self.first = sending_cycles(target, size)
        self.fires, self.stays = m.fires(m.model.streams[moved.stream]), np.zeros(m.candidates.count, dtype=np.bool_)
        self.send = m.pages(m.model.streams[moved.stream]) * moved.runs * self.first
        self.serve = bank_cycles(target, size)
        once = np.ones(m.candidates.count, dtype=np.int64)
        part = m.items / (m.sites * m.turns)
        self.round = fullest(m, moved, once, np.minimum(m.sites, m.items)) * moved.runs * self.serve
        self.even = self.round * part


def _row(m: Measures, moved: Moved) -> int:
    return (*m.model.loads, *m.model.stores).index(moved)


@dataclass(frozen=True)
class _Computing:
    """What a computing stage does, by depth: cycles of the step at which an iteration begins, of the updates at its
    end, and the pages it makes there."""

    step: dict[int, Floats]
    update: dict[int, Floats]
    made: dict[int, tuple[Making, ...]]

    @staticmethod
    def of(m: Measures, stage: Stage, number: Mapping[str, int]) -> _Computing:
        """The figures of `stage`. Pages that stay are taken once: an iteration that takes nothing else is no step."""
        loads = {x.stream: x for x in m.model.loads}
        step: dict[int, Floats] = {}
        for port in stage.ins:
            load = loads.get(number[port.queue])
            pays = np.where(m.stays(load), 0.0, 1.0) if load else np.ones(m.candidates.count)
            step[port.depth] = np.maximum(step.get(port.depth, 0.0), pays)
        for port in stage.outs:
            step[port.depth] = np.ones(m.candidates.count)
        work = next(w for w in m.model.work if w.stage == stage.name)
        update: dict[int, Floats] = {}
        made: dict[int, tuple[Making, ...]] = {}
        for e in work.evaluated:
            if e.out is None:
                update[e.depth] = update.get(e.depth, 0.0) + updating(m, e)
            else:
                made[e.depth] = (*made.get(e.depth, ()), making(m, e))
        return _Computing({d: s * m.target.step_cycles for d, s in step.items()}, update, made)
