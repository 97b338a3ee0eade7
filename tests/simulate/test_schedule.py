"""Schedules: capacities and engine orders that cannot run are refused by both executors, with the queue named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sections.cases import CASES, Case
from simulate.bodies import add, at, form, forms, load, product, q8_product
from simulate.test_agreement import program_of
from support import REFERENCE

from spatial.errors import Refused, Unsupported
from spatial.ir.body import (
    Body,
    Cell,
    Engine,
    InPort,
    Items,
    Loop,
    Operand,
    OutPort,
    Page,
    Queue,
    Rect,
    Stage,
    State,
    Step,
)
from spatial.simulate.counts import check_schedule, site_classes
from spatial.simulate.memory import Memory
from spatial.simulate.pagewise import STRATEGIES, Pagewise
from spatial.simulate.run import run_program

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def refused(body: Body, match: str) -> None:
    """Both executors refuse `body`, and say `match`."""
    with pytest.raises(Refused, match=match):
        check_schedule(body)
    for strategy in STRATEGIES:
        program = program_of(body)
        memory = Memory.of(program, REFERENCE)
        for o in body.operands:
            if o.mode == "in":
                memory.set(o.name, np.zeros(o.extent))
        with pytest.raises(Refused, match=match):
            run_program(program, REFERENCE, memory, Pagewise(REFERENCE, strategy))


@EACH
def test_the_corpus_runs_within_its_capacities(case: Case):
    for body in case.program().bodies:
        check_schedule(body)


@EACH
def test_sites_fall_into_few_classes(case: Case):
    for body in case.program().bodies:
        classes = site_classes(body)
        assert len(classes) == body.rect[0] * body.rect[1]
        if not any(s.on for s in body.stages):
            assert len(set(classes.values())) == 1


def softmax_like(cap: int, order: tuple[Loop | Step, ...]) -> Body:
    """x minus its greatest page, where the row waits in a queue for the paths to join again."""
    row = Operand("x", "f32", "flat", (1, 1, 96), "in"), Operand("y", "f32", "flat", (1, 1, 96), "out")
    best = State("best", (1, 32), "f32", 0, -1e30, 1, add(Cell(0), Page(0)))
    return Body(
        row,
        (1, 1),
        Items((1,), (1,), forms("t0")),
        tuple(Queue(n, (1, 32), "f32", c) for n, c in (("q", 2), ("again", cap), ("m", 1), ("o", 2))),
        (
            load("first", "q", 1, at("x", 0, 0, "32*l1"), (3,)),
            load("second", "again", 1, at("x", 0, 0, "32*l1"), (3,)),
            Stage("sum", "generic", (3,), (InPort("q", 1),), (OutPort("m", 0, (), Cell(0)),), (best,)),
            Stage("sub", "generic", (3,), (InPort("m", 0), InPort("again", 1)),
                  (OutPort("o", 1, (), add(Page(0), Page(1))),)),
            Stage("st", "store", (3,), (InPort("o", 1),), access=at("y", 0, 0, "32*l1")),
        ),
        (
            Engine("mover0", order),
            Engine("compute", (Step("sum", -1), Step("sub", -1))),
            Engine("mover1", (Step("st", -1),)),
        ),
    )  # fmt: skip


TOGETHER = (Loop(3, (Step("first", 1), Step("second", 1))),)


def test_a_rejoining_path_needs_its_capacity():
    check_schedule(softmax_like(3, TOGETHER))
    check_schedule(softmax_like(2, TOGETHER))
    refused(softmax_like(1, TOGETHER), "deadlock: .* room in queue again")


def test_an_order_that_serves_one_path_first_needs_no_room():
    check_schedule(softmax_like(1, (Step("first", -1), Step("second", -1))))
    refused(softmax_like(1, (Step("second", -1), Step("first", -1))), "deadlock: .* queue again")


def test_a_port_of_more_pages_than_the_queue_holds_deadlocks():
    body = product(32, 64, 32, 32, 1)
    stages = [replace(s, ins=(InPort("qo", 0, (3,)),)) if s.name == "st" else s for s in body.stages]
    refused(replace(body, stages=tuple(stages)), "deadlock: .* page of queue qo")


def test_rates_that_do_not_balance_leave_pages():
    body = product(32, 64, 32, 32, 1, cap=8)
    stages = [replace(s, loops=(3,)) if s.name == "lb" else s for s in body.stages]
    engines = (Engine("mover0", (Step("la", -1), Step("lb", -1))), *body.engines[1:])
    refused(replace(body, stages=tuple(stages), engines=engines), "queue qb ends with 1 pages")


@pytest.mark.parametrize(
    "order, match",
    (
        ((Loop(2, (Step("la", 1), Step("lb", 1))), Step("la", 1)), "steps la beyond its end"),
        ((Loop(1, (Step("la", 1), Step("lb", 1))),), "leaves stage la unfinished"),
        ((Loop(2, (Step("la", 2), Step("lb", 1))),), "steps la at depth 2"),
        ((Step("la", -1),), "lb is carried by 0 engines"),
    ),
)
def test_orders_that_do_not_fit_their_stages(order: tuple[Loop | Step, ...], match: str):
    body = product(32, 64, 32, 32, 1)
    refused(replace(body, engines=(Engine("mover0", order), *body.engines[1:])), match)


def test_an_order_that_leaves_a_stage_unfinished():
    body = q8_product(1, 32, 32, 1, 1)
    body = replace(body, items=Items((1,), (2,), forms("t0")))
    short = (Engine("all", tuple(Step(s.name, 0) for s in body.stages)),)
    with pytest.raises(Refused, match="leaves stage cv unfinished"):
        check_schedule(replace(body, engines=short))


def test_a_queue_needs_both_ends_on_each_site():
    body = product(32, 32, 64, 32, 2)
    stages = [replace(s, on=Rect(0, 0, 1, 1)) if s.name == "st" else s for s in body.stages]
    refused(replace(body, stages=tuple(stages)), "queue qo has 1 producers and 0 consumers at site")


def test_a_ring_of_queues_is_refused():
    body = product(32, 32, 32, 32, 1)
    ring = (
        Stage("a", "generic", (), (InPort("qa", 0),), (OutPort("qb", 0, (), Page(0)),)),
        Stage("b", "generic", (), (InPort("qb", 0),), (OutPort("qa", 0, (), Page(0)),)),
    )
    refused(replace(body, queues=body.queues[:2], stages=ring, engines=()), "stages a, b wait for each other")


@pytest.mark.parametrize("kind", ("send", "receive", "allreduce"))
def test_stages_between_chips_are_not_simulated(kind: str):
    body = product(32, 32, 32, 32, 1)
    with pytest.raises(Unsupported, match=f"stage la is a {kind}"):
        check_schedule(replace(body, stages=(replace(body.stages[0], kind=kind), *body.stages[1:])))


def test_queues_without_size_and_stages_without_engines_run_freely():
    body = product(40, 70, 100, 32, 2)
    loose = replace(body, engines=(), queues=tuple(replace(q, cap=0) for q in body.queues))
    check_schedule(loose)
    assert form(3).is_const


@EACH
def test_halving_every_capacity_in_turn_never_changes_a_result(case: Case):
    """A capacity that is too small deadlocks or does no harm; it never makes another result."""
    program = case.program()
    for b, body in enumerate(program.bodies):
        for q, queue in enumerate(body.queues):
            if queue.cap < 2:
                continue
            queues = (*body.queues[:q], replace(queue, cap=queue.cap // 2), *body.queues[q + 1 :])
            smaller = replace(body, queues=queues)
            changed = replace(program, bodies=(*program.bodies[:b], smaller, *program.bodies[b + 1 :]))
            outcomes: list[object] = []
            for run in (program, changed):
                memory = Memory.of(run, REFERENCE)
                for name, array in case.inputs(0).items():
                    tensor, _, plane = name.partition(".")
                    memory.set(tensor, array, plane)
                try:
                    run_program(run, REFERENCE, memory)
                except Refused as deadlocked:
                    assert f"queue {queue.name}" in str(deadlocked) or "deadlock" in str(deadlocked)
                    break
                outcomes.append([memory.get(t).tobytes() for _, t, _ in run.results])
            assert len(outcomes) < 2 or outcomes[0] == outcomes[1]
