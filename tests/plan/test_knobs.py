"""Knobs that are held: they narrow the search, are named where nothing fits, and never let through what does not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawing import STATEMENTS
from graphs import Drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan.priced_and_timed import product
from plan.templates import template_of, under
from running import SMALL
from support import REFERENCE, TF32

from spatial.errors import DoesNotFit, Refused, UsageError
from spatial.plan.constraints import legal
from spatial.plan.knobs import ANY, Knobs, allowed, away, knobs_of, knobs_of_plan
from spatial.plan.model import model_of
from spatial.plan.search import choose, legal_plans
from spatial.target import Target

WORDS = ("i0=3", "l1=4", "rect=4x2", "rect=7x5", "buffers=1", "multicast=none", "multicast=load_x1+load_x0")
PRODUCT = product((96, 256, 320), "bf16")


def held(words: str) -> Knobs:
    return knobs_of(words.split())


@pytest.mark.parametrize(
    "words", [*WORDS, "i0=3 rect=4x2 multicast=none scatter=none resident=none buffers=2 packing=apart"]
)
def test_words_are_read_as_they_are_written(words: str):
    assert held(str(held(words))) == held(words) != ANY
    assert [str(knob) for knob in held(words).each()] == str(held(words)).split()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rect", "holds no knob"),
        ("rect=8", "a width and a height"),
        ("rect=0x4", "a number from 1 on"),
        ("l1=x", "a number from 1 on"),
        ("buffer=1", 'did you mean "buffers"'),
        ("i0=1 i0=2", "held twice"),
        ("packing=loose", "apart or split"),
    ],
)
def test_words_that_hold_nothing_are_told(words: str, told: str):
    with pytest.raises(UsageError, match=told):
        held(words)


@pytest.mark.parametrize("words", WORDS)
def test_a_plan_has_what_is_held_and_is_verified(words: str):
    template, want = template_of(PRODUCT, REFERENCE), held(words)
    plan = choose(template, REFERENCE, want).plan
    has = knobs_of_plan(plan)
    for knob in want.each():
        for name in ("rect", "multicast", "resident", "buffers"):
            assert getattr(knob, name) in (None, getattr(has, name))
        assert set(knob.block) <= set(has.block)
    assert under(template, plan, REFERENCE).phase == "verified"


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(STATEMENTS, st.sampled_from((REFERENCE, TF32, SMALL)))
def test_a_plan_held_to_itself_is_chosen_again(case: Drawn, target: Target):
    try:
        template = template_of(case, target)
        plan = choose(template, target).plan
    except Refused:
        assume(False)
        raise
    assert choose(template, target, knobs_of_plan(plan)).plan == plan


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("l1=3", r"l1 cannot be blocked by 3; its 8 iterations can be blocked by 1, 2, 4 or 8"),
        ("i7=2", r"i7=2 blocks nothing; the section has i0, i1 or l1"),
        ("multicast=load_y", r"multicast=load_y names no load; the section has load_x0 or load_x1"),
        ("rect=9x8", r"rect=9x8 is larger than the chip; it has 8 x 8 sites"),
        ("buffers=3", r"buffers=3 is more than any plan has"),
    ],
)
def test_what_the_section_or_the_chip_does_not_have_is_told_with_what_it_has(words: str, told: str):
    with pytest.raises(Refused, match=told):
        choose(template_of(PRODUCT, REFERENCE), REFERENCE, held(words))


def refused(words: str, target: Target, case: Drawn = PRODUCT) -> tuple[str, Knobs]:
    """What is told where nothing fits, and the plan that is named as the nearest that does."""
    with pytest.raises(DoesNotFit) as caught:
        choose(template_of(case, target), target, held(words))
    text = str(caught.value)
    return text, held(text.rpartition("the nearest plan that fits: ")[2].splitlines()[0])


def test_one_tile_over_lists_the_buffers_their_sum_and_a_plan_that_compiles():
    tight = replace(REFERENCE, scratch=60_000)
    text, near = refused("i0=3 i1=5 l1=8 rect=1x1", tight)
    need = int(re.search(r"scratch needs (\d+) bytes a site, the chip has 60000", text)[1])
    assert sum(int(n) * int(size) for n, size in re.findall(r"\): (\d+) x (\d+)", text)) == need > tight.scratch
    assert "with i0=3 i1=5 l1=8 rect=1x1 fits" in text
    template = template_of(PRODUCT, tight)
    plan = choose(template, tight, near).plan
    assert knobs_of_plan(plan) == near
    assert under(template, plan, tight).phase == "verified"
    # It gives up as few knobs as any plan does.
    every = legal_plans(model_of(template, tight), tight)
    broken = sum(away(every, knob) > 0 for knob in held("i0=3 i1=5 l1=8 rect=1x1").each())
    assert sum(away(every.take(allowed(every, near)), k) > 0 for k in held("i0=3 i1=5 l1=8 rect=1x1").each()).min() == (
        np.min(broken)
    )


def test_knobs_that_do_not_go_together_are_told_so():
    text, near = refused("multicast=load_x0 rect=1x1", REFERENCE)
    assert "has no plan with rect=1x1 multicast=load_x0" in text
    assert (near.rect, near.multicast) in (((1, 1), frozenset()), (near.rect, frozenset({"load_x0"})))


def test_a_rectangle_that_leaves_sites_idle_is_kept_where_it_is_held():
    template = template_of(product((32, 64, 96), "bf16"), REFERENCE)
    plan = choose(template, REFERENCE, held("rect=7x5")).plan
    assert plan.rect == (7, 5)
    assert under(template, plan, REFERENCE).phase == "verified"


def test_a_knob_lets_nothing_illegal_through():
    template = template_of(PRODUCT, SMALL)
    for words in WORDS[:3]:
        found = legal_plans(model_of(template, SMALL), SMALL, held(words.replace("4x2", "2x2")))
        assert legal(found).all() and allowed(found, held(words.replace("4x2", "2x2"))).all()
