"""A run of communicating processes on counts alone: who pops, pushes and releases how many pages of which queue.

Serves obligation 6. The run is greedy and determined: where a state recurs (equal queues, equal next events) with equal
events ahead, what follows is what followed before, so whole periods are skipped, exactly. Knows no stage and no site.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spatial.check.events import POP, PUSH
from spatial.numerics import Array

MOST_PASSES = 1 << 18
"""Passes over all processes before a schedule that never repeats is given up."""

Instance = tuple[int, str]
"""A queue of a class of sites."""

Event = tuple[int, tuple[Instance, ...], int]
"""Kind of event, the queue instances it touches, pages."""


@dataclass
class Process:
    """An engine on a site of a class: its events as numbers, what each number does, and how far it is."""

    name: str
    codes: Array
    events: Mapping[int, Event]
    stages: Mapping[int, str]
    at: int = 0
    row: Sequence[int] = field(default=())

    def __post_init__(self) -> None:
        self.row = self.codes.tolist()

    @property
    def done(self) -> bool:
        """Whether all events have happened."""
        return self.at >= len(self.codes)


@dataclass(frozen=True)
class Stuck:
    """A run that ended before all processes did: what each waits for, and the queues that are full."""

    waits: tuple[str, ...]
    full: tuple[Instance, ...]


def run(processes: list[Process], caps: Mapping[Instance, int]) -> Stuck | None:
    """Run all processes from the start; a `Stuck` without waits is a complete schedule, None an endless one."""
    for p in processes:
        p.at = 0
    queued = dict.fromkeys(caps, 0)
    used = dict.fromkeys(caps, 0)
    seen: dict[tuple[object, ...], list[int]] = {}
    for _ in range(MOST_PASSES):
        before = [p.at for p in processes]
        for p in processes:
            _advance(p, queued, used, caps)
        places = [p.at for p in processes]
        if places == before:
            return _stuck(processes, queued, used, caps)
        key = (*queued.values(), *used.values(), *(-1 if p.done else p.row[p.at] for p in processes))
        earlier = seen.get(key)
        if earlier is not None and _skip(processes, earlier):
            places = [p.at for p in processes]
        seen[key] = places
    return None


def _advance(p: Process, queued: dict[Instance, int], used: dict[Instance, int], caps: Mapping[Instance, int]) -> None:
    """Let one process go on until it is done or must wait."""
    events, codes, end = p.events, p.row, len(p.row)
    at = p.at
    while at < end:
        kind, instances, pages = events[codes[at]]
        if kind == POP:
            if queued[instances[0]] == 0:
                break
            queued[instances[0]] -= 1
        elif kind == PUSH:
            if any(used[i] >= caps[i] for i in instances):
                break
            for i in instances:
                used[i] += 1
                queued[i] += 1
        else:
            used[instances[0]] -= pages
        at += 1
    p.at = at


def _skip(processes: list[Process], earlier: list[int]) -> bool:
    """Move all processes by as many whole periods as lie ahead; `earlier`: where they stood one period ago."""
    times = -1
    for p, start in zip(processes, earlier, strict=True):
        period = p.at - start
        if period == 0:
            continue
        if not np.array_equal(p.codes[start : p.at + 1], p.codes[p.at : p.at + period + 1]):
            return False
        differ = np.nonzero(p.codes[start:-period] != p.codes[start + period :])[0]
        same = int(differ[0]) if len(differ) else len(p.codes) - period - start
        ahead = (same - 1) // period
        times = ahead if times < 0 else min(times, ahead)
    if times < 1:
        return False
    for p, start in zip(processes, earlier, strict=True):
        p.at += times * (p.at - start)
    return True


def _stuck(
    processes: list[Process], queued: Mapping[Instance, int], used: Mapping[Instance, int], caps: Mapping[Instance, int]
) -> Stuck:
    """Who waits for what; also who left pages behind."""
    waits: list[str] = []
    full: list[Instance] = []
    for p in processes:
        if p.done:
            continue
        code = p.row[p.at]
        kind, instances, _ = p.events[code]
        if kind == POP:
            waits.append(f"{p.stages[code]} on {p.name} waits for a page of {instances[0][1]}")
        else:
            blocked = [i for i in instances if used[i] >= caps[i]]
            full += blocked
            names = ", ".join(sorted({f"{q} (capacity {caps[c, q]})" for c, q in blocked}))
            waits.append(f"{p.stages[code]} on {p.name} waits for room in {names}")
    waits += [f"{n} pages stay in {i[1]}" for i, n in queued.items() if n and not waits]
    return Stuck(tuple(waits), tuple(sorted(set(full))))
