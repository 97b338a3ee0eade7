"""A second machine, as plain as can be: every change happens at its time, in the order of time, and nobody runs ahead.

It takes the parts a machine is built of (orders, pages, groups, servers) and runs them by generators that sleep, wait
for a queue, or ask to be served. Slow, and believed because it is short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator
from heapq import heappop, heappush

from spatial.simulate.twin import orders
from spatial.simulate.twin.machine import Machine
from spatial.simulate.twin.parts import Process, Queue

Acting = Generator[tuple[str, int], None, None]
SLEEP, ASK, WAIT = "sleep", "ask", "wait"


class Witness:
    """Runs a freshly built machine's parts; `end` is when everything has ended and landed."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.now, self.end = machine, 0, 0
        self.events: list[tuple[int, int, int, Callable[[], None]]] = []
        self.count = 0
        self.pages: dict[int, int] = defaultdict(int)
        self.room = {id(q): q.cap for q in machine.queues}
        self.last: dict[int, int] = defaultdict(int)
        self.waiting: list[tuple[Process, Acting]] = []
        self.ended = 0
        for p in machine.processes:
            self.at(0, lambda p=p: self.go(p, self.run(p)))
        while self.events:
            self.now, *_, change = heappop(self.events)
            change()

    def at(self, time: int, change: Callable[[], None], number: int = -1) -> None:
        """Let `change` happen at `time`; what process `number` asks for, after all else of that time."""
        self.count += 1
        heappush(self.events, (time, int(number >= 0), number if number >= 0 else self.count, change))

    def go(self, p: Process, acting: Acting) -> None:
        what, time = next(acting, ("end", 0))
        if what == "end":
            self.ended += 1
            self.end = max(self.end, self.now)
        elif what == WAIT:
            self.waiting.append((p, acting))
        else:
            self.at(self.now + time, lambda: self.go(p, acting), p.number if what == ASK else -1)

    def changed(self) -> None:
        """Whoever waits looks again."""
        waiting, self.waiting = self.waiting, []
        for p, acting in waiting:
            self.go(p, acting)

    def put(self, queue: Queue, time: int) -> None:
        self.last[id(queue)] = time = max(time, self.last[id(queue)])
        self.at(time, lambda: self.more(self.pages, queue, 1))

    def more(self, held: dict[int, int], queue: Queue, count: int) -> None:
        held[id(queue)] += count
        self.changed()

    def run(self, p: Process) -> Acting:
        moved: dict[int, int] = defaultdict(int)
        packed = 0
        for act in (act for step in p.steps for act in p.blocks[step]):
            queue = p.queues[act.queue]
            match act.kind:
                case orders.WORK:
                    yield SLEEP, act.time
                case orders.TAKE:
                    while self.pages[id(queue)] < act.pages:
                        yield WAIT, 0
                    self.pages[id(queue)] -= act.pages
                case orders.FREE:
                    self.at(self.now + queue.delay, lambda q=queue, n=act.pages: self.more(self.room, q, n))
                case orders.MAKE:
                    for _ in range(act.pages):
                        yield from self.slot(queue)
                        yield SLEEP, act.time
                        yield SLEEP, max(packed - self.now, 0)
                        packed = self.now + act.pack
                        self.put(queue, packed)
                case orders.READ | orders.WRITE:
                    kinds, parts = p.pages[act.stage]
                    for _ in range(act.pages):
                        found = parts[kinds[moved[act.stage]]]
                        moved[act.stage] += 1
                        yield from self.read(p, queue, found) if act.kind == orders.READ else self.write(p, found)
                case _:
                    yield from self.send(p, act)

    def slot(self, queue: Queue) -> Acting:
        while not self.room[id(queue)]:
            yield WAIT, 0
        self.room[id(queue)] -= 1

    def read(self, p: Process, queue: Queue, parts) -> Acting:
        yield from self.slot(queue)
        there = self.now
        for part in parts:
            yield ASK, 0
            part.server.free = max(part.server.free, self.now) + part.serve
            p.port.free = max(p.port.free, self.now) + part.transfer
            served = max(part.server.free, self.now + part.least)
            there = max(there, served + self.machine.shared.latency, p.port.free)
            yield SLEEP, part.issue
        self.put(queue, there)

    def write(self, p: Process, parts) -> Acting:
        for part in parts:
            yield ASK, part.send
            part.server.free = max(part.server.free, self.now) + part.serve
            self.end = max(self.end, part.server.free + self.machine.shared.message)

    def send(self, p: Process, act: orders.Act) -> Acting:
        group = p.groups[act.stage]
        for members, lines in group.turns:
            for _ in range(act.pages):
                while not all(self.room[id(m.queue)] for m in members):
                    yield WAIT, 0
                for m in members:
                    self.room[id(m.queue)] -= 1
                yield ASK, 0
                start = max([self.now, *(line.free for line in lines)])
                for line in lines:
                    line.free = start + group.link
                for m in members:
                    if m.way:
                        m.port.free = max(m.port.free, start) + group.send
                    self.put(m.queue, (m.port.free if m.way else start + group.send) + m.way)
                yield SLEEP, start + group.send - self.now
