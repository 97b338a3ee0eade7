"""The search finds the plan that is best when every legal one is priced by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from drawing import STATEMENTS
from graphs import Drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan.exhaustive import winner
from plan.one_plan import One
from plan.priced_and_timed import product
from plan.templates import template_of
from running import SMALL
from support import REFERENCE, TF32

from spatial.build.targets import load_target
from spatial.errors import DoesNotFit, Refused
from spatial.ir.body import Body, Plan
from spatial.plan.knobs import ANY, Knobs, knobs_of
from spatial.plan.model import model_of
from spatial.plan.search import choose
from spatial.target import Target

SHIPPED = Path(__file__).resolve().parents[2] / "targets"
SHAPES = ((1, 64, 96), (1, 576, 192), (32, 192, 64), (7, 512, 128), (96, 128, 96))
TARGETS = ("wormhole-n150", "blackhole-p150", "reference", "xdna2", "h100")
BESIDE = ((1, 64, 1024), (1, 512, 1536), (32, 128, 1536), (7, 64, 2048), (1, 64, 5120))
"""Shapes of tables dealt by width, of which some plan has readers beside the banks."""
CASES = [(name, shape, stored) for name in TARGETS for shape in SHAPES for stored in ("bf16", "q8_0")]
CASES += [("wormhole-n150", shape, "q8_0") for shape in BESIDE]


def same(plan: Plan, one: One) -> bool:
    """Whether a plan is what a candidate stands for."""
    model = one.model
    a, b = one.along
    spread = {-1: ()}.get(a, ((a, "xy"),) if a == b else ((a, "x"), (b, "y")))
    return plan == replace(
        plan,
        block=tuple((model.coordinates[k].name, f) for k, f in one.blocking if f > 1),
        rect=one.rect,
        spread=spread,
        multicast=tuple(x.stage for x in model.loads if one.cast(x)),
        scatter=tuple((x.stage, one.members(x)) for x in model.loads if one.members(x)),
        resident=tuple(x.stage for x in model.loads if one.stays(x)),
        depth=tuple((s.queue, one.buffers) for s in model.streams),
    )


HELD = ("buffers=1", "multicast=none", "rect=3x2", "resident=none rect=4x2", "l1=2", "i0=2 buffers=2", "rect=1x1")


def held_to_all(template: Body, target: Target, want: Knobs = ANY) -> None:
    plan = choose(template, target, want).plan
    one, cycles, _ = winner(model_of(template, target), target, want)
    assert same(plan, one), (plan, one)
    assert plan.cycles == pytest.approx(cycles, rel=1e-9, abs=2e-3)


def test_there_are_enough_cases():
    assert len(CASES) >= 50


@pytest.mark.parametrize(("name", "shape", "stored"), CASES)
def test_the_winner_of_a_product_is_that_of_pricing_all(name: str, shape: tuple[int, int, int], stored: str):
    target = load_target(SHIPPED / f"{name}.yaml")
    held_to_all(template_of(product(shape, stored), target), target)


@pytest.mark.parametrize("words", HELD)
@pytest.mark.parametrize("name", TARGETS)
def test_the_winner_with_knobs_held_is_that_of_pricing_all_that_have_them(name: str, words: str):
    target = load_target(SHIPPED / f"{name}.yaml")
    shape, stored = ((64, 128, 192), "bf16") if TARGETS.index(name) % 2 else ((1, 512, 256), "q8_0")
    held_to_all(template_of(product(shape, stored), target), target, knobs_of(words.split()))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(STATEMENTS, st.sampled_from((REFERENCE, TF32, SMALL)))
def test_the_winner_of_any_statement_is_that_of_pricing_all(case: Drawn, target: Target):
    try:
        template = template_of(case, target)
        choose(template, target)
    except (DoesNotFit, Refused):
        assume(False)
    held_to_all(template, target)
