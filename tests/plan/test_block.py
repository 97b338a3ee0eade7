"""Blocking: more pages at once, the same terms in the same order for every accumulator."""

from __future__ import annotations

import pytest
from graphs import Drawn, Maker, Piece, at, drawn, fn, num, read, var, via
from plan.templates import template_of
from support import REFERENCE

from spatial.errors import Bug
from spatial.ir.graph import Acc, Reduction, Statement
from spatial.plan.block import block, blockable, depends


def matrices() -> Drawn:
    make = Maker()
    a, b = make.table((64, 128)), make.table((128, 96))
    term = fn("mul", read(a, var(0), var(2)), read(b, var(2), var(1)))
    piece = Piece((64, 96), (128,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((64, 96)), piece))
    return drawn(make, 0)


def test_queues_depend_on_the_coordinates_that_change_them():
    body = template_of(matrices(), REFERENCE)
    assert depends(body, "i0") == {"x0", "acc0"}
    assert depends(body, "i1") == {"x1", "acc0"}
    assert depends(body, "l1") == {"x0", "x1"}


def test_a_blocked_axis_moves_pages_together_and_keeps_cells():
    body = block(template_of(matrices(), REFERENCE), "i1", 3)
    assert body.items.grid == (2, 1)
    assert [p.pages for p in body.stage("product").ins] == [(), (3,)]
    assert body.stage("product").states[0].cells == (3,)
    assert body.stage("product").loops == (4, 3)
    assert str(body.stage("load_x1").access.place[2]) == "96*i1 + 32*p0"


def test_a_blocked_loop_meets_its_terms_in_order():
    body = block(template_of(matrices(), REFERENCE), "l1", 2)
    stage = body.stage("product")
    assert (stage.loops, stage.states[0].cells, stage.states[0].at) == ((2, 2), (), 2)
    assert str(body.stage("load_x0").access.place[2]) == "64*l1 + 32*p0"


def test_a_loop_over_one_page_turns_as_often_when_blocked():
    make = Maker()
    x = make.table(())
    power = Reduction("product", fn("add", num(1.0), fn("mul", num(0.5), read(x))), (), None, None)
    statement = Statement(make.made((3,)), (Piece((3,), (4,), at(var(0)), Acc(0), (power,)),))
    make.nodes.append(statement)
    make.result(statement.out)
    body = template_of(drawn(make, 0), REFERENCE)
    (stage,) = (s for s in body.stages if s.states)
    assert stage.loops == (4,)
    (blocked,) = (s for s in block(body, "l1", 2).stages if s.states)
    assert blocked.loops == (2, 2) and blocked.states[0].at == 2


def test_a_run_time_index_that_changes_along_an_axis_forbids_blocking_it():
    make = Maker()
    ids, table = make.table((7,), "int", "input", (0, 49)), make.table((50, 96))
    make.result(make.map((7, 96), read(table, via(ids, var(0)), var(1))))
    body = template_of(drawn(make, 0), REFERENCE)
    assert [blockable(body, f"i{n}") for n in range(len(body.items.grid))] == [False, True]


def test_a_factor_divides_its_axis():
    with pytest.raises(Bug, match="item axis i1 of 3 is blocked by 2"):
        block(template_of(matrices(), REFERENCE), "i1", 2)
