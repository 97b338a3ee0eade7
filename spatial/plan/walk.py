"""The time of a call, over candidates: its first rounds walked, and what repeats multiplied.

One site stands for all: it carries everything that any site does, and is as far from the others as any. Along the one
order of a turn, each step moves the clocks of its engine, its port, the banks and its queues on, by maxima and sums
alone, so every queue, credit and wait of the schedule is there: a load waits for room, a multicast for its batch and
for room everywhere, a stage for its pages. The first rounds of a loop are walked; from then on each takes as long as
those before (a graph of maxima and sums becomes periodic), so the rest of them is one product; the last is walked
again. Loops inside turns and turns themselves go the same way.

Several sites at one memory are told by how long the batches of all keep the fullest bank (`movers`): a batch is there
no sooner than the batches of all before it can have been served, and what another load has asked for before it stands
in its way. Sites that a multicast keeps together, or that read ahead, come together; others drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spatial.ir.body import Loop, Stage, Step
from spatial.plan.candidates import Ints
from spatial.plan.compute import Computing, computing_of
from spatial.plan.engines import engines_of
from spatial.plan.measures import Floats, Measures, Truth
from spatial.plan.movers import Reading, Writing, reading, writing
from spatial.plan.turn import grain, turn_of
from spatial.target import Target

ROUNDS = 5
"""Rounds of a loop that are walked: enough that queues of two batches fill, and what repeats every second round is
seen."""

Ends = Mapping[int, tuple[bool, bool]]
"""By depth, whether the iteration there is the first and whether it is the last of its loop."""


@dataclass(frozen=True)
class Parts:
    """All that a walk needs to know of its candidates: how many rounds of what, and what each stage costs."""

    m: Measures
    engines: dict[str, Ints]
    loads: dict[str, Reading]
    stores: dict[str, Writing]
    works: dict[str, Computing]

    def take(self, rows: Ints) -> Parts:
        """The same of some candidates."""
        return Parts(
            Measures(self.m.model, self.m.candidates.take(rows), self.m.target),
            {n: x[rows] for n, x in self.engines.items()},
            {n: x.take(rows) for n, x in self.loads.items()},
            {n: x.take(rows) for n, x in self.stores.items()},
            {n: x.take(rows) for n, x in self.works.items()},
        )


def parts_of(m: Measures) -> Parts:
    """What each stage costs, over candidates."""
    loads = {x.stage: reading(m, x, n) for n, x in enumerate(m.model.loads)}
    stores = {x.stage: writing(m, x, n + len(loads)) for n, x in enumerate(m.model.stores)}
    return Parts(m, engines_of(m), loads, stores, {w.stage: computing_of(m, w) for w in m.model.work})


@dataclass(frozen=True)
class Walked:
    """Over candidates: cycles from the start of a call to its end, and for how many of them the compute engine, the
    busiest mover, the busiest port and the fullest bank have worked."""

    cycles: Floats
    compute: Floats
    movers: Floats
    port: Floats
    memory: Floats


def rounds(m: Measures) -> Ints:
    """[candidates, 2]: the rounds walked of the blocked loop, and of the turns; equal ones are walked together."""
    loop, once = m.model.loop, np.ones(m.candidates.count, dtype=np.int64)
    trips = once if loop is None else m.model.coordinates[loop].trips // m.candidates.factors[:, loop]
    return np.minimum(np.column_stack((trips, m.turns)), ROUNDS)


def walk(parts: Parts) -> Walked:
    """The time of a call, of candidates of equal rounds."""
    walker = _Walker(parts)
    walker.call()
    computing, moving = _computing(parts.m.target), _moving(parts.m.target)
    return Walked(
        np.maximum(walker.engine.max(axis=0), walker.landed[0]),
        walker.working[computing].max(axis=0),
        walker.working[moving].max(axis=0),
        walker.received.max(axis=0),
        walker.served[0],
    )


def _moving(target: Target) -> list[int]:
    """The engines that carry loads or stores."""
    return [n for n, e in enumerate(target.engines) if {"load", "store"} & set(e.kinds)]


def _computing(target: Target) -> list[int]:
    """The other engines."""
    return [n for n in range(len(target.engines)) if n not in _moving(target)]


def _networks(target: Target) -> list[int]:
    """Of each engine, the network it moves pages on."""
    return [max(e.network, 0) for e in target.engines]


class _Walker:
    """The clocks of one site, a row each, over candidates; and counts of what has worked."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.m, self.target, self.model = parts, parts.m, parts.m.target, parts.m.model
        self.count = self.m.candidates.count
        self.columns = np.arange(self.count)
        self.number = {s.queue: n for n, s in enumerate(self.model.streams)}
        self.single: Truth = np.asarray(self.m.candidates.buffers == 1, dtype=np.bool_)
        self.together = self.m.together
        self.networks = np.array(_networks(self.target))
        self.engines = {n: self._alike(x) for n, x in parts.engines.items()}
        self.ports_of = {n: self._alike(self.networks[x]) for n, x in parts.engines.items()}
        engines, ports, streams = len(self.target.engines), int(self.networks.max()) + 1, len(self.model.streams)
        self.pace = _computing(self.target) if parts.works else list(range(engines))
        moves = len(parts.loads) + len(parts.stores)
        sizes = [engines, engines, ports, streams, streams, streams, moves, moves, moves, 1]
        # One array, so that a jump over many rounds moves all clocks at once.
        self.clocks = np.zeros((sum(sizes), self.count))
        views: list[Floats] = np.split(self.clocks, np.cumsum(sizes)[:-1])
        self.engine, self.packer, self.ports, self.there, self.free, self.before = views[:6]
        self.bank, self.asked, self.evened, self.landed = views[6:]
        # `unhindered`: what an engine takes without its waits for others' room or pages.
        sizes = [engines, ports, engines, 1]
        self.counts = np.zeros((sum(sizes), self.count))
        counted: list[Floats] = np.split(self.counts, np.cumsum(sizes)[:-1])
        self.working, self.received, self.unhindered, self.served = counted
        self.alone = slice(engines + ports, 2 * engines + ports)

    def _alike(self, rows: Ints) -> tuple[int | Ints, ...]:
        """An index to one row of every column; plain where it is the same row in all, for that is fast."""
        first = int(rows[0])
        return (first,) if (rows == first).all() else (rows, self.columns)

    # ------------------------------------------------------------ loops

    def call(self) -> None:
        """What is loaded once, then the turns."""
        for name, load in self.parts.loads.items():
            if load.stays.any():
                self._load(load, self.model.body.stage(name), load.stays)
        order = turn_of(self.model.body.stages)
        self._rounds(self.m.turns, lambda first, last: self._nodes(order, {-1: (first, last)}, 0))

    def _nodes(self, nodes: Sequence[Loop | Step], ends: Ends, depth: int) -> None:
        """The nodes of one iteration at `depth`."""
        for node in nodes:
            match node:
                case Step():
                    self._step(self.model.body.stage(node.stage), ends)
                case Loop():
                    self._rounds(self._trips(node, depth), self._inside(node.body, ends, depth))

    def _inside(self, nodes: Sequence[Loop | Step], ends: Ends, depth: int) -> Callable[[bool, bool], None]:
        return lambda first, last: self._nodes(nodes, {**ends, depth: (first, last)}, depth + 1)

    def _trips(self, node: Loop, depth: int) -> Ints:
        """Rounds of a loop inside an iteration at `depth`."""
        trips, loop = np.full(self.count, node.count, dtype=np.int64), self.model.loop
        if loop is None or self.model.coordinates[loop].name != f"l{depth + 1}":
            return trips
        return trips // self.m.candidates.factors[:, loop]

    def _rounds(self, trips: Ints, run: Callable[[bool, bool], None]) -> None:
        """Walk the first rounds of a loop and its last, and jump over those between."""
        walked = int(min(trips.min(), ROUNDS))
        done: list[tuple[Floats, Floats]] = []
        for n in range(walked):
            if n == ROUNDS - 1:
                # Movers run ahead at first: a round takes as long as computing it, and no less than each mover alone.
                (was, counted), (now, counts) = done[-3], done[-1]
                apart = (counts - counted) / 2
                period = np.maximum((now - was) / 2, (counts - done[-2][1])[self.alone].max(axis=0))
                self.clocks += (trips - ROUNDS) * period
                self.counts += (trips - ROUNDS) * apart
            run(n == 0, n == walked - 1)
            if walked == ROUNDS:
                done.append((self.engine[self.pace].max(axis=0), self.counts.copy()))

    # ------------------------------------------------------------ steps

    def _step(self, stage: Stage, ends: Ends) -> None:
        """One step of a stage: the iterations that begin with it, and those that end."""
        if stage.name in self.parts.loads:
            load = self.parts.loads[stage.name]
            if not load.stays.all():
                self._load(load, stage, ~load.stays if load.stays.any() else None)
        elif stage.name in self.parts.stores:
            self._store(self.parts.stores[stage.name], stage)
        else:
            deepest = grain(stage)
            begin, end = deepest, deepest
            while begin > -1 and ends[begin - 1][0]:
                begin -= 1
            while end > -1 and ends[end - 1][1]:
                end -= 1
            self._compute(stage, begin, end, deepest)

    def _load(self, load: Reading, stage: Stage, where: Truth | None) -> None:
        """Issue the reads of a batch; where they are multicast, wait for them and send them on. `where`: the
        candidates that do, all where None."""
        n, step = load.moved.stream, self.target.step_cycles
        times = load.times if where is load.stays else 1
        engine, network = self.engines[stage.name], self.ports_of[stage.name]
        began = self.engine[engine]
        ready = began + step
        for port in stage.ins:
            ready = np.maximum(ready, self.there[self.number[port.queue]])
        room = np.zeros(self.count) if where is load.stays else self._room(n)
        start = np.maximum(ready, np.where(load.cast, 0.0, room))
        issued = start + times * load.issue
        wait, batch = self._others(load.row, start, issued) + self._between(load, start), times * load.round
        self.served[0] += _or(where, times * load.even, 0.0)
        bank = np.maximum(self.bank[load.row], start) + batch
        served = np.maximum(np.maximum(bank, wait + batch), np.maximum(self.served[0], issued + load.serve))
        into = np.maximum(self.ports[network], np.where(load.cast, 0.0, start)) + times * load.transfer
        there = served + self.target.memory.latency
        ends, busy, received, hindered = issued, times * load.issue + step, times * load.transfer, start - ready
        if load.cast.any():
            may = np.maximum(issued + step, np.maximum(there, start + received))
            begin = np.maximum(may, room + load.way)
            sending = times * load.send
            sent = begin + sending
            arriving = np.maximum(self.ports[network], begin) + sending
            hindered = hindered + np.where(load.cast, begin - may, 0.0)
            into, ends = np.where(load.cast, arriving, into), np.where(load.cast, sent, ends)
            there = np.where(load.cast, np.maximum(sent, arriving) + load.way, np.maximum(there, into))
            busy, received = busy + np.where(load.cast, sending + step, 0.0), np.where(load.cast, sending, received)
        else:
            there = np.maximum(there, into)
        for port in stage.ins:
            self._release(port.queue, issued, where)
        evened = np.maximum(self.evened[load.row], start) + times * load.even
        self.bank[load.row] = _or(where, bank, self.bank[load.row])
        self.evened[load.row] = _or(where, evened, self.evened[load.row])
        self.asked[load.row] = _or(where, start, self.asked[load.row])
        self.there[n] = _or(where, np.maximum(there, self.there[n]), self.there[n])
        self.ports[network] = _or(where, into, self.ports[network])
        self.unhindered[engine] += _or(where, ends - began - hindered, 0.0)
        self.engine[engine] = _or(where, ends, began)
        self.received[network] += _or(where, received, 0.0)
        self.working[engine] += _or(where, busy, 0.0)

    def _between(self, load: Reading, start: Floats) -> Floats:
        """What a site with one batch at a time waits for the others of its load: they come at any time of its period,
        so it meets them with the odds of their part of it, and in the middle of it; at first they come together."""
        if not self.single.any() or self.together.all():
            return np.zeros(self.count)
        period = np.maximum(start - self.asked[load.row], 1.0)
        met = np.where(self.asked[load.row] > 0, load.even / (2.0 * period), 1.0)
        return np.minimum(met * load.even, np.maximum(load.even - load.round, 0.0))

    def _others(self, row: int, start: Floats, last: Floats) -> Floats:
        """When the banks have served what other loads and stores have asked for before the `last` access of a batch
        that begins at `start`, where sites stay together: their batches so far, and the one that they read ahead,
        which comes later in the order and earlier in time."""
        free = start
        if not self.together.any():
            return free
        for load in self.parts.loads.values():
            if load.row == row:
                continue
            clock = self.evened[load.row]
            free = np.where(self.asked[load.row] - load.issue < last, np.maximum(free, clock), free)
            if load.row > row:
                known = self._room(load.moved.stream)
                part = np.clip((last - known) / load.issue, 0.0, 1.0) * (~load.cast & ~load.stays)
                free = np.where(part > 0, np.maximum(free, np.maximum(clock, known) + part * load.even), free)
        for store in self.parts.stores.values():
            if store.row != row:
                asked = self.asked[store.row] <= start
                free = np.where(asked, np.maximum(free, self.evened[store.row]), free)
        return np.where(self.together, free, start)

    def _store(self, store: Writing, stage: Stage) -> None:
        """Write a batch: the mover is kept by every run; it lands when the banks have served all sites'."""
        engine = self.engines[stage.name]
        start = self.engine[engine] + self.target.step_cycles
        for port in stage.ins:
            start = np.maximum(start, self.there[self.number[port.queue]])
        ends = start + store.send
        others = self._others(store.row, start + store.first, ends)
        bank = np.maximum(np.maximum(self.bank[store.row], others) + store.round, ends + store.serve)
        self.served[0] += store.round
        self.evened[store.row] = np.maximum(self.evened[store.row], start + store.first) + store.round
        self.bank[store.row], self.asked[store.row] = bank, start
        self.landed[0] = np.maximum(self.landed[0], bank + self.target.network.message)
        for port in stage.ins:
            self._release(port.queue, ends, None)
        self.engine[engine] = ends
        self.working[engine] += store.send + self.target.step_cycles
        self.unhindered[engine] += store.send + self.target.step_cycles

    def _compute(self, stage: Stage, begin: int, end: int, deepest: int) -> None:
        """Begin the iterations from depth `begin` down to the deepest, then end those up to `end`."""
        does, engine = self.parts.works[stage.name], self.engines[stage.name]
        time, packer, busy = self.engine[engine], self.packer[engine], 0.0
        for depth in range(begin, deepest + 1):
            if depth in does.step:
                time, busy = time + does.step[depth], busy + does.step[depth]
            for port in stage.ins:
                if port.depth == depth:
                    time = np.maximum(time, self.there[self.number[port.queue]])
        for depth in range(deepest, end - 1, -1):
            if depth in does.update:
                time, busy = time + does.update[depth], busy + does.update[depth]
            for made in does.made.get(depth, ()):
                time = np.maximum(time, self._room(made.stream))
                first = np.maximum(time + made.evaluate, packer)
                done = first + (made.pages - 1) * np.maximum(made.evaluate, made.pack)
                busy, time, packer = busy + (done - time), done, done + made.pack
                self.there[made.stream] = packer
            for port in stage.ins:
                if port.depth == depth:
                    self._release(port.queue, time, None)
        self.packer[engine] = packer
        self.engine[engine] = time
        self.working[engine] += busy

    def _room(self, stream: int) -> Floats:
        """When the next batch of a stream has room: its queue holds one or two."""
        return np.asarray(np.where(self.single, self.free[stream], self.before[stream]), dtype=np.float64)

    def _release(self, queue: str, time: Floats, where: Truth | None) -> None:
        """The slots of a batch are free from `time` on."""
        n = self.number[queue]
        self.before[n] = _or(where, self.free[n], self.before[n])
        self.free[n] = _or(where, time, self.free[n])


def _or(where: Truth | None, value: Floats, other: Floats | float) -> Floats:
    """`value` where `where`, which is everywhere if None, and `other` elsewhere."""
    return value if where is None else np.where(where, value, other)
