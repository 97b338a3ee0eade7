"""The door to loops: every statement that repeats becomes a counted loop, and a counted loop a nest or a block.

A `While` that counts is a `Repeat`; a loop that is no nest, outermost and of known length, is a block. An attempt
that fails is undone from the journal.
"""

from __future__ import annotations

from spatial.lift.blocks import run_block
from spatial.lift.bounds import bounds
from spatial.lift.changes import assigned_names
from spatial.lift.loops import Loop, Runner, counter_step
from spatial.lift.machine import rangeless
from spatial.lift.nests import run_nest
from spatial.lift.partly import block_tells, run_surveyed
from spatial.lift.state import NotLifted, Scope
from spatial.lift.values import Node, combine, int_constant, integer, plus
from spatial.logos import syntax


def run_repeat(ex: Runner, s: syntax.RepeatRange, scope: Scope) -> None:
    """`Repeat for i from first to last`."""
    first, last = ex.eval.index(s.first, scope), ex.eval.index(s.last, scope)
    _run(ex, Loop(s.var, plus(combine(last, first, -1), 1), first, None, s.body, s.span), scope)


def run_repeat_in(ex: Runner, s: syntax.RepeatIn, scope: Scope) -> None:
    """`Repeat for x in xs`."""
    items = ex.m.settled(ex.eval.sequence(s.collection, scope), s.span)
    _run(ex, Loop(s.var, ex.m.length(items, s.span), None, items, s.body, s.span), scope)


def run_while(ex: Runner, s: syntax.While, scope: Scope) -> None:
    """A `While` whose condition compares a counter that every iteration moves by a constant."""
    found = _counter(ex, s, scope)
    if found is None:
        raise NotLifted(
            "how often this While runs depends on values that are computed",
            "count with Repeat, or compare a counter that grows by a constant with a fixed bound",
            s.span,
        )
    _run(ex, Loop("", found, None, None, s.body, s.span), scope)


def _counter(ex: Runner, s: syntax.While, scope: Scope) -> Node | None:
    """The trip count of a counting While."""
    c, negated = s.condition, False
    while isinstance(c, syntax.Not):
        c, negated = c.operand, not negated
    if not isinstance(c, syntax.Binary) or c.op not in _MIRROR:
        return None
    said = _NEGATED[c.op] if negated else c.op
    assigned = assigned_names(s.body, ex.m.program)
    for name, bound, op in ((c.left, c.right, said), (c.right, c.left, _MIRROR[said])):
        if not isinstance(name, syntax.Name) or name.name not in assigned:
            continue
        if any(isinstance(n, syntax.Name) and n.name in assigned for n in syntax.walk(bound)):
            continue
        step = counter_step(ex, s.body, name.name, scope)
        if step is None or (step > 0) != (op in ("<", "<=")):
            continue
        start, end = ex.eval.index(name, scope), ex.eval.index(bound, scope)
        room = combine(end, start, -1) if step > 0 else combine(start, end, -1)
        if op in ("<", ">"):
            room = plus(room, -1)
        n = int_constant(room)
        if n is not None:
            return integer(max(n // abs(step) + 1, 0))
        if abs(step) == 1:
            return plus(room, 1)
    return None


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _run(ex: Runner, loop: Loop, scope: Scope) -> None:
    """Runs a loop as a nest, else as a block."""
    m = ex.m
    high = bounds(loop.trip)[1]
    if high is not None and high <= 0:
        return
    if high is None:
        if not m.discovering:
            names = " and ".join(f'"{name}"' for name in rangeless(loop.trip)) or "the input its bound comes from"
            mend = "bound it with min" if m.facts.open_inputs else f"declare the range of {names}"
            raise NotLifted("how often this loop runs has no known limit", mend, loop.span)
        high = 1 << 20
    if m.survey is not None:
        run_surveyed(ex, loop, scope, high)
        return
    if m.nest_depth:
        run_nest(ex, loop, scope, high)
        return
    mark = m.mark()
    try:
        run_nest(ex, loop, scope, high)
    except NotLifted as problem:
        if problem.final or problem.silent:
            raise
        m.undo(mark)
        trip = int_constant(loop.trip)
        if trip is None or m.block_depth:
            raise
        try:
            run_block(ex, loop, scope, trip)
        except NotLifted as other:
            raise (other if block_tells(problem, other) else problem) from None
