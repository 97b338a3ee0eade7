"""Reads that exist only where a branch is taken: the statement's box is cut where the branch turns.

A selection computes both its sides everywhere. Where one side reads outside a tensor unless the condition holds, the
statement becomes pieces, one for the part of the box where the condition holds and one for the rest:

    y[i] = x[i - 1] if i > 0 else 0      ->      y[0] = 0;  y[i + 1] = x[i]

A condition that cuts no box (of several variables, or known only at run time) guards a write over a statement of the
other side. A run-time index is kept in range by `max` and `min` instead: that changes nothing where the branch is
taken. A selection deep inside an expression becomes a statement of its own first, over as few variables as it needs: of
`i + u` alone, it is the padded row that a convolution reads.

Expects units as they are made, nothing hoisted yet. Ensures that selections read in range, as far as their conditions
prove it; `inside` has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero, is_affine
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import (
    FALSE,
    TRUE,
    Fold,
    Get,
    Lin,
    Node,
    Op,
    Piece,
    Sym,
    combine,
    fold,
    get,
    int_constant,
    integer,
    parts,
    plus,
    real,
    scale,
)
from spatial.lift.algebra.walk import below, children
from spatial.lift.canonical.axes import axes_of, free_axes
from spatial.lift.canonical.boxes import split_piece
from spatial.lift.canonical.hoist import Hoister
from spatial.lift.canonical.units import Unit

_PIECES = 64
"""Pieces of one statement beyond which its box is cut no further."""


@dataclass(eq=False)
class Regions:
    """Cuts units. `assumed`: the declared relations of inputs.

    `sure`: whether a node reads in range everywhere; `seen`: under conditions; `made`: what nodes became. `whole`: the
    variables of the piece at hand, those of its reductions left out.
    """

    hoister: Hoister
    assumed: tuple[Node, ...]
    sure: dict[Node, bool] = field(default_factory=dict[Node, bool])
    seen: dict[tuple[Node, tuple[Node, ...]], bool] = field(default_factory=dict[tuple[Node, tuple[Node, ...]], bool])
    made: dict[tuple[object, ...], Node] = field(default_factory=dict[tuple[object, ...], Node])
    whole: frozenset[Sym] = frozenset()

    def run(self) -> None:
        """Cuts every unit, those that are made on the way too."""
        units = self.hoister.units
        at = 0
        while at < len(units.all):
            unit = units.all[at]
            at += 1
            if any(not self.clean(p.value) for p in unit.pieces):
                self.unit(unit)

    def clean(self, node: Node) -> bool:
        """Whether every read below is in range without any condition but those of its reductions."""
        found = self.sure.get(node)
        if found is None:
            found = self._clean(node)
            self.sure[node] = found
        return found

    def _clean(self, node: Node) -> bool:
        if isinstance(node, Fold):
            # A read at a run-time index is a statement of its own, without the reduction's guards; so is a reduction
            # within it.
            return all(
                self.clean(n)
                if isinstance(n, Fold)
                else _inside(n, (*self.assumed, *node.guards) if _direct(n) else self.assumed)
                for n in _read_by(node)
            )
        if isinstance(node, Get) and not _inside(node, self.assumed):
            return False
        return all(self.clean(c) for c in children(node))

    # -- one unit

    def unit(self, unit: Unit) -> None:
        """Cuts the pieces of one unit whose values read out of range somewhere."""
        pending = list(unit.pieces)[::-1]
        done: list[Piece] = []
        while pending:
            p = pending.pop()
            if self.clean(p.value):
                done.append(p)
                continue
            p = split_piece(p)
            known = (*self.assumed, *p.guards)
            self.whole = frozenset(p.vars)
            value = self.fixed(p.value, known, frozenset(p.vars), unit, root=True)
            whole = unit.base is None and not p.guards and not done and not pending and len(p.pos) == len(unit.shape)
            p = Piece(p.vars, p.guards, p.pos, value, p.ordered)
            match value:
                case Op(fn="select", args=(c, a, b)) if not self.clean(value):
                    cut = None if len(done) + len(pending) > _PIECES else _cut(p, c, a, b)
                    if cut is not None:
                        pending += cut
                    elif unit.base is not None:
                        pending += [
                            Piece(p.vars, (*p.guards, arith.negate(c)), p.pos, b, p.ordered),
                            Piece(p.vars, (*p.guards, c), p.pos, a, p.ordered),
                        ]
                    elif whole:
                        if not self._reads_inside(b, self.assumed):  # the side that can be made everywhere goes below
                            c, a, b = arith.negate(c), b, a
                        unit.base = self._other(unit, p, b)
                        pending.append(Piece(p.vars, (c,), p.pos, a, p.ordered))
                    else:
                        read = self._alone(value, frozenset(p.vars), unit)
                        done.append(Piece(p.vars, p.guards, p.pos, read, p.ordered))
                case _:
                    done.append(p)
        unit.pieces = tuple(done)
        unit.belong()

    def _other(self, unit: Unit, p: Piece, value: Node) -> Unit:
        """A unit like `unit` of what it is where a condition does not hold."""
        base = self.hoister.units.new(unit.name, unit.shape, unit.kind, unit.order, unit.origin)
        fresh = tuple(Sym(v.name, v.extent) for v in p.vars)
        change = Substitution(dict(zip(p.vars, fresh, strict=True)))
        base.pieces = (Piece(fresh, (), tuple(change.node(i) for i in p.pos), change.node(value), p.ordered),)
        base.belong()
        return base

    # -- expressions

    def fixed(self, node: Node, known: tuple[Node, ...], box: frozenset[Sym], unit: Unit, root: bool = False) -> Node:
        """The expression, run-time indices kept in range, selections to be cut read from units of their own.

        `known`: what holds where it is evaluated; `box`: the variables it stands under. At the `root` one stays.
        """
        if self.clean(node):
            return node
        key = (node, known, box, unit, root)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self._fixed(node, known, box, unit, root)
        return found

    def _fixed(self, node: Node, known: tuple[Node, ...], box: frozenset[Sym], unit: Unit, root: bool) -> Node:
        match node:
            case Op(fn="select", args=(Op(fn="and", args=(first, second)), a, b)):
                return self.fixed(arith.select(first, arith.select(second, a, b), b), known, box, unit, root)
            case Op(fn="select", args=(Op(fn="or", args=(first, second)), a, b)):
                return self.fixed(arith.select(first, a, arith.select(second, a, b)), known, box, unit, root)
            case Op(fn="select", args=(c, a, b)):
                c = self.fixed(c, known, box, unit)
                made = arith.select(
                    c,
                    self.fixed(a, (*known, c), box, unit, True),
                    self.fixed(b, (*known, arith.negate(c)), box, unit, True),
                )
                return made if root or self.clean(made) else self._alone(self._told(made, known), box, unit)
            case Op():
                return arith.rebuild(node.fn, tuple(self.fixed(a, known, box, unit) for a in node.args), node.kind)
            case Lin():
                total: Node = integer(node.const)
                for atom, c in node.terms:
                    total = combine(total, scale(self.fixed(atom, known, box, unit), c))
                return total
            case Fold():
                inner, under = box | frozenset(node.vars), (*known, *node.guards)
                made = fold(
                    node.op,
                    node.vars,
                    node.guards,
                    self.fixed(node.value, under, inner, unit),
                    node.order,
                    node.origin,
                    node.arg,
                    self.fixed(node.init, known, box, unit) if node.init is not None else None,
                )
                within = not box <= self.whole and not self.clean(made)
                return self._alone(self._told(made, known), box, unit) if within else made
            case Get():
                dims = node.tensor.dims or ()
                index = (self.fixed(i, known, box, unit) for i in node.index)
                return get(node.tensor, tuple(self._kept(i, d or 0, known) for i, d in zip(index, dims, strict=True)))
            case _:
                return node

    def _told(self, node: Node, known: tuple[Node, ...]) -> Node:
        """A selection that reads in range by its own conditions; where it does not, by all that is known of it too.

        What it is where these do not hold is never looked at.
        """
        if self._reads_inside(node, self.assumed):
            return node
        total: Node = TRUE
        for condition in known:
            if condition not in self.assumed:
                total = arith.both(total, condition)
        other = real(0.0) if node.kind == "float" else integer(0)
        return arith.select(total, node, other) if node.kind != "bool" else arith.both(total, node)

    def _reads_inside(self, node: Node, known: tuple[Node, ...]) -> bool:
        """Whether every read of a selection is in range under the conditions on the way to it."""
        if self.clean(node):
            return True
        found = self.seen.get((node, known))
        if found is None:
            found = self.seen[node, known] = self._inside(node, known)
        return found

    def _inside(self, node: Node, known: tuple[Node, ...]) -> bool:
        match node:
            case Op(fn="select", args=(c, a, b)):
                return (
                    self._reads_inside(c, known)
                    and self._reads_inside(a, (*known, c))
                    and self._reads_inside(b, (*known, arith.negate(c)))
                )
            case Get():
                return _inside(node, known) and all(self._reads_inside(i, known) for i in node.index)
            case Fold():
                return all(self._reads_inside(n, (*known, *node.guards)) for n in children(node))
            case _:
                return all(self._reads_inside(n, known) for n in children(node))

    def _kept(self, index: Node, extent: int, known: tuple[Node, ...]) -> Node:
        """A run-time index that is in range only where `known` holds, drawn to the edges elsewhere."""
        if is_affine(index) or _within(index, extent, self.assumed) or not _within(index, extent, known):
            return index
        return arith.extreme("max", arith.extreme("min", index, integer(extent - 1)), integer(0))

    def _alone(self, node: Node, box: frozenset[Sym], unit: Unit) -> Node:
        """A selection as a unit of its own; two variables that it knows only by their sum are one there."""
        axes = axes_of(node, box) | free_axes(node)
        back: dict[Sym, Node] = {}
        for _ in axes:
            found = _sum_of_two(node, axes)
            if found is None:
                break
            a, b, w, instead, total = found
            node = Substitution({a: instead}).node(node)
            back[w] = Substitution(dict(back)).node(total)
            axes = (axes - {a, b}) | {w}
        read = self.hoister.alone(node, axes, unit)
        return Substitution(dict(back)).node(read) if back else read


# ---------------------------------------------------------------- proofs


def _read_by(node: Fold) -> Iterator[Get | Fold]:
    """The reads of a reduction and the reductions within it, these not looked into."""
    pending, seen = list(children(node)), set[int]()
    while pending:
        n = pending.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if isinstance(n, Get | Fold):
            yield n
        if not isinstance(n, Fold):
            pending += children(n)


def _direct(read: Get) -> bool:
    return all(is_affine(i) for i in read.index)


def _inside(read: Get, known: Sequence[Node]) -> bool:
    dims = read.tensor.dims or ()
    return all(_within(i, d or 0, known) for i, d in zip(read.index, dims, strict=True))


def _within(index: Node, extent: int, known: Sequence[Node]) -> bool:
    return at_least_zero(index, known) and at_least_zero(plus(scale(index, -1), extent - 1), known)


# ---------------------------------------------------------------- boxes cut, variables put together


def _cut(p: Piece, c: Node, a: Node, b: Node) -> list[Piece] | None:
    """The piece cut where a condition of one of its variables turns; None if it is of another form."""
    match c:
        case Op(fn="nonneg", args=(form,)):
            equal = False
        case Op(fn="eq", args=(form, zero)) if form.kind == "int" and int_constant(zero) == 0:
            equal = True
        case _:
            return None
    const, terms = parts(form)
    if len(terms) != 1 or not isinstance(terms[0][0], Sym) or terms[0][0] not in p.vars or p.ordered:
        return None
    ((v, k),) = terms
    assert isinstance(v, Sym)
    extent = v.extent or 0
    if equal:
        at = -const // k
        ranges = [(0, at, b), (at, at + 1, a), (at + 1, extent, b)]
    elif k > 0:
        first = -(const // k)  # the least v with k v + const >= 0
        ranges = [(0, first, b), (first, extent, a)]
    else:
        last = const // -k  # the greatest
        ranges = [(0, last + 1, a), (last + 1, extent, b)]
    found: list[Piece] = []
    for low, high, value in ranges:
        low, high = max(low, 0), min(high, extent)
        if low < high:
            w = Sym(v.name, high - low)
            change = Substitution({v: plus(w, low)})
            guards = tuple(g for g in (change.node(g) for g in p.guards) if g is not TRUE)
            if FALSE not in guards:
                vars = tuple(w if u is v else u for u in p.vars)
                found.append(Piece(vars, guards, tuple(change.node(i) for i in p.pos), change.node(value)))
    return found


def _sum_of_two(node: Node, axes: frozenset[Sym]) -> tuple[Sym, Sym, Sym, Node, Node] | None:
    """(a, b, w, a over w, w over a and b) where the node knows a and b only by w = a + f b + a constant, w from 0."""
    forms = [n for n in below(node) if isinstance(n, Lin)]
    for form in forms:
        known = {s: c for s, c in form.terms if isinstance(s, Sym) and s in axes}
        for a in known:
            for b in known:
                if a is b or known[b] % known[a] or a.extent is None or b.extent is None:
                    continue
                factor = known[b] // known[a]
                shift = -factor * (b.extent - 1) if factor < 0 else 0
                w = Sym(a.name, a.extent + abs(factor) * (b.extent - 1))
                instead = plus(combine(w, b, -factor), -shift)
                found = supposed({a: instead}, node)
                if found and b not in found[0].free:
                    return a, b, w, instead, plus(combine(a, b, factor), shift)
    return None
