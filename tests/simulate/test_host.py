"""Bundles run by a host: shared tables and state, inputs checked, relations, what is printed."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from simulate.bodies import add, at, forms
from support import REFERENCE

from spatial.errors import Refused
from spatial.ir.body import Body, Index, InPort, Items, Operand, OutPort, Page, Queue, Stage
from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.program import Bind, Call, Program, Show, Tensor
from spatial.simulate.host import Host
from spatial.simulate.memory import Memory
from spatial.simulate.relations import check_relations, parse_relation
from spatial.simulate.show import shown


def adder() -> Body:
    """row of log at a run-time place := x + w, and y the same."""
    stages = (
        Stage("lp", "load", outs=(OutPort("p", 0),), access=at("at", 0, 0, 0)),
        Stage("lx", "load", outs=(OutPort("x", 0),), access=at("x", 0, 0, 0)),
        Stage("lw", "load", outs=(OutPort("w", 0),), access=at("w", 0, 0, 0)),
        Stage(
            "sum", "generic", (), (InPort("x", 0), InPort("w", 0)),
            (OutPort("s", 0, (), add(Page(0), Page(1))), OutPort("o", 0, (), add(Page(0), Page(1)))),
        ),
        Stage("sl", "store", (), (InPort("p", 0), InPort("s", 0)), access=at("log", 0, 0, 0, index=Index(0, 1))),
        Stage("sy", "store", (), (InPort("o", 0),), access=at("y", 0, 0, 0)),
    )  # fmt: skip
    operands = (
        Operand("at", "i32", "flat", (1, 1, 1), "in", (0, 3)),
        Operand("x", "f32", "flat", (1, 1, 3), "in"),
        Operand("w", "f32", "flat", (1, 1, 3), "in"),
        Operand("log", "f32", "flat", (1, 4, 3), "out"),
        Operand("y", "f32", "flat", (1, 1, 3), "out"),
    )
    queues = (Queue("p", (1, 1), "i32", 1), *(Queue(n, (1, 3), "f32", 1) for n in ("x", "w", "s", "o")))
    return Body(operands, (1, 1), Items((1,), (1,), forms("t0")), queues, stages)


def program(scratch: str) -> Program:
    tensors = (
        Tensor("place", (1, 1, 1), "i32", "input", "flat", (0, 3)),
        Tensor("x", (1, 1, 3), "f32", "input", "flat"),
        Tensor("w", (1, 1, 3), "f32", "weight", "flat"),
        Tensor("log", (1, 4, 3), "f32", "state", "flat"),
        Tensor(scratch, (1, 1, 3), "f32", "result", "flat"),
    )
    binds = tuple(Bind(t.name, int(t.role == "result" or t.name == "log"), (0, 0, 0), t.shape) for t in tensors)
    shows = ((Show("sum: "), Show("", scratch)), (Show("", "place"),))
    return Program(tensors, (adder(),), ((Call(0, binds, (0, 0)),),), (("y", scratch, 1),), (("log", 1),), (), shows)


WEIGHT = np.array([0.5, 1.5, -0.25], np.float32)


def bundle() -> tuple[Bundle, dict[str, bytes]]:
    first = program("t0")
    memory = Memory.of(first, REFERENCE)
    memory.set("w", WEIGHT.reshape(1, 1, 3))
    raw = memory.to_bytes("w")
    digest = hashlib.sha256(raw).hexdigest()
    places = (
        Placement("", "place", 0, 32), Placement("", "x", 32, 32), Placement("", "w", 64, 32, digest),
        Placement("", "log", 96, 64), Placement("one", "t0", 160, 32), Placement("two", "t5", 160, 32),
    )  # fmt: skip
    tables = (
        Table("place", (1,), "int", "input", (1, 1, 1), (0, 3)),
        Table("x", (3,), "float", "input", (1, 1, 3)),
        Table("log", (4, 3), "float", "state", (1, 4, 3)),
        Table("y", (3,), "float", "result", (1, 1, 3)),
    )
    entries = tuple(
        Entry(name, p, ("place", "x"), ("y",), ("log",)) for name, p in (("one", first), ("two", program("t5")))
    )
    return Bundle(REFERENCE, entries, tables, places, ("2*place + 1 <= 5",)), {digest: raw}


@pytest.mark.parametrize("executor", ("lockstep", "pagewise"))
def test_programs_share_state_and_weights(executor: str):
    host = Host(*bundle(), executor)
    seen: list[int] = []
    found = host.run("one", {"place": [1], "x": [1.0, 2.0, 3.0]}, observe=lambda phase, memory: seen.append(phase))
    assert found.results["y"].tolist() == [1.5, 3.5, 2.75]
    assert found.lines == ("sum: [1.5, 3.5, 2.75]", "[1]")
    assert seen == [0]
    host.run("two", {"place": np.array([2]), "x": np.zeros(3)})
    assert host.state("log").tolist() == [[0, 0, 0], [1.5, 3.5, 2.75], [0.5, 1.5, -0.25], [0, 0, 0]]
    host.set_state("log", np.ones((4, 3)))
    host.run("one", {"place": [0], "x": np.zeros(3)})
    assert host.state("log")[1:].tolist() == [[1, 1, 1]] * 3
    assert host.state("log")[0].tolist() == WEIGHT.tolist()


def test_all_that_is_wrong_with_inputs_is_said_at_once():
    host = Host(*bundle())
    with pytest.raises(Refused) as caught:
        host.run("one", {"plaec": [1], "x": [1.0]})
    text = str(caught.value)
    assert 'no input plaec; did you mean "place"?' in text
    assert "the input place of one was not given" in text
    assert "x has the shape [3]; got [1]" in text
    with pytest.raises(Refused, match="place holds 7; its range is 0 to 3"):
        host.run("one", {"place": [7], "x": np.zeros(3)})
    with pytest.raises(Refused, match="place takes integers"):
        host.run("one", {"place": [1.0], "x": np.zeros(3)})
    with pytest.raises(Refused, match=r"2\*place \+ 1 <= 5 does not hold; given place = 3"):
        host.run("one", {"place": [3], "x": np.zeros(3)})
    with pytest.raises(Refused, match='no program is called tow; did you mean "two"'):
        host.run("tow", {})
    with pytest.raises(Refused, match="shape"):
        host.set_state("log", np.ones(3))
    with pytest.raises(Refused, match="no state"):
        host.state("x")


def test_missing_data_is_named():
    with pytest.raises(Refused, match="the data of w is missing"):
        Host(bundle()[0], {})


def test_relations():
    assert parse_relation("start + count <= 256").names == {"start", "count"}
    check_relations(("start + count <= 256", "a < b"), {"start": 200, "count": 56})
    with pytest.raises(Refused, match="start = 200"):
        check_relations(("start + count <= 256",), {"start": 200, "count": 57})
    for text, sound in (("a < 3", False), ("a <= 3", True), ("a >= 3", True), ("a > 3", False), ("a == 3", True)):
        assert parse_relation(text).holds({"a": 3}) is sound
    for bad in ("a", "a <> b", "a * b < 3", "a < b < c", "f(a) < 3"):
        with pytest.raises(Refused, match="no relation"):
            parse_relation(bad)


@pytest.mark.parametrize(
    "value, text",
    (
        (np.float32(2), "2"),
        (np.float64(1e21), "1000000000000000000000"),
        (np.float64(1e-7), "0.0000001"),
        (np.float64(0.1) + np.float64(0.2), "0.30000000000000004"),
        (np.float32(0.1), "0.1"),
        (np.float32(-0.0), "-0"),
        (np.float64(np.nan), "NaN"),
        (np.float32(-np.inf), "-inf"),
        (np.int64(-12), "-12"),
        (np.array([1, 2.5]), "[1, 2.5]"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([], np.float32), "[]"),
        (np.array(True), "true"),
    ),
)
def test_what_show_prints(value: object, text: str):
    assert shown(np.asarray(value)) == text
