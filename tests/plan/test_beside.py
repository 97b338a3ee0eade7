"""Readers beside the banks: tables dealt by width, read at the placed rate and scattered to workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import Drawn
from plan.priced_and_timed import product, timed
from plan.templates import measures_of, template_of, under
from running import BESIDE, differences, lowered, outcome
from support import REFERENCE

from spatial.build.targets import load_target
from spatial.check import check_program
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Plan, Stage
from spatial.ir.layout import layout_of
from spatial.ir.program import Program
from spatial.ir.validate import validate, validate_program
from spatial.lowering import Options
from spatial.passes.fuse_generic import fuse_generic
from spatial.passes.verify import descriptors, scratch_bytes
from spatial.plan.constraints import legal
from spatial.plan.cost import price
from spatial.plan.measures import Measures
from spatial.plan.search import choose, plan_of
from spatial.simulate.twin.figures import Figures
from spatial.simulate.twin.places import moves_of
from spatial.target import Target

TARGETS = Path(__file__).resolve().parents[2] / "targets"
WORMHOLE = load_target(TARGETS / "wormhole-n150.yaml")


def with_readers(case: Drawn, target: Target) -> tuple[Measures, list[Plan]]:
    """All legal candidates whose readers stand beside the banks, and their plans."""
    everything = measures_of(template_of(case, target), target)
    few = everything.take(np.nonzero(legal(everything) & everything.beside)[0])
    cost = price(few)
    return few, [plan_of(few, cost, row) for row in range(few.candidates.count)]


def program_under(case: Drawn, plan: Plan, target: Target) -> Program:
    """The case lowered, its section under the plan."""
    found = lowered(case, target, Options(lookup=lambda t: under(fuse_generic(t, target), plan, target)))
    program = found.into_whole()
    assert any(body.plan == plan for body in program.bodies)
    return program


CASES = {
    "as many columns as workers": (1, 64, 384),
    "several turns": (3, 64, 768),
    "idle workers in the last turn": (1, 96, 640),
    "fewer readers than banks": (1, 64, 224),
    "several rows of blocks": (40, 64, 384),
}


@pytest.mark.parametrize("shape", CASES.values(), ids=CASES)
def test_readers_and_workers_compute_the_product(shape: tuple[int, int, int]):
    case = product(shape, "q8_0")
    measures, plans = with_readers(case, BESIDE)
    assert plans
    results: set[bytes] = set()
    for row in range(0, len(plans), max(len(plans) // 4, 1)):
        plan = plans[row]
        program = program_under(case, plan, BESIDE)
        body = next(b for b in program.bodies if b.plan == plan)
        assert [s.kind for s in body.stages].count("scatter") == body.rect[0] // 2 == 2
        assert scratch_bytes(body, BESIDE) == measures.scratch[row]
        assert validate(body, BESIDE) == [] and validate_program(program, BESIDE) == []
        assert check_program(program, BESIDE).accepted
        for executor in ("lockstep", "pagewise"):
            got, want = outcome(case, program, BESIDE, executor)
            assert differences(case, got, want) == []
            results |= {values.tobytes() for values in got.values()}
    plain = lowered(case, replace(BESIDE, network=replace(BESIDE.network, count=0, multicast=())))
    assert not plain.missing
    got, _ = outcome(case, plain.into_whole(), BESIDE)
    assert results == {values.tobytes() for values in got.values()}, "what is computed hangs on who reads"


def test_readers_are_chosen_where_they_are_faster_and_only_there():
    case = product((1, 512, 768), "q8_0")
    plan = choose(template_of(case, BESIDE), BESIDE).plan
    assert plan.scatter and plan.label == "readers"
    memory, network = BESIDE.memory, BESIDE.network
    for other in (
        replace(BESIDE, memory=replace(memory, unplaced=memory.rate)),
        replace(BESIDE, memory=replace(memory, strip=0)),
        replace(BESIDE, memory=replace(memory, beside=(0, 1))),
        replace(BESIDE, network=replace(network, count=0, multicast=())),
        REFERENCE,
    ):
        assert not measures_of(template_of(case, other), other).beside.any()
        assert not choose(template_of(case, other), other).plan.scatter
    assert not measures_of(template_of(product((1, 512, 768), "bf16"), BESIDE), BESIDE).beside.any()


def test_a_chip_that_counts_transfers_has_room_for_those_of_every_column():
    few, plans = with_readers(product((1, 64, 384), "q8_0"), BESIDE)
    template = few.model.body
    needs = [descriptors(under(template, plan, BESIDE)) for plan in plans]
    for least in sorted(set(needs)):
        target = replace(BESIDE, descriptors=least)
        kept = legal(Measures(few.model, few.candidates, target))
        assert kept.tolist() == [need <= least for need in needs]


# ---------------------------------------------------------------- the twin


def loads_of(shape: tuple[int, int, int], target: Target) -> tuple[Body, Program]:
    case = product(shape, "q8_0")
    program = program_under(case, with_readers(case, target)[1][0], target)
    return next(b for b in program.bodies if b.plan and b.plan.scatter), program


def test_each_reader_has_a_bank_of_its_own_in_every_turn():
    body, program = loads_of((1, 64, 640), BESIDE)
    call = program.phases[0][0]
    binds = {o.name: b for o, b in zip(body.operands, call.binds, strict=True)}
    drawn: dict[tuple[int, int], set[int]] = {}
    for stage in body.stages:
        if stage.access and stage.access.plane == "values":
            bind = binds[stage.access.operand]
            found = moves_of(body, stage, program.tensor(bind.tensor), bind, Figures(BESIDE))
            assert found.placed
            assert not moves_of(body, stage, program.tensor(bind.tensor), bind, Figures(BESIDE), 1).placed
            for site, kinds in found.kinds.items():
                drawn[site] = {run.bank for kind in set(kinds.tolist()) for run in found.runs[kind]}
    assert sorted(drawn) == [(x, y) for x in (0, 2) for y in range(3)]
    assert sorted(drawn.values(), key=min) == [{bank} for bank in range(6)]


def test_tables_are_dealt_by_width_where_a_bank_is_read_sooner_so():
    def strip(tiles: int) -> int:
        return layout_of("q8_0", "q8_0", (1, 64, 32 * tiles), WORMHOLE).plane("values").strip

    assert [strip(n) for n in (6, 18, 24, 32, 40, 48, 56, 128, 448)] == [0, 0, 0, 4, 4, 4, 4, 4, 4]
    assert layout_of("q8_0", "q8_0", (1, 64, 1536), WORMHOLE).plane("scales").strip == 0
    assert layout_of("dense", "bf16", (1, 64, 1536), WORMHOLE).plane().strip == 0


# ---------------------------------------------------------------- prices

DECODE = ((1, 4096, 4096), (1, 4096, 1024), (1, 576, 1536), (32, 4096, 4096), (1, 2048, 2048))
PUBLISHED = 61_600
"""Cycles that 32 x 8192 x 1280 is published to take on this chip at 1 GHz, its weights of 8 bits read by width beside
the banks, its activations in bf16."""


@pytest.mark.parametrize("shape", DECODE, ids=str)
def test_readers_cost_what_they_are_priced_at(shape: tuple[int, int, int]):
    template = template_of(product(shape, "q8_0"), WORMHOLE)
    plan = choose(template, WORMHOLE).plan
    assert plan.scatter
    assert plan.cycles == pytest.approx(timed(template, plan, WORMHOLE), rel=0.08)


def test_a_published_product_takes_as_long_as_it_is_published_to():
    template = template_of(product((32, 8192, 1280), "q8_0", "bf16"), WORMHOLE)
    plan = choose(template, WORMHOLE).plan
    found = timed(template, plan, WORMHOLE)
    assert plan.scatter
    assert found == pytest.approx(PUBLISHED, rel=0.15)
    assert plan.cycles == pytest.approx(found, rel=0.05)


# ---------------------------------------------------------------- mutants


def changed(body: Body, kind: str, change) -> Body:
    """The body with every scattering stage, or load that feeds one, altered."""
    sent = {p.queue for s in body.stages if s.kind == "scatter" for p in s.ins}

    def one(stage: Stage) -> Stage:
        feeds = any(p.queue in sent for p in stage.outs)
        return change(stage) if (stage.kind == "scatter" if kind == "scatter" else feeds) else stage

    return replace(body, stages=tuple(map(one, body.stages)))


def off_by_one(stage: Stage) -> Stage:
    assert stage.access is not None
    s, r, c = stage.access.place
    return replace(stage, access=replace(stage.access, place=(s, r, c + 32)))


def same_for_all(stage: Stage) -> Stage:
    assert stage.access is not None
    s, r, c = stage.access.place
    return replace(stage, access=replace(stage.access, place=(s, r, c.subst({"p0": Affine()}))))


MUTANTS = {
    "a page too far": ("load", off_by_one),
    "one page for all": ("load", same_for_all),
    "a group of one": ("scatter", lambda s: replace(s, group=(1, 1))),
    "a group of all": ("scatter", lambda s: replace(s, group=(4, 1))),
    "a group downward": ("scatter", lambda s: replace(s, group=(1, 2))),
    "a multicast": ("scatter", lambda s: replace(s, kind="multicast")),
    "a page less": ("scatter", lambda s: replace(s, ins=(replace(s.ins[0], pages=s.ins[0].pages[1:]),))),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_scatter_is_rejected_or_shows(name: str):
    kind, change = MUTANTS[name]
    case = product((1, 64, 384), "q8_0")
    program = program_under(case, with_readers(case, BESIDE)[1][0], BESIDE)
    bodies = tuple(changed(b, kind, change) for b in program.bodies)
    assert bodies != program.bodies
    broken = replace(program, bodies=bodies)
    if check_program(broken, BESIDE).accepted:
        got, want = outcome(case, broken, BESIDE)
        assert differences(case, got, want) != []
    else:
        assert kind == "scatter"
