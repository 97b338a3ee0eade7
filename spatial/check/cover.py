"""Laying pages onto a table: which elements a set of pages hits, and how often, exactly and in few cells.

Serves obligation 9. All pages start and end on multiples of a unit on each axis (the greatest common divisor of their
starts and sizes), so that hits are counted per unit. Knows no stage and no tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, prod

import numpy as np

from spatial.numerics import Array

MOST_CELLS = 1 << 23
"""Cells and hits that are counted; larger tables, stored in smaller pages, are not judged."""

Box = tuple[int, int, int, int, int, int]
"""Elements from (s0, r0, c0) up to, not including, (s1, r1, c1): s0, s1, r0, r1, c0, c1."""

Extent = tuple[int, int, int]


@dataclass(frozen=True)
class Pages:
    """Pages of `page` lanes: the slice, row and column of each one's lane [0, 0], and the item it belongs to."""

    slices: Array
    rows: Array
    cols: Array
    items: Array
    page: tuple[int, int]

    def touching(self, extent: Extent) -> Pages:
        """Those with a lane inside `extent`."""
        keep = (self.slices >= 0) & (self.slices < extent[0])
        keep &= (self.rows + self.page[0] > 0) & (self.rows < extent[1])
        keep &= (self.cols + self.page[1] > 0) & (self.cols < extent[2])
        return Pages(self.slices[keep], self.rows[keep], self.cols[keep], self.items[keep], self.page)

    def at(self, element: Extent) -> bool:
        """Whether some page has a lane there."""
        s, r, c = element
        held = (self.slices == s) & (self.rows <= r) & (r < self.rows + self.page[0])
        return bool((held & (self.cols <= c) & (c < self.cols + self.page[1])).any())


@dataclass(frozen=True)
class Cover:
    """Hits per cell, [slices, rows / unit, columns / unit] rounded up; `unit`: rows and columns of a cell."""

    hits: Array
    unit: tuple[int, int]
    extent: Extent

    def element(self, cell: tuple[int, ...]) -> tuple[int, int, int]:
        """The first element of a cell."""
        return cell[0], cell[1] * self.unit[0], cell[2] * self.unit[1]


def lay(parts: Sequence[Pages], extent: Extent) -> Cover | None:
    """The cover of `extent` by pages that all touch it, or None where it takes more than `MOST_CELLS` to tell."""
    unit = (
        _unit([p.rows for p in parts], [p.page[0] for p in parts]),
        _unit([p.cols for p in parts], [p.page[1] for p in parts]),
    )
    shape = (extent[0], -(-extent[1] // unit[0]), -(-extent[2] // unit[1]))
    work = sum(len(p.items) * (p.page[0] // unit[0]) * (p.page[1] // unit[1]) for p in parts)
    if max(prod(shape), work) > MOST_CELLS:
        return None
    found = [np.zeros(0, dtype=np.int64)]
    for p in parts:
        for i in range(p.page[0] // unit[0]):
            for j in range(p.page[1] // unit[1]):
                rows, cols = p.rows // unit[0] + i, p.cols // unit[1] + j
                keep = (rows >= 0) & (rows < shape[1]) & (cols >= 0) & (cols < shape[2])
                found.append((p.slices[keep] * shape[1] + rows[keep]) * shape[2] + cols[keep])
    hits = np.bincount(np.concatenate(found), minlength=prod(shape))
    return Cover(hits.reshape(shape), unit, extent)


def _unit(starts: Sequence[Array], sizes: Sequence[int]) -> int:
    unit = gcd(*sizes)
    for values in starts:
        unit = gcd(unit, int(np.gcd.reduce(values))) if len(values) else unit
    return unit


def boxes_of(cover: Cover, most: int) -> tuple[Box, ...] | None:
    """The elements hit, as disjoint boxes; None where they are more than `most`."""
    hit = cover.hits > 0
    if hit.all():
        s, r, c = cover.extent
        return ((0, s, 0, r, 0, c),)
    out: list[Box] = []
    for s in range(len(hit)):
        rows = hit[s]
        changes = np.nonzero((rows[1:] != rows[:-1]).any(axis=1))[0] + 1
        edges = [0, *(int(v) for v in changes), len(rows)]
        for r0, r1 in pairwise(edges):
            for c0, c1 in _runs(rows[r0]):
                out.append(_elements(cover, s, r0, r1, c0, c1))
                if len(out) > most:
                    return None
    return tuple(out)


def _runs(row: Array) -> list[tuple[int, int]]:
    """The maximal runs of true entries, as half-open ranges."""
    edges = np.diff(np.concatenate(([0], row.astype(np.int8), [0])))
    return [(int(a), int(b)) for a, b in zip(np.nonzero(edges > 0)[0], np.nonzero(edges < 0)[0], strict=True)]


def _elements(cover: Cover, s: int, r0: int, r1: int, c0: int, c1: int) -> Box:
    (ur, uc), (_, rows, cols) = cover.unit, cover.extent
    return s, s + 1, r0 * ur, min(r1 * ur, rows), c0 * uc, min(c1 * uc, cols)
