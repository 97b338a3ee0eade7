"""Running forms: sums that a loop keeps relative to a running maximum, as in a softmax or an attention row of one pass.

A loop that carries a maximum m and leaves `s * exp(m - m') + g * exp(w - m')` in s, m' being the maximum after the
iteration and g and w free of both, ends with the sum of `g * exp(w - M)`, M the last maximum. The two cases of an
iteration are looked at apart: a new maximum, and none. So it is all one how the source chooses between them, where it
computes the factors once, and which of them it leaves out as 1. Knows no loop: `combine` puts the sum together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.values import FALSE, TRUE, Const, Fold, Node, Op, Sym, constant, fold, free_of, real, truth
from spatial.lift.algebra.walk import below
from spatial.lift.carried.reductions import Term, branch, conjuncts, negative, occurs


@dataclass(frozen=True, eq=False)
class Running:
    """A maximum (or minimum) that a loop carries: its stand-in, its term, its value as an iteration ends, before the
    loop, and after it."""

    start: Sym
    term: Term
    exit: Node
    entry: Node
    final: Node
    named: frozenset[Node] = field(default_factory=frozenset[Node])

    @staticmethod
    def of(start: Sym, term: Term, exit: Node, entry: Node, final: Node) -> Running | None:
        """The record, if sums may be kept relative to it: a maximum or minimum of Floats."""
        if term.op not in ("max", "min") or exit.kind != "float" or entry.kind != "float":
            return None
        if constant(entry) == _NEVER[term.op] and any(_infinite(n) for n in below(term.value)):
            return None  # with the first term as small as nothing, exp of their difference is no number
        return Running(start, term, exit, entry, final, _named(exit, start, term.value))


_NEVER = {"max": -math.inf, "min": math.inf}


def _infinite(node: Node) -> bool:
    return (isinstance(node, Const) and math.isinf(node.value)) or (isinstance(node, Op) and node.fn == "log")


def _named(exit: Node, start: Sym, taken: Node) -> frozenset[Node]:
    """What an iteration may call its maximum: the value it leaves, and that value where its guards hold."""
    found: set[Node] = set()
    at = exit
    while at is not taken and at is not start:
        found.add(at)
        parts = branch(at)
        if parts is None or start not in parts[1:]:
            break
        at = parts[2] if parts[1] is start else parts[1]
    return frozenset(found)


@dataclass(frozen=True, eq=False)
class Rescaled:
    """One iteration's part of a sum kept relative to `best`: `value` reads the maximum as the loop's stand-in, whose
    place the last maximum takes; `scale` is the factor before the difference in the exponents."""

    best: Running
    scale: float
    value: Node
    guards: tuple[Node, ...]

    def weight(self, of: Node, last: Node) -> Node:
        """`exp((of - last) * scale)`."""
        gap = arith.sub(of, last)
        return arith.function("exp", gap if self.scale == 1.0 else arith.mul(gap, real(self.scale)))


def rescaled(exit: Node, start: Node, best: Running) -> Rescaled | None:
    """One iteration's part of a carried value relative to a running maximum, or None; `start` does not occur in it."""
    guards: tuple[Node, ...] = ()
    while (parts := branch(exit)) is not None and start in parts[1:] and parts[1] is not parts[2]:
        condition, a, b = parts
        if best.start in condition.free:
            break
        guards, exit = (*guards, condition if b is start else arith.negate(condition)), a if b is start else b
    found = _under(exit, start, best, bool(guards))
    if found is None or (guards and conjuncts(guards) != conjuncts(best.term.guards)):
        return None
    if occurs(start, found.value) or any(occurs(start, g) for g in guards):
        return None
    return replace(found, guards=(*found.guards, *guards))


def _under(exit: Node, start: Node, best: Running, guarded: bool) -> Rescaled | None:
    """The part where the guards of the maximum hold; what stands where they do not must leave the sum as it is, unless
    the carried value is under these guards itself (`guarded`)."""
    u = best.term.value
    new, old = _Case(best, u), _Case(best, best.start)
    first, second = _line(new.node(exit), start), _line(old.node(exit), start)
    if first is None or second is None or len(new.ties | old.ties) > 1 or not second.addends:
        return None
    exponents, scale = _Exponents((best.start, u)), first.scale(best, u)
    if scale is None or second.scale(best, best.start) is None:
        return None
    moved = Substitution({best.start: u})
    if [exponents.plain(a) for a in first.addends] != [exponents.plain(moved.node(a)) for a in second.addends]:
        return None
    if not all(exponents.weighs(a, best.start, -scale) for a in second.addends):
        return None
    value = second.addends[0]
    for a in second.addends[1:]:
        value = arith.add(value, a)
    if guarded or not best.term.guards:
        return Rescaled(best, scale, value, ())
    rest = _line(_Case(best, best.start, False).node(exit), start)
    if rest is None or rest.scale(best, best.start) is None or not all(_zero(a) for a in rest.addends):
        return None
    if all(constant(a) == 0.0 for a in rest.addends):
        return Rescaled(best, scale, value, best.term.guards)
    condition: Node = TRUE
    for g in best.term.guards:
        condition = arith.both(condition, g)
    return Rescaled(best, scale, arith.select(condition, value, rest.addends[0]), ())


