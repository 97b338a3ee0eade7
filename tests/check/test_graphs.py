"""Graphs that travel with programs: every item is made once, or no certificate is given, and both writes are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from check.test_robust import BUNDLE, mutated
from graphs import at, fn, num, read, var, via
from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.check import check_bundle, claims_of
from spatial.check.graphs import check_graph
from spatial.check.meeting import Steps, meeting
from spatial.check.verdict import Log, Verdict
from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.graph import Block, Carried, Graph, GraphTensor, Piece, Statement, Value, Var

COUNT, PLACES, ROWS, FLAT, MADE = range(5)
ROWS_SHAPE, FLAT_SHAPE = (6, 4), (24,)
TENSORS = (
    GraphTensor((1,), "int", "input", "count", (0, 4)),
    GraphTensor((6,), "int", "input", "places", (0, 5)),
    GraphTensor(ROWS_SHAPE, "float", "state", "rows"),
    GraphTensor(FLAT_SHAPE, "float", "state", "flat"),
)


def piece(par: Sequence[int], *pos: object, guards: tuple[Value, ...] = ()) -> Piece:
    return Piece(tuple(par), (), at(*pos), num(1.0), (), guards)  # type: ignore[arg-type]


def late(n: int) -> Value:
    """That variable n has come to the count."""
    return fn("le", read(COUNT, 0), Var(var(n)), kind="bool")


def graph(dims: tuple[int, ...], over: int | None, *pieces: Piece) -> Graph:
    made = GraphTensor(dims, "float", "made")
    return Graph((*TENSORS, made), (Statement(MADE, tuple(pieces), over),), (("y", MADE),), ())


def verdict(g: Graph) -> Verdict:
    log = Log()
    check_graph(g, "graph", log)
    return log.verdict()


COUNTED, NEXT = via(COUNT, 0), via(COUNT, 0, base=1)

ACCEPTED = {
    "one piece": graph(ROWS_SHAPE, None, piece((6, 4), var(0), var(1))),
    "even and odd places": graph((6,), None, piece((3,), var(0, 2)), piece((3,), var(0, 2) + 1)),
    "runs end to end": graph((6,), None, piece((4,), var(0)), piece((2,), var(0) + 4)),
    "a corner, a row, the rest": graph(
        (3, 3), None, piece((), 0, 0), piece((2,), 0, var(0) + 1), piece((2, 3), var(0) + 1, var(1))
    ),
    "halves of flat rows": graph(
        FLAT_SHAPE, None, piece((3, 4), var(0, 8) + var(1)), piece((3, 4), var(0, 8) + var(1) + 4)
    ),
    "a run-time row, in halves": graph(
        ROWS_SHAPE, ROWS, piece((2,), COUNTED, var(0, 2)), piece((2,), COUNTED, var(0, 2) + 1)
    ),
    "a run-time place and the next": graph(FLAT_SHAPE, FLAT, piece((), COUNTED), piece((), NEXT)),
    "what begins where a run-time place ends": graph(
        FLAT_SHAPE, FLAT, piece((), COUNTED), piece((6,), var(0) + 1, guards=(late(0),))
    ),
    "places that a run decides, in order": graph(FLAT_SHAPE, FLAT, piece((6,), via(PLACES, var(0)))),
    "two sides of a run-time bound": graph(
        FLAT_SHAPE,
        FLAT,
        piece((6,), var(0), guards=(late(0),)),
        piece((6,), var(0), guards=(fn("lt", Var(var(0)), read(COUNT, 0), kind="bool"),)),
    ),
    "rows on and beside the diagonal": graph((6, 6), None, piece((6,), var(0), var(0)), *(
        piece((6 - d,), *((var(0) + d, var(0)) if low else (var(0), var(0) + d)))
        for d in range(1, 6) for low in (True, False)
    )),
}  # fmt: skip

REJECTED = {
    "runs that share an item": (
        "pieces 0 and 1 both write item (3,)",
        graph((6,), None, piece((4,), var(0)), piece((3,), var(0) + 3)),
    ),
    "a number twice": ("pieces 0 and 1 both write item ()", graph((), None, piece(()), piece(()))),
    "flat rows that are too long": (
        "pieces 0 and 1 both write item",
        graph(FLAT_SHAPE, FLAT, piece((3, 5), var(0, 8) + var(1)), piece((3, 4), var(0, 8) + var(1) + 4)),
    ),
    "a run-time place in a run": (
        "pieces 0 and 1 both write item",
        graph((6,), None, piece((4,), var(0)), piece((), COUNTED)),
    ),
    "what begins at a run-time place": (
        "pieces 0 and 1 both write item",
        graph(FLAT_SHAPE, FLAT, piece((), COUNTED), piece((6,), var(0), guards=(late(0),))),
    ),
    "two run-time places": (
        "pieces 0 and 1 both write item",
        graph(FLAT_SHAPE, FLAT, piece((), COUNTED), piece((), via(PLACES, 2))),
    ),
    "a row and a column": (
        "pieces 0 and 1 both write item (2, 3)",
        graph(ROWS_SHAPE, ROWS, piece((4,), 2, var(0)), piece((6,), var(0), 3)),
    ),
    "a sum of two variables": ("two of its points", graph((6,), None, piece((3, 4), var(0) + var(1)))),
    "a factor of zero": ("two of its points", graph((6,), None, piece((6,), Affine(0, (("v0", 0),))))),
    "a factor twice": ("two of its points", graph((6,), None, piece((6,), Affine(0, (("v0", 1), ("v0", -1)))))),
    "a run that ends early": ("5 of its 6 items are made", graph((6,), None, piece((5,), var(0)))),
    "a run that ends late": ("the tensor is (6,)", graph((6,), None, piece((6,), var(0) + 1))),
    "a run-time place alone": ("a run decides", graph((6,), None, piece((6,), via(PLACES, var(0))))),
    "a condition over nothing": ("a run decides", graph((6,), None, piece((6,), var(0), guards=(late(0),)))),
    "over another shape": ("over no tensor of its shape", graph((6,), ROWS, piece((6,), var(0)))),
    "an axis too few": ("1 places, and the tensor 2 axes", graph(ROWS_SHAPE, None, piece((6,), var(0)))),
    "a variable of nobody": ("what is no variable", graph((6,), None, piece((6,), var(1)))),
    "a table of nobody": ("what is no item of a tensor", graph(FLAT_SHAPE, FLAT, piece((), via(9, 0)))),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_made_once_is_accepted(name: str):
    found = verdict(ACCEPTED[name])
    assert found.answer == "accept", [str(f) for f in (*found.failures, *found.unsupported)]
    assert found.counts["graph"] > 0


@pytest.mark.parametrize("name", REJECTED)
def test_what_is_not_is_rejected_and_told(name: str):
    words, broken = REJECTED[name]
    found = verdict(broken)
    assert found.answer == "reject" and all(f.obligation == "graph" for f in found.failures)
    assert any(words in f.witness and "tensor t4" in f.place for f in found.failures), [str(f) for f in found.failures]


def held(value: Value) -> GraphTensor:
    """A constant of eight Ints: `value` of its place v0."""
    return GraphTensor((8,), "int", "fill", fill=Piece((8,), (), at(var(0)), value))


def turned(n: int, by: int) -> Value:
    """What is left of variable n, and a number more, divided by five."""
    return fn("rem", Var(var(n) + by), num(5), kind="int")


def whole(a: Value, b: Value) -> Value:
    return fn("eq", a, b, kind="bool")


def no(a: Value) -> Value:
    return fn("not", a, kind="bool")


LARGE, LARGER = (fn("lt", num(0.5), read(FLAT, n), kind="bool") for n in (3, 4))
CAPPED = whole(Var(var(0)), fn("min", num(2), read(COUNT, 0), kind="int"))
TABLE = 5  # of what a constant holds

APART: dict[str, tuple[Value, tuple[Piece, ...], tuple[Piece, ...]]] = {
    "where a condition holds, and where not": (
        num(0),
        (piece((6,), var(0), guards=(LARGE,)), piece((6,), var(0), guards=(no(LARGE),))),
        (piece((6,), var(0), guards=(LARGE,)), piece((6,), var(0), guards=(no(LARGER),))),
    ),
    "all but one place, and that": (
        num(0),
        (piece((6,), var(0), guards=(no(whole(Var(var(0)), num(2))),)), piece((), 2)),
        (piece((6,), var(0), guards=(no(whole(Var(var(0)), num(3))),)), piece((), 2)),
    ),
    "one or the other": (
        num(0),
        (
            piece((6,), var(0), guards=(fn("or", *(whole(Var(var(0)), num(n)) for n in (1, 4)), kind="bool"),)),
            piece((2,), var(0) + 2),
        ),
        (
            piece((6,), var(0), guards=(fn("or", *(whole(Var(var(0)), num(n)) for n in (1, 3)), kind="bool"),)),
            piece((2,), var(0) + 2),
        ),
    ),
    "even places, and the others": (
        num(0),
        (
            piece((6,), var(0), guards=(whole(fn("rem", Var(var(0)), num(2), kind="int"), num(0)),)),
            piece((3,), var(0, 2) + 1),
        ),
        (
            piece((6,), var(0), guards=(whole(fn("rem", Var(var(0)), num(3), kind="int"), num(0)),)),
            piece((3,), var(0, 2) + 1),
        ),
    ),
    "places that a constant holds": (
        turned(0, 2),
        (piece((), via(TABLE, 1)), piece((), 2)),
        (piece((), via(TABLE, 1)), piece((), 3)),
    ),
    "the least of two numbers": (
        fn("max", num(2), fn("min", num(5), Var(var(0)), kind="int"), kind="int"),
        (piece((), via(TABLE, 0)), piece((), via(TABLE, 3)), piece((), via(TABLE, 7)), piece((), 4)),
        (piece((), via(TABLE, 0)), piece((), via(TABLE, 1))),
    ),
    "distances on one side": (
        fn("abs", Var(var(0) - 3), kind="int"),
        (piece((), via(TABLE, 0)), *(piece((), via(TABLE, n)) for n in (2, 3, 5)), piece((), 4)),
        (piece((), via(TABLE, 1)), piece((), via(TABLE, 5))),
    ),
    "one place or another": (
        fn("select", fn("lt", Var(var(0)), num(4), kind="bool"), Var(var(0, 2)), num(1), kind="int"),
        (piece((), via(TABLE, 3)), piece((), via(TABLE, 5)), piece((), via(TABLE, 2))),
        (piece((), via(TABLE, 4)), piece((), via(TABLE, 5))),
    ),
    "a count held below a bound": (
        num(0),
        (piece((6,), var(0), guards=(CAPPED,)), piece((2,), var(0) + 3)),
        (piece((6,), var(0), guards=(CAPPED,)), piece((2,), var(0) + 2)),
    ),
}


@pytest.mark.parametrize("name", APART)
def test_conditions_and_constants_keep_pieces_apart(name: str):
    constant, apart, together = APART[name]
    for pieces, answer in ((apart, "accept"), (together, "reject")):
        g = graph(FLAT_SHAPE, FLAT, *pieces)
        found = verdict(replace(g, tensors=(*g.tensors, held(constant))))
        assert found.answer == answer, [str(f) for f in (*found.failures, *found.unsupported)]


@given(st.integers(-9, 9), st.integers(1, 5), st.sampled_from(("rem", "truncdiv", "floordiv")), st.integers(0, 7))
@settings(max_examples=80, deadline=None)
def test_a_place_that_a_constant_holds_is_what_its_form_says(shift: int, by: int, op: str, other: int):
    """Each of eight places read from a constant, in turn, against one that is known."""
    form = fn(op, Var(var(0) + shift), num(by), kind="int")
    for n in range(8):
        q = abs(n + shift) // by * (1 if n + shift >= 0 else -1)
        value = {"rem": n + shift - by * q, "truncdiv": q, "floordiv": (n + shift) // by}[op]
        g = graph(FLAT_SHAPE, FLAT, piece((), via(TABLE, n)), piece((), other))
        found = verdict(replace(g, tensors=(*g.tensors, held(form))))
        assert not (value == other and found.accepted)
        assert found.accepted == (value != other)


def test_a_constant_that_differs_from_instance_to_instance_is_none():
    g = graph((6,), None, piece((6,), var(0)))
    for value in (Var(Affine.sym("b")), read(TABLE, Affine.sym("b")), Var(var(1))):
        found = verdict(replace(g, tensors=(*g.tensors, held(num(0)), held(value))))
        assert found.answer == "reject" and "use what is no variable" in found.failures[0].witness


def test_what_is_made_by_two_nodes_is_rejected():
    g = graph((6,), None, piece((6,), var(0)))
    for nodes in ((*g.nodes, *g.nodes), (Statement(FLAT, (piece((24,), var(0)),)), *g.nodes)):
        assert verdict(replace(g, nodes=nodes)).answer == "reject"


@pytest.mark.parametrize("shift, answer", [(4, "accept"), (3, "reject")])
def test_a_block_is_judged_for_all_its_instances(shift: int, answer: str):
    """Two parts of row `b` of what is carried: the second begins at `shift`."""
    carried = GraphTensor((3, 8), "float", "made")
    body = Statement(5, (piece((4,), Affine.sym("b"), var(0)), piece((4,), Affine.sym("b"), var(0) + shift)), over=4)
    start = GraphTensor((3, 8), "float", "state", "kept")
    tensors = (*TENSORS, carried, carried, carried, start)
    g = Graph(tensors, (Block(3, (body,), (Carried(7, 4, 5, 6),)),), (), (("kept", 7, 6),))
    assert verdict(g).answer == answer


def test_a_constant_is_everywhere():
    held = GraphTensor((6,), "int", "fill", fill=Piece((6,), (), at(var(0)), Var(var(0))))
    g = graph((6,), None, piece((6,), var(0)))
    assert verdict(replace(g, tensors=(*g.tensors, held))).answer == "accept"
    short = replace(held, fill=Piece((5,), (), at(var(0)), Var(var(0))))
    found = verdict(replace(g, tensors=(*g.tensors, short)))
    assert found.answer == "reject" and found.failures[0].place == "graph, constant t5"


def test_a_deployment_whose_graph_writes_twice_is_not_certified():
    first, second = BUNDLE.entries

    def carrying(g: Graph):
        return replace(BUNDLE, entries=(replace(first, graph=replace(g, results=())), second))

    right = carrying(ACCEPTED["runs end to end"])
    assert check_bundle(right, claims_of(right)).accepted
    wrong = carrying(REJECTED["runs that share an item"][1])
    found = check_bundle(wrong)
    assert found.answer == "reject"
    assert [(f.obligation, f.place) for f in found.failures] == [("graph", "program first, graph, tensor t4")]
    with pytest.raises(Refused, match="pieces 0 and 1 both write item"):
        claims_of(wrong)


def test_many_pieces_are_judged_and_too_many_are_left():
    rows = [piece((4,), n, var(0)) for n in range(5000)]
    assert verdict(graph((500, 4), None, *rows[:500])).answer == "accept"
    assert verdict(graph((500, 4), None, *rows[:499], piece((4,), 3, var(0)))).answer == "reject"
    assert verdict(graph((5000, 4), None, *rows)).answer == "unsupported"


FORMS = st.builds(
    lambda const, coefs: Affine.of(const, dict(zip("abcd", coefs, strict=True))),
    st.integers(-9, 9),
    st.tuples(*[st.sampled_from([0, 0, 1, -1, 2, 3, -4, 6, 8])] * 4),
)


@given(st.lists(FORMS, max_size=2), st.lists(FORMS, max_size=2), st.tuples(*[st.integers(1, 5)] * 4))
@settings(max_examples=200, deadline=None)
def test_forms_meet_where_some_point_says_so(zero: list[Affine], least: list[Affine], extents: tuple[int, ...]):
    def holds(point: dict[str, int]) -> bool:
        return all(f.at(point) == 0 for f in zero) and all(f.at(point) >= 0 for f in least)

    points = [dict(zip("abcd", p, strict=True)) for p in product(*(range(n) for n in extents))]
    answer = meeting(zero, least, {s: (0, n - 1) for s, n in zip("abcd", extents, strict=True)}, Steps())
    assert answer.possible == any(holds(p) for p in points)
    if answer.possible:
        assert holds(dict(answer.at)) and dict(answer.at) in points


def test_a_question_that_takes_too_long_is_not_decided():
    form = Affine.of(-1, {"a": 6, "b": 10, "c": -15})
    ranges = dict.fromkeys("abc", (0, 1000))
    found = meeting([form], [], ranges, Steps())
    assert found.possible and form.at(found.at) == 0
    assert meeting([form], [], ranges, Steps(10)).possible is None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(ACCEPTED)), st.integers(1, 3), st.data())
def test_a_graph_with_any_field_altered_is_answered(name: str, times: int, data: st.DataObject):
    altered: Any = ACCEPTED[name]
    for _ in range(times):
        altered = mutated(altered, data)
    bundle = replace(BUNDLE, entries=(replace(BUNDLE.entries[0], graph=altered), BUNDLE.entries[1]))
    assert check_bundle(bundle).answer in ("accept", "reject", "unsupported")
