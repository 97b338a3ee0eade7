"""Lifting costs in proportion to the statements of a program, however they are chained."""

from __future__ import annotations

import pytest
from benchmarks.lifting_cost import SHAPES, costs, work


@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_statements_cost_four_times(shape: str) -> None:
    few, many = costs(shape, (40, 160))
    assert many <= 4.4 * few


def test_a_chain_of_a_thousand_statements_lifts() -> None:
    work("chain", 1000)()
