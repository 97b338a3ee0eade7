"""The parts of the twin, each against what it stands for: places against layouts, orders against the simulator's own
walk, work against sums on paper, figures against the target's table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import products
from graphs import Drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import LONE, SMALL
from sections.cases import CASES, Case
from simulate.bodies import add, at, forms, load, matmul, mul, product
from simulate.twin.pipes import PAPER, memory, planned, program_of
from support import REFERENCE, TF32

from spatial.ir.affine import Affine
from spatial.ir.body import (
    Body,
    Cell,
    Const,
    Convert,
    Engine,
    Index,
    InPort,
    Items,
    Lanes,
    Matmul,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Stage,
    State,
    Step,
    count,
)
from spatial.ir.layout import layout_of
from spatial.ir.program import Bind, Tensor
from spatial.simulate.axes import sites_of
from spatial.simulate.process import StageProcess, engine_acts, turns_of
from spatial.simulate.twin import orders as kinds
from spatial.simulate.twin.figures import TICKS, Figures
from spatial.simulate.twin.orders import Orders
from spatial.simulate.twin.places import moves_of, phase_of, stretch_of
from spatial.simulate.twin.work import full_rate, work_of

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}

# ---------------------------------------------------------------- orders


def walked(body: Body, engine: int, site: tuple[int, int]) -> list[tuple[int, int, int]]:
    """(kind, stage, pages) of what an engine does to queues, by the simulator's own walk."""
    numbers = {s.name: n for n, s in enumerate(body.stages)}
    carried = {s.name: StageProcess(s, turns_of(body)) for s in body.stages if site in sites_of(body, s.on)}
    held: dict[tuple[str, int], list[int]] = {}
    found: list[tuple[int, int, int]] = []
    push = {"load": kinds.READ, "multicast": kinds.SEND, "scatter": kinds.SEND}
    for stage, act in engine_acts(body.engines[engine], carried):
        number = numbers[stage.name]
        if act.kind == "pop":
            pages = count(stage.ins[act.number].pages)
            found.append((kinds.TAKE, number, pages))
            held.setdefault((stage.name, act.depth), []).append(pages)
        elif act.kind == "push":
            found.append((push.get(stage.kind, kinds.MAKE), number, count(stage.outs[act.number].pages)))
        elif act.kind == "end":
            found += [(kinds.FREE, number, pages) for pages in held.pop((stage.name, act.depth), [])]
    return found


def same_orders(body: Body) -> None:
    made = Orders(body, REFERENCE)
    for site in sites_of(body, None):
        carried = frozenset(s.name for s in body.stages if site in sites_of(body, s.on))
        for n, engine in enumerate(body.engines):
            order = made.of(engine, carried)
            acts = [act for step in order.steps for act in order.blocks[step]]
            moves = [(a.kind, a.stage, a.pages) for a in acts if a.kind not in (kinds.WORK, kinds.WRITE)]
            assert moves == walked(body, n, site)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_orders_of_the_corpus_are_those_the_simulator_walks(case: Case):
    for body in case.program().bodies:
        same_orders(body)


@settings(max_examples=25, **QUIET)
@given(products(), st.integers(0, 1000), st.sampled_from((SMALL, LONE)))
def test_orders_under_any_plan_are_those_the_simulator_walks(case: Drawn, seed: int, target):
    for body in planned(case, seed, target):
        same_orders(body)


def test_work_between_acts_is_all_the_work_there_is():
    """A product over 3 pages of k on 2 turns: 6 page products, and a step for each of 6 loads of either operand."""
    body = product(64, 96, 32, 32, 1)
    target = replace(TF32, step_cycles=7.0, unpack=1e12)
    made = Orders(body, target)
    per = 32 * 32 * 32 / 512 + 4  # four passes of 2048, and the overhead
    for engine, cycles in (("mover0", 12 * 7), ("compute", 6 * (7 + per) + 2 * 7), ("mover1", 2 * 7)):
        order = made.of(next(e for e in body.engines if e.name == engine), frozenset(s.name for s in body.stages))
        assert sum(a.time for step in order.steps for a in order.blocks[step] if a.kind == kinds.WORK) == TICKS * cycles


# ---------------------------------------------------------------- work


