"""The wire form is canonical msgpack: it round-trips, and reads nothing but what it writes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import msgpack
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import BODIES, programs
from support import REFERENCE, TF32

from spatial.errors import Bug, Damaged
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Const, Items, Op, OutPort, Stage
from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.graph import (
    Acc,
    At,
    Carried,
    Fn,
    Graph,
    GraphTensor,
    Num,
    Piece,
    Read,
    Reduction,
    Shown,
    Statement,
    Var,
)
from spatial.ir.graph import Block as GraphBlock
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.ir.wire import MAGIC, SCHEMA, digest, pack, unpack
from spatial.target import Target

FEW = settings(max_examples=50, deadline=None)
HEAD = MAGIC + bytes((SCHEMA,))
I0 = Affine.sym("v0")
GRAPH = Graph(
    (
        GraphTensor((4, 3), "float", "input", "x"),
        GraphTensor((), "int", "input", "n", (0, 3)),
        GraphTensor((3,), "float", "fill", fill=Piece((3,), (), (At(I0),), Num(0.5, "float"))),
        GraphTensor((4,), "float", "made"),
    ),
    (
        Statement(3, (Piece(
            (4,), (3,), (At(I0),), Fn("mul", (Acc(0), Num(2.0, "float")), "float"),
            (Reduction("sum", Read(0, (At(Affine(), Read(1, ()), 1), At(Affine.sym("v1")))), (Var(I0),)),),
        ),)),
        GraphBlock(2, (), (Carried(3, 3, 3, 3),)),
    ),
    (("y", 3),),
    (),
    (Shown(("y is ", 3)),),
)  # fmt: skip
STAGE = Stage("g", "generic", (), (), (OutPort("q", 0, (), Const(1.0, "float")),))
BODY = Body((), (1, 1), Items((1,), (1,), (Affine(),)), (), (STAGE,))
PROGRAM = Program((Tensor("x", (1, 1, 8), "f32", "input", "flat"),), (BODY,), ((Call(0, (), (0, 0)),),))
BUNDLE = Bundle(
    TF32,
    (Entry("p", PROGRAM, ("x",), (), (), GRAPH),),
    (Table("x", (8,), "float", "input", (1, 1, 8)),),
    (Placement("", "x", 0, 32, "ab"),),
    ("a <= 3",),
    (("prefill", "p"), ("stop", (1, 2))),
)


@FEW
@given(BODIES)
def test_bodies_round_trip(body: Body):
    assert unpack(pack(body), Body) == body


@FEW
@given(programs())
def test_programs_round_trip(program: Program):
    data = pack(program)
    assert unpack(data, Program) == program
    assert pack(unpack(data, Program)) == data


@pytest.mark.parametrize("record", [REFERENCE, TF32, GRAPH, BUNDLE, PROGRAM])
def test_records_round_trip(record: Any):
    assert unpack(pack(record), type(record)) == record


def plain(value: Any) -> Any:
    """`value` as msgpack's own packer should see it."""
    match value:
        case Stage() | Body() | Items() | Affine() | OutPort():
            return {name: plain(getattr(value, name)) for name in sorted(f.name for f in dataclasses.fields(value))}
        case Const():
            return ["Const", {"kind": value.kind, "value": value.value}]
        case tuple():
            return [plain(v) for v in value]
        case _:
            return value


def test_the_bytes_are_msgpack_with_sorted_keys():
    assert pack(BODY) == HEAD + msgpack.packb("Body") + msgpack.packb(plain(BODY))


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_integers_take_their_shortest_form(value: int):
    const = Affine(value)
    assert pack(const).endswith(msgpack.packb("const") + msgpack.packb(value) + msgpack.packb("terms") + b"\x90")
    assert unpack(pack(const), Affine) == const


@FEW
@given(BODIES, st.data())
def test_no_two_byte_strings_mean_the_same(body: Body, data: st.DataObject):
    """Altered bytes are refused, or are the one form of another record."""
    packed = bytearray(pack(body))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        other = unpack(bytes(packed), Body)
    except Damaged:
        return
    assert pack(other) == bytes(packed)