def _zero(node: Node) -> bool:
    """Whether a value is 0, or 0 times something."""
    return any(constant(f) == 0.0 for f in _factors(node))


def plain(node: Node) -> Node:
    """A term to be compared with another: exp of a value less itself is 1, factors of 1 go, the others in one order."""
    return _Exponents(()).plain(node)


# ---------------------------------------------------------------- the two cases


class _Case:
    """An iteration's expressions where its maximum is `now`: the new term, or what it was; the guards of the maximum
    `hold`, or not."""

    def __init__(self, best: Running, now: Node, hold: bool = True) -> None:
        self.best, self.now, self.hold = best, now, truth(hold)
        self.named = best.named if hold else frozenset((best.exit,))
        self.guards = frozenset(best.term.guards) | conjuncts(best.term.guards)
        self.touched = free_of((best.start, *best.term.guards)) if best.term.guards else best.start.free
        self.memo: dict[Node, Node] = {}
        self.ties: set[bool] = set()
        """Whether equal values count as a new maximum, by each comparison decided."""

    def node(self, node: Node) -> Node:
        """The expression in this case."""
        if node in self.named:
            return self.now
        if node in self.guards:
            return self.hold
        if not (self.touched & node.free):
            return node
        found = self.memo.get(node)
        if found is None:
            found = self.memo[node] = self._node(node)
        return found

    def _node(self, node: Node) -> Node:
        match node:
            case Op(fn=fn, args=args, kind=kind):
                changed = tuple(self.node(a) for a in args)
                known = self.decided(fn, changed) if fn in ("lt", "le") else None
                return known or (node if changed == args else arith.rebuild(fn, changed, kind))
            case Fold(arg=None, init=None):
                guards = tuple(self.node(g) for g in node.guards)
                return fold(node.op, node.vars, guards, self.node(node.value), node.order, node.origin)
            case _:
                return node

    def decided(self, fn: str, args: tuple[Node, ...]) -> Node | None:
        """A comparison of the maximum with the term, which the case decides."""
        m, u = self.best.start, self.best.term.value
        if args[0] is args[1]:
            return FALSE if fn == "lt" and args[0] in (m, u) else None
        if args not in ((m, u), (u, m)):
            return None
        rises = (args[0] is m) == (self.best.term.op == "max")  # it holds if the term is the new maximum
        self.ties.add(rises == (fn == "le"))
        return TRUE if rises == (self.now is u) else FALSE


# ---------------------------------------------------------------- factor * carried + addends


@dataclass(frozen=True)
class _Line:
    """`carried * Π factors + Σ addends`."""

    factors: tuple[Node, ...]
    addends: tuple[Node, ...]

    def scale(self, best: Running, now: Node) -> float | None:
        """c where the factors make `exp(c * (m - now))` (1 where that is 1 for any c), or None."""
        exponents = _Exponents((best.start, best.term.value))
        total: dict[Node, float] = {}
        for f in self.factors:
            found = exponents.of(f)
            if found is None:
                return None
            for atom, c in found.items():
                total[atom] = total.get(atom, 0.0) + c
        total = {atom: c for atom, c in total.items() if c}
        if now is best.start:
            return None if total else 1.0
        c = total.get(best.start, 0.0)
        right = total == {best.start: c, now: -c} and (c > 0.0 if best.term.op == "max" else c < 0.0)
        return c if right else None


def _line(node: Node, start: Node) -> _Line | None:
    if node is start:
        return _Line((), ())
    if not start.free <= node.free:
        return None
    match node:
        case Op(fn="add", args=(a, b)):
            for one, other in ((a, b), (b, a)):
                inner = _line(one, start)
                if inner is not None:
                    return None if occurs(start, other) else _Line(inner.factors, (*inner.addends, other))
        case Op(fn="sub", args=(a, b)):
            inner = _line(a, start)
            if inner is not None and not occurs(start, b):
                return _Line(inner.factors, (*inner.addends, negative(b)))
        case Op(fn="mul", args=(a, b)):
            for one, other in ((a, b), (b, a)):
                inner = _line(one, start)
                if inner is not None and not inner.addends:
                    return None if occurs(start, other) else _Line((*inner.factors, other), ())
        case Op(fn="select", args=(c, a, b)) if not occurs(start, c):
            return _chosen(c, _line(a, start), _line(b, start))
        case _:
            pass
    return None


