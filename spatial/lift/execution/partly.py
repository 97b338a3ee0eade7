"""A loop in a survey: it is run until what its refused statements take from it is known, and closed without that.

A variable that a refused statement changes is nobody's to read from the loop's beginning on: an earlier iteration may
have changed it. So the loop runs again without it, until no more variables are lost. Where a loop might be a nest or a
block, the reading under which fewer statements are refused is told.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from spatial.lift.algebra.values import int_constant
from spatial.lift.context.loops import Loop, Runner, assigned_cells, steps_of, take_steps, write_out
from spatial.lift.context.machine import Mark
from spatial.lift.context.state import Cell, NotLifted, Poison, Scope
from spatial.lift.context.survey import Lost, Noted, Survey
from spatial.lift.execution.blocks import run_block
from spatial.lift.execution.nests import run_nest


def run_surveyed(ex: Runner, loop: Loop, scope: Scope, extent: int) -> None:
    """Runs a loop of at most `extent` iterations as the nest or the block it is, or is but for what is noted of it."""
    m, survey = ex.m, ex.m.survey
    assert survey is not None
    mark, count = m.mark(), len(survey.noted)

    def nest() -> None:
        run_nest(ex, loop, scope, extent)

    _settle(ex, survey, loop, scope, nest)
    as_nest = _roots(survey.since(count))
    trip = int_constant(loop.trip)
    steps = max((steps_of(ex, loop, n.problem) for n in as_nest), default=0)
    if steps:
        m.undo(mark)
        survey.restore(count)
        _settle(ex, survey, loop, scope, lambda: take_steps(ex, loop, scope, steps))
        return
    if not as_nest or trip is None or m.nest_depth:
        return
    m.undo(mark)
    survey.restore(count)
    _settle(ex, survey, loop, scope, lambda: run_block(ex, loop, scope, trip))
    as_block = _roots(survey.since(count))
    if m.block_depth:
        again = nest if as_block else lambda: write_out(ex, loop, scope, trip)
    elif {n.span for n in as_block} < {n.span for n in as_nest} or (
        len(as_block) <= len(as_nest) and block_tells(as_nest[0].problem, as_block[0].problem)
    ):
        return
    else:
        again = nest
    m.undo(mark)
    survey.restore(count)
    _settle(ex, survey, loop, scope, again)


def block_tells(nest: NotLifted, block: NotLifted) -> bool:
    """Whether what keeps a loop from being a block says more than what keeps it from being a nest.

    Where the loop could be a block but for one statement of it, that statement is what to mend. An index that only the
    block finds out of range is into what the loop makes: what carries the loop says more.
    """
    return nest.carried and block.kind != "compose" and not block.final


def _roots(noted: Sequence[Noted]) -> list[Noted]:
    return [n for n in noted if n.root]


def _settle(ex: Runner, survey: Survey, loop: Loop, scope: Scope, run: Callable[[], None]) -> None:
    """Runs a loop again and again, each time without the variables that the run before found lost."""
    m = ex.m
    taken = {c: c.value for c in assigned_cells(loop, ex, scope) if isinstance(c.value, Poison)}
    lost = Poison(at=loop.span)
    while True:
        mark, left = m.mark(), survey.left
        for cell, poison in taken.items():
            m.assign(cell, poison)
        more: list[tuple[Cell, Poison]] = []
        try:
            run()
        except Lost as found:
            more = [(c, c.value) for c in found.cells if isinstance(c.value, Poison)]
        except NotLifted as problem:
            if survey.wanted(problem):
                raise
            if not problem.silent:
                more = _told(ex, survey, loop, scope, problem, taken)
            if not more:
                _abandon(ex, loop, scope, mark, lost)
                return
        if survey.left > left:
            _abandon(ex, loop, scope, mark, lost)
            return
        if not more:
            break
        m.undo(mark)
        taken.update(more)
    for cell, poison in taken.items():
        m.assign(cell, poison)  # an iteration may have set it: of what it is after the loop nothing is known


def _told(
    ex: Runner, survey: Survey, loop: Loop, scope: Scope, problem: NotLifted, taken: Container[Cell]
) -> list[tuple[Cell, Poison]]:
    """Notes the refusals of a loop; the variables they take from it, with the places where each is lost."""
    at: dict[str, Poison] = {}
    for p in (problem, *problem.beside):
        p.at(loop.span)
        survey.note(p, p.span or loop.span)
        at.setdefault(p.binder, Poison(at=p.span or loop.span))
    return [(c, at[c.name]) for c in assigned_cells(loop, ex, scope) if c.name in at and c not in taken]


def _abandon(ex: Runner, loop: Loop, scope: Scope, mark: Mark, lost: Poison) -> None:
    """Nothing the loop changes is known after it."""
    ex.m.undo(mark)
    for cell in assigned_cells(loop, ex, scope):
        ex.m.assign(cell, lost)
