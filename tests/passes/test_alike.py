"""A run on counts of one site of each class finds what a run of all sites finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import STATEMENTS
from graphs import Drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan.priced_and_timed import product
from plan.templates import measures_of, sampled, template_of, under
from running import SMALL
from support import REFERENCE

from spatial.errors import Refused
from spatial.ir.body import Body, Rect
from spatial.passes import schedule
from spatial.passes.alike import Alike, alike


def found(body: Body, classes: Alike) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Whether a run of one turn ends, who waits for which queue, and which are full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "alike", lambda _: classes)
        stuck = schedule.run(*schedule.one_turn(body))
    if stuck is None:
        return True, frozenset(), frozenset()
    return False, frozenset(f"{engine} {stage} {queue}" for _, engine, stage, queue in stuck.waits), stuck.full


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    STATEMENTS | st.sampled_from((product((96, 64, 128), "bf16"), product((70, 96, 90), "q8_0"))),
    st.sampled_from((REFERENCE, SMALL)),
    st.integers(0, 999),
)
def test_classes_stand_for_all_sites(case: Drawn, target, seed: int):
    try:
        template = template_of(case, target)
        _, plans = sampled(measures_of(template, target), seed, 2)
        bodies = [under(template, plan, target) for plan in plans]
    except Refused:
        assume(False)
        raise
    rng = np.random.default_rng(seed)
    for body in bodies:
        w, h = body.rect
        every = Alike(tuple(range(w)), tuple(range(h)))
        assert found(body, alike(body)) == found(body, every) == (True, frozenset(), frozenset())
        # With less room than it needs it blocks: at the same queues.
        few = replace(body, queues=tuple(replace(q, cap=int(rng.integers(1, q.cap + 1))) for q in body.queues))
        assert found(few, alike(few)) == found(few, every)


def test_a_multicast_from_a_column_has_senders_and_receivers():
    template = template_of(product((96, 64, 128), "bf16"), REFERENCE)
    plans = sampled(measures_of(template, REFERENCE), 0, 400)[1]
    cast = next(p for p in plans if p.multicast and p.rect[0] > 2 and p.rect[1] > 2)
    body = under(template, cast, REFERENCE)
    groups = {s.group for s in body.stages if s.kind == "multicast"}
    classes = alike(body)
    assert classes.columns == ((0, 1) if any(w > 1 for w, _ in groups) else (0,))
    assert classes.rows == ((0, 1) if any(h > 1 for _, h in groups) else (0,))


def test_senders_apart_and_stages_on_parts_are_told_apart():
    template = template_of(product((96, 64, 128), "bf16"), REFERENCE)

    def on(rect: Rect, **changes: object) -> Alike:
        return alike(replace(template, rect=(6, 3), stages=(replace(template.stages[0], on=rect, **changes),)))

    assert on(Rect(0, 0, 6, 3)) == Alike((0,), (0,))
    assert on(Rect(1, 1, 2, 1)) == Alike((0, 1, 3), (0, 1, 2))
    assert on(Rect(0, 0, 1, 3), kind="multicast", group=(6, 1)) == Alike((0, 1), (0,))
    assert on(Rect(0, 0, 2, 1), kind="scatter", group=(2, 3)) == Alike((0, 1, 2, 3), (0, 1))
    assert on(Rect(2, 0, 1, 1), kind="multicast", group=(2, 1)) == Alike((0, 2, 3, 4), (0, 1))
