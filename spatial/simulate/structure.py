"""Is a body well enough formed to be run? Ports, places and page shapes of every stage, all problems at once.

What the executors take for granted; a body that a compiler made passes, one written by hand or damaged is refused here
with the stage named. Knows no schedule and no data. (Kinds of values are met, and refused, where they are computed.)
"""

from __future__ import annotations

from collections.abc import Iterator

from spatial.errors import Problem, Refused, Unsupported
from spatial.ir.body import (
    OPS,
    Body,
    Cell,
    Const,
    Convert,
    Coord,
    Expr,
    InPort,
    Lanes,
    Matmul,
    Op,
    OutPort,
    Page,
    Stage,
    State,
    count,
)
from spatial.numerics import PRECISIONS
from spatial.simulate.links import FOREIGN, SPREADING, pages_moved
from spatial.simulate.process import turns_of

Shape = tuple[int, int]
LONGEST = 20_000_000
"""Pages one site may move in a call: a schedule beyond it is not run."""


class _Wrong(Exception):
    """A problem inside an expression: what is wrong with it."""


def check_structure(body: Body) -> None:
    """Raise `Refused` with every problem that keeps `body` from being run, `Unsupported` for what never is."""
    for stage in body.stages:
        if stage.kind in FOREIGN:
            raise Unsupported(f"stage {stage.name} is a {stage.kind}", "programs over several chips are not simulated")
    problems = [*_frame(body), *(p for stage in body.stages for p in _stage(body, stage))]
    if problems:
        raise Refused(problems)
    turns = turns_of(body)
    moved = sum(pages_moved(p.depth, p.pages, s.loops, turns) for s in body.stages for p in (*s.ins, *s.outs))
    if moved > LONGEST:
        raise Unsupported(f"a site moves {moved} pages in a call", f"schedules up to {LONGEST} are run")


def _frame(body: Body) -> Iterator[Problem]:
    extents = [*body.rect, *body.items.trips, *body.items.grid, *(n for s in body.stages for n in s.loops)]
    ports = [p for s in body.stages for p in (*s.ins, *s.outs)]
    extents += [n for p in ports for n in p.pages] + [n for q in body.queues for n in q.page]
    extents += [n for s in body.stages for state in s.states for n in (*state.cells, *state.shape)]
    if any(n < 1 for n in extents):
        yield Problem("an extent of the body is below 1", "rectangle, trips, grid, loops and pages count from 1")
    if len(body.items.coord) != len(body.items.grid):
        yield Problem(f"{len(body.items.coord)} item coordinates meet a grid of {len(body.items.grid)} axes")
    for what, names in (("stage", [s.name for s in body.stages]), ("queue", [q.name for q in body.queues])):
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield Problem(f"two {what}s are called {name}")
    for name in sorted({p.queue for p in ports} - {q.name for q in body.queues}):
        yield Problem(f"a port uses queue {name}", "the body has no such queue")
    for prec in sorted({q.prec for q in body.queues} | {s.prec for t in body.stages for s in t.states}):
        if prec not in PRECISIONS:
            yield Problem(f"no precision is called {prec}")


def _stage(body: Body, stage: Stage) -> Iterator[Problem]:
    known = {q.name for q in body.queues}
    if any(p.queue not in known for p in (*stage.ins, *stage.outs)):
        return
    for port in (*stage.ins, *stage.outs):
        if not -1 <= port.depth <= stage.depth:
            yield Problem(f"stage {stage.name} has a port of depth {port.depth}", f"its nest ends at {stage.depth}")
    match stage.kind:
        case "load" | "store":
            yield from _moving(body, stage)
        case "permute" | "multicast" | "scatter":
            yield from _handing(body, stage)
        case "generic" | "matmul":
            yield from _computing(body, stage)
        case _:
            yield Problem(f"stage {stage.name} is a {stage.kind}", "no stage kind is called so")


