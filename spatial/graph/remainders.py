"""remainders: a remainder whose quotient another statement holds is computed as one again.

Lifting makes what two statements need a statement of its own, and of a remainder that is its quotient. Then no section
sees that the difference is a remainder, which is never negative and less than the divisor.

    q = (c + 1) // 4;  c' = c + 1 - 4 * q        ->        q = (c + 1) // 4;  c' = c + 1 - 4 * ((c + 1) // 4)

Expects any graph. Ensures the same values; a quotient that nothing reads afterwards stays. Only quotients that are one
number, made outside blocks, are put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spatial.graph.ranges import remainder
from spatial.ir.graph import Block, Fn, Graph, Node, Num, Piece, Read, Reduction, Statement, Value


def with_remainders(graph: Graph) -> Graph:
    """`graph` with the quotients of remainders put back where they stand."""
    held: dict[int, Value] = {}
    for node in graph.nodes:
        match node:
            case Statement(out, (Piece((), (), (), Fn("floordiv", (_, Num()), "int") as quotient, (), ()),), None):
                held[out] = quotient
            case _:
                pass
    return replace(graph, nodes=tuple(_node(n, held) for n in graph.nodes)) if held else graph


def _node(node: Node, held: Mapping[int, Value]) -> Node:
    match node:
        case Statement():
            return replace(node, pieces=tuple(_piece(p, held) for p in node.pieces))
        case Block():
            body = (replace(s, pieces=tuple(_piece(p, held) for p in s.pieces)) for s in node.body)
            return replace(node, body=tuple(body))


def _piece(piece: Piece, held: Mapping[int, Value]) -> Piece:
    return replace(
        piece,
        value=_value(piece.value, held),
        accs=tuple(_reduction(r, held) for r in piece.accs),
        guards=tuple(_value(g, held) for g in piece.guards),
    )


def _reduction(r: Reduction, held: Mapping[int, Value]) -> Reduction:
    return replace(r, value=_value(r.value, held), guards=tuple(_value(g, held) for g in r.guards))


def _value(value: Value, held: Mapping[int, Value]) -> Value:
    match value:
        case Fn("sub", (a, Fn("mul", (Num() as n, Read(tensor, ())) | (Read(tensor, ()), Num() as n))), "int") if (
            tensor in held
        ):
            whole = Fn("sub", (a, Fn("mul", (n, held[tensor]), "int")), "int")
            return value if remainder(whole) is None else whole
        case Fn(fn, args, kind):
            return Fn(fn, tuple(_value(x, held) for x in args), kind)
        case _:
            return value
