"""Bounds of random expressions, as the lowering proves them and as the checker does, beside all their values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from check.mutants import read
from support import REFERENCE

from spatial.check.expression_spans import Flow, Scope, span_of
from spatial.check.spans import ANY_FLOAT, Span, ints
from spatial.graph.conditions import Bounds
from spatial.graph.ranges import range_of_value
from spatial.ir import graph as g
from spatial.ir.affine import Affine
from spatial.ir.body import Const, Coord, Expr, InPort, Op, Page
from spatial.passes.expression_bounds import Place, bounds_of_value, whole

SMALL = (-2, 3)
"""The range of the integers that are read."""
LOOPS = 4
FLOATS = (math.nan, -math.inf, -3.5, -0.25, 0.0, 1.0, 2.75, math.inf)

COMPARED: dict[str, Callable[[float, float], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


class Drawn:
    """Random expressions of a small stage: an integer page, a float page and a loop."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, kind: str, depth: int) -> Expr:
        pick = self.random
        if depth == 0 or pick.random() < 0.15:
            return self.leaf(kind)
        if pick.random() < 0.5:
            return Op("select", (self.truth(depth - 1), self.number(kind, depth - 1), self.number(kind, depth - 1)))
        op = pick.choice(("add", "sub", "mul", "min", "max", "neg"))
        return Op(op, tuple(self.number(kind, depth - 1) for _ in range(1 if op == "neg" else 2)))

    def leaf(self, kind: str) -> Expr:
        if kind == "float":
            return self.random.choice((Page(1), Page(1), Const(self.random.choice((-2.0, 0.0, 0.1, 2.0)), "float")))
        form = Affine.of(self.random.randint(-2, 2), {"l1": self.random.choice((-1, 1))})
        return self.random.choice((Page(0), Page(0), Coord(form, (1, 1)), Const(self.random.randint(-2, 3), "int")))

    def truth(self, depth: int) -> Expr:
        draw = self.random.random()
        if depth > 0 and draw < 0.2:
            return Op("not", (self.truth(depth - 1),))
        if depth > 0 and draw < 0.4:
            return Op(self.random.choice(("and", "or")), (self.truth(depth - 1), self.truth(depth - 1)))
        kind = self.random.choice(("int", "int", "float"))
        level = self.random.randint(0, max(depth - 1, 0))
        sides = [self.number(kind, level), self.leaf(kind)]
        self.random.shuffle(sides)
        return Op(self.random.choice(tuple(COMPARED)), tuple(sides))


def value_of(e: Expr, at: tuple[int, float, int]) -> float:
    match e:
        case Page(port):
            return at[port]
        case Coord(form, _):
            return form.at({"l1": at[2]})
        case Const(v, "int"):
            return int(v)
        case Const(v, _):
            return np.float32(v)
        case Op(op, args):
            return applied(op, [value_of(a, at) for a in args])
        case _:
            raise AssertionError(e)


def applied(op: str, args: list[float]) -> float:
    if op in COMPARED:
        return COMPARED[op](args[0], args[1])
    match op:
        case "select":
            return args[1] if args[0] else args[2]
        case "not":
            return not args[0]
        case "and":
            return args[0] and args[1]
        case "or":
            return args[0] or args[1]
        case "neg":
            return -args[0]
        case "min" | "max" if args[0] != args[0] or args[1] != args[1]:
            return args[1] if args[0] != args[0] else args[0]
        case "min":
            return min(args)
        case "max":
            return max(args)
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case _:
            return args[0] * args[1]


def points() -> Iterator[tuple[int, float, int]]:
    floats = [np.float32(f) for f in FLOATS]
    return itertools.product(range(SMALL[0], SMALL[1] + 1), floats, range(LOOPS))


def bounds(e: Expr) -> tuple[Bounds, Span]:
    (body,) = [b for b in read("conditions").bodies if any(s.name == "count" for s in b.stages)]
    (count,) = [s for s in body.stages if s.name == "count"]
    stage = replace(count, loops=(LOOPS,), ins=(InPort("q", 1), InPort("x", 1)))
    place = Place(body, stage, REFERENCE, {0: whole(*SMALL)}, {}, "i64")
    flows = {"q": Flow(ints(*SMALL), ints(*SMALL)), "x": Flow(ANY_FLOAT, ANY_FLOAT)}
    span = span_of(e, Scope(stage, {}, flows, (), {"l1": (0, LOOPS - 1)}, "i64", "f32"))
    assert isinstance(span, Span)
    return bounds_of_value(e, place), span


@pytest.mark.parametrize("kind", ("int", "float"))
@pytest.mark.parametrize("seed", range(150))
def test_no_value_lies_outside_the_bounds_and_the_checker_knows_as_much(seed: int, kind: str):
    e = Drawn(seed).number(kind, 4)
    proved, span = bounds(e)
    with np.errstate(all="ignore"):
        values = [value_of(e, at) for at in points()]
    assert proved.nan or not any(v != v for v in values), e
    assert span.nan or not any(v != v for v in values), e
    numbers = [v for v in values if v == v]
    for low, high in ((proved.low, proved.high), (span.low, span.high)):
        assert all(low <= v <= high for v in numbers), (e, low, high)
    assert proved.low <= span.low and span.high <= proved.high and proved.nan >= span.nan, e


def as_graph(e: Expr) -> g.Value:
    match e:
        case Page():
            return g.Read(0, ())
        case Coord(form, _):
            return g.Var(form.subst({"l1": Affine.sym("v0")}))
        case Const(v, kind):
            return g.Num(v, kind)
        case Op(op, args):
            truth = op in COMPARED or op in ("and", "or", "not")
            return g.Fn(op, tuple(as_graph(a) for a in args), "bool" if truth else "int")
        case _:
            raise AssertionError(e)


@pytest.mark.parametrize("seed", range(150))
def test_no_value_of_a_graph_lies_outside_its_range(seed: int):
    e = Drawn(seed).number("int", 4)
    if any(isinstance(x, Page) and x.port == 1 for x in parts(e)):
        e = Op("select", (Op("lt", (Coord(Affine.sym("l1"), (1, 1)), Const(2, "int"))), Page(0), Const(seed, "int")))
    found = range_of_value(as_graph(e), g.Piece((LOOPS,), (), (), g.Num(0, "int")), {0: SMALL})
    assert found is not None
    assert all(found[0] <= value_of(e, at) <= found[1] for at in points()), (e, found)


def parts(e: Expr) -> Iterator[Expr]:
    yield e
    if isinstance(e, Op):
        for arg in e.args:
            yield from parts(arg)


def test_conditions_are_used():
    turn = Op("select", (Op("lt", (Page(0), Const(3, "int"))), Op("add", (Page(0), Const(1, "int"))), Const(-2, "int")))
    proved, span = bounds(turn)
    assert (proved.low, proved.high) == (span.low, span.high) == (-2, 3)
    inner = Op("select", (Op("lt", (Const(2.0, "float"), Page(1))), Const(2.0, "float"), Page(1)))
    clamp = Op("select", (Op("lt", (inner, Const(-2.0, "float"))), Const(-2.0, "float"), inner))
    proved, span = bounds(clamp)
    assert (proved.low, proved.high, proved.nan) == (span.low, span.high, span.nan) == (-2.0, 2.0, True)
