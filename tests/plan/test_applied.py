"""The one list of constraints: a plan is legal exactly where what it makes of the section fits the site."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import STATEMENTS, products
from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, read, var
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plan.templates import measures_of, pressed, sampled, sampled_illegal, template_of, under
from running import BESIDE, SMALL, differences, lowered, outcome
from support import REFERENCE, TF32

from spatial.check.resources import check_resources
from spatial.check.verdict import Log
from spatial.errors import Refused
from spatial.ir.body import Body
from spatial.ir.graph import Acc
from spatial.ir.registers import accumulator_tiles
from spatial.ir.validate import validate
from spatial.lowering import Options
from spatial.passes.verify import resources, scratch_bytes
from spatial.target import Target

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def template_or_skip(case: Drawn, target: Target) -> Body:
    try:
        return template_of(case, target)
    except Refused:
        assume(False)
        raise


@settings(max_examples=40, **QUIET)
@given(STATEMENTS, st.sampled_from((REFERENCE, TF32, SMALL, BESIDE)), st.integers(0, 1000))
def test_a_plan_applied_takes_what_it_measured_and_computes_right(case: Drawn, target: Target, seed: int):
    assume(not lowered(case, target).missing)
    template = template_or_skip(case, target)
    measures, plans = sampled(measures_of(template, target), seed, 3)
    results: list[dict[str, bytes]] = []
    for n, plan in enumerate(plans):
        body = under(template, plan, target)
        assert validate(body, target) == []
        assert scratch_bytes(body, target) == measures.scratch[n]
        casts = sum(int(measures.sends(load)[n]) for load in measures.model.loads)
        assert len(body.queues) == len(measures.model.streams) + casts
        for work in measures.model.work:
            tiles = accumulator_tiles(body.stage(work.stage), target)
            assert tiles == int(measures.cells(work)[n]) * work.tiles, work.stage
        turns = np.prod(body.items.trips)
        assert turns == measures.turns[n]
        program = lowered(case, target, Options(lookup=_replanned(plan, target))).into_whole()
        assert any(b.plan == plan for b in program.bodies)
        got, want = outcome(case, program, target)
        assert differences(case, got, want) == []
        results.append({name: values.tobytes() for name, values in got.items()})
    assert all(r == results[0] for r in results), "a plan changes what is computed"


def _replanned(plan, target: Target):
    from spatial.passes.fuse_generic import fuse_generic

    return lambda template: under(fuse_generic(template, target), plan, target)


@settings(max_examples=30, **QUIET)
@given(products(), st.integers(0, 1000), st.sampled_from((12_000, 40_000)), st.sampled_from((1, 4)))
def test_an_illegal_plan_fits_no_site(case: Drawn, seed: int, scratch: int, registers: int):
    target = pressed(SMALL, scratch, registers)
    template = template_or_skip(case, target)
    everything = measures_of(template, target)
    for plan in sampled_illegal(everything, seed, 4)[1]:
        assert list(resources(under(template, plan, target, "persist"), target))
    for plan in sampled(everything, seed, 4)[1]:
        assert not list(resources(under(template, plan, target, "persist"), target))


@pytest.mark.parametrize(
    "less",
    [{"scratch": 60_000}, {"scratch": 60_000, "align": 64}, {"descriptors": 6}, {"locks": 7}],
    ids=lambda less: " ".join(less),
)
def test_all_small_plans_are_legal_exactly_where_they_fit(less: dict[str, int]):
    make = Maker()
    a, b = make.table((40, 96)), make.table((96, 70))
    term = fn("mul", read(a, var(0), var(2)), read(b, var(2), var(1)))
    piece = Piece((40, 70), (96,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((40, 70)), piece))
    target = replace(pressed(SMALL, 120_000, 4), **less)
    template = template_of(drawn(make, 0), target)
    everything = measures_of(template, target)
    good, legal_plans = sampled(everything, 0, 10_000)
    bad, illegal_plans = sampled_illegal(everything, 0, 10_000)
    assert good.candidates.count > 100 and bad.candidates.count > 60
    for plan in legal_plans[::7]:
        body = under(template, plan, target, "persist")
        assert not list(resources(body, target))
        assert check_resources(body, target, "body", Log())
    for plan in illegal_plans[::7]:
        body = under(template, plan, target, "persist")
        assert list(resources(body, target))
        assert not check_resources(body, target, "body", Log())
