"""A second, slow judge of schedules: every engine of every site as a process, page by page, in any fair order.

Written from the meaning of bodies alone, sharing nothing with the checker: events are listed one by one, nothing is
skipped, no site stands for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import prod
from random import Random

from spatial.ir.body import Body, Loop, Rect, Stage, Step, count

Event = tuple[str, int]
"""("begin" or "end", depth), ("pop" or "push", port) or ("release", in port)."""


def events(body: Body, stage: Stage, depth: int = -1) -> Iterator[Event]:
    """The events of one iteration of `stage` at `depth`."""
    yield "begin", depth
    for n, port in enumerate(stage.ins):
        if port.depth == depth:
            yield from [("pop", n)] * count(port.pages)
    if depth < stage.depth:
        for _ in range(prod(body.items.trips) if depth == -1 else stage.loops[depth]):
            yield from events(body, stage, depth + 1)
    for n, port in enumerate(stage.outs):
        if port.depth == depth:
            yield from [("push", n)] * count(port.pages)
    for n, port in enumerate(stage.ins):
        if port.depth == depth:
            yield "release", n
    yield "end", depth


def steps(order: tuple[Loop | Step, ...]) -> Iterator[Step]:
    """An order, unrolled."""
    for entry in order:
        if isinstance(entry, Step):
            yield entry
        else:
            for _ in range(entry.count):
                yield from steps(entry.body)


class Site:
    """The queues of a site: pages waiting, and slots taken."""

    def __init__(self, body: Body) -> None:
        self.waiting = {q.name: 0 for q in body.queues}
        self.taken = {q.name: 0 for q in body.queues}


def engine(
    body: Body, order: tuple[Loop | Step, ...], at: tuple[int, int], sites: dict[tuple[int, int], Site]
) -> Iterator[bool]:
    """An engine's process: yields False while it must wait, True after each event."""
    caps = {q.name: q.cap for q in body.queues}
    carried = {
        s.name: deque(events(body, s))
        for s in body.stages
        for on in [s.on or Rect(0, 0, *body.rect)]
        if on.x <= at[0] < on.x + on.w and on.y <= at[1] < on.y + on.h
    }
    for step in steps(order):
        rest = carried.get(step.stage)
        if rest is None:
            continue
        stage, ended = body.stage(step.stage), False
        while not ended or (rest and rest[0][0] != "begin"):
            if not rest:
                raise ValueError(f"{step.stage} has no iteration left")
            what, n = rest.popleft()
            if what == "pop":
                while not sites[at].waiting[stage.ins[n].queue]:
                    yield False
                sites[at].waiting[stage.ins[n].queue] -= 1
            elif what == "push":
                queue = stage.outs[n].queue
                w, h = stage.group if stage.kind in ("multicast", "scatter") else (1, 1)
                to = [sites[at[0] + i, at[1] + j] for i in range(w) for j in range(h)]
                while any(s.taken[queue] >= caps[queue] for s in to):
                    yield False
                for s in to:
                    s.waiting[queue] += 1
                    s.taken[queue] += 1
            elif what == "release":
                sites[at].taken[stage.ins[n].queue] -= count(stage.ins[n].pages)
            elif what == "end" and n == step.depth:
                ended = True
            yield True
    if any(carried[s.stage] for s in steps(order) if s.stage in carried):
        raise ValueError("iterations are left over")


def completes(body: Body, seed: int) -> bool:
    """Whether the body runs to its end, every queue empty, in the interleaving that `seed` draws."""
    w, h = body.rect
    sites = {(x, y): Site(body) for x in range(w) for y in range(h)}
    running = [engine(body, e.order, at, sites) for e in body.engines for at in sites]
    draw = Random(seed)
    while running:
        moved = False
        for process in draw.sample(running, len(running)):
            for _ in range(draw.randint(1, 5)):
                went = next(process, None)
                if went is None:
                    running.remove(process)
                    moved = True
                    break
                moved |= went
        if not moved:
            return False
    return not any(n for s in sites.values() for n in (*s.waiting.values(), *s.taken.values()))
