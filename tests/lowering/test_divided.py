"""Long reductions of few results are cut into chunks for the sites, and every bit of the result stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, num, read, var
from hypothesis import given, settings
from hypothesis import strategies as st
from running import differences, lowered, outcome, ran
from support import REFERENCE, TF32

from spatial.check import check_program
from spatial.graph.ranges import with_ranges
from spatial.ir.affine import Affine
from spatial.ir.body import Body
from spatial.ir.graph import Acc, Block, Carried, Statement, Var
from spatial.ir.program import Program
from spatial.ir.text import parse_body, print_body, print_program
from spatial.lowering import ProgramLowering
from spatial.numerics import Array
from spatial.simulate.twin.clock import time_program
from spatial.target import Target

EAGER = replace(REFERENCE, name="eager", section_cycles=50.0)
"""A chip on which another section costs next to nothing."""

ALONE = replace(EAGER, name="alone", columns=1, rows=1)
"""The same with one site, where nothing is cut."""


@dataclass(frozen=True)
class Case:
    """`op` over `extent` terms of each of `rows`; `guard`: those below a number that only the run knows."""

    op: str
    rows: int
    extent: int
    kind: str = "float"
    guard: bool = False

    @property
    def drawn(self) -> Drawn:
        make = Maker()
        bounds = (-9, 9) if self.kind == "int" else None
        x = read(make.table((self.rows, self.extent), self.kind, "input", bounds), var(0), var(1))
        guards = ()
        if self.guard:
            count = make.table((), "int", "input", (1, self.extent))
            guards = (fn("lt", Var(var(1)), read(count), kind="bool"),)
        arg = Var(var(1, 3) + 5) if self.op.startswith("arg") else None
        kind = "int" if arg is not None else self.kind
        value = Acc(0) if arg is not None else fn("mul", Acc(0), num(2.0 if kind == "float" else 2), kind=kind)
        piece = Piece((self.rows,), (self.extent,), at(var(0)), value, (Reduction(self.op, x, guards, arg),))
        make.result(make.put(make.made((self.rows,), kind), piece))
        return drawn(make, self.extent)


def was_cut(result: ProgramLowering) -> bool:
    """Whether the one statement became several sections."""
    return result.sections > 1


def bits(case: Drawn, target: Target, given: dict[str, Array]) -> Array:
    result = lowered(case, target)
    program = result.into_whole()
    verdict = check_program(program, target)
    assert verdict.accepted, [str(f) for f in (*verdict.failures, *verdict.unsupported)][:5]
    assert was_cut(result) == (target.sites > 1)
    ((_, found),) = ran(case, program, target, fills=result.fills, given=given)[0].items()
    return found.astype(np.float32).view(np.uint32) if found.dtype.kind == "f" else found


CASES = [
    *(Case(op, 1, extent) for op in ("max", "min", "argmax_first", "argmin_first") for extent in (1600, 1999, 2049)),
    *(Case(op, 3, 1777) for op in ("max", "min", "argmax_first", "argmin_first")),
    *(Case(op, 1, 1999, "int") for op in ("max", "min", "sum", "argmax_first", "argmin_first")),
    *(Case(op, 2, 1700, guard=True) for op in ("max", "argmax_first", "argmin_first")),
    Case("sum", 2, 1999, "int", guard=True),
]

NONE, ENDLESS = np.float32(np.nan), np.float32(np.inf)
PALETTES = {
    "ties": (1.0, 2.0, 2.0, -1.0),
    "zeros": (0.0, -0.0),
    "zeros beneath": (0.0, -0.0, -1.0, -2.0),
    "endless": (ENDLESS, -ENDLESS, 0.0),
    "least": (-ENDLESS,),
    "no numbers": (NONE, -ENDLESS),
    "some numbers": (NONE, 1.0, -0.0, 0.0, -ENDLESS, ENDLESS),
    "nothing": (NONE,),
}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.op}-{c.rows}x{c.extent}-{c.kind}{'-guard' * c.guard}")
def test_chunks_compute_what_the_whole_does(case: Case):
    graph = case.drawn
    for target in (EAGER, replace(TF32, section_cycles=50.0)):
        result = lowered(graph, target)
        assert was_cut(result)
        got, want = outcome(graph, result.into_whole(), target, fills=result.fills)
        assert differences(graph, got, want) == []


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("op", ("max", "min", "argmax_first", "argmin_first"))
def test_ties_zeros_and_what_is_no_number_fare_as_in_the_whole(op: str, palette: str):
    rng = np.random.default_rng(len(palette))
    for rows, extent, guard in ((1, 1999, False), (3, 1792, False), (2, 1700, True)):
        case = Case(op, rows, extent, guard=guard).drawn
        values = rng.choice(np.array(PALETTES[palette], np.float32), (rows, extent))
        given = {t.name: values for t in case.graph.tensors if t.role == "input" and t.kind == "float"}
        given |= {t.name: np.array(700) for t in case.graph.tensors if t.role == "input" and t.kind == "int"}
        assert np.array_equal(bits(case, EAGER, given), bits(case, ALONE, given))


@pytest.mark.parametrize(("sites", "extent", "chunk"), ((8, 1999, 288), (16, 40000, 1152)), ids=("few", "many"))
def test_the_first_of_equals_is_the_first_across_chunks(sites: int, extent: int, chunk: int):
    """Equal greatest values around the borders of chunks, of which there are more than lanes on a page, or fewer."""
    case = Case("argmax_first", 1, extent).drawn
    target = replace(EAGER, columns=sites, rows=sites)
    program = lowered(case, target).into_whole()
    assert f"[1, {-(-extent // chunk)}, 1]" in print_program(program)
    (name,) = (t.name for t in case.graph.tensors if t.role == "input")
    last, lanes = extent - 1, min(32 * chunk, extent - 1)
    pairs = (
        (0, 1),
        (chunk - 1, chunk),
        (chunk, last),
        (2 * chunk - 1, 2 * chunk),
        (5, lanes + 3),
        (31, 32),
        (last, last),
    )
    for first, second in pairs:
        values = np.zeros((1, extent), np.float32)
        values[0, [first, min(second, last)]] = 3.5
        got, _ = ran(case, program, target, given={name: values})
        assert [v.item() for v in got.values()] == [3 * first + 5]


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(("max", "min", "sum", "argmax_first", "argmin_first")),
    st.integers(1, 3),
    st.integers(1500, 2600),
    st.booleans(),
)
def test_chunks_of_any_length(op: str, rows: int, extent: int, whole_numbers: bool):
    case = Case(op, rows, extent, "int" if whole_numbers or op == "sum" else "float")
    graph = case.drawn
    result = lowered(graph, EAGER)
    assert was_cut(result)
    assert check_program(result.into_whole(), EAGER).accepted
    got, want = outcome(graph, result.into_whole(), EAGER, fills=result.fills)
    assert differences(graph, got, want) == []


@pytest.mark.parametrize(
    "case",
    (
        Case("sum", 1, 4000),
        Case("argmax_last", 1, 4000),
        Case("product", 1, 400),
        Case("max", 1, 4000, "int", guard=True),
        Case("max", 500, 300),
        Case("max", 1, 90),
    ),
    ids=lambda c: f"{c.op}-{c.rows}x{c.extent}-{c.kind}",
)
def test_what_is_not_cut(case: Case):
    """Sums of floats have one order; the last of equals and guarded integers have no value for a chunk without terms;
    many results keep all sites busy anyway, and a few pages are read sooner than another section starts."""
    assert not was_cut(lowered(case.drawn, EAGER))


@pytest.mark.parametrize("op", ("max", "argmax_first"))
def test_rows_of_a_block_are_cut_in_every_instance(op: str):
    """Each instance takes the greatest of its own row, or its place, and adds it to what it was handed."""
    make = Maker()
    kind = "int" if op == "argmax_first" else "float"
    x = make.table((3, 1999))
    first = make.table((1,), kind, "input", (0, 9) if kind == "int" else None)
    inner, made, last = (make.made((1,), kind) for _ in range(3))
    arg = Var(var(1)) if kind == "int" else None
    best = Reduction(op, read(x, Affine.sym("b"), var(1)), (), arg)
    value = fn("max", Acc(0), read(inner, var(0)), kind=kind)
    statement = Statement(made, (Piece((1,), (1999,), at(var(0)), value, (best,)),))
    make.nodes.append(Block(3, (statement,), (Carried(first, inner, made, last),)))
    make.result(last)
    case = drawn(make, 5)
    case = replace(case, graph=with_ranges(case.graph))
    result = lowered(case, EAGER)
    assert dict(result.kinds).items() >= {("argmax", 6) if kind == "int" else ("reduction", 6)}
    program = result.into_whole()
    assert check_program(program, EAGER).accepted
    got, want = outcome(case, program, EAGER, fills=result.fills)
    assert differences(case, got, want) == []


def test_a_cut_that_does_not_pay_is_not_made():
    case = Case("argmax_first", 1, 4000).drawn
    assert was_cut(lowered(case, REFERENCE)) and not was_cut(lowered(case, replace(REFERENCE, section_cycles=9000.0)))


def test_a_long_row_takes_a_fraction_of_the_time():
    case = Case("argmax_first", 1, 49152).drawn
    alone = replace(REFERENCE, columns=1, rows=1)
    assert 4 * time_program(lowered(case, REFERENCE).into_whole(), REFERENCE).cycles < (
        time_program(lowered(case, alone).into_whole(), alone).cycles
    )


# ---------------------------------------------------------------- mutants

MUTATED = Case("argmax_first", 1, 1999)


def mutant(number: int, change: Callable[[Body], Body]) -> Program:
    """The program of `MUTATED` with another body of that number: its extrema, its places, what combines them."""
    program = lowered(MUTATED.drawn, EAGER).into_whole()
    bodies = list(program.bodies)
    bodies[number] = change(bodies[number])
    assert bodies[number] != program.bodies[number]
    return replace(program, bodies=tuple(bodies))


def moved(body: Body, stage: str, by: int) -> Body:
    """The body with a load or store some columns on."""
    found = body.stage(stage)
    assert found.access is not None
    s, r, c = found.access.place
    other = replace(found, access=replace(found.access, place=(s, r, c + by)))
    return replace(body, stages=tuple(other if x.name == stage else x for x in body.stages))


def fewer(body: Body) -> Body:
    """The body without its last chunk."""
    (chunks,) = body.items.grid
    return replace(body, items=replace(body.items, grid=(chunks - 1,)))


def latest(body: Body) -> Body:
    """The body with the last of equal chunks chosen."""
    found = print_body(body)
    first, last = (
        f"{fold}_cols(select(best == max_cols(best), arg, {off}))" for fold, off in (("min", 6050), ("max", 5))
    )
    return parse_body(found.replace(first, last))


def differs(program: Program) -> bool:
    """Whether a program is wrong of some places of the greatest, alone or twice."""
    case = MUTATED.drawn
    (name,) = (t.name for t in case.graph.tensors if t.role == "input")
    for first, second in ((0, 0), (287, 287), (288, 288), (5, 1700), (1998, 1998)):
        values = np.zeros((1, MUTATED.extent), np.float32)
        values[0, [first, second]] = 3.5
        got, _ = ran(case, program, EAGER, given={name: values})
        if [v.item() for v in got.values()] != [3 * first + 5]:
            return True
    return False


@pytest.mark.parametrize("number", (0, 1))
def test_a_chunk_that_is_left_out_is_rejected(number: int):
    verdict = check_program(mutant(number, fewer), EAGER)
    assert not verdict.accepted
    assert "version" in {f.obligation for f in verdict.failures}


@pytest.mark.parametrize(
    ("number", "change"),
    (
        (0, lambda body: moved(body, "load_x0", 32)),
        (0, lambda body: moved(body, "load_x0", -32)),
        (1, lambda body: moved(body, "load_x0", 1)),
        (2, latest),
    ),
    ids=("extrema a page on", "extrema a page back", "places an element on", "the last of equals"),
)
def test_other_chunks_and_another_order_compute_something_else(number: int, change: Callable[[Body], Body]):
    assert not differs(lowered(MUTATED.drawn, EAGER).into_whole())
    assert differs(mutant(number, change))
