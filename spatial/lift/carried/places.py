"""Variables that remember: where the best value was found, and what was found last, or first, under a condition.

A place goes with a maximum or minimum that the loop carries, or is its own: `item i of x > item place of x`. What the
place starts as counts wherever no term is better than the value the comparison starts from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero, bounds, decided
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import (
    TRUE,
    ZERO,
    Fold,
    Node,
    Op,
    Sym,
    constant,
    fold,
    free_of,
    int_constant,
    integer,
    linear,
    parts,
    plus,
    real,
)
from spatial.lift.algebra.walk import alike
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.carried.reductions import Term, branch, compares, conjuncts
from spatial.lift.context.state import NotLifted


@dataclass(frozen=True)
class Place:
    """What a variable takes (`arg`) where a term `value` is better, by `op`, than the best so far, and `guards` hold;
    `strict`: an equal term is not better. `start`: the best before the loop; `sure`: see `reductions.Term`; `own`: the
    best so far is what stands at the place so far."""

    op: str
    value: Node
    arg: Node
    guards: tuple[Node, ...]
    strict: bool
    start: Node
    sure: bool
    own: bool = False


def place_of(k: Carry, bests: Sequence[tuple[Carry, Term]]) -> Place | None:
    """What `k` remembers of a maximum or minimum that is carried beside it, or of its own item."""
    taken = _taken(k)
    if taken is None:
        return None
    conditions, arg = taken
    for n, condition in enumerate(conditions):
        guards = conditions[:n] + conditions[n + 1 :]
        for best, term in bests:
            order = _order(condition, best, term)
            if order and frozenset(guards) == conjuncts(term.guards) and isinstance(best.entry, Node):
                op = "max" if order > 0 else "min"
                if op == term.op:
                    return Place(op, term.value, arg, guards, abs(order) == 2, best.entry, term.sure)
        own = _own(condition, k, arg)
        if own is not None:
            return replace(own, guards=guards)
    return None


def _taken(k: Carry) -> tuple[tuple[Node, ...], Node] | None:
    """The conditions under which an iteration gives a variable a value, and that value."""
    conditions: list[Node] = []
    at = k.exit
    while isinstance(at, Node) and at is not k.start:
        parted = branch(at)
        if parted is None or k.start not in parted[1:]:
            break
        condition, a, b = parted
        conditions += conjuncts_in_order(condition if b is k.start else arith.negate(condition))
        at = a if b is k.start else b
    if not conditions or not isinstance(at, Node) or k.start in at.free:
        return None
    return tuple(dict.fromkeys(conditions)), at


def conjuncts_in_order(condition: Node) -> list[Node]:
    """A condition, or the two that it is both of, and so on."""
    match condition:
        case Op(fn="and", args=(a, b)):
            return [*conjuncts_in_order(a), *conjuncts_in_order(b)]
        case Op(fn="not", args=(Op(fn="or", args=(a, b)),)):
            return [*conjuncts_in_order(arith.negate(a)), *conjuncts_in_order(arith.negate(b))]
        case _:
            return [condition]


def _order(condition: Node, best: Carry, term: Term) -> int | None:
    """How a condition compares a term with the best so far (as `compares`), the new best looked at too."""
    assert isinstance(best.start, Sym) and isinstance(best.exit, Node)
    order = compares(condition, best.start, term.value)
    if order is not None:
        return order
    order = compares(condition, best.start, best.exit)
    if order is not None and abs(order) == 2:
        return order  # the best has changed
    match condition:
        case Op(fn="eq", args=(a, b)) if {a, b} == {best.exit, term.value} and not term.guards:
            return 1 if term.op == "max" else -1  # the term is the best now
        case _:
            return None


def _own(condition: Node, k: Carry, arg: Node) -> Place | None:
    """A comparison of what stands at the new place with what stands at the old one."""
    assert isinstance(k.start, Sym) and isinstance(k.entry, Node)
    change = Substitution({k.start: arg})
    for old, new in _sides(condition, k.start):
        order = compares(condition, old, new)
        if arg.free & old.free - {k.start}:
            continue  # it differs from iteration to iteration, whatever the old place is
        if order is not None and change.node(old) is new and old is not k.start:
            first = Substitution({k.start: k.entry}).node(old)
            return Place("max" if order > 0 else "min", new, arg, (), abs(order) == 2, first, True, True)
    return None


def _sides(condition: Node, start: Sym) -> list[tuple[Node, Node]]:
    """What a comparison may compare: the side that has `start` in it, and the other."""
    match condition:
        case Op(fn="not", args=(inner,)):
            return _sides(inner, start)
        case Op(fn="lt" | "le", args=(a, b)):
            return [(a, b)] if start in a.free else [(b, a)]
        case Op(fn="nonneg", args=(form,)):
            const, terms = parts(form)
            mine = {a: c for a, c in terms if start in a.free}
            rest = {a: c for a, c in terms if a not in mine}
            sign = -1 if any(c < 0 for c in mine.values()) else 1
            old = linear(0, {a: c * sign for a, c in mine.items()})
            new = linear(const, rest) if sign < 0 else linear(-const, {a: -c for a, c in rest.items()})
            return [(old, plus(new, shift)) for shift in (0, -1, 1)]
        case _:
            return []


# ---------------------------------------------------------------- after the loop


def final_place(c: Closing, k: Carry, place: Place) -> Node:
    """What the variable holds after the loop."""
    assert isinstance(k.entry, Node)
    v, value, arg = c.v, place.value, place.arg
    guards = tuple(g for g in (c.guard, *place.guards) if g is not TRUE)
    best = f"arg{place.op}_{'first' if place.strict else 'last'}"
    first = Substitution({v: ZERO})
    sure = place.sure and c.runs and all(decided(first.node(g), c.known) for g in guards)
    if sure and not place.guards:
        begun = alike(first.node(value), place.start) or constant(place.start) == _WORST[place.op]
        if begun and alike(first.node(arg), k.entry):
            return _best(best, v, guards, value, arg, k)
    before = supposed({v: integer(-1)}, arg, value)
    peeled = before and alike(before[0], k.entry) and alike(before[1], place.start)
    if peeled and not place.guards and place.sure and at_least_zero(c.trip, c.known) and v.extent is not None:
        longer = Sym(v.name, v.extent + 1)
        moved = supposed({v: plus(longer, -1)}, value, arg, *guards)
        if moved:
            return _best(best, longer, tuple(g for g in moved[2:] if g is not TRUE), moved[0], moved[1], k)
    if not sure:
        value, guards = _masked(place, value, guards, k), ()
    top = fold(place.op, (v,), guards, value, k.order, k.site)
    better = ("<" if place.strict else "<=") if place.op == "max" else (">" if place.strict else ">=")
    return arith.select(arith.compare(better, place.start, top), _best(best, v, guards, value, arg, k), k.entry)


_WORST = {"max": -math.inf, "min": math.inf}


def _best(op: str, v: Sym, guards: tuple[Node, ...], value: Node, arg: Node, k: Carry) -> Node:
    """The place of the best over a loop; over the places that an inner loop found, over both."""
    vars = (v,)
    if isinstance(value, Fold) and isinstance(arg, Fold) and op == arg.op and arg.value is value.value:
        plain = value.op == op[3:6] and value.init is None and value.arg is None and arg.arg is not None
        if plain and value.vars == arg.vars and value.guards == arg.guards:
            vars, guards, value, arg = (v, *arg.vars), (*guards, *arg.guards), arg.value, arg.arg or arg
    return fold(op, vars, guards, value, k.order, k.site, arg=arg)


def _masked(place: Place, value: Node, guards: Sequence[Node], k: Carry) -> Node:
    """A term that is never better where its guards do not hold."""
    worst: Node | None = None
    if place.sure and value.kind == "float" and (place.strict or _finite(place.start)):
        worst = real(_WORST[place.op])
    elif place.sure and value.kind == place.start.kind == "int":
        ends = [bounds(n)[0 if place.op == "max" else 1] for n in (value, place.start)]
        known = [n for n in ends if n is not None]
        if len(known) == 2:
            worst = integer(min(known) - 1 if place.op == "max" else max(known) + 1)
    if worst is None:
        raise NotLifted(
            f'"{k.cell.name}" is the place of the best of terms that may all be missing',
            "start with the first item and its index, and compare every item",
            k.span,
            binder=k.cell.name,
        )
    condition: Node = TRUE
    for g in guards:
        condition = arith.both(condition, g)
    return arith.select(condition, value, worst)


def _finite(node: Node) -> bool:
    known = constant(node)
    return known is not None and math.isfinite(known)


# ---------------------------------------------------------------- what was found last, or first


def found_last(c: Closing, k: Carry, starts: frozenset[Sym]) -> Node | None:
    """What a variable holds after a loop that sets it now and then, to what no iteration hands on: the last value; with
    `and place == 0` beside the condition, where 0 is what it starts as and no value is 0, the first."""
    taken = _taken(k)
    if taken is None or c.v.extent is None or not isinstance(k.entry, Node) or not isinstance(k.start, Sym):
        return None
    conditions, arg = taken
    fresh = [g for g in conditions if k.start in g.free]
    others = tuple(g for g in conditions if k.start not in g.free)
    if len(fresh) > 1 or (fresh and not _unset(fresh[0], k, arg)) or starts & free_of((arg, *others)):
        return None
    guards = tuple(g for g in (c.guard, *others) if g is not TRUE)
    never = c.v.extent if fresh else -1
    when = fold("min" if fresh else "max", (c.v,), guards, c.v, k.order, k.site, init=integer(never))
    beyond, found_at = supposed({c.v: integer(never)}, arg), supposed({c.v: when}, arg)
    if beyond and found_at and beyond[0] is k.entry:
        return found_at[0]
    found = arith.compare("<", when, integer(never)) if fresh else arith.compare(">=", when, ZERO)
    inside = arith.extreme("min", when, integer(c.v.extent - 1)) if fresh else arith.extreme("max", when, ZERO)
    return arith.select(found, Substitution({c.v: inside}).node(arg), k.entry)


def _unset(condition: Node, k: Carry, arg: Node) -> bool:
    """Whether a condition says that the variable is still what it started as, which it is never set to."""
    begun = int_constant(k.entry) if isinstance(k.entry, Node) else None
    if begun is None or arg.kind != "int" or not isinstance(k.start, Sym):
        return False
    low, high = bounds(arg)
    apart = (low is not None and low > begun) or (high is not None and high < begun)
    return apart and condition is arith.compare("==", k.start, integer(begun))
