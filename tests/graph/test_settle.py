"""States end where they began: a copy is added for those that would not, and nothing else is touched."""

from __future__ import annotations

from spatial.graph.settle import settle
from spatial.ir.affine import Affine
from spatial.ir.graph import At, Block, Carried, Fn, Graph, GraphTensor, Num, Piece, Read, Statement

HERE = (At(Affine.sym("v0")),)


def twice(source: int) -> Piece:
    return Piece((4,), (), HERE, Fn("mul", (Num(2, "int"), Read(source, HERE)), "int"))


def graph(*nodes: Statement | Block, count: int, end: int) -> Graph:
    made = tuple(GraphTensor((4,), "int", "made", "", (0, 9)) for _ in range(count - 1))
    return Graph((GraphTensor((4,), "int", "state", "s", (0, 9)), *made), nodes, (), (("s", 0, end),))


def test_a_state_made_beside_its_table_is_copied_over_it() -> None:
    settled = settle(graph(Statement(1, (twice(0),)), count=2, end=1))
    assert settled.state == (("s", 0, 2),)
    assert settled.tensors[2] == GraphTensor((4,), "int", "made", "", (0, 9))
    assert settled.nodes[1] == Statement(2, (Piece((4,), (), HERE, Read(1, HERE)),), over=0)


def test_a_state_written_over_in_place_is_left_alone() -> None:
    found = graph(Statement(1, (twice(0),), over=0), Statement(2, (twice(1),), over=1), count=3, end=2)
    assert settle(found) == found


def test_a_state_carried_through_a_block_in_place_is_left_alone() -> None:
    block = Block(3, (Statement(2, (twice(1),), over=1),), (Carried(0, 1, 2, 3),))
    found = graph(block, count=4, end=3)
    assert settle(found) == found


def test_a_state_that_is_not_written_is_left_alone() -> None:
    found = graph(count=1, end=0)
    assert settle(found) == found
