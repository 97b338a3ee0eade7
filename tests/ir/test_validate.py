"""The corpus is valid on every chip it is meant for; each rule is broken by a small change, and names it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sections.cases import CASES, HERE, Case
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.body import PHASES, Coord, Page
from spatial.ir.program import Program
from spatial.ir.text import parse_body, parse_program
from spatial.ir.typing import PageType, expr_type
from spatial.ir.validate import validate, validate_program

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@EACH
def test_the_corpus_is_valid(case: Case):
    program = case.program()
    assert validate_program(program, REFERENCE) == []
    for body in program.bodies:
        for phase in PHASES:
            assert validate(replace(body, phase=phase), REFERENCE) == []


def altered(name: str, old: str, new: str) -> Program:
    text = (HERE / f"{name}.sec").read_text(encoding="utf-8")
    assert old in text, old
    return parse_program(text.replace(old, new, 1), name)


BODY_FAULTS = [
    # template: names, operands, queues, items
    ("product", "queue qb:", "queue qa:", "queue qa: error: the name is taken twice"),
    ("product", "queue qa: 32x32", "queue qa: 33x32", "queue qa: error: pages of 33x32"),
    ("product", "queue qa: 32x32 f32 cap 2", "queue qa: 32x32 f32 cap -1", "queue qa: error: a capacity of -1"),
    ("product", "operand a: in f32 dense [1, 40, 80]", "operand a: in f32 dense [1, 0, 80]", "is empty"),
    ("product", "operand a: in f32 dense", "operand a: in q8_0 dense", "a format and a layout at once"),
    ("product", "a: in f32 dense [1, 40, 80]", "a: in f32 dense [1, 40, 80] range 0..1", "only integers"),
    ("rotary", "operand position: in i32 flat [1, 1, 1] range 0..15",
     "operand position: in i32 flat [1, 1, 1] range 5..4", "it is empty or leaves i32"),
    ("quantised", "operand w: in q8_0 q8_0 [1, 96, 80]", "operand w: in q8_0 q8_0 [1, 90, 80]", "whole blocks"),
    ("product", "at (t0, 2*t1 + sx)", "at (t0)", "1 item coordinates for a grid of 2 axes"),
    ("product", "at (t0, 2*t1 + sx)", "at (t0, 2*l1 + sx)", "items / coordinate 1: error: .* uses l1"),
    # template: stages
    ("product", "load load_a loops [3]", "load load_a loops [3, 0]", "loops of"),
    ("multicast", "load load_x on 1x1 at (0, 0)", "load load_x on 1x1 at (2, 0)", "1x1 sites at"),
    ("product", "push qa @1", "push qz @1", "stage load_a / out qz: error: no queue is called"),
    ("product", "pop qb @1", "pop qb @2", "stage mm / in qb: error: depth 2"),
    ("product", "push qa @1", "push qa @1 [0]", "a port moves a page at least"),
    ("product", "set acc @1", "set acc @2", "set at depth 0, updated at depth 2"),
    ("product", "      at c[0, 32*i0, 32*i1]\n", "", "not the parts of a store"),
    ("product", "at a[0, 32*i0, 32*l1]", "at a[0, 32*i0, 32*l2]", "stage load_a / at a: error: .* uses l2"),
    ("product", "at a[0, 32*i0, 32*l1]", "at z[0, 32*i0, 32*l1]", "no operand is called 'z'"),
    ("product", "at a[0, 32*i0, 32*l1]", "at c[0, 32*i0, 32*l1]", "a load of an operand that is out"),
    ("product", "push qc @0 = acc", "push qc @0", "a page without its value"),
    ("product", "push qa @1", "push qa @1 = 1.0", "a value in a stage that computes none"),
    ("product", "acc + matmul(qa, qb)", "matmul(qa, qb) + acc", "an update of another form"),
    ("product", "acc + matmul(qa, qb)", "acc + qa", "an update of another form"),
    ("product", "push qc @0 = acc", "push qc @0 = qa", "popped at depth 1, is used at depth 0"),
    ("product", "queue qc: 32x32", "queue qc: 16x32", "a value of 32x32 for a page of 16x32"),
    ("product", "state acc: 32x32 f32", "state acc: 32x32 bf16", "a product kept in bf16"),
    ("softmax", "push qs @0 = s", "push qs @1 = s", "state s, of depth 0, is read at depth 1"),
    ("softmax", "< 80, q1, -inf", "< 80, q1, 0", "select of bool, float, int"),
    ("softmax", "exp(q3 - qn) / qs", "exp(q3 - qn) / coord(c : 1x32)", "div of float, int"),
    ("softmax", "exp(q3 - qn) / qs", "exp(q3 - qn) < qs", "a value of kind bool for f32"),
    ("rmsnorm", "= x[p0]", "= x[p0 + 1]", "runs from 1 to 3; they are numbered 0 to 2"),
    ("rmsnorm", "* w[l1]", "* w[l2]", "uses l2"),
    ("rmsnorm", "* w[l1]", "* w", "has 0 coordinates; there are 1 dimensions"),
    ("rmsnorm", "at w[0, 0, 32*p0]", "at w[0, i0, 32*p0]", "stage load_w / at w: error: the place i0 uses i0"),
    ("rotary", "perm [1, 0,", "perm [32, 0,", "no permutation of the lanes"),
    ("rotary", "queue q_swapped: 1x32 f32", "queue q_swapped: 1x32 bf16", "pages pass as they are"),
    ("rotary", "queue q_position_c: 1x1 i32", "queue q_position_c: 1x1 f32", "an index of f32"),
    ("rotary", "pop p: q_position_c @-1", "pop p: q_position_c @-1 [2]", "does not serve as index"),
    ("quantised", "w.scales[0, l1", "w[0, l1", "its planes are values, scales"),
    ("quantised", "queue qs: 1x32 f16", "queue qs: 1x32 i16", "elements of f16 as pages of i16"),
    ("quantised", "queue qw: 32x32 f32", "queue qw: 32x32 f16", "a product of f32 and f16"),
    # template: flow
    ("product", "load load_b loops [3]", "load load_b loops [2]", "pushes 8 pages in a call, mm pops 12"),
    ("multicast", "group 2x1", "group 1x1", r"queue qx: error: a consumer and no producer on site \(1, 0\)"),
    ("multicast", "group 2x1", "group 3x1", "leaves the body's rectangle"),
    ("layers", "pop qb @0\n      push qy @0 = max(qm + qb, 0.0)", "pop x: qm @0\n      push qy @0 = x",
     "a producer and no consumer on site"),
    ("softmax", "pop q2 @1", "pop q2: q1 @1", r"queue q1: error: 2 consumers on site \(0, 0\)"),
    ("softmax", "push q2 @1", "push q1 @1", r"queue q1: error: 2 producers on site \(0, 0\)"),
    ("chunk", "queue q_valid: 8x1", "queue q_valid: 4x1", "a value of 8x1 for a page of 4x1"),
    ("chunk", "mask valid", "mask rows", "a mask of 8x32"),
    ("chunk", "convert(i32, coord(r : 8x1) < n)", "coord(r : 8x1) < n", "a value of kind bool for i32"),
    ("cells", "acc[l2] + matmul", "acc[0] + matmul", "another cell than the one it sets"),
    ("cells", "= acc[p0]", "= acc[2*p0]", "runs from 0 to 2; they are numbered 0 to 1"),
    ("scatter", "push qw @1", "push qw @1 [2]", "pages pass at one depth"),
    # placed
    ("multicast", "at (2*t0 + sx)", "at (t0 + sx)", r"item \(1,\) is met twice"),
    ("multicast", "items [3] trips [2]", "items [4] trips [1]", "2 turns of all sites meet a grid of 4"),
    ("multicast", "at (2*t0 + sx)", "at (3*t0 + sx)", r"item \(2,\) is met by no site"),
    ("product", "rect 2x1", "rect 9x1", "the chip has 8 x 8"),
    # sized
    ("product", "queue qa: 32x32 f32 cap 2", "queue qa: 32x32 f32", "queue qa: error: room for 0 pages"),
    ("rmsnorm", "queue qx: 1x32 f32 cap 3", "queue qx: 1x32 f32 cap 2", "its consumer holds 3 at once"),
    ("product", "queue qa: 32x32 f32 cap 2", "queue qa: 32x32 f32 cap 400", "bytes of queues and accumulators"),
    ("product", "state acc: 32x32 f32 @0 = 0.0", "state acc: 32x32 f32 @0 = 0.0 cells [17]", "has 0 coordinates"),
    # scheduled
    ("product", "engine mover0 { load_a @-1 }", "engine mover0 {}", "stage load_a: error: carried by no engine"),
    ("product", "mover0 { load_a @-1 }", "mover0 { load_a @-1 load_b @-1 }", "carried by mover0 and mover1"),
    ("product", "engine mover0 { load_a @-1 }", "engine mover2 { load_a @-1 }", "a site has no such engine"),
    ("product", "loop 3 { mm @1 }", "loop 3 { mm @1 store_c @0 }", "a step of store_c, a store"),
    ("product", "engine mover0 { load_a @-1 }", "engine mover0 { load_a @2 }", "a step of load_a at depth 2"),
    # persistent
    ("product", "loop 4 { loop 3 { mm @1 } }", "loop 4 { loop 2 { mm @1 } }", "8 of the 12 innermost iterations of mm"),
    ("product", "loop 4 { loop 3 { mm @1 } }", "loop 4 { mm @0 mm @1 }", "13 of the 12"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "says"), BODY_FAULTS, ids=lambda v: None)
def test_a_faulty_body_is_refused_by_its_rule(name: str, old: str, new: str, says: str):
    problems = validate_program(altered(name, old, new), REFERENCE)
    assert any(re.search(says, str(p)) for p in problems), problems


def test_what_a_stage_works_on_at_once_fits_its_registers():
    few = replace(REFERENCE, vector=replace(REFERENCE.vector, registers=1))
    none = replace(REFERENCE, matrix=replace(REFERENCE.matrix, registers=0))
    for name, stage, tiles, target in (("argmax", "first_greatest", 2, few), ("cells", "mm", 1, none)):
        program = altered(name, f" {stage} ", f" {stage} ")
        assert validate_program(program, REFERENCE) == []
        problems = [str(p) for p in validate_program(program, target)]
        assert any(stage in p and f"accumulators of {tiles} registers" in p for p in problems), problems


def test_mixed_depths_may_run_a_stage_to_its_end():
    program = altered("product", "loop 4 { loop 3 { mm @1 } }", "loop 3 { mm @0 } mm @1 mm @-1")
    assert validate_program(program, REFERENCE) == []


PROGRAM_FAULTS = [
    ("product", "tensor a: input f32 dense [1, 40, 80]", "tensor a: input f32 flat [1, 40, 80]", "formats and layouts"),
    ("product", "tensor a: input f32 dense [1, 40, 80]", "tensor a: input f32 dense [1, 40, 0]", "is empty"),
    ("product", "a = a@0", "a = a@0[0:1, 0:40, 0:64]", "phase 0 / call 0 / a: error: an extent of"),
    ("product", "a = a@0", "a = a@0[0:1, 8:48, 0:80]", "its shape is"),
    ("layers", "x = x@0[0:1, 32:64, 0:64]", "x = x@0[0:1, 16:48, 0:64]", "multiples of 32 rows and 32 columns"),
    ("product", "tensor c: result", "tensor c: input", "only state, results and intermediates"),
    ("rotary", "tensor position: input i32 flat [1, 1, 1] range 0..15", "tensor position: input i32 flat [1, 1, 1]",
     "values -2147483648..2147483647 where 0..15"),
    ("layers", "call layer at (1, 0)", "call layer at (0, 1)", "it shares sites with call 0"),
    ("product", "at (0, 0) { a", "at (7, 0) { a", "the chip has 8 x 8"),
    ("layers", "x = t0@2[0:1, 0:32, 0:64]", "x = t0@1[0:1, 0:32, 0:64]", "version 2 is current"),
    ("product", "c = c@1 }", "c = c@2 }", "stores of this phase make version 1"),
    ("attention", "s = t0@1  position", "s = t1@0  position", "before any store"),
    ("product", "result c = c@1", "result c = c@0", "the program ends with version 1"),
    ("attention", "state keys@1", "", "a state that is made and not listed"),
    ("layers", "times 4", "times 5", "the program has 4"),
    ("layers", "carry y@1", "", "3 lists of what is carried"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "says"), PROGRAM_FAULTS, ids=lambda v: None)
def test_a_faulty_program_is_refused_by_its_rule(name: str, old: str, new: str, says: str):
    problems = validate_program(altered(name, old, new), REFERENCE)
    assert any(re.search(says, str(p)) for p in problems), problems


def test_a_states_life_is_not_the_call_where_turns_are_idle():
    """One sum over all turns: sound where every turn has an item, not where the second site's last is idle."""
    source = """
    body persistent {
      operand x: in f32 flat [1, 1, 96]
      operand y: out f32 flat [2, 1, 1]
      rect 2x1
      items [4] trips [2] at (2*t0 + sx)
      queue qx: 1x32 f32 cap 1
      queue qy: 1x1 f32 cap 1
      load load_x { at x[0, 0, 32*i0] push qx @0 }
      generic total {
        pop qx @0
        state s: 1x1 f32 @-1 = 0.0
        set s @0 = s + sum_cols(qx)
        push qy @-1 = s
      }
      store store_y { pop qy @-1 at y[sx, 0, 0] }
      engine mover0 { load_x @-1 }
      engine mover1 { store_y @-1 }
      engine compute { total @-1 }
    }"""
    assert validate(parse_body(source), REFERENCE) == []
    (found,) = validate(parse_body(source.replace("items [4]", "items [3]")), REFERENCE)
    assert str(found).startswith("stage total / state s: error: a state of depth -1 on a site with idle turns")


def test_a_chip_without_a_format_refuses_it():
    narrow = replace(TF32, vector=replace(TF32.vector, holds=("bf16",)))
    problems = validate(CASES[1].program().bodies[0], narrow)
    assert any("the datapath holds bf16" in str(p) for p in problems)


def test_expressions_have_types():
    body = parse_body("""
    body template {
      rect 1x1
      items [1] trips [1] at (0)
      queue q: 4x32 i8
      queue y: 4x1 i32
      generic g { pop q @0 push y @0 = convert(i32, max_cols(q) * 2) }
    }""")
    stage = body.stages[0]
    value = stage.outs[0].value
    assert value is not None
    assert expr_type(value, stage, body, REFERENCE) == PageType((4, 1), "int", "i32")
    assert expr_type(Page(0), stage, body, REFERENCE) == PageType((4, 32), "int", "i8")
    assert expr_type(Coord(Affine.sym("c"), (1, 32)), stage, body, TF32) == PageType((1, 32), "int", "i32")
    with pytest.raises(Refused, match="in port 1"):
        expr_type(Page(1), stage, body, REFERENCE)