def _moving(body: Body, stage: Stage) -> Iterator[Problem]:
    access = stage.access
    if access is None:
        yield Problem(f"stage {stage.name} is a {stage.kind} without a place")
        return
    if access.operand not in {o.name for o in body.operands}:
        yield Problem(f"stage {stage.name} reaches operand {access.operand}", "the body has no such operand")
    named = [n for n in (access.index.port if access.index else None, access.mask) if n is not None]
    if any(not 0 <= n < len(stage.ins) for n in named):
        yield Problem(f"stage {stage.name} names a port it does not have", "as its index or its mask")
        return
    outs, ins = (1, len(named)) if stage.kind == "load" else (0, len(named) + 1)
    if len(stage.outs) != outs or len(stage.ins) != ins or len(set(named)) != len(named):
        yield Problem(
            f"{stage.kind} {stage.name} has {len(stage.ins)} in ports and {len(stage.outs)} out ports",
            f"it needs {ins} and {outs}",
        )
        return
    if access.index is not None and not 0 <= access.index.axis <= 2:
        yield Problem(f"stage {stage.name} adds its index on axis {access.index.axis}", "there are 0, 1 and 2")
    data = next((p for n, p in enumerate((*stage.ins, *stage.outs)) if n not in named), None)
    if access.mask is not None and data is not None:
        rows, mask = body.queue(data.queue).page[0], body.queue(stage.ins[access.mask].queue).page
        if mask != (rows, 1):
            yield Problem(f"store {stage.name} has a mask of {mask[0]} x {mask[1]}", f"it needs {rows} x 1")
    if data is not None and any(stage.ins[n].depth > data.depth for n in named):
        yield Problem(f"stage {stage.name} moves pages at depth {data.depth}", "its index or mask is popped deeper")


def _handing(body: Body, stage: Stage) -> Iterator[Problem]:
    if len(stage.ins) != 1 or len(stage.outs) != 1:
        yield Problem(
            f"{stage.kind} {stage.name} has {len(stage.ins)} in ports and {len(stage.outs)} out ports",
            "it needs one of each",
        )
        return
    popped, pushed = stage.ins[0], stage.outs[0]
    source, result = body.queue(popped.queue), body.queue(pushed.queue)
    times = stage.group[0] * stage.group[1] if stage.kind == "scatter" else 1
    if popped.depth != pushed.depth or count(popped.pages) != times * count(pushed.pages):
        yield Problem(
            f"{stage.kind} {stage.name} pops {count(popped.pages)} pages at depth {popped.depth} and pushes "
            f"{count(pushed.pages)} at depth {pushed.depth}",
            f"it pops {times} for each it pushes",
        )
    page = source.page
    if stage.kind == "permute":
        if stage.perm == "transpose":
            page = (page[1], page[0])
        elif isinstance(stage.perm, str) or any(not 0 <= lane < page[1] for lane in stage.perm):
            yield Problem(f"permute {stage.name} has no permutation of {page[1]} lanes")
        else:
            page = (page[0], len(stage.perm))
    if page != result.page or source.prec != result.prec:
        yield Problem(
            f"{stage.kind} {stage.name} makes pages of {page[0]} x {page[1]} {source.prec}",
            f"queue {result.name} takes {result.page[0]} x {result.page[1]} {result.prec}",
        )
    if stage.kind in SPREADING:
        width, height = body.rect
        x, y, w, h = (0, 0, width, height) if stage.on is None else (stage.on.x, stage.on.y, stage.on.w, stage.on.h)
        if x + w - 1 + stage.group[0] > width or y + h - 1 + stage.group[1] > height:
            yield Problem(f"{stage.kind} {stage.name} reaches beyond the body's rectangle")


