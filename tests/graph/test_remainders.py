"""A quotient held by another statement goes back into its remainder, and into nothing else."""

from __future__ import annotations

import pytest

from spatial.graph.ranges import ranges_of
from spatial.graph.remainders import with_remainders
from spatial.ir.graph import Block, Fn, Graph, GraphTensor, Num, Piece, Read, Reduction, Statement, Value

C, Q = Read(0, ()), Read(1, ())


def num(value: int) -> Value:
    return Num(value, "int")


def op(fn: str, *args: Value) -> Value:
    return Fn(fn, args, "int")


NEXT = op("add", C, num(1))
QUOTIENT = op("floordiv", NEXT, num(4))
REST = op("sub", NEXT, op("mul", num(4), Q))


def graph(quotient: Piece, value: Value, over: int | None = None) -> Graph:
    tensors = (GraphTensor((), "int", "input", "c", (0, 3)), *(GraphTensor((), "int", "made") for _ in range(2)))
    nodes = (Statement(1, (quotient,), over), Statement(2, (Piece((), (), (), value),)))
    return Graph(tensors, nodes, (("y", 2),), ())


def scalar(value: Value) -> Piece:
    return Piece((), (), (), value)


@pytest.mark.parametrize("value", (REST, op("sub", NEXT, op("mul", Q, num(4)))))
def test_a_remainder_is_whole_again_and_so_bounded(value: Value):
    before = graph(scalar(QUOTIENT), value)
    after = with_remainders(before)
    assert ranges_of(before)[2] == (-3, 4) and ranges_of(after)[2] == (0, 3)
    assert after.nodes[0] == before.nodes[0]


def test_a_remainder_inside_others_and_in_a_block_is_found():
    inner = Statement(2, (scalar(op("max", REST, num(2))),))
    before = graph(scalar(QUOTIENT), num(0))
    block = Block(3, (inner,), ())
    after = with_remainders(Graph(before.tensors, (before.nodes[0], block), (), ()))
    assert ranges_of(after)[2] == (2, 3)


@pytest.mark.parametrize(
    ("quotient", "value"),
    (
        (scalar(QUOTIENT), op("sub", NEXT, op("mul", num(5), Q))),
        (scalar(QUOTIENT), op("sub", op("mul", C, num(2)), op("mul", num(4), Q))),
        (scalar(QUOTIENT), op("add", NEXT, op("mul", num(4), Q))),
        (scalar(op("truncdiv", NEXT, num(4))), REST),
        (scalar(op("floordiv", NEXT, C)), REST),
        (Piece((), (3,), (), op("floordiv", NEXT, num(4)), (Reduction("sum", C),)), REST),
        (Piece((), (), (), QUOTIENT, (), (Fn("lt", (C, num(2)), "bool"),)), REST),
    ),
)
def test_what_is_no_remainder_stays(quotient: Piece, value: Value):
    found = graph(quotient, value)
    assert with_remainders(found) == found


def test_a_quotient_over_another_tensor_stays():
    found = graph(scalar(QUOTIENT), REST, over=0)
    assert with_remainders(found) == found
