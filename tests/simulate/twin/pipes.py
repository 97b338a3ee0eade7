"""A chip of round figures, and small bodies whose cycles can be counted on paper."""

from __future__ import annotations

from dataclasses import replace

from graphs import Drawn
from hypothesis import assume
from plan.templates import measures_of, sampled, template_of, under
from simulate.bodies import add, at, forms, load
from support import REFERENCE

from spatial.errors import Refused
from spatial.ir.body import (
    Body,
    Cell,
    Engine,
    InPort,
    Items,
    Loop,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Rect,
    Stage,
    State,
    Step,
)
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.simulate.twin.clock import time_program
from spatial.target import Memory, Network, Target

PAPER = replace(
    REFERENCE,
    name="paper",
    memory=Memory(1 << 30, 4096.0, 4096.0, 16, 32, 500.0, 1, 4096.0),
    network=Network(2, 64.0, 64.0, 2.0, 10.0, 8.0, ((512.0, 64.0),), ("rectangle",)),
    section_cycles=0.0,
    step_cycles=0.0,
    unpack=1e9,
    pack=4096.0,
)
"""A page of 32 x 32 f32 is 4096 bytes: 1 cycle of the one bank, 64 of a port or a line, 1 of packing; a read comes
500 cycles after it is served, a message takes 10 and 2 a hop, a mover starts a transfer every 8. An operation on it
takes 32 cycles, an exp 8 times as long. Nothing is fixed."""


def memory(target: Target, **figures: float) -> Target:
    """The target with other figures of its memory."""
    return replace(target, memory=replace(target.memory, **figures))


def program_of(body: Body, place: tuple[int, int] = (0, 0)) -> Program:
    """One call of `body`, every operand bound to a tensor of its own."""
    roles = {"in": "input", "out": "result"}
    tensors = tuple(Tensor(o.name, o.extent, o.prec, roles[o.mode], o.layout) for o in body.operands)
    binds = tuple(Bind(o.name, int(o.mode == "out"), (0, 0, 0), o.extent) for o in body.operands)
    return Program(tensors, (body,), ((Call(0, binds, place),),))


def cycles(body: Body, target: Target = PAPER, skipping: bool = True) -> float:
    """What one call of `body` takes."""
    return time_program(program_of(body), target, skipping).cycles


def planned(case: Drawn, seed: int, target: Target) -> list[Body]:
    """The drawn statement under up to two plans; a case that is not lowered is not taken."""
    try:
        template = template_of(case, target)
        plans = sampled(measures_of(template, target), seed, 2)[1]
        return [under(template, plan, target) for plan in plans]
    except Refused:
        assume(False)
        raise


def mapped(pages: int, depth: int = 2, out: int = 2, op: str = "neg", across: int = 1, stride: int = 1) -> Body:
    """y = op(x) a tile at a time on one site: `pages` tiles of x, `stride` tiles apart in rows `across` tiles wide."""
    x = Operand("x", "f32", "dense", (1, 32 * (-(-pages * stride // across)), 32 * across), "in")
    y = Operand("y", "f32", "dense", (1, 32, 32 * pages), "out")
    place = (0, "32*i0", 0) if stride == across else (0, 0, f"{32 * stride}*i0")
    return Body(
        (x, y),
        (1, 1),
        Items((pages,), (pages,), forms("t0")),
        (Queue("qx", (32, 32), "f32", depth), Queue("qy", (32, 32), "f32", out)),
        (
            load("ld", "qx", 0, at("x", *place)),
            Stage("f", "generic", (), (InPort("qx", 0),), (OutPort("qy", 0, (), Op(op, (Page(0),))),)),
            Stage("st", "store", (), (InPort("qy", 0),), access=at("y", 0, 0, "32*i0")),
        ),
        (
            Engine("compute", (Loop(pages, (Step("f", 0),)),)),
            Engine("mover0", (Loop(pages, (Step("ld", 0),)),)),
            Engine("mover1", (Loop(pages, (Step("st", 0),)),)),
        ),
    )


def summed(pages: int, depth: int, across: int = 1, sites: int = 1, down: bool = True, layout: str = "dense") -> Body:
    """The sum of `pages` tiles of x, one below the other (else side by side) in rows `across` tiles wide; each site
    takes a column of its own."""
    wide = max(across, sites)
    x = Operand("x", "f32", layout, (1, 32 * pages, 32 * wide) if down else (1, 32, 32 * pages * sites), "in")
    y = Operand("y", "f32", "dense", (1, 32, 32 * sites), "out")
    place = (0, "32*l1", "32*i0") if down else (0, 0, f"{32 * pages}*i0 + 32*l1")
    total = State("total", (32, 32), "f32", 0, 0.0, 1, add(Cell(0), Page(0)))
    return Body(
        (x, y),
        (sites, 1),
        Items((sites,), (1,), forms("sx")),
        (Queue("qx", (32, 32), "f32", depth), Queue("qy", (32, 32), "f32", 1)),
        (
            load("ld", "qx", 1, at("x", *place), (pages,)),
            Stage("sum", "generic", (pages,), (InPort("qx", 1),), (OutPort("qy", 0, (), Cell(0)),), (total,)),
            Stage("st", "store", (), (InPort("qy", 0),), access=at("y", 0, 0, "32*i0")),
        ),
        (
            Engine("compute", (Loop(pages, (Step("sum", 1),)),)),
            Engine("mover0", (Loop(pages, (Step("ld", 1),)),)),
            Engine("mover1", (Step("st", 0),)),
        ),
    )


def spread(pages: int, sites: int, depth: int = 2, kind: str = "multicast", down: bool = False) -> Body:
    """Every site of a row (or `down` a column) stores the negative of what the first reads: the same pages by
    multicast, its own ones by scatter."""
    each = sites if kind == "scatter" else 1
    x = Operand("x", "f32", "dense", (1, 32, 32 * pages * each), "in")
    y = Operand("y", "f32", "dense", (1, 32 * sites, 32 * pages), "out")
    first, line = Rect(0, 0, 1, 1), (1, sites) if down else (sites, 1)
    popped = InPort("all", 1, (sites,) if kind == "scatter" else ())
    place = at("x", 0, 0, f"{32 * each}*l1 + 32*p0" if kind == "scatter" else "32*l1")
    return Body(
        (x, y),
        line,
        Items((sites,), (1,), forms("sy" if down else "sx")),
        (
            Queue("all", (32, 32), "f32", each),
            Queue("qx", (32, 32), "f32", depth),
            Queue("qy", (32, 32), "f32", 1),
        ),
        (
            Stage("ld", "load", (pages,), outs=(OutPort("all", 1, popped.pages),), access=place, on=first),
            Stage("cast", kind, (pages,), (popped,), (OutPort("qx", 1),), on=first, group=line),
            Stage("f", "generic", (pages,), (InPort("qx", 1),), (OutPort("qy", 1, (), Op("neg", (Page(0),))),)),
            Stage("st", "store", (pages,), (InPort("qy", 1),), access=at("y", 0, "32*i0", "32*l1")),
        ),
        (
            Engine("compute", (Loop(pages, (Step("f", 1),)),)),
            Engine("mover0", (Loop(pages, (Step("ld", 1), Step("cast", 1))),)),
            Engine("mover1", (Loop(pages, (Step("st", 1),)),)),
        ),
    )
