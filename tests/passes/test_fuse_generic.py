"""`fuse_generic` on long chains: stages are joined as deep as an expression may be, and in linear work."""

from __future__ import annotations

import pytest
from effort import effort
from support import REFERENCE

from spatial.ir import wire
from spatial.ir.affine import Affine
from spatial.ir.body import DEEPEST, Access, Body, InPort, Items, Op, Operand, OutPort, Page, Queue, Stage
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.ir.rewrite import expressions, levels
from spatial.ir.text import parse_body, print_body
from spatial.ir.validate import validate, validate_program
from spatial.passes import run_passes
from spatial.passes.fuse_generic import fuse_generic

SHAPE = (1, 1, 64)


def chain(length: int) -> Body:
    """A template that takes the tangent of a vector `length` times, each time in a stage of its own."""
    place = (Affine(), Affine(), Affine.sym("i0", 32))
    stages = [Stage("load", "load", outs=(OutPort("q0", 0),), access=Access("x", place))]
    stages += [
        Stage(f"map{n}", "generic", ins=(InPort(f"q{n}", 0),), outs=(OutPort(f"q{n + 1}", 0, (), TANGENT),))
        for n in range(length)
    ]
    stages.append(Stage("store", "store", ins=(InPort(f"q{length}", 0),), access=Access("y", place)))
    operands = Operand("x", "f32", "flat", SHAPE, "in"), Operand("y", "f32", "flat", SHAPE, "out")
    queues = tuple(Queue(f"q{n}", (1, 32), "f32") for n in range(length + 1))
    return Body(operands, (1, 1), Items((2,), (2,), (Affine.sym("t0"),)), queues, tuple(stages))


TANGENT = Op("tanh", (Page(0),))


@pytest.mark.parametrize("length", (1, DEEPEST - 1, DEEPEST, 2 * DEEPEST - 2, 250))
def test_a_chain_is_joined_as_deep_as_an_expression_may_be(length: int) -> None:
    template = chain(length)
    assert validate(template, REFERENCE) == []
    made = fuse_generic(template, REFERENCE)
    depths = [levels(e) for s in made.stages for e in expressions(s)]
    assert sum(d - 1 for d in depths) == length
    assert len(depths) == -(-length // (DEEPEST - 1))
    assert max(depths) <= DEEPEST
    assert fuse_generic(made, REFERENCE) == made
    assert parse_body(print_body(made)) == made


def test_what_is_joined_so_deep_is_written_and_read_in_both_forms() -> None:
    body = run_passes(chain(250), REFERENCE)
    assert parse_body(print_body(body)) == body
    names = (("x", "input"), ("y", "result"))
    binds = tuple(Bind(name, int(role == "result"), (0, 0, 0), SHAPE) for name, role in names)
    tensors = tuple(Tensor(name, SHAPE, "f32", role, "flat") for name, role in names)
    program = Program(tensors, (body,), ((Call(0, binds, (0, 0)),),), (("y", "y", 1),))
    assert validate_program(program, REFERENCE) == []
    assert wire.unpack(wire.pack(program), Program) == program


def test_each_further_stretch_of_a_chain_takes_the_same_work() -> None:
    spent = [effort(lambda n=n: fuse_generic(chain(n * (DEEPEST - 1)), REFERENCE))[1] for n in (2, 3, 4)]
    assert spent[2] - spent[1] < 1.05 * (spent[1] - spent[0])
