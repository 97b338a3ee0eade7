"""The schedule's judge against a slow one that shares nothing with it, and its advice."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from check.mutants import TARGETS, mutants, read, texts
from check.naive import completes
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.check import check_program
from spatial.check.schedule import check_schedule
from spatial.check.verdict import Log
from spatial.ir.body import Body, Loop, Step

BODIES = [(f"{name}, body {n}", body) for name in sorted(texts()) for n, body in enumerate(read(name).bodies)]


def judged(body: Body) -> bool:
    log = Log()
    check_schedule(body, REFERENCE, "body", log)
    assert not log.unsupported
    return not log.failures


@pytest.mark.parametrize("body", [b for _, b in BODIES], ids=[n for n, _ in BODIES])
def test_accepted_bodies_complete_in_any_interleaving(body: Body):
    assert all(completes(body, seed) for seed in range(2))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_capacities_are_enough_exactly_where_a_run_completes(data: st.DataObject):
    body = data.draw(st.sampled_from([b for _, b in BODIES]))
    queues = tuple(replace(q, cap=data.draw(st.integers(1, q.cap + 1))) for q in body.queues)
    body = replace(body, queues=queues)
    assert judged(body) == completes(body, data.draw(st.integers(0, 1000)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_orders_are_live_exactly_where_a_run_completes(data: st.DataObject):
    """Engines' orders shuffled at one level, or a loop of steps made one step."""
    body = data.draw(st.sampled_from([b for _, b in BODIES]))
    engines = tuple(replace(e, order=_shuffled(e.order, data)) for e in body.engines)
    body = replace(body, engines=engines)
    assert judged(body) == completes(body, data.draw(st.integers(0, 1000)))


def _shuffled(order: tuple[Loop | Step, ...], data: st.DataObject) -> tuple[Loop | Step, ...]:
    inner = tuple(s if isinstance(s, Step) else Loop(s.count, _shuffled(s.body, data)) for s in order)
    return tuple(data.draw(st.permutations(inner)))


def outcome(body: Body, seed: int) -> bool:
    """Whether the slow judge sees the body complete; an order that does not fit its iterations is none."""
    try:
        return completes(body, seed)
    except ValueError:
        return False


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_steps_of_any_depth_mean_the_same_to_both(data: st.DataObject):
    """A step completes the iteration at its depth that is under way, with the ends that fall due."""
    body = read("product").bodies[0]
    step = st.builds(Step, st.just("mm"), st.integers(-1, 1))
    order = st.recursive(
        step, lambda s: st.builds(Loop, st.integers(1, 4), st.lists(s, min_size=1, max_size=3).map(tuple))
    )
    mine = data.draw(st.lists(order, min_size=1, max_size=4).map(tuple))
    body = replace(body, engines=(*body.engines[:2], replace(body.engines[2], order=mine)))
    assert judged(body) == outcome(body, 0)


def test_an_iteration_may_be_finished_at_a_lesser_depth():
    body = read("product").bodies[0]
    for order in (
        (Step("mm", 1), Step("mm", 0), Loop(3, (Step("mm", 0),))),
        (Loop(2, (Step("mm", 1),)), Step("mm", -1)),
        (Loop(11, (Step("mm", 1),)), Step("mm", 0)),
    ):
        stepped = replace(body, engines=(*body.engines[:2], replace(body.engines[2], order=order)))
        assert judged(stepped) and completes(stepped, 3)


def test_the_least_capacity_is_named():
    mutant = next(m for m in mutants() if m.name == "a capacity below need")
    (failure,) = check_program(mutant.program(), TARGETS[mutant.target]).failures
    assert "weights" in failure.witness and "waits for room in qs (capacity 1)" in failure.witness
    assert failure.mend == "a capacity of 2 pages of qs would suffice"


def test_an_order_no_capacity_mends_is_said_to_be_one():
    mutant = next(m for m in mutants() if m.name == "an engine order swapped")
    (failure,) = check_program(mutant.program(), TARGETS[mutant.target]).failures
    assert re.search("no capacity of one queue", failure.mend)


def long_body(turns: int, steps: int) -> Body:
    """The product of the corpus, with many more turns and pages of K."""
    body = read("product").bodies[0]
    stages = tuple(replace(s, loops=(steps,)) if s.loops else s for s in body.stages)
    engines = (
        body.engines[0],
        replace(body.engines[1], order=(Loop(turns, (Loop(steps, (Step("load_b", 1),)), Step("store_c", 0))),)),
        replace(body.engines[2], order=(Loop(turns, (Loop(steps, (Step("mm", 1),)),)),)),
    )
    items = replace(body.items, grid=(2, turns), trips=(2, turns // 2))
    return replace(body, stages=stages, engines=engines, items=items)


def test_a_million_events_are_judged_by_their_period():
    body = long_body(400, 1000)
    live, calls = effort(lambda: judged(body))
    assert live
    assert calls < 400 * 1000
    short = tuple(replace(q, cap=1) for q in body.queues)
    assert judged(replace(body, queues=short))
