"""Statements of several pieces become sections of one phase that together store the tensor, or one statement."""

from __future__ import annotations

import pytest
from graphs import Drawn, Maker, at, drawn, fn, read, var
from running import LONE, SMALL, differences, lowered, outcome
from support import REFERENCE, TF32

from spatial.check import check_program
from spatial.ir.graph import Block, Carried, Num, Piece, Statement
from spatial.ir.validate import validate_program
from spatial.passes.pack import pack
from spatial.target import Target


def rows_on_rows(rows: tuple[int, ...], columns: int, kind: str = "float") -> Drawn:
    """Tables of so many rows each, put one under the other; then a reader of the whole."""
    make = Maker()
    pieces: list[Piece] = []
    for n, count in enumerate(rows):
        table = make.table((count, columns), kind, "input", (0, 10 * n + 9) if kind == "int" else None)
        place = at(var(0) + sum(rows[:n]), var(1))
        pieces.append(Piece((count, columns), (), place, read(table, var(0), var(1))))
    whole = make.put(make.made((sum(rows), columns), kind), *pieces)
    element = read(whole, var(0), var(1))
    make.result(make.map((sum(rows), columns), fn("add", element, element, kind=kind), kind))
    return drawn(make, 3)


def one_after_another(*sizes: int) -> Drawn:
    """Sequences of so many elements, one after the other."""
    make = Maker()
    pieces: list[Piece] = []
    for n, size in enumerate(sizes):
        pieces.append(Piece((size,), (), at(var(0) + sum(sizes[:n])), read(make.table((size,)), var(0))))
    make.result(make.put(make.made((sum(sizes),)), *pieces))
    return drawn(make, 4)


def halves(rows: int, heads: int, half: int) -> Drawn:
    """A rotation of elements i and half + i of every head, heads side by side in the columns."""
    make = Maker()
    width = 2 * half
    x = make.table((rows, heads * width))
    cos, sin = make.table((rows, half)), make.table((rows, half))
    low, high = (read(x, var(0), var(1, width) + var(2) + k) for k in (0, half))
    c, s = read(cos, var(0), var(2)), read(sin, var(0), var(2))
    values = (fn("sub", fn("mul", low, c), fn("mul", high, s)), fn("add", fn("mul", low, s), fn("mul", high, c)))
    pieces = (
        Piece((rows, heads, half), (), at(var(0), var(1, width) + var(2) + k * half), v) for k, v in enumerate(values)
    )
    make.result(make.put(make.made((rows, heads * width)), *pieces))
    return drawn(make, 5)


def exchanged(trip: int) -> Drawn:
    """A block whose instances hand on a sequence with its halves exchanged."""
    make = Maker()
    first, inner, made, final = make.table((64,)), make.made((64,)), make.made((64,)), make.made((64,))
    pieces = tuple(
        Piece((32,), (), at(var(0) + 32 * k), fn("mul", read(inner, var(0) + 32 * (1 - k)), Num(0.5 + k, "float")))
        for k in (0, 1)
    )
    make.nodes.append(Block(trip, (Statement(made, pieces),), (Carried(first, inner, made, final),)))
    make.result(final)
    return drawn(make, 6)


CASES = {
    "concatenation": one_after_another(32, 32),
    "ragged concatenation": one_after_another(32, 5),
    "three sequences": one_after_another(64, 16, 21),
    "long sequences": one_after_another(4096, 4096),
    "rows on rows": rows_on_rows((3, 5), 40),
    "ragged rows": rows_on_rows((70, 33), 100),
    "integers": rows_on_rows((4, 7), 9, "int"),
    "halves": halves(4, 1, 32),
    "halves of heads": halves(5, 3, 16),
    "halves exchanged in a block": exchanged(3),
    "large halves": halves(64, 2, 64),
}


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("name", CASES)
def test_parts_are_stored_in_one_phase(name: str, target: Target):
    case = CASES[name]
    result = lowered(case, target)
    program = result.into_whole()
    node = case.graph.nodes[0]
    statement, times = (node.body[0], node.trip) if isinstance(node, Block) else (node, 1)
    assert isinstance(statement, Statement)
    parts, first = len(statement.pieces), int(isinstance(node, Block))  # what a block begins with is copied before
    assert dict(result.kinds)["parts"] == parts * times and parts == len(program.phases[first])
    assert validate_program(program, target) == []
    verdict = check_program(program, target)
    assert verdict.accepted, [str(f) for f in (*verdict.failures, *verdict.unsupported)][:5]
    got, want = outcome(case, program, target)
    assert differences(case, got, want) == []


JOINED = {
    "inside a granule": one_after_another(37, 21),
    "more than the chip has rows": one_after_another(*[16] * 9),
}


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("name", JOINED)
def test_parts_that_cannot_share_a_phase_become_one_statement(name: str, target: Target):
    case = JOINED[name]
    result = lowered(case, target)
    program = result.into_whole()
    assert "parts" not in dict(result.kinds)
    verdict = check_program(program, target)
    assert verdict.accepted, [str(f) for f in (*verdict.failures, *verdict.unsupported)][:5]
    got, want = outcome(case, program, target)
    assert differences(case, got, want) == []


def test_a_group_goes_to_the_first_phase_that_holds_all_of_it():
    wide, low = (REFERENCE.columns, 1), (REFERENCE.columns, REFERENCE.rows - 1)
    packed = pack([low, wide, wide, wide], [frozenset()] * 4, REFERENCE, [0, 1, 1, 2])
    assert packed.phase == (0, 1, 1, 0)
