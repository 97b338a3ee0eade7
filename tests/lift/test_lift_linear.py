"""Lifting costs in proportion to the statements of a program, however they are chained."""

from __future__ import annotations

import pytest
from benchmarks.lifting_cost import LONG, REFUSED, SHAPES, TIMED, costs, work

from spatial.ir import wire
from spatial.ir.graph import Lifted


@pytest.mark.parametrize("shape", (*SHAPES, *REFUSED))
def test_four_times_the_statements_cost_four_times(shape: str) -> None:
    few, many = costs(shape, (40, 160) if shape in SHAPES else (10, 40))  # refused programs are executed twice
    assert many <= 4.4 * few


def test_a_chain_of_a_thousand_statements_lifts() -> None:
    work("chain", 1000)()


@pytest.mark.nightly
@pytest.mark.parametrize("shape", LONG)
def test_ten_thousand_statements_cost_ten_times_a_thousand(shape: str) -> None:
    few, many = costs(shape, TIMED)
    assert many <= 11 * few


@pytest.mark.parametrize("shape", REFUSED)
def test_every_statement_of_a_refused_program_is_told(shape: str) -> None:
    found = work(shape, 20)()
    assert isinstance(found, Lifted)
    roots, others = (20, 20) if shape == "refused" else (1, 20)
    assert (len(found.missing), len(found.depending)) == (roots, others)


def test_a_long_chain_of_maps_is_cut_where_it_gets_too_deep_to_be_written_down() -> None:
    short, long = work("fused", 80)(), work("fused", 400)()
    assert isinstance(short, Lifted) and isinstance(long, Lifted)
    assert short.graph is not None and len(short.graph.nodes) == 1
    assert long.graph is not None and 4 <= len(long.graph.nodes) <= 16
    assert wire.digest(long.graph) != wire.digest(short.graph)
