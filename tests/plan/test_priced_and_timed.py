"""The price of a plan is what its schedule costs, as the cycle twin has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plan.priced_and_timed import Timed, best, drawn_plans, product, regrets, timed
from plan.templates import template_of

from spatial.build.targets import load_target
from spatial.plan.cost import price
from spatial.plan.model import model_of
from spatial.plan.search import legal_plans, plan_of

TARGETS = Path(__file__).resolve().parents[2] / "targets"
SECTIONS = (
    ("wormhole-n150", (1, 576, 1536), "bf16"),
    ("wormhole-n150", (1, 576, 576), "q8_0"),
    ("wormhole-n150", (32, 1536, 576), "bf16"),
    ("wormhole-n150", (128, 576, 576), "q8_0"),
    ("blackhole-p150", (1, 1536, 576), "bf16"),
    ("blackhole-p150", (32, 576, 1536), "q8_0"),
    ("blackhole-p150", (128, 576, 1536), "bf16"),
    ("reference", (1, 576, 1536), "q8_0"),
    ("reference", (128, 576, 576), "bf16"),
    ("xdna2", (32, 576, 192), "bf16"),
    ("xdna2", (1, 576, 576), "q8_0"),
    ("h100", (128, 576, 1536), "bf16"),
    ("h100", (1, 1536, 576), "q8_0"),
)


APART = {
    "sites without an item": ("h100", (1, 4096, 4096), "bf16", (1, 8), (10, 7), 0, 2, 0.03),
    "two multicasts over slow links": ("xdna2", (128, 576, 576), "bf16", (1, 1, 6), (6, 4), 1, 1, 0.18),
    "multicasts by few readers": ("reference", (1, 4096, 4096), "bf16", (2, 2), (4, 4), 1, 1, 0.05),
    "one batch at a time, in step": ("blackhole-p150", (32, 4096, 14336), "q8_0", (4, 4), (10, 6), 1, 1, 0.05),
    "the same, more pages": ("blackhole-p150", (32, 4096, 4096), "q8_0", (1, 16), (8, 8), 1, 1, 0.1),
    "stores of every turn": ("reference", (1024, 576, 1536), "q8_0", (4, 4, 1), (6, 3), 1, 2, 0.05),
}
"""Plans whose schedules do what few others do: target, product, factors, rectangle, multicast, buffers; how near
prices come."""


@pytest.fixture(scope="module")
def ranked() -> list[Timed]:
    """The first three plans of every section."""
    return [
        x for name, shape, stored in SECTIONS for x in best(shape, stored, load_target(TARGETS / f"{name}.yaml"), 3)
    ]


def errors(found: list[Timed]) -> np.ndarray:
    return np.array([abs(x.error) for x in found])


def test_winners_cost_what_they_are_priced_at(ranked: list[Timed]):
    first = [x for x in ranked if x.rank == 0]
    assert len(first) == len(SECTIONS)
    for found in (first, ranked):
        assert np.median(errors(found)) <= 0.05, [f"{x.target} {x.shape} {x.error:+.1%}" for x in found]
        assert np.percentile(errors(found), 95) <= 0.15, [f"{x.target} {x.shape} {x.error:+.1%}" for x in found]


def test_no_winner_is_far_underpriced(ranked: list[Timed]):
    assert [f"{x.target} {x.shape} {x.stored} {x.error:+.1%}" for x in ranked if x.error < -0.15] == []


def test_the_plan_ranked_first_is_near_the_best_by_time(ranked: list[Timed]):
    first = np.array(regrets(ranked))
    assert np.mean(first <= 1.03) >= 0.9
    assert first.max() <= 1.05


def test_any_legal_plan_costs_about_what_it_is_priced_at():
    found = [
        x
        for name, shape, stored in SECTIONS
        for x in drawn_plans(shape, stored, load_target(TARGETS / f"{name}.yaml"), 1, 3)
    ]
    assert np.median(errors(found)) <= 0.05
    assert np.percentile(errors(found), 95) <= 0.25


@pytest.mark.parametrize("name", APART)
def test_prices_where_few_plans_go(name: str):
    of, shape, stored, factors, rect, multicast, buffers, near = APART[name]
    target = load_target(TARGETS / f"{of}.yaml")
    template = template_of(product(shape, stored), target)
    everything = legal_plans(model_of(template, target), target)
    c = everything.candidates
    alike = (c.factors == factors).all(axis=1) & (c.rect == rect).all(axis=1)
    few = everything.take(np.nonzero(alike & (c.multicast == multicast) & (c.buffers == buffers))[0])
    cost = price(few)
    assert few.candidates.count
    for row in range(few.candidates.count):
        found = timed(template, plan_of(few, cost, row), target)
        assert abs(cost.cycles[row] / found - 1.0) <= near, (row, cost.cycles[row], found)
