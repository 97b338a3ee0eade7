"""Joining: a map or a reduction with one reader, on the reader's own domain, becomes part of the reader.

Readers are counted over units; a result, a carried tensor or a state's last version has a reader outside. This version
joins so that products stay recognisable: maps first, until nothing more joins; then sums of sums; then a reduction
joins the map that alone reads it if that map holds no other reduction and reads no other that could join; a copy of a
whole tensor of several pieces takes the pieces over. An expression has a greatest depth, at which a chain of maps is
cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from spatial.lift.algebra.bounds import is_affine
from spatial.lift.algebra.folds import OPS
from spatial.lift.algebra.rewrite import Mapper, Substitution
from spatial.lift.algebra.solve import injective, lands
from spatial.lift.algebra.values import ZERO, Fold, Get, Node, Piece, Sym, Tensor, get, parts
from spatial.lift.algebra.walk import children, levels, tree_size
from spatial.lift.canonical.axes import outer_folds
from spatial.lift.canonical.boxes import split_as
from spatial.lift.canonical.closed import is_fill
from spatial.lift.canonical.sizes import DEEPEST, LARGE
from spatial.lift.canonical.units import Unit, Units


@dataclass(frozen=True)
class Use:
    """A read of a unit: by which piece of which unit, over which variables, inside a reduction or not."""

    reader: Unit
    piece: Piece
    read: Get
    box: frozenset[Sym]
    place: str
    """ "value", "fold", or "other" (an index, a condition, a base)."""


def join(units: Units, outside: set[Tensor]) -> dict[Unit, Unit]:
    """Joins what can be joined, and returns what joined what; `outside`: tensors read from outside."""
    joined: dict[Unit, Unit] = {}
    while found := _round(units, outside, _map_joins):
        joined |= found
    while found := _round(units, outside, _sum_joins):
        joined |= found
    joined |= _round(units, outside, _fold_joins)
    return joined | _round(units, outside, _copy_joins)


Alone = dict[Unit, list[tuple[Unit, Use]]]
"""By reader, the units that are read once, by it."""

Choice = Callable[[Unit, Use, Alone, set[Tensor]], bool]


def _round(units: Units, outside: set[Tensor], choose: Choice) -> dict[Unit, Unit]:
    live = reachable(units, outside)
    uses = _uses(live)
    alone: Alone = {}
    for unit, mine in uses.items():
        if len(mine) == 1:
            alone.setdefault(mine[0].reader, []).append((unit, mine[0]))
    done: dict[Unit, Unit] = {}
    touched: set[Unit] = set()
    for unit in live:
        mine = uses.get(unit, [])
        if unit in outside or unit.base is not None or len(mine) != 1 or is_fill(unit):
            continue
        use = mine[0]
        if use.reader in touched or unit in touched or use.reader.block is not unit.block:
            continue
        if not _own_domain(unit, use):
            continue
        if choose(unit, use, alone, outside):
            touched |= {use.reader, unit}
            done[unit] = use.reader
    return done


def reachable(units: Units, outside: set[Tensor]) -> list[Unit]:
    """Units that something outside needs, in the order they were made."""
    seen: set[Tensor] = set()
    pending = list(outside)
    while pending:
        t = pending.pop()
        if t in seen:
            continue
        seen.add(t)
        if isinstance(t, Unit):
            if t.base is not None:
                pending.append(t.base)
            for p in t.pieces:
                for n in (*p.guards, *p.pos, p.value):
                    pending += [r.tensor for r, _, _ in _reads(n, frozenset(), "value")]
        block = getattr(t, "block", None)
        if block is not None:
            pending += [*block.initial, *block.made]
    return [u for u in units.all if u in seen]


def _uses(live: list[Unit]) -> dict[Unit, list[Use]]:
    found: dict[Unit, list[Use]] = {}
    for unit in live:
        if isinstance(unit.base, Unit):
            whole = Get(unit.base, ())
            found.setdefault(unit.base, []).append(Use(unit, Piece((), (), (), whole), whole, frozenset(), "other"))
        for p in unit.pieces:
            box = frozenset(p.vars)
            reads = [r for n in (*p.guards, *p.pos) for r in _reads(n, box, "other")]
            reads += _reads(p.value, box, "value")
            for read, inner, place in dict.fromkeys(reads):
                if isinstance(read.tensor, Unit):
                    found.setdefault(read.tensor, []).append(Use(unit, p, read, inner, place))
    return found


def _reads(node: Node, box: frozenset[Sym], place: str) -> list[tuple[Get, frozenset[Sym], str]]:
    found: list[tuple[Get, frozenset[Sym], str]] = []
    seen: set[tuple[int, str]] = set()
    pending = [(node, box, place)]
    while pending:
        n, b, w = pending.pop()
        if (id(n), w) in seen:
            continue
        seen.add((id(n), w))
        match n:
            case Get():
                found.append((n, b, w))
                pending += [(i, b, "other") for i in n.index]
            case Fold():
                inner = b | frozenset(n.vars)
                pending += [(g, inner, "other") for g in n.guards]
                pending.append((n.value, inner, "fold" if w == "value" else w))
                if n.arg is not None:
                    pending.append((n.arg, inner, "fold" if w == "value" else w))
                if n.init is not None:
                    pending.append((n.init, b, "other"))
            case _:
                pending += [(c, b, w) for c in children(n)]
    return found


def _own_domain(unit: Unit, use: Use) -> bool:
    """Whether the read runs over exactly the variables it stands under, and over every element once."""
    index = use.read.index
    if use.place not in ("value", "fold"):
        return False
    if all(isinstance(i, Sym) for i in index) and len(set(index)) == len(index):
        return frozenset(index) == use.box
    vars = tuple(sorted(use.box, key=lambda v: v.serial))
    whole = math.prod(v.extent or 0 for v in vars) == math.prod(unit.shape)
    inside = all(isinstance(a, Sym) and a in use.box for i in index for a, _ in parts(i)[1])
    return whole and inside and injective(Piece(vars, (), index, ZERO))


def _single(unit: Unit) -> Piece | None:
    """The one piece of a unit, if it makes every element."""
    if len(unit.pieces) != 1:
        return None
    p = unit.pieces[0]
    return p if not p.guards and not p.ordered and p.volume == math.prod(unit.shape) else None


def _gathers(p: Piece) -> bool:
    return isinstance(p.value, Get) and not all(is_affine(i) for i in p.value.index)


def _map_joins(unit: Unit, use: Use, alone: Alone, outside: set[Tensor]) -> bool:
    p = _single(unit)
    if p is None or outer_folds(p.value) or _gathers(p):
        return False
    if levels(p.value, DEEPEST) + levels(use.piece.value, DEEPEST) > DEEPEST:
        return False
    if _copied(use, p) > LARGE:
        return False
    return _put(unit, use, p)


def _copied(use: Use, p: Piece) -> int:
    """How large a reader gets in which the value of what it reads would stand several times; 0 if once."""
    size = tree_size(p.value, {})
    read = tree_size(use.read, {})
    after = tree_size(use.piece.value, {use.read: size})
    times = (after - tree_size(use.piece.value, {})) // (size - read) if size != read else 1
    return after if times > 1 else 0


def _joinable_fold(unit: Unit, use: Use, outside: set[Tensor]) -> bool:
    p = _single(unit)
    return (
        p is not None
        and unit not in outside
        and bool(outer_folds(p.value))
        and use.place == "value"
        and not outer_folds(use.piece.value)
        and len(use.reader.pieces) == 1
    )


def _fold_joins(unit: Unit, use: Use, alone: Alone, outside: set[Tensor]) -> bool:
    if not _joinable_fold(unit, use, outside):
        return False
    for other, its in alone[use.reader]:
        if other is not unit and _own_domain(other, its) and _joinable_fold(other, its, outside):
            return False
    p = _single(unit)
    assert p is not None
    return _put(unit, use, p)


def _sum_joins(unit: Unit, use: Use, alone: Alone, outside: set[Tensor]) -> bool:
    """A sum of sums (a maximum of maxima, …) is one."""
    p = _single(unit)
    if p is None or not isinstance(p.value, Fold) or p.value.op not in OPS or p.value.init is not None:
        return False
    if not any(f.value is use.read and f.op == p.value.op for f in outer_folds(use.piece.value)):
        return False
    return _put(unit, use, p)


def _put(unit: Unit, use: Use, p: Piece) -> bool:
    """Puts the value of a unit where it is read; False where the point is not known."""
    piece, index = _divided(p, use)
    point = lands(p, index)
    if point is None:
        return False
    value = Substitution(point).node(p.value)

    def on_get(tensor: Tensor, index: tuple[Node, ...]) -> Node:
        return value if tensor is unit else get(tensor, index)

    mapper = Mapper(on_get)
    reader = use.reader
    reader.pieces = tuple(mapper.piece(piece) if q is use.piece else q for q in reader.pieces)
    reader.belong()
    return True


def _divided(p: Piece, use: Use) -> tuple[Piece, tuple[Node, ...]]:
    """The piece that reads `p`, and where: a variable that runs over what several of `p` make is split as they are."""
    piece = use.piece
    for place, i in zip(p.pos, use.read.index, strict=True):
        if isinstance(i, Sym):
            piece = split_as(piece, i, place)
    if piece is use.piece:
        return piece, use.read.index
    reads = (r for n in (*piece.guards, piece.value) for r, _, _ in _reads(n, frozenset(), "value"))
    return piece, next(r.index for r in reads if r.tensor is use.read.tensor)


def _copy_joins(unit: Unit, use: Use, alone: Alone, outside: set[Tensor]) -> bool:
    """`row of a table = tensor of several pieces`: the pieces go to the table."""
    q = use.piece
    if q.value is not use.read or not all(isinstance(i, Sym) for i in use.read.index):
        return False
    if any(p.guards or p.ordered for p in unit.pieces) or len(use.reader.pieces) != 1:
        return False
    pieces: list[Piece] = []
    for p in unit.pieces:
        change = Substitution({v: i for v, i in zip(use.read.index, p.pos, strict=True) if isinstance(v, Sym)})
        guards = tuple(change.node(g) for g in q.guards)
        pieces.append(Piece(p.vars, guards, tuple(change.node(i) for i in q.pos), p.value, q.ordered))
    use.reader.pieces = tuple(pieces)
    use.reader.belong()
    return True
