"""Whole programs are timed: the corpus, decoders, several calls of a phase; what cannot end is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Shape, decoder
from repository import TARGETS
from running import lowered
from sections.cases import CASES, Case
from simulate.bodies import product
from simulate.test_schedule import TOGETHER, softmax_like
from simulate.twin.pipes import PAPER, cycles, mapped, memory, program_of, spread, summed
from support import REFERENCE, TF32

from spatial.build.targets import load_target
from spatial.errors import Refused
from spatial.ir.body import Body, Engine, Loop, Step
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.simulate.twin import clock, places
from spatial.simulate.twin.clock import time_program

BANKS = memory(TF32, banks=12, rate=267.0, unplaced=138.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_corpus_is_timed(case: Case):
    program = case.program()
    found = time_program(program, REFERENCE)
    assert len(found.phases) == len(program.phases)
    assert found == time_program(program, REFERENCE, skipping=False)
    assert found.cycles == sum(found.times[n].cycles for n in found.phases)
    for number in found.phases:
        for call in found.times[number].calls:
            assert REFERENCE.section_cycles < call.cycles <= found.times[number].cycles
            assert call.ratio is None or call.ratio > 1
            assert all(0 <= e.busy <= e.busiest <= 1 for e in call.engines)
            assert all(e.busy + e.pages + e.room + e.lines <= 1 + 1e-9 for e in call.engines)


@pytest.mark.parametrize("target", (REFERENCE, BANKS), ids=lambda target: target.name)
@pytest.mark.parametrize("q8", (False, True))
def test_a_decoder_is_timed_layer_by_layer_once(target, q8: bool):
    shape = Shape(heads=4, groups=2, head=32, ffn=64, layers=3)
    two = lowered(decoder(replace(shape, layers=2), q8), target).into_whole()
    three = lowered(decoder(shape, q8), target).into_whole()
    short, long = time_program(two, target), time_program(three, target)
    layer = [n for block in three.blocks for n in range(block.first, block.first + block.length)]
    last = sum(long.times[long.phases[n + 2 * len(layer)]].cycles for n in layer)
    assert long.cycles - short.cycles == pytest.approx(last)
    assert sum(s.calls for s in long.sections()) == sum(len(phase) for phase in three.phases)
    assert len(long.times) < len(long.phases)
    assert time_program(three, target) == long


@pytest.mark.parametrize("path", sorted(TARGETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_chip_that_comes_with_the_project_is_run(path: Path):
    target = load_target(path)
    program = lowered(decoder(Shape()), target).into_whole()
    found = time_program(program, target)
    assert found.cycles > len(program.phases) * target.section_cycles
    assert all(section.longest.cycles >= section.longest.roofline for section in found.sections())


def test_calls_of_a_phase_contend_for_the_memory_and_nothing_else():
    """Two like calls beside each other: with a memory that is never busy each takes as long as alone; with a slow one
    both together take nearly twice as long."""
    body = summed(40, depth=8)
    one = program_of(body)
    tensors = (*one.tensors, *(replace(t, name=f"{t.name}2") for t in one.tensors))
    binds = tuple(replace(b, tensor=f"{b.tensor}2") for b in one.phases[0][0].binds)
    both = replace(one, tensors=tensors, phases=((*one.phases[0], Call(0, binds, (1, 0))),))
    quick = memory(PAPER, rate=1e6, unplaced=1e6)
    assert time_program(both, quick).cycles == cycles(body, quick)
    slow = memory(PAPER, rate=16.0, unplaced=16.0)
    assert 1.8 * cycles(body, slow) < time_program(both, slow).cycles < 2 * cycles(body, slow)


@pytest.mark.parametrize(("rows", "banks", "distinct"), ((32, 3, 2), (32, 1, 1), (96, 3, 1)))
def test_phases_are_timed_once_where_their_banks_lie_alike(rows: int, banks: int, distinct: int):
    """Slices of a tile each lie in banks 0, 1, 2, 0 of three, those of a round of banks all in bank 0. x and y at the
    same slice are alike wherever it is, all banks being turned; so are the first and last of x at slices 0, 1, 3."""
    body = summed(1, 1)
    body = replace(body, operands=tuple(replace(o, extent=(1, rows, 32)) for o in body.operands))
    tensors = tuple(Tensor(o.name, (4, rows, 32), o.prec, "state", "dense") for o in body.operands)

    def call(x: int, y: int) -> Call:
        return Call(0, (Bind("x", 0, (x, 0, 0), (1, rows, 32)), Bind("y", 1, (y, 0, 0), (1, rows, 32))), (0, 0))

    phases = tuple((call(x, y),) for x, y in ((0, 0), (1, 1), (1, 0), (3, 0)))
    found = time_program(Program(tensors, (body,), phases), memory(PAPER, banks=banks, rate=8.0, unplaced=8.0))
    assert len(found.times) == distinct
    assert found.phases == (0, 0, distinct - 1, 0)


def test_what_binds_a_section_is_told():
    def bound(body: Body, **figures: float) -> str:
        (section,) = time_program(program_of(body), memory(PAPER, **figures)).sections()
        return section.bound

    assert bound(mapped(40, depth=8, op="exp")) == "compute"
    assert bound(mapped(40, depth=8)) == "mover1"
    assert bound(summed(40, depth=8), rate=32.0, unplaced=32.0) == "memory"
    assert bound(mapped(40, depth=1)) == "waiting"
    fixed = replace(PAPER, section_cycles=1e6)
    assert time_program(program_of(mapped(2)), fixed).sections()[0].bound == "fixed"


def test_the_roofline_counts_what_must_be_done_and_no_more():
    """A product of 64 x 96 by 96 x 64 on two sites of 64: 12 page products of 32 cycles, spread over 64 sites; its
    operands and result once, though the first is read by both sites."""
    body = product(64, 96, 64, 32, 2)
    (section,) = time_program(program_of(body), REFERENCE).sections()
    call = section.longest
    assert call.compute == 12 * 32 / 64
    assert call.needed == (2 * 64 * 96 + 64 * 64) * 4 / 256
    assert call.memory == (2 * 64 * 96 + 2 * 96 * 64 + 64 * 64) * 4
    assert call.ratio == call.cycles / call.needed


# ---------------------------------------------------------------- refusals


def test_a_deadlock_is_refused_with_its_stage_and_queue():
    assert time_program(program_of(softmax_like(2, TOGETHER)), REFERENCE).cycles > 0
    with pytest.raises(Refused, match=r"phase 0: deadlock: engine mover0 .* stage second for room in queue again"):
        time_program(program_of(softmax_like(1, TOGETHER)), REFERENCE)


def test_a_multicast_that_never_finds_room_is_refused():
    body = spread(3, 2)
    never = [
        Engine("mover0", (Loop(3, (Step("cast", 1), Step("ld", 1))),)),
        *(e for e in body.engines if e.name != "mover0"),
    ]
    with pytest.raises(Refused, match="stage cast for a page of queue all; it holds 0 of 1 pages"):
        time_program(program_of(replace(body, engines=tuple(never))), PAPER)


def test_pages_that_nobody_takes_are_refused():
    body = product(32, 64, 32, 32, 1, cap=8)
    stages = [replace(s, loops=(3,)) if s.name == "lb" else s for s in body.stages]
    engines = (Engine("mover0", (Step("la", -1), Step("lb", -1))), *body.engines[1:])
    with pytest.raises(Refused, match="queue qb ends with 1 pages"):
        time_program(program_of(replace(body, stages=tuple(stages), engines=engines)), REFERENCE)


@pytest.mark.parametrize(
    ("order", "match"),
    (
        ((Loop(2, (Step("la", 1), Step("lb", 1))), Step("la", 1)), "steps la beyond its end"),
        ((Loop(1, (Step("la", 1), Step("lb", 1))),), "leaves stage la unfinished"),
        ((Loop(2, (Step("la", 2), Step("lb", 1))),), "steps la at depth 2"),
    ),
)
def test_orders_that_do_not_fit_their_stages_are_refused(order: tuple[Loop | Step, ...], match: str):
    body = product(32, 64, 32, 32, 1)
    with pytest.raises(Refused, match=match):
        time_program(program_of(replace(body, engines=(Engine("mover0", order), *body.engines[1:]))), REFERENCE)


def test_what_is_not_scheduled_yet_is_refused():
    body = mapped(2)
    for early in (replace(body, engines=()), replace(body, queues=(replace(body.queues[0], cap=0), body.queues[1]))):
        with pytest.raises(Refused, match="before it is scheduled"):
            time_program(program_of(early), PAPER)
    with pytest.raises(Refused, match="paper has no engine compute"):
        time_program(program_of(body), replace(PAPER, engines=PAPER.engines[:2]))


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(clock, "EVENTS", 10)
        assert time_program(program_of(mapped(4)), PAPER).cycles > 0
        with pytest.raises(Refused, match="more than 10 transactions"):
            time_program(program_of(mapped(8)), PAPER, skipping=False)
    with monkeypatch.context() as patch:
        patch.setattr(places, "MOST", 10)
        with pytest.raises(Refused, match="stage ld moves 11 pages"):
            time_program(program_of(mapped(11)), PAPER)


def test_a_program_without_phases_takes_no_time():
    tensor = Tensor("x", (1, 1, 1), "f32", "input", "flat")
    assert time_program(Program((tensor,), (), ()), PAPER).cycles == 0
    assert Bind("x", 0, (0, 0, 0), (1, 1, 1)).tensor == tensor.name
