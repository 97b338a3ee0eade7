"""Closing a loop over the sequences it writes: which version each read means, and the pieces of the next version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero, bounds, guard_forms, is_affine
from spatial.lift.algebra.pieces import Pieces, made_of_pieces, pieces_of
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.solve import can_meet, disjoint, element, injective, leaves, made_of, renamed, solve
from spatial.lift.algebra.values import (
    TRUE,
    Get,
    Made,
    Node,
    Piece,
    Start,
    Sym,
    Tensor,
    combine,
    free_of,
    get,
    int_constant,
    integer,
    parts,
    plus,
    real,
    scale,
)
from spatial.lift.algebra.walk import reads_below
from spatial.lift.carried.carries import ONCE, Carry, Closing, length_of
from spatial.lift.carried.combine import combined
from spatial.lift.carried.prefixes import running_values
from spatial.lift.carried.reductions import Term
from spatial.lift.carried.rescaled import Rescaled
from spatial.lift.carried.running import rescaled_total
from spatial.lift.carried.written import (
    Written,
    chain,
    flat,
    hits,
    nodes_of,
    recurrence,
    relative,
    rooted,
    version,
    written_by,
)
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import NotLifted, Poison, Seq, together, whole_of
from spatial.lift.context.writes import grows_late, over_sources, put, widened


def close_sequences(m: Machine, c: Closing) -> dict[Get, Node]:
    """Gives every written sequence its value after the loop; what each read of a stand-in means."""
    open_ = [k for k in c.carries if isinstance(k.start, Start) and not k.closed and isinstance(k.exit, Seq)]
    starts = frozenset(k.start for k in open_ if isinstance(k.start, Start))
    written: list[Written] = []
    anew: list[Carry] = []
    running = running_values(c, [k.exit.tensor for k in open_ if isinstance(k.exit, Seq)])
    for k in open_:
        assert isinstance(k.exit, Seq) and isinstance(k.start, Start)
        exit = whole_of(k.exit, k.order, k.span)
        if isinstance(exit, Made) and exit.base is None and k.start in exit.free and exit.dims == k.start.dims:
            # Every item rewritten from what it was: still a write in place.
            exit = Made(exit.name, exit.dims or (), k.start, exit.pieces, exit.order, exit.origin, exit.length)
        exit = _with_running(exit, k.start, running, c)
        k.exit = Seq(exit)
        if isinstance(exit, Made) and rooted(exit, starts) is k.start:
            written.append(written_by(k, k.start, flat(exit), c))
        else:
            anew.append(k)
    reads = _resolve(written, c, starts)
    for k in anew:
        _close_anew(k, c, reads, starts)
    for w in written:
        assert w.new is not None
        w.carry.final = Seq(w.new)
        w.carry.closed = True
    return reads


def _with_running(exit: Tensor, start: Start, running: Substitution, c: Closing) -> Tensor:
    """What an iteration leaves, running values of other variables as reductions of their own; sums kept relative to a
    running maximum keep that."""
    if not exit.free & running.touched:
        return exit
    if not isinstance(exit, Made) or exit.base is not start or exit.length is not None:
        return running.tensor(exit)
    pieces = tuple(p if relative(p, start, c) else running.piece(p) for p in exit.pieces)
    return Made(exit.name, exit.dims or (), exit.base, pieces, exit.order, exit.origin)


def _overlap(k: Carry, c: Closing) -> NotLifted:
    return NotLifted(
        f'an iteration writes items of "{k.cell.name}" at places that may coincide',
        "write every item once, or into a sequence of its own",
        k.span,
        "write",
        binder=k.cell.name,
    )


def _resolve(written: list[Written], c: Closing, starts: frozenset[Start]) -> dict[Get, Node]:
    """Decides every read of a stand-in, and makes the versions after the loop in an order that defines each."""
    by_start = {w.start: w for w in written}
    reads: dict[Get, Node] = {}
    later: dict[Get, Written] = {}
    passing: dict[Get, Written] = {}
    others: list[Node | Tensor] = []
    for k in c.carries:
        if isinstance(k.exit, Node):
            others.append(k.exit)
        elif isinstance(k.exit, Seq) and k.start not in by_start:
            others.append(k.exit.tensor)
    carried = frozenset(k.start for k in c.carries)
    refused: dict[Start, NotLifted] = {}
    consumers: list[tuple[Written | None, list[Get]]] = [(w, reads_below(nodes_of(w), starts)) for w in written]
    consumers.append((None, reads_below(others, starts)))
    for user, found in consumers:
        for r in found:
            root = rooted(r.tensor, starts)
            w = by_start.get(root) if root is not None else None
            if root is None or w is None:
                continue
            if r not in reads and r not in later and r not in passing:
                try:
                    when = version(r, w, c)
                except NotLifted as problem:
                    if not refused or (user is w and _alone(w, carried)):
                        refused.setdefault(root, problem)
                    continue
                if when == "before":
                    assert isinstance(w.carry.entry, Seq)
                    reads[r] = element(w.carry.entry.tensor, r.index, c.known)
                elif when == "between":
                    passing[r] = w
                else:
                    later[r] = w
            if r in later and user is not None:
                user.after.add(w.start)
    if refused:
        raise together(list(refused.values()))
    for r in passing:
        _read_between(r, passing, c, reads)
    left = list(written)
    while left:
        ready = [w for w in left if all(by_start[s].new is not None for s in w.after)]
        if not ready:
            raise together([recurrence(w) for w in left if w is left[0] or _alone(w, carried)])
        for w in ready:
            known = {r: get(o.new, r.index) for r, o in later.items() if o.new is not None}
            w.new = _close_written(w, c, {**reads, **known})
            left.remove(w)
    for r, w in later.items():
        assert w.new is not None
        reads[r] = element(w.new, r.index, c.known)
    return reads


def _alone(w: Written, carried: frozenset[Sym | Start]) -> bool:
    """Whether a sequence is written from nothing else that the loop carries."""
    return carried & free_of(nodes_of(w)) == frozenset((w.start,))


def _read_between(r: Get, passing: dict[Get, Written], c: Closing, reads: dict[Get, Node]) -> None:
    """A read of what this iteration has written and writes again: as if every iteration had stopped there.

    That is the same where no later iteration has written the element by then.
    """
    if r in reads:
        return
    w = passing[r]
    k, steps = w.carry, chain(r.tensor)
    assert isinstance(k.entry, Seq)
    if k.growth or any(hits(p, r, c, w, 1, before=False) for p in steps):
        raise recurrence(w)
    for inner in reads_below((n for p in steps for n in (*p.pos, *p.guards, p.value)), frozenset((w.start,))):
        if inner in passing and inner is not r:
            _read_between(inner, passing, c, reads)
    change = Substitution({}, None, reads)
    made = k.entry.tensor
    for p in steps:
        made = put(made, _written_once(w, p, c, change), k.order, k.span, k.cell.name, c.known)
    reads[r] = element(made, r.index, c.known)


# ---------------------------------------------------------------- the next version


def _close_written(w: Written, c: Closing, reads: dict[Get, Node]) -> Made:
    k = w.carry
    assert isinstance(k.entry, Seq)
    entry = k.entry.tensor
    change = Substitution({}, None, reads)
    grown = bool(k.growth) or (isinstance(w.start.length, Sym) and w.start.length.carried)
    closed: list[Piece] = []
    result = entry
    for p in w.exit.pieces:
        # What adds to some items leaves the others as the pieces before it made them.
        closed.append(_accumulated(w, p, c, change, result) if p in w.terms else _written_once(w, p, c, change))
        if not grown:
            result = put(result, closed[-1], k.order, k.span, k.cell.name, c.known)
    _check_apart(w, c)
    if grown:
        return _grown(w, c, entry, closed)
    assert isinstance(result, Made)
    return result


def _accumulated(w: Written, p: Piece, c: Closing, change: Substitution, entry: Tensor) -> Piece:
    """`y[p] = y[p] op e` over the iterations; where p moves with them, for each item over those that hit it."""
    term = w.terms[p]
    if isinstance(term, Rescaled):
        own = element(entry, p.pos, c.known)
        return Piece(p.vars, (), p.pos, rescaled_total(c, w.carry, own, change, term))
    p, term = _by_item(w, p, term, c)
    own = element(entry, p.pos, c.known)
    if p.guards and any(c.v in g.free for g in p.guards):
        term = replace(term, guards=(*term.guards, *p.guards))
        guards: tuple[Node, ...] = ()
    else:
        guards = p.guards
    value = combined(c, w.carry, own, change, term)
    return Piece(p.vars, tuple(change.node(g) for g in guards), p.pos, value)


def _by_item(w: Written, p: Piece, term: Term, c: Closing) -> tuple[Piece, Term]:
    """A piece whose place the loop moves, as one over all items, its term where an iteration hits one."""
    dims = w.exit.dims or ()
    if any(c.v in i.free and is_affine(i) for i in p.pos):
        items = tuple(Sym("k", d) for d in dims)
        point = solve(p.pos, p.vars, items)
        if point is None or None in dims:
            raise recurrence(w)
        turned = Substitution(point)
        hit = [arith.nonneg(n) for u in p.vars for n in (point[u], plus(scale(point[u], -1), (u.extent or 0) - 1))]
        hit += [arith.compare("==", turned.node(i), item) for i, item in zip(p.pos, items, strict=True)]
        guards = tuple(g for g in (*hit, *(turned.node(g) for g in (*term.guards, *p.guards))) if g is not TRUE)
        term = replace(term, value=turned.node(term.value), guards=guards)
        return Piece(items, (), items, turned.node(p.value)), term
    pos = list(p.pos)
    items: tuple[Sym, ...] = ()
    for axis, index in enumerate(p.pos):
        if c.v in index.free:
            pos[axis] = item = Sym("k", dims[axis])
            items = (*items, item)
            term = replace(term, guards=(*term.guards, arith.compare("==", item, index)))
    return Piece((*items, *p.vars), p.guards, tuple(pos), p.value, p.ordered), term


def _settled(place: Node) -> Node:
    """A place without what is read of a table that may hold one number only: it is the same in every iteration."""
    for atom, c in parts(place)[1]:
        low, high = bounds(atom) if isinstance(atom, Get) else (None, None)
        if low is not None and low == high:
            place = plus(combine(place, atom, -c), c * low)
    return place


def _written_once(w: Written, p: Piece, c: Closing, change: Substitution) -> Piece:
    pos = tuple(_settled(change.node(i)) for i in p.pos)
    guards = tuple(change.node(g) for g in p.guards)
    value = change.node(p.value)
    if w.start in free_of((value, *pos)):
        raise recurrence(w)
    growing = bool(w.carry.growth)
    if not growing and not any(c.v in i.free for i in pos):
        if c.last is None or any(c.v in g.free for g in guards):
            raise NotLifted(
                f'every iteration overwrites one item of "{w.carry.cell.name}", and which is the last is not known',
                "write after the loop",
                w.carry.span,
                "write",
                binder=w.carry.cell.name,
            )
        final = Substitution({c.v: c.last})
        return Piece(p.vars, tuple(final.node(g) for g in guards), pos, final.node(value))
    extra = () if growing or c.guard is TRUE else (c.guard,)
    piece = Piece((c.v, *p.vars), (*extra, *guards), pos, value, p.ordered)
    if p.ordered or injective(piece):
        return piece
    if not all(is_affine(i) for i in pos):
        return Piece(piece.vars, piece.guards, pos, value, True)
    raise NotLifted(
        f'several iterations write the same item of "{w.carry.cell.name}"',
        "write every item once, or add to it",
        w.carry.span,
        "write",
        binder=w.carry.cell.name,
    )


def _check_apart(w: Written, c: Closing) -> None:
    """Different pieces never write one item in different iterations."""
    pieces = w.exit.pieces
    for n, a in enumerate(pieces):
        for b in pieces[:n]:
            if a in w.terms and b in w.terms and a.pos == b.pos:
                continue
            change, fresh = renamed(b, (c.v,))
            differences = [combine(x, change.node(y), -1) for x, y in zip(a.pos, b.pos, strict=True)]
            guards = guard_forms((*a.guards, *(change.node(g) for g in b.guards)))
            for sign in (1, -1):
                gap = plus(scale(combine(fresh[c.v], c.v, -1), sign), -1)
                if can_meet(differences, (gap, *guards)):
                    raise _overlap(w.carry, c)


def _grown(w: Written, c: Closing, entry: Tensor, closed: list[Piece]) -> Made:
    """A sequence that grew by the same number of items every iteration."""
    k = w.carry
    assert isinstance(k.entry, Seq)
    if not at_least_zero(c.trip, c.known):
        raise NotLifted(
            f'the length of "{k.cell.name}" is not known: the loop may run a negative number of times',
            "bound the loop so that its count is proved not to be negative",
            k.span,
            "write",
            binder=k.cell.name,
        )
    length = combine(length_of(k.entry), scale(c.trip, k.growth))
    n = int_constant(length)
    box = n if n is not None else bounds(length)[1]
    dims = (box, *w.exit.dims[1:]) if w.exit.dims else None
    run_time = None if n is not None else length
    base: Tensor | None
    match entry:
        case Start():
            base, old = entry, Pieces()
        case Made() if entry.base is None or isinstance(entry.base, Start) or grows_late(entry):
            base, old = entry.base, pieces_of(entry)
        case Made() if entry.dims and None not in entry.dims and not over_sources(entry):
            vars = tuple(Sym("k", d) for d in entry.dims)
            base, old = None, Pieces().over(Piece(vars, (), vars, get(entry, vars)), entry.dims)
        case _:
            raise NotLifted(
                f'"{k.cell.name}" does not start as a new Seq, and cannot grow in a loop',
                "push its first items to a new Seq, then the others",
                k.span,
                "write",
                binder=k.cell.name,
            )
    if isinstance(base, Start):
        dims = (None, *dims[1:]) if dims else None
    # What begins where a loop before ended may not go past the end; nor read, there, what is not: rows are then no
    # tensors of their own.
    past = c.guard is not TRUE and _leaves(closed, dims)
    if c.guard is not TRUE and (past or n is not None):
        values = [made_of(p.value) if past else p.value for p in closed]
        closed = [
            Piece(p.vars, (c.guard, *p.guards), p.pos, value, p.ordered)
            for p, value in zip(closed, values, strict=True)
        ]
        if n is None and base is None:
            base = _nothing(w, k, dims or ())
    if isinstance(entry, Made) and grows_late(entry) and dims is not None:
        made = widened(entry, dims, run_time)
        for p in closed:
            made = put(made, p, k.order, k.span, k.cell.name, c.known)
        return made
    pieces, joined = old, 0
    first = int_constant(length_of(k.entry))
    for p in closed:
        low = bounds(p.pos[0])[0]
        pushed = first is not None and low is not None and low >= first
        near = (e for e in pieces.near(p.pos) if not pushed or e.age >= old.next)
        if not all(disjoint(e.piece, p) for e in near):
            break
        pieces, joined = pieces.over(p, dims or ()), joined + 1
    made = made_of_pieces(k.cell.name, dims or (), base, pieces, k.order, k.span, run_time)
    if dims is None:
        made.dims = None
    for p in closed[joined:]:  # what an iteration writes over what it has pushed
        made = put(made, p, k.order, k.span, k.cell.name, c.known)
    return made


def _leaves(pieces: Sequence[Piece], dims: tuple[int | None, ...] | None) -> bool:
    """Whether items of a sequence of known room may read what is not there."""
    return bool(dims) and None not in dims and any(leaves(p.value) for p in pieces)


def _nothing(w: Written, k: Carry, dims: tuple[int | None, ...]) -> Made:
    """Zeros where nothing is pushed."""
    vars = tuple(Sym("k", d) for d in dims)
    zero = real(0.0) if w.exit.kind == "float" else integer(0)
    return Made(k.cell.name, dims, None, (Piece(vars, (), vars, zero),), k.order, k.span)


def _close_anew(k: Carry, c: Closing, reads: dict[Get, Node], starts: frozenset[Start]) -> None:
    """A sequence every iteration sets anew, never reading what it was."""
    assert isinstance(k.exit, Seq) and isinstance(k.start, Start)
    for other in c.carries:
        value = other.exit
        whose = value if isinstance(value, Node) else value.tensor if isinstance(value, Seq) else None
        if whose is not None and k.start in whose.free:
            problem = NotLifted(
                f'"{k.cell.name}" is computed from what it was in the iteration before: a recurrence',
                "write it as a sum, product, maximum or minimum of terms that do not depend on it",
                k.span,
                binder=k.cell.name,
            )
            problem.carried = True
            raise problem
    exit = Substitution({}, None, reads).tensor(k.exit.tensor)
    if c.last is None:
        k.final = Poison(f'the value of "{k.cell.name}" after the loop depends on how often it runs', ONCE)
    else:
        k.final = Seq(Substitution({c.v: c.last}).tensor(exit))
    k.closed = True
