"""Coordinates of a body: which symbols a form may use, the values they take, and all points at once.

Serves the obligations on items, accesses, stores and integers. Knows no queue and no tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from spatial.ir.affine import Affine
from spatial.ir.body import Body, Items, Rect, Stage
from spatial.numerics import Array

Ranges = Mapping[str, tuple[int, int]]
"""Inclusive bounds of each coordinate in scope."""

MOST_POINTS = 1 << 22
"""Points (sites x turns x iterations x pages) that are ever enumerated; beyond, a form is not judged."""

MOST_VALUE = 1 << 53
"""Magnitude no form may reach, so that arrays of its values are exact."""


def whole(body: Body) -> Rect:
    """All sites of the body."""
    return Rect(0, 0, *body.rect)


def sites_of(body: Body, stage: Stage) -> Rect:
    """The sites that carry `stage`."""
    return stage.on if stage.on is not None else whole(body)


def inside(inner: Rect, width: int, height: int) -> bool:
    """Whether `inner` is a rectangle of sites of a body of `width` x `height`."""
    return (
        inner.w >= 1
        and inner.h >= 1
        and inner.x >= 0
        and inner.y >= 0
        and inner.x + inner.w <= width
        and inner.y + inner.h <= height
    )


def site_ranges(rect: Rect) -> dict[str, tuple[int, int]]:
    """Bounds of sx and sy over a rectangle."""
    return {"sx": (rect.x, rect.x + rect.w - 1), "sy": (rect.y, rect.y + rect.h - 1)}


def page_ranges(pages: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """Bounds of p0, p1, … over the pages of a port."""
    return {f"p{i}": (0, n - 1) for i, n in enumerate(pages)}


def turn_ranges(body: Body, rect: Rect) -> dict[str, tuple[int, int]]:
    """Bounds of sx, sy, t0, t1, …: what item coordinates are made of."""
    return site_ranges(rect) | {f"t{i}": (0, n - 1) for i, n in enumerate(body.items.trips)}


def coordinates(body: Body, stage: Stage, depth: int, *, live: bool = False) -> dict[str, tuple[int, int]]:
    """Bounds of the coordinates a form of `stage` at `depth` may use, page and lane coordinates excepted.

    `live`: item coordinates only of turns that are not idle.
    """
    rect = sites_of(body, stage)
    out = site_ranges(rect)
    if depth < 0:
        return out
    turns = turn_ranges(body, rect)
    for axis, form in enumerate(body.items.coord):
        low, high = form.bounds(turns)
        if live:
            low, high = max(low, 0), min(high, body.items.grid[axis] - 1)
            high = max(high, low)
        out[f"i{axis}"] = (low, high)
    out |= {f"l{k + 1}": (0, n - 1) for k, n in enumerate(stage.loops[:depth])}
    return out


@dataclass(frozen=True)
class Turns:
    """Sites and turns in one row: the value of sx, sy, i0, i1, … at each, and whether the turn is live."""

    values: Mapping[str, Array]
    live: Array

    @property
    def idle(self) -> bool:
        """Whether some turn is idle."""
        return not bool(self.live.all())


def turn_count(body: Body, rect: Rect) -> int:
    """Site turns of a rectangle."""
    return rect.w * rect.h * prod(body.items.trips)


def turns_of(body: Body, rect: Rect) -> Turns:
    """All turns of all sites of `rect`; the caller has held `turn_count` within `MOST_POINTS`."""
    return _turns(body.items, rect)


@lru_cache(maxsize=64)
def _turns(items: Items, rect: Rect) -> Turns:
    axes = [("sx", rect.x, rect.w), ("sy", rect.y, rect.h)]
    axes += [(f"t{i}", 0, n) for i, n in enumerate(items.trips)]
    grids = np.meshgrid(*(np.arange(a, a + n, dtype=np.int64) for _, a, n in axes), indexing="ij")
    base = {name: g.ravel() for (name, _, _), g in zip(axes, grids, strict=True)}
    live = np.ones(len(base["sx"]), dtype=np.bool_)
    values: dict[str, Array] = {"sx": base["sx"], "sy": base["sy"]}
    for axis, form in enumerate(items.coord):
        at = evaluate(form, base, len(live))
        live &= (at >= 0) & (at < items.grid[axis])
        values[f"i{axis}"] = at
    return Turns(values, live)


def evaluate(form: Affine, values: Mapping[str, Array], points: int) -> Array:
    """`form` at every one of `points` points."""
    out = np.full(points, form.const, dtype=np.int64)
    for symbol, coef in form.terms:
        out += coef * values[symbol]
    return out


def inner_points(stage: Stage, depth: int, pages: tuple[int, ...]) -> dict[str, Array]:
    """Every iteration of `stage` inside one turn down to `depth`, times every page: the values of l1, …, p0, …"""
    axes = [(f"l{k + 1}", n) for k, n in enumerate(stage.loops[: max(depth, 0)])]
    axes += [(f"p{k}", n) for k, n in enumerate(pages)]
    if not axes:
        return {}
    grids = np.meshgrid(*(np.arange(n, dtype=np.int64) for _, n in axes), indexing="ij")
    return {name: g.ravel() for (name, _), g in zip(axes, grids, strict=True)}


def inner_count(stage: Stage, depth: int, pages: tuple[int, ...]) -> int:
    """How many points `inner_points` has."""
    return prod(stage.loops[: max(depth, 0)]) * prod(pages)


def outer_sum(form: Affine, outer: Mapping[str, Array], n: int, inner: Mapping[str, Array], m: int) -> Array:
    """`form` at each of `n` outer times `m` inner points, in one row."""
    left = Affine(form.const, tuple((s, c) for s, c in form.terms if s in outer))
    right = Affine(0, tuple((s, c) for s, c in form.terms if s not in outer))
    return (evaluate(left, outer, n)[:, None] + evaluate(right, inner, m)[None, :]).ravel()
