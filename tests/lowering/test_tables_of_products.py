"""Products of which one table's part is chosen, at run time, by what runs along the other's side of the page."""

from __future__ import annotations

import pytest
from graphs import Drawn, Index, Maker, at, drawn, fn, read, var, via
from running import differences, lowered, outcome
from support import REFERENCE

from spatial.check import check_program
from spatial.ir.graph import Acc, Piece, Reduction

ROWS, PARTS, DEPTH, COLUMNS = 6, 3, 5, 7


def chosen(by_row: bool) -> Drawn:
    """x times that matrix of w which the row chooses, or that matrix of x which the column chooses times w."""
    make = Maker()
    numbers = make.table((ROWS if by_row else COLUMNS,), "int", bounds=(0, PARTS - 1))
    first: list[Index] = [var(0), var(2)]
    second: list[Index] = [var(2), var(1)]
    (second if by_row else first).insert(0, via(numbers, var(0 if by_row else 1)))
    x = make.table((ROWS, DEPTH) if by_row else (PARTS, ROWS, DEPTH))
    w = make.table((PARTS, DEPTH, COLUMNS) if by_row else (DEPTH, COLUMNS))
    term = fn("mul", read(x, *first), read(w, *second))
    total = Piece((ROWS, COLUMNS), (DEPTH,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((ROWS, COLUMNS)), total))
    return drawn(make, 1)


@pytest.mark.parametrize("by_row", (True, False), ids=("by row", "by column"))
def test_each_lane_has_the_table_it_chooses(by_row: bool):
    case = chosen(by_row)
    program = lowered(case, REFERENCE).into_whole()
    assert check_program(program, REFERENCE).accepted
    assert not differences(case, *outcome(case, program, REFERENCE))
