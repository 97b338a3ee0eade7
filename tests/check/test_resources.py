"""What a body needs of a site, counted by hand."""

from __future__ import annotations

import pytest
from check.mutants import read
from support import REFERENCE

from spatial.check.resources import live_tiles, needs_of
from spatial.ir.body import Cell, Const, Convert, Expr, Op, Page

A, B = Page(0), Page(1)
SUM, ONE = Op("add", (A, B)), Const(1.0, "float")


@pytest.mark.parametrize(
    ("expr", "tiles"),
    [
        (ONE, 0),
        (A, 1),
        (Op("add", (ONE, ONE)), 1),
        (Op("add", (A, ONE)), 1),
        (Op("add", (Cell(0), A)), 1),
        (SUM, 2),
        (Convert("f32", SUM), 2),
        (Op("mul", (A, SUM)), 2),
        (Op("mul", (SUM, A)), 2),
        (Op("mul", (SUM, SUM)), 3),
        (Op("select", (Op("lt", (A, B)), A, B)), 3),
    ],
)
def test_live_values_are_counted_in_the_best_order(expr: Expr, tiles: int):
    assert live_tiles(expr) == tiles


def test_the_neediest_site_counts():
    """The sender of a multicast has one queue more than its receivers."""
    needs = needs_of(read("multicast").bodies[0], REFERENCE)
    page, tile = 4 * 32, 4 * 1024
    assert needs.scratch == page * (1 + 2) + 2 * tile + page + page
    assert dict(needs.registers) == {"mm": 1}
    assert dict(needs.pushes) == {"qx0": 6, "qx": 6, "qw": 6, "qy": 2}
