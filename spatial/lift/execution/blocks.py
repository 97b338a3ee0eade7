"""A loop as a block: its body executed once for a symbolic instance, whole tensors handed from one to the next.

State may be written in part (over what it was); everything else that is carried is remade whole, or at the same places
in every instance, for a loop that changes a sequence item by item is a recurrence, not a block. Beside sequences,
numbers may be carried too: as tensors without axes. Which are, only a first execution tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal

from spatial.lift.algebra.bounds import ANY, Bounds, bounds, is_affine, join_bounds
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.solve import element
from spatial.lift.algebra.values import (
    BlockValue,
    Final,
    Get,
    Inner,
    Instance,
    Made,
    Node,
    Piece,
    Source,
    Sym,
    Symbol,
    Tensor,
    combine,
    get,
    int_constant,
    integer,
)
from spatial.lift.context.loops import Loop, Runner, assigned_cells, inductions, item_value
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Cell, NotLifted, Poison, Scope, Seq, Value, together, whole_of
from spatial.lift.context.survey import Lost, lost_from
from spatial.lift.context.writes import copy_of, number_of


@dataclass(eq=False)
class Slot:
    """A sequence that may be carried: before the block, and as an instance begins."""

    cell: Cell
    entry: Tensor
    inner: Inner


_ROUNDS = 4
"""Executions after which the bounds of a carried Int must have settled, or it has none."""


class Carried(Exception):
    """Numbers that instances hand on, found as the block was closed; with the bounds they are now taken to keep."""

    def __init__(self, cells: Mapping[Cell, Bounds]) -> None:
        super().__init__()
        self.cells = cells


def run_block(ex: Runner, loop: Loop, scope: Scope, trip: int) -> None:
    """Executes a loop as a block of `trip` instances; raises `NotLifted` where it is none."""
    mark = ex.m.mark()
    held: dict[Cell, Bounds] = {}
    rounds = 0
    while True:
        try:
            return _attempt(ex, loop, scope, trip, held)
        except Carried as found:
            ex.m.undo(mark)
            held |= found.cells if rounds < _ROUNDS else dict.fromkeys(found.cells, ANY)
            rounds += 1


def _attempt(ex: Runner, loop: Loop, scope: Scope, trip: int, held: Mapping[Cell, Bounds]) -> None:
    """One execution; the numbers `held` are carried as tensors."""
    m = ex.m
    b = Instance(trip)
    block = BlockValue(trip, b, 0, loop.span)
    steps = inductions(ex, loop.body, scope, loop.name)
    scalars: list[tuple[Cell, Node, Sym]] = []
    counted: list[tuple[Cell, Node]] = []
    slots: list[Slot] = []
    unknown: list[tuple[Cell, Value]] = []
    for cell in assigned_cells(loop, ex, scope):
        value = cell.value
        match value:
            case Node() if cell.name in steps:
                counted.append((cell, combine(value, integer(trip * steps[cell.name]))))
                m.assign(cell, combine(value, b, steps[cell.name]))
            case Node() if cell in held:
                entry = number_of(value, m.tick(), cell.name, loop.span)
                inner = Inner(cell.name, (), entry.kind, block, len(slots))
                inner.range = held[cell]
                slots.append(Slot(cell, entry, inner))
                m.assign(cell, get(inner, ()))
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
                unknown.append((cell, value))
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
    for cell, value in unknown:  # what an instance leaves there is not what all leave
        m.assign(cell, value)


def _close(m: Machine, loop: Loop, block: BlockValue, scalars: list[tuple[Cell, Node, Sym]], slots: list[Slot]) -> None:
    nodes: dict[Sym, Node] = {}
    chained: list[Cell] = []
    exits: dict[Cell, Node] = {}
    for cell, entry, start in scalars:
        exit = cell.value
        if isinstance(exit, Seq):
            raise _other(cell, "a number", "a sequence", loop)
        if not isinstance(exit, Node):
            continue
        if exit is start:
            nodes[start] = entry
            m.assign(cell, entry)
        elif start in exit.free:
            step = int_constant(combine(exit, start, -1)) if exit.kind == start.kind == "int" else None
            if step is None:
                chained.append(cell)
                exits[cell] = exit
                continue
            nodes[start] = combine(entry, block.b, step)
            m.assign(cell, combine(entry, integer(step * block.trip)))
        else:
            nodes[start] = entry  # never read: a read would leave it in an exit, checked below
            exits[cell] = exit
            m.assign(
                cell, Poison(f'the value of "{cell.name}" is not kept after the loop', "set it anew after the loop")
            )
    kept: list[tuple[Slot, Tensor]] = []
    same: dict[Tensor, Tensor] = {}
    for s in slots:
        value = s.cell.value
        if isinstance(value, Node) and s.inner.dims == ():
            kept.append((s, number_of(value, m.tick(), s.cell.name, loop.span)))
            continue
        if isinstance(value, Node):
            raise _other(s.cell, "a sequence", "a number", loop)
        if not isinstance(value, Seq):
            continue
        if value.tensor is s.inner and value.whole:
            same[s.inner] = s.entry
            m.assign(s.cell, Seq(s.entry))
        else:
            kept.append((s, whole_of(value, m.tick(), loop.span)))
    change = Substitution(nodes, same)
    _check_carried(loop, scalars, kept, chained, exits)
    _check_bounds(kept)
    finals: list[tuple[Slot, Tensor]] = []
    faults: dict[Inner, _Fault] = {}
    for s, made in kept:
        made = change.tensor(made)
        fault = _fault(m, s, made)
        if fault is not None:
            faults[s.inner] = fault
        finals.append((s, made))
    if faults:
        handed = len(faults) < len(finals)
        refused = {s.inner: _refusal(faults[s.inner], s, loop, handed) for s, _ in finals if s.inner in faults}
        raise together(_first_and_apart(refused, {s.inner: made.free for s, made in finals}))
    block.order = m.tick()
    for n, (s, made) in enumerate(finals):
        s.inner.slot = n
        if s.inner.dims is None or made.dims is None or None in made.dims:
            s.inner.dims = made.dims
            _learn(m, s.entry, made, loop)
        if not isinstance(made, Made) or (made.base is None and _outside(made, block)):
            if m.discovering and (made.dims is None or None in made.dims):
                m.unsure = True
            else:
                made = copy_of(made, m.tick(), loop.span)
        block.initial.append(s.entry)
        block.inner.append(s.inner)
        block.made.append(made)
        final = Final(s.entry.name or s.cell.name, made.dims, made.kind, block, n)
        final.length = s.inner.length
        m.assign(s.cell, Seq(final) if isinstance(s.cell.value, Seq) else get(final, ()))


def _other(cell: Cell, before: str, after: str, loop: Loop) -> NotLifted:
    return NotLifted(
        f'"{cell.name}" is {before} before this loop, and {after} after an iteration',
        "use a variable for each",
        loop.span,
        binder=cell.name,
    )


def _first_and_apart(refused: Mapping[Inner, NotLifted], reads: Mapping[Inner, Set[Symbol]]) -> list[NotLifted]:
    """The first refusal, and those that stay whatever becomes of others: of tensors computed from no other such."""
    readers: dict[Symbol, list[Inner]] = {}
    for t, symbols in reads.items():
        for symbol in symbols - {t}:
            readers.setdefault(symbol, []).append(t)
    hit: set[Inner] = set()
    pending = [t for r in refused for t in readers.get(r, ())]
    while pending:
        t = pending.pop()
        if t not in hit:
            hit.add(t)
            pending += readers.get(t, ())
    first = next(iter(refused))
    return [problem for t, problem in refused.items() if t is first or t not in hit]


def _check_carried(
    loop: Loop,
    scalars: list[tuple[Cell, Node, Sym]],
    kept: list[tuple[Slot, Tensor]],
    chained: list[Cell],
    exits: Mapping[Cell, Node],
) -> None:
    """Raises `Carried` where an instance computes from a number of the one before; such numbers alone are no block."""
    made: list[Tensor | Node] = [t for _, t in kept]
    made += [exits[cell] for cell in chained]
    private = {start: cell for cell, _, start in scalars if isinstance(cell.value, Poison)}
    read = [cell for start, cell in private.items() if any(start in t.free for t in made)]
    if not chained and not read:
        return
    carried = {cell: entry for cell, entry, _ in scalars if cell in chained or cell in read}
    numbers = all(entry.kind in ("int", "float") for entry in carried.values())
    if not numbers or all(s.inner.dims == () for s, _ in kept):
        first, *others = chained or read
        stands = {cell: start for cell, _, start in scalars}
        alone = frozenset((*stands.values(), *(s.inner for s, _ in kept)))
        apart = [c for c in others if numbers and chained and exits[c].free & alone == frozenset((stands[c],))]
        raise together([_recurrence(c, loop) for c in (first, *apart)])
    raise Carried({cell: bounds(entry) for cell, entry in carried.items()})


def _check_bounds(kept: list[tuple[Slot, Tensor]]) -> None:
    """Raises `Carried` where an instance may leave an Int outside the bounds that it was taken to keep."""
    wider: dict[Cell, Bounds] = {}
    for s, _ in kept:
        exit, held = s.cell.value, s.inner.range
        if isinstance(exit, Node) and exit.kind == s.inner.kind == "int":
            both = join_bounds(held, bounds(exit))
            if both != held:
                wider[s.cell] = both
    if wider:
        raise Carried(wider)


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


def _fixed(piece: Piece) -> bool:
    """Whether a piece is written at the same places in every instance."""
    return all(is_affine(i) and not any(isinstance(v, Instance) for v in i.free) for i in piece.pos)


_Fault = Literal["recurrence", "part", "shape", "kind"]


def _fault(m: Machine, s: Slot, made: Tensor) -> _Fault | None:
    """What keeps a carried tensor from being remade whole, or at the same places, at its shape and kind.

    State may be written in part.
    """
    written: list[Piece] = []
    at = made
    while isinstance(at, Made) and at.base is not None:
        written += at.pieces
        at = at.base
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
    state = isinstance(root, Source) and root.state
    if written and not state and not all(_fixed(p) for p in written):
        return "recurrence" if any(s.inner in p.value.free for p in written) else "part"
    if m.discovering:
        same = made.dims == s.entry.dims and made.length is s.entry.length and made.kind == s.entry.kind
        m.unsure = m.unsure or not same
        return None
    if made.dims != s.entry.dims or made.length is not s.entry.length:
        return "shape"
    return "kind" if made.kind != s.entry.kind else None


def _refusal(fault: _Fault, s: Slot, loop: Loop, handed: bool) -> NotLifted:
    """A fault in the user's terms; `handed`: beside what the loop hands on as a block does."""
    name = s.cell.name
    if handed and fault in ("part", "shape"):
        what = "is written in part" if fault == "part" else "changes its shape"
        return NotLifted(
            f'"{name}" {what} in a loop that hands values on from one iteration to the next',
            "remake the whole of it at the same length, or make it a state table and write an item or a row of that",
            s.cell.span,
            "write",
            binder=name,
        )
    match fault:
        case "shape":
            why = f'"{name}" changes its shape in the loop'
            return NotLifted(why, "keep its length; what it gains, Push to it", s.cell.span, "write", binder=name)
        case "kind":
            why = f'"{name}" changes between Int and Float in the loop'
            return NotLifted(why, "start it as 0.0", loop.span, binder=name)
        case _:
            return _recurrence(s.cell, loop)


def _learn(m: Machine, entry: Tensor, made: Tensor, loop: Loop) -> None:
    """What the remade tensor's extents say about slices of weights whose shape is not known yet."""
    if made.dims is None or None in made.dims:
        return
    index = tuple(Sym("k", d) for d in made.dims)
    found = element(entry, index)
    if isinstance(found, Get):
        m.note(found, loop.span)
