"""Programs of every family in random spellings: what lifts is what the interpreter computes, and nearly all lifts."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lift.spellings.choose import CHOICES
from lift.spellings.outcome import Outcome, draw, judged, report

LIFTED = 0.9


def drawn(count: int) -> list[Outcome]:
    return [judged(draw(random.Random(seed).randrange), seed) for seed in range(count)]


def held(outcomes: list[Outcome]) -> None:
    said = "\n".join(report(outcomes))
    assert not any(o.wrong for o in outcomes), said
    assert sum(not o.refused for o in outcomes) >= LIFTED * len(outcomes), said


def test_nearly_every_spelling_lifts_to_what_it_means() -> None:
    outcomes = drawn(250)
    held(outcomes)
    used = {name for o in outcomes for name, options in o.spelled.choices.items() if options}
    assert used == set(CHOICES)


@given(st.data())
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_spelling_lifts_to_what_it_means(data: st.DataObject) -> None:
    spelled = draw(lambda n: data.draw(st.integers(0, n - 1)))
    outcome = judged(spelled)
    assert not outcome.wrong, f"{outcome.wrong}\n{spelled.sources[0]}"


@pytest.mark.nightly
def test_ten_thousand_spellings() -> None:
    held(drawn(10_000))


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(9))
def test_ninety_thousand_more(part: int) -> None:
    first = 10_000 * (part + 1)
    held([judged(draw(random.Random(seed).randrange), seed) for seed in range(first, first + 10_000)])
