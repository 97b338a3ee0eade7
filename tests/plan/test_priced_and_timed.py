"""The price of a plan is what its schedule costs, as the cycle twin has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from plan.priced_and_timed import Timed, best, drawn_plans, regrets

from spatial.build.targets import load_target

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