def _computing(body: Body, stage: Stage) -> Iterator[Problem]:
    for state in stage.states:
        if not -1 <= state.depth <= state.at <= stage.depth:
            yield Problem(
                f"state {state.name} of stage {stage.name} lives at {state.depth} and changes at {state.at}",
                f"depths run from -1 to {stage.depth}, and it changes no higher than it lives",
            )
            return
        if len(state.cell) != len(state.cells):
            yield Problem(
                f"state {state.name} of stage {stage.name} chooses its cell by {len(state.cell)} forms",
                f"it has {len(state.cells)} dimensions of cells",
            )
            return
    for state in stage.states:
        yield from _fits(body, stage, state.update, state.shape, f"the update of {state.name}", state)
    for port in stage.outs:
        if port.value is None:
            yield Problem(f"stage {stage.name} pushes to {port.queue} without a value")
        else:
            yield from _fits(
                body, stage, port.value, body.queue(port.queue).page, f"what it pushes to {port.queue}", port
            )


def _fits(body: Body, stage: Stage, expr: Expr, page: Shape, what: str, at: State | OutPort) -> Iterator[Problem]:
    try:
        shape = _shape(body, stage, expr)
    except _Wrong as wrong:
        yield Problem(f"{what} in stage {stage.name} {wrong}")
        return
    if any(n not in (1, m) for n, m in zip(shape, page, strict=True)):
        yield Problem(f"{what} in stage {stage.name} is {shape[0]} x {shape[1]}", f"it must be {page[0]} x {page[1]}")
    if isinstance(at, State) and stage.kind == "matmul" and not _is_product(expr):
        yield Problem(f"{what} in stage {stage.name} is no product", "add(state, matmul(a, b)) is")


def _is_product(expr: Expr) -> bool:
    match expr:
        case Op("add", (Cell(), Matmul())):
            return True
        case _:
            return False


def _shape(body: Body, stage: Stage, expr: Expr) -> Shape:
    """The page shape of `expr`; raises `_Wrong`."""
    match expr:
        case Page(port, at):
            held = _held(stage, port)
            if len(at) != len(held.pages) and not (not at and count(held.pages) == 1):
                raise _Wrong(f"chooses by {len(at)} forms among the pages of port {port}")
            return body.queue(held.queue).page
        case Cell(number, at):
            if not 0 <= number < len(stage.states):
                raise _Wrong(f"reads state {number}, which is not there")
            if len(at) != len(stage.states[number].cells):
                raise _Wrong(f"chooses by {len(at)} forms among the cells of {stage.states[number].name}")
            return stage.states[number].shape
        case Coord(_, shape):
            return shape
        case Const():
            return (1, 1)
        case Convert(prec, arg):
            if prec not in PRECISIONS:
                raise _Wrong(f"converts to {prec}, which is no precision")
            return _shape(body, stage, arg)
        case Lanes(op, axis, arg):
            if op not in ("sum", "max", "min") or axis not in ("rows", "cols"):
                raise _Wrong(f"reduces by {op} along {axis}")
            rows, cols = _shape(body, stage, arg)
            return (1, cols) if axis == "rows" else (rows, 1)
        case Matmul(a, b, transposed):
            (m, k), (p, n) = _shape(body, stage, a), _shape(body, stage, b)
            p, n = (n, p) if transposed else (p, n)
            if k != p:
                raise _Wrong(f"multiplies pages of {k} columns and {p} rows")
            return m, n
        case Op(op, args):
            if OPS.get(op) != len(args):
                raise _Wrong(f"uses {op} with {len(args)} operands")
            shapes = [_shape(body, stage, a) for a in args]
            rows, cols = (max(s[x] for s in shapes) for x in (0, 1))
            if any(r not in (1, rows) or c not in (1, cols) for r, c in shapes):
                raise _Wrong(f"joins pages of {' and '.join(f'{r} x {c}' for r, c in shapes)} by {op}")
            return rows, cols


def _held(stage: Stage, port: int) -> InPort:
    if not 0 <= port < len(stage.ins):
        raise _Wrong(f"reads port {port}, which is not there")
    return stage.ins[port]
