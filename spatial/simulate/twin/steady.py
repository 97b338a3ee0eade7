"""What repeats is skipped: where the whole machine stands as it stood before, but for the time, the rest is known.

A state is everything the future hangs on, relative to now: where every engine stands in its step, and every time at
which something is free, there, or known, with what is past counted as now. Where a state returns, what happened between
happens again, as often as the engines' orders and the kinds of their pages go on as they did; those rounds are added
and not run. Times are whole numbers, so a state returns exactly or not at all, and a run with skips ends in the same
tick as one without.

To be cheap, states are looked at less and less often, and as a whole only where engines and banks stand as before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from spatial.numerics import Array
from spatial.simulate.twin.machine import Machine

EVERY = 64
"""The state is looked at as often as the steps since it was first looked at, over this: often at first, then less."""


@dataclass(frozen=True)
class _Mark:
    """A state, and the counts that go on growing, at time `base`."""

    base: int
    state: tuple[object, ...]
    steps: tuple[int, ...]
    moved: tuple[tuple[int, ...], ...]
    counted: tuple[tuple[int, ...], ...]
    busy: tuple[int, ...]
    landed: tuple[int, ...]
    granted: int


class Steady:
    """Watches a machine, and skips the rounds it repeats."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.skipped = 0
        self._servers = (*machine.shared.banks, *machine.shared.ports, *machine.shared.lines)
        movers = [p for p in machine.processes if p.pages or p.groups]
        self._watched = max(movers or machine.processes, key=lambda p: len(p.steps))
        self._first = self._next = 1
        self._seen: dict[tuple[object, ...], _Mark | None] = {}
        self._arrays: dict[int, Array] = {}

    def look(self) -> None:
        """Look whether the machine stands where it stood before; if so, skip as many rounds as are sure to follow."""
        if self._watched.step < self._next or not self.machine.heap:
            return
        self._next = self._watched.step + max(1, (self._watched.step - self._first) // EVERY)
        base = self.machine.heap[0][0]
        engines = tuple((p.act, p.page, p.part, max(p.time - base, 0)) for p in self.machine.processes)
        brief = engines, tuple(max(bank.free - base, 0) for bank in self.machine.shared.banks)
        if brief not in self._seen:
            self._seen[brief] = None
            return
        before, now = self._seen[brief], self._mark(base)
        self._seen[brief] = now
        if before is not None and before.state == now.state:
            rounds = self._rounds(before, now)
            if rounds:
                self._skip(before, now, rounds)
                self._seen.clear()
                self._first = self._next = self._watched.step + 1

    def _mark(self, base: int) -> _Mark:
        m = self.machine
        engines = tuple((p.packer > base and p.packer - base, p.landing > base and p.landing - base, p.ended, p.asked)
                        for p in m.processes)  # fmt: skip
        queues = tuple(
            (tuple([t - base if t > base else 0 for t in (*q.room, -1, *q.pages, q.last)]), len(q.room))
            for q in m.queues
        )
        free = tuple(max(s.free - base, 0) for s in self._servers)
        return _Mark(
            base,
            (engines, queues, free),
            tuple(p.step for p in m.processes),
            tuple(tuple(p.moved) for p in m.processes),
            tuple(p.counted for p in m.processes),
            tuple(s.busy for s in self._servers),
            tuple(m.landed),
            m.granted,
        )

    def _rounds(self, before: _Mark, now: _Mark) -> int:
        """How many rounds as the last one are sure to follow."""
        least: int | None = None
        for number, p in enumerate(self.machine.processes):
            places = [(self._array(p.steps), before.steps[number], now.steps[number])]
            places += [
                (self._array(kinds), before.moved[number][stage], now.moved[number][stage])
                for stage, (kinds, _) in p.pages.items()
            ]
            for sequence, first, second in places:
                if second > first:
                    rounds = max(_alike(sequence, first, second) - 1, 0) // (second - first)
                    least = rounds if least is None else min(least, rounds)
                    if not least:
                        return 0
        return least or 0

    def _array(self, sequence: tuple[int, ...] | list[int]) -> Array:
        if id(sequence) not in self._arrays:
            self._arrays[id(sequence)] = np.array(sequence, np.int64)
        return self._arrays[id(sequence)]

    def _skip(self, before: _Mark, now: _Mark, rounds: int) -> None:
        m, shift = self.machine, (now.base - before.base) * rounds
        for number, p in enumerate(m.processes):
            steps = now.steps[number] - before.steps[number]
            if steps or p.asked or now.counted[number] != before.counted[number]:
                p.time += shift
            p.packer += shift
            p.landing += shift
            p.step += steps * rounds
            p.acts = p.blocks[p.steps[p.step]] if not p.ended else p.acts
            p.moved = _onward(before.moved[number], now.moved[number], rounds)
            p.count(_onward(before.counted[number], now.counted[number], rounds))
        for q in m.queues:
            q.room = deque(t + shift for t in q.room)
            q.pages = deque(t + shift for t in q.pages)
            q.last += shift
        for server, busy in zip(self._servers, _onward(before.busy, now.busy, rounds), strict=True):
            server.free += shift
            server.busy = busy
        m.landed = [b + shift if b > a else b for a, b in zip(before.landed, now.landed, strict=True)]
        m.heap = [(time + shift, number) for time, number in m.heap]
        self.skipped += (now.granted - before.granted) * rounds


def _onward(before: tuple[int, ...], now: tuple[int, ...], rounds: int) -> list[int]:
    """Counts after `rounds` more rounds, each as from `before` to `now`."""
    return [b + (b - a) * rounds for a, b in zip(before, now, strict=True)]


def _alike(sequence: Array, first: int, second: int) -> int:
    """How long `sequence` goes on from `second` as it does from `first`."""
    ahead = sequence[second:]
    different = np.flatnonzero(sequence[first : first + len(ahead)] != ahead)
    return int(different[0]) if len(different) else len(ahead)
