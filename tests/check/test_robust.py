"""Whatever records hold, the checker answers: it raises nothing, and takes bounded time."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
from check.bundling import two_programs
from check.mutants import read, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs
from support import REFERENCE, TF32

from spatial.check import check_bundle, check_program, claims_of
from spatial.ir import body as ir
from spatial.ir.affine import Affine
from spatial.ir.program import Program

ACCEPTED = {name: read(name) for name in sorted(texts())}
BUNDLE = two_programs()
CERTIFICATE = claims_of(BUNDLE)

ODD: st.SearchStrategy[object] = st.sampled_from(
    (0, 1, -1, 2, 3, 31, 33, 1 << 20, 1 << 33, (1 << 62) - 1, 1 << 70, -(1 << 61), True, None, 0.5, float("nan"),
     float("inf"), "", "f32", "i64", "q8_0", "in", "out", "load", "scatter", "send", "\ud800", (), (0,), (1, 2), [1],
     b"", Affine(5), Affine.sym("l1", 1 << 40), Affine(0, (("sx", 1), ("sx", 1))), ir.Const(0, "int"), ir.Page(7), {})
)  # fmt: skip


def mutated(value: Any, data: st.DataObject, depth: int = 0) -> Any:
    """`value` with one part somewhere inside it replaced, dropped, doubled or moved."""
    if is_dataclass(value) and not isinstance(value, type):
        name = data.draw(st.sampled_from([f.name for f in fields(value)]))
        return replace(value, **{name: mutated(getattr(value, name), data, depth + 1)})
    if isinstance(value, tuple) and value:
        at = data.draw(st.integers(0, len(value) - 1))
        match data.draw(st.integers(0, 9)):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return (*value[:at], value[at], *value[at:])
            case 2:
                return (*value[at:], *value[:at])
            case _:
                return (*value[:at], mutated(value[at], data, depth + 1), *value[at + 1 :])
    if isinstance(value, int) and not isinstance(value, bool) and data.draw(st.booleans()):
        return value + data.draw(st.integers(-2, 2))
    return data.draw(ODD)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_program_with_any_field_altered_is_answered(data: st.DataObject):
    program: Any = ACCEPTED[data.draw(st.sampled_from(sorted(ACCEPTED)))]
    for _ in range(data.draw(st.integers(1, 3))):
        program = mutated(program, data)
    verdict = check_program(program, data.draw(st.sampled_from((REFERENCE, TF32))))
    assert verdict.answer in ("accept", "reject", "unsupported")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_target_with_any_field_altered_is_answered(data: st.DataObject):
    target: Any = mutated(REFERENCE, data)
    assert check_program(ACCEPTED["gather"], target).answer in ("accept", "reject", "unsupported")


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_a_bundle_with_any_field_altered_is_answered(data: st.DataObject):
    bundle: Any = mutated(BUNDLE, data)
    claims: Any = data.draw(st.sampled_from((None, CERTIFICATE))) or mutated(CERTIFICATE, data)
    assert check_bundle(bundle, claims).answer in ("accept", "reject", "unsupported")


@settings(max_examples=25, deadline=None)
@given(programs())
def test_arbitrary_records_are_answered(program: Program):
    assert check_program(program, REFERENCE).answer in ("reject", "unsupported", "accept")


@pytest.mark.parametrize("value", [None, 1, "program", (), REFERENCE])
def test_what_is_no_program_is_rejected(value: Any):
    verdict = check_program(value, REFERENCE)
    assert verdict.answer == "reject" and verdict.failures[0].obligation == "shape"
    assert check_bundle(value).answer == "reject"


def test_deep_expressions_are_refused_before_anything_walks_them():
    program = ACCEPTED["layers"]
    body = program.bodies[0]
    value: ir.Expr = ir.Page(0)
    for _ in range(5000):
        value = ir.Op("neg", (value,))
    ramp = body.stage("ramp")
    deep = replace(ramp, outs=(replace(ramp.outs[0], value=value),))
    stages = tuple(deep if s.name == "ramp" else s for s in body.stages)
    verdict = check_program(replace(program, bodies=(replace(body, stages=stages),)), REFERENCE)
    assert verdict.answer == "reject" and "nested deeper" in verdict.failures[0].witness


@pytest.mark.parametrize("kind", ["send", "receive", "allreduce"])
def test_stages_between_chips_are_unsupported(kind: str):
    program = ACCEPTED["product"]
    body = program.bodies[0]
    stages = tuple(replace(s, kind=kind) if s.name == "load_a" else s for s in body.stages)
    verdict = check_program(replace(program, bodies=(replace(body, stages=stages),)), REFERENCE)
    assert verdict.answer == "unsupported"
    assert [f.obligation for f in verdict.unsupported] == ["shape"]
