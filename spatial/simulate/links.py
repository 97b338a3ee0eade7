"""Who feeds whom: the two ends of every queue on every site, and the members of multicasts.

Raises `Refused` where a site has one end of a queue and not the other. Knows no data and no order of execution.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.errors import Problem, Refused
from spatial.ir.body import Body, Stage, count
from spatial.simulate.axes import sites_of

Site = tuple[int, int]

SPREADING = ("multicast", "scatter")
MOVING = ("permute", "multicast", "scatter")
FOREIGN = ("send", "receive", "allreduce")


def members_of(stage: Stage, site: Site) -> tuple[Site, ...]:
    """The sites a multicast or scatter at `site` pushes to, row by row."""
    width, height = stage.group
    return tuple((site[0] + x, site[1] + y) for y in range(height) for x in range(width))


@dataclass(frozen=True)
class Links:
    """For each queue its producers and its consumers: (stage, port number), each on its own sites."""

    producers: dict[str, tuple[tuple[Stage, int], ...]]
    consumers: dict[str, tuple[tuple[Stage, int], ...]]
    order: tuple[Stage, ...]


def links_of(body: Body) -> Links:
    """The links of `body`, checked; `order` is its stages, producers first."""
    producers = {q.name: _ends(body, q.name, into=True) for q in body.queues}
    consumers = {q.name: _ends(body, q.name, into=False) for q in body.queues}
    problems: list[Problem] = []
    for queue in body.queues:
        made, used = _on(body, producers[queue.name], into=True), _on(body, consumers[queue.name], into=False)
        for site in sorted(set(made) | set(used)):
            ends = made.get(site, 0), used.get(site, 0)
            if ends != (1, 1):
                what = f"queue {queue.name} has {ends[0]} producers and {ends[1]} consumers at site {site}"
                problems.append(Problem(what, "each site has both ends of a queue once, or neither"))
                break
    if problems:
        raise Refused(problems)
    return Links(producers, consumers, _order(body, producers))


def _ends(body: Body, queue: str, into: bool) -> tuple[tuple[Stage, int], ...]:
    return tuple(
        (stage, n)
        for stage in body.stages
        for n, port in enumerate(stage.outs if into else stage.ins)
        if port.queue == queue
    )


def _on(body: Body, ends: tuple[tuple[Stage, int], ...], into: bool) -> dict[Site, int]:
    """How many of `ends` each site has; the out end of a spreading stage lies on its members."""
    found: dict[Site, int] = {}
    for stage, _ in ends:
        for site in sites_of(body, stage.on):
            for member in members_of(stage, site) if into and stage.kind in SPREADING else (site,):
                found[member] = found.get(member, 0) + 1
    return found


def _order(body: Body, producers: dict[str, tuple[tuple[Stage, int], ...]]) -> tuple[Stage, ...]:
    done: dict[str, Stage] = {}
    left = list(body.stages)
    while left:
        free = [s for s in left if all(p.name in done for port in s.ins for p, _ in producers[port.queue])]
        if not free:
            names = ", ".join(s.name for s in left)
            raise Refused(
                f"stages {names} wait for each other",
                "their queues form a ring, and a stage pops before it first pushes",
            )
        done |= {s.name: s for s in free}
        left = [s for s in left if s.name not in done]
    return tuple(done.values())


def pages_moved(depth: int, pages: tuple[int, ...], loops: tuple[int, ...], turns: int) -> int:
    """Pages a port at `depth` moves on one site in one call."""
    total = count(pages)
    for extent in (turns, *loops)[: depth + 1]:
        total *= extent
    return total
