"""Places that only a run knows: refused where nothing keeps them inside their table, held inside under a guard."""

from __future__ import annotations

import pytest
from graphs import Drawn, Graph, Maker, Piece, Statement, at, fn, num, read, var, via
from running import lowered
from support import REFERENCE

from spatial.check import check_program
from spatial.ir.affine import Affine
from spatial.ir.graph import Block, Carried


def written(low: int, high: int, guarded: bool) -> Graph:
    """An item of a state of six at place[0] - 1."""
    make = Maker()
    place = make.table((1,), kind="int", bounds=(low, high))
    values, kept = make.table((6,)), make.table((6,), role="state")
    guards = (fn("lt", num(0), read(place, 0), kind="bool"),) if guarded else ()
    piece = Piece((), (), at(via(place, 0, base=-1)), read(values, 2), (), guards)
    new = make.put(make.made((6,)), piece, over=kept)
    make.state.append((make.tensors[kept].name, kept, new))
    make.result(make.map((6,), fn("neg", read(values, var(0)))))
    return make.graph()


def by_turns(low: int, high: int) -> Graph:
    """Items of a state of six at place[0] + b, by three iterations of a block."""
    make = Maker()
    place = make.table((1,), kind="int", bounds=(low, high))
    values, kept = make.table((6,)), make.table((6,), role="state")
    inner, made, final = make.made((6,)), make.made((6,)), make.made((6,))
    turn = Affine.sym("b")
    body = Statement(made, (Piece((), (), at(via(place, 0, base=turn)), read(values, turn)),), inner)
    make.nodes.append(Block(3, (body,), (Carried(kept, inner, made, final),)))
    make.state.append((make.tensors[kept].name, kept, final))
    return make.graph()


@pytest.mark.parametrize(
    ("graph", "sections"),
    (
        (written(1, 6, False), 2),
        (written(1, 6, True), 2),
        (written(0, 6, True), 3),
        (written(-9, 90, True), 3),
        (by_turns(0, 3), 3),
        (by_turns(1, 3), 3),
    ),
)
def test_a_place_that_stays_inside_lowers_and_only_where_it_must_through_a_tensor_of_its_own(
    graph: Graph, sections: int
):
    result = lowered(Drawn(graph), REFERENCE)
    assert check_program(result.into_whole(), REFERENCE).accepted
    assert result.sections == sections


@pytest.mark.parametrize(
    ("graph", "why"),
    (
        (written(0, 6, False), "may be column -1 to 5 of 6"),
        (written(1, 7, False), "may be column 0 to 6 of 6"),
        (by_turns(0, 4), "added to the number of a block's iteration"),
        (by_turns(-1, 3), "added to the number of a block's iteration"),
    ),
)
def test_a_place_that_nothing_keeps_inside_is_refused(graph: Graph, why: str):
    result = lowered(Drawn(graph), REFERENCE)
    assert result.whole() is None
    (missing,) = result.missing
    assert why in missing.why
    assert "declare a narrower range" in missing.mend
