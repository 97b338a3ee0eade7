"""Many pieces that interleave: one section as far as a page has lanes for them, beyond a few at a time."""

from __future__ import annotations

import pytest
from graphs import Drawn, Maker, Piece, at, fn, num, read
from running import differences, lowered, outcome
from support import REFERENCE

from spatial.check import check_program


@pytest.mark.parametrize("pieces", (31, 32, 33, 70, 300))
def test_pieces_at_one_place_each_lower_however_many_they_are(pieces: int):
    make = Maker()
    x, out = make.table((6,)), make.made((pieces,))
    items = [fn("mul", read(x, k * 5 % 6), num(k + 0.5)) for k in range(pieces)]
    make.put(out, *(Piece((), (), at(k), item) for k, item in enumerate(items)))
    make.result(out)
    case = Drawn(make.graph(), seed=2)
    program = lowered(case, REFERENCE).into_whole()
    assert check_program(program, REFERENCE).accepted
    assert not differences(case, *outcome(case, program, REFERENCE))