def computing(kind: str, update=None, value=None, loops: tuple[int, ...] = (4,), depth: int = 1) -> Body:
    """A stage over pages a of 1 x 32 and b of 32 x 32, f32, b popped at `depth`."""
    states = () if update is None else (State("s", (1, 32), "f32", 0, 0.0, 1, update),)
    outs = (OutPort("o", 0, (), Cell(0) if value is None else value),)
    stage = Stage("f", kind, loops, (InPort("a", 1), InPort("b", depth)), outs, states)
    queues = (Queue("a", (1, 32), "f32", 1), Queue("b", (32, 32), "f32", 1), Queue("o", (1, 32), "f32", 1))
    return Body((), (1, 1), Items((1,), (1,), ()), queues, (stage,))


FREE = replace(TF32, unpack=1e12)


def test_a_row_times_a_tile_costs_whole_steps_of_rows_and_the_overhead():
    body = computing("matmul", add(Cell(0), matmul()))
    work = work_of(body, body.stages[0], FREE)
    assert work.update(1) == 8 * 32 * 32 / (2048 / 4) + 4
    assert full_rate(body, body.stages[0], work) == 4 * (8 * 32 * 32 / 512)


def test_pages_are_unpacked_for_every_product_unless_the_next_one_has_the_same():
    """128 and 4096 bytes at 80 a cycle take longer than the 20 cycles of the product; b popped above the loop and not
    chosen by it is got once in its 4 rounds."""
    target = replace(TF32, unpack=80.0)
    each = computing("matmul", add(Cell(0), matmul()))
    once = computing("matmul", add(Cell(0), matmul()), depth=0)
    assert work_of(each, each.stages[0], target).update(1) == pytest.approx((128 + 4096) / 80)
    assert work_of(once, once.stages[0], target).update(1) == pytest.approx(max(20, 128 / 80 + 4096 / 80 / 4))


def blocked() -> Body:
    """A product of pages a [4, 3] and b [3, 2] into 4 x 2 tiles of sums, 9 times; rows outermost, columns innermost."""
    product = Matmul(Page(0, forms("l2", "l3")), Page(1, forms("l3", "l4")), False)
    update = add(Cell(0, forms("l2", "l4")), product)
    state = State("s", (32, 32), "f32", 0, 0.0, 4, update, (4, 2), forms("l2", "l4"))
    value = Cell(0, forms("p0", "p1"))
    ins = InPort("a", 1, (4, 3)), InPort("b", 1, (3, 2))
    stage = Stage("f", "matmul", (9, 4, 3, 2), ins, (OutPort("o", 0, (4, 2), value),), (state,))
    queues = tuple(Queue(q, (32, 32), "f32", 12) for q in "abo")
    return Body((), (1, 1), Items((1,), (1,), ()), queues, (stage,))


@pytest.mark.parametrize(("unpack", "halves", "cycles"), [
    (128.0, 2, 6 * 68),
    (80.0, 2, 6 * 1.5 * 4096 / 80 + 2 * 4096 * 8 / 9 / 80),
    (128.0, 1, 6 * 68 + 2 * 4096 * 8 / 9 * (1 / 128 + 1 / 256)),
])  # fmt: skip
def test_sums_that_are_more_than_the_registers_move_between_them_and_scratch(unpack: float, halves: int, cycles: float):
    """Of 8 tiles of sums 4 fit: the 2 of a row are there for 6 products of 68 cycles, with a page of a for two of them;
    8 times of 9 they come from scratch, and 8 times they go there."""
    body, matrix = blocked(), replace(TF32.matrix, halves=halves)
    work = work_of(body, body.stages[0], replace(TF32, unpack=unpack, matrix=matrix))
    assert [work.update(depth) for depth in range(5)] == pytest.approx([0, 0, cycles, 0, 0])


def test_sums_that_fit_the_registers_stay_there():
    body = blocked()
    target = replace(TF32, unpack=1e12, matrix=replace(TF32.matrix, registers=8))
    assert work_of(body, body.stages[0], target).update(4) == 68


