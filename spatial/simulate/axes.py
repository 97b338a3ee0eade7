"""The iteration space of a stage as array axes: sites, turns, loops, and the coordinates over them.

Every array the stream executor makes for a stage has the axes [sites, turns, l1 … lD, p0 …] in front of a page's rows
and columns, an axis being whole or of size 1 where nothing depends on it. Turns are the nest t0, t1, … counted through.
Knows no queue and no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Rect, Stage
from spatial.numerics import Array

SITES, TURNS, LOOPS = 0, 1, 2
"""Axis numbers: loop coordinate l1 has axis `LOOPS`."""


@dataclass(frozen=True)
class Nest:
    """Sites, turns and loops of one stage. `sx`, `sy`: [sites]; `items`: item coordinates, [sites, turns] each.

    `idle`: [sites, turns], or None where every turn has an item.
    """

    sites: tuple[tuple[int, int], ...]
    trips: tuple[int, ...]
    loops: tuple[int, ...]
    items: tuple[Array, ...]
    idle: Array | None

    @property
    def turns(self) -> int:
        """Turns of every site."""
        return prod(self.trips)

    @property
    def depth(self) -> int:
        """Depth of the deepest loop."""
        return len(self.loops)

    @property
    def ndim(self) -> int:
        """Axes of sites, turns and loops."""
        return LOOPS + len(self.loops)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of sites, turns and loops."""
        return (len(self.sites), self.turns, *self.loops)

    def axis(self, level: int) -> int:
        """The axis of a depth ≥ 0: turns, or a loop."""
        return TURNS + level

    def values(self, form: Affine, pages: Sequence[int] = (), lanes: tuple[int, int] | None = None) -> Array:
        """int64 values of `form` over [sites, turns, loops…, pages…] (and rows, columns): an axis it does not use is 1.

        Raises `Refused` for a coordinate that is none here.
        """
        ndim = self.ndim + len(pages) + (2 if lanes else 0)
        total = np.full((1,) * ndim, form.const, np.int64)
        for symbol, coef in form.terms:
            total = total + coef * self._coordinate(symbol, ndim, pages, lanes)
        return total

    def _coordinate(self, symbol: str, ndim: int, pages: Sequence[int], lanes: tuple[int, int] | None) -> Array:
        kind, number = symbol.rstrip("0123456789"), symbol.lstrip("abcdefghijklmnopqrstuvwxyz")
        at = int(number) if number else -1
        match kind:
            case "sx" | "sy" if not number:
                return _along(np.array([site[kind == "sy"] for site in self.sites]), SITES, ndim)
            case "t" if 0 <= at < len(self.trips):
                turn = np.unravel_index(np.arange(self.turns), self.trips)[at]
                return _along(turn, TURNS, ndim)
            case "i" if 0 <= at < len(self.items):
                return self.items[at].reshape(*self.items[at].shape, *(1,) * (ndim - 2))
            case "l" if 1 <= at <= self.depth:
                return _along(np.arange(self.loops[at - 1]), LOOPS + at - 1, ndim)
            case "p" if 0 <= at < len(pages):
                return _along(np.arange(pages[at]), self.ndim + at, ndim)
            case "r" | "c" if not number and lanes:
                axis = ndim - (2 if kind == "r" else 1)
                return _along(np.arange(lanes[kind == "c"]), axis, ndim)
            case _:
                raise Refused(f"no coordinate {symbol} exists where it is used", "", "see the depths of the nest")


def _along(values: Array, axis: int, ndim: int) -> Array:
    return values.astype(np.int64).reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def sites_of(body: Body, on: Rect | None) -> tuple[tuple[int, int], ...]:
    """The sites (x, y) of a stage, row by row."""
    width, height = body.rect
    part = on or Rect(0, 0, width, height)
    if part.x < 0 or part.y < 0 or part.x + part.w > width or part.y + part.h > height:
        raise Refused(f"a stage stands on {part}", f"the body has {width} x {height} sites")
    return tuple((x, y) for y in range(part.y, part.y + part.h) for x in range(part.x, part.x + part.w))


def nest_of(body: Body, stage: Stage) -> Nest:
    """The iteration space of `stage` in `body`."""
    sites = sites_of(body, stage.on)
    bare = Nest(sites, body.items.trips, stage.loops, (), None)
    flat = Nest(sites, body.items.trips, (), (), None)
    items = tuple(np.broadcast_to(flat.values(form), (len(sites), flat.turns)) for form in body.items.coord)
    outside = np.zeros((len(sites), flat.turns), np.bool_)
    for values, extent in zip(items, body.items.grid, strict=True):
        outside |= (values < 0) | (values >= extent)
    narrow = tuple(_narrow(v) for v in items)
    return Nest(sites, bare.trips, stage.loops, narrow, outside if bool(outside.any()) else None)


