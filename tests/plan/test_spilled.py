"""Blocks of more sums than a product has registers: chosen where they read less, the same numbers, held to be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from plan.exhaustive import winner
from plan.one_plan import One
from plan.priced_and_timed import product, timed
from plan.templates import template_of
from plan.test_exhaustive import held_to_all
from running import differences, lowered, outcome
from support import TF32

from spatial.check import check_program
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Stage
from spatial.ir.program import Program
from spatial.ir.registers import accumulator_tiles, resident
from spatial.plan.cost import price
from spatial.plan.model import model_of
from spatial.plan.search import legal_plans, plan_of

CRAMPED = replace(
    TF32, name="cramped", columns=2, rows=1, memory=replace(TF32.memory, rate=16.0, unplaced=16.0), unpack=128.0
)
"""Two sites that compute fast and read slowly: what is read once for many sums is worth moving these."""

SHAPES = (((256, 128, 192), "bf16"), ((128, 256, 192), "q8_0"))
EACH = pytest.mark.parametrize(("shape", "stored"), SHAPES)


def product_stage(program: Program) -> Stage:
    return next(s for b in program.bodies for s in b.stages if s.kind == "matmul")


@EACH
def test_a_block_may_have_more_sums_than_registers_and_computes_the_same(shape: tuple[int, int, int], stored: str):
    case = product(shape, stored)
    found: list[dict[str, bytes]] = []
    for registers in (4, 64):
        target = replace(CRAMPED, matrix=replace(CRAMPED.matrix, registers=registers))
        program = lowered(case, target).into_whole()
        stage = product_stage(program)
        if registers < 64:
            depth, tiles = resident(stage, target)
            assert accumulator_tiles(stage, target) > registers >= tiles
            assert depth > max(s.depth for s in stage.states)
        assert check_program(program, target).answer == "accept"
        got, want = outcome(case, program, target)
        assert differences(case, got, want) == []
        found.append({name: values.tobytes() for name, values in got.items()})
    assert found[0] == found[1]


@EACH
def test_the_winner_is_that_of_pricing_all(shape: tuple[int, int, int], stored: str):
    template = template_of(product(shape, stored), CRAMPED)
    held_to_all(template, CRAMPED)
    one, _, _ = winner(model_of(template, CRAMPED), CRAMPED)
    assert spilled(one)


def spilled(one: One) -> bool:
    return any(one.spills(w) for w in one.model.work)


@pytest.mark.parametrize(("halves", "pack"), [(2, 256.0), (2, 8.0), (1, 64.0), (1, 32.0)])
def test_what_moving_sums_costs_is_in_price_and_time(halves: int, pack: float):
    """The same plan is dearer where the way to scratch is slower, in price and in time."""
    shape, stored = SHAPES[0]
    target = replace(CRAMPED, pack=pack, matrix=replace(CRAMPED.matrix, halves=halves))
    template = template_of(product(shape, stored), target)
    everything = legal_plans(model_of(template, target), target)
    c = everything.candidates
    alike = (c.factors == (4, 3, 1)).all(axis=1) & (c.rect == (2, 1)).all(axis=1)
    few = everything.take(np.nonzero(alike & (c.multicast == 1) & (c.buffers == 2))[0])
    cost = price(few)
    assert few.candidates.count and few.spills(few.model.work[0]).all()
    for row in range(few.candidates.count):
        found = timed(template, plan_of(few, cost, row), target)
        assert abs(cost.cycles[row] / found - 1.0) <= 0.06, (row, cost.cycles[row], found)
        if (halves, pack) != (2, 256.0):
            assert found > 1.1 * timed(template, plan_of(few, cost, row), CRAMPED)


def with_product(program: Program, change: Callable[[Stage], Stage]) -> Program:
    def body(b: Body) -> Body:
        return replace(b, stages=tuple(change(s) if s.kind == "matmul" else s for s in b.stages))

    return replace(program, bodies=tuple(body(b) for b in program.bodies))


def sums_pushed_in_another_order(stage: Stage) -> Stage:
    (port,), (state,) = stage.outs, stage.states
    assert isinstance(port.value, Cell) and len(set(state.cells)) < len(state.cells)
    a, b = next((a, b) for a in range(len(state.cells)) for b in range(a) if state.cells[a] == state.cells[b])
    at = list(port.value.at)
    at[a], at[b] = at[b], at[a]
    return replace(stage, outs=(replace(port, value=Cell(0, tuple(at))),))


def one_sum_for_two(stage: Stage) -> Stage:
    (state,) = stage.states
    update = replace(state.update, args=(Cell(0, (Affine(), *state.cell[1:])), state.update.args[1]))
    return replace(stage, states=(replace(state, cell=(Affine(), *state.cell[1:]), update=update),))


@pytest.mark.parametrize("change", [sums_pushed_in_another_order, one_sum_for_two])
def test_sums_in_the_wrong_place_show_in_the_result(change: Callable[[Stage], Stage]):
    case = product((128, 128, 256), "bf16")
    program = lowered(case, CRAMPED).into_whole()
    assert differences(case, *outcome(case, program, CRAMPED)) == []
    assert differences(case, *outcome(case, with_product(program, change), CRAMPED))
