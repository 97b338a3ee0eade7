"""Blocking: one iteration of a coordinate takes over `factor` of the old ones, as more pages a port moves at once.

The one transformation a plan's block sizes are made of. Blocking item axis i0 by 4:

    load  a[32*i0] -> q @0               load  a[128*i0 + 32*p0] -> q @0 pages 4
    acc   acc += q * w                   acc[4]  loop l1 of 4: acc[l1] += q[l1] * w
    out   acc -> y @0                    out   acc[p0] -> y @0 pages 4

A queue that does not depend on the coordinate keeps moving one page, which then serves all: that is what blocking is
for. Nothing is reordered within one accumulator.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Coord, Expr, InPort, Items, OutPort, Page, Stage, State
from spatial.ir.rewrite import expressions, leaves, map_leaves


def depends(body: Body, coord: str) -> frozenset[str]:
    """The queues whose pages differ from iteration to iteration of item axis or loop `coord`.

    Of a loop: those that move at its depth or deeper. Of an item axis: those whose loads or expressions name it, what
    is computed from these, and whatever feeds a store whose place names it.
    """
    if coord[0] == "l":
        depth = int(coord[1:])
        ports = [p for s in body.stages for p in (*s.ins, *s.outs) if p.depth >= depth]
        return frozenset(p.queue for p in ports)
    found: set[str] = set()
    producer = {o.queue: s for s in body.stages for o in s.outs}
    for stage in body.stages:
        if stage.kind == "store" and _names(stage, coord):
            found.add(stage.ins[0].queue)
    changed = True
    while changed:
        changed = False
        for queue, stage in producer.items():
            if queue not in found and (_names(stage, coord) or any(p.queue in found for p in stage.ins)):
                found.add(queue)
                changed = True
    return frozenset(found)


def _names(stage: Stage, coord: str) -> bool:
    forms = list(stage.access.place) if stage.access else []
    forms += [x.value for e in expressions(stage) for x in leaves(e) if isinstance(x, Coord)]
    return any(coord in f.symbols for f in forms)


def blockable(body: Body, coord: str) -> bool:
    """Whether `coord` may be blocked: no run-time index and no row mask differs along it."""
    dep = depends(body, coord)
    for stage in body.stages:
        if stage.access is None:
            continue
        special = {stage.access.index.port} if stage.access.index else set[int]()
        if stage.access.mask is not None:
            special.add(stage.access.mask)
        if any(stage.ins[p].queue in dep for p in special):
            return False
    return True


def block(body: Body, coord: str, factor: int) -> Body:
    """Block item axis (i0, i1, …) or innermost loop (l1, …) `coord` by `factor`, which must divide its trip count."""
    if factor == 1:
        return body
    dep = depends(body, coord)
    stages = tuple(_block_stage(s, coord, factor, dep) for s in body.stages)
    items = body.items
    if coord[0] == "i":
        axis = int(coord[1:])
        if items.grid[axis] % factor:
            raise Bug(f"item axis {coord} of {items.grid[axis]} is blocked by {factor}")
        grid = tuple(g // factor if a == axis else g for a, g in enumerate(items.grid))
        items = Items(grid, grid, items.coord)
    return replace(body, stages=stages, items=items)


def _block_stage(stage: Stage, coord: str, factor: int, dep: frozenset[str]) -> Stage:
    ins = tuple(replace(p, pages=(*p.pages, factor)) if p.queue in dep else p for p in stage.ins)
    outs = tuple(replace(p, pages=(*p.pages, factor)) if p.queue in dep else p for p in stage.outs)
    loops = stage.loops
    if coord[0] == "l":
        depth = int(coord[1:])
        if len(loops) >= depth:
            loops = (*loops[: depth - 1], loops[depth - 1] // factor, *loops[depth:])
    if stage.access is not None:
        moved = stage.ins[0] if stage.kind == "store" else stage.outs[0]
        inner = Affine.sym(f"p{len(moved.pages)}") if moved.queue in dep else Affine()
        s, r, c = (_sub(f, coord, factor, inner) for f in stage.access.place)
        access = replace(stage.access, place=(s, r, c))
        return replace(stage, ins=ins, outs=outs, loops=loops, access=access)
    if stage.kind not in ("matmul", "generic"):
        return replace(stage, ins=ins, outs=outs, loops=loops)
    return _block_compute(stage, coord, factor, dep, ins, outs, loops)


def _block_compute(
    stage: Stage,
    coord: str,
    factor: int,
    dep: frozenset[str],
    ins: tuple[InPort, ...],
    outs: tuple[OutPort, ...],
    loops: tuple[int, ...],
) -> Stage:
    many = frozenset(n for n, p in enumerate(stage.ins) if p.queue in dep)
    moved = any(p.queue in dep for p in (*stage.ins, *stage.outs)) or _names(stage, coord)
    # A loop may turn over the same pages every time: it turns as often all the same.
    moved = moved or (coord[0] == "l" and len(stage.loops) >= int(coord[1:]))
    celled = frozenset(
        n for n, s in enumerate(stage.states) if moved and (coord[0] == "i" or s.depth >= int(coord[1:]))
    )
    states = stage.states
    if stage.states and moved:
        loops = (*loops, factor)
        inner = Affine.sym(f"l{len(loops)}")
        states = tuple(
            _block_state(s, n in celled, coord, factor, inner, many, celled, len(loops)) for n, s in enumerate(states)
        )
    values: list[OutPort] = []
    for old, new in zip(stage.outs, outs, strict=True):
        inner = Affine.sym(f"p{len(old.pages)}") if old.queue in dep else Affine()
        value = old.value and _pages(old.value, coord, factor, inner, many, celled)
        values.append(replace(new, value=value))
    return replace(stage, ins=ins, outs=tuple(values), loops=loops, states=states)


def _block_state(
    state: State,
    many_cells: bool,
    coord: str,
    factor: int,
    inner: Affine,
    many: frozenset[int],
    celled: frozenset[int],
    depth: int,
) -> State:
    update = _pages(state.update, coord, factor, inner, many, celled)
    cells, cell = state.cells, state.cell
    if many_cells:
        cells, cell = (*cells, factor), (*cell, inner)
    return replace(state, update=update, cells=cells, cell=cell, at=depth)


def _pages(value: Expr, coord: str, factor: int, inner: Affine, many: frozenset[int], celled: frozenset[int]) -> Expr:
    def leaf(x: Page | Cell | Coord) -> Expr:
        match x:
            case Page():
                return Page(x.port, (*x.at, inner)) if x.port in many else x
            case Cell():
                return Cell(x.state, (*x.at, inner)) if x.state in celled else x
            case Coord():
                return Coord(_sub(x.value, coord, factor, inner), x.shape)

    return map_leaves(value, leaf)


def _sub(form: Affine, coord: str, factor: int, inner: Affine) -> Affine:
    return form.subst({coord: Affine.sym(coord, factor) + inner})
