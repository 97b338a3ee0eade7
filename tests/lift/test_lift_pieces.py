"""Tensors of many pieces: those that a write or a read may meet are found by where they lie, and no other is missed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals

from spatial.ir.graph import Statement
from spatial.lift.algebra.pieces import Entry, Pieces
from spatial.lift.algebra.solve import meet
from spatial.lift.algebra.values import Node, Piece, Sym, combine, integer, real, scale

N, M = 40, 6
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "ids": Table((M,), "int", (0, N - 1)),
        "kept": Table((N, M), "float", state=True),
    },
)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": floats(seed, N), "ids": ints(seed, 0, N - 1, M), "kept": floats(seed + 1, N, M)}


# ---------------------------------------------------------------- where pieces lie

Place = tuple[tuple[Sym, ...], tuple[Node, ...]]


def index(draw: st.DrawFn, free: Sym) -> tuple[Node, tuple[Sym, ...]]:
    """A place: a constant, a span of some step, or what has no known bounds."""
    first, extent, step = draw(st.integers(0, 300)), draw(st.integers(1, 20)), draw(st.integers(1, 3))
    form = draw(st.sampled_from(("item", "span", "open")))
    if form == "span":
        v = Sym("k", extent)
        return combine(integer(first), scale(v, step)), (v,)
    return (integer(first) if form == "item" else free), ()


@st.composite
def drawn(draw: st.DrawFn) -> list[Place]:
    free = Sym("p")
    places = [(index(draw, free), index(draw, free)) for _ in range(draw(st.integers(1, 60)))]
    return [((*u, *v), (p, q)) for (p, u), (q, v) in places]


@settings(max_examples=60, deadline=None)
@given(drawn(), st.data())
def test_no_piece_that_may_be_met_is_missed(places: list[Place], data: st.DataObject) -> None:
    pieces, kept, versions = Pieces(), list[Piece](), list[tuple[Pieces, list[Piece]]]()
    for vars, pos in places:
        without: list[Entry] = []
        if kept and data.draw(st.integers(0, 4)) == 0:
            without = [data.draw(st.sampled_from(pieces.entries))]
        piece = Piece(vars, (), pos, real(0.5), data.draw(st.integers(0, 9)) == 0)
        pieces = pieces.over(piece, (400, 400), without)
        kept = [*(p for p in kept if p not in [e.piece for e in without]), piece]
        versions.append((pieces, kept))
    for version, those in versions:  # the older ones are what they were
        assert list(version) == those
        assert len(version) == len(those)
        assert version.volume == sum(p.volume for p in those)
        assert version.partial == sum(p.ordered for p in those)
        assert version.free == frozenset().union(*(p.free for p in those))
    for _, pos in places:
        near = [e.piece for e in pieces.near(pos)]
        assert all(kept.index(a) < kept.index(b) for a, b in pairwise(near))
        assert {p for p in kept if p.ordered} <= set(near)
        assert all(p in near for p in kept if meet(p, pos))


def test_of_many_pieces_those_far_away_are_not_looked_at() -> None:
    pieces = Pieces()
    for n in range(1000):
        pieces = pieces.over(Piece((), (), (integer(n // 10), integer(n % 10)), real(float(n))), (100, 10))
    assert len(pieces.near((integer(50), integer(5)))) <= 20


# ---------------------------------------------------------------- programs of many pieces


def each(line: str, count: int = N) -> str:
    return "".join(line.format(k=k, l=count + 1 - k) for k in range(1, count + 1))


ROW = "Repeat for j from 1 to m:\n    Set item j of (item {k} of kept) to item {k} of x * {k}.5.\n"
COLUMN = "Repeat for i from 1 to n:\n    Set item {k} of (item i of kept) to item i of x + {k}.5.\n"

PROGRAMS = {
    "items": "Let y be n copies of 0.5.\n" + each("Set item {k} of y to item {l} of x + {k}.5.\n", 30),
    "items twice": "Let y be n copies of 0.5.\n"
    + each("Set item {k} of y to item {l} of x.\n")
    + each("Set item {l} of y to item {k} of x * item {l} of y.\n", 25),
    "rows": each(ROW, 30),
    "rows, and columns over them": each(ROW) + each(COLUMN, M),
    "columns, and rows over them": each(COLUMN, M) + each(ROW, 30) + "Let y be item 3 of (item 35 of kept) * 2.0.\n",
    "rows backwards": each(ROW.replace("item {k} of kept", "item {l} of kept")),
    "a row at a run-time place between": each(ROW, 30)
    + "Repeat for j from 1 to m:\n    Set item j of (item (item 2 of ids + 1) of kept) to 0.25.\n"
    + each(ROW.replace("{k}.5", "{k}.25"), 25),
    "rows by a table between": each(ROW, 30)
    + "Repeat for i from 1 to m:\n    Repeat for j from 1 to m:\n"
    + "        Set item j of (item (item i of ids + 1) of kept) to item j of x.\n"
    + each(ROW.replace("{k}.5", "{k}.25"), 25),
    "spans that overlap": "Let y be n copies of 0.5.\n"
    + each("Repeat for i from {k} to {k} + 2:\n    Set item i of y to item i of x + {k}.5.\n", 30),
    "every second item": "Let y be n copies of 0.5.\n"
    + each("Repeat for i from 0 to 1:\n    Set item ({k} + 20 * i) of y to item (i + 1) of x * {k}.5.\n", 20),
    "under conditions": "Let y be n copies of 0.5.\n"
    + each("If item 1 of ids > {k}:\n    Set item {k} of y to item {l} of x.\n", 30)
    + each("If item 2 of ids > 9:\n    Set item {k} of y to 1.5.\nOtherwise:\n    Set item {l} of y to {k}.25.\n", 20),
    "pushed and set under conditions": "Let y be a new Seq of Float.\nPush 0.5 to y.\n"
    + each(
        "If item 1 of ids > {k}:\n    Push {k}.5 to y.\n    Set item {k} of y to {k}.25.\n"
        "Otherwise:\n    Push item {l} of x to y.\n    Set item {k} of y to item {k} of x * 2.0.\n",
        25,
    ),
    "set under conditions, in one branch again": "Let y be n copies of 0.5.\n"
    + each("Set item {k} of y to item {l} of x.\n", 30)
    + "If item 1 of ids > 9:\n"
    + each("    Set item {k} of y to {k}.25.\n", 20)
    + "    Repeat for i from 3 to 35:\n        Set item i of y to item i of y * 2.0.\n"
    + "Otherwise:\n"
    + each("    Set item {l} of y to {k}.75.\n", 20),
    "loops pushed": "Let y be a new Seq of Float.\n"
    + each("Repeat for i from 1 to 3:\n    Push item (i + {k}) of x + {k}.5 to y.\nPush {k}.25 to y.\n", 30),
    "pushed and set": "Let y be a new Seq of Float.\n"
    + each("Repeat for i from 1 to 3:\n    Push item i of x + {k}.5 to y.\n", 30)
    + each("Set item {k} of y to {k}.25.\n", 40),
    "pushed after as many as a run knows": "Let y be a new Seq of Float.\n"
    + "Repeat for i from 1 to item 1 of ids:\n    Push item i of x to y.\n"
    + each("Push {k}.25 to y.\n", 20)
    + "Let z be 0.0.\nRepeat for v in y:\n    Set z to z + v.\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_pieces_are_what_the_interpreter_makes(name: str) -> None:
    source = "## Main\n" + PROGRAMS[name]
    results = ("z",) if "Let z" in source else ("y",) if "Let y" in source else ()
    graph = graph_of(source, FACTS, results)
    for seed in (1, 2, 3):
        agree(source, FACTS, inputs(seed), results, graph=graph, flat=frozenset())


@pytest.mark.parametrize("base", ["items twice", "spans that overlap", "loops pushed", "pushed and set"])
def test_reads_of_many_pieces_are_what_the_interpreter_makes(base: str) -> None:
    source = "## Main\n" + PROGRAMS[base] + each("Let r{k} be item {k} of y + item {l} of y * 2.0.\n", 35)
    source += "Let s be item (item 3 of ids + 1) of y.\n"
    results = (*(f"r{k}" for k in range(1, 36)), "s")
    graph = graph_of(source, FACTS, results)
    for seed in (1, 2):
        agree(source, FACTS, inputs(seed), results, graph=graph, flat=frozenset())


def test_a_read_between_many_writes_reads_one_piece_and_no_version() -> None:
    facts = Facts({"n": 100}, {"x": Table((100,), "float"), "kept": Table((100,), "float", state=True)})
    line = "Set item {k} of kept to item {k} of x * {k}.5.\nLet y{k} be item {k} of kept + 1.0.\n"
    names = tuple(f"y{k}" for k in range(1, 101))
    graph = agree(f"## Main\n{each(line, 100)}", facts, {"x": floats(1, 100), "kept": floats(2, 100)}, names)
    assert sum(len(n.pieces) for n in graph.nodes if isinstance(n, Statement)) <= 400


# ---------------------------------------------------------------- one kind of number


@pytest.mark.parametrize("items", [("1.5", "2", "3"), ("1", "2.5", "3.0"), ("1", "2.5", "3"), ("1.5", "2")])
def test_numbers_of_two_kinds_are_refused_in_whatever_order(items: tuple[str, ...]) -> None:
    pushed = "".join(f"Push {item} to y.\n" for item in items)
    ((line, why),) = refusals(f"## Main\nLet y be a new Seq of Float.\n{pushed}", FACTS)
    assert line == len(items) + 2
    assert why == '"y" holds Ints and Floats, or truth values'
