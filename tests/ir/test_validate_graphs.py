"""Graphs in which an item is made twice, or not at all, are seen where places are plain; the rest is left to others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from graphs import at, fn, num, read, var, via
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.graph import Block, Carried, Graph, GraphTensor, Lifted, Piece, Statement, Value, Var
from spatial.ir.validate import validate_graph
from spatial.lowering import lower

COUNT, STATE, MADE = range(3)


def piece(par: Sequence[int], *pos: object, guards: tuple[Value, ...] = ()) -> Piece:
    return Piece(tuple(par), (), at(*pos), num(1.0), (), guards)  # type: ignore[arg-type]


def graph(dims: tuple[int, ...], over: int | None, *pieces: Piece) -> Graph:
    tensors = (
        GraphTensor((1,), "int", "input", "count", (0, 4)),
        GraphTensor(dims, "float", "state", "kept"),
        GraphTensor(dims, "float", "made"),
    )
    return Graph(tensors, (Statement(MADE, tuple(pieces), over),), (("y", MADE),), ())


LATE = fn("le", read(COUNT, 0), Var(var(0)), kind="bool")

FINE = {
    "one piece": graph((6, 4), None, piece((6, 4), var(0), var(1))),
    "axes exchanged": graph((6, 4), None, piece((4, 6), var(1), var(0))),
    "a number": graph((), None, piece(())),
    "runs end to end": graph((6,), None, piece((4,), var(0)), piece((2,), var(0) + 4)),
    "even and odd, counted down": graph((6,), None, piece((3,), var(0, 2)), piece((3,), var(0, -2) + 5)),
    "a row over a table": graph((6, 4), STATE, piece((4,), 2, var(0))),
    "a condition": graph((6,), STATE, piece((6,), var(0), guards=(LATE,)), piece((2,), var(0) + 2, guards=(LATE,))),
    "what a run decides is left to others": graph((6,), STATE, piece((4,), var(0)), piece((), via(COUNT, 0))),
    "a table of more items than are listed": graph(
        (1 << 20, 2), None, piece((1 << 20, 2), var(0), var(1, -1) + 1), piece((), 0, 0)
    ),
}

BROKEN = {
    "runs that share an item": (
        "item (3,) is written 2 times",
        graph((6,), None, piece((4,), var(0)), piece((3,), var(0) + 3)),
    ),
    "a number twice": ("item () is written 2 times", graph((), None, piece(()), piece(()))),
    "a row and a column": ("item (2, 3)", graph((6, 4), STATE, piece((4,), 2, var(0)), piece((6,), var(0), 3))),
    "a sum of two variables": ("item (1,)", graph((6,), None, piece((3, 4), var(0) + var(1)))),
    "an axis written twice": ("item (0, 1) is written by no piece", graph((4, 4), None, piece((4,), var(0), var(0)))),
    "a run that ends early": ("item (5,) is written by no piece", graph((6,), None, piece((5,), var(0)))),
    "a run that ends late": ("writes 1..6 of a tensor of (6,)", graph((6,), None, piece((6,), var(0) + 1))),
    "an axis too few": ("one place for each axis", graph((6, 4), None, piece((6,), var(0)))),
    "a huge table, twice at one place": ("item (7,)", graph((1 << 50,), STATE, piece((), 7), piece((), 7))),
    "a condition over nothing": ("not write all", graph((6,), None, piece((6,), var(0), guards=(LATE,)))),
    "a run-time place over nothing": ("not write all", graph((6,), None, piece((), via(COUNT, 0)))),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_graph_without_a_visible_fault_is_valid(name: str):
    assert validate_graph(FINE[name]) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_visible_fault_is_told_with_its_place(name: str):
    words, broken = BROKEN[name]
    (found,) = validate_graph(broken)
    assert words in found.what and str(found.place) == "node 0"


def test_a_graph_with_a_fault_is_not_lowered():
    _, broken = BROKEN["runs that share an item"]
    with pytest.raises(Bug, match="is written 2 times"):
        lower(Lifted(broken, (), 1, 0, 0, 0, ()), {}, REFERENCE)


@pytest.mark.parametrize("shift, valid", [(4, True), (3, False)])
def test_a_block_is_looked_at_for_its_first_instance_and_all_ends(shift: int, valid: bool):
    tensor = GraphTensor((3, 8), "float", "made")
    parts = (piece((4,), Affine.sym("b"), var(0)), piece((4,), Affine.sym("b"), var(0) + shift))
    start = GraphTensor((3, 8), "float", "state", "kept")
    for trip in (3, 4):
        block = Block(trip, (Statement(2, parts, 1),), (Carried(0, 1, 2, 3),))
        found = validate_graph(Graph((start, tensor, tensor, tensor), (block,), (), (("kept", 0, 3),)))
        assert (found == []) == (valid and trip == 3)
        assert all(str(p.place) == "node 0 / statement 0" for p in found)


@st.composite
def drawn_pieces(draw: st.DrawFn) -> Piece:
    places = [Affine.of(draw(st.integers(0, 3)), {v: draw(st.integers(-1, 2)) for v in ("v0", "v1")}) for _ in range(2)]
    return piece((draw(st.integers(1, 3)), draw(st.integers(1, 3))), *places)


@given(st.lists(drawn_pieces(), min_size=1, max_size=3), st.booleans())
@settings(max_examples=200, deadline=None)
def test_plain_places_are_counted_out(pieces: list[Piece], over: bool):
    written = [
        tuple(i.base.at({"v0": a, "v1": b}) for i in p.pos)
        for p in pieces
        for a, b in product(range(p.par[0]), range(p.par[1]))
    ]
    items = list(product(range(4), range(4)))
    right = len(set(written)) == len(written) and set(written) <= set(items) and (over or len(written) == 16)
    assert (validate_graph(graph((4, 4), STATE if over else None, *pieces)) == []) == right
