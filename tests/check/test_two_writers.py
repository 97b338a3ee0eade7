"""Two writers of one table that nothing orders: rejected where they may meet, both named; accepted side by side."""

from __future__ import annotations

import pytest
from support import REFERENCE

from spatial.check import check_program
from spatial.check.verdict import Failure
from spatial.ir.text import parse_program

FRAME = """program {{
  tensor x: input f32 flat [1, 1, 64]
  tensor i: input i32 flat [1, 1, 1] range 0..7
  tensor y: {role} f32 flat [1, {rows}, 64]
{body}
  {end}
}}
"""

COPY = """
  body {name} persistent {{
    operand a: in f32 flat [1, 1, 64]
    operand {out}: out f32 flat [1, {rows}, 64]
    rect 1x1
    items [1] trips [1] at (0)
    queue qa: 1x32 f32 cap 1
    load load_{name} loops [{n}] {{ at a[0, 0, 32*l1] push qa @1 }}
    store store_{name} loops [{n}] {{ pop qa @1 at {out}[0, 0, {at}] }}
    engine mover0 {{ loop {n} {{ load_{name} @1 store_{name} @1 }} }}
  }}
"""


def failures(text: str) -> list[Failure]:
    verdict = check_program(parse_program(text, "two"), REFERENCE)
    assert not verdict.unsupported, [str(f) for f in verdict.unsupported]
    assert verdict.accepted == (not verdict.failures)
    return list(verdict.failures)


def two_bodies(second: str) -> str:
    """Two bodies of one phase that store y: its first half, and what begins at `second`."""
    bodies = COPY.format(name="low", out="p", rows=1, n=1, at="32*l1")
    bodies += COPY.format(name="high", out="q", rows=1, n=1, at=second)
    calls = "phase { call low at (0, 0) { a = x@0  p = y@1 }  call high at (1, 0) { a = x@0  q = y@1 } }"
    return FRAME.format(role="result", rows=1, body=f"{bodies}\n  {calls}", end="result y = y@1")


def two_stages(second: str) -> str:
    """Two stages of one body that store y: its first half, and what begins at `second`."""
    body = """
  body both persistent {
    operand a: in f32 flat [1, 1, 64]
    operand y: out f32 flat [1, 1, 64]
    rect 1x1
    items [1] trips [1] at (0)
    queue qa: 1x32 f32 cap 1
    queue qb: 1x32 f32 cap 1
    load load_a { at a[0, 0, 0] push qa @0 }
    load load_b { at a[0, 0, 32] push qb @0 }
    store store_low { pop qa @0 at y[0, 0, 0] }
    store store_high { pop qb @0 at y[0, 0, %s] }
    engine mover0 { load_a @-1 store_low @-1 load_b @-1 store_high @-1 }
  }
  phase { call both at (0, 0) { a = x@0  y = y@1 } }
"""
    return FRAME.format(role="result", rows=1, body=body % second, end="result y = y@1")


def run_time(second: str) -> str:
    """Two bodies of one phase that store a table: at a run-time row below 8, and what `second` binds of it."""
    body = """
  body late persistent {
    operand a: in f32 flat [1, 1, 64]
    operand i: in i32 flat [1, 1, 1] range 0..7
    operand p: out f32 flat [1, 8, 64]
    rect 1x1
    items [1] trips [1] at (0)
    queue qa: 1x32 f32 cap 1
    queue qi: 1x1 i32 cap 1
    load load_i { at i[0, 0, 0] push qi @0 }
    load load_a { at a[0, 0, 0] push qa @0 }
    store store_late { pop qa @0 pop qi @0 at p[0, qi, 0] }
    engine mover0 { load_i @-1 load_a @-1 store_late @-1 }
  }
"""
    body += COPY.format(name="early", out="q", rows=1, n=2, at="32*l1")
    calls = f"phase {{ call late at (0, 0) {{ a = x@0  i = i@0  p = y@1[0:1, 0:8, 0:64] }}  {second} }}"
    return FRAME.format(role="state", rows=9, body=f"{body}\n  {calls}", end="state y@1")


@pytest.mark.parametrize("program", (two_bodies, two_stages))
def test_writers_that_end_where_the_other_begins_are_accepted(program):
    assert failures(program("32")) == []


@pytest.mark.parametrize("second", ("0", "16", "31"))
def test_two_bodies_that_meet_are_rejected_and_named(second: str):
    (found,) = failures(two_bodies(second))
    assert found.obligation == "version"
    assert "call 0, operand p, and call 1, operand q, store the same elements" in found.witness


@pytest.mark.parametrize("second", ("0", "16", "31"))
def test_two_stages_that_meet_are_rejected_and_named(second: str):
    (found,) = failures(two_stages(second))
    assert (found.obligation, found.place) == ("store", "program, body 0, operand y")
    assert "2 times in one call, by store_low and store_high" in found.witness


def test_a_run_time_row_and_a_row_it_may_be_are_rejected_and_named():
    beside = run_time("call early at (1, 0) { a = x@0  q = y@1[0:1, 8:9, 0:64] }")
    assert failures(beside) == []
    (found,) = failures(run_time("call early at (1, 0) { a = x@0  q = y@1[0:1, 7:8, 0:64] }"))
    assert found.obligation == "version"
    assert "call 0, operand p, and call 1, operand q, store the same elements" in found.witness
