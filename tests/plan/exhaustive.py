"""The best plan of a template by pricing every one, a candidate at a time, on clocks of plain numbers.

What `spatial.plan` does over arrays, with bounds and in groups, is done here without any: see `one_plan`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import prod

from plan.one_plan import Computed, One, Read, Written, space

from spatial.ir.body import Loop, Stage, Step
from spatial.plan.figures import sending_cycles
from spatial.plan.knobs import ANY, Knobs
from spatial.plan.model import Model
from spatial.plan.turn import turn_of
from spatial.target import Target

WALKED = 5
Ends = Mapping[int, tuple[bool, bool]]


def winner(model: Model, target: Target, want: Knobs = ANY) -> tuple[One, float, int]:
    """The best candidate with the knobs `want`, its cycles, and how many there were."""
    found = [Priced(one) for one in space(model, target, want)]
    best = min(found, key=lambda x: x.order())
    return best.one, best.cycles, len(found)


def band(cycles: float) -> int:
    """How many steps of 2 % from one cycle on are no longer than `cycles`."""
    edge, n = 1.02, 0
    while edge <= cycles:
        edge, n = edge * 1.02, n + 1
    return n


class Priced:
    """The price of a candidate."""

    def __init__(self, one: One) -> None:
        self.one, self.model, self.target = one, one.model, one.target
        self.loads = {x.stage: Read(one, x) for x in self.model.loads}
        self.stores = {x.stage: Written(one, x) for x in self.model.stores}
        self.works = {x.stage: Computed(one, x) for x in self.model.work}
        self.engines = engines(one, self.loads, self.stores)
        self.cycles = max(Walk(self).call(), self.least()) + self.target.section_cycles

    def order(self) -> tuple[float, ...]:
        """What it is compared by."""
        one, second = self.one, sorted(self.paths())[-2]
        own = (*one.factors, *one.along, *one.rect, -one.multicast, -one.resident, -one.buffers, -one.beside)
        return band(self.cycles), band(second), self.traffic(), one.scratch(), one.sites, self.cycles, *own

    def traffic(self) -> int:
        total, unit, one = 0, self.target.memory.align, self.one
        for moved in (*self.model.loads, *self.model.stores):
            stream = self.model.streams[moved.stream]
            times = one.items
            if moved.stage in self.loads and (one.cast(moved) or one.stays(moved)):
                times = one.readers(moved) * (1 if one.stays(moved) else one.turns)
            total += one.pages(stream) * one.fires(stream) * times * moved.runs * -(-moved.run_bytes // unit) * unit
        return total

    # ------------------------------------------------------------ work

    def trips(self, stage: Stage, depth: int) -> int:
        loop = self.model.loop
        name = "" if loop is None else self.model.coordinates[loop].name
        counts = (n // self.one.factors[loop] if f"l{k + 1}" == name else n for k, n in enumerate(stage.loops))
        return prod(list(counts)[: max(depth, 0)])

    def computing(self, work: str) -> float:
        stage, does = self.model.body.stage(work), self.works[work]
        return sum(
            (does.step.get(d, 0.0) + does.ends(d)) * self.trips(stage, d) * (self.one.turns if d >= 0 else 1)
            for d in {*does.step, *does.update, *does.made}
        )

    def together(self, cycles: Mapping[str, float], of: Callable[[int], int]) -> float:
        """The most that stages of one engine have, or of one of what `of` names for engines."""
        total: defaultdict[int, float] = defaultdict(float)
        for stage, each in cycles.items():
            total[of(self.engines[stage])] += each
        return max(total.values(), default=0.0)

    def port(self) -> float:
        taken = {n: x.times * x.steps * (x.receive if x.joint else x.transfer) for n, x in self.loads.items()}
        taken |= {f"send {n}": x.times * x.steps * x.receive for n, x in self.loads.items() if x.split}
        return self.together(taken, self.network)

    def network(self, engine: int) -> int:
        return max(self.target.engines[engine].network, 0)

    def memory(self) -> float:
        stored = sum(x.steps * x.round for x in self.stores.values())
        return sum(x.times * x.steps * x.even for x in self.loads.values()) + stored

    def paths(self) -> list[float]:
        step = self.target.step_cycles
        moves = {n: x.steps * (step + x.send) for n, x in self.stores.items()}
        for n, x in self.loads.items():
            moves[n] = x.steps * (step + x.times * x.issue + (step + x.times * x.send if x.joint else 0.0))
            moves[f"send {n}"] = x.steps * (step + x.times * x.send) if x.split else 0.0
        works = {w: self.computing(w) for w in self.works}
        return [self.together(works, int), self.together(moves, int), self.port(), self.memory()]

    # ------------------------------------------------------------ the least it takes

    def least(self) -> float:
        """Cycles without those of the section that it takes by its longest path or its longest circle of waits."""
        step, latency, body = self.target.step_cycles, self.target.memory.latency, self.model.body
        works = sum(self.computing(w) for w in self.works)
        movers = {n: x.steps * (step + x.send) for n, x in self.stores.items()}
        fed, after, first = 0.0, float("inf"), float("inf")
        for n, x in self.loads.items():
            sent = x.times * x.send if x.cast else 0.0
            alone = max(x.times * x.issue + x.serve, x.times * x.round) + latency
            kept = self.kept(self.model.streams[x.stream].queue)
            rounds = -(-x.steps // self.one.buffers) - 1
            if x.cast:
                mover = alone + rounds * (alone + sent) + sent if x.split else x.steps * (alone + sent + step)
                circle = max(mover, alone + sent + rounds * (sent + 2 * x.way + kept)) + x.way
            else:
                circle = alone if x.stays else alone + rounds * (alone + kept)
            fed, after, first = max(fed, circle + kept), min(after, sent + kept), min(first, step + alone + sent)
            waits = max(x.times * x.issue + step, alone) + sent if x.joint else x.times * x.issue
            movers[n] = x.steps * (step + waits)
            movers[f"send {n}"] = x.steps * (step + sent) if x.split else 0.0
        memory, last = self.memory() + latency, 0.0
        for x in self.stores.values():
            again = any(not y.stays for y in self.loads.values())
            memory -= x.round * (x.steps // self.one.turns if again else x.steps)
            packed = self.model.streams[x.stream].page_bytes / self.target.pack
            last = max(last, packed + max(x.send + x.serve, x.round) + self.target.network.message)
        moved = max(self.together(movers, int), self.port())
        if not self.works or not self.loads:
            return max(works, memory, moved)
        made = {p.queue for s in body.stages for p in s.outs}
        depths = [max((p.depth for p in (*s.ins, *s.outs)), default=0) for s in map(body.stage, self.works)]
        fill = max(first - sum(d + 2 for d in depths) * step, 0.0)
        if not all(any(p.queue in made for p in body.stage(w).ins) for w in self.works):
            fill = 0.0
        return max(max(memory + after, fed, fill + works) + last, moved, self.turning())

    def turning(self) -> float:
        """Where a mover has a load and a store: it reads for a turn, what hangs on that is computed, it stores."""
        step, longest = self.target.step_cycles, 0.0
        for name, load in self.loads.items():
            hanging, more = set[str](), {name}
            while more:
                hanging |= more
                made = {p.queue for s in self.model.body.stages if s.name in more for p in s.outs}
                more = {s.name for s in self.model.body.stages if {p.queue for p in s.ins} & made} - hanging
            works = hanging & set(self.works)
            if load.stays or not works:
                continue
            alone = max(load.times * load.issue + load.serve, load.times * load.round) + self.target.memory.latency
            computed = 0.0
            for work in works:
                stage = self.model.body.stage(work)
                begun = (max((p.depth for p in (*stage.ins, *stage.outs)), default=0) + 2) * step * self.one.turns
                computed += max(self.computing(work) - begun, 0.0)
            for stored, store in self.stores.items():
                if self.engines[name] == self.engines[stored] and stored in hanging:
                    packed = self.model.streams[store.stream].page_bytes / self.target.pack
                    there = step + alone + (load.send + load.way if load.cast else 0.0)
                    behind = max(store.round - store.send, 0.0) if self.one.together else 0.0
                    turns = self.one.turns * (there + packed + store.send) + (self.one.turns - 1) * behind
                    longest = max(longest, turns + computed)
        return longest

    def kept(self, queue: str) -> float:
        """Cycles from when a batch is there to the end of the iteration that takes it."""
        total = 0.0
        for work, does in self.works.items():
            stage = self.model.body.stage(work)
            for port in stage.ins:
                for depth in {*does.update, *does.made} if port.queue == queue else ():
                    if depth >= max(port.depth, 0):
                        total += does.ends(depth) * self.trips(stage, depth) / self.trips(stage, port.depth)
        return total


def engines(one: One, loads: Mapping[str, Read], stores: Mapping[str, Written]) -> dict[str, int]:
    """Of every stage its engine: loads first, what keeps a mover longest to the one that is kept least."""
    target, step = one.target, one.target.step_cycles
    names = [e.name for e in target.engines]
    carried, out = [0.0] * len(names), dict[str, int]()
    reader = names.index(target.engine_of("load")[0])
    sender = next((names.index(e) for e in target.engine_of("scatter") if names.index(e) != reader), reader)
    for load in one.model.loads if one.beside else ():
        x, sent = loads[load.stage], one.pages(one.model.streams[load.stream]) * max(one.members(load), 1)
        each = step + sent * sending_cycles(target, one.model.streams[load.stream].page_bytes)
        carried[sender] += each * x.times * x.steps if x.cast else 0.0
    for kind, moves in (("load", one.model.loads), ("store", one.model.stores)):
        kept: dict[str, float] = {}
        for moved in moves:
            stream = one.model.streams[moved.stream]
            pages, times = one.pages(stream), one.fires(stream) * one.turns
            each = step + pages * moved.runs * sending_cycles(target, moved.run_bytes)
            if kind == "load":
                times = loads[moved.stage].times * loads[moved.stage].steps
                each = step + pages * max(one.members(moved), 1) * moved.runs * target.network.issue
                if loads[moved.stage].joint:
                    each += step + target.memory.latency + pages * sending_cycles(target, stream.page_bytes)
            kept[moved.stage] = each * times
        for stage in sorted(kept, key=lambda n: -kept[n]):
            allowed = [names.index(e) for e in target.engine_of(kind)]
            out[stage] = min(sorted(allowed), key=lambda e: carried[e])
            if one.beside and kind == "load":
                out[stage] = reader
            carried[out[stage]] += kept[stage]
    for load in one.model.loads:
        out[f"send {load.stage}"] = sender if one.beside else out[load.stage]
    for stage in one.model.body.stages:
        out.setdefault(stage.name, names.index(target.engine_of(stage.kind)[0]))
    return out


class Walk:
    """The clocks of one site. Names: ("engine", n), ("there", stream), …"""

    def __init__(self, price: Priced) -> None:
        self.price, self.one, self.target, self.model = price, price.one, price.target, price.model
        self.clocks: defaultdict[tuple[str, int], float] = defaultdict(float)
        # By engine what it takes, nothing waited for; -1: what the banks have served.
        self.counts: defaultdict[int, float] = defaultdict(float)
        self.number = {s.queue: n for n, s in enumerate(self.model.streams)}
        self.rows = {n: k for k, n in enumerate((*price.loads, *price.stores))}

    def call(self) -> float:
        for name, load in self.price.loads.items():
            if load.stays:
                self.load(name, load, self.model.body.stage(name))
        order = turn_of(self.model.body.stages)
        self.rounds(self.one.turns, lambda first, last: self.nodes(order, {-1: (first, last)}, 0))
        return max(x for (kind, _), x in self.clocks.items() if kind in ("engine", "landed"))

    def nodes(self, nodes: Sequence[Loop | Step], ends: Ends, depth: int) -> None:
        for node in nodes:
            if isinstance(node, Step):
                self.step(self.model.body.stage(node.stage), ends)
            else:
                loop, trips = self.model.loop, node.count
                if loop is not None and self.model.coordinates[loop].name == f"l{depth + 1}":
                    trips //= self.one.factors[loop]

                def inside(first: bool, last: bool, body: Sequence[Loop | Step] = node.body) -> None:
                    self.nodes(body, {**ends, depth: (first, last)}, depth + 1)

                self.rounds(trips, inside)

    def rounds(self, trips: int, run: Callable[[bool, bool], None]) -> None:
        marks: list[tuple[float, dict[int, float]]] = []
        for n in range(min(trips, WALKED)):
            if n == WALKED - 1:
                (was, counted), (_, before), (now, counts) = marks[-3:]
                alone = max(counts[e] - before.get(e, 0.0) for e in counts if e >= 0)
                period = max((now - was) / 2, alone)
                idle = {(kind, e) for kind in ("engine", "packer") for e in range(len(self.target.engines))}
                for clock in {*self.clocks, *idle}:
                    self.clocks[clock] += (trips - WALKED) * period
                for e in counts:
                    self.counts[e] += (trips - WALKED) * ((counts[e] - counted.get(e, 0.0)) / 2)
            run(n == 0, n == min(trips, WALKED) - 1)
            marks.append((self.pace(), dict(self.counts)))

    def pace(self) -> float:
        movers = [n for n, e in enumerate(self.target.engines) if {"load", "store"} & set(e.kinds)]
        of = [n for n in range(len(self.target.engines)) if n not in movers or not self.price.works]
        return max(self.clocks["engine", n] for n in of)

    def step(self, stage: Stage, ends: Ends) -> None:
        if stage.name in self.price.loads:
            if not self.price.loads[stage.name].stays:
                self.load(stage.name, self.price.loads[stage.name], stage)
        elif stage.name in self.price.stores:
            self.store(stage.name, self.price.stores[stage.name], stage)
        else:
            self.compute(stage, self.price.works[stage.name], ends)

    def arrived(self, stage: Stage, time: float) -> float:
        return max([time, *(self.clocks["there", self.number[p.queue]] for p in stage.ins)])

    def load(self, name: str, load: Read, stage: Stage) -> None:
        clocks, step, row, n = self.clocks, self.target.step_cycles, self.rows[name], load.stream
        engine = self.price.engines[name]
        port, times = ("port", self.price.network(engine)), load.times
        began, room = clocks["engine", engine], clocks["room", n]
        ready = self.arrived(stage, began + step)
        space = clocks["space", row] if load.split else room
        start = ready if load.stays or load.joint else max(ready, space)
        issued = start + times * load.issue
        self.counts[-1] += times * load.even
        bank = max(clocks["bank", row], start) + times * load.round
        waits = self.between(row, load, start, issued)
        served = max(bank, waits + times * load.round, self.counts[-1], issued + load.serve)
        there, ends = served + self.target.memory.latency, issued
        if load.joint:
            may = max(issued + step, there, start + times * load.transfer)
            begin = may if load.stays else max(may, room + load.way)
            ends = begin + times * load.send
            clocks[port] = arriving = max(clocks[port] + times * load.receive, ends)
            there = arriving + load.way
        else:
            clocks[port] = max(clocks[port], start) + times * load.transfer
            there = max(there, clocks[port])
        for taken in stage.ins:
            self.release(taken.queue, issued)
        own = max(times * load.issue + load.serve, times * load.round) + self.target.memory.latency
        casts = max(times * load.issue + step, own, times * load.transfer) + times * load.send
        self.counts[engine] += step + (casts if load.joint else times * load.issue)
        clocks["bank", row], clocks["asked", row], clocks["engine", engine] = bank, start, ends
        clocks["even", row] = max(clocks["even", row], start) + times * load.even
        if load.split:
            there = self.send(name, load, max(there, clocks["staged", row]), room)
        clocks["there", n] = max(there, clocks["there", n])

    def send(self, name: str, load: Read, staged: float, room: float) -> float:
        """Send a batch that another mover has read; when it is everywhere."""
        clocks, row, engine = self.clocks, self.rows[name], self.price.engines[f"send {name}"]
        port, times = ("port", self.price.network(engine)), load.times
        ready = max(clocks["engine", engine] + self.target.step_cycles, staged)
        sent = (ready if load.stays else max(ready, room + load.way)) + times * load.send
        clocks["staged", row] = staged
        clocks["space", row] = sent if self.one.buffers == 1 else clocks["emptied", row]
        clocks["emptied", row] = clocks["engine", engine] = sent
        clocks[port] = max(clocks[port] + times * load.receive, sent)
        self.counts[engine] += self.target.step_cycles + times * load.send
        return clocks[port] + load.way

    def between(self, row: int, load: Read, start: float, issued: float) -> float:
        asked, lacks, even = self.clocks["asked", row], max(load.even - load.round, 0.0), 0.0
        met = load.even / (2.0 * max(start - asked, 1.0)) if asked > 0 else 1.0
        drift = self.others(row, start, issued) + min(met * load.even, lacks)
        for other in range(row):
            if issued - self.clocks["asked", other] >= load.even:
                even = max(even, self.clocks["even", other])
        return max(drift, even + lacks) if even > start else drift

    def others(self, row: int, start: float, last: float) -> float:
        free, clocks = start, self.clocks
        if not self.one.together:
            return free
        for name, load in self.price.loads.items():
            other = self.rows[name]
            if other == row:
                continue
            part = min(max((last - clocks["asked", other]) / max(load.issue, 1.0), 0.0), 1.0)
            if part > 0:
                free = max(free, clocks["even", other] - (1.0 - part) * load.even)
            known = clocks["space", other] if load.split else clocks["room", load.stream]
            ahead = min(max((last - known) / max(load.issue, 1.0), 0.0), 1.0)
            if other > row and ahead > 0 and not load.joint and not load.stays:
                free = max(free, max(clocks["even", other], known) + ahead * load.even)
        for name in self.price.stores:
            other = self.rows[name]
            if other != row and clocks["asked", other] <= start:
                free = max(free, clocks["even", other])
        return free

    def store(self, name: str, store: Written, stage: Stage) -> None:
        clocks, row, engine = self.clocks, self.rows[name], self.price.engines[name]
        start = self.arrived(stage, clocks["engine", engine] + self.target.step_cycles)
        ends, first = start + store.send, start + store.first
        bank = max(max(clocks["bank", row], self.others(row, first, ends)) + store.round, ends + store.serve)
        self.counts[-1] += store.round
        clocks["even", row] = max(clocks["even", row], first) + store.round
        clocks["bank", row], clocks["asked", row], clocks["engine", engine] = bank, start, ends
        clocks["landed", 0] = max(clocks["landed", 0], bank + self.target.network.message)
        for port in stage.ins:
            self.release(port.queue, ends)
        self.counts[engine] += store.send + self.target.step_cycles

    def compute(self, stage: Stage, does: Computed, ends: Ends) -> None:
        clocks, engine = self.clocks, self.price.engines[stage.name]
        deepest = max((p.depth for p in (*stage.ins, *stage.outs)), default=0)
        begin = end = deepest
        while begin > -1 and ends[begin - 1][0]:
            begin -= 1
        while end > -1 and ends[end - 1][1]:
            end -= 1
        time, packer = clocks["engine", engine], clocks["packer", engine]
        for depth in range(begin, deepest + 1):
            time += does.step.get(depth, 0.0)
            time = max([time, *(clocks["there", self.number[p.queue]] for p in stage.ins if p.depth == depth)])
        for depth in range(deepest, end - 1, -1):
            time += does.update.get(depth, 0.0)
            for stream, pages, each, pack in does.made.get(depth, []):
                first = max(max(time, clocks["room", stream]) + each, packer)
                time = first + (pages - 1) * max(each, pack)
                clocks["there", stream] = packer = time + pack
            for port in stage.ins:
                if port.depth == depth:
                    self.release(port.queue, time)
        clocks["engine", engine], clocks["packer", engine] = time, packer

    def release(self, queue: str, time: float) -> None:
        n = self.number[queue]
        self.clocks["room", n] = time if self.one.buffers == 1 else self.clocks["free", n]
        self.clocks["free", n] = time
