"""The layout of what statements hand to one another: no part of what a program means, so told by who reads it.

The axes of a made tensor stand in the order in which its first reader runs over them, what the reader makes before
what it reduces; an axis counts in the direction in which it is read. Results, tables and weights keep the layout they
have outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spatial.lift.algebra.keys import Keys
from spatial.lift.algebra.rewrite import Mapper, Substitution
from spatial.lift.algebra.values import (
    BlockValue,
    Fold,
    Get,
    Node,
    Piece,
    Source,
    Sym,
    Tensor,
    combine,
    get,
    integer,
    parts,
)
from spatial.lift.algebra.walk import below
from spatial.lift.canonical.order import ranked, visited
from spatial.lift.canonical.units import Unit


def lay_out(live: Sequence[Unit], blocks: Sequence[BlockValue], outside: set[Tensor]) -> None:
    """Gives every tensor that only statements read its directions and the order of its axes."""
    held: set[Tensor | None] = {u.base for u in live}
    for b in blocks:
        held |= {*b.initial, *b.made}
    free = [u for u in live if u not in outside and u not in held and _free(u)]
    if free:
        _turn(free, live)
        _permute(free, live, blocks)


def _free(unit: Unit) -> bool:
    return unit.base is None and not unit.fixed and not any(p.ordered or p.guards for p in unit.pieces)


def _reads(unit: Unit) -> Iterable[tuple[Piece, Get]]:
    for p in unit.pieces:
        for root in (p.value, *p.guards, *p.pos):
            for n in below(root):
                if isinstance(n, Get):
                    yield p, n


# ---------------------------------------------------------------- directions


def _turn(free: Sequence[Unit], live: Sequence[Unit]) -> None:
    """Turns the axes that are read against their direction more often than along it."""
    along: dict[tuple[Unit, int], int] = {}
    mine = set(free)
    for u in live:
        for p, read in _reads(u):
            if isinstance(read.tensor, Unit) and read.tensor in mine:
                for axis, i in enumerate(read.index):
                    signs = {c > 0 for a, c in parts(i)[1] if a in p.vars}  # a reduced variable runs either way
                    if len(signs) == 1:
                        at = read.tensor, axis
                        along[at] = along.get(at, 0) + (1 if signs == {True} else -1)
    turned = {at for at, n in along.items() if n < 0}
    if not turned:
        return

    def place(unit: Tensor, index: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(
            _from_end(unit, n, i) if isinstance(unit, Unit) and (unit, n) in turned else i for n, i in enumerate(index)
        )

    mapper = Mapper(lambda t, index: get(t, place(t, index)))
    for u in live:
        pieces = [mapper.piece(p) for p in u.pieces]
        u.pieces = tuple(_upright(Piece(p.vars, p.guards, place(u, p.pos), p.value, p.ordered)) for p in pieces)


def _from_end(unit: Unit, axis: int, index: Node) -> Node:
    return combine(integer(unit.shape[axis] - 1), index, -1)


def _upright(p: Piece) -> Piece:
    """The piece with every variable counting as the place it writes does."""
    for i in p.pos:
        terms = parts(i)[1]
        if len(terms) == 1 and isinstance(terms[0][0], Sym) and terms[0][1] < 0 and terms[0][0] in p.vars:
            v = terms[0][0]
            fresh = Sym(v.name, v.extent)
            change = Substitution({v: combine(integer((v.extent or 1) - 1), fresh, -1)})
            p = Piece(
                tuple(fresh if u is v else u for u in p.vars),
                tuple(change.node(g) for g in p.guards),
                tuple(change.node(j) for j in p.pos),
                change.node(p.value),
                p.ordered,
            )
    return p


# ---------------------------------------------------------------- the order of axes


def _permute(free: Sequence[Unit], live: Sequence[Unit], blocks: Sequence[BlockValue]) -> None:
    ranks = ranked(live, blocks)
    keys = Keys()
    uses: dict[Unit, list[tuple[Unit, Piece, Get]]] = {u: [] for u in free}
    for u in live:
        for p, read in _reads(u):
            if isinstance(read.tensor, Unit) and read.tensor in uses:
                uses[read.tensor].append((u, p, read))
    orders: dict[Unit, tuple[int, ...]] = {}

    def readers(unit: Unit) -> list[Unit]:
        return list(dict.fromkeys(u for u, _, _ in uses.get(unit, ())))

    def choose(unit: Unit) -> None:
        found = uses.get(unit, [])
        if not found or len(unit.shape) < 2:
            return
        reader = min((u for u, _, _ in found), key=ranks.__getitem__)
        orders[unit] = min(
            (_axes(unit, reader, p, read, orders, keys) for u, p, read in found if u is reader), key=lambda t: t[0]
        )[1]

    visited(live, readers, choose)
    if all(order == tuple(range(len(order))) for order in orders.values()):
        return

    def place(tensor: Tensor, index: tuple[Node, ...]) -> tuple[Node, ...]:
        order = orders.get(tensor) if isinstance(tensor, Unit) else None
        return index if order is None else tuple(index[n] for n in order)

    mapper = Mapper(lambda t, index: get(t, place(t, index)))
    for u in live:
        pieces = [mapper.piece(p) for p in u.pieces]
        u.pieces = tuple(Piece(p.vars, p.guards, place(u, p.pos), p.value, p.ordered) for p in pieces)
    for u, order in orders.items():
        u.dims = tuple(u.shape[n] for n in order)


def _axes(
    unit: Unit, reader: Unit, p: Piece, read: Get, orders: dict[Unit, tuple[int, ...]], keys: Keys
) -> tuple[tuple[object, ...], tuple[int, ...]]:
    """The order in which a read runs over the axes of a tensor; before it, how it compares with others."""
    pos = [p.pos[n] for n in orders.get(reader, range(len(p.pos)))]
    strides: dict[Sym, int] = {}
    for n, i in enumerate(pos):
        for a, c in parts(i)[1]:
            if isinstance(a, Sym):
                strides[a] = len(pos) * 2**32 - (n << 32) + abs(c)
    vars = sorted((v for v in p.vars), key=lambda v: -strides.get(v, 0))
    for f in (n for n in below(p.value) if isinstance(n, Fold)):
        vars += sorted(f.vars, key=lambda v: _reduced(f, v, keys))
    rank = {v: n for n, v in enumerate(vars)}
    key = keys.function(unit)
    own = {v: n for n, v in enumerate(key.vars)} if key is not None else {}
    told: list[tuple[int, int, int, int]] = []
    for n, i in enumerate(read.index):
        mine = [(rank.get(a, len(rank)), -abs(c)) for a, c in parts(i)[1] if isinstance(a, Sym)]
        place, coefficient = min(mine, default=(-1, 0))
        axis = unit.pieces[0].pos[n]
        told.append((place, coefficient, own.get(axis, len(own)) if isinstance(axis, Sym) else -1, n))
    order = tuple(t[-1] for t in sorted(told))
    return tuple(t[:-1] for t in sorted(told)), order


def _reduced(f: Fold, v: Sym, keys: Keys) -> tuple[object, ...]:
    """Where a reduced variable stands among others: by its strides in what has a layout outside."""
    strides: list[int] = []
    for n in below(f.value):
        if isinstance(n, Get) and isinstance(n.tensor, Source) and n.tensor.dims is not None:
            stride, total = 1, 0
            for i, d in zip(reversed(n.index), reversed(n.tensor.dims), strict=True):
                total += abs(dict(parts(i)[1]).get(v, 0)) * stride
                stride *= d or 1
            strides.append(-total)
    body = keys.of(f.value).vars
    return tuple(sorted(strides)), body.index(v) if v in body else len(body)
