"""A loop as a block: its body executed once for a symbolic instance, whole tensors handed from one to the next.

State may be written in part (over what it was); everything else that is carried is remade whole, for a loop that
changes a sequence item by item is a recurrence, not a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.lift.loops import Loop, Runner, assigned_cells, inductions, item_value
from spatial.lift.machine import Machine
from spatial.lift.rewrite import Substitution
from spatial.lift.solve import element
from spatial.lift.state import Cell, NotLifted, Poison, Scope, Seq, whole_of
from spatial.lift.survey import Lost, lost_from
from spatial.lift.values import (
    BlockValue,
    Final,
    Get,
    Inner,
    Instance,
    Made,
    Node,
    Source,
    Sym,
    Tensor,
    combine,
    int_constant,
    integer,
)
from spatial.lift.writes import copy_of


@dataclass(eq=False)
class Slot:
    """A sequence that may be carried: before the block, and as an instance begins."""

    cell: Cell
    entry: Tensor
    inner: Inner


def run_block(ex: Runner, loop: Loop, scope: Scope, trip: int) -> None:
    """Executes a loop as a block of `trip` instances; raises `NotLifted` where it is none."""
    m = ex.m
    b = Instance(trip)
    block = BlockValue(trip, b, 0, loop.span)
    steps = inductions(ex, loop.body, scope)
    scalars: list[tuple[Cell, Node, Sym]] = []
    counted: list[tuple[Cell, Node]] = []
    slots: list[Slot] = []
    for cell in assigned_cells(loop, ex, scope):
        value = cell.value
        match value:
            case Node() if cell.name in steps:
                counted.append((cell, combine(value, integer(trip * steps[cell.name]))))
                m.assign(cell, combine(value, b, steps[cell.name]))
            case Node():
                start = Sym(cell.name, None, value.kind, carried=True)
                scalars.append((cell, value, start))
                m.assign(cell, start)
            case Seq():
                entry = whole_of(value, m.tick(), loop.span)
                inner = Inner(entry.name or cell.name, entry.dims, entry.kind, block, len(slots))
                inner.length = entry.length
                slots.append(Slot(cell, entry, inner))
                m.assign(cell, Seq(inner))
            case _:
                pass
    inner_scope = Scope(outer=scope)
    m.block_depth += 1
    try:
        if loop.name:
            inner_scope.names[loop.name] = Cell(loop.name, item_value(ex, loop, b))
        result = ex.body(loop.body, inner_scope)
    finally:
        m.block_depth -= 1
    if result is not None:
        raise NotLifted("a function returns from inside a loop", "return after the loop", loop.span)
    if m.survey is not None and (taken := lost_from(_carried(scalars, counted, slots))):
        raise Lost(taken)
    for cell, after in counted:
        m.assign(cell, after)
    _close(m, loop, block, scalars, slots)


def _close(m: Machine, loop: Loop, block: BlockValue, scalars: list[tuple[Cell, Node, Sym]], slots: list[Slot]) -> None:
    nodes: dict[Sym, Node] = {}
    for cell, entry, start in scalars:
        exit = cell.value
        if not isinstance(exit, Node):
            continue
        if exit is start:
            nodes[start] = entry
            m.assign(cell, entry)
        elif start in exit.free:
            step = int_constant(combine(exit, start, -1)) if exit.kind == start.kind == "int" else None
            if step is None:
                raise _recurrence(cell, loop)
            nodes[start] = combine(entry, block.b, step)
            m.assign(cell, combine(entry, integer(step * block.trip)))
        else:
            nodes[start] = entry  # never read: a read would leave it in an exit, checked below
            m.assign(cell, Poison(f'the value of "{cell.name}" is not kept after the loop'))
    kept: list[tuple[Slot, Tensor]] = []
    same: dict[Tensor, Tensor] = {}
    for s in slots:
        value = s.cell.value
        if not isinstance(value, Seq):
            continue
        if value.tensor is s.inner and value.whole:
            same[s.inner] = s.entry
            m.assign(s.cell, Seq(s.entry))
        else:
            kept.append((s, whole_of(value, m.tick(), loop.span)))
    private = {start for cell, _, start in scalars if isinstance(cell.value, Poison)}
    change = Substitution(nodes, same)
    finals: list[tuple[Slot, Tensor]] = []
    for s, made in kept:
        if private & made.free:
            raise _recurrence(s.cell, loop)
        made = change.tensor(made)
        _check_whole(m, s, made, loop)
        finals.append((s, made))
    if not finals and not m.discovering and m.survey is None:
        raise NotLifted("this loop keeps nothing that is read after it", "leave it out", loop.span)
    block.order = m.tick()
    for n, (s, made) in enumerate(finals):
        s.inner.slot = n
        if s.inner.dims is None or made.dims is None or None in made.dims:
            s.inner.dims = made.dims
            _learn(m, s.entry, made, loop)
        if not isinstance(made, Made) or (made.base is None and _outside(made, block)):
            made = copy_of(made, m.tick(), loop.span) if not m.discovering else made
        block.initial.append(s.entry)
        block.inner.append(s.inner)
        block.made.append(made)
        final = Final(s.entry.name or s.cell.name, made.dims, made.kind, block, n)
        final.length = s.inner.length
        m.assign(s.cell, Seq(final))


def _carried(scalars: list[tuple[Cell, Node, Sym]], counted: list[tuple[Cell, Node]], slots: list[Slot]) -> list[Cell]:
    """The variables that had a stand-in as an instance began."""
    return [*(cell for cell, _, _ in scalars), *(cell for cell, _ in counted), *(s.cell for s in slots)]


def _outside(made: Tensor, block: BlockValue) -> bool:
    return block.b not in made.free and not any(isinstance(s, Inner) and s.block is block for s in made.free)


def _recurrence(cell: Cell, loop: Loop) -> NotLifted:
    problem = NotLifted(
        f'"{cell.name}" is computed from what it was in the iteration before: a recurrence',
        "write it as a sum, product, maximum or minimum of terms that do not depend on it",
        loop.span,
        "compose",
        binder=cell.name,
    )
    return problem


def _check_whole(m: Machine, s: Slot, made: Tensor, loop: Loop) -> None:
    """A carried tensor is remade whole, or is state; its shape and kind do not change."""
    at = made
    partial = False
    while isinstance(at, Made) and at.base is not None:
        at, partial = at.base, True
    root = s.entry
    while isinstance(root, Made | Inner | Final):
        if isinstance(root, Made):
            if root.base is None:
                break
            root = root.base
        else:
            root = root.block.initial[root.slot] if root.slot < len(root.block.initial) else root
            if isinstance(root, Inner):
                break
    if partial and not (isinstance(root, Source) and root.state):
        raise _recurrence(s.cell, loop)
    if m.discovering:
        return
    if made.dims != s.entry.dims or made.length is not s.entry.length:
        raise NotLifted(
            f'"{s.cell.name}" changes its shape in the loop',
            "keep its length",
            s.cell.span,
            "compose",
            binder=s.cell.name,
        )
    if made.kind != s.entry.kind:
        raise NotLifted(
            f'"{s.cell.name}" changes between Int and Float in the loop',
            "start it as 0.0",
            loop.span,
            binder=s.cell.name,
        )


def _learn(m: Machine, entry: Tensor, made: Tensor, loop: Loop) -> None:
    """What the remade tensor's extents say about slices of weights whose shape is not known yet."""
    if made.dims is None or None in made.dims:
        return
    index = tuple(Sym("k", d) for d in made.dims)
    found = element(entry, index)
    if isinstance(found, Get):
        m.note(found, loop.span)
