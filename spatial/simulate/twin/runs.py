"""The contiguous runs of memory that a page consists of, in any layout.

Pages are told apart by a number that holds all their runs hang on: where among the banks the page begins, where in its
tile, and how much of it lies inside its binding. So the runs of millions of pages are found once for a handful of
numbers. Padding inside a tile belongs to the runs of the pages at a tensor's edge. Of a plane that is dealt to the
banks by width, bytes are counted as they are dealt: along a row of tiles, every row from 0 on. Knows no stage and no
bank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.ir.layout import PlaneLayout, round_up
from spatial.numerics import Array

Triple = tuple[int, int, int]

NOTHING = -1
"""The number of a page with nothing to move."""


@dataclass(frozen=True)
class PageRuns:
    """Pages of shape `page` of a plane whose slices lie `slice_stride` bytes apart, over banks that come round every
    `period` bytes."""

    plane: PlaneLayout
    page: tuple[int, int]
    period: int
    slice_stride: int

    def keys(self, place: tuple[Array, Array, Array], origin: Triple, extent: Triple) -> Array:
        """The numbers of pages at `place` relative to a binding; `NOTHING` of those with no element in it."""
        p, (th, tw) = self.plane, self.plane.tile
        # Where a binding reaches the edge of its tensor, the padding of the last tiles is moved with the rest.
        ends = [
            round_up(size, tile) - o if o + e >= size else e
            for o, e, size, tile in zip(origin[1:], extent[1:], (p.rows, p.cols), (th, tw), strict=True)
        ]
        first = [np.maximum(x, 0) for x in place[1:]]
        inside = [
            np.minimum(x + n, end) - low for x, n, end, low in zip(place[1:], self.page, ends, first, strict=True)
        ]
        row, col = first[0] + origin[1], first[1] + origin[2]
        at_row, at_col = row % th, col % tw
        within = at_col * th + at_row if p.tile_transposed else at_row * tw + at_col
        element = (row // th * self._across + col // tw) * th * tw + within
        byte = (place[0] + origin[0]) * self.slice_stride + p.start + element * p.itemsize
        if self._flat:
            at_col = np.minimum(at_col, 1)
        key = byte % self.period
        for part, size in zip((at_row, at_col, *inside), (th, self._columns, *(n + 1 for n in self.page)), strict=True):
            key = key * size + part
        outside = (inside[0] <= 0) | (inside[1] <= 0) | (place[0] < 0) | (place[0] >= extent[0])
        return np.where(outside, NOTHING, key)

    def runs(self, key: int) -> list[tuple[int, int]]:
        """(first byte, bytes) of each contiguous run of pages of number `key`, in order."""
        if key < 0:
            return []
        key, cols = divmod(key, self.page[1] + 1)
        key, rows = divmod(key, self.page[0] + 1)
        key, at_col = divmod(key, self._columns)
        base, at_row = divmod(key, self.plane.tile[0])
        found: list[tuple[int, int]] = []
        start = self._element(at_row, at_col)
        for first, length in self._pieces(at_row, at_col, rows, cols):
            byte, size = base + (first - start) * self.plane.itemsize, length * self.plane.itemsize
            if found and sum(found[-1]) == byte:
                found[-1] = found[-1][0], found[-1][1] + size
            else:
                found.append((byte, size))
        return found

    @property
    def _flat(self) -> bool:
        return self.plane.tiles_across == 1 and self.plane.tile[0] == 1

    @property
    def _across(self) -> int:
        """Tiles that are dealt between one and that below it."""
        return 0 if self.plane.strip else self.plane.tiles_across

    @property
    def _columns(self) -> int:
        """Columns of a tile that are told apart: of a flat row only the first from the rest."""
        return 2 if self._flat else self.plane.tile[1]

    def _element(self, row: int, col: int) -> int:
        p, (th, tw) = self.plane, self.plane.tile
        within = col % tw * th + row % th if p.tile_transposed else row % th * tw + col % tw
        return (row // th * self._across + col // tw) * th * tw + within

    def _pieces(self, row: int, col: int, rows: int, cols: int) -> list[tuple[int, int]]:
        """(first element, elements) of the lines of each tile met, along what is contiguous in a tile."""
        (th, tw), turned = self.plane.tile, self.plane.tile_transposed
        if self._flat:
            return [(self._element(row + r, col), cols) for r in range(rows)]
        found: list[tuple[int, int]] = []
        for top in range(row - row % th, row + rows, th):
            for left in range(col - col % tw, col + cols, tw):
                r0, r1 = max(row, top), min(row + rows, top + th)
                c0, c1 = max(col, left), min(col + cols, left + tw)
                if turned:
                    found += [(self._element(r0, c), r1 - r0) for c in range(c0, c1)]
                else:
                    found += [(self._element(r, c0), c1 - c0) for r in range(r0, r1)]
        return found
