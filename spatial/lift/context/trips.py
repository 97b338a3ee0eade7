"""How often a loop runs: conditions that counters end.

A condition is taken apart into comparisons that must all hold. Each side is evaluated with its counters as they stand
in iteration v; where the room between the two sides shrinks by a constant, the comparison fails after so many
iterations. A Break at the top of a body, alone under an If, is such a condition too. Knows no nest and no block.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.values import Node, Op, Sym, combine, int_constant, integer, linear, parts, plus, scale
from spatial.lift.context.loops import Changing, Runner, changing, counter_step, read_by
from spatial.lift.context.state import Cell, Scope
from spatial.logos import syntax

_TRIED = 1024
"""Iterations of which a condition that is no sum of counters is looked at."""

_NEGATED: dict[str, syntax.BinaryOp] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def leading_breaks(body: Sequence[syntax.Stmt]) -> tuple[list[syntax.Expr], Sequence[syntax.Stmt]]:
    """The conditions under which the body goes on, from what breaks off before anything else, and the rest of it."""
    going: list[syntax.Expr] = []
    for n, s in enumerate(body):
        match s:
            case syntax.If(((test, (syntax.Break(),)),), ()):
                going.append(syntax.Not(test, s.span))
            case _:
                return going, body[n:]
    return going, ()


def last_break(body: Sequence[syntax.Stmt], own: str, changed: Container[str]) -> syntax.Expr | None:
    """The condition under which the body goes on, from what breaks off after all else, told by its own variable and by
    what no iteration changes; None if there is none such."""
    match body[-1] if body else None:
        case syntax.If(((test, (syntax.Break(),)),), ()):
            for n in syntax.walk(test):
                if isinstance(n, syntax.Name):
                    if n.name in changed:
                        return None
                elif not isinstance(n, syntax.Binary | syntax.Not | syntax.IntLiteral):
                    return None
            named = any(isinstance(n, syntax.Name) and n.name == own for n in syntax.walk(test))
            return syntax.Not(test, body[-1].span) if named else None
        case _:
            return None


def trips(
    ex: Runner, conditions: Sequence[syntax.Expr], body: Sequence[syntax.Stmt], scope: Scope, own: Mapping[str, Node]
) -> Node | None:
    """How often all conditions hold in a row, or None where that is not told by counters.

    `own`: loop variables by name, in the first iteration; each grows by one.
    """
    found: Node | None = None
    moved = changing(ex, body, scope, own)
    for condition in conditions:
        comparisons = _comparisons(condition, True)
        if comparisons is None:
            return None
        for c in comparisons:
            count = _fails_after(ex, c, body, scope, own, moved)
            if count is None:
                return None
            found = count if found is None else arith.extreme("min", found, count)
    return found


def _comparisons(e: syntax.Expr, holds: bool) -> list[syntax.Binary] | None:
    """Comparisons that all hold exactly where an expression does (`holds`), or does not; None if none are such."""
    match e:
        case syntax.Not(operand):
            return _comparisons(operand, not holds)
        case syntax.BoolLiteral(value) if value == holds:
            return []
        case syntax.Binary(op, left, right) if op == ("and" if holds else "or"):
            a, b = _comparisons(left, holds), _comparisons(right, holds)
            return None if a is None or b is None else [*a, *b]
        case syntax.Binary(op, left, right) if op in _NEGATED:
            return [e if holds else syntax.Binary(_NEGATED[op], left, right, e.span)]
        case _:
            return None


def _fails_after(
    ex: Runner,
    c: syntax.Binary,
    body: Sequence[syntax.Stmt],
    scope: Scope,
    own: Mapping[str, Node],
    moved: Changing,
) -> Node | None:
    """After how many iterations a comparison first fails."""
    v = Sym("v")
    inner = Scope(outer=scope)
    for name in read_by(c)[0]:
        if name in own:
            inner.names[name] = Cell(name, combine(own[name], v))
        elif name in moved.values.names:
            cell = scope.find(name) or ex.m.globals.find(name)
            step = counter_step(ex, body, name, scope, moved)
            if step is None or cell is None or not isinstance(cell.value, Node) or cell.value.kind != "int":
                return None
            inner.names[name] = Cell(name, combine(cell.value, v, step))
    if not inner.names or any(_reads(n, inner) for n in syntax.walk(c)):
        return None
    if moved.told_by(ex, c, scope, inner.names):
        return None
    left, right = ex.eval.index(c.left, inner), ex.eval.index(c.right, inner)
    gap = combine(right, left, -1)
    shift = {"<": -1, "<=": 0, ">": -1, ">=": 0, "!=": -1}.get(c.op)
    if shift is None:
        return None
    if c.op in (">", ">="):
        gap = scale(gap, -1)
    const, terms = parts(gap)
    slope = dict(terms).get(v, 0)
    room = linear(const, {atom: k for atom, k in terms if atom is not v})
    if v in room.free or not slope:
        return _tried(gap, shift, v, c.op == "!=")
    if c.op == "!=":
        return _meets(ex, room, slope)
    return _count(plus(room, shift), -slope) if slope < 0 else None


def _tried(gap: Node, shift: int, v: Sym, apart: bool) -> Node | None:
    """The first v at which `gap + shift` is below 0, or where two sides are to be `apart` the gap is 0: of what v alone
    tells, by trying."""
    if not gap.free <= {v}:
        return None
    for n in range(_TRIED):
        room = int_constant(Substitution({v: integer(n)}).node(gap))
        if room is None:
            return None
        if room == 0 if apart else room + shift < 0:
            return integer(n)
    return None


def _reads(node: syntax.Expr, counters: Scope) -> bool:
    """Whether an expression takes an item, or calls a function, at a counter."""
    inside = syntax.walk(node) if isinstance(node, syntax.Index | syntax.Call) else ()
    return any(isinstance(n, syntax.Name) and n.name in counters.names for n in inside)


def _count(room: Node, step: int) -> Node:
    """How many v from 0 leave `room - step * v` at least 0."""
    known = int_constant(room)
    if known is not None:
        return integer(max(known // step + 1, 0))
    return plus(arith.floordiv(room, integer(step)), 1)


def _meets(ex: Runner, room: Node, slope: int) -> Node | None:
    """The v at which `room + slope * v` is 0, if it surely is at one."""
    left = room if slope < 0 else scale(room, -1)
    const, terms = parts(left)
    if const % abs(slope) or any(k % abs(slope) for _, k in terms) or not at_least_zero(left, ex.m.known()):
        return None
    return linear(const // abs(slope), {atom: k // abs(slope) for atom, k in terms})


def guard_of(trip: Node, v: Sym, deep: int = 4) -> Node:
    """`v < trip`, of a least of several counts, so many `deep` in each other, or of a quotient taken apart."""
    match trip:
        case Op(fn="min", args=(a, b)) if deep:
            return arith.both(guard_of(a, v, deep - 1), guard_of(b, v, deep - 1))
        case _:
            pass
    gap = plus(combine(trip, v, -1), -1)
    for atom, c in parts(trip)[1]:
        match atom:
            case Op(fn="floordiv", args=(whole, by)) if c == 1 and (m := int_constant(by) or 0) > 0:
                return arith.nonneg(
                    combine(whole, combine(gap, atom, -1), m)
                )  # E // m + r is at least 0 where E + m r is
            case _:
                pass
    return arith.nonneg(gap)
