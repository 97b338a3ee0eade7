"""What an iteration writes of a sequence it carries, and which version each of its reads means.

The tests of `solve` decide which writes may hit an element: of earlier iterations, of this one so far, of later ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import guard_forms, is_affine
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.solve import can_meet, injective, made_of, renamed, solve
from spatial.lift.algebra.values import Get, Made, Node, Piece, Start, Sym, Tensor, combine, get, plus
from spatial.lift.algebra.walk import below, reads_below
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.carried.reductions import Term, match
from spatial.lift.carried.rescaled import Rescaled
from spatial.lift.carried.running import part_of
from spatial.lift.context.state import NotLifted, Seq


@dataclass(eq=False)
class Written:
    """A sequence the loop writes in place: its pieces of one iteration, terms of those that accumulate."""

    carry: Carry
    start: Start
    exit: Made
    plain: dict[Piece, Node] = field(default_factory=dict[Piece, Node])
    """Values of pieces before what they read at their own places was looked through."""
    terms: dict[Piece, Term | Rescaled] = field(default_factory=dict[Piece, Term | Rescaled])
    selves: set[Get] = field(default_factory=set[Get])
    after: set[Start] = field(default_factory=set[Start])
    """Sequences whose version after the loop its pieces read."""
    new: Made | None = None


def rooted(tensor: Tensor, starts: frozenset[Start]) -> Start | None:
    """The loop's sequence that a tensor is a version of, if any."""
    while isinstance(tensor, Made) and tensor.base is not None:
        tensor = tensor.base
    return tensor if isinstance(tensor, Start) and tensor in starts else None


def flat(exit: Made) -> Made:
    """All that an iteration writes, oldest first: later pieces hide earlier ones of the same iteration."""
    pieces: list[Piece] = []
    at: Tensor = exit
    while isinstance(at, Made) and at.base is not None:
        pieces[:0] = at.pieces
        at = at.base
    if at is exit.base:
        return exit
    return Made(exit.name, exit.dims or (), at, tuple(pieces), exit.order, exit.origin, exit.length)


def written_by(k: Carry, start: Start, exit: Made, c: Closing) -> Written:
    """A sequence written in place, and which of its pieces accumulate."""
    apart = k.growth or all(any(c.v in i.free for i in p.pos) for p in exit.pieces)
    if not apart and any(start in p.value.free for p in exit.pieces):
        opened = {_opened(p, start): p.value for p in exit.pieces}
        exit = Made(exit.name, exit.dims or (), exit.base, tuple(opened), exit.order, exit.origin, exit.length)
        k.exit = Seq(exit)
    else:
        opened = {}
    w = Written(k, start, exit, opened)
    for p in exit.pieces:
        if k.growth or not _collects(p, c.v):
            continue
        own = get(start, p.pos)
        if own in reads_below((p.value,), frozenset((start,))):
            term: Term | Rescaled | None = match(p.value, own)
            if term is None and not p.ordered and not any(c.v in i.free for i in p.pos):
                term = part_of(c, _all_of(p, own), own)
            if term is not None and isinstance(own, Get):
                w.terms[p] = term
                w.selves.add(own)
    return w


def relative(p: Piece, start: Start, c: Closing) -> bool:
    """Whether a piece keeps a sum relative to a running maximum of the loop."""
    own = get(start, p.pos)
    opened = _opened(p, start)
    return bool(c.running.keys() & opened.value.free) and part_of(c, _all_of(opened, own), own) is not None


def _opened(p: Piece, start: Start) -> Piece:
    """The piece, what it reads at its own place of versions made on the way (by an inner loop, by a branch) looked
    through."""
    value = p.value
    while True:
        reads = {n: made_of(n) for n in below(value) if isinstance(n, Get) and start in n.free and n.index == p.pos}
        reads = {n: made for n, made in reads.items() if made is not n}
        if not reads:
            break
        value = Substitution({}, None, reads).node(value)
    return p if value is p.value else Piece(p.vars, p.guards, p.pos, value, p.ordered)


def _all_of(p: Piece, own: Node) -> Node:
    """What an iteration leaves of an item, its guards included."""
    value = p.value
    for g in p.guards:
        value = arith.select(g, value, own)
    return value


def _collects(p: Piece, v: Sym) -> bool:
    """Whether iterations may add to one item: each along some axis always there, where a table says, or shifted."""
    moving = [i for i in p.pos if v in i.free]
    if not any(is_affine(i) or any(u in i.free for u in p.vars) for i in moving):
        return True
    apart = injective(Piece((v, *p.vars), p.guards, p.pos, p.value))
    return not apart and all(is_affine(i) for i in p.pos) and solve(p.pos, p.vars, p.pos) is not None


def nodes_of(w: Written) -> Iterable[Node]:
    """What the writes of a sequence are made of, terms in place of what they add to."""
    for p in w.exit.pieces:
        yield from p.pos
        yield from p.guards
        term = w.terms.get(p)
        if term is None:
            yield p.value
        else:
            yield term.value
            yield from term.guards


def recurrence(w: Written) -> NotLifted:
    """The refusal of a loop that reads what it has made."""
    best = any(get(w.start, p.pos) in reads_below(p.guards, frozenset((w.start,))) for p in w.exit.pieces)
    problem = NotLifted(
        f'an iteration reads an item of "{w.carry.cell.name}" that another iteration writes: a recurrence',
        "keep the greatest or the least of its items by max or min: Set item i of best to max(item i of best, u)"
        if best
        else "write into a second sequence, or compute each item from the inputs alone",
        w.carry.span,
        binder=w.carry.cell.name,
    )
    problem.carried = True
    return problem


def version(r: Get, w: Written, c: Closing) -> str:
    """ "before", "after" or "between": which version of a written sequence a read means."""
    steps = chain(r.tensor)
    done = {_written_as(p) for p in steps}
    known = {_written_as(p, w.plain.get(p)) for p in w.exit.pieces}
    earlier = later = False
    for p in w.exit.pieces:
        first = _written_as(p, w.plain.get(p)) in done
        earlier = earlier or hits(p, r, c, w, 0 if first else -1, before=True)
        later = later or hits(p, r, c, w, 1 if first else 0, before=False)
    hidden = any(_written_as(p) not in known and hits(p, r, c, w, 0, before=True) for p in steps)
    if not earlier:
        return "between" if hidden else "before"
    if not later and not hidden:
        return "after"
    raise recurrence(w)


def chain(tensor: Tensor) -> list[Piece]:
    """What an iteration has written of a sequence so far, oldest first."""
    found: list[Piece] = []
    while isinstance(tensor, Made):
        found[:0] = tensor.pieces
        if tensor.base is None:
            break
        tensor = tensor.base
    return found


def _written_as(p: Piece, value: Node | None = None) -> tuple[object, ...]:
    """What a piece writes, to tell it from another piece at its place; `value`: what it was before it was opened."""
    return p.vars, tuple(p.pos), p.guards, value or p.value


def hits(p: Piece, r: Get, c: Closing, w: Written, offset: int, before: bool) -> bool:
    """Whether the piece, in an iteration v' ≤ v + offset (`before`) or v' ≥ v + offset, may hit what `r` reads in v."""
    change, fresh = renamed(p, (c.v,))
    other = fresh[c.v]
    gap = combine(c.v, other, -1) if before else combine(other, c.v, -1)
    gap = plus(gap, offset if before else -offset)
    differences = [combine(change.node(x), y, -1) for x, y in zip(p.pos, r.index, strict=True)]
    guards = guard_forms((*(change.node(g) for g in p.guards), change.node(c.guard), c.guard))
    return can_meet(differences, (gap, *guards))
