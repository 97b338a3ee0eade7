"""Bodies that are not well formed are refused with the stage named, all problems at once, by both executors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sections.cases import CASES
from simulate.bodies import add, at, forms, matmul, product
from simulate.test_agreement import program_of
from simulate.test_corpus import loaded
from support import REFERENCE

from spatial.errors import Refused, Unsupported
from spatial.ir.body import (
    Body,
    Cell,
    Const,
    Convert,
    Expr,
    InPort,
    Items,
    Lanes,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Rect,
    Stage,
)
from spatial.simulate.run import run_program
from spatial.simulate.structure import LONGEST, check_structure

BODY = product(32, 64, 32, 32, 1)


def with_stage(name: str, change: Callable[[Stage], Stage]) -> Body:
    return replace(BODY, stages=tuple(change(s) if s.name == name else s for s in BODY.stages))


def updating(update: Expr) -> Body:
    return with_stage("mm", lambda s: replace(s, states=(replace(s.states[0], update=update),)))


def pushing(value: Expr) -> Body:
    return with_stage("mm", lambda s: replace(s, outs=(replace(s.outs[0], value=value),)))


def access(name: str, **more: object) -> Body:
    return with_stage(name, lambda s: replace(s, access=replace(s.access, **more)))  # type: ignore[type-var]


BROKEN = (
    (replace(BODY, items=Items((0,), (1,), forms("t0"))), "extent of the body is below 1"),
    (replace(BODY, items=Items((1, 1), (1,), forms("t0"))), "1 item coordinates meet a grid of 2 axes"),
    (replace(BODY, stages=(*BODY.stages, BODY.stages[0])), "two stages are called la"),
    (replace(BODY, queues=BODY.queues[:2]), "a port uses queue qo"),
    (replace(BODY, queues=(replace(BODY.queues[0], prec="f33"), *BODY.queues[1:])), "no precision is called f33"),
    (with_stage("la", lambda s: replace(s, kind="lode")), "no stage kind is called so"),
    (with_stage("la", lambda s: replace(s, access=None)), "stage la is a load without a place"),
    (with_stage("la", lambda s: replace(s, outs=(OutPort("qa", 2),))), "stage la has a port of depth 2"),
    (with_stage("la", lambda s: replace(s, ins=(InPort("qb", 1),))), "load la has 1 in ports"),
    (with_stage("st", lambda s: replace(s, ins=())), "store st has 0 in ports"),
    (access("la", operand="z"), "stage la reaches operand z"),
    (access("st", mask=3), "stage st names a port it does not have"),
    (updating(add(Cell(0), Op("mul", (Page(0), Page(1))))), "the update of acc in stage mm is no product"),
    (updating(add(Cell(3), matmul())), "reads state 3"),
    (updating(add(Cell(0), matmul(0, 5))), "reads port 5"),
    (updating(add(Cell(0, forms("l1")), matmul())), "chooses by 1 forms among the cells of acc"),
    (pushing(Convert("f33", Cell(0))), "converts to f33"),
    (pushing(Lanes("product", "rows", Cell(0))), "reduces by product"),
    (pushing(Op("mul", (Cell(0),))), "uses mul with 1 operands"),
    (pushing(Op("select", (Cell(0), Const(1.0, "float")))), "uses select with 2 operands"),
    (with_stage("mm", lambda s: replace(s, outs=(OutPort("qo", 0),))), "pushes to qo without a value"),
    (with_stage("mm", lambda s: replace(s, states=(replace(s.states[0], at=-1),))), "lives at 0 and changes at -1"),
    (with_stage("mm", lambda s: replace(s, states=(replace(s.states[0], cells=(2,)),))), "chooses its cell by 0 forms"),
)


@pytest.mark.parametrize("body, match", BROKEN)
def test_what_cannot_be_run_is_said(body: Body, match: str):
    with pytest.raises(Refused, match=match):
        check_structure(body)
    program = program_of(body)
    tables = {"a": np.zeros((1, 32, 64)), "b": np.zeros((1, 64, 32))}
    for executor in ("lockstep", "pagewise"):
        with pytest.raises(Refused, match=match):
            run_program(program, REFERENCE, loaded(program, tables, REFERENCE), executor)


def test_pages_that_do_not_fit_each_other():
    narrow = replace(BODY, queues=(replace(BODY.queues[0], page=(32, 16)), *BODY.queues[1:]))
    with pytest.raises(Refused, match="multiplies pages of 16 columns and 32 rows"):
        check_structure(narrow)
    flat = replace(BODY, queues=(*BODY.queues[:2], replace(BODY.queues[2], page=(8, 32))))
    with pytest.raises(Refused, match="what it pushes to qo in stage mm is 32 x 32; it must be 8 x 32"):
        check_structure(flat)


def test_pages_handed_on_keep_their_shape_and_their_number():
    hand = Stage("hand", "permute", (), (InPort("p", 0),), (OutPort("r", 0),), perm=(1, 0, 5))
    queues = (Queue("p", (1, 3), "f32"), Queue("r", (1, 3), "f32"))
    body = Body((), (2, 1), Items((1,), (1,), forms("t0")), queues, (hand,))
    with pytest.raises(Refused, match="no permutation of 3 lanes"):
        check_structure(body)
    for change, match in (
        (replace(hand, perm=(1, 0)), "makes pages of 1 x 2 f32"),
        (replace(hand, perm="transpose"), "makes pages of 3 x 1 f32"),
        (replace(hand, kind="multicast", group=(3, 1)), "beyond the body's rectangle"),
        (replace(hand, kind="multicast", group=(2, 1)), "beyond the body's rectangle"),
        (replace(hand, kind="scatter", on=Rect(0, 0, 1, 1), group=(2, 1)), "pops 2 for each it pushes|it pops 2"),
        (replace(hand, perm=(0, 1, 2), outs=()), "needs one of each"),
    ):
        with pytest.raises(Refused, match=match):
            check_structure(replace(body, stages=(change,)))
    check_structure(replace(body, stages=(replace(hand, perm=(2, 1, 0)),)))


def test_all_problems_come_at_once():
    body = replace(updating(add(Cell(3), matmul())), items=Items((1, 1), (1,), forms("t0")))
    with pytest.raises(Refused) as caught:
        check_structure(body)
    assert len(caught.value.problems) == 2


def test_an_endless_schedule_is_not_begun():
    body = with_stage("la", lambda s: replace(s, loops=(LONGEST + 1,)))
    with pytest.raises(Unsupported, match="a site moves"):
        check_structure(body)


def test_the_corpus_is_well_formed():
    for case in CASES:
        for body in case.program().bodies:
            check_structure(body)


def test_a_call_binds_every_operand():
    program = program_of(BODY)
    call = program.phases[0][0]
    short = replace(program, phases=((replace(call, binds=call.binds[:2]),),))
    tables = {"a": np.zeros((1, 32, 64)), "b": np.zeros((1, 64, 32))}
    for executor in ("lockstep", "pagewise"):
        with pytest.raises(Refused, match="binds 2 operands"):
            run_program(short, REFERENCE, loaded(short, tables, REFERENCE), executor)


def test_a_queue_may_have_other_ends_on_other_sites():
    """Two readers, each on its half, push to one queue; each site still has one producer and one consumer."""
    left = Stage("left", "load", outs=(OutPort("q", 0),), access=at("x", 0, "sx", 0), on=Rect(0, 0, 2, 1))
    right = Stage("right", "load", outs=(OutPort("q", 0),), access=at("z", 0, "sx - 2", 0), on=Rect(2, 0, 1, 1))
    store = Stage("st", "store", (), (InPort("q", 0),), access=at("y", 0, "i0", 0))
    operands = (
        Operand("x", "f32", "flat", (1, 2, 4), "in"),
        Operand("z", "f32", "flat", (1, 1, 4), "in"),
        Operand("y", "f32", "flat", (1, 3, 4), "out"),
    )
    body = Body(operands, (3, 1), Items((3,), (1,), forms("sx")), (Queue("q", (1, 4), "f32", 1),), (left, right, store))
    program = program_of(body)
    tables = {"x": np.arange(8.0).reshape(1, 2, 4), "z": np.arange(8.0, 12.0).reshape(1, 1, 4)}
    for executor in ("lockstep", "pagewise"):
        memory = loaded(program, tables, REFERENCE)
        run_program(program, REFERENCE, memory, executor)
        assert memory.get("y").ravel().tolist() == list(range(12))
