"""What is read under conditions only, and what is written over a table that is no state.

An element of an intermediate that nobody reads may be anything: where every reader asks under a condition, a branch on
that condition is the side it takes. A piece written over a whole table under a condition is a branch between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.counting import split_guards, under
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import (
    BlockValue,
    Fold,
    Get,
    Node,
    Op,
    Piece,
    Source,
    Sym,
    Tensor,
    combine,
    integer,
    parts,
    plus,
    real,
    scale,
)
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.closed import is_fill
from spatial.lift.canonical.inside import inside
from spatial.lift.canonical.order import depends, visited
from spatial.lift.canonical.units import Unit, Units


def drop_unread(live: Sequence[Unit], blocks: Sequence[BlockValue], outside: set[Tensor]) -> None:
    """Decides the branches of intermediates by the conditions that all their readers ask under."""
    held: set[Tensor | None] = {*outside, *(u.base for u in live)}
    for b in blocks:
        held |= {*b.initial, *b.made}
    readers: dict[Unit, list[Unit]] = {u: [] for u in live}
    for u in live:
        for t in depends(u):
            if isinstance(t, Unit) and t in readers:
                readers[t].append(u)
    asked: dict[Tensor, list[tuple[Get, tuple[Node, ...]]]] = {u: [] for u in live}

    def narrow(unit: Unit) -> None:
        common: set[Node] = set()
        if unit not in held and len(unit.pieces) == 1 and asked[unit]:
            p = unit.pieces[0]
            told = [_told(p, read, guards) for read, guards in asked[unit]]
            common = {g for g in told[0] if all(g in other for other in told[1:])}
            value = under(p.value, tuple(common))
            if value is not p.value and inside(value):
                unit.pieces = (Piece(p.vars, p.guards, p.pos, value, p.ordered),)
        for read, guards in _reads(unit, tuple(common)):
            asked.setdefault(read.tensor, []).append((read, guards))

    visited(live, readers.__getitem__, narrow)


def _reads(reader: Unit, known: tuple[Node, ...]) -> Iterator[tuple[Get, tuple[Node, ...]]]:
    """The reads of a unit, each with the conditions it stands under."""
    for p in reader.pieces:
        pending: list[tuple[Node, tuple[Node, ...]]] = [(p.value, (*known, *p.guards))]
        pending += [(n, ()) for n in (*p.pos, *p.guards)]
        seen: set[tuple[Node, tuple[Node, ...]]] = set()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            n, guards = at
            if isinstance(n, Get):
                yield n, guards
            if isinstance(n, Fold):
                inner = (*guards, *n.guards)
                pending += [(g, guards) for g in n.guards]
                pending += [(c, inner) for c in (n.value, n.arg) if c is not None]
                pending += [(n.init, guards)] if n.init is not None else []
            else:
                pending += [(c, guards) for c in children(n)]


def _told(p: Piece, read: Get, guards: Sequence[Node]) -> set[Node]:
    """Conditions of a read in terms of the variables of the piece it reads."""
    change: dict[Sym, Node] = {}
    for place, i in zip(p.pos, read.index, strict=True):
        if isinstance(place, Sym) and isinstance(i, Sym) and place.extent == i.extent:
            change[i] = place
    turned = Substitution(change)
    found: set[Node] = set()
    for g in split_guards(guards):
        if all(s in change for s in g.free if isinstance(s, Sym)):
            found.add(turned.node(g))
    return found


Read = Callable[[Tensor, tuple[Node, ...], Sequence[Node]], Node]
"""How an element of a tensor is read where conditions hold, views looked through."""


def selected(unit: Unit, read: Read) -> None:
    """Makes one piece written over a whole table under a condition a branch; `read`: of the table written over."""
    if unit.base is not None and _in_place(unit.base):
        unit.pieces = tuple(_found(p) for p in unit.pieces)
        return
    if unit.base is None or len(unit.pieces) != 1:
        return
    p = unit.pieces[0]
    guards, value = p.guards, p.value
    match value:
        case Op(fn="select", args=(condition, a, b)) if read(unit.base, p.pos, p.guards) is b:
            guards, value = split_guards((*guards, condition)), a
        case _:
            pass
    if p.ordered or not guards:
        return
    change: dict[Sym, Node] = {}
    pos: list[Sym] = []
    limits: list[Node] = []
    for i, extent in zip(p.pos, unit.shape, strict=True):
        match parts(i)[1]:
            case ((Sym() as v, 1),) if v in p.vars and v not in change:
                whole = Sym(v.name, extent) if v.extent != extent else v
                change[v] = first = plus(whole, -parts(i)[0])
                limits += [first, combine(integer((v.extent or 0) - 1), first, -1)]
                pos.append(whole)
            case _:
                return
    turned = supposed(change, value, *guards)
    if len(p.vars) != len(pos) or not turned:
        return
    value, guards = turned[0], tuple(turned[1:])
    if not all(at_least_zero(n, guards) for n in limits) or not inside(value):
        return
    condition: Node = arith.TRUE
    for g in guards:
        condition = arith.both(condition, g)
    base, unit.base = unit.base, None
    chosen = arith.select(condition, value, read(base, tuple(pos), (arith.negate(condition),)))
    unit.pieces = (Piece(tuple(pos), (), tuple(pos), chosen),)


def filled(units: Units, live: Sequence[Unit]) -> list[Unit]:
    """Zeros below statements that make a part of their tensor only, since nobody reads the rest, or make all of it at
    places that a constant table gives, of which no reader need know that they are all; the fills made."""
    made: list[Unit] = []
    for unit in live:
        plain = unit.base is None and unit.pieces and not any(p.guards or p.ordered for p in unit.pieces)
        given = any(_of_table(a) for p in unit.pieces for i in p.pos for a, _ in parts(i)[1])
        if plain and (given or sum(p.volume for p in unit.pieces) < prod(unit.shape)):
            below = units.new(unit.name, unit.shape, unit.kind, unit.order, unit.origin)
            vars = tuple(Sym("k", d) for d in unit.shape)
            below.pieces = (Piece(vars, (), vars, real(0.0) if unit.kind == "float" else integer(0)),)
            below.belong()
            unit.base = below
            made.append(below)
    return made


def _of_table(index: Node) -> bool:
    return isinstance(index, Get) and isinstance(index.tensor, Unit) and is_fill(index.tensor)


def _in_place(base: Tensor) -> bool:
    """Whether a table written over is one that changes in place: state, or what a block carries."""
    return base.state if isinstance(base, Source) else not isinstance(base, Unit) or base.base is not None


def _found(piece: Piece) -> Piece:
    """What is written where a variable equals a run-time number, `if i == p`, is written at that number."""
    conditions = split_guards(piece.guards)
    for v in piece.vars:
        for g in conditions:
            at = _equal(v, g)
            if at is None or not any(v in i.free for i in piece.pos):
                continue
            if at_least_zero(at) and at_least_zero(combine(integer((v.extent or 1) - 1), at, -1)):
                change = Substitution({v: at})
                guards = tuple(h for h in (change.node(h) for h in conditions if h is not g) if h is not arith.TRUE)
                vars = tuple(u for u in piece.vars if u is not v)
                pos = tuple(change.node(i) for i in piece.pos)
                return _found(Piece(vars, guards, pos, change.node(piece.value), piece.ordered))
    return piece


def _equal(v: Sym, condition: Node) -> Node | None:
    """What a condition says that a variable equals."""
    match condition:
        case Op(fn="eq", args=(a, b)) if a.kind == b.kind == "int":
            form = combine(a, b, -1)
            c = dict(parts(form)[1]).get(v, 0)
            rest = combine(form, v, -c)
            return scale(rest, -c) if abs(c) == 1 and v not in rest.free else None
        case _:
            return None
