"""Obligation 5: every queue has both its ends on every site that has one, and they move equally many pages.

A queue of a site needs exactly one producer and one consumer there, or neither. A multicast or scatter on a sender
produces on every site of its group. Each producer pushes over a call as many pages as the consumer pops. Knows no
capacity and no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.check.coords import sites_of
from spatial.check.verdict import Log
from spatial.ir.body import Body, InPort, OutPort, Stage, count
from spatial.numerics import Array

SENDERS = ("multicast", "scatter")


@dataclass(frozen=True)
class Ends:
    """Who produces and consumes a queue: (stage, port) pairs, both by position in the body."""

    producers: tuple[tuple[int, int], ...]
    consumers: tuple[tuple[int, int], ...]


def ends_of(body: Body) -> dict[str, Ends]:
    """The ends of each queue, over all sites."""
    made: dict[str, list[tuple[int, int]]] = {q.name: [] for q in body.queues}
    used: dict[str, list[tuple[int, int]]] = {q.name: [] for q in body.queues}
    for s, stage in enumerate(body.stages):
        for p, port in enumerate(stage.outs):
            made[port.queue].append((s, p))
        for p, port in enumerate(stage.ins):
            used[port.queue].append((s, p))
    return {name: Ends(tuple(made[name]), tuple(used[name])) for name in made}


def moved(body: Body, stage: Stage, port: InPort | OutPort) -> int:
    """Pages a port moves on one site in one call."""
    iterations = 1 if port.depth < 0 else prod(body.items.trips) * prod(stage.loops[: port.depth])
    return iterations * count(port.pages)


def check_queues(body: Body, place: str, log: Log) -> bool:
    """Whether every queue has its ends, balanced; groups of senders are proved to lie on the body's sites."""
    before = log.findings
    for name, ends in ends_of(body).items():
        at = log.at("queues", f"{place}, queue {name}")
        made = _spread(body, ends.producers, out=True, pages=False)
        used = _spread(body, ends.consumers, out=False, pages=False)
        at.require(
            not (made > 1).any(),
            f"{first_site(made > 1)} has two producers",
            "a result wanted twice goes into two queues",
        )
        at.require(not (used > 1).any(), f"{first_site(used > 1)} has two consumers", "push the pages into two queues")
        lone = (made > 0) != (used > 0)
        if at.require(not lone.any(), _lone(body, ends, made, lone), "carry both ends on the same sites, or neither"):
            _rates(body, name, ends, f"{place}, queue {name}", log)
    return log.findings == before


def _spread(body: Body, ports: Sequence[tuple[int, int]], *, out: bool, pages: bool) -> Array:
    """Ports of a queue on each site, or the pages they move there in a call."""
    total = np.zeros(body.rect, dtype=np.int64)
    for s, p in ports:
        stage = body.stages[s]
        amount = moved(body, stage, stage.outs[p] if out else stage.ins[p]) if pages else 1
        at = sites_of(body, stage)
        if not (out and stage.kind in SENDERS):
            total[at.x : at.x + at.w, at.y : at.y + at.h] += amount
            continue
        for x in range(at.x, at.x + at.w):
            for y in range(at.y, at.y + at.h):
                total[x : x + stage.group[0], y : y + stage.group[1]] += amount
    return total


def _rates(body: Body, name: str, ends: Ends, place: str, log: Log) -> None:
    """On each site both ends move equally many pages in a call."""
    pushed = _spread(body, ends.producers, out=True, pages=True)
    popped = _spread(body, ends.consumers, out=False, pages=True)
    wrong = pushed != popped
    words = ""
    if wrong.any():
        x, y = (int(v[0]) for v in np.nonzero(wrong))
        makers = ", ".join(sorted({body.stages[s].name for s, _ in ends.producers}))
        takers = ", ".join(sorted({body.stages[s].name for s, _ in ends.consumers}))
        words = f"on site ({x}, {y}) {makers} pushes {pushed[x, y]} pages in a call and {takers} pops {popped[x, y]}"
    log.at("queues", place).require(not wrong.any(), words, "let both ends move equally many pages")


def first_site(where: Array) -> str:
    """The first site of a mask, in words."""
    xs, ys = np.nonzero(where)
    return f"site ({xs[0]}, {ys[0]})" if len(xs) else "no site"


def _lone(body: Body, ends: Ends, made: Array, lone: Array) -> str:
    if not lone.any():
        return ""
    xs, ys = np.nonzero(lone)
    fed = bool(made[xs[0], ys[0]])
    stages = sorted({body.stages[s].name for s, _ in (ends.consumers if fed else ends.producers)})
    there = f"; {', '.join(stages)} {'pops' if fed else 'pushes'} elsewhere" if stages else ""
    return f"{first_site(lone)} has {'a producer and no consumer' if fed else 'a consumer and no producer'}{there}"
