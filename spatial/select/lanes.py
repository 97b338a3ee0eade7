"""Lanes: which piece variables run along a page's rows and columns, and the page each access then moves.

A lane variable v of tile T is split v = T * (coordinate) + lane; every other variable is a coordinate. An access is
pageable under a choice of lanes when each lane variable has stride 1 on one axis and stands on no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.ir.affine import Affine
from spatial.select.views import AxisPlace

Places = tuple[AxisPlace, AxisPlace, AxisPlace]


@dataclass(frozen=True)
class Lane:
    """Variable number `var` along one side of pages, `tile` lanes at a time; `var` None: one lane.

    `extent`: of the variable. `step` n > 1: the side interleaves n pieces: lane c is element c // n of piece c % n.
    """

    var: int | None = None
    tile: int = 1
    extent: int = 1
    step: int = 1

    @property
    def pages(self) -> int:
        """Pages that cover the variable."""
        return -(-self.extent * self.step // self.tile)


@dataclass(frozen=True)
class PageRead:
    """The page an access moves: its shape in the tensor and how it must be turned to face the lanes.

    `transposed`: the page's rows run along the wanted columns. `spread`: for each wanted column lane the in-lane it
    takes; `offset`: what to take off the column place where the spread starts inside a group.
    """

    page: tuple[int, int]
    transposed: bool = False
    spread: tuple[int, ...] = ()
    offset: int = 0


def coefs(places: Places, var: int | None) -> tuple[int, int, int]:
    """The strides of a variable on (slice, row, column); all zero for no variable."""
    if var is None:
        return 0, 0, 0
    s, r, c = (p.base.coef(f"v{var}") for p in places)
    return s, r, c


def via_uses(places: Places, var: int | None) -> bool:
    """Whether a run-time index of the access itself depends on the variable."""
    name = f"v{var}"
    return any(p.via is not None and any(name in at.base.symbols for at in p.via.at) for p in places)


def page_read(places: Places, row: Lane, col: Lane) -> PageRead | None:
    """The page that covers the lanes `row` x `col` of an access, or None where the access is not pageable so."""
    if via_uses(places, row.var) or via_uses(places, col.var):
        return None
    r, c = coefs(places, row.var), coefs(places, col.var)
    if col.step > 1:
        return _spread_read(places, r, c, row, col)
    if r in ((0, 0, 0), (0, 1, 0)) and c in ((0, 0, 0), (0, 0, 1)):
        return PageRead((row.tile if r[1] else 1, col.tile if c[2] else 1))
    if r in ((0, 0, 0), (0, 0, 1)) and c in ((0, 0, 0), (0, 1, 0)):
        return PageRead((col.tile if c[1] else 1, row.tile if r[2] else 1), transposed=True)
    return None


def _spread_read(
    places: Places, r: tuple[int, int, int], c: tuple[int, int, int], row: Lane, col: Lane
) -> PageRead | None:
    """A read under interleaved columns: of every n-th column, of one column a group, or of none."""
    n, lanes = col.step, range(col.tile)
    if r not in ((0, 0, 0), (0, 1, 0)):
        return None
    rows = row.tile if r[1] else 1
    if c == (0, 0, 0):
        return PageRead((rows, 1))
    if c == (0, 0, 1):
        return PageRead((rows, col.tile // n), spread=tuple(x // n for x in lanes))
    if c == (0, 0, n):
        offset = places[2].base.const % n
        return PageRead((rows, col.tile), spread=tuple(n * (x // n) + offset for x in lanes), offset=offset)
    return None


def ends_with(place: AxisPlace, var: int, extent: int, axis_extent: int) -> bool:
    """Whether a page that overhangs the variable's extent overhangs the axis too: the form is the variable alone."""
    return place.via is None and place.base == Affine.sym(f"v{var}") and extent == axis_extent
