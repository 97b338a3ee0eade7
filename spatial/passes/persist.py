"""persist: each site's turns become one resident loop, idle ones included; what stays is loaded once.

Expects: scheduled.  Ensures: persistent; engine orders cover the whole call, and the plan's resident loads happen
before the first turn, their pages held to the end.
Leaves alone: operands, items, sites, the plan; the stages and queues on the way of no resident load; what each turn
computes.

    load a[32*l1] -> q @1 pages 2  loops [9]        ->    load a[64*p0 + 32*p1] -> q @-1 pages 9x2
    product (q @1 pages 2: q[l2])                         product (q @-1 pages 9x2: q[l1, l2])
    engine mover0: loop 9 { load@1 }                      engine mover0: load@-1
    engine compute: loop 9 { product@1 }                  engine compute: loop 4 { loop 9 { product@1 } }
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Coord, Engine, Expr, InPort, Loop, OutPort, Page, Stage, Step, count
from spatial.ir.rewrite import map_leaves
from spatial.passes.due import due
from spatial.target import Target


def persist(body: Body, target: Target) -> Body:
    """Return `body` with resident loops and resident operands."""
    if not due("persist", "scheduled", body):
        return body
    if body.plan is None:
        raise Bug("a scheduled body has no plan that says what stays")
    stay: set[str] = set()
    for name in body.plan.resident:
        body, moved = _stay(body, name)
        stay |= moved
    turns = prod(body.items.trips)
    engines = tuple(Engine(e.name, _resident(e.order, stay, turns)) for e in body.engines)
    return replace(body, engines=engines, phase="persistent")


def _resident(order: tuple[Loop | Step, ...], stay: set[str], turns: int) -> tuple[Loop | Step, ...]:
    """The order of a whole call: what stays first, then the turns."""
    first = tuple(Step(n, -1) for n in _stages(order) if n in stay)
    rest = _without(order, stay)
    if not rest:
        return first
    return (*first, *rest) if turns == 1 else (*first, Loop(turns, rest))


def _stages(order: tuple[Loop | Step, ...]) -> list[str]:
    found: list[str] = []
    for node in order:
        found += [node.stage] if isinstance(node, Step) else _stages(node.body)
    return found


def _without(order: tuple[Loop | Step, ...], stay: set[str]) -> tuple[Loop | Step, ...]:
    kept: list[Loop | Step] = []
    for node in order:
        match node:
            case Step():
                kept += [] if node.stage in stay else [node]
            case Loop():
                inner = _without(node.body, stay)
                kept += [Loop(node.count, inner)] if inner else []
    return tuple(kept)


def _stay(body: Body, name: str) -> tuple[Body, set[str]]:
    """The body with load `name`, and what carries its pages on unchanged, moved before the first turn."""
    load = body.stage(name)
    depth, loops = load.outs[0].depth, load.loops
    moved: dict[str, Stage] = {}
    queue = load.outs[0].queue
    held = {queue}
    moved[name] = _once(load, depth, loops)
    while True:
        consumer = next(s for s in body.stages if any(p.queue == queue for p in s.ins))
        if consumer.kind not in ("multicast", "permute"):
            break
        moved[consumer.name] = _once(consumer, depth, loops)
        queue = consumer.outs[0].queue
        held.add(queue)
    moved[consumer.name] = _hold(consumer, queue, depth, loops)
    stages = tuple(moved.get(s.name, s) for s in body.stages)
    pages = {p.queue: count(p.pages) for s in moved.values() for p in (*s.ins, *s.outs) if p.queue in held}
    queues = tuple(replace(q, cap=pages[q.name]) if q.name in held else q for q in body.queues)
    return replace(body, stages=stages, queues=queues), {n for n in moved if n != consumer.name}


def _once(stage: Stage, depth: int, loops: tuple[int, ...]) -> Stage:
    """The stage moving, once a call, every page it moved in a turn: its loops become page coordinates."""
    extra = loops[:depth]

    def port(p: InPort) -> InPort:
        return InPort(p.queue, -1, (*extra, *p.pages))

    old = stage.outs[0].pages
    shift = {f"p{k}": Affine.sym(f"p{k + len(extra)}") for k in range(len(old))}
    shift |= {f"l{k + 1}": Affine.sym(f"p{k}") for k in range(len(extra))}
    access = stage.access
    if access is not None:
        s, r, c = (f.subst(shift) for f in access.place)
        access = replace(access, place=(s, r, c))
    outs = tuple(OutPort(o.queue, -1, (*extra, *o.pages)) for o in stage.outs)
    return replace(stage, loops=(), ins=tuple(port(p) for p in stage.ins), outs=outs, access=access)


def _hold(stage: Stage, queue: str, depth: int, loops: tuple[int, ...]) -> Stage:
    """The stage taking the pages of `queue` once, for the whole call, and choosing among them by its loops."""
    extra = loops[:depth]
    choice = tuple(Affine.sym(f"l{k + 1}") for k in range(len(extra)))
    at = next(n for n, p in enumerate(stage.ins) if p.queue == queue)

    def leaf(x: Page | Cell | Coord) -> Expr:
        return Page(x.port, (*choice, *x.at)) if isinstance(x, Page) and x.port == at else x

    ins = tuple(InPort(p.queue, -1, (*extra, *p.pages)) if n == at else p for n, p in enumerate(stage.ins))
    states = tuple(replace(s, update=map_leaves(s.update, leaf)) for s in stage.states)
    outs = tuple(replace(o, value=o.value and map_leaves(o.value, leaf)) for o in stage.outs)
    return replace(stage, ins=ins, outs=outs, states=states)
