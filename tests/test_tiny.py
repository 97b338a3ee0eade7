"""The whole house in one walk, a second long: four lines of source to an accepted certificate, and the numbers."""

from __future__ import annotations

import numpy as np
from support import REFERENCE

from spatial.build.link import Part, link
from spatial.check import check_bundle, claims_of
from spatial.ir import wire
from spatial.ir.bundle import Bundle
from spatial.lift import Facts, Table, lift
from spatial.logos.parser import parse
from spatial.lowering import Options, lower
from spatial.select.layouts import Request, agree
from spatial.simulate.memory import Memory
from spatial.simulate.run import run_program

SOURCE = """\
## Main
Let total be 0.
Repeat for i from 1 to n:
    Set total to total + item i of a * item i of b.
"""


def walk() -> tuple[Bundle, bool, int]:
    """The bundle of the source, whether its certificate is accepted, and what the simulator makes of it."""
    table = Table((100,), "int", (-9, 9))
    lifted = lift(parse(SOURCE, "tiny.lg"), Facts({"n": 100}, {"a": table, "b": table}), ("total",))
    assert lifted.graph is not None, lifted.missing
    layouts = agree({"dot": lifted.graph}, Request(), REFERENCE)
    program = lower(lifted, layouts, REFERENCE, Options(results=frozenset({"total"}))).into_whole()
    bundle = wire.unpack(wire.pack(link([Part("dot", program, lifted.graph)], {}, REFERENCE)), Bundle)
    accepted = check_bundle(bundle, claims_of(bundle)).accepted
    memory = Memory.of(bundle.entry("dot").program, bundle.target)
    for name in ("a", "b"):
        memory.set(name, numbers(name).reshape(layouts[name].view.shape))
    run_program(program, bundle.target, memory)
    return bundle, accepted, int(memory.get("total").item())


def numbers(name: str) -> np.ndarray:
    return np.random.default_rng(ord(name)).integers(-9, 10, 100)


def test_four_lines_of_source_become_an_accepted_certificate():
    bundle, accepted, total = walk()
    assert accepted
    assert total == int(numbers("a") @ numbers("b"))
    assert [t.name for t in bundle.tables] == ["a", "b", "total"]
