"""Closing a loop over sums kept relative to a running maximum: which maxima run, and what such a sum is at the end.

Between `rescaled`, which tells one iteration's part, and the closing steps, for scalars and items of sequences alike.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.solve import made_of
from spatial.lift.algebra.values import TRUE, Node, Sym, constant, fold, integer, plus, real
from spatial.lift.algebra.walk import alike
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.carried.combine import combined
from spatial.lift.carried.reductions import Term, match
from spatial.lift.carried.rescaled import Rescaled, Running, plain, rescaled
from spatial.lift.context.state import NotLifted


def find_running(c: Closing) -> None:
    """Notes the maxima and minima that depend on nothing else the loop changes and has not closed yet."""
    open_ = frozenset(k.start for k in c.carries if not k.closed)
    for k in c.carries:
        start, exit, entry = k.start, k.exit, k.entry
        if not isinstance(start, Sym) or k.closed or start in c.running:
            continue
        if not isinstance(exit, Node) or not isinstance(entry, Node) or (exit.free & open_) - {start}:
            continue
        term = match(exit, start)
        if term is None or term.op not in ("max", "min"):
            continue
        final = combined(c, k, entry, Substitution({}), term)
        found = Running.of(start, term, exit, entry, final)
        if found is not None:
            c.running[start] = found


def part_of(c: Closing, exit: Node, start: Node) -> Rescaled | None:
    """One iteration's part of a carried value, relative to a running maximum that stands in it."""
    for best in c.running.values():
        if best.start in exit.free and exit.kind == "float":
            return rescaled(exit, start, best)
    return None


def rescaled_total(c: Closing, k: Carry, entry: Node, change: Substitution, part: Rescaled) -> Node:
    """`entry * exp(m0 - M) + Σ term`: m0 the maximum before the loop, M after it."""
    best = part.best
    value, guards = change.node(part.value), tuple(change.node(g) for g in part.guards)
    # The terms read the last maximum, which is a reduction over the loop's own variable: so theirs is another.
    own = Sym(c.v.name, c.v.extent)
    peeled = _peeled(c, entry, value, guards, best)
    if peeled:
        own = Sym(c.v.name, (c.v.extent or 0) + 1)
    turn = Substitution({c.v: plus(own, -1) if peeled else own, best.start: best.final})
    value, guards = turn.node(value), tuple(turn.node(g) for g in guards)
    turned = replace(c, v=own, guard=turn.node(c.guard))
    if peeled:
        return fold("sum", (own,), tuple(g for g in (turned.guard, *guards) if g is not TRUE), value, k.order, k.site)
    before = _before(c, k, entry, part)
    return combined(turned, k, before, Substitution({}), Term("sum", value, guards))


def _before(c: Closing, k: Carry, entry: Node, part: Rescaled) -> Node:
    """What the sum before the loop counts after it."""
    best = part.best
    if constant(entry) == 0:
        return real(0.0)
    first = constant(best.entry)
    if first in (float("inf"), float("-inf")):
        if c.runs and not best.term.guards:
            return real(0.0)
        raise NotLifted(
            f'"{k.cell.name}" starts as something, beside a maximum that starts below everything',
            "start it as 0.0",
            k.span,
            binder=k.cell.name,
        )
    weight = part.weight(best.entry, best.final)
    return weight if constant(entry) == 1 else arith.mul(entry, weight)


def _peeled(c: Closing, entry: Node, value: Node, guards: tuple[Node, ...], best: Running) -> bool:
    """Whether sum and maximum start as the iteration before the first would leave them."""
    if guards or c.v.extent is None or constant(best.entry) is not None or not at_least_zero(c.trip, c.known):
        return False
    before = supposed({c.v: integer(-1)}, best.term.value)
    if not before or c.v not in best.term.value.free or not alike(before[0], best.entry):
        return False
    first = supposed({c.v: integer(-1), best.start: before[0]}, value)
    moved = supposed({c.v: plus(Sym(c.v.name, c.v.extent + 1), -1)}, value, c.guard)
    return first is not None and moved is not None and alike(plain(first[0]), plain(made_of(entry)))
