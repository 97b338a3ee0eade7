"""The text form prints and parses back exactly, prints canonically, and reports every mistake at its place."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import BODIES, programs

from spatial.errors import SourceError
from spatial.ir import text
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Const, Index, Items, Matmul, Op, OutPort, Page, Stage
from spatial.ir.program import Program
from spatial.ir.text import parse_body, parse_program, print_body, print_program

FEW = settings(max_examples=60, deadline=None)


@FEW
@given(BODIES)
def test_bodies_round_trip(body: Body):
    printed = print_body(body)
    assert parse_body(printed) == body
    assert print_body(parse_body(printed)) == printed


@FEW
@given(programs())
def test_programs_round_trip(program: Program):
    printed = print_program(program)
    assert parse_program(printed) == program
    assert print_program(parse_program(printed)) == printed


@FEW
@given(BODIES, st.data())
def test_damaged_texts_give_source_errors_or_bodies(body: Body, data: st.DataObject):
    printed = print_body(body)
    at = data.draw(st.integers(0, len(printed) - 1))
    cut = data.draw(st.integers(0, 4))
    noise = data.draw(st.sampled_from(("", "{", "}", "[", '"', "@", "9", "push", "§", "\n")))
    try:
        parse_body(printed[:at] + noise + printed[at + cut :])
    except SourceError as e:
        assert e.problems and all(p.place is not None and p.place.line >= 1 for p in e.problems)


def test_the_docstring_is_a_program():
    doc = text.__doc__ or ""
    start = doc.index("    program {")
    program = parse_program(doc[start : doc.index("\nStatements of a stage")])
    assert [s.kind for s in program.bodies[0].stages] == ["load", "generic", "store"]
    assert parse_program(print_program(program)) == program


def value_of(expression: str) -> object:
    source = f"""
    body template {{
      rect 1x1
      items [1] trips [1] at (0)
      generic g {{
        pop x @0
        pop y @0 [4]
        state acc: 1x1 f32 @0 = 0.0
        set acc @0 = {expression}
      }}
    }}"""
    return parse_body(source).stages[0].states[0].update


LOWEST = Const(float("-inf"), "float")
X, Y, ACC = Page(0), Page(1), Cell(0)


def op(name: str, *args: object) -> Op:
    return Op(name, args)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("acc + x * y", op("add", ACC, op("mul", X, Y))),
        ("acc - x - y", op("sub", op("sub", ACC, X), Y)),
        ("acc - (x - y)", op("sub", ACC, op("sub", X, Y))),
        ("x < y and not y == x", op("and", op("lt", X, Y), op("not", op("eq", Y, X)))),
        ("x and y or x != y", op("or", op("and", X, Y), op("ne", X, Y))),
        ("x > y", op("lt", Y, X)),
        ("x >= y", op("le", Y, X)),
        ("-x * y", op("mul", op("neg", X), Y)),
        ("x - -1.5", op("sub", X, Const(-1.5, "float"))),
        ("-2", Const(-2, "int")),
        ("acc + matmul_t(x, y[2*l1 - 1])", op("add", ACC, Matmul(X, Page(1, (Affine.of(-1, {"l1": 2}),)), True))),
        ("select(x == 0, -inf, exp(x))", op("select", op("eq", X, Const(0, "int")), LOWEST, op("exp", X))),
    ],
)
def test_expressions_bind_as_expected(source: str, tree: object):
    assert value_of(source) == tree


def test_places_may_add_a_popped_page():
    body = parse_body("""
    body template {
      rect 1x1
      items [1] trips [1] at (0)
      load rows { pop position: q @0  at table[0, 2*position + 1, 32*i0 - 4]  push out @0 }
    }""")
    access = body.stages[0].access
    assert access is not None and access.index == Index(0, 1, 2)
    assert access.place == (Affine(0), Affine(1), Affine.of(-4, {"i0": 32}))
    assert "pop q @0" in print_body(body)


def test_a_page_is_not_printed_under_a_coordinates_name():
    stage = Stage("g", "generic", (), (), (OutPort("y", 0, (), Const(1.0, "float")),))
    body = Body((), (1, 1), Items((1,), (1,), (Affine(0),)), (), (stage,))
    assert parse_body(print_body(body)) == body


def test_every_mistake_is_reported_with_its_place():
    source = textwrap.dedent("""\
    program {
      tensor x: inputt f32 flat [1, 1, 8]
      body one persistent {
        rect 2
        generic g {
          pop qa @0
          push qb @0 = qa + wrong
          push qc @0 = foo(qa)
        }
        queue q: 1x32 f33
      }
      phase { call two at (0, 0) {} }
    }
    """)
    with pytest.raises(SourceError) as caught:
        parse_program(source, "case.sec")
    found = [(p.place.line, p.place.column) for p in caught.value.problems if p.place]
    assert found == [(2, 13), (4, 10), (7, 25), (8, 20), (10, 19), (12, 16)]
    assert 'did you mean "input"?' in str(caught.value)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "where `body` should be"),
        ("body template {", "ends inside a body"),
        ("body template { rect 1x1 }", "0 `items` statements"),
        ("body template { rect 1x1 items [1] trips [1] at (0) } more", "after the end"),
        ("body lowered { }", "is not a phase of lowering"),
        ('body template { operand "a: in }', "closing quote"),
        (r'body template { operand "\q": in f32 flat [1, 1, 1] }', "an escape that is none"),
        (r'body template { operand "\ud800": in f32 flat [1, 1, 1] }', "an escape that is none"),
        ("body template { items [123456789012345678901] }", "more than 20 digits"),
        ("body template { generic g { push q @0 = " + "(" * 500 + " } }", "levels"),
        ("body template { generic g { push q @0 = 1" + " + 1" * 500 + " } }", "levels"),
        ("body template { generic g { push q @0 = 1 < 2 < 3 } }", "comparisons in a row"),
        ("body template { generic g { pop l1 @0 } }", "a coordinate's name"),
        ("body template { generic g { pop q @0 pop q @0 } }", "a second page or state"),
        ("body template { generic g { state s: 1x1 i32 @0 = 0.5 } }", "its numbers are integers"),
        ("body template { generic g { state s: 1x1 i32 @0 = 0 } }", "never set"),
        ("body template { load g { pop t @0 at a[0, t, t] } }", "a second run-time index"),
    ],
)
def test_mistakes_are_named(source: str, says: str):
    with pytest.raises(SourceError, match=says):
        parse_body(source)


def test_calls_name_every_operand_of_their_body():
    source = """
    program {
      tensor x: input f32 flat [1, 1, 8]
      body b template { operand a: in f32 flat [1, 1, 8] operand c: in f32 flat [1, 1, 8]
        rect 1x1 items [1] trips [1] at (0) }
      phase { call b at (0, 0) { a = x@0 } }
      phase { call b at (0, 0) { a = x@0 d = x@0 } }
    }"""
    with pytest.raises(SourceError) as caught:
        parse_program(source)
    assert [p.what for p in caught.value.problems] == ["the operand c is not bound", "b has no operand `d`"]
