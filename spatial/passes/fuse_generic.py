"""fuse_generic: join chains of Generic stages that the destination registers can carry.

Expects: template.  Ensures: template, the same values leave the body, and no two stages are left that may be joined.
Leaves alone: loads, stores, products, permutations, items; the order of what is not joined.

    v = generic (a + b)        ->      y = generic max(a + b, 0)
    y = generic max(v, 0)

A producer joins its consumer where it holds no accumulator the consumer would multiply, both move one page of the
queue between them at one depth, the queue does not round, and the joined expression keeps no more tiles live than the
registers hold, and has no more levels than a stage may have. A consumer without accumulators also joins a producer that
has some: it maps what comes out. The first pair that may be joined, in the order of the producers, is joined first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from spatial.ir.body import DEEPEST, Body, Cell, Coord, Expr, Page, Queue, Stage
from spatial.ir.registers import accumulator_tiles, live_tiles
from spatial.ir.rewrite import expressions, levels, map_leaves
from spatial.passes.due import due
from spatial.target import Target


def fuse_generic(body: Body, target: Target) -> Body:
    """Return `body` with every joinable chain of Generic stages joined."""
    if not due("fuse_generic", "template", body):
        return body
    work = _Fusion(
        {s.name: s for s in body.stages},
        {q.name: q for q in body.queues},
        {p.queue: s.name for s in body.stages for p in s.outs},
        {p.queue: s.name for s in body.stages for p in s.ins},
        target,
    )
    work.run()
    return replace(body, stages=tuple(work.stages.values()), queues=tuple(work.queues.values()))


@dataclass
class _Fusion:
    """The stages and queues that are left, by name, and the stage at either end of each queue."""

    stages: dict[str, Stage]
    queues: dict[str, Queue]
    producer: dict[str, str]
    consumer: dict[str, str]
    target: Target

    def run(self) -> None:
        """Join pairs until none is left that may be.

        A pair that was looked at is looked at again only where one of its stages has become another.
        """
        names = list(self.stages)
        place = {name: n for n, name in enumerate(names)}
        todo = list(range(len(names)))
        heapify(todo)
        waiting = set(todo)
        while todo:
            at = heappop(todo)
            waiting.remove(at)
            first = self.stages.get(names[at])
            joined = None if first is None else self.joined(first)
            if first is None or joined is None:
                continue
            del self.stages[first.name], self.queues[first.outs[0].queue]
            self.stages[joined.name] = joined
            self.consumer |= {p.queue: joined.name for p in first.ins}
            for name in (joined.name, *(self.producer[p.queue] for p in joined.ins)):
                if place[name] not in waiting:
                    waiting.add(place[name])
                    heappush(todo, place[name])

    def joined(self, first: Stage) -> Stage | None:
        """The stage joined to the one that takes its pages; None where that may not be."""
        if first.kind != "generic" or len(first.outs) != 1:
            return None
        queue = self.queues[first.outs[0].queue]
        second = self.stages[self.consumer[queue.name]]
        if second.kind != "generic" or self.rounds(queue):
            return None
        stage = join(first, second)
        if stage is None or live_tiles(stage) + accumulator_tiles(stage, self.target) > self.target.vector.registers:
            return None
        return None if any(levels(e) > DEEPEST for e in expressions(stage)) else stage

    def rounds(self, queue: Queue) -> bool:
        """Whether the queue holds less than the datapath computes in, so that joining its ends would change values."""
        return queue.prec not in (self.target.vector.float, self.target.vector.int)


def join(first: Stage, second: Stage) -> Stage | None:
    """The two stages as one, `first`'s value in place of its page; None where their nests do not allow it."""
    out = first.outs[0]
    at = next(n for n, p in enumerate(second.ins) if p.queue == out.queue)
    port = second.ins[at]
    if out.value is None or out.depth != port.depth or out.pages or port.pages:
        return None
    if first.states and (second.states or any(o.depth != out.depth for o in second.outs)):
        return None
    if first.states and len(first.loops) < len(second.loops):
        return None
    if not first.states and len(first.loops) > len(second.loops):
        return None
    ins = [p for n, p in enumerate(second.ins) if n != at]
    shift = {n: n - (n > at) for n in range(len(second.ins)) if n != at}
    base = len(ins)
    value = map_leaves(out.value, lambda x: Page(x.port + base, x.at) if isinstance(x, Page) else x)

    def leaf(x: Page | Cell | Coord) -> Expr:
        if isinstance(x, Page):
            return value if x.port == at else Page(shift[x.port], x.at)
        return x

    def moved(x: Page | Cell | Coord) -> Expr:
        return Page(x.port + base, x.at) if isinstance(x, Page) else x

    own = tuple(replace(s, update=map_leaves(s.update, moved)) for s in first.states)
    theirs = tuple(replace(s, update=map_leaves(s.update, leaf)) for s in second.states)
    outs = tuple(replace(o, value=o.value and map_leaves(o.value, leaf)) for o in second.outs)
    longer = first if len(first.loops) >= len(second.loops) else second
    return replace(second, loops=longer.loops, ins=(*ins, *first.ins), outs=outs, states=own or theirs)
