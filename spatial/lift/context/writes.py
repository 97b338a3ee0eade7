"""Writes into tensors: one more piece over what was there, overwritten pieces dropped, branches merged under guards."""

from __future__ import annotations

from collections.abc import Sequence

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import bounds, decided
from spatial.lift.algebra.pieces import Entry, made_of_pieces, pieces_of
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.solve import covers, disjoint, element
from spatial.lift.algebra.values import (
    Inner,
    Made,
    Node,
    Piece,
    Source,
    Start,
    Sym,
    Tensor,
    combine,
    int_constant,
    integer,
)
from spatial.lift.context.state import Seq
from spatial.logos.syntax import Span


def put(
    target: Tensor,
    piece: Piece,
    order: int,
    span: Span,
    name: str,
    known: Sequence[Node] = (),
) -> Made:
    """`target` with a piece written over it: where pieces stay disjoint one version, else a version over another."""
    dims = target.dims or ()
    if covers((piece,), dims):
        return Made(name, dims, None, (piece,), order, span, target.length)
    if not isinstance(target, Made):
        return Made(name, dims, target, (piece,), order, span, target.length)
    before, gone = pieces_of(target), list[Entry]()
    for entry in before.entries if piece.ordered else before.near(piece.pos):
        old = entry.piece
        if _same_place(old, piece):
            if piece.guards:
                value = arith.select(_all(piece.guards), piece.value, old.value)
                piece = Piece(piece.vars, _one_of(old.guards, piece.guards), piece.pos, value, piece.ordered)
            gone.append(entry)
        elif _covers_piece(piece, old) and not piece.guards:
            gone.append(entry)
        elif piece.ordered or old.ordered or not disjoint(old, piece):
            if piece.guards and not piece.ordered and _plain(target) and _within(piece, dims):
                piece = _unguarded(target, piece, known)
                if covers((piece,), dims):
                    return Made(name, dims, None, (piece,), order, span, target.length)
            return Made(name, dims, target, (piece,), order, span, target.length)
    pieces = before.over(piece, dims, gone)
    base = None if target.base is None or pieces.cover(dims) else target.base
    if target.base is None and gone and not pieces.cover(dims):
        # Dropping an old piece left a hole (it was larger): stack instead.
        return Made(name, dims, target, (piece,), order, span, target.length)
    made = made_of_pieces(name, dims, base, pieces, order, span, target.length)
    if base is not None:
        made.step = target, piece
    return made


def widened(target: Made, dims: tuple[int | None, ...], length: Node | None) -> Made:
    """A sequence whose end only a run knows, in the shape of what grows from it by writes over it.

    Its pieces may reach past that end, where what is pushed later is written over them, or not as far: then nobody
    reads what is there.
    """
    base = widened(target.base, dims, length) if isinstance(target.base, Made) else target.base
    return made_of_pieces(target.name, dims, base, pieces_of(target), target.order, target.origin, length)


def grows_late(target: Tensor) -> bool:
    """Whether something was pushed so often as only a run knows: what is pushed next may lie in its pieces' boxes."""
    start = _lowest(target)
    if target.length is None or not isinstance(target, Made):
        return False
    before = start.length if isinstance(start, Start) and start.length is not None else integer(0)
    return int_constant(combine(target.length, before, -1)) is None


def _plain(tensor: Tensor) -> bool:
    """Whether every element of a tensor is known as a value (no table or loop start below)."""
    return _lowest(tensor) is None


def _lowest(tensor: Tensor) -> Tensor | None:
    """What lies below all that was written over it; None where nothing does."""
    while isinstance(tensor, Made):
        if tensor.base is None:
            return None
        tensor = tensor.base
    return tensor


def _within(piece: Piece, dims: Sequence[int | None]) -> bool:
    """Whether the places of a piece exist where its guards do not hold, too."""
    ranges = [bounds(i) for i in piece.pos]
    return len(ranges) == len(dims) and all(
        low is not None and low >= 0 and high is not None and d is not None and high < d
        for (low, high), d in zip(ranges, dims, strict=True)
    )


def _unguarded(target: Tensor, piece: Piece, known: Sequence[Node]) -> Piece:
    """A guarded write as an unguarded one that selects the old value."""
    old = element(target, piece.pos, known)
    value = arith.select(_all(piece.guards), piece.value, old)
    return Piece(piece.vars, (), piece.pos, value)


def _all(guards: Sequence[Node]) -> Node:
    total: Node = arith.TRUE
    for g in guards:
        total = arith.both(total, g)
    return total


def _one_of(a: tuple[Node, ...], b: tuple[Node, ...]) -> tuple[Node, ...]:
    """Guards that hold where all of `a` do, or all of `b`."""
    common = tuple(g for g in a if g in b)
    rest = (_all([g for g in guards if g not in common]) for guards in (a, b))
    other = arith.either(*rest)
    return common if decided(other) is True else (*common, other)


def _same_place(a: Piece, b: Piece) -> bool:
    return not a.vars and not b.vars and a.pos == b.pos


