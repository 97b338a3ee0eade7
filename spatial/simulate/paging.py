"""Pages between tensors and queues, many at a time, by index arrays.

A page lies at (slice, row, column) of its lane [0, 0], relative to a binding; lanes outside the binding's extent read
zero and are not written. Three ways of moving, each a gather of equal runs ("units") of memory: whole tiles where
pages are aligned tiles, runs where the rows of a page are contiguous, single elements else. Which way serves is a
matter of the places alone, so it is found once (`Places.prepare`) and the index arrays kept. Knows no stage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.errors import Refused
from spatial.numerics import Array
from spatial.simulate.memory import Plane

Shape = tuple[int, int]
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Places:
    """Where the pages of one access lie in a plane, relative to the binding's origin.

    `rows` and so on have one shape [pages…] or broadcast to it. `unit`: elements of a run; `index`: the run's number
    within its slice, [pages…] for tiles, [pages…, rows] for runs, [pages…, rows, columns] for elements, 0 where dead.
    `partial`: positions (flat, over pages) of pages with lanes outside; `inside`: their lanes' masks [partial, R, C].
    """

    page: Shape
    unit: int
    tiled: bool
    slices: Array
    index: Array
    shape: tuple[int, ...]
    partial: Array
    inside: Array


def prepare(
    plane: Plane, page: Shape, extent: tuple[int, int, int], place: tuple[Array, Array, Array], alive: Array | None
) -> Places:
    """The places of pages at `place` = (slices, rows, columns), integer arrays that broadcast to [pages…].

    `extent`: the binding's, in the plane's rows and columns. `alive`: pages to be moved at all (None: all).
    """
    s, r, c = place
    shape = np.broadcast_shapes(s.shape, r.shape, c.shape, () if alive is None else alive.shape)
    row_ok, col_ok = _within(r, page[0], extent[1]), _within(c, page[1], extent[2])
    page_ok = np.asarray((s >= 0) & (s < extent[0]) & (True if alive is None else alive))
    rows_all, rows_any, cols_all, cols_any = (
        np.asarray(f(ok, axis=-1)) for ok in (row_ok, col_ok) for f in (np.all, np.any)
    )
    whole = np.broadcast_to(page_ok & rows_all & cols_all, shape)
    partial = np.flatnonzero(~whole)
    alone = np.broadcast_to(page_ok, shape).reshape(-1)[partial]
    rows_in = np.broadcast_to(row_ok, (*shape, page[0])).reshape(-1, page[0])[partial]
    cols_in = np.broadcast_to(col_ok, (*shape, page[1])).reshape(-1, page[1])[partial]
    inside = alone[:, None, None] & rows_in[:, :, None] & cols_in[:, None, :]
    unit, tiled = _unit(plane, page, r, c)
    rows, cols = r[..., None] + np.arange(page[0]), c[..., None] + np.arange(page[1])
    if tiled:
        index = (plane.row_offset(r) + plane.col_offset(c)) // unit
        index = np.where(page_ok & rows_any & cols_any, index, 0)
    elif unit > 1:
        index = (plane.row_offset(rows) + plane.col_offset(c)[..., None]) // unit
        index = np.where(np.expand_dims(page_ok & cols_any, -1) & row_ok, index, 0)
    else:
        lanes = np.expand_dims(page_ok, (-2, -1)) & row_ok[..., :, None] & col_ok[..., None, :]
        index = np.where(lanes, plane.row_offset(rows)[..., :, None] + plane.col_offset(cols)[..., None, :], 0)
    index = np.broadcast_to(index, (*shape, *index.shape[len(shape) :]))
    return Places(page, unit, tiled, np.where(page_ok, s, 0), index, shape, partial, inside)


def gather(plane: Plane, at: Places, origin: tuple[int, int, int]) -> Array:
    """The pages [pages…, R, C] that `at` says, from a binding at `origin` (in the plane's rows and columns)."""
    units = plane.units(at.unit)
    index, slices = _moved(plane, at, origin)
    found = units[int(slices.flat[0])].take(index, axis=0) if slices.size == 1 else units[slices, index]
    if at.tiled and plane.layout.tile_transposed:
        pages = np.ascontiguousarray(found.reshape(*at.shape, at.page[1], at.page[0]).swapaxes(-1, -2))
    else:
        pages = found.reshape(*at.shape, *at.page)
    if at.partial.size:
        flat = pages.reshape(-1, *at.page)
        flat[at.partial] = np.where(at.inside, flat[at.partial], flat.dtype.type(0))
    return pages


def scatter(plane: Plane, at: Places, origin: tuple[int, int, int], pages: Array, keep: Array | None) -> None:
    """Write `pages` [pages…, R, C] where `at` says; `keep` (broadcasts to it, bool): lanes to be written."""
    units = plane.units(at.unit)
    index, slices = _moved(plane, at, origin)
    pages = np.broadcast_to(pages, (*at.shape, *at.page))
    if not at.partial.size and keep is None:
        if at.tiled and plane.layout.tile_transposed:
            pages = pages.swapaxes(-1, -2)
        units[slices, index] = pages.reshape(*index.shape, at.unit)
        return
    lanes = np.ones((int(np.prod(at.shape, dtype=np.int64)), *at.page), np.bool_)
    if at.partial.size:
        lanes[at.partial] = at.inside
    lanes = lanes.reshape(*at.shape, *at.page)
    if keep is not None:
        lanes = lanes & keep
    elements = _elements(plane, at, index)
    where = np.broadcast_to(slices.reshape(slices.shape + (1,) * (elements.ndim - slices.ndim)), elements.shape)
    plane.units(1)[where[lanes], elements[lanes], 0] = pages[lanes]


def read_page(plane: Plane, page: Shape, origin: Triple, extent: Triple, place: Triple) -> Array:
    """One page, lane by lane: the plain meaning, which `gather` agrees with."""
    elements, inside = _lanes(plane, page, origin, extent, place)
    held = plane.units(1)
    found = np.zeros(page, held.dtype)
    if inside.any():
        found[inside] = held[origin[0] + place[0], elements[inside], 0]
    return found


def write_page(plane: Plane, origin: Triple, extent: Triple, place: Triple, values: Array, keep: Array) -> None:
    """Write one page, but for lanes outside the extent and lanes not to `keep` (bool [R, C])."""
    elements, inside = _lanes(plane, (values.shape[0], values.shape[1]), origin, extent, place)
    inside &= keep
    if inside.any():
        plane.units(1)[origin[0] + place[0], elements[inside], 0] = values[inside]


def _lanes(plane: Plane, page: Shape, origin: Triple, extent: Triple, place: Triple) -> tuple[Array, Array]:
    rows, cols = place[1] + np.arange(page[0]), place[2] + np.arange(page[1])
    inside = ((rows >= 0) & (rows < extent[1]))[:, None] & ((cols >= 0) & (cols < extent[2]))[None, :]
    if not 0 <= place[0] < extent[0]:
        inside[:] = False
    return plane.row_offset(rows + origin[1])[:, None] + plane.col_offset(cols + origin[2])[None, :], inside


def _within(start: Array, count: int, extent: int) -> Array:
    lanes = start[..., None] + np.arange(count)
    return (lanes >= 0) & (lanes < extent)


def _unit(plane: Plane, page: Shape, r: Array, c: Array) -> tuple[int, bool]:
    th, tw = plane.layout.tile
    if page == (th, tw) and th > 1 and not np.any(r % th) and not np.any(c % tw):
        return th * tw, True
    if plane.layout.tile_transposed or tw % page[1] or np.any(c % page[1]):
        return 1, False
    return page[1], False


def _moved(plane: Plane, at: Places, origin: tuple[int, int, int]) -> tuple[Array, Array]:
    th, tw = plane.layout.tile
    if th > 1 and (origin[1] % th or origin[2] % tw):
        raise Refused(
            f"a binding starts at row {origin[1]}, column {origin[2]}", f"tiles are {th} x {tw}", "bind at whole tiles"
        )
    start = (plane.layout.offset(0, origin[1], origin[2]) - plane.layout.start) // plane.layout.itemsize
    if start % at.unit:
        raise Refused(
            f"a binding starts at row {origin[1]}, column {origin[2]}",
            "no boundary of the layout's runs",
            "bind at whole tiles",
        )
    slices = at.slices + origin[0]
    if slices.size > 1:
        slices = slices.reshape(slices.shape + (1,) * (at.index.ndim - slices.ndim))
    return (at.index + start // at.unit if start else at.index), slices


def _elements(plane: Plane, at: Places, index: Array) -> Array:
    """Element numbers [pages…, R, C] of run numbers."""
    if at.unit == 1:
        return index
    lanes = index[..., None] * at.unit + np.arange(at.unit)
    if not at.tiled:
        return lanes
    if plane.layout.tile_transposed:
        return lanes.reshape(*at.shape, at.page[1], at.page[0]).swapaxes(-1, -2)
    return lanes.reshape(*at.shape, *at.page)