def test_operations_cost_their_own_lanes():
    """On 32 lanes a cycle: a row's exp 8, its product with a constant 1, a tile's sum over rows 32, a convert of a row
    1, the addition of two rows 1."""
    row = mul(Op("exp", (Page(0),)), Const(2.0, "float"))
    update = add(add(Cell(0), row), Convert("bf16", Lanes("sum", "rows", Page(1))))
    body = computing("generic", update)
    assert work_of(body, body.stages[0], FREE).update(1) == 8 + 1 + 32 + 1 + 1 + 1


def test_a_page_that_all_pages_of_a_push_share_is_unpacked_once():
    """Of four pages made, each takes a page of its own, 128 bytes, and the tile that all take, 4096 a fourth each."""
    target = replace(TF32, unpack=1.0)
    value = add(Page(0, (Affine.sym("p0"),)), Lanes("sum", "rows", Page(1)))
    stage = Stage("f", "generic", (), (InPort("a", 0, (4,)), InPort("b", 0)), (OutPort("o", 0, (4,), value),))
    body = replace(computing("generic"), stages=(stage,))
    assert work_of(body, stage, target).outs[0].evaluate == 128 + 4096 / 4


def test_what_is_computed_below_the_last_act_on_queues_is_one_stretch():
    """Pages are popped 3 at a time, 4 times; the products of each three follow each other: 20 cycles each."""
    update = add(Cell(0), Matmul(Page(0, (Affine.sym("l2"),)), Page(1, (Affine.sym("l2"),)), False))
    state = State("s", (1, 32), "f32", 0, 0.0, 2, update)
    ins = (InPort("a", 1, (3,)), InPort("b", 1, (3,)))
    stage = Stage("f", "matmul", (4, 3), ins, (OutPort("o", 0, (), Cell(0)),), (state,))
    body = replace(computing("matmul"), stages=(stage,), engines=(Engine("compute", (Step("f", -1),)),))
    order = Orders(body, replace(FREE, step_cycles=0.0)).of(body.engines[0], frozenset({"f"}))
    work = [a.time for step in order.steps for a in order.blocks[step] if a.kind == kinds.WORK and a.time]
    assert work == [TICKS * 3 * (16 + 4)] * 4


# ---------------------------------------------------------------- figures


def test_transfers_follow_the_table_of_rates_and_never_pass_the_port():
    network = replace(PAPER.network, rate=28.0, rates=((128.0, 5.0), (512.0, 16.0), (2048.0, 30.0)))
    figures = Figures(replace(PAPER, network=network))
    for size, cycles in ((1, 25.6), (128, 25.6), (512, 32), (320, 28.8), (2048, 2048 / 28), (8192, 8192 / 28)):
        assert figures.transfer(size) == round(cycles * TICKS)


def test_a_chip_without_networks_has_ports_alone():
    figures = Figures(replace(PAPER, network=replace(PAPER.network, count=0, link=0.0, rates=())))
    assert (figures.transfer(640), figures.on_link(640)) == (10 * TICKS, 0)


