"""The choice of a plan: unique, independent of the order of candidates, and explained where there is none."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawing import STATEMENTS
from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, read, var
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan.priced_and_timed import product
from plan.templates import measures_of, template_of
from running import SMALL
from support import REFERENCE, TF32

from spatial.errors import DoesNotFit, Refused
from spatial.ir.body import Body
from spatial.ir.graph import Acc
from spatial.plan import search
from spatial.plan.bound import bound, fastest, least
from spatial.plan.candidates import blockings
from spatial.plan.constraints import CONSTRAINTS, legal
from spatial.plan.cost import price
from spatial.plan.measures import Measures
from spatial.plan.model import divisors, model_of
from spatial.plan.order import BAND, ranked
from spatial.plan.places import placements, spots_of, useful
from spatial.plan.search import choose, legal_plans, plan_of
from spatial.plan.work import parts_of
from spatial.target import Target

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TARGETS = st.sampled_from((REFERENCE, TF32, SMALL))


def matrices(m: int = 64, k: int = 96, n: int = 100) -> Drawn:
    make = Maker()
    a, b = make.table((m, k)), make.table((k, n))
    term = fn("mul", read(a, var(0), var(2)), read(b, var(2), var(1)))
    piece = Piece((m, n), (k,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((m, n)), piece))
    return drawn(make, 0)


def template_or_skip(case: Drawn, target: Target) -> Body:
    try:
        return template_of(case, target)
    except Refused:
        assume(False)
        raise


@settings(max_examples=40, **QUIET)
@given(STATEMENTS, TARGETS, st.integers(0, 1000))
def test_the_choice_does_not_depend_on_the_order_of_candidates(case: Drawn, target: Target, seed: int):
    template = template_or_skip(case, target)
    chosen = choose(template, target)

    def shuffled(*args):
        found = spots_of(*args)
        return replace(found, places=found.places.take(np.random.default_rng(seed).permutation(found.count)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "spots_of", shuffled)
        assert choose(template, target) == chosen


@settings(max_examples=20, **QUIET)
@given(STATEMENTS, TARGETS)
def test_the_choice_is_legal_and_no_legal_plan_is_cheaper(case: Drawn, target: Target):
    template = template_or_skip(case, target)
    everything = measures_of(template, target)
    kept = Measures(everything.model, everything.candidates.take(legal(everything)), target)
    cost = price(kept)
    chosen = choose(template, target)
    assert chosen.priced <= kept.candidates.count <= chosen.candidates <= everything.candidates.count
    assert chosen.plan.cycles <= float(cost.cycles.min()) * (1.0 + BAND)
    assert chosen.plan == plan_of(kept, cost, int(ranked(kept, cost)[0]))
    assert (cost.cycles > 0).all() and np.isfinite(cost.cycles).all()
    lowest = bound(parts_of(kept))
    assert (lowest <= cost.cycles).all()
    assert (cost.paths.max(axis=0) <= cost.cycles).all()
    spots, spot = spots_of(everything.model, target), kept.candidates.spot
    assert (spots.places.turns == spots.at().turns).all()
    cycles, second = (x[spot] for x in least(spots.at(), fastest(spots)))
    assert (fastest(spots)[spot] <= cost.paths[0] * (1.0 + 1e-9)).all()
    assert (cycles <= lowest * (1.0 + 1e-9)).all()
    assert (second <= np.sort(cost.paths, axis=0)[-2] * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("stored", ["bf16", "q8_0"])
def test_no_price_hangs_on_what_is_priced_beside_it(stored: str):
    every = legal_plans(model_of(template_of(product((64, 256, 512), stored), REFERENCE), REFERENCE), REFERENCE)
    few = every.take(np.random.default_rng(0).permutation(every.candidates.count)[:100])
    alone = [float(price(few.take(np.array([row]))).cycles[0]) for row in range(few.candidates.count)]
    assert price(few).cycles.tolist() == alone


@settings(max_examples=20, **QUIET)
@given(STATEMENTS, TARGETS)
def test_candidates_are_distinct_and_stay_on_the_chip(case: Drawn, target: Target):
    c = measures_of(template_or_skip(case, target), target).candidates
    rows = np.column_stack((c.factors, c.along, c.rect, c.multicast, c.resident, c.buffers, c.beside))
    assert len(np.unique(rows, axis=0)) == c.count
    assert (c.rect[:, 0] <= target.columns).all() and (c.rect[:, 1] <= target.rows).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 400), st.integers(1, 64))
def test_useful_widths_are_those_no_smaller_one_equals(extent: int, most: int):
    def turns(width: int) -> int:
        return -(-extent // width)

    found = (np.nonzero(useful(np.array([extent]), most)[0])[0] + 1).tolist()
    assert found == [w for w in range(1, most + 1) if w == 1 or turns(w) < turns(w - 1)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3), TARGETS)
def test_placements_waste_no_whole_row_of_sites(grid: list[int], target: Target):
    places = placements(np.array([grid]), target)
    found = list(zip(map(tuple, places.along.tolist()), map(tuple, places.rect.tolist()), strict=True))
    assert ((-1, -1), (1, 1)) in found
    assert len(set(found)) == len(found) and not places.number.any()
    for (a, b), (w, h) in found:
        if a == b and a >= 0:
            assert w * (h - 1) < grid[a]
            alike = [r for s, r in found if s == (a, b) and r[0] * r[1] == w * h]
            assert alike == [(w, h)], "sites of one axis are in one rectangle of their number"
        elif a >= 0:
            assert w <= grid[a] and h <= grid[b]


def test_placements_of_several_grids_are_those_of_each():
    grids = np.array([[12, 7], [1, 30], [12, 7], [64, 1]])
    places = placements(grids, REFERENCE)
    for n, grid in enumerate(grids):
        alone, those = placements(grid[None], REFERENCE), places.take(np.nonzero(places.number == n)[0])
        assert those.along.tolist() == alone.along.tolist()
        assert those.rect.tolist() == alone.rect.tolist()


@given(st.integers(1, 5000))
def test_divisors(n: int):
    assert list(divisors(n)) == [d for d in range(1, n + 1) if n % d == 0]


def test_blockings_are_thinned_from_the_longest_coordinate():
    model = model_of(template_of(matrices(64 * 8, 960, 3200), REFERENCE), REFERENCE)
    everything = blockings(model, 1 << 20)
    few = blockings(model, 40)
    assert 0 < len(few) <= 40 and set(few) < set(everything)
    assert few[0] == (1,) * len(model.coordinates)


def test_no_plan_that_fits_lists_every_buffer_and_their_sum():
    target = replace(SMALL, scratch=16_000)
    with pytest.raises(DoesNotFit) as caught:
        choose(template_of(matrices(), target), target)
    (problem,) = caught.value.problems
    need = int(re.search(r"scratch needs (\d+) bytes a site, the chip has 16000", problem.what).group(1))
    parts = re.findall(r"(\w+) \((\w+)\): (\d+) x (\d+)", problem.why)
    assert sum(int(n) * int(size) for _, _, n, size in parts) == need
    assert {"load_x0", "load_x1", "product"} <= {stage for _, stage, _, _ in parts}
    assert problem.mend


@pytest.mark.parametrize("name", [c.name for c in CONSTRAINTS])
def test_every_constraint_can_refuse(name: str):
    small = {
        "scratch": replace(REFERENCE, scratch=1000),
        "queues": replace(REFERENCE, queues=2),
        "descriptors": replace(REFERENCE, descriptors=2),
        "locks": replace(REFERENCE, locks=3),
        "registers": replace(REFERENCE, matrix=replace(REFERENCE.matrix, registers=0)),
        "vector registers": replace(REFERENCE, vector=replace(REFERENCE.vector, registers=0)),
        "counters": replace(REFERENCE, counter_bits=0),
    }
    make = Maker()
    x = make.table((640,))
    make.result(make.map((640,), fn("exp", read(x, var(0)))))
    case = drawn(make, 0) if name == "vector registers" else matrices()
    with pytest.raises(DoesNotFit, match=f"fits: {name} needs"):
        choose(template_of(case, REFERENCE), small[name])


def test_more_room_never_makes_the_plan_dearer():
    template = template_of(matrices(256, 960, 640), REFERENCE)
    prices = [
        choose(template, replace(REFERENCE, scratch=scratch)).plan.cycles for scratch in (40_000, 80_000, 400_000)
    ]
    assert prices == sorted(prices, reverse=True)


def test_a_large_product_uses_the_chip_and_reads_shared_pages_once():
    plan = choose(template_of(matrices(512, 960, 1024), REFERENCE), REFERENCE).plan
    assert plan.rect == (8, 8)
    assert plan.multicast == ("load_x0", "load_x1")
    assert plan.traffic < 2 * 4 * (512 * 960 + 960 * 1024 + 512 * 1024)
