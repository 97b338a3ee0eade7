"""Rules on each stage: the parts of its kind, depths, coordinates in scope, shapes, kinds and formats of its values.

Knows one stage at a time, and the datapaths of the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from spatial.errors import Problem, Refused
from spatial.ir.body import (
    KINDS,
    Access,
    Body,
    Cell,
    Convert,
    Expr,
    InPort,
    Lanes,
    Matmul,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Stage,
    State,
    count,
)
from spatial.ir.typing import PageType, Scope, broadcasts, check_form, coordinates, type_of
from spatial.ir.validate.problems import placed, problem
from spatial.numerics import PRECISIONS
from spatial.target import Target

PLANES = {"values": "i8", "scales": "f16"}
"""Planes of a q8_0 operand and the format of their elements."""


def stages(body: Body, target: Target) -> Iterator[Problem]:
    """Every stage has the parts of its kind, and they have a meaning."""
    queues = {q.name: q for q in body.queues}
    for stage in body.stages:
        found = list(_frame(stage, body, queues))
        yield from found or _parts(stage, body, queues, target)


def moved(stage: Stage) -> InPort | OutPort | None:
    """The port through which the pages of a load or a store go, if there is one and only one."""
    access = stage.access
    index = None if access is None or access.index is None else access.index.port
    named = (index, None if access is None else access.mask)
    ports = stage.outs if stage.kind == "load" else [p for n, p in enumerate(stage.ins) if n not in named]
    return ports[0] if len(ports) == 1 else None


def _frame(stage: Stage, body: Body, queues: Mapping[str, Queue]) -> Iterator[Problem]:
    """Kind, sites, loops, ports and states, before their insides."""
    place = f"stage {stage.name}"
    if stage.kind not in KINDS:
        yield problem(place, f"no stage is of kind {stage.kind!r}")
    if min(stage.loops, default=1) < 1:
        yield problem(place, f"loops of {stage.loops}", "every loop has a step at least")
    on, (w, h) = stage.on, body.rect
    if on is not None and not (on.w >= 1 and on.h >= 1 and 0 <= on.x <= w - on.w and 0 <= on.y <= h - on.h):
        what = f"{on.w}x{on.h} sites at ({on.x}, {on.y})"
        yield problem(place, what, f"the body has {w}x{h}", "name a part of its rectangle")
    ports = [("in", p) for p in stage.ins] + [("out", p) for p in stage.outs]
    for way, port in ports:
        at = f"{place} / {way} {port.queue}"
        if port.queue not in queues:
            yield problem(at, f"no queue is called {port.queue!r}")
        if not -1 <= port.depth <= stage.depth:
            yield problem(at, f"depth {port.depth}", f"the stage has depths -1 to {stage.depth}", "add a loop")
        if min(port.pages, default=1) < 1:
            yield problem(at, f"pages {port.pages}", "a port moves a page at least")
    for state in stage.states:
        at = f"{place} / state {state.name}"
        if state.prec not in PRECISIONS:
            yield problem(at, f"no precision is called {state.prec!r}")
        if not -1 <= state.depth <= state.at <= stage.depth:
            what = f"set at depth {state.depth}, updated at depth {state.at}"
            yield problem(at, what, f"a state is updated within its own depth, and the deepest is {stage.depth}")
        if min(*state.shape, *state.cells, 1) < 1:
            yield problem(at, f"cells {state.cells} of {state.shape}", "none is empty")


def _parts(stage: Stage, body: Body, queues: Mapping[str, Queue], target: Target) -> Iterator[Problem]:
    """What the kind of the stage asks for."""
    place = f"stage {stage.name}"
    for has, what, kinds in (
        (stage.access is not None, "a place", ("load", "store")),
        (bool(stage.states), "states", ("matmul", "generic")),
        (bool(stage.perm), "a permutation", ("permute",)),
        (stage.group != (1, 1), "a group", ("multicast", "scatter")),
    ):
        if has and stage.kind not in kinds:
            yield problem(place, f"a {stage.kind} stage with {what}", f"that belongs to {' and '.join(kinds)}")
    computing = stage.kind in ("matmul", "generic")
    for port in stage.outs:
        if computing != (port.value is not None):
            what = "a page without its value" if computing else "a value in a stage that computes none"
            yield problem(f"{place} / out {port.queue}", what)
            return
    match stage.kind:
        case "load" | "store":
            yield from _mover(stage, body, queues)
        case "matmul" | "generic":
            yield from _computing(stage, body, queues, target)
        case "permute" | "multicast" | "scatter":
            yield from _passing(stage, body, queues)
        case _:
            pass


# ---------------------------------------------------------------- loads and stores


def _mover(stage: Stage, body: Body, queues: Mapping[str, Queue]) -> Iterator[Problem]:
    place = f"stage {stage.name}"
    access, port = stage.access, moved(stage)
    if access is None or port is None or (stage.kind == "load") != bool(stage.outs):
        side = "out port" if stage.kind == "load" else "in port beside those of its index and mask"
        yield problem(place, f"not the parts of a {stage.kind}", f"it has a place and one {side}")
        return
    extra = [p for p in (access.mask, access.index.port if access.index else None) if p is not None]
    if not all(0 <= p < len(stage.ins) for p in extra) or len(set(extra)) < len(extra):
        yield problem(place, "an index or mask of a port that is none", "each names an in port of its own")
        return
    if len(stage.ins) != len(extra) + (stage.kind == "store"):
        yield problem(place, f"{len(stage.ins)} in ports", "those that its index, its mask and its pages need")
    for p in extra:
        if stage.ins[p].depth > port.depth or count(stage.ins[p].pages) != 1:
            why = "an index or a mask is one page, held where the place is used"
            yield problem(f"{place} / in {stage.ins[p].queue}", "it does not serve as index or mask", why)
    yield from _place(stage, access, port, body, queues)


def _place(
    stage: Stage, access: Access, port: InPort | OutPort, body: Body, queues: Mapping[str, Queue]
) -> Iterator[Problem]:
    place = f"stage {stage.name} / at {access.operand}"
    operand = next((o for o in body.operands if o.name == access.operand), None)
    if operand is None:
        yield problem(place, f"no operand is called {access.operand!r}")
        return
    wanted = "in" if stage.kind == "load" else "out"
    if operand.mode != wanted:
        yield problem(place, f"a {stage.kind} of an operand that is {operand.mode}", f"it takes one that is {wanted}")
    ranges = coordinates(stage, body, port.depth, port.pages)
    for form in access.place:
        try:
            check_form(form, ranges, "the place")
        except Refused as e:
            yield from placed(place, e)
    if access.index is not None:
        index = queues[stage.ins[access.index.port].queue]
        if access.index.axis not in (0, 1, 2) or PRECISIONS[index.prec].kind != "int":
            yield problem(place, f"an index of {index.prec} on axis {access.index.axis}", "an integer on an axis")
    if access.mask is not None:
        mask = queues[stage.ins[access.mask].queue]
        rows = queues[port.queue].page[0]
        if stage.kind == "load" or mask.page != (rows, 1):
            yield problem(place, f"a mask of {mask.page[0]}x{mask.page[1]}", f"a store of {rows} rows takes {rows}x1")
    yield from _elements(place, operand, access.plane, queues[port.queue])


def _elements(place: str, operand: Operand, plane: str, queue: Queue) -> Iterator[Problem]:
    """The pages are of the kind of the elements."""
    quantised = operand.layout == "q8_0"
    if plane not in (PLANES if quantised else ("",)):
        why = f"its planes are {', '.join(PLANES)}" if quantised else "only a q8_0 operand has planes"
        yield problem(place, f"the plane {plane!r}", why)
        return
    prec = PLANES[plane] if quantised else operand.prec
    if PRECISIONS[prec].kind != PRECISIONS[queue.prec].kind:
        why = "moving pages does not convert between floats and integers"
        yield problem(place, f"elements of {prec} as pages of {queue.prec}", why, "convert in a generic stage")


# ---------------------------------------------------------------- computing stages


def _computing(stage: Stage, body: Body, queues: Mapping[str, Queue], target: Target) -> Iterator[Problem]:
    place = f"stage {stage.name}"
    if stage.kind == "matmul" and not stage.states:
        yield problem(place, "a matmul without a state", "a product is added to an accumulator")
    for n, state in enumerate(stage.states):
        ranges = coordinates(stage, body, state.at)
        scope = Scope(stage, queues, target, state.at, range(-1, state.at + 1), ranges)
        try:
            yield from _state(f"{place} / state {state.name}", n, state, scope)
        except Refused as e:
            yield from placed(f"{place} / state {state.name}", e)
    for port in stage.outs:
        ranges = coordinates(stage, body, port.depth, port.pages)
        scope = Scope(stage, queues, target, port.depth, range(port.depth, port.depth + 1), ranges)
        at, queue = f"{place} / out {port.queue}", queues[port.queue]
        try:
            assert port.value is not None  # told by `_parts`
            yield from _formats(at, port.value, scope, product=False)
            yield from _filled(at, type_of(port.value, scope), queue.page, queue.prec)
        except Refused as e:
            yield from placed(at, e)
        if queue.prec not in target.vector.holds:
            yield problem(at, f"pages of {queue.prec}", f"the datapath holds {', '.join(target.vector.holds)}")


def _state(at: str, n: int, state: State, scope: Scope) -> Iterator[Problem]:
    if isinstance(state.init, float) != (PRECISIONS[state.prec].kind == "float"):
        yield problem(at, f"{state.init!r} in a state of {state.prec}", "a float is a float, an int an int")
    own = Cell(n, state.cell)
    type_of(own, scope)
    match state.update, scope.stage.kind:
        case Op("add", (Cell() as cell, Matmul() as matmul)), "matmul":
            if cell != own:
                yield problem(at, "a product added to another cell than the one it sets", "it adds to its own")
            made = type_of(matmul, scope)
            if made.prec != state.prec:
                yield problem(at, f"a product kept in {state.prec}", f"the matrix datapath accumulates in {made.prec}")
        case _, "matmul":
            why = "a matmul adds one product to its own cell"
            yield problem(at, "an update of another form", why, "`acc + matmul(a, b)`; the rest is for other stages")
            return
        case update, _:
            made = type_of(update, scope)
    yield from _formats(at, state.update, scope, product=scope.stage.kind == "matmul")
    yield from _filled(at, made, state.shape, state.prec)


def _filled(at: str, made: PageType, shape: tuple[int, int], prec: str) -> Iterator[Problem]:
    """The value fills the page and is of its kind."""
    if not broadcasts(made.shape, shape):
        what = f"a value of {made.shape[0]}x{made.shape[1]} for a page of {shape[0]}x{shape[1]}"
        yield problem(at, what, "sides agree, or are 1")
    if made.kind != PRECISIONS[prec].kind:
        yield problem(at, f"a value of kind {made.kind} for {prec}", mend=f"convert({prec}, …)")


def _formats(at: str, expr: Expr, scope: Scope, product: bool) -> Iterator[Problem]:
    """Formats exist on the datapath that uses them; products stand where they may."""
    vector, matrix = scope.target.vector, scope.target.matrix
    match expr:
        case Matmul(a, b):
            if not product:
                yield problem(at, "a product inside an expression", "it is added to the state of a matmul stage")
                return
            precs = [scope.queues[scope.stage.ins[p.port].queue].prec for p in (a, b)]
            if not (all(p in matrix.floats for p in precs) or all(p in matrix.ints for p in precs)):
                why = f"the matrix datapath takes {', '.join(matrix.floats)}, or {', '.join(matrix.ints)}"
                yield problem(at, f"a product of {precs[0]} and {precs[1]}", why, "convert in a stage before")
        case Page(port):
            prec = scope.queues[scope.stage.ins[port].queue].prec
            if prec not in vector.holds:
                yield problem(at, f"pages of {prec}", f"the vector datapath holds {', '.join(vector.holds)}")
        case Convert(prec, arg):
            if prec not in (*vector.holds, vector.float, vector.int):
                yield problem(at, f"a conversion to {prec}", f"the vector datapath holds {', '.join(vector.holds)}")
            yield from _formats(at, arg, scope, product=False)
        case Op(_, args):
            for arg in args:
                yield from _formats(at, arg, scope, product)
        case Lanes(_, _, arg):
            yield from _formats(at, arg, scope, product=False)
        case _:
            pass


# ---------------------------------------------------------------- pages passed on


def _passing(stage: Stage, body: Body, queues: Mapping[str, Queue]) -> Iterator[Problem]:
    """Permute, multicast, scatter: as many pages out as in, of one format."""
    place = f"stage {stage.name}"
    if len(stage.ins) != 1 or len(stage.outs) != 1:
        what = f"{len(stage.ins)} in ports and {len(stage.outs)} out ports"
        yield problem(place, what, f"a {stage.kind} has one each")
        return
    (taken,), (given,) = stage.ins, stage.outs
    a, b = queues[taken.queue], queues[given.queue]
    members = prod(stage.group) if stage.kind == "scatter" else 1
    if taken.depth != given.depth or count(taken.pages) != count(given.pages) * members:
        what = f"{count(taken.pages)} pages in at depth {taken.depth}, {count(given.pages)} out at depth {given.depth}"
        yield problem(place, what, "pages pass at one depth, none made, none lost")
    if min(stage.group) < 1:
        yield problem(place, f"a group of {stage.group[0]}x{stage.group[1]}", "it has a member at least")
    page = a.page
    if stage.kind == "permute":
        if stage.perm == "transpose":
            page = (a.page[1], a.page[0])
        elif isinstance(stage.perm, str) or not stage.perm or not all(0 <= n < a.page[1] for n in stage.perm):
            why = f"it lists lanes, 0 to {a.page[1] - 1}, or is transpose"
            yield problem(place, "no permutation of the lanes of a row", why)
            return
        else:
            page = (a.page[0], len(stage.perm))
    if page != b.page or a.prec != b.prec:
        what = f"pages of {page[0]}x{page[1]} {a.prec} for a queue of {b.page[0]}x{b.page[1]} {b.prec}"
        yield problem(place, what, "pages pass as they are")
