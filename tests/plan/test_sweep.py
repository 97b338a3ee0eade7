"""The published sweep: every point has a plan that is verified, or a refusal with its reason; and plans compute right.

`doit sweep` writes the tables of `docs/sweep` anew; a change of a plan shows there.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest
from plan.sweep import outcomes
from plan.sweep.outcomes import key_of, outcome
from plan.sweep.points import ROWS, TABLES, TARGETS, Point, points
from plan.sweep.simulated import sample, wrong

POINTS = points()
SLICE = POINTS[:: len(POINTS) // 120]
"""Points that are planned in every run of the tests, of all kinds."""


def published() -> dict[Point, str]:
    """The published outcome of every point."""
    found = outcomes.published()
    assert found.keys() == {key_of(p) for p in POINTS}, "the tables have other points: `doit sweep` writes them anew"
    return {p: found[key_of(p)] for p in POINTS}


def refused(line: str) -> bool:
    return line.startswith("refused: ")


def changed(made: dict[Point, str], tables: dict[Point, str]) -> str:
    """What differs from the published tables, for a person."""
    lines = [f"{p}: {tables[p]}\n  now: {line}" for p, line in made.items() if tables[p] != line]
    return "\n".join(["plans have changed; `doit sweep` publishes them:", *lines]) if lines else ""


def test_the_points_are_enough_and_every_product_is_among_them():
    assert len(POINTS) == len(set(POINTS)) >= 2000
    products = {(p.target, p.sizes, p.stored) for p in POINTS if p.op == "matmul" and not p.knobs}
    shapes = {(rows, k, n) for rows in ROWS for found in TABLES.values() for k, n in found}
    assert products == {(t, s, f) for t in TARGETS for s in shapes for f in ("bf16", "f32", "q8_0")}
    assert {p.op for p in POINTS} > {"matmul", "scores", "mix", "gather", "int_product", "row_max", "root_mean_square"}


def test_both_outcomes_are_present_where_knobs_are_pinned():
    counts = Counter(refused(line) for p, line in published().items() if p.knobs)
    assert counts.total() >= 200 and min(counts[True], counts[False]) >= 20


def test_every_published_outcome_is_a_plan_or_a_refusal_that_says_what_would_fit():
    fits = ("nearest plan that fits: ", " can be blocked by ", " the section has ", " is larger than the chip; it has ")
    for point, said in published().items():
        if refused(said):
            assert any(words in said for words in fits), (point, said)
        else:
            *_, bound, ratio = said.split(" ")
            assert bound in ("compute", "mover", "network", "memory", "fixed") and float(ratio) >= 1.0, (point, said)


def test_a_slice_is_as_published():
    made = {p: outcome(p).line() for p in SLICE}
    assert not changed(made, published()), changed(made, published())


def nearest_of(tables: dict[Point, str]) -> list[Point]:
    """The points whose refusals name a plan that fits, with its knobs held in place of theirs."""
    named = {p: said.rpartition("the nearest plan that fits: ")[2] for p, said in tables.items() if refused(said)}
    return [replace(p, pins=words) for p, words in named.items() if words.startswith(("i0=", "l1=", "rect="))]


def test_the_nearest_plan_that_a_refusal_names_is_one():
    few = nearest_of(published())
    assert len(few) >= 40
    assert [p for p in few[::12] if not outcome(p).found] == []


def test_a_slice_is_simulated_right():
    found = [p for p, line in published().items() if not refused(line)]
    few = sample(found, 300, 0)[::24]
    assert len(few) >= 12
    assert {p: faults for p in few if (faults := wrong(outcome(p)))} == {}


def _line(point: Point) -> str:
    return outcome(point).line()


def _found(point: Point) -> bool:
    return outcome(point).found


def _wrong(point: Point) -> list[str]:
    return wrong(outcome(point))


@pytest.mark.nightly
def test_all_are_as_published():
    with ProcessPoolExecutor(2) as pool:
        made = dict(zip(POINTS, pool.map(_line, POINTS, chunksize=16), strict=True))
    assert not changed(made, published()), changed(made, published())


@pytest.mark.nightly
def test_all_plans_that_refusals_name_are_plans():
    with ProcessPoolExecutor(2) as pool:
        some = nearest_of(published())
        found = dict(zip(some, pool.map(_found, some), strict=True))
    assert [p for p, there in found.items() if not there] == []


@pytest.mark.nightly
def test_a_sample_is_simulated_right():
    found = [p for p, line in published().items() if not refused(line)]
    some = sample(found, 300, 1)
    assert len(some) >= 300
    with ProcessPoolExecutor(2) as pool:
        faults = dict(zip(some, pool.map(_wrong, some), strict=True))
    assert {p: fault for p, fault in faults.items() if fault} == {}
