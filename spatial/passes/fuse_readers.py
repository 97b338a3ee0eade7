"""fuse_readers: loads of one page by several sites become one load and a multicast, and loads of columns of a table by
workers become those of readers beside the banks and a scatter, where the plan says so.

Expects: placed.  Ensures: placed; a multicast load stands on one sender a group, and its pages reach every site of the
group through the queue its consumer had; a scattered one stands on one reader for so many sites of a row, loads the
pages of all of them and hands each its own.
Leaves alone: every other stage, items and sites; what every site receives, and in what order.

    load a[0] -> q @0                          ->    load a[0] -> q_sent @0  on the first column
                                                     multicast q_sent @0 -> q @0  to 8x1

    load w[32*i0] -> q @0                      ->    load w[32*i0 + 32*p0] -> q_sent @0 pages 4  on columns 0 and 4
                                                     scatter q_sent @0 pages 4 -> q @0  to 4x1

A group runs along those sides of the rectangle along which the load's place does not differ; readers and the sites
after them in their row have items that follow each other. Stages of readers in several columns are several, for a
stage stands on one rectangle; their queues are one, for each site has its own.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Access, Body, InPort, OutPort, Queue, Rect, Stage
from spatial.passes.due import due
from spatial.plan.engines import copy_name, sender_name
from spatial.target import Target


def fuse_readers(body: Body, target: Target) -> Body:
    """Return `body` with the plan's multicasts and scatters in place."""
    if not due("fuse_readers", "placed", body):
        return body
    if body.plan is None:
        raise Bug("a placed body has no plan to fuse readers by")
    plan = body.plan
    for name in plan.multicast:
        if body.stage(name).on is None:
            body = _fuse(body, name)
    for name, members in plan.scatter:
        if any(s.name == name and s.on is None for s in body.stages):
            body = _scatter(body, name, members)
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
    sent = _sent(body, out.queue)
    load = replace(stage, outs=(replace(out, queue=sent.name),), on=senders)
    ins, outs = (InPort(sent.name, out.depth, out.pages),), (OutPort(out.queue, out.depth, out.pages),)
    cast = Stage(sender_name(out.queue), "multicast", stage.loops, ins, outs, on=senders, group=group)
    return _put(body, name, [load, cast], sent)


def _scatter(body: Body, name: str, members: int) -> Body:
    stage = body.stage(name)
    access = stage.access
    if access is None:
        raise Bug(f"stage {name} is scattered and is no load")
    w, h = body.rect
    out = stage.outs[0]
    sent = _sent(body, out.queue)
    pages = (members, *out.pages)
    loads: list[Stage] = []
    casts: list[Stage] = []
    for column in range(0, w, members):
        on = Rect(column, 0, 1, h)
        load, cast = copy_name(name, column), copy_name(sender_name(out.queue), column)
        moved = (OutPort(sent.name, out.depth, pages),)
        loads.append(replace(stage, name=load, outs=moved, access=_of_all(access, out), on=on))
        ins, outs = (InPort(sent.name, out.depth, pages),), (OutPort(out.queue, out.depth, out.pages),)
        casts.append(Stage(cast, "scatter", stage.loops, ins, outs, on=on, group=(members, 1)))
    return _put(body, name, [*loads, *casts], sent)


def _of_all(access: Access, out: OutPort) -> Access:
    """The place of the pages of a reader and of the members after it, whose items follow on its own."""
    later = {f"p{n}": Affine.sym(f"p{n + 1}") for n in range(len(out.pages))}
    axes = {s for f in access.place for s in f.symbols if s[0] == "i"}
    later |= {axis: Affine.sym(axis) + Affine.sym("p0") for axis in axes}
    s, r, c = (f.subst(later) for f in access.place)
    return replace(access, place=(s, r, c))


def _sent(body: Body, queue: str) -> Queue:
    """The queue in which pages wait to be sent."""
    found = body.queue(queue)
    return Queue(f"{found.name}_sent", found.page, found.prec)


def _put(body: Body, name: str, stages: list[Stage], sent: Queue) -> Body:
    """The body with stages in the place of stage `name`."""
    found: list[Stage] = []
    for s in body.stages:
        found += stages if s.name == name else [s]
    return replace(body, stages=tuple(found), queues=(*body.queues, sent))
