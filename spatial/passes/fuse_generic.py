"""fuse_generic: join chains of Generic stages that the destination registers can carry.

Expects: template.  Ensures: template, the same values leave the body, and no two stages are left that may be joined.
Leaves alone: loads, stores, products, permutations, items; the order of what is not joined.

    v = generic (a + b)        ->      y = generic max(a + b, 0)
    y = generic max(v, 0)

A producer joins its consumer where it holds no accumulator the consumer would multiply, both move one page of the
queue between them at one depth, and the joined expression keeps no more tiles live than the registers hold. A consumer
without accumulators also joins a producer that has some: it maps what comes out.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.ir.body import Body, Cell, Coord, Expr, Page, Stage
from spatial.ir.rewrite import accumulator_tiles, live_tiles, map_leaves
from spatial.passes.due import due
from spatial.target import Target


def fuse_generic(body: Body, target: Target) -> Body:
    """Return `body` with every joinable chain of Generic stages joined."""
    if not due("fuse_generic", "template", body):
        return body
    while True:
        joined = _join_one(body, target)
        if joined is None:
            return body
        body = joined


def _join_one(body: Body, target: Target) -> Body | None:
    """The body with the first joinable pair joined, or None."""
    consumer = {p.queue: s for s in body.stages for p in s.ins}
    for first in body.stages:
        if first.kind != "generic" or len(first.outs) != 1:
            continue
        second = consumer.get(first.outs[0].queue)
        if second is None or second.kind != "generic":
            continue
        stage = join(first, second)
        if stage is None or live_tiles(stage) + accumulator_tiles(stage, target) > target.vector.registers:
            continue
        gone = first.outs[0].queue
        stages = tuple(stage if s.name == second.name else s for s in body.stages if s.name != first.name)
        queues = tuple(q for q in body.queues if q.name != gone)
        if _narrows(body, first, gone, target):
            continue
        return replace(body, stages=stages, queues=queues)
    return None


def _narrows(body: Body, first: Stage, queue: str, target: Target) -> bool:
    """Whether the queue between rounds to less than the datapath computes in, so that joining would change values."""
    return body.queue(queue).prec not in (target.vector.float, target.vector.int)


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
