"""Index arithmetic: can two accesses meet on a box, and which point of a piece writes a given element.

Tests are exact where the equations split row-major (mixed radix) or relate two variables; small boxes that remain are
counted out; what is still open is answered "may". Run-time indices cancel where both sides hold the same one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from spatial.lift.algebra.arith import floordiv
from spatial.lift.algebra.bounds import Bounds, at_least_zero, bounds, guard_forms, is_affine, told_by_forms
from spatial.lift.algebra.pieces import pieces_near
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.values import (
    Get,
    Made,
    Node,
    Piece,
    Sym,
    Tensor,
    combine,
    constant,
    get,
    int_constant,
    integer,
    linear,
    parts,
    plus,
    scale,
)
from spatial.lift.algebra.walk import below

_EXACT = 1 << 62
"""Sums of integers below this are exact on arrays."""

_COUNTED_OUT = 400_000
"""Points of a box that are tried one by one before an answer is left open."""
_LOOKED_AT = 64
"""Pieces of one version that may hold an element, beyond which it is not asked which of them does."""


def can_meet(differences: Sequence[Node], conditions: Sequence[Node] = ()) -> bool:
    """Whether all `differences` can be zero at once, `conditions` all at least zero; True where not excluded."""
    return _System(differences, conditions).solvable()


class _System:
    def __init__(self, equations: Sequence[Node], conditions: Sequence[Node]) -> None:
        self.equations: list[Node] = list(equations)
        self.conditions = list(conditions)
        self.box: dict[Node, Bounds] = {}
        for form in (*equations, *conditions):
            for atom, _ in parts(form)[1]:
                self.box.setdefault(atom, bounds(atom))

    def range(self, form: Node) -> Bounds:
        const, terms = parts(form)
        low: int | None = const
        high: int | None = const
        for atom, c in terms:
            a, b = self.box[atom]
            if c < 0:
                a, b = b, a
            low = None if low is None or a is None else low + c * a
            high = None if high is None or b is None else high + c * b
        return low, high

    def solvable(self) -> bool:
        pending = list(self.equations)
        self.equations = list[Node]()
        while pending:
            form = pending.pop()
            const, terms = parts(form)
            if not terms:
                if const:
                    return False
                continue
            low, high = self.range(form)
            if (low is not None and low > 0) or (high is not None and high < 0):
                return False
            if const % math.gcd(*(c for _, c in terms)):
                return False
            split = self.split(form)
            if split is not None:
                pending += split
                continue
            change = self.relate(const, terms)
            if change is None:
                self.equations.append(form)
                continue
            atom, instead = change
            kept = self.narrow(atom, instead)
            if not kept:
                return False
            pending = [_put(e, atom, instead) for e in (*pending, *self.equations)]
            self.equations = list[Node]()
            self.conditions = [_put(c, atom, instead) for c in self.conditions]
        for condition in self.conditions:
            high = self.range(condition)[1]
            if high is not None and high < 0:
                return False
        return self.count_out()

    def split(self, form: Node) -> list[Node] | None:
        """`D A + B = 0` with B always between -D and D: A = 0 and B = 0."""
        const, terms = parts(form)
        for d in sorted({abs(c) for _, c in terms}, reverse=True):
            if d == 1:
                break
            outer = {a: c // d for a, c in terms if c % d == 0}
            inner = {a: c for a, c in terms if c % d}
            for whole in (const // d, const // d + 1):
                rest = linear(const - whole * d, inner)
                low, high = self.range(rest)
                if low is not None and high is not None and low > -d and high < d and (inner or rest is integer(0)):
                    if not inner and len(terms) == len(outer) and math.gcd(*(c for _, c in terms)) == 1:
                        continue
                    return [linear(whole, outer), rest]
        return None

    def relate(self, const: int, terms: tuple[tuple[Node, int], ...]) -> tuple[Node, Node] | None:
        """One atom in terms of the others, where the equation holds one or two."""
        if len(terms) == 1:
            atom, c = terms[0]
            return atom, integer(-const // c)
        if len(terms) == 2:
            for (atom, c), (other, k) in (terms, terms[::-1]):
                if abs(c) == 1:
                    return atom, linear(-const * c, {other: -k * c})
        return None

    def narrow(self, atom: Node, instead: Node) -> bool:
        """Carries the bounds of a replaced atom over to what replaces it; False where nothing is left."""
        low, high = self.box[atom]
        a, b = self.range(instead)
        if (low is not None and b is not None and b < low) or (high is not None and a is not None and a > high):
            return False
        const, terms = parts(instead)
        if len(terms) == 1:
            other, c = terms[0]
            x, y = self.box[other]
            first, last = (low, high) if c > 0 else (high, low)
            if first is not None:
                need = -((const - first) // c) if c > 0 else -((first - const) // -c)
                x = need if x is None else max(x, need)
            if last is not None:
                need = (last - const) // c if c > 0 else (const - last) // -c
                y = need if y is None else min(y, need)
            if x is not None and y is not None and x > y:
                return False
            self.box[other] = (x, y)
        return True

    def count_out(self) -> bool:
        """Tries every point of what is left, if it is little."""
        if not self.equations and len(self.conditions) <= 1:
            return True
        atoms = list(dict.fromkeys(a for f in (*self.equations, *self.conditions) for a, _ in parts(f)[1]))
        sizes: list[tuple[int, int]] = []
        for a in atoms:
            low, high = self.box[a]
            if low is None or high is None:
                return True
            sizes.append((low, high - low + 1))
        if math.prod(n for _, n in sizes) > _COUNTED_OUT:
            return True
        forms = (*self.equations, *self.conditions)
        far = {a: max(abs(low), abs(low + n)) for a, (low, n) in zip(atoms, sizes, strict=True)}
        if any(abs(parts(f)[0]) + sum(abs(c) * far[a] for a, c in parts(f)[1]) >= _EXACT for f in forms):
            return True
        axes = np.ix_(*(np.arange(low, low + n, dtype=np.int64) for low, n in sizes))
        at = dict(zip(atoms, axes, strict=True))
        holds = np.ones((1,) * len(atoms), dtype=bool)
        for f in self.equations:
            holds = holds & (_evaluate(f, at) == 0)
        for f in self.conditions:
            holds = holds & (_evaluate(f, at) >= 0)
        return bool(np.any(holds))


def _evaluate(form: Node, at: Mapping[Node, np.ndarray]) -> np.ndarray:
    const, terms = parts(form)
    total = np.asarray(const, dtype=np.int64)
    for atom, c in terms:
        total = total + c * at[atom]
    return total


def _put(form: Node, atom: Node, instead: Node) -> Node:
    const, terms = parts(form)
    total = linear(const, {a: c for a, c in terms if a is not atom})
    for a, c in terms:
        if a is atom:
            total = combine(total, scale(instead, c))
    return total


def renamed(piece: Piece, extra: Iterable[Sym] = ()) -> tuple[Substitution, dict[Sym, Sym]]:
    """Fresh names for the variables of a piece (and `extra`)."""
    fresh = {v: Sym(v.name, v.extent) for v in (*piece.vars, *extra)}
    return Substitution(dict(fresh)), fresh


def meet(piece: Piece, index: Sequence[Node], conditions: Sequence[Node] = ()) -> bool:
    """Whether some point of the piece may write the element `index`."""
    if len(piece.pos) != len(index):
        return True  # a row whose rank is not known yet, and an item of it
    change, _ = renamed(piece)
    differences = [combine(change.node(p), i, -1) for p, i in zip(piece.pos, index, strict=True)]
    guards = guard_forms(change.node(g) for g in piece.guards)
    return can_meet(differences, (*conditions, *guards))


def solve(pos: Sequence[Node], vars: Sequence[Sym], index: Sequence[Node]) -> dict[Sym, Node] | None:
    """The point whose `pos` is `index`, mixed-radix axis by axis; None where the equations have no such form.

    The point is unique but need not lie in the box, nor its `pos` really be `index`: see `lands`.
    """
    found: dict[Sym, Node] = {}
    left = set(vars)
    if len(pos) != len(index):
        return None
    for p, i in zip(pos, index, strict=True):
        const, terms = parts(p)
        mine = [(a, c) for a, c in terms if isinstance(a, Sym) and a in left]
        if any(a in found if isinstance(a, Sym) else not a.free.isdisjoint(vars) for a, _ in terms):
            return None  # a variable stands on an axis before, or in a quotient too
        rest = combine(i, linear(const, {a: c for a, c in terms if not (isinstance(a, Sym) and a in left)}), -1)
        mine.sort(key=lambda t: -abs(t[1]))
        if any(c < 0 for _, c in mine):
            if len(mine) == 1 and mine[0][1] == -1:
                found[mine[0][0]] = scale(rest, -1)
                left.discard(mine[0][0])
                continue
            return None
        for n, (v, c) in enumerate(mine):
            span = sum(k * ((a.extent or 1) - 1) for a, k in mine[n + 1 :])
            if span >= c:
                return None
            value = floordiv(rest, integer(c))
            found[v] = value
            left.discard(v)
            rest = combine(rest, value, -c)
    return None if left else found


def lands(piece: Piece, index: Sequence[Node], guards: Sequence[Node] = ()) -> dict[Sym, Node] | None:
    """The point of the piece that surely writes `index` (where `guards` hold), or None."""
    point = solve(piece.pos, piece.vars, index)
    if point is None:
        return None
    for v in piece.vars:
        if not (
            at_least_zero(point[v], guards) and at_least_zero(plus(scale(point[v], -1), (v.extent or 0) - 1), guards)
        ):
            return None
    change = Substitution(point)
    if any(int_constant(combine(change.node(p), i, -1)) != 0 for p, i in zip(piece.pos, index, strict=True)):
        return None
    if not all(told_by_forms(g) for g in piece.guards):
        return None
    for g in guard_forms(piece.guards):
        if not at_least_zero(change.node(g), guards):
            return None
    return point


def table_of(made: Made, piece: Piece) -> Made:
    """The values of one piece as a tensor of its own, over its box."""
    found = piece.table
    if found is None:
        own = Piece(piece.vars, (), piece.vars, piece.value)
        found = Made(made.name, tuple(v.extent for v in piece.vars), None, (own,), made.order, made.origin)
        piece.table = found
    return found


def element(tensor: Tensor, index: tuple[Node, ...], guards: Sequence[Node] = ()) -> Node:
    """The element as seen now: what a write is sure to have left there, else a read of that version."""
    while isinstance(tensor, Made):
        hit: Node | None = None
        open_ = False
        near = pieces_near(tensor, index)
        if len(near) > _LOOKED_AT:
            break
        for piece in reversed(near):
            if tensor.base is None and piece.vars and constant(piece.value) is None:
                open_ = True
                continue
            point = None if piece.ordered else lands(piece, index, guards)
            if point is not None:
                if constant(piece.value) is not None:
                    return piece.value
                if piece.guards and piece.vars and leaves(piece.value):
                    return get(tensor, index)  # its values have no table of their own: not everywhere are there any
                hit = get(table_of(tensor, piece), tuple(point[v] for v in piece.vars)) if piece.vars else piece.value
                break
            if not open_ and meet(piece, index, guard_forms(guards)):
                open_ = True
        if hit is not None:
            return hit
        if open_ or tensor.base is None:
            break
        tensor = tensor.base
    return get(tensor, index)


def made_of(node: Node) -> Node:
    """An item of a sequence the program made, as the expression it was made of, where it is known which."""
    while isinstance(node, Get) and isinstance(node.tensor, Made):
        for p in reversed(pieces_near(node.tensor, node.index)):
            point = None if p.ordered else lands(p, node.index)
            if point is not None:
                node = Substitution(point).node(p.value)
                break
            if meet(p, node.index):
                return node
        else:
            return node
    return node


def leaves(node: Node) -> bool:
    """Whether an expression may read items that its tensors do not have, for all that its variables' ranges say.

    Looks into what was made for the same variables, rows as they are pushed: that is computed where they are.
    """
    pending, seen = [node], set[Tensor]()
    while pending:
        for n in below(pending.pop()):
            if not isinstance(n, Get) or n.tensor.dims is None:
                continue
            for index, extent in zip(n.index, n.tensor.dims, strict=True):
                low, high = bounds(index)
                if (low is not None and low < 0) or (high is not None and extent is not None and high >= extent):
                    return True
            if isinstance(n.tensor, Made) and n.tensor.free and n.tensor not in seen:
                seen.add(n.tensor)
                pending += [p.value for p in n.tensor.pieces]
    return False


def covers(pieces: Sequence[Piece], dims: Sequence[int | None]) -> bool:
    """Whether disjoint injective pieces write every element of `dims`."""
    if any(d is None for d in dims) or any(p.guards or p.ordered for p in pieces):
        return False
    if not all(is_affine(i) for p in pieces for i in p.pos):
        return False  # at run-time places, which need not show that they are all places
    return sum(p.volume for p in pieces) == math.prod(d or 0 for d in dims)


def disjoint(a: Piece, b: Piece) -> bool:
    """Whether two pieces of one tensor can never write the same element."""
    change, _ = renamed(b)
    guards = guard_forms(change.node(g) for g in b.guards)
    return not meet(a, [change.node(p) for p in b.pos], guards)


def injective(piece: Piece) -> bool:
    """Whether two points of the piece never write the same element."""
    if not piece.vars:
        return True
    change, fresh = renamed(piece)
    differences = [combine(p, change.node(p), -1) for p in piece.pos]
    guards = guard_forms((*piece.guards, *(change.node(g) for g in piece.guards)))
    for n, v in enumerate(piece.vars):
        same = [combine(u, fresh[u], -1) for u in piece.vars[:n]]
        later = plus(combine(fresh[v], v, -1), -1)
        if can_meet((*differences, *same), (*guards, later)):
            return False
    return True