def _covers_piece(new: Piece, old: Piece) -> bool:
    """Whether two pieces have the same box at the same places."""
    if len(new.vars) != len(old.vars) or len(new.pos) != len(old.pos) or new.guards or new.ordered:
        return False
    if any(a.extent != b.extent for a, b in zip(new.vars, old.vars, strict=True)):
        return False
    change = Substitution(dict(zip(old.vars, new.vars, strict=True)))
    return all(change.node(p) is q for p, q in zip(old.pos, new.pos, strict=True))


def guarded(condition: Node, a: Seq, b: Seq, before: Seq, order: int, span: Span, known: Sequence[Node]) -> Seq | None:
    """A branch's writes over `before`: those of `a` where the condition holds, then those of `b` where not.

    None if a branch did something else to the sequence than write items of it.
    """
    if not (a.whole and b.whole):
        return None
    base = before.tensor
    first, second = _writes(a.tensor, base), _writes(b.tensor, base)
    if first is None or second is None:
        return None
    name = a.tensor.name or b.tensor.name
    if a.tensor.length is not b.tensor.length or a.dims != b.dims:
        return None
    if a.tensor.length is not base.length or a.dims != base.dims:
        return _grown_alike(condition, a.tensor, b.tensor, first, second, order, span)
    result = base
    for piece in (both := _chosen(condition, first, second) or []):
        result = put(result, piece, order, span, name, known)
    if both:
        return Seq(result)
    for writes, guard in ((first, condition), (second, arith.negate(condition))):
        for piece in writes:
            guards = tuple(g for g in (guard, *piece.guards) if decided(g) is not True)
            result = put(result, Piece(piece.vars, guards, piece.pos, piece.value), order, span, name, known)
    return Seq(result)


def _grown_alike(
    condition: Node, a: Tensor, b: Tensor, first: list[Piece], second: list[Piece], order: int, span: Span
) -> Seq | None:
    """Both branches pushed the same number of items: each item is one or the other."""
    both = _chosen(condition, first, second)
    if not isinstance(a, Made) or both is None or not all(p in a.pieces for p in first):
        return None
    chosen = dict(zip(first, both, strict=True))
    pieces = tuple(chosen.get(p, p) for p in a.pieces)
    return Seq(Made(a.name, a.dims or (), a.base, pieces, order, span, a.length))


def _chosen(condition: Node, first: list[Piece], second: list[Piece]) -> list[Piece] | None:
    """The writes of two branches that write the same places in the same order, each value one or the other."""
    if len(first) != len(second):
        return None
    chosen: list[Piece] = []
    for p, q in zip(first, second, strict=True):
        change = Substitution(dict(zip(q.vars, p.vars, strict=False)))
        extents = [v.extent for v in p.vars] == [v.extent for v in q.vars]
        if not extents or tuple(change.node(i) for i in q.pos) != tuple(p.pos) or p.guards or q.guards:
            return None
        value = arith.select(condition, p.value, change.node(q.value))
        chosen.append(Piece(p.vars, (), p.pos, value))
    return chosen


def _writes(tensor: Tensor, base: Tensor) -> list[Piece] | None:
    """The pieces written over `base` to get `tensor`, oldest first; None if it is not made so."""
    chain: list[Piece] = []
    while tensor is not base:
        if isinstance(tensor, Made) and isinstance(base, Made) and tensor.base is base.base:
            more = pieces_of(tensor).since(base.pieces)
            if more is not None and not any(p.ordered for p in more[0]):
                return [*more[0], *chain]
        if not isinstance(tensor, Made) or tensor.base is None:
            return _difference(tensor, base, chain)
        if any(p.ordered for p in tensor.pieces):
            return None
        chain[:0] = tensor.pieces
        tensor = tensor.base
        if isinstance(base, Made) and tensor is base.base and tensor is not base:
            # `base` itself had pieces over the same tensor: only the new ones count.
            return [p for p in chain if p not in base.pieces] if all(p in chain for p in base.pieces) else None
    return chain


def _difference(tensor: Tensor, base: Tensor, chain: list[Piece]) -> list[Piece] | None:
    if isinstance(tensor, Made) and isinstance(base, Made) and base.base is None and tensor.dims == base.dims:
        if all(p in tensor.pieces for p in base.pieces):
            return [*(p for p in tensor.pieces if p not in base.pieces), *chain]
        new = [p for p in tensor.pieces if p not in base.pieces]
        return [*new, *chain]
    return None


def over_sources(tensor: Tensor) -> bool:
    """Whether a version lies over a table, or a block's or a loop's carried tensor."""
    return isinstance(_lowest(tensor), Source | Inner | Start)


def copy_of(tensor: Tensor, order: int, span: Span) -> Made:
    """A whole copy of a tensor, element by element."""
    vars = tuple(Sym("k", d) for d in tensor.dims or ())
    piece = Piece(vars, (), vars, element(tensor, vars))
    return Made(tensor.name, tensor.dims or (), None, (piece,), order, span, tensor.length)


def number_of(value: Node, order: int, name: str, span: Span) -> Made:
    """A number as a tensor without axes."""
    return Made(name, (), None, (Piece((), (), (), value),), order, span)
