"""The door to loops: every statement that repeats becomes a counted loop, and a counted loop a nest or a block.

A `While` that counts is a `Repeat`; a loop that is no nest, outermost and of known length, is a block. An attempt
that fails is undone from the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spatial.lift.arith import extreme
from spatial.lift.blocks import run_block
from spatial.lift.bounds import bounds
from spatial.lift.loops import Loop, Runner
from spatial.lift.machine import rangeless
from spatial.lift.nests import run_nest
from spatial.lift.partly import block_tells, run_surveyed
from spatial.lift.state import NotLifted, Scope
from spatial.lift.trips import leading_breaks, trips
from spatial.lift.values import combine, int_constant, plus
from spatial.logos import syntax


def run_repeat(ex: Runner, s: syntax.RepeatRange, scope: Scope) -> None:
    """`Repeat for i from first to last`."""
    first, last = ex.eval.index(s.first, scope), ex.eval.index(s.last, scope)
    loop = Loop(s.var, plus(combine(last, first, -1), 1), first, None, s.body, s.span)
    _run(ex, _ended(ex, loop, scope), scope)


def run_repeat_in(ex: Runner, s: syntax.RepeatIn, scope: Scope) -> None:
    """`Repeat for x in xs`."""
    items = ex.m.settled(ex.eval.sequence(s.collection, scope), s.span)
    _run(ex, _ended(ex, Loop(s.var, ex.m.length(items, s.span), None, items, s.body, s.span), scope), scope)


def run_while(ex: Runner, s: syntax.While, scope: Scope) -> None:
    """A `While` whose condition compares counters that every iteration moves by constants."""
    going, body = leading_breaks(s.body)
    found = trips(ex, [s.condition, *going], body, scope, {})
    if found is None:
        raise NotLifted(
            "how often this While runs depends on values that are computed",
            "count with Repeat, or compare a counter that grows by a constant with a fixed bound",
            s.span,
        )
    _run(ex, Loop("", found, None, None, body, s.span), scope)


def _ended(ex: Runner, loop: Loop, scope: Scope) -> Loop:
    """A loop that breaks off at the top of its body once a counter has come so far, as one that runs so often."""
    going, body = leading_breaks(loop.body)
    own = {loop.name: loop.first} if loop.first is not None else {}
    found = trips(ex, going, body, scope, own) if going and (own or loop.name not in _names(going)) else None
    return loop if found is None else replace(loop, trip=extreme("min", loop.trip, found), body=body)


def _names(conditions: Sequence[syntax.Expr]) -> set[str]:
    return {n.name for e in conditions for n in syntax.walk(e) if isinstance(n, syntax.Name)}


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
