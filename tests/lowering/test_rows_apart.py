"""Rows that are reduced are on as many sites as there are rows for, and each is what it is in pages of many rows."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, num, read, var
from running import differences, lowered, outcome, ran
from support import REFERENCE, TF32

from spatial.check import check_program
from spatial.ir.graph import Acc
from spatial.target import Target

SIZES = ((2, 70), (9, 200), (32, 96), (33, 40), (40, 33), (70, 64), (300, 65))


def squares(op: str, rows: int, width: int) -> Drawn:
    """The root of the mean square of each row, or another fold of the squares."""
    make = Maker()
    x = make.table((rows, width))
    square = fn("mul", read(x, var(0), var(1)), read(x, var(0), var(1)))
    root = fn("sqrt", fn("div", Acc(0), num(float(width))))
    make.result(make.put(make.made((rows,)), Piece((rows,), (width,), at(var(0)), root, (Reduction(op, square),))))
    return drawn(make, rows + width)


def alone(target: Target) -> Target:
    """The target with one site, whose pages have as many rows as they can."""
    return replace(target, name="alone", columns=1, rows=1)


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
@pytest.mark.parametrize("op", ("sum", "max"))
@pytest.mark.parametrize(("rows", "width"), SIZES)
def test_every_row_is_what_it_is_in_larger_pages(op: str, rows: int, width: int, target: Target):
    case = squares(op, rows, width)
    program, whole = (lowered(case, t).into_whole() for t in (target, alone(target)))
    assert check_program(program, target).accepted
    got, want = outcome(case, program, target)
    assert differences(case, got, want) == []
    other, _ = ran(case, whole, alone(target))
    for name, values in got.items():
        assert np.array_equal(*(np.float32(v).view(np.uint32) for v in (values, other[name])))


@pytest.mark.parametrize(
    ("rows", "items"), ((1, 1), (9, 9), (16, 16), (32, 32), (64, 64), (128, 64), (1024, 64), (1088, 34))
)
def test_most_sites_have_an_item_where_there_are_rows_for_them(rows: int, items: int):
    program = lowered(squares("sum", rows, 256), REFERENCE).into_whole()
    assert [prod(b.items.grid) for b in program.bodies] == [items]


@pytest.mark.parametrize("across", (False, True), ids=("along", "across"))
def test_rows_of_blocks_stay_together(across: bool):
    """A table stored Q8_0 is read in whole blocks, whichever way its rows lie."""
    make = Maker()
    x = make.table((96, 64), role="weight")
    make.stored[make.tensors[x].name] = "q8_0"
    rows, width = (64, 96) if across else (96, 64)
    element = read(x, var(1), var(0)) if across else read(x, var(0), var(1))
    make.result(
        make.put(make.made((rows,)), Piece((rows,), (width,), at(var(0)), Acc(0), (Reduction("sum", element),)))
    )
    case = drawn(make, 3)
    got, want = outcome(case, lowered(case, REFERENCE).into_whole(), REFERENCE)
    assert differences(case, got, want) == []
