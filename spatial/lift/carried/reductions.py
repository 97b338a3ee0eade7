"""Recognising a reduction: what an iteration leaves of a carried value, as `operation(carried, term)`.

Sums with subtraction, products, maxima and minima spelled as calls or as branches, arg-max pairs, and branches that
leave the value alone (guards). Only reassociation is allowed; nothing is distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.values import (
    ONE,
    TRUE,
    ZERO,
    Fold,
    Lin,
    Node,
    Op,
    combine,
    fold,
    integer,
    linear,
    parts,
    raw_op,
)
from spatial.lift.algebra.walk import alike, children


@dataclass(frozen=True)
class Term:
    """One iteration's part: `op` of the carried value and `value`, where `guards` hold.

    `test`: of a maximum or minimum spelled as a branch, the condition under which `value` is taken; `strict`: whether
    an equal value leaves the carried one alone. `sure`: whether there is a value wherever the guards hold: a maximum
    over terms of which none may take part has none by itself.
    """

    op: str
    value: Node
    guards: tuple[Node, ...] = ()
    test: Node | None = None
    strict: bool = True
    sure: bool = True


Attempt = Callable[[Node, Node], Term | None]
"""Tells the term by which an exit is made of a start."""


def match(exit: Node, start: Node) -> Term | None:
    """The term of a reduction, or None; `start` does not occur in it."""
    matcher = _Matcher()
    for attempt in (matcher.sum, matcher.product, matcher.extreme):
        found = attempt(exit, start)
        if found is not None and not occurs(start, found.value) and not any(occurs(start, g) for g in found.guards):
            return found
    return None


def occurs(start: Node, node: Node) -> bool:
    """Whether an expression has `start` in it."""
    if not start.free <= node.free:
        return False
    pending, seen = [node], set[int]()
    while pending:
        n = pending.pop()
        if n is start:
            return True
        if id(n) in seen or not start.free <= n.free:
            continue
        seen.add(id(n))
        pending += children(n)
    return False


def branch(exit: Node) -> tuple[Node, Node, Node] | None:
    """The condition and the two sides of a selection."""
    match exit:
        case Op(fn="select", args=(c, a, b)):
            return c, a, b
        case Lin(const=0, terms=((Op(fn="select", args=(c, a, b)), 1),)):
            return c, a, b
        case _:
            return None


def conjuncts(guards: Iterable[Node]) -> frozenset[Node]:
    """Conditions, those that are both of two taken as two."""
    found: set[Node] = set()
    for g in guards:
        match g:
            case Op(fn="and", args=args):
                found |= conjuncts(args)
            case _:
                found.add(g)
    return frozenset(found)


def negative(a: Node) -> Node:
    """`-a`, as what is subtracted adds."""
    return raw_op("neg", (a,), a.kind)


_NEUTRAL = {"sum": ZERO, "product": ONE}


def _all(guards: Iterable[Node]) -> Node:
    condition: Node = TRUE
    for g in guards:
        condition = arith.both(condition, g)
    return condition


def _unguarded(term: Term) -> Node:
    """The part of a sum or product, neutral where the guards do not hold."""
    if not term.guards:
        return term.value
    neutral = _NEUTRAL[term.op]
    other = arith.to_float(neutral) if term.value.kind == "float" else neutral
    return arith.select(_all(term.guards), term.value, other)


class _Matcher:
    """Finds the term of one exit. Branches ask for the same terms again and again: each is found once."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, Node, Node], Term | None] = {}

    def once(self, name: str, attempt: Attempt, exit: Node, start: Node) -> Term | None:
        """What an attempt finds, or found."""
        key = name, exit, start
        if key not in self.seen:
            self.seen[key] = attempt(exit, start)
        return self.seen[key]

    def sum(self, exit: Node, start: Node) -> Term | None:
        """`start` plus a term."""
        return self.once("sum", self._sum, exit, start)

    def product(self, exit: Node, start: Node) -> Term | None:
        """`start` times a term."""
        return self.once("product", self._product, exit, start)

    def extreme(self, exit: Node, start: Node) -> Term | None:
        """The greatest, or the least, of `start` and a term."""
        return self.once("extreme", self._extreme, exit, start)

    def called(self, exit: Node, start: Node) -> Term | None:
        """A maximum or minimum that is no comparison: both branches' parts may then be one."""
        found = self.extreme(exit, start)
        return found if found is not None and found.test is None and found.sure else None

    def _sum(self, exit: Node, start: Node) -> Term | None:
        parted = branch(exit)
        if parted is not None:
            return self.chosen(exit, parted, start, self.sum)
        if exit.kind == "int":
            for atom, c in parts(exit)[1]:
                if c == 1 and occurs(start, atom):
                    before = Term("sum", ZERO) if atom is start else self.sum(atom, start) if branch(atom) else None
                    return Term("sum", combine(combine(exit, atom, -1), _unguarded(before))) if before else None
            return None
        value = self.peel(exit, start)
        return Term("sum", value) if value is not None else None

    def peel(self, node: Node, start: Node) -> Node | None:
        """`g` with node = start + g, for floats."""
        match node:
            case Op(fn="add", args=(a, b)):
                for one, other in ((a, b), (b, a)):
                    if one is start:
                        return other
                    if start.free <= one.free:
                        inner = self.peel(one, start)
                        return arith.add(inner, other) if inner is not None else None
            case Op(fn="sub", args=(a, b)):
                if a is start:
                    return negative(b)
                inner = self.peel(a, start)
                return arith.sub(inner, b) if inner is not None else None
            case Op(fn="select"):
                chosen = self.sum(node, start)
                return _unguarded(chosen) if chosen is not None else None
            case _:
                pass
        return None

    def _product(self, exit: Node, start: Node) -> Term | None:
        parted = branch(exit)
        if parted is not None:
            return self.chosen(exit, parted, start, self.product)
        match exit:
            case Lin(const=0, terms=((atom, factor),)) if atom is start:
                return Term("product", integer(factor))
            case Op(fn="mul", args=(a, b)):
                for one, other in ((a, b), (b, a)):
                    if one is start:
                        return Term("product", other)
                    if start.free <= one.free:
                        inner = self.product(one, start)
                        return Term("product", arith.mul(_unguarded(inner), other)) if inner else None
            case _:
                pass
        return None

    # -- branches

    def chosen(self, exit: Node, parted: tuple[Node, Node, Node], start: Node, inner: Attempt) -> Term | None:
        """The term of a branch, by what either side leaves."""
        return (
            self.guarded(parted, start, inner)
            or self.after(exit, parted, start, inner)
            or self.either(parted, start, inner)
        )

    def guarded(self, parted: tuple[Node, Node, Node], start: Node, inner: Attempt) -> Term | None:
        """One side leaves the carried value alone."""
        c, a, b = parted
        for guard, changed, kept in ((c, a, b), (arith.negate(c), b, a)):
            if kept is start:
                found = inner(changed, start)
                if found is not None:
                    return replace(found, guards=(guard, *found.guards))
        return None

    def after(self, exit: Node, parted: tuple[Node, Node, Node], start: Node, inner: Attempt) -> Term | None:
        """One part after another: what a branch leaves alone is what an earlier branch left."""
        for kept in parted[:0:-1]:
            if kept is start or not occurs(start, kept):
                continue
            first, later = inner(kept, start), inner(exit, kept)
            if first is None or later is None or first.op != later.op or not (first.sure and later.sure):
                continue
            if any(occurs(start, n) for n in (later.value, *later.guards)):
                continue
            if first.op == "sum":
                return Term("sum", arith.add(_unguarded(first), _unguarded(later)))
            if first.op == "product":
                return Term("product", arith.mul(_unguarded(first), _unguarded(later)))
            one, other = _all(first.guards), _all(later.guards)
            both = arith.select(
                arith.both(one, other),
                arith.extreme(first.op, first.value, later.value),
                arith.select(one, first.value, later.value),
            )
            return Term(first.op, both, tuple(g for g in (arith.either(one, other),) if g is not TRUE))
        return None

    def either(self, parted: tuple[Node, Node, Node], start: Node, inner: Attempt) -> Term | None:
        """Both branches have a part of their own: one part, which the condition chooses."""
        condition, a, b = parted
        one, other = inner(a, start), inner(b, start)
        if one is None or other is None or one.op != other.op:
            return None
        if one.value is other.value:
            taken = arith.both(condition, _all(one.guards))
            otherwise = arith.both(arith.negate(condition), _all(other.guards))
            return Term(one.op, one.value, (arith.either(taken, otherwise),))
        if one.op not in _NEUTRAL and (one.guards or other.guards):
            return None  # a part that is not there is the neutral one, which a maximum has none of
        return Term(one.op, arith.select(condition, _unguarded(one), _unguarded(other)))

    # -- maxima and minima

    def _extreme(self, exit: Node, start: Node) -> Term | None:
        match exit:
            case Op(fn=("max" | "min") as fn, args=(a, b)):
                for one, other in ((a, b), (b, a)):
                    if one is start:
                        return Term(fn, other)
                    if start.free <= one.free:
                        inner = self.extreme(one, start)
                        if inner is not None and inner.op == fn and inner.test is None and inner.sure:
                            both = arith.extreme(fn, inner.value, other)
                            return Term(fn, arith.select(_all(inner.guards), both, other))
                return None
            case Fold(op=("max" | "min") as op, arg=None, init=first) if first is start:
                terms = fold(op, exit.vars, exit.guards, exit.value, exit.order, exit.origin)
                return Term(op, terms, sure=False)
            case _:
                pass
        parted = branch(exit)
        return self.compared(exit, parted, start) if parted is not None else None

    def compared(self, exit: Node, parted: tuple[Node, Node, Node], start: Node) -> Term | None:
        """A branch taken where what it takes is greater, or less, or under a condition of its own."""
        c, a, b = parted
        chosen = self.either(parted, start, self.called) if start not in (a, b) else None
        chosen = chosen or self.after(exit, parted, start, self.extreme)
        if chosen is not None:
            return chosen
        for condition, taken, kept in ((c, a, b), (arith.negate(c), b, a)):
            if kept is start:
                order = compares(condition, start, taken)
                if order is not None:
                    return Term("max" if order > 0 else "min", taken, (), condition, abs(order) == 2)
                match condition:
                    case Op(fn="and", args=(x, y)):
                        for guard, test in ((x, y), (y, x)):
                            order = compares(test, start, taken)
                            if order is not None and not occurs(start, guard):
                                return Term("max" if order > 0 else "min", taken, (guard,), condition, abs(order) == 2)
                    case _:
                        pass
                found = self.extreme(taken, start)
                if found is not None:
                    return replace(found, guards=(condition, *found.guards))
        return None


def compares(condition: Node, start: Node, value: Node) -> int | None:
    """2 for `start < value`, 1 for `start <= value`, -2 for `start > value`, -1 for `start >= value`."""
    match condition:
        case Op(fn=("lt" | "le") as fn, args=(a, b)):
            size = 2 if fn == "lt" else 1
            if a is start and alike(b, value):
                return size
            return -size if b is start and alike(a, value) else None
        case Op(fn="not", args=(Op(fn=("lt" | "le") as fn, args=(a, b)),)):
            size = 1 if fn == "lt" else 2
            if b is start and alike(a, value):
                return size
            return -size if a is start and alike(b, value) else None
        case Op(fn="nonneg", args=(form,)):
            for size, shift in ((2, -1), (1, 0)):
                gap = combine(value, start, -1)
                const, terms = parts(gap)
                if form is linear(const + shift, dict(terms)):
                    return size
                gap = combine(start, value, -1)
                const, terms = parts(gap)
                if form is linear(const + shift, dict(terms)):
                    return -size
            return None
        case _:
            return None
