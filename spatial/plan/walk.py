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

import numpy as np

from spatial.ir.body import Loop, Stage, Step
from spatial.plan.candidates import Ints, Truth
from spatial.plan.engines import sender_of
from spatial.plan.measures import Floats, Measures
from spatial.plan.movers import Reading, Writing
from spatial.plan.turn import grain, turn_of
from spatial.plan.work import Parts, computing, networks
from spatial.target import Target

ROUNDS = 5
"""Rounds of a loop that are walked: enough that queues of two batches fill, and what repeats every second round is
seen."""

Ends = Mapping[int, tuple[bool, bool]]
"""By depth, whether the iteration there is the first and whether it is the last of its loop."""


def kinds(m: Measures) -> Ints:
    """Of each candidate its kind, 0 to 3: whether there are several rounds of the blocked loop; and several turns, if a
    stage takes or makes something once a call, with the first turn or the last. Those of one kind are walked together.
    """
    loop, once = m.model.loop, np.zeros(m.candidates.count, dtype=np.int64)
    looped = once if loop is None else m.model.coordinates[loop].trips > m.candidates.factors[:, loop]
    called = any(port.depth < 0 for stage in m.model.body.stages for port in (*stage.ins, *stage.outs))
    return 2 * looped + (called & (m.turns > 1))


def walk(parts: Parts) -> Floats:
    """Cycles from the start of a call to its end, of candidates of one kind."""
    walker = _Walker(parts)
    walker.call()
    return np.maximum(walker.every.max(axis=0), walker.landed[0])


class _Batch:
    """What a load reads at once: all its batches where it stays, else one. `where`: the candidates that do, all where
    None."""

    def __init__(self, load: Reading, where: Truth, times: Ints | int, target: Target) -> None:
        self.load, self.once, self.where = load, not isinstance(times, int), None if where.all() else where
        # Where the same mover sends the pages on, and where another does.
        self.joint, self.split = load.cast & ~load.apart, load.cast & load.apart
        self.cast, self.apart = bool((self.joint & where).any()), bool((self.split & where).any())
        self.issue, self.round, self.even = times * load.issue, times * load.round, times * load.even
        self.transfer, self.send, self.receive = times * load.transfer, times * load.send, times * load.receive
        self.served = np.where(where, self.even, 0.0)
        # What it keeps its mover for, nothing waited for but its own pages.
        there = np.maximum(self.issue + load.serve, self.round) + target.memory.latency
        casts = np.maximum(np.maximum(self.issue + target.step_cycles, there), self.transfer) + self.send
        self.alone = np.where(where, target.step_cycles + np.where(self.joint, casts, self.issue), 0.0)
        self.sending = np.where(where & self.split, target.step_cycles + self.send, 0.0)