def body_with(**fields: Any) -> bytes:
    return HEAD + msgpack.packb("Affine") + msgpack.packb(fields)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "do not begin"),
        (b"other", "do not begin"),
        (MAGIC + b"\x63", "another schema"),
        (pack(BODY), "the record is a Body"),
        (body_with(const=1), "1 fields where a Affine has 2"),
        (body_with(const=1, terns=[]), "Affine: the field 'terns' where 'terms' should be"),
        (body_with(const="a", terms=[]), "Affine.const: a string where an integer should be"),
        (body_with(const=1.0, terms=[]), "a float where an integer should be"),
        (body_with(const=True, terms=[]), "a truth value where an integer should be"),
        (body_with(const=1, terms=[["a", 1, 2]]), r"Affine.terms\[0\]: a list where a list of 2 should be"),
        (body_with(const=1, terms=[["a", None]]), r"Affine.terms\[0\]\[1\]: nothing where an integer"),
        (pack(Affine(1))[:-1], "end too early"),
        (pack(Affine(1)) + b"\x00", "1 bytes follow"),
        (pack(Affine(1)).replace(b"\xa5const\x01", b"\xa5const\xcc\x01"), "shortest form"),
        (pack(Affine(1))[:-1] + b"\xdd\xff\xff\xff\xff", "more than there are bytes"),
        (pack(Affine(1))[:-1] + b"\xdc\x00\x00", "length that is not in its shortest form"),
        (pack(Affine(1, (("é", 1),))).replace("é".encode(), b"\xff\xff"), "no UTF-8"),
        (pack(Affine(1, (("ab", 1),))).replace(b"\xa2ab", b"\xdb\xff\xff\xff\xff"), "more than there are"),
    ],
)
def test_foreign_bytes_are_refused_with_a_path(data: bytes, says: str):
    with pytest.raises(Damaged, match=says):
        unpack(data, Affine)


def test_size_is_bounded():
    with pytest.raises(Damaged, match="at most 10 are read"):
        unpack(pack(BODY), Body, max_bytes=10)


def nested(levels: int) -> Body:
    expr: Any = Const(1.0, "float")
    for _ in range(levels):
        expr = Op("neg", (expr,))
    return replace(BODY, stages=(replace(STAGE, outs=(OutPort("q", 0, (), expr),)),))


def test_depth_is_bounded():
    assert unpack(pack(nested(100)), Body) == nested(100)
    with pytest.raises(Bug, match="nested more than"):
        pack(nested(200))
    opening = b"\x92" + msgpack.packb("Op") + b"\x82" + msgpack.packb("args") + b"\x91"
    inner = b"\x92" + msgpack.packb("Const")
    bomb = pack(BODY).replace(inner, opening * 10_000 + inner)
    with pytest.raises(Damaged, match="nested more than"):
        unpack(bomb, Body)


def test_nan_has_one_form():
    nan = replace(BODY, stages=(replace(STAGE, outs=(OutPort("q", 0, (), Const(-math.nan, "float")),)),))
    data = pack(nan)
    assert b"\xcb\x7f\xf8\0\0\0\0\0\0" in data
    with pytest.raises(Damaged, match="one form"):
        unpack(data.replace(b"\xcb\x7f\xf8\0", b"\xcb\xff\xf8\0"), Body)


@pytest.mark.parametrize("wrong", [replace(BODY, rect=[1, 1]), replace(BODY, phase=3), replace(BODY, stages=(BODY,))])
def test_a_record_of_wrong_types_is_a_bug(wrong: Body):
    with pytest.raises(Bug, match="a record has no wire form: Body"):
        pack(wrong)


def test_digests_follow_the_content():
    assert digest(BODY) == digest(unpack(pack(BODY), Body))
    assert digest(BODY) != digest(replace(BODY, rect=(2, 1)))


def test_a_target_decodes_to_its_own_types():
    target = unpack(pack(replace(REFERENCE, clock=1)), Target)
    assert isinstance(target.clock, float) and target == replace(REFERENCE, clock=1.0)


def test_the_effort_grows_with_the_calls_and_no_faster():
    bind = Bind("blk0_attention_weights", 3, (0, 32, 64), (1, 576, 1536))

    def round_trip(calls: int) -> int:
        program = replace(PROGRAM, phases=tuple((Call(n, (bind,) * 6, (0, 0)),) for n in range(calls)))
        back, count = effort(lambda: unpack(pack(program), Program))
        assert back == program
        return count

    assert round_trip(600) <= 4.5 * round_trip(150)
