"""fuse_readers: loads of one page by several sites become one load and a multicast, where the plan says so.

Expects: placed.  Ensures: placed; a multicast load stands on one sender a group, and its pages reach every site of the
group through the queue its consumer had.
Leaves alone: every other stage, items and sites; what every site receives, and in what order.

    load a[0] -> q @0                          ->    load a[0] -> q_sent @0  on the first column
                                                     multicast q_sent @0 -> q @0  to 8x1

A group runs along those sides of the rectangle along which the load's place does not differ.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.body import Body, InPort, OutPort, Queue, Rect, Stage
from spatial.passes.due import due
from spatial.target import Target


def fuse_readers(body: Body, target: Target) -> Body:
    """Return `body` with the plan's multicasts in place."""
    if not due("fuse_readers", "placed", body):
        return body
    if body.plan is None:
        raise Bug("a placed body has no plan to fuse readers by")
    for name in body.plan.multicast:
        if body.stage(name).on is None:
            body = _fuse(body, name)
    return body


def _fuse(body: Body, name: str) -> Body:
    stage = body.stage(name)
    access = stage.access
    if access is None:
        raise Bug(f"stage {name} is multicast and is no load")
    w, h = body.rect
    axes = {int(s[1:]) for f in access.place for s in f.symbols if s[0] == "i"}
    moving = {s for a in axes for s in body.items.coord[a].symbols}
    group = (1 if "sx" in moving else w, 1 if "sy" in moving else h)
    senders = Rect(0, 0, 1 if group[0] > 1 else w, 1 if group[1] > 1 else h)
    out = stage.outs[0]
    queue = body.queue(out.queue)
    sent = Queue(f"{queue.name}_sent", queue.page, queue.prec)
    load = replace(stage, outs=(replace(out, queue=sent.name),), on=senders)
    cast = Stage(
        f"cast_{queue.name}",
        "multicast",
        stage.loops,
        (InPort(sent.name, out.depth, out.pages),),
        (OutPort(queue.name, out.depth, out.pages),),
        on=senders,
        group=group,
    )
    stages: list[Stage] = []
    for s in body.stages:
        stages += [load, cast] if s.name == name else [s]
    return replace(body, stages=tuple(stages), queues=(*body.queues, sent))
