"""The door to loops: every statement that repeats becomes a counted loop, and a counted loop a nest or a block.

A `While` that counts is a `Repeat`; a loop that is no nest, outermost and of known length, is a block. Of two such
loops, one inside the other, one is written out, both if they are short; a loop of one iteration always is. An attempt
that fails is undone from the journal. Within another loop, a short recurrence of numbers is taken step by
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spatial.lift.algebra.arith import extreme
from spatial.lift.algebra.bounds import bounds, is_affine
from spatial.lift.algebra.values import Node, Op, combine, int_constant, integer, parts, plus, scale
from spatial.lift.context.accesses import rangeless
from spatial.lift.context.loops import WRITTEN_OUT, Loop, Runner, bound_names, steps_of, take_steps, write_out
from spatial.lift.context.state import Cell, NotLifted, Scope
from spatial.lift.context.trips import last_break, leading_breaks, trips
from spatial.lift.execution.blocks import run_block
from spatial.lift.execution.nests import run_nest
from spatial.lift.execution.partly import block_tells, run_surveyed
from spatial.logos import syntax


def run_repeat(ex: Runner, s: syntax.RepeatRange, scope: Scope) -> None:
    """`Repeat for i from first to last`."""
    first, last = ex.eval.index(s.first, scope), ex.eval.index(s.last, scope)
    body: Sequence[syntax.Stmt] = s.body
    moving = _moving_start(first) if _moving_start(scale(last, -1)) is not None else None
    if moving is not None and not ex.m.changes.lengthened(s.body):
        # A window drawn in at both ends: as it runs over the whole of it, but for what is drawn in.
        body = ex.m.guarded.setdefault(id(s), (s, _from_start(s)))[1]
        scope = Scope({_START: Cell(_START, first)}, scope)
        first = moving
    loop = Loop(s.var, plus(combine(last, first, -1), 1), first, None, body, s.span)
    _run(ex, _ended(ex, loop, scope), scope)


_START = "the start of a loop"
"""A name that no program has."""


def _from_start(s: syntax.RepeatRange) -> tuple[syntax.Stmt, ...]:
    """The body of a loop, done from its start on."""
    late = syntax.Binary(">=", syntax.Name(s.var, s.span), syntax.Name(_START, s.span), s.span)
    return (syntax.If(((late, s.body),), (), s.span),)


def _moving_start(first: Node) -> Node | None:
    """Where a loop that starts at the greater of a constant and of what loops around it move would start without the
    constant; a limit, negated, likewise."""
    const, terms = parts(first)
    match terms:
        case ((Op(fn="max", args=(a, b)), 1),) | ((Op(fn="min", args=(a, b)), -1),):
            sign = terms[0][1]
            moving = [n for n in (a, b) if int_constant(n) is None]
            if len(moving) == 1 and is_affine(moving[0]):
                return plus(scale(moving[0], sign), const)
        case _:
            pass
    return None


def run_repeat_in(ex: Runner, s: syntax.RepeatIn, scope: Scope) -> None:
    """`Repeat for x in xs`."""
    items = ex.eval.sequence(s.collection, scope)
    items = items if items.whole else ex.m.settled(items, s.span)
    _run(ex, _ended(ex, Loop(s.var, ex.m.length(items, s.span), None, items, s.body, s.span), scope), scope)


def run_while(ex: Runner, s: syntax.While, scope: Scope) -> None:
    """A `While` whose condition compares counters that every iteration moves by constants."""
    going, body = leading_breaks(s.body)
    found = trips(ex, [s.condition, *going], body, scope, {})
    if found is None and _never_ends(s):
        raise NotLifted(
            "this loop never ends: its condition always holds, and nothing in it leaves it",
            "give it a condition that fails, or a Break at the top of its body",
            s.span,
        )
    if found is None and (changed := ex.m.changes.assigned_in(s.condition)):
        raise NotLifted(
            f'the condition of this While changes "{changed[0]}" every time it is asked',
            "change it in the body, and compare counters in the condition",
            s.span,
        )
    if found is None and isinstance(s.condition, syntax.BoolLiteral) and not going:
        raise NotLifted(
            "this loop ends by a test that stands after other statements of its body",
            "put the test first: `If i > n: Break.` at the top, or `While i is at most n`",
            s.span,
        )
    if found is None:
        raise NotLifted(
            "how often this While runs depends on values that are computed",
            "count with Repeat, or compare a counter that grows by a constant with a fixed bound",
            s.span,
        )
    _run(ex, Loop("", found, None, None, body, s.span), scope)


def _never_ends(s: syntax.While) -> bool:
    """Whether nothing would end a loop: it always goes on, and no statement of it leaves it."""
    leaves = any(isinstance(inner, syntax.Break | syntax.Return) for inner in syntax.statements(tuple(s.body)))
    return isinstance(s.condition, syntax.BoolLiteral) and bool(s.condition.value) and not leaves


def _ended(ex: Runner, loop: Loop, scope: Scope) -> Loop:
    """A loop that breaks off first or last in its body once a counter has come so far, as one that runs so often."""
    going, body = leading_breaks(loop.body)
    own = {loop.name: loop.first} if loop.first is not None else {}
    found = trips(ex, going, body, scope, own) if going and (own or loop.name not in _names(going)) else None
    if found is not None:
        loop = replace(loop, trip=extreme("min", loop.trip, found), body=body)
    changed = {*ex.m.changes.assigned_names(loop.body), *bound_names(loop.body)}
    last = last_break(loop.body, loop.name, changed) if own else None
    found = trips(ex, [last], loop.body[:-1], scope, own) if last is not None else None
    if found is not None:  # the iteration that breaks off is done
        done = plus(extreme("max", found, integer(0)), 1)
        loop = replace(loop, trip=extreme("min", loop.trip, done), body=loop.body[:-1])
    return loop


def _names(conditions: Sequence[syntax.Expr]) -> set[str]:
    return {n.name for e in conditions for n in syntax.walk(e) if isinstance(n, syntax.Name)}


def _run(ex: Runner, loop: Loop, scope: Scope) -> None:
    """Runs a loop, if it runs at all."""
    m = ex.m
    high = bounds(loop.trip)[1]
    if high is not None and high <= 0:
        return
    if int_constant(loop.trip) == 1:
        m.single += 1
        try:
            write_out(ex, loop, scope, 1)
        finally:
            m.single -= 1
        return
    if high is None:
        if not m.discovering:
            names = " and ".join(f'"{name}"' for name in rangeless(loop.trip)) or "the input its bound comes from"
            mend = "bound it with min" if m.facts.open_inputs else f"declare the range of {names}"
            raise NotLifted("how often this loop runs has no known limit", mend, loop.span)
        m.unsure = True
        high = 1 << 20
    if m.survey is None:
        _choose(ex, loop, scope, high)
    elif m.nest_depth or m.block_depth or not _lifts(ex, loop, scope, high):
        run_surveyed(ex, loop, scope, high)


def _lifts(ex: Runner, loop: Loop, scope: Scope, high: int) -> bool:
    """In a survey: runs an outermost loop if it lifts whole."""
    m = ex.m
    mark, survey = m.mark(), m.survey
    m.survey = None
    try:
        _choose(ex, loop, scope, high)
    except NotLifted:
        m.undo(mark)
        return False
    finally:
        m.survey = survey
    return True


def _choose(ex: Runner, loop: Loop, scope: Scope, high: int) -> None:
    """Runs a loop of at most `high` iterations as a nest, else as a block or written out."""
    m = ex.m
    if m.nest_depth:
        _run_within(ex, loop, scope, high)
        return
    mark = m.mark()
    try:
        _run_within(ex, loop, scope, high)
    except NotLifted as problem:
        if problem.final or problem.silent:
            raise
        m.undo(mark)
        trip = int_constant(loop.trip)
        if trip is None:
            raise
        within = _within(ex, loop, scope, trip, problem) if m.written_out or m.block_depth else 1
        if m.written_out and (trip <= WRITTEN_OUT or m.block_depth):
            write_out(ex, loop, scope, trip)
        elif m.block_depth:
            problem.within = trip * within
            raise
        else:
            _run_blocks(ex, loop, scope, trip, problem)


def _run_within(ex: Runner, loop: Loop, scope: Scope, high: int) -> None:
    """Runs a loop as a nest, or step by step where it is a short recurrence of numbers in another loop."""
    mark = ex.m.mark()
    try:
        run_nest(ex, loop, scope, high)
    except NotLifted as problem:
        steps = steps_of(ex, loop, problem)
        if not steps:
            raise
        ex.m.undo(mark)
        try:
            take_steps(ex, loop, scope, steps)
        except NotLifted as other:
            raise (other if other.final or other.number is not None else problem) from None


def _within(ex: Runner, loop: Loop, scope: Scope, trip: int, problem: NotLifted) -> int:
    """How many iterations of blocks there are in one of a loop that would be a block itself; refuses another."""
    mark = ex.m.mark()
    try:
        run_block(ex, loop, scope, trip)
    except NotLifted as other:
        if not other.within:
            raise (other if block_tells(problem, other) else problem) from None
        return other.within
    finally:
        ex.m.undo(mark)
    return 1


def _run_blocks(ex: Runner, loop: Loop, scope: Scope, trip: int, problem: NotLifted) -> None:
    """Runs a loop as a block; one around a loop that would be a block itself (`within`) written out, or over that."""
    m = ex.m
    mark = m.mark()
    try:
        run_block(ex, loop, scope, trip)
    except NotLifted as other:
        within = other.within
        if not within:
            raise (other if block_tells(problem, other) else problem) from None
        m.undo(mark)
    else:
        return
    # Folding finds the layers again among few of them; among many, only the shorter of the two loops is written out.
    inner = trip * within <= WRITTEN_OUT or within <= trip
    m.written_out += inner
    try:
        if inner and trip * within > WRITTEN_OUT:
            run_block(ex, loop, scope, trip)
        else:
            write_out(ex, loop, scope, trip)
    finally:
        m.written_out -= inner
