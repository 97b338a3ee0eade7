"""Which variables of a result one item must run along by itself, lest two items write into one granule of memory.

A write covers a granule whole, so that pages of different items start on granules or have one to themselves. Rows never
share one: a flat row is padded to the granule, and a row of a tile is a multiple of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from spatial.numerics import precision
from spatial.select.lanes import Lane, Places
from spatial.select.pieces import Stored
from spatial.target import Target


def shared_along(pos: Places, col: Lane, variables: Iterable[int], out: Stored, target: Target) -> frozenset[int]:
    """Those of `variables` along which the columns of two pages of the result (lanes `col`) may share a granule."""
    unit = target.memory.granule // precision(out.prec).bytes
    place = pos[2]
    apart = {v: place.base.coef(f"v{v}") * (col.tile // col.step if v == col.var else 1) for v in variables}
    moving = {v: n for v, n in apart.items() if n and not (v == col.var and col.pages == 1)}
    if unit <= 1:
        return frozenset()
    if place.via is not None or place.base.const % unit:
        return frozenset(moving)
    return frozenset(v for v, n in moving.items() if n % unit)