class _Walker:
    """The clocks of one site, a row each, over candidates; and counts of what has worked."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.m, self.target, self.model = parts, parts.m, parts.m.target, parts.m.model
        self.count = self.m.candidates.count
        self.stages = {s.name: s for s in self.model.body.stages}
        self.number = {s.queue: n for n, s in enumerate(self.model.streams)}
        self.single: Truth = np.asarray(self.m.candidates.buffers == 1, dtype=np.bool_)
        self.lone = bool(self.single.all())
        self.together = self.m.together
        self.networks = np.array(networks(self.target))
        self.held = {n: _Batch(x, x.stays, x.times, self.target) for n, x in parts.loads.items() if x.stays.any()}
        self.turned = {n: _Batch(x, ~x.stays, 1, self.target) for n, x in parts.loads.items() if not x.stays.all()}
        self.engines = {n: self._alike(x) for n, x in parts.engines.items()}
        self.ports_of = {n: self._alike(self.networks[x]) for n, x in parts.engines.items()}
        engines, ports, streams = len(self.target.engines), int(self.networks.max()) + 1, len(self.model.streams)
        self.pace = computing(self.target) if parts.works else list(range(engines))
        moves = len(parts.loads) + len(parts.stores)
        sends = len(parts.loads) if self.m.beside.any() else 0
        sizes = [engines, engines, ports, streams, streams, streams, moves, moves, moves, sends, sends, sends, 1]
        # Whether anything has to be said of sites that wait for each other.
        self.waiting = bool(self.together.any())
        # One array, so that a jump over many rounds moves all clocks at once.
        self.clocks = np.zeros((sum(sizes), self.count))
        views: list[Floats] = np.split(self.clocks, np.cumsum(sizes)[:-1])
        self.every = views[0]
        # Of engines and ports all rows in one: which one it is may differ from candidate to candidate (`_alike`).
        self.engine, self.packer, self.ports = (view.reshape(-1) for view in views[:3])
        self.there, self.free, self.room = views[3:6]
        self.bank, self.asked, self.evened, self.staged, self.emptied, self.space, self.landed = views[6:]
        # Of all loads: cycles of issuing a batch and of serving all sites', and what a site alone is spared of these;
        # whether they read ahead, what they fill.
        reads = list(parts.loads.values())
        none = np.zeros((0, self.count))
        self.issues = np.array([np.maximum(x.issue, 1.0) for x in reads]) if reads else none
        self.evens = np.array([x.even for x in reads]) if reads else none
        self.lacks = np.array([np.maximum(x.even - x.round, 0.0) for x in reads]) if reads else none
        self.ahead = np.array([(~x.cast | x.apart) & ~x.stays for x in reads]) if reads else none
        self.filled = np.array([x.moved.stream for x in reads], dtype=np.int64)
        self.sent: Truth = np.array([x.cast & x.apart for x in reads], dtype=np.bool_)
        # What each engine takes without its waits for others' room or pages; and what the banks have served.
        self.counts = np.zeros((engines + 1, self.count))
        self.alone, self.served = self.counts[:-1].reshape(-1), self.counts[-1:]

    def _alike(self, rows: Ints) -> slice | Ints:
        """Where, in all rows in one, the row of each column is; plain where it is the same in all, for that is fast."""
        first = int(rows[0]) * self.count
        return (
            slice(first, first + self.count) if (rows == rows[0]).all() else rows * self.count + np.arange(self.count)
        )

    # ------------------------------------------------------------ loops

    def call(self) -> None:
        """What is loaded once, then the turns."""
        for name, load in self.held.items():
            self._load(load, self.stages[name])
        order = turn_of(self.model.body.stages)
        self._rounds(self.m.turns, lambda first, last: self._nodes(order, {-1: (first, last)}, 0))

    def _nodes(self, nodes: Sequence[Loop | Step], ends: Ends, depth: int) -> None:
        """The nodes of one iteration at `depth`."""
        for node in nodes:
            match node:
                case Step():
                    self._step(self.stages[node.stage], ends)
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
        """Walk the first rounds of a loop and its last, and jump over those between. Of fewer rounds those before the
        last are left out; of one turn among several all but the last."""
        walked = int(min(trips.max(), ROUNDS))
        done: list[tuple[Floats, Floats]] = []
        for n in range(walked):
            if n == ROUNDS - 1:
                # Movers run ahead at first: a round takes as long as computing it, and no less than each mover alone.
                (was, counted), (now, counts) = done[-3], done[-1]
                apart = (counts - counted) / 2
                period = np.maximum((now - was) / 2, (counts - done[-2][1])[:-1].max(axis=0))
                between = np.maximum(trips - ROUNDS, 0)
                self.clocks += between * period
                self.counts += between * apart
            idle = (n > trips - 2) & (n < walked - 1)
            before = (self.clocks.copy(), self.counts.copy()) if idle.any() else None
            run(n == 0, n == walked - 1)
            if before is not None:
                np.copyto(self.clocks, before[0], where=idle)
                np.copyto(self.counts, before[1], where=idle)
            if walked == ROUNDS:
                done.append((np.maximum.reduce(self.every[self.pace], axis=0), self.counts.copy()))

    # ------------------------------------------------------------ steps

    def _step(self, stage: Stage, ends: Ends) -> None:
        """One step of a stage: the iterations that begin with it, and those that end."""
        if stage.name in self.turned:
            self._load(self.turned[stage.name], stage)
        elif stage.name in self.held:
            return
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

    def _load(self, batch: _Batch, stage: Stage) -> None:
        """Issue the reads of a batch; where they are multicast, wait for them and send them on."""
        load, where, step = batch.load, batch.where, self.target.step_cycles
        row, n = load.row, load.moved.stream
        engine, network = self.engines[stage.name], self.ports_of[stage.name]
        began, port, room = self.engine[engine], self.ports[network], self.room[n]
        space = _or(batch.split, self.space[row], room) if batch.apart else room
        ready = began + step
        for taken in stage.ins:
            ready = np.maximum(ready, self.there[self.number[taken.queue]])
        # Pages that are held are the first in their queue; what is multicast waits for room when it is sent.
        start = ready if batch.once else np.maximum(ready, np.where(batch.joint, 0.0, space) if batch.cast else space)
        issued = start + batch.issue
        self.served[0] += batch.served
        bank = np.maximum(self.bank[row], start) + batch.round
        there = np.maximum(bank, np.maximum(self.served[0], issued + load.serve))
        there = np.maximum(there, self._waits(load, start, issued) + batch.round)
        there = there + self.target.memory.latency
        if batch.cast:
            may = np.maximum(issued + step, np.maximum(there, start + batch.transfer))
            begin = may if batch.once else np.maximum(may, room + load.way)
            sent = begin + batch.send
            arriving = np.maximum(port + batch.receive, sent)
            into = np.where(batch.joint, arriving, np.maximum(port, start) + batch.transfer)
            ends = np.where(batch.joint, sent, issued)
            there = np.where(batch.joint, arriving + load.way, np.maximum(there, into))
        else:
            into = np.maximum(port, start) + batch.transfer
            ends, there = issued, np.maximum(there, into)
        for taken in stage.ins:
            self._release(taken.queue, issued, where)
        evened = np.maximum(self.evened[row], start) + batch.even
        self.alone[engine] += batch.alone
        self.bank[row] = _or(where, bank, self.bank[row])
        self.evened[row] = _or(where, evened, self.evened[row])
        self.asked[row] = _or(where, start, self.asked[row])
        self.ports[network] = _or(where, into, port)
        self.engine[engine] = _or(where, ends, began)
        if batch.apart:
            there = np.where(batch.split, self._send(batch, there, room), there)
        self.there[n] = _or(where, np.maximum(there, self.there[n]), self.there[n])

    def _send(self, batch: _Batch, there: Floats, room: Floats) -> Floats:
        """Send a batch that another mover has read, when it is there and has room; gives when it is everywhere."""
        load, row, sender = batch.load, batch.load.row, sender_of(self.m, batch.load.moved)
        engine, network = self.engines[sender], self.ports_of[sender]
        where = batch.split if batch.where is None else batch.split & batch.where
        staged = np.maximum(there, self.staged[row])
        ready = np.maximum(self.engine[engine] + self.target.step_cycles, staged)
        sent = (ready if batch.once else np.maximum(ready, room + load.way)) + batch.send
        arriving = np.maximum(self.ports[network] + batch.receive, sent)
        space = sent if self.lone else np.where(self.single, sent, self.emptied[row])
        self.staged[row] = np.where(where, staged, self.staged[row])
        self.space[row] = np.where(where, space, self.space[row])
        self.emptied[row] = np.where(where, sent, self.emptied[row])
        self.ports[network] = np.where(where, arriving, self.ports[network])
        self.engine[engine] = np.where(where, sent, self.engine[engine])
        self.alone[engine] += batch.sending
        return arriving + load.way

    def _waits(self, load: Reading, start: Floats, issued: Floats) -> Floats:
        """When the banks turn to a batch: what other loads and stores have asked for before is served, or other
        sites' batches of this one."""
        free = self._others(load.row, start, issued) if self.waiting else start
        return self._between(load, start, issued, free)

    def _between(self, load: Reading, start: Floats, issued: Floats, free: Floats) -> Floats:
        """When the banks, free of other loads at `free`, turn to the batch of a site with one batch at a time. The
        others come at any time of its period, so it meets them with the odds of their part of it, and in the middle of
        it; at first they come together.

        Where sites begin together, and each asks for the last page of a round later than the banks take to serve the
        last load to all, that load stands behind what all sites have asked for before: all end the round together
        again, and stay in step."""
        row, lacks = load.row, self.lacks[load.row]
        drift = free
        if lacks.any():
            asked = self.asked[row]
            met = np.where(asked > 0, load.even / (2.0 * np.maximum(start - asked, 1.0)), 1.0)
            drift = free + np.minimum(met * load.even, lacks)
        if not row:
            return drift
        last = issued - self.asked[:row] >= load.even
        behind = np.maximum.reduce(np.where(last, self.evened[:row], 0.0), axis=0)
        return np.where(behind > start, np.maximum(drift, behind + lacks), drift)

    def _others(self, row: int, start: Floats, last: Floats) -> Floats:
        """When the banks have served what other loads and stores have asked for before the `last` access of a batch
        that begins at `start`, where sites stay together: their batches so far, as much of the last of them as was
        asked for before; and the one that they read ahead, which comes later in the order and earlier in time."""
        free, loads = start, len(self.issues)
        if loads > 1 or row >= loads:
            before = _part(last - self.asked[:loads], self.issues)
            served = np.where(before > 0, self.evened[:loads] - (1.0 - before) * self.evens, 0.0)
            if row < loads:
                served[row] = 0.0
            free = np.maximum(free, np.maximum.reduce(served, axis=0))
        if self.ahead[row + 1 :].any():
            later = slice(row + 1, loads)
            known = self.room[self.filled[later]]
            if len(self.space):
                known = np.where(self.sent[later], self.space[later], known)
            part = _part(last - known, self.issues[later]) * self.ahead[later]
            served = np.maximum(self.evened[later], known) + part * self.evens[later]
            free = np.maximum(free, np.maximum.reduce(np.where(part > 0, served, 0.0), axis=0))
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
        first = start + store.first
        others = self._others(store.row, first, ends) if self.waiting else first
        bank = np.maximum(np.maximum(self.bank[store.row], others) + store.round, ends + store.serve)
        self.served[0] += store.round
        self.evened[store.row] = np.maximum(self.evened[store.row], first) + store.round
        self.bank[store.row], self.asked[store.row] = bank, start
        self.landed[0] = np.maximum(self.landed[0], bank + self.target.network.message)
        for port in stage.ins:
            self._release(port.queue, ends, None)
        self.engine[engine] = ends
        self.alone[engine] += store.send + self.target.step_cycles

    def _compute(self, stage: Stage, begin: int, end: int, deepest: int) -> None:
        """Begin the iterations from depth `begin` down to the deepest, then end those up to `end`."""
        does, engine = self.parts.works[stage.name], self.engines[stage.name]
        time, packer = self.engine[engine], self.packer[engine]
        for depth in range(begin, deepest + 1):
            if depth in does.step:
                time = time + does.step[depth]
            for port in stage.ins:
                if port.depth == depth:
                    time = np.maximum(time, self.there[self.number[port.queue]])
        for depth in range(deepest, end - 1, -1):
            if depth in does.update:
                time = time + does.update[depth]
            for made in does.made.get(depth, ()):
                time = np.maximum(time, self.room[made.stream])
                first = np.maximum(time + made.evaluate, packer)
                time = first + (made.pages - 1) * np.maximum(made.evaluate, made.pack)
                packer = time + made.pack
                self.there[made.stream] = packer
            for port in stage.ins:
                if port.depth == depth:
                    self._release(port.queue, time, None)
        self.packer[engine] = packer
        self.engine[engine] = time

    def _release(self, queue: str, time: Floats, where: Truth | None) -> None:
        """The slots of a batch are free from `time` on: the next has room then, or when the one before was free."""
        n = self.number[queue]
        room = time if self.lone else np.where(self.single, time, self.free[n])
        self.room[n] = _or(where, room, self.room[n])
        self.free[n] = _or(where, time, self.free[n])


def _part(time: Floats, whole: Floats) -> Floats:
    """The part of `whole` that `time` is, up to all of it; none where it is not above 0."""
    return np.minimum(time / whole, 1.0)


def _or(where: Truth | None, value: Floats, other: Floats | float) -> Floats:
    """`value` where `where`, which is everywhere if None, and `other` elsewhere."""
    return value if where is None else np.where(where, value, other)
