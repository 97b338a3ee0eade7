"""The value of a reduction after its loop: the entry value and the fold of the terms, put together."""

from __future__ import annotations

import math

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import at_least_zero, decided, is_affine
from spatial.lift.algebra.rewrite import Substitution, supposed
from spatial.lift.algebra.values import (
    TRUE,
    ZERO,
    Get,
    Node,
    Op,
    Sym,
    combine,
    constant,
    fold,
    free_of,
    int_constant,
    integer,
    plus,
    raw_op,
    scale,
)
from spatial.lift.algebra.walk import alike, below
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.carried.reductions import Term
from spatial.lift.context.state import NotLifted

_WORST = {"max": -math.inf, "min": math.inf}


def combined(c: Closing, k: Carry, entry: Node, change: Substitution, term: Term) -> Node:
    """`entry op term(0) op term(1) …`, the entry dropped where it is the identity or repeats a term."""
    guards = tuple(g for g in (c.guard, *(change.node(g) for g in term.guards)) if g is not TRUE)
    value = change.node(term.value)
    v = c.v
    free = free_of((value, *guards))
    peeled = _peeled(c, entry, value, guards) if term.sure else None
    if peeled is not None:
        v, value, guards = peeled
        return fold(term.op, (v,), guards, value, k.order, k.site)
    times = int_constant(c.trip)
    if v not in free and term.op == "sum" and value.kind == "int" and times is not None and not guards:
        return combine(entry, scale(value, times)) if entry.kind == "int" else arith.add(entry, scale(value, times))
    if term.op in ("max", "min"):
        first = Substitution({v: ZERO})
        sure = term.sure and c.runs and all(decided(first.node(g), c.known) for g in guards)
        if sure and (constant(entry) == _WORST[term.op] or _repeats(c, entry, value)):
            return _folded(c, k, term.op, value, guards)
        if sure:
            return arith.extreme(term.op, entry, _folded(c, k, term.op, value, guards))
        return _folded(c, k, term.op, value, guards, entry)
    if value.kind == "float" and entry.kind == "int":
        if not c.runs:
            raise NotLifted(
                "the result is an Int where the loop runs no time", "start it as 0.0", k.span, binder=k.cell.name
            )
        entry = arith.to_float(entry)
    # A term that is subtracted is added with its sign changed once, after the fold.
    negative = isinstance(value, Op) and value.fn == "neg"
    if negative and isinstance(value, Op):
        value = value.args[0]
    total = _folded(c, k, term.op, value, guards)
    if term.op == "product":
        return total if constant(entry) == 1 else arith.mul(entry, total)
    if constant(entry) == 0 and not (negative and total.kind == "float"):  # of Floats, 0.0 - 0.0 is no -0.0
        return raw_op("neg", (total,), total.kind) if negative else total
    return arith.sub(entry, total) if negative else arith.add(entry, total)


def _folded(c: Closing, k: Carry, op: str, value: Node, guards: tuple[Node, ...], init: Node | None = None) -> Node:
    """The fold over the loop's iterations, counted from the other end where fewer indices are then known only at run
    time: a counter that falls from a run-time number to a constant."""
    if c.guard is not TRUE:
        turn = {c.v: combine(plus(c.trip, -1), c.v, -1)}
        turned = supposed(turn, value, *(g for g in guards if g is not c.guard))
        if turned is not None and _run_time(c.v, (*turned, c.guard)) < _run_time(c.v, (value, *guards)):
            value, guards = turned[0], tuple(g for g in (c.guard, *turned[1:]) if g is not TRUE)
    return fold(op, (c.v,), guards, value, k.order, k.site, init=init)


def _run_time(v: Sym, nodes: tuple[Node, ...]) -> int:
    """In how many indices the variable stands beside what only a run knows."""
    reads = {n for node in nodes for n in below(node) if isinstance(n, Get) and v in n.free}
    return sum(v in i.free and not is_affine(i) for n in reads for i in n.index)


def _repeats(c: Closing, entry: Node, value: Node) -> bool:
    """Whether a maximum starts from its first term."""
    return alike(Substitution({c.v: ZERO}).node(value), entry)


def _peeled(
    c: Closing, entry: Node, value: Node, guards: tuple[Node, ...]
) -> tuple[Sym, Node, tuple[Node, ...]] | None:
    """The loop with one iteration more at its front, where `entry` is what it would add there."""
    if c.v not in value.free or len(guards) > (c.guard is not TRUE) or c.v.extent is None:
        return None
    if constant(entry) is not None or not at_least_zero(c.trip, c.known):
        return None  # a negative count would leave out the first term too
    first = supposed({c.v: integer(-1)}, value)
    if not first or not alike(first[0], entry):
        return None
    longer = Sym(c.v.name, c.v.extent + 1)
    moved = supposed({c.v: plus(longer, -1)}, value, *guards)
    return None if moved is None else (longer, moved[0], tuple(g for g in moved[1:] if g is not TRUE))
