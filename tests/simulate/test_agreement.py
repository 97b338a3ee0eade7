"""Random stages: the stream executor and the page executor agree bit for bit, whatever the nest, states and cells."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulate.bodies import at, form, forms
from support import REFERENCE, TF32

from spatial.ir.affine import Affine
from spatial.ir.body import (
    Body,
    Cell,
    Const,
    Convert,
    Coord,
    Expr,
    InPort,
    Items,
    Lanes,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Stage,
    State,
)
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.simulate import lockstep
from spatial.simulate.memory import Memory
from spatial.simulate.pagewise import Pagewise
from spatial.simulate.run import run_program
from spatial.target import Target

ROWS, COLS = 2, 4


def program_of(body: Body) -> Program:
    """The one-call program of a body, a tensor for each operand."""
    tensors = tuple(
        Tensor(o.name, o.extent, o.prec, "result" if o.mode == "out" else "input", o.layout, o.range)
        for o in body.operands
    )
    binds = tuple(Bind(o.name, int(o.mode == "out"), (0, 0, 0), o.extent) for o in body.operands)
    return Program(tensors, (body,), ((Call(0, binds, (0, 0)),),))


class Draw:
    """A random body: three loads, one computing stage with states, a store for each of its out ports."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.loops = tuple(self.rng.randint(1, 3) for _ in range(self.rng.randint(0, 2)))
        self.trips = tuple(self.rng.randint(1, 3) for _ in range(self.rng.randint(1, 2)))
        self.sites = self.rng.randint(1, 3)
        self.turns = int(np.prod(self.trips))
        self.idle = self.rng.random() < 0.4

    def symbols(self, depth: int) -> list[tuple[str, int]]:
        """Coordinates there are at a depth, with their extents."""
        found = [("sx", self.sites)]
        if depth >= 0:
            found += [(f"t{n}", e) for n, e in enumerate(self.trips)]
        return found + [(f"l{n + 1}", e) for n, e in enumerate(self.loops[: max(depth, 0)])]

    def choice(self, dims: tuple[int, ...], symbols: list[tuple[str, int]]) -> tuple[Affine, ...]:
        """A form for each dimension that stays inside it."""
        found: list[Affine] = []
        for extent in dims:
            fitting = [Affine.sym(s) for s, e in symbols if e <= extent]
            fitting += [Affine(extent - 1) - Affine.sym(s) for s, e in symbols if e <= extent]
            sums = [
                Affine.sym(s) + Affine.sym(t) for s, e in symbols for t, f in symbols if s < t and e + f - 1 <= extent
            ]
            found.append(self.rng.choice([*fitting, *fitting, *sums, Affine(self.rng.randrange(extent))]))
        return tuple(found)

    def body(self) -> Body:
        rng, top = self.rng, len(self.loops)
        across = max(1, self.sites * self.turns - (1 if self.idle else 0))
        turn = " + ".join(f"{int(np.prod(self.trips[n + 1 :]))}*t{n}" for n in range(len(self.trips)))
        items = Items((across,), self.trips, forms(f"{turn} + {self.turns}*sx"))
        ins, loads, queues, operands = [], [], [], []
        for n in range(3):
            depth = rng.randint(-1 if n == 2 else 0, top)
            pages = rng.choice(((), (2,), (3,), (2, 2)))
            loops = self.loops[: max(depth, 0)]
            shape = (1, ROWS * 4 + 1, COLS * 4)
            row = self.rng.choice(("sx", "p0" if pages else "sx", "l1" if depth > 0 else "0"))
            col = self.rng.choice(
                ("t0" if depth >= 0 else "sx", "l1 + 1" if depth > 0 else "1", "p0" if pages else "2")
            )
            queues.append(Queue(f"q{n}", (ROWS, COLS), "f32", 4))
            operands.append(Operand(f"x{n}", "f32", "flat", shape, "in"))
            access = at(f"x{n}", 0, str(form(row) * 2), str(form(col) * 3))
            loads.append(Stage(f"load{n}", "load", loops, outs=(OutPort(f"q{n}", depth, pages),), access=access))
            ins.append(InPort(f"q{n}", depth, pages))
        states = self.states(ins)
        outs, stores = [], []
        for n in range(rng.randint(1, 2)):
            depth = rng.randint(0, top)
            pages = rng.choice(((), (2,)))
            value = self.value(ins, states, depth, pages)
            loops = self.loops[: max(depth, 0)]
            outs.append(OutPort(f"o{n}", depth, pages, value))
            queues.append(Queue(f"o{n}", (ROWS, COLS), "f32", 4))
            count = int(np.prod(loops)) * int(np.prod(pages))
            steps = [*loops, *pages]
            names = [*(f"l{k + 1}" for k in range(len(loops))), *(f"p{k}" for k in range(len(pages)))]
            place = Affine()
            for k, name in enumerate(names):
                place = place + Affine.sym(name, ROWS * int(np.prod(steps[k + 1 :])))
            operands.append(Operand(f"y{n}", "f32", "flat", (across, ROWS * count, COLS), "out"))
            stores.append(
                Stage(
                    f"store{n}",
                    "store",
                    loops,
                    (InPort(f"o{n}", depth, pages),),
                    access=at(f"y{n}", "i0", str(place), 0),
                )
            )
        mid = Stage("mid", "generic", self.loops, tuple(ins), tuple(outs), tuple(states))
        return Body(tuple(operands), (self.sites, 1), items, tuple(queues), (*loads, mid, *stores))

    def states(self, ins: list[InPort]) -> list[State]:
        rng, top = self.rng, len(self.loops)
        blank: list[State] = []
        for n in range(rng.randint(0, 3)):
            depth = rng.randint(-1 if not self.idle else 0, top)
            when = rng.randint(max(depth, 0), top)
            cells = rng.choice(((), (), (3,), (2, 3), self.loops, self.loops[-1:]))
            cell = self.choice(cells, self.symbols(when))
            prec = rng.choice(("f32", "f32", "bf16"))
            blank.append(
                State(f"s{n}", (ROWS, COLS), prec, depth, rng.choice((0.0, 1.5)), when, Const(0, "int"), cells, cell)
            )
        made: list[State] = []
        for n, state in enumerate(blank):
            own: Expr = Cell(n, state.cell)
            term = self.term(ins, state.at, ())
            known = [
                k for k, s in enumerate(blank) if s.depth <= state.at and (s.depth, s.at) == (state.depth, state.at)
            ]
            match rng.randrange(4):
                case 0:
                    update: Expr = Op("add", (own, term))
                case 1:
                    update = Op("max", (Op("mul", (own, Const(0.75, "float"))), term))
                case 2:
                    other = rng.choice(known)
                    read = Cell(other, self.choice(blank[other].cells, self.symbols(state.at)))
                    update = Op("sub", (Op("mul", (read, Const(0.5, "float"))), term))
                case _:
                    update = Op("select", (Op("lt", (own, term)), Op("add", (own, term)), Op("add", (own, own))))
            made.append(
                State(
                    state.name,
                    state.shape,
                    state.prec,
                    state.depth,
                    state.init,
                    state.at,
                    update,
                    state.cells,
                    state.cell,
                )
            )
        return made

    def term(self, ins: list[InPort], depth: int, pages: tuple[int, ...]) -> Expr:
        symbols = [*self.symbols(depth), *((f"p{n}", e) for n, e in enumerate(pages))]
        known = [n for n, p in enumerate(ins) if p.depth <= depth]
        leaves: list[Expr] = [Page(n, self.choice(ins[n].pages, symbols)) for n in known]
        name = self.rng.choice(symbols)[0]
        leaves.append(Convert("f32", Coord(Affine.of(1, {name: 2, "r": 3, "c": 1}), (ROWS, COLS))))
        x, y = self.rng.choice(leaves), self.rng.choice(leaves)
        match self.rng.randrange(4):
            case 0:
                return x
            case 1:
                return Op("mul", (x, y))
            case 2:
                return Op("sub", (x, Lanes(self.rng.choice(("sum", "max")), self.rng.choice(("rows", "cols")), y)))
            case _:
                return Op("add", (x, Op("exp", (Op("min", (y, Const(1.0, "float"))),))))

    def value(self, ins: list[InPort], states: list[State], depth: int, pages: tuple[int, ...]) -> Expr:
        term = self.term(ins, depth, pages)
        symbols = [*self.symbols(depth), *((f"p{n}", e) for n, e in enumerate(pages))]
        for n, state in enumerate(states):
            if state.depth == depth:
                term = Op("add", (term, Cell(n, self.choice(state.cells, symbols))))
        return term


