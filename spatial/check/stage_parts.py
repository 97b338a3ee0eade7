"""Obligation 1, continued: the parts of each stage kind, and the kinds and shapes of what it pushes and keeps.

Serves `wellformed`, which has settled names, ports and loops before. Knows no target and no tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spatial.check.coords import coordinates, page_ranges
from spatial.check.typing_rules import Reach, fits, form_fault, product, typed
from spatial.check.verdict import Spot
from spatial.errors import Bug
from spatial.ir.body import Access, Body, Cell, InPort, Matmul, Op, OutPort, Queue, Stage, count
from spatial.numerics import PRECISIONS

Queues = Mapping[str, Queue]


def check_parts(body: Body, stage: Stage, queues: Queues, at: Spot) -> None:
    """Judge the parts of one stage."""
    match stage.kind:
        case "load" | "store":
            _mover(body, stage, queues, at)
        case "matmul" | "generic":
            _compute(body, stage, queues, at)
        case _:
            _passing(stage, queues, at)


def named_ports(access: Access) -> tuple[int, ...]:
    """In ports that an access names: its mask's and its index's."""
    index = None if access.index is None else access.index.port
    return tuple(p for p in (access.mask, index) if p is not None)


def access_of(stage: Stage) -> Access:
    """The access of a load or store whose shape is proved."""
    if stage.access is None:
        raise Bug(f"the {stage.kind} {stage.name} has no access")
    return stage.access


def moved_port(stage: Stage) -> InPort | OutPort:
    """The port through which the pages of a load or store go."""
    if stage.kind == "load":
        return stage.outs[0]
    named = named_ports(access_of(stage))
    return next(p for n, p in enumerate(stage.ins) if n not in named)


def _mover(body: Body, stage: Stage, queues: Queues, at: Spot) -> None:
    load, access = stage.kind == "load", stage.access
    if access is None:
        at.require(False, f"the {stage.kind} has no access")
        return
    named = named_ports(access)
    fine = at.require(
        not stage.states
        and not stage.perm
        and len(stage.outs) == (1 if load else 0)
        and all(p.value is None for p in stage.outs)
        and all(0 <= p < len(stage.ins) for p in named)
        and len(set(named)) == len(named)
        and len(stage.ins) == len(named) + (0 if load else 1)
        and not (load and access.mask is not None),
        f"a {stage.kind} has {'one out port' if load else 'one in port'}, the ports its access names, and nothing else",
    )
    at.require(any(o.name == access.operand for o in body.operands), f"no operand is called {access.operand!r}")
    if not fine:
        return
    port = moved_port(stage)
    for p in named:
        at.at(f"in port {p}").require(
            stage.ins[p].depth <= port.depth and count(stage.ins[p].pages) == 1,
            f"an index or a mask is one page, held at depth {port.depth}",
        )
    if access.mask is not None:
        rows, page = queues[port.queue].page[0], queues[stage.ins[access.mask].queue].page
        at.require(page == (rows, 1), f"a mask page of {page[0]} x {page[1]} switches {rows} rows")
    ranges = coordinates(body, stage, port.depth) | page_ranges(port.pages)
    for axis, form in zip(("slice", "row", "column"), access.place, strict=True):
        fault = form_fault(form, ranges)
        at.at(axis).require(not fault, fault)
    if access.index is not None:
        at.require(access.index.axis in (0, 1, 2), f"the index is on axis {access.index.axis}")
        page = queues[stage.ins[access.index.port].queue]
        at.require(PRECISIONS[page.prec].kind == "int", f"the index comes from a queue of {page.prec}")


def _compute(body: Body, stage: Stage, queues: Queues, at: Spot) -> None:
    at.require(
        stage.access is None and not stage.perm and bool(stage.outs or stage.states),
        f"a {stage.kind} stage has states and out ports, no access and no permutation",
    )
    for n in range(len(stage.states)):
        _state(body, stage, n, queues, at.at(f"state {stage.states[n].name}"))
    for n, port in enumerate(stage.outs):
        here = at.at(f"out port {n}")
        here.require(port.value is not None, "it pushes no value")
        if port.value is None:
            continue
        ranges = coordinates(body, stage, port.depth) | page_ranges(port.pages)
        got = typed(port.value, Reach(stage, queues, port.depth, ranges, (port.depth, port.depth)))
        queue = queues[port.queue]
        if isinstance(got, str):
            here.reject(got)
        else:
            here.require(
                got.kind == PRECISIONS[queue.prec].kind and fits((got.rows, got.cols), queue.page),
                f"a {got.kind} of {got.rows} x {got.cols} is no page of {queue.page[0]} x {queue.page[1]} {queue.prec}",
            )


def _state(body: Body, stage: Stage, n: int, queues: Queues, at: Spot) -> None:
    state = stage.states[n]
    kind = PRECISIONS[state.prec].kind
    at.require(kind == "float" or isinstance(state.init, int), f"{state.init!r} is no initial {kind}")
    reach = Reach(stage, queues, state.at, coordinates(body, stage, state.at), (-1, state.at))
    own = Cell(n, state.cell)
    chosen = typed(own, reach)
    match state.update:
        case Op("add", (Cell() as cell, Matmul() as pages)) if stage.kind == "matmul":
            at.require(cell == own, "a product adds to another cell than its own")
            made = product(pages, reach)
            got = made if isinstance(made, str) else made[0]
        case _ if stage.kind == "matmul":
            got = "the update of a product is not add(state, matmul(a, b))"
        case update:
            got = typed(update, reach)
    if isinstance(got, str) or isinstance(chosen, str):
        at.require(False, got if isinstance(got, str) else str(chosen))
    else:
        at.require(
            got.kind == kind and fits((got.rows, got.cols), state.shape),
            f"a {got.kind} of {got.rows} x {got.cols} is no cell of {state.shape[0]} x {state.shape[1]} {state.prec}",
        )


def _passing(stage: Stage, queues: Queues, at: Spot) -> None:
    """Permute, multicast, scatter: one port in, one out, pages passing through."""
    fine = at.require(
        len(stage.ins) == len(stage.outs) == 1
        and not stage.states
        and stage.access is None
        and stage.outs[0].value is None
        and min(stage.group) >= 1
        and bool(stage.perm) == (stage.kind == "permute"),
        f"a {stage.kind} stage has one in port, one out port, and {'lanes' if stage.kind == 'permute' else 'a group'}",
    )
    if not fine:
        return
    (taken,), (given,) = stage.ins, stage.outs
    a, b = queues[taken.queue], queues[given.queue]
    members = prod(stage.group) if stage.kind == "scatter" else 1
    at.require(
        taken.depth == given.depth and count(taken.pages) == count(given.pages) * members,
        f"{count(taken.pages)} pages at depth {taken.depth} become {count(given.pages)} at depth {given.depth}",
        "pop and push equally many pages at one depth",
    )
    page = a.page
    match stage.perm:
        case "transpose":
            page = (page[1], page[0])
        case tuple() as lanes:
            if lanes:
                fault = f"the lane map names a lane outside the {page[1]} of a row"
                at.require(all(0 <= n < page[1] for n in lanes), fault)
                page = (page[0], len(lanes))
        case word:
            at.require(False, f"no permutation is called {word!r}", "name it transpose, or the lanes")
    at.require(
        page == b.page and a.prec == b.prec,
        f"pages of {page[0]} x {page[1]} {a.prec} go into a queue of {b.page[0]} x {b.page[1]} {b.prec}",
    )
