"""Which variables of a result one item must run along by itself, lest two items write into one granule of memory.

A write covers a granule whole, so that pages of different items start on granules or have one to themselves. Rows never
share one: a flat row is padded to the granule, and a row of a tile is a multiple of it. Where the run-time index of a
write differs between iterations, any two may meet, and the last one counts: one item writes them all, in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from spatial.numerics import precision
from spatial.select.lanes import Lane, Places, via_uses
from spatial.select.pieces import Stored
from spatial.target import Target


def shared_along(pos: Places, col: Lane, variables: Sequence[int], out: Stored, target: Target) -> frozenset[int]:
    """Those of `variables` along which two pages of the result (lanes `col`) may share a granule, or meet."""
    if pos[2].via is not None or any(via_uses(pos, v) for v in variables):
        return frozenset(variables)
    unit = target.memory.granule // precision(out.prec).bytes
    place = pos[2]
    apart = {v: place.base.coef(f"v{v}") * (col.tile // col.step if v == col.var else 1) for v in variables}
    moving = {v: n for v, n in apart.items() if n and not (v == col.var and col.pages == 1)}
    if unit <= 1:
        return frozenset()
    if place.base.const % unit:
        return frozenset(moving)
    return frozenset(v for v, n in moving.items() if n % unit)