def outcome(body: Body, target: Target, executor: object, seed: int) -> dict[str, bytes]:
    program = program_of(body)
    memory = Memory.of(program, target)
    rng = np.random.default_rng(5)
    for operand in body.operands:
        if operand.mode == "in":
            memory.set(operand.name, rng.standard_normal(operand.extent).astype(np.float32))
    run_program(program, target, memory, executor, seed)  # type: ignore[arg-type]
    return {o.name: memory.get(o.name).tobytes() for o in body.operands if o.mode == "out"}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 32))
def test_windows_of_turns_and_sites_change_nothing(seed: int):
    body = Draw(seed).body()
    whole = outcome(body, REFERENCE, "lockstep", 0)
    with pytest.MonkeyPatch.context() as patch:
        for size in (1, 100, 400):
            patch.setattr(lockstep, "STREAM_BYTES", size)
            assert outcome(body, REFERENCE, "lockstep", 0) == whole


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 1 << 32))
def test_random_stages_agree(seed: int):
    body = Draw(seed).body()
    expected = outcome(body, REFERENCE, "lockstep", 0)
    for order in range(2):
        assert outcome(body, REFERENCE, Pagewise(REFERENCE), order) == expected
    assert outcome(body, TF32, Pagewise(TF32, "latest"), 0) == outcome(body, TF32, "lockstep", 0)
