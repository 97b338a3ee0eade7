"""Printing and parsing are each other's inverse, on random trees and on whole programs."""

import math
import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.errors import UsageError
from spatial.logos.parser import parse
from spatial.logos.printer import print_expr, print_program
from spatial.logos.syntax import (
    Assert,
    Binary,
    BinaryOp,
    BoolLiteral,
    Break,
    Call,
    CallStmt,
    Copy,
    Expr,
    FloatLiteral,
    Function,
    Hole,
    If,
    Index,
    Interpolation,
    IntLiteral,
    Length,
    Let,
    ListLiteral,
    Name,
    Native,
    NewSeq,
    Not,
    NothingLiteral,
    Param,
    Pop,
    Program,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Show,
    Slice,
    Stmt,
    TextLiteral,
    Type,
    While,
)

NAMES = st.sampled_from(["x", "xs", "the", "a", "row_2", "plus", "item_count", "items", "α", "True", "N"])
SCALARS = st.sampled_from([Type("Int"), Type("Float"), Type("Bool"), Type("Text")])
TYPES = st.recursive(SCALARS, lambda inner: inner.map(lambda t: Type("Seq", t)), max_leaves=3)
FLOATS = st.floats().map(lambda x: abs(x) if math.isnan(x) else x)
LEAVES: st.SearchStrategy[Expr] = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1).map(IntLiteral),
    FLOATS.map(FloatLiteral),
    st.booleans().map(BoolLiteral),
    st.text(max_size=8).filter(lambda t: not re.search(r"[\ud800-\udfff\r]", t)).map(TextLiteral),
    st.just(NothingLiteral()),
    NAMES.map(Name),
    st.none().map(NewSeq) | TYPES.map(NewSeq),
)
VARIABLES = st.sampled_from(["x", "y", "rows", "lower"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> Expr:
    """An expression at most `depth` operators deep."""

    def inner() -> Expr:
        return draw(expressions(depth - 1))

    def several(least: int) -> tuple[Expr, ...]:
        return tuple(inner() for _ in range(draw(st.integers(least, 3))))

    match draw(st.integers(0, 12)) if depth else 0:
        case 0 | 1 | 2:
            return draw(LEAVES)
        case 3:
            return Not(inner())
        case 4 | 5 | 6:
            return Binary(draw(st.sampled_from(get_args(BinaryOp))), inner(), inner())
        case 7:
            return Index(inner(), inner())
        case 8:
            return Slice(inner(), inner(), inner())
        case 9:
            return draw(st.sampled_from([Length, Copy]))(inner())
        case 10:
            return Call(draw(st.sampled_from(["f", "max", "repeatSeq"])), several(0))
        case 11:
            return ListLiteral(several(1))
        case _:
            return Interpolation(tuple(draw(st.sampled_from(PARTS))))


HOLES = [
    Hole(Index(Name("xs"), Name("i")), ".3"),
    Hole(Name("x"), ""),
    Hole(Binary("+", Name("x"), IntLiteral(1)), "8"),
]
PARTS: list[list[str | Hole]] = [[HOLES[0]], ["{ n = ", HOLES[1]], ['"\\', HOLES[2], "a"], HOLES]


@st.composite
def places(draw: st.DrawFn) -> Expr:
    """A variable, or an item of one."""
    place: Expr = draw(NAMES.map(Name))
    for _ in range(draw(st.integers(0, 2))):
        place = Index(place, draw(expressions(1)))
    return place


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> Stmt:
    """A statement with at most `depth` levels of blocks inside."""
    expr = expressions(2)

    def block() -> tuple[Stmt, ...]:
        return tuple(draw(statements(depth - 1)) for _ in range(draw(st.integers(0, 2))))

    match draw(st.integers(0, 13 if depth else 9)):
        case 0:
            return Let(draw(VARIABLES), draw(expr), draw(st.none() | TYPES), draw(st.booleans()))
        case 1:
            return Set(draw(VARIABLES), draw(expr))
        case 2:
            return SetItem(Index(draw(places()), draw(expr)), draw(expr))
        case 3:
            return Push(draw(expr), draw(places()))
        case 4:
            return Pop(draw(places()), draw(st.none() | VARIABLES))
        case 5:
            return Break()
        case 6:
            return Return(draw(st.none() | expr))
        case 7:
            return CallStmt(Call("f", (draw(expr),)))
        case 8:
            return Show(draw(expr))
        case 9:
            return Assert(draw(expr))
        case 10:
            return If(tuple((draw(expr), block()) for _ in range(draw(st.integers(1, 2)))), block())
        case 11:
            return While(draw(expr), block())
        case 12:
            return RepeatRange(draw(VARIABLES), draw(expr), draw(expr), block())
        case _:
            return RepeatIn(draw(VARIABLES), draw(expr), block())


PARAMS = st.lists(st.builds(Param, VARIABLES, TYPES, st.booleans()), max_size=3, unique_by=lambda p: p.name).map(tuple)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program with perhaps a function, perhaps a native, and some statements."""

    def body() -> tuple[Stmt, ...]:
        return tuple(draw(st.lists(statements(), max_size=3)))

    functions = (Function("f", draw(PARAMS), draw(st.none() | TYPES), body()),)
    natives = (Native("exp", draw(PARAMS), draw(st.none() | TYPES)),)
    return Program(functions * draw(st.integers(0, 1)), natives * draw(st.integers(0, 1)), body())


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_an_expression_reads_back(expr: Expr) -> None:
    (shown,) = parse(f"## Main\nShow {print_expr(expr)}.").main
    assert isinstance(shown, Show)
    assert repr(shown.value) == repr(expr)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_a_program_reads_back(program: Program) -> None:
    text = print_program(program)
    assert repr(parse(text)) == repr(program)
    assert print_program(parse(text)) == text


@pytest.mark.parametrize(
    "canonical",
    [
        "item i of xs + item (i + 1) of item j of g",
        "(a + b) * c - -3 ** 2 ** n",
        "not (a and b) or not a < b",
        "length of (xs + ys)",
        "[a new Seq of (Seq of Int), [], [1]]",
        '"{x:.2} and {{braces}} {xs[0]}"',
        "(items 1 through (n + 1) of xs) + ys",
        "a shifted left by b combined with c",
        "f(a, nothing, infinity, -infinity, nan)",
    ],
)
def test_canonical_text_prints_as_itself(canonical: str) -> None:
    (shown,) = parse(f"## Main\nShow {canonical}.").main
    assert isinstance(shown, Show)
    assert print_expr(shown.value) == canonical


def test_what_no_hole_can_spell_is_refused() -> None:
    with pytest.raises(UsageError, match="hole"):
        print_expr(Interpolation((Hole(Binary("&", Name("a"), Name("b"))),)))
    with pytest.raises(UsageError, match="hole"):
        print_expr(Interpolation((Hole(TextLiteral("a:b")),)))