# ---------------------------------------------------------------- places


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Body, Tensor, Bind]:
    """A load of one page anywhere in a binding anywhere in a tensor of any layout."""
    layout = draw(st.sampled_from(("flat", "dense", "values", "scales")))
    plane = layout if layout in ("values", "scales") else ""
    unit = 32 if plane else 1
    shape = (draw(st.integers(1, 5)), unit * draw(st.integers(1, 70 // unit + 3)), draw(st.integers(1, 100)))
    origin = (
        draw(st.integers(0, shape[0] - 1)),
        unit * draw(st.integers(0, shape[1] // unit - 1)),
        draw(st.integers(0, shape[2] - 1)),
    )
    extent = (
        1,
        unit * draw(st.integers(1, (shape[1] - origin[1]) // unit)),
        draw(st.integers(1, shape[2] - origin[2])),
    )
    page = (draw(st.sampled_from((1, 7, 32))), draw(st.sampled_from((1, 16, 32))))
    rows = extent[1] // 32 if plane == "scales" else extent[1]
    place = (0, draw(st.integers(0, rows - 1)), draw(st.integers(0, extent[2] - 1)))
    prec = "q8_0" if plane else draw(st.sampled_from(("f32", "bf16")))
    kept = "q8_0" if plane else layout
    stored = {"values": "i8", "scales": "f16"}.get(plane, prec)
    stage = load("ld", "q", 0, at("x", *place, plane=plane))
    operand = Operand("x", prec, kept, extent, "in")
    body = Body((operand,), (1, 1), Items((1,), (1,), (Affine.sym("t0"),)), (Queue("q", page, stored, 1),), (stage,))
    return body, Tensor("x", shape, prec, "input", kept), Bind("x", 0, origin, extent)


@settings(max_examples=150, **QUIET)
@given(accesses(), st.sampled_from((1, 2, 3)))
def test_a_page_is_moved_in_runs_that_hold_its_elements_and_lie_in_their_banks(found, banks: int):
    """Bank by bank: its runs are as many bytes as the page's elements there and the padding around them in their tiles,
    and no fewer than the elements alone."""
    body, tensor, bind = found
    figures = Figures(replace(memory(PAPER, banks=banks, align=1, granule=1), tile=(32, 32)))
    stage, access = body.stages[0], body.stages[0].access
    assert access is not None
    moves = moves_of(body, stage, tensor, bind, figures)
    plane = layout_of(tensor.layout, tensor.prec, tensor.shape, figures.target).plane(access.plane)
    unit = 32 if access.plane == "scales" else 1
    start = (bind.origin[0], bind.origin[1] // unit, bind.origin[2])
    extent = (bind.extent[0], bind.extent[1] // unit, bind.extent[2])
    row, col = (access.place[n].const for n in (1, 2))
    page = body.queues[0].page
    slices = 0 if plane.slice_bytes >= stretch_of(tensor, figures) * banks else start[0]
    stored: set[int] = set()
    for r in range(row, min(row + page[0], extent[1])):
        for c in range(col, min(col + page[1], extent[2])):
            first = plane.offset(slices, start[1] + r, start[2] + c)
            stored |= set(range(first, first + plane.itemsize))
    (kind,) = moves.kinds[0, 0]
    moved = sum(sum(runs.sizes) for runs in moves.runs[kind])
    breaks = 1 + sum(b - a > 1 for a, b in zip(sorted(stored), sorted(stored)[1:], strict=False))
    reaches = any(o + e == n for o, e, n in zip(start[1:], extent[1:], (plane.rows, plane.cols), strict=True))
    if not reaches:
        assert moved == len(stored)
        assert sum(len(runs.sizes) for runs in moves.runs[kind]) == breaks
    assert len(stored) <= moved <= page[0] * page[1] * plane.itemsize
    if breaks == 1 and not reaches:
        assert [runs.bank for runs in moves.runs[kind]] == [min(stored) // stretch_of(tensor, figures) % banks]


def test_layers_of_a_stack_lie_alike_and_small_slices_follow_each_other():
    figures = Figures(memory(PAPER, banks=3))
    large, small = Tensor("w", (4, 64, 64), "f32", "weight", "dense"), Tensor("h", (4, 1, 1024), "f32", "state", "flat")

    def phases(tensor: Tensor):
        extent = (1, tensor.shape[1], tensor.shape[2])
        return [phase_of(tensor, Bind(tensor.name, 0, (s, 0, 0), extent), figures) for s in range(4)]

    assert len(set(phases(large))) == 1
    assert [p.bank for p in phases(small)] == [0, 1, 2, 0]


def test_a_gather_is_taken_to_go_through_its_table_in_order():
    """Rows of 1024 floats named by an index table: row n lies in bank n, as the table is taken to hold 0, 1, 2, …"""
    index = load("li", "qi", 0, at("i", 0, 0, "i0"))
    access = replace(at("x", 0, 0, 0), index=Index(0, 1))
    stage = Stage("ld", "load", (), (InPort("qi", 0),), (OutPort("q", 0),), access=access)
    body = Body(
        (Operand("x", "f32", "flat", (1, 9, 1024), "in"), Operand("i", "i32", "flat", (1, 1, 5), "in")),
        (1, 1),
        Items((5,), (5,), (Affine.sym("t0"),)),
        (Queue("q", (1, 32), "f32", 1), Queue("qi", (1, 1), "i32", 1)),
        (index, stage),
    )
    program = program_of(body)
    moves = moves_of(body, stage, program.tensors[0], program.phases[0][0].binds[0], Figures(memory(PAPER, banks=4)))
    assert [moves.runs[kind][0].bank for kind in moves.kinds[0, 0]] == [0, 1, 2, 3, 0]
