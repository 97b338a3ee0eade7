"""The canonical box of every statement and tensor.

Variables under `//` and `%` are split, variables that occur only as `n a + b` are fused; extents of made tensors are
told by how they are accessed, not by how the source nested or flattened them: all are laid row-major on one axis and
split again wherever every access splits. Results, tables and weights keep the extents they have outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from spatial.lift.algebra.bounds import bounds
from spatial.lift.algebra.rewrite import Mapper, Rebuild, Substitution, refolded
from spatial.lift.algebra.values import (
    BlockValue,
    Final,
    Fold,
    Get,
    Inner,
    Lin,
    Node,
    Op,
    Piece,
    Sym,
    Tensor,
    combine,
    get,
    int_constant,
    integer,
    linear,
    parts,
)
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.units import Unit


def all_nodes(piece: Piece) -> Iterator[Node]:
    """Every node of a piece once, indices included."""
    seen: set[int] = set()
    pending = [piece.value, *piece.pos, *piece.guards]
    while pending:
        n = pending.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        yield n
        pending += children(n)


# ---------------------------------------------------------------- splitting and fusing variables


def split_piece(piece: Piece) -> Piece:
    """Splits the variables whose quotients occur, until none is left that can be."""
    while True:
        change = _next_split(piece)
        if change is None:
            return piece
        v, outer, inner, by = change
        piece = _replace_var(piece, v, (outer, inner), {v: combine(inner, outer, by)})


def _next_split(piece: Piece) -> tuple[Sym, Sym, Sym, int] | None:
    bound = {*piece.vars, *(v for n in all_nodes(piece) if isinstance(n, Fold) for v in n.vars)}
    found: list[tuple[int, int, Sym, int]] = []
    for n in all_nodes(piece):
        match n:
            case Op(fn="floordiv", args=(a, b)) if n.kind == "int":
                m = int_constant(b)
                if m is None or m < 2:
                    continue
                for atom, c in parts(a)[1]:
                    if isinstance(atom, Sym) and atom in bound and c > 0 and m % c == 0:
                        by = m // c
                        if atom.extent is not None and atom.extent % by == 0 and by < atom.extent:
                            found.append((-by, atom.serial, atom, by))
            case _:
                pass
    if not found:
        return None
    _, _, v, by = min(found, key=lambda t: t[:2])
    return v, Sym(v.name, (v.extent or 0) // by), Sym(v.name, by), by


def split_as(piece: Piece, v: Sym, place: Node) -> Piece:
    """Splits a variable as a place that runs over the same numbers is made of several, outermost first."""
    const, terms = parts(place)
    made = sorted(((a, c) for a, c in terms if isinstance(a, Sym)), key=lambda t: -t[1])
    step = 1
    for a, c in reversed(made):
        if c != step or a.extent is None:
            return piece
        step *= a.extent
    if const or len(made) < max(len(terms), 2) or step != v.extent:
        return piece
    fresh = tuple(Sym(v.name, a.extent) for a, _ in made)
    return _replace_var(piece, v, fresh, {v: linear(0, dict(zip(fresh, (c for _, c in made), strict=True)))})


def _replace_var(piece: Piece, old: Sym, new: tuple[Sym, ...], change: dict[Sym, Node]) -> Piece:
    """The piece with one bound variable replaced, wherever it is bound."""
    renamed = _Renamer(Substitution(change), old, new).piece(piece)
    vars = tuple(n for v in piece.vars for n in (new if v is old else (v,)))
    return Piece(vars, renamed.guards, renamed.pos, renamed.value, piece.ordered)


class _Renamer(Rebuild):
    """Applies a substitution, and binds `new` where `old` was bound."""

    def __init__(self, change: Substitution, old: Sym, new: tuple[Sym, ...]) -> None:
        super().__init__()
        self.change, self.old, self.new = change, old, new

    def symbol(self, node: Sym) -> Node:
        """A variable, or what replaces it."""
        return self.change.node(node)

    def reduction(self, node: Fold) -> Node:
        """A reduction over the new variables in the place of the old."""
        return refolded(node, self.node, tuple(n for v in node.vars for n in (self.new if v is self.old else (v,))))


def fuse_piece(piece: Piece, own: Tensor, flexible: Set[Tensor]) -> Piece:
    """Fuses pairs of variables that occur only as `extent(b) * a + b`, somewhere in an index that is not ours."""
    while True:
        change = _next_fusion(piece, own, flexible)
        if change is None:
            return piece
        a, b = change
        fused = Sym(b.name, (a.extent or 0) * (b.extent or 0))
        piece = _replace_var(piece, a, (), {a: integer(0)})
        piece = _replace_var(piece, b, (fused,), {b: fused})


def _next_fusion(piece: Piece, own: Tensor, flexible: Set[Tensor]) -> tuple[Sym, Sym] | None:
    forms = [(form, own not in flexible) for form in piece.pos]
    for n in all_nodes(piece):
        if isinstance(n, Get):
            forms += [(i, n.tensor not in flexible) for i in n.index]
    forms += [(n, True) for n in _value_forms(piece)]
    groups = [piece.vars] if not piece.ordered else []
    groups += [n.vars for n in all_nodes(piece) if isinstance(n, Fold) and n.arg is None]
    for vars in groups:
        for a in vars:
            for b in vars:
                if a is b or a.extent is None or b.extent is None:
                    continue
                outside = False
                for form, fixed in forms:
                    terms = dict(parts(form)[1])
                    ca, cb = terms.get(a, 0), terms.get(b, 0)
                    if ca != b.extent * cb or _buried(terms, a, b):
                        break
                    outside = outside or (fixed and cb != 0)
                else:
                    if outside:
                        return a, b
    return None


def _buried(terms: dict[Node, int], a: Sym, b: Sym) -> bool:
    """Whether a variable also stands inside an atom that is no read (reads are looked at by themselves)."""
    return any(isinstance(t, Op) and (a in t.free or b in t.free) for t in terms)


def _value_forms(piece: Piece) -> Iterator[Node]:
    """The integers of a piece that are values, not indices."""
    seen: set[int] = set()
    pending = [piece.value, *piece.guards]
    while pending:
        n = pending.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if isinstance(n, Lin | Sym):
            yield n
        if not isinstance(n, Get):
            pending += children(n)


# ---------------------------------------------------------------- extents of made tensors


@dataclass(eq=False)
class Family:
    """Tensors that must have the same extents: one alone, or what a block carries from instance to instance."""

    tensors: list[Tensor]
    dims: tuple[int, ...]
    forms: list[Node] = field(default_factory=list[Node])


def families(units: Sequence[Unit], blocks: Sequence[BlockValue], last: Iterable[Tensor]) -> list[Family]:
    """The families whose extents are ours to choose; not so where one is in `last`: what a state is at last."""
    group: dict[Tensor, list[Tensor]] = {u: [u] for u in units}

    def unite(a: Tensor, b: Tensor) -> None:
        one, other = group.setdefault(a, [a]), group.setdefault(b, [b])
        if len(one) < len(other):
            one, other = other, one  # the fewer move, or a long chain of versions costs its square
        if one is not other:
            one += other
            for t in other:
                group[t] = one

    for u in units:
        if u.base is not None:
            unite(u, u.base)
    for block in blocks:
        for initial, inner, made in zip(block.initial, block.inner, block.made, strict=True):
            unite(initial, inner)
            unite(inner, made)
    kept = {t for t in last if isinstance(t, Final)}
    for t in (*_finals(units, blocks), *kept):
        unite(t, t.block.inner[t.slot])
    found: list[Family] = []
    seen: set[int] = set()
    for tensors in group.values():
        if id(tensors) in seen:
            continue
        seen.add(id(tensors))
        ours = (isinstance(t, Inner | Final) or (isinstance(t, Unit) and not t.fixed) for t in tensors)
        if all(ours) and kept.isdisjoint(tensors):
            found.append(Family(tensors, tuple(d or 0 for d in tensors[0].dims or ())))
    return found


def _finals(units: Sequence[Unit], blocks: Sequence[BlockValue]) -> list[Final]:
    found: dict[Final, None] = {}
    for u in units:
        if isinstance(u.base, Final):
            found[u.base] = None
        for p in u.pieces:
            for n in all_nodes(p):
                if isinstance(n, Get) and isinstance(n.tensor, Final):
                    found[n.tensor] = None
    for b in blocks:
        for t in (*b.initial, *b.made):
            if isinstance(t, Final):
                found[t] = None
    return list(found)


def reshape(
    units: Sequence[Unit], blocks: Sequence[BlockValue], last: Iterable[Tensor], variables: bool = True
) -> None:
    """Gives every made tensor its canonical extents, and (`variables`: all of) every unit its canonical box.

    `last`: what states are at last, which keep the extents they have outside.
    """
    chosen = families(units, blocks, last)
    of: dict[Tensor, Family] = {t: f for f in chosen for t in f.tensors}
    mapper = Mapper(lambda t, index: get(t, _flatten(index, of[t].dims) if t in of else index))
    for u in units:
        u.pieces = tuple(_flat_piece(p, u, of, mapper, variables) for p in u.pieces)
    for u in units:
        for p in u.pieces:
            if u in of:
                of[u].forms += p.pos
            for n in all_nodes(p):
                if isinstance(n, Get) and n.tensor in of:
                    of[n.tensor].forms += n.index
    for family in chosen:
        _choose(family)
    mapper = Mapper(lambda t, index: get(t, _unflatten(index[0], of[t].dims) if t in of and index else index))
    for u in units:
        pieces: list[Piece] = []
        for p in u.pieces:
            p = mapper.piece(p)
            if u in of and p.pos:
                p = Piece(p.vars, p.guards, _unflatten(p.pos[0], of[u].dims), p.value, p.ordered)
            pieces.append(p)
        u.pieces = tuple(pieces)
    for family in chosen:
        for t in family.tensors:
            t.dims = family.dims


def _flat_piece(p: Piece, own: Unit, of: dict[Tensor, Family], mapper: Mapper, variables: bool) -> Piece:
    """A piece over tensors of one axis, its variables split and (`variables`) fused."""
    p = mapper.piece(split_piece(p))
    if own in of:
        p = Piece(p.vars, p.guards, _flatten(p.pos, of[own].dims), p.value, p.ordered)
    return split_piece(fuse_piece(p, own, of.keys())) if variables else p


def _flatten(index: Sequence[Node], dims: Sequence[int]) -> tuple[Node, ...]:
    if not dims:
        return ()
    total: Node = integer(0)
    for i, d in zip(index, dims, strict=True):
        total = combine(i, total, d)
    return (total,)


def _choose(family: Family) -> None:
    """The finest extents along which every access splits."""
    size = math.prod(family.dims)
    if not family.dims:
        return
    candidates = sorted({abs(c) for f in family.forms for _, c in parts(f)[1]})
    chain: list[int] = []
    for m in candidates:
        fits = 1 < m < size and size % m == 0 and (not chain or m % chain[-1] == 0)
        if fits and all(_splits(f, m) for f in family.forms):
            chain.append(m)
    if size == 1 and all(int_constant(f) == 0 for f in family.forms):
        family.dims = (1,)
        return
    edges = [1, *chain, size]
    family.dims = tuple(edges[n + 1] // edges[n] for n in range(len(edges) - 1))[::-1]


def _splits(form: Node, m: int) -> bool:
    const, terms = parts(form)
    rest = linear(const % m, {a: c for a, c in terms if c % m})
    low, high = bounds(rest)
    return low is not None and high is not None and low >= 0 and high < m


def _unflatten(form: Node, dims: Sequence[int]) -> tuple[Node, ...]:
    index: list[Node] = []
    for n in range(len(dims)):
        m = math.prod(dims[n + 1 :])
        const, terms = parts(form)
        index.append(linear(const // m, {a: c // m for a, c in terms if c % m == 0}))
        form = linear(const % m, {a: c for a, c in terms if c % m})
    return tuple(index)