def _chosen(condition: Node, a: _Line | None, b: _Line | None) -> _Line | None:
    """A branch that adds on one side only, or on both."""
    if a is None or b is None or a.factors != b.factors or len(a.addends) > 1 or len(b.addends) > 1:
        return None
    if not a.addends and not b.addends:
        return a
    zero = (real(0.0),)
    return _Line(a.factors, (arith.select(condition, *(a.addends or zero), *(b.addends or zero)),))


# ---------------------------------------------------------------- exponents


class _Exponents:
    """Exponents as sums of values, those of `whole` taken whole."""

    def __init__(self, whole: tuple[Node, ...]) -> None:
        self.whole = whole
        self.memo: dict[Node, Node] = {}

    def of(self, factor: Node) -> Mapping[Node, float] | None:
        """What a factor is exp of: each value with its coefficient."""
        match factor:
            case Const(value=1.0):
                return {}
            case Op(fn="exp", args=(inner,)):
                return self.sum(inner)
            case Op(fn="mul", args=(a, b)):
                x, y = self.of(a), self.of(b)
                return None if x is None or y is None else _added(x, y, 1.0)
            case _:
                return None

    def sum(self, node: Node) -> Mapping[Node, float]:
        """An exponent as a sum of values with constant coefficients."""
        if node in self.whole:
            return {node: 1.0}
        match node:
            case Op(fn="add", args=(a, b)):
                return _added(self.sum(a), self.sum(b), 1.0)
            case Op(fn="sub", args=(a, b)):
                return _added(self.sum(a), self.sum(b), -1.0)
            case Op(fn="neg", args=(a,)):
                return _added({}, self.sum(a), -1.0)
            case Op(fn="mul", args=(a, Const(value=c))) | Op(fn="mul", args=(Const(value=c), a)):
                return _added({}, self.sum(a), float(c))
            case Op(fn="div", args=(a, Const(value=c))):
                return _added({}, self.sum(a), 1.0 / float(c))
            case Const(value=0.0):
                return {}
            case _:
                return {node: 1.0}

    def plain(self, node: Node) -> Node:
        """A term to be compared with another: exp of nothing is 1, factors of 1 go, the others in one order."""
        found = self.memo.get(node)
        if found is None:
            found = self.memo[node] = self._plain(node)
        return found

    def _plain(self, node: Node) -> Node:
        match node:
            case Op(fn="exp", args=(inner,)) if not self.sum(inner):
                return real(1.0)
            case Op(fn="mul", kind="float"):
                kept = [f for f in map(self.plain, _factors(node)) if constant(f) != 1.0]
                total: Node = real(1.0) if not kept else min(kept, key=_age)
                for f in sorted(kept, key=_age)[1:]:
                    total = arith.mul(total, f)
                return total
            case Op(fn=fn, args=args, kind=kind):
                changed = tuple(self.plain(a) for a in args)
                return node if changed == args else arith.rebuild(fn, changed, kind)
            case Fold(arg=None, init=None):
                return fold(node.op, node.vars, node.guards, self.plain(node.value), node.order, node.origin)
            case _:
                return node

    def weighs(self, node: Node, m: Sym, c: float) -> bool:
        """Whether a term is `g * exp(c m + w)`, g and w free of m: so a maximum that rises rescales it."""
        if m not in node.free:
            return constant(node) == 0.0
        match node:
            case Op(fn="exp", args=(inner,)):
                found = self.sum(inner)
                return found.get(m, 0.0) == c and all(a is m or m not in a.free for a in found)
            case Op(fn="mul", args=(a, b)):
                return (m not in b.free and self.weighs(a, m, c)) or (m not in a.free and self.weighs(b, m, c))
            case Op(fn="div", args=(a, b)):
                return m not in b.free and self.weighs(a, m, c)
            case Op(fn="neg", args=(a,)):
                return self.weighs(a, m, c)
            case Op(fn="add" | "sub", args=(a, b)):
                return self.weighs(a, m, c) and self.weighs(b, m, c)
            case Op(fn="select", args=(test, a, b)):
                return m not in test.free and self.weighs(a, m, c) and self.weighs(b, m, c)
            case Fold(op="sum", arg=None, init=None):
                return not any(m in g.free for g in node.guards) and self.weighs(node.value, m, c)
            case _:
                return False


def _added(a: Mapping[Node, float], b: Mapping[Node, float], factor: float) -> Mapping[Node, float]:
    total = dict(a)
    for atom, c in b.items():
        total[atom] = total.get(atom, 0.0) + factor * c
    return {atom: c for atom, c in total.items() if c}


def _factors(node: Node) -> list[Node]:
    match node:
        case Op(fn="mul", args=(a, b), kind="float"):
            return [*_factors(a), *_factors(b)]
        case _:
            return [node]


def _age(node: Node) -> int:
    return node.serial
