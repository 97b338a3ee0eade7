"""Rules on queues: one producer and one consumer on each site that has it, and as many pages pushed as popped.

Knows the sites and rates of stages; no capacity, no order, no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from spatial.errors import Problem
from spatial.ir.body import Body, InPort, OutPort, Stage, count
from spatial.ir.typing import sites_of
from spatial.ir.validate.problems import problem
from spatial.target import Target

Site = tuple[int, int]


def _carrying(stage: Stage, body: Body) -> list[Site]:
    on = sites_of(stage, body)
    return [(x, y) for y in range(on.y, on.y + on.h) for x in range(on.x, on.x + on.w)]


def receivers(stage: Stage, body: Body) -> list[Site]:
    """The sites on which `stage` produces: its own, or the groups of its senders."""
    if stage.kind not in ("multicast", "scatter"):
        return _carrying(stage, body)
    w, h = stage.group
    return [(x + dx, y + dy) for x, y in _carrying(stage, body) for dy in range(h) for dx in range(w)]


def ends(body: Body, target: Target) -> Iterator[Problem]:
    """On every site a queue has one producer and one consumer, or neither; a group lies inside the rectangle."""
    producers: dict[str, list[Site]] = {q.name: [] for q in body.queues}
    consumers: dict[str, list[Site]] = {q.name: [] for q in body.queues}
    for stage in body.stages:
        reached = receivers(stage, body)
        if any(not (0 <= x < body.rect[0] and 0 <= y < body.rect[1]) for x, y in reached):
            what = f"a group of {stage.group[0]}x{stage.group[1]} that leaves the body's rectangle"
            yield problem(f"stage {stage.name}", what, "every member is a site of the body", "move the senders")
        for port in stage.outs:
            producers[port.queue] += reached
        for port in stage.ins:
            consumers[port.queue] += _carrying(stage, body)
    for name in producers:
        made, used = Counter(producers[name]), Counter(consumers[name])
        place = f"queue {name}"
        for what, found in (("producers", made), ("consumers", used)):
            many = sorted(site for site, n in found.items() if n > 1)
            if many:
                yield problem(place, f"{found[many[0]]} {what} on site {many[0]}", "it has one", "give each its queue")
        for site in sorted(set(made) ^ set(used))[:1]:
            what = "a producer and no consumer" if site in made else "a consumer and no producer"
            yield problem(place, f"{what} on site {site}", "a site has both ends of a queue, or neither")
        if not made and not used:
            yield problem(place, "no stage uses it", mend="leave it out")


def pages(body: Body, stage: Stage, port: InPort | OutPort) -> int:
    """Pages that `port` moves in one call, on one site."""
    turns = prod(body.items.trips) if port.depth >= 0 else 1
    return count(port.pages) * turns * prod(stage.loops[: max(port.depth, 0)])


def rates(body: Body, target: Target) -> Iterator[Problem]:
    """Over one call a queue's producer pushes as many pages as its consumer pops."""
    pushed = {port.queue: (stage, pages(body, stage, port)) for stage in body.stages for port in stage.outs}
    for stage in body.stages:
        for port in stage.ins:
            producer, n = pushed.get(port.queue, (stage, -1))
            taken = pages(body, stage, port)
            if n >= 0 and n != taken:
                what = f"{producer.name} pushes {n} pages in a call, {stage.name} pops {taken}"
                why = "every page that is pushed is popped"
                yield problem(f"queue {port.queue}", what, why, "mend the page counts")