def _narrow(values: Array) -> Array:
    """[sites, turns] values with an axis they do not vary along cut to 1."""
    if bool(np.all(values == values[:1])):
        values = values[:1]
    if bool(np.all(values == values[:, :1])):
        values = values[:, :1]
    return np.ascontiguousarray(values)


def squeezed(values: Array, axes: int) -> Array:
    """`values` with those of the first `axes` axes cut to size 1 that merely repeat (stride 0)."""
    if 0 not in values.strides:
        return values
    strides, shape = values.strides, values.shape
    return values[tuple(slice(0, 1) if strides[x] == 0 and shape[x] > 1 else slice(None) for x in range(axes))]


def stretched(values: Array, shape: tuple[int, ...]) -> Array:
    """`values` broadcast to `shape`, themselves where they have it."""
    return values if values.shape == shape else np.broadcast_to(values, shape)


@dataclass(frozen=True)
class Choice:
    """How one page (or cell) is chosen among several, over some coordinate axes: see `choose`.

    For each dimension of the choice an index (an int), or the axis it runs along whole (`Along`); or else, for all of
    them together, index arrays over the coordinate axes.
    """

    picks: tuple[int | Along, ...]
    arrays: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Along:
    """The choice's dimension runs along coordinate axis `axis`."""

    axis: int


def choice(nest: Nest, at: Sequence[Affine], dims: Sequence[int], bound: int, pages: Sequence[int] = ()) -> Choice:
    """How forms `at` choose among `dims` over the axes of `nest` and `pages`; `bound`: axes the pages already have.

    Raises `Refused` where a form leaves its dimension.
    """
    if len(at) != len(dims):
        if prod(dims) == 1 and not at:
            return Choice((0,) * len(dims))
        raise Refused(f"{len(at)} forms choose among pages of {len(dims)} dimensions", "one each is needed")
    arrays = tuple(nest.values(form, pages) for form in at)
    extents = (*nest.shape, *pages)
    picks: list[int | Along] = []
    for form, values, extent in zip(at, arrays, dims, strict=True):
        if values.size and (values.min() < 0 or values.max() >= extent):
            raise Refused(f"a page choice {form} leaves 0 to {extent - 1}", "it is outside what the port holds")
        whole = [x for x, size in enumerate(values.shape) if size > 1]
        if not whole:
            picks.append(int(values.flat[0]))
        elif (
            len(whole) == 1
            and whole[0] >= bound
            and extents[whole[0]] == extent
            and bool(np.all(values.ravel() == np.arange(extent)))
        ):
            picks.append(Along(whole[0]))
    used = [p.axis for p in picks if isinstance(p, Along)]
    if len(picks) == len(dims) and len(set(used)) == len(used):
        return Choice(tuple(picks))
    return Choice((), arrays)


def choose(values: Array, axes: int, how: Choice, window: tuple[slice, ...] = ()) -> Array:
    """[coordinates…, R, C] of `values` [coordinates… (`axes` of them), choice…, R, C]; `window` cuts index arrays."""
    if how.arrays:
        arrays = tuple(a[_cut(a, window)] for a in how.arrays)
        return values[(*positions(values.shape[:axes]), *arrays)]
    count = len(how.picks)
    index: list[int | slice] = [slice(None)] * axes
    kept: list[int] = []
    for pick in how.picks:
        if isinstance(pick, Along):
            kept.append(pick.axis)
            index.append(slice(None))
        else:
            index.append(pick)
    if not count:
        return values
    found = values[tuple(index)]
    for n, axis in enumerate(kept):
        # The choice's dimension stands behind the coordinates; it changes places with the axis of size 1 it runs along.
        found = found.swapaxes(axis, axes + n)
    return found.reshape(*found.shape[:axes], *found.shape[axes + len(kept) :])


def positions(shape: tuple[int, ...]) -> list[Array]:
    """Index arrays that name every place of `shape` by itself, to stand before those of a choice."""
    return [_along(np.arange(size), x, len(shape)) for x, size in enumerate(shape)]


def _cut(values: Array, window: tuple[slice, ...]) -> tuple[slice, ...]:
    return tuple(w if size > 1 else slice(None) for w, size in zip(window, values.shape, strict=False))


def windowed(values: Array, window: tuple[slice, ...]) -> Array:
    """`values` cut to `window` along its leading axes, axes of size 1 left alone."""
    return values[_cut(values, window)]
