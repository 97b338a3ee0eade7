"""The machine: engines, queues, banks and lines of one phase, run through time.

Engines are sequential and queues block, so what an engine does hangs on the times at which its pages and its room are
there, never on who asked first: an engine runs ahead as far as it knows them. Only what several contend for (a bank, a
line of the network, a port of a site) is granted in the order of time, equal times in the order of engines; nobody who
is granted later can have asked sooner. Knows no body: `build` makes it, `steady` skips what repeats.

This is the loop that everything waits for: where a local variable or a line written out saves a call, it is.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from spatial.simulate.twin.orders import FREE, MAKE, SEND, TAKE, WORK, WRITE
from spatial.simulate.twin.parts import Process, Queue, Shared


class Machine:
    """The processes of a phase and what they contend for. `landed`: by call, when its last store has landed;
    `granted`: how many requests have been."""

    def __init__(self, processes: list[Process], queues: list[Queue], shared: Shared, calls: int) -> None:
        self.processes, self.queues, self.shared = processes, queues, shared
        self.heap: list[tuple[int, int]] = []
        self.ready: deque[Process] = deque(processes)
        self.landed = [0] * calls
        self.granted = 0

    def settle(self) -> None:
        """Run every engine as far as it can come without being granted anything."""
        ready = self.ready
        while ready:
            self._advance(ready.popleft())

    def grant(self) -> None:
        """Grant what was asked for first."""
        p = self.processes[heappop(self.heap)[1]]
        p.asked = False
        self.granted += 1
        kind = p.acts[p.act][0]
        if kind == SEND:
            self._send(p)
        elif kind == WRITE:
            self._write(p)
        else:
            self._read(p)

    # ------------------------------------------------------------ what an engine does by itself

    def _advance(self, p: Process) -> None:
        """Run a process until it must wait: for a queue, to be granted something, or for nothing any more."""
        queues = p.queues
        while True:
            acts = p.acts
            while p.act < len(acts):
                kind, stage, number, count, time, pack = acts[p.act]
                if kind == WORK:
                    p.time += time
                    p.working += time
                elif kind == TAKE:
                    queue = queues[number]
                    pages = queue.pages
                    if len(pages) < count:
                        p.waiting, queue.consumer, queue.wanted = queue, p, count
                        return
                    p.waiting = None
                    for _ in range(count - 1):
                        pages.popleft()
                    there = pages.popleft()
                    if there > p.time:
                        p.for_pages += there - p.time
                        p.time = there
                elif kind == FREE:
                    self._free(queues[number], count, p.time)
                elif kind == MAKE:
                    if not self._make(p, queues[number], count, time, pack):
                        return
                elif kind == SEND:
                    if not self._ask_to_send(p, stage, count):
                        return
                elif not self._ask_to_move(p, stage, queues[number], count, kind == WRITE):
                    return
                p.act += 1
                p.page = 0
            p.step += 1
            p.act = 0
            if p.step == len(p.steps):
                p.ended = True
                return
            p.acts = p.blocks[p.steps[p.step]]

    def _free(self, queue: Queue, count: int, time: int) -> None:
        queue.room.extend([time + queue.delay] * count)
        if queue.producer is not None:
            self.ready.append(queue.producer)
            queue.producer = None

    def _make(self, p: Process, queue: Queue, count: int, time: int, pack: int) -> bool:
        """Evaluate and pack the pages of an out port; packing a page goes on beside what is evaluated next."""
        while p.page < count:
            if not self._room(p, queue):
                return False
            now = max(p.time + time, p.packer)
            p.working += now - p.time
            p.time, p.packer = now, now + pack
            self._put(queue, p.packer)
            p.page += 1
        return True

    def _room(self, p: Process, queue: Queue) -> bool:
        """Take a free slot, waiting for it; False where none is known to become free yet."""
        if not queue.room:
            p.waiting, queue.producer = queue, p
            return False
        p.waiting = None
        free = queue.room.popleft()
        if free > p.time:
            p.for_room += free - p.time
            p.time = free
        return True

    def _put(self, queue: Queue, time: int) -> None:
        """A page is in `queue` from `time` on, or from when the one before it is."""
        if time > queue.last:
            queue.last = time
        queue.pages.append(queue.last)
        if queue.consumer is not None and len(queue.pages) >= queue.wanted:
            self.ready.append(queue.consumer)
            queue.consumer = None

    # ------------------------------------------------------------ what it asks for

    def _ask(self, p: Process) -> None:
        p.asked = True
        heappush(self.heap, (p.time, p.number))

    def _ask_to_move(self, p: Process, stage: int, queue: Queue, count: int, writing: bool) -> bool:
        """Ask for the next part of the pages that are read or written; False where there is one, or no room for it."""
        kinds, parts = p.pages[stage]
        while p.page < count:
            found = parts[kinds[p.moved[stage]]]
            if not writing and not p.part:
                if not self._room(p, queue):
                    return False
                p.landing = p.time
            if p.part < len(found):
                if writing:
                    p.time += found[p.part].send
                    p.working += found[p.part].send
                self._ask(p)
                return False
            if not writing:
                self._put(queue, p.landing)
            p.moved[stage] += 1
            p.page += 1
            p.part = p.landing = 0
        return True

    def _ask_to_send(self, p: Process, stage: int, count: int) -> bool:
        """Ask for the next page to be sent; False where there is one, or no room for it everywhere."""
        turns = p.groups[stage].turns
        if p.page >= count * len(turns):
            return True
        members = turns[p.page // count][0]
        for member in members:
            if not member.queue.room:
                p.waiting, member.queue.producer = member.queue, p
                return False
        free = p.time
        for member in members:
            known = member.queue.room.popleft()
            if known > free:
                free = known
        p.waiting = None
        p.for_room += free - p.time
        p.time = free
        self._ask(p)
        return False

    # ------------------------------------------------------------ what is granted

    def _read(self, p: Process) -> None:
        """Issue the next part of a page: its bank serves it, then it comes in through the site's port."""
        _, stage, number, count, _, _ = p.acts[p.act]
        kinds, parts = p.pages[stage]
        found = parts[kinds[p.moved[stage]]]
        part = found[p.part]
        now, bank, port = p.time, part.server, p.port
        bank.free = free = (bank.free if bank.free > now else now) + part.serve
        bank.busy += part.serve
        served = now + part.least
        landing = (free if free > served else served) + self.shared.latency
        port.free = free = (port.free if port.free > now else now) + part.transfer
        port.busy += part.transfer
        p.landing = max(p.landing, landing, free)
        p.time = now + part.issue
        p.working += part.issue
        p.moved_bytes += part.bytes
        p.part += 1
        if p.part == len(found):
            queue = p.queues[number]
            self._put(queue, p.landing)
            p.moved[stage] += 1
            p.page += 1
            p.part = p.landing = 0
            if p.page == count:
                p.act += 1
                p.page = 0
            elif queue.room and parts[kinds[p.moved[stage]]]:
                # The page after it, as `_ask_to_move` would.
                self._room(p, queue)
                p.landing = p.time
                self._ask(p)
                return
        self._advance(p)

    def _write(self, p: Process) -> None:
        """The last byte of a part has left the site; it lands when its bank has served it."""
        stage = p.acts[p.act][1]
        kinds, parts = p.pages[stage]
        part = parts[kinds[p.moved[stage]]][p.part]
        bank = part.server
        bank.free = max(bank.free, p.time) + part.serve
        bank.busy += part.serve
        self.landed[p.call] = max(self.landed[p.call], bank.free + self.shared.message)
        p.moved_bytes += part.bytes
        p.part += 1
        self._advance(p)

    def _send(self, p: Process) -> None:
        """A page leaves for its group: the lines are taken together, members have it as far as they are away."""
        _, stage, _, count, _, _ = p.acts[p.act]
        group = p.groups[stage]
        members, lines = group.turns[p.page // count]
        start = p.time
        for line in lines:
            if line.free > start:
                start = line.free
        for line in lines:
            line.free = start + group.link
            line.busy += group.link
        p.for_lines += start - p.time
        p.working += group.send
        p.sent_bytes += group.bytes
        p.time = sent = start + group.send
        for member in members:
            queue, arrives = member.queue, sent
            if member.way:
                port = member.port
                port.free = arrives = (port.free if port.free > start else start) + group.send
                port.busy += group.send
            self._put(queue, arrives + member.way)
        p.moved[stage] += 1
        p.page += 1
        self._advance(p)
