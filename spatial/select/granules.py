"""Which variables of a result one item must run along by itself, lest two items write into one granule of memory.

A write covers a granule whole, so that pages of different items start on granules or have one to themselves. Rows never
share one: a flat row is padded to the granule, and a row of a tile is a multiple of it. Where the run-time index of a
write differs between iterations, any two may meet, and the last one counts: one item writes them all, in order, and no
lane changes that order.
"""

from __future__ import annotations

from spatial.numerics import precision
from spatial.select.lanes import Lane, via_uses
from spatial.select.pieces import Placed, Stored
from spatial.target import Target


def shared_along(placed: Placed, col: Lane, out: Stored, target: Target) -> frozenset[int]:
    """The variables along which two pages of the result (lanes `col`) may share a granule, or meet.

    Where some share granules of a row, so may others that neither a row nor a slice tells: a row may be met again.
    """
    pos, variables = placed.pos, placed.par_vars()
    if pos[2].via is not None or any(via_uses(pos, v) for v in variables):
        return frozenset(variables)
    if any(p.via is not None for p in pos) and not all(_told(placed, v, shifted=True) for v in variables):
        return frozenset(variables)
    unit = target.memory.granule // precision(out.prec).bytes
    place = pos[2]
    apart = {v: place.base.coef(f"v{v}") * (col.tile // col.step if v == col.var else 1) for v in variables}
    paged = [v for v in variables if not (v == col.var and col.pages == 1)]
    moving = {v: apart[v] for v in paged if apart[v]}
    if unit <= 1:
        return frozenset()
    shared = set(moving) if place.base.const % unit else {v for v, n in moving.items() if n % unit}
    if shared:
        shared |= {v for v in paged if not _told(placed, v, (0, 1))}
    return frozenset(shared)


def keeps_order(placed: Placed, var: int) -> bool:
    """Whether a lane of `var` writes in the order of the loops wherever two writes may meet: lanes run innermost.

    Writes to one place agree in every variable that an axis tells; of the others, a lane may be the innermost.
    """
    if all(p.via is None for p in placed.pos):
        return True
    loose = [v for v in placed.par_vars() if placed.extents[v] > 1 and not _told(placed, v)]
    return var not in loose or loose[-1] == var


def _told(placed: Placed, var: int, axes: tuple[int, ...] = (0, 1, 2), shifted: bool = False) -> bool:
    """Whether the place on one of `axes` tells a variable: no run-time place, and strides that do not overlap.

    `shifted`: a run-time index is one number, so that it moves all places alike.
    """
    for place in (placed.pos[axis] for axis in axes):
        if (place.via is not None and not shifted) or not place.base.coef(f"v{var}"):
            continue
        moving = [(abs(c), placed.extents[int(s[1:])]) for s, c in place.base.terms if s != "b"]
        reach, apart = 0, True
        for stride, extent in sorted(m for m in moving if m[1] > 1):
            apart = apart and stride > reach
            reach += stride * (extent - 1)
        if apart:
            return True
    return False
