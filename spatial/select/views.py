"""How a graph tensor lies as a chip's tensor: its dimensions grouped into slices, rows and columns; flat or dense.

A group of dimensions is merged row-major; an intermediate's dimensions may first change places, since its layout is
nobody's business but the program's. The grouping is chosen by what it makes pageable: over all accesses of the
tensor, the lanes a page could cover at once. Dimensions indexed by the instance number of a block always go to the
slices, so that a body never knows its layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from spatial.ir.affine import Affine
from spatial.ir.graph import At, Read


@dataclass(frozen=True)
class AxisPlace:
    """A position on one axis of a stored tensor: an affine form over piece variables, plus `scale` times element
    `via`."""

    base: Affine
    via: Read | None = None
    scale: int = 0


@dataclass(frozen=True)
class View:
    """`dims` in the order `perm`, grouped at `split` = (a, b): the first a are slices, up to b rows, the rest columns.

    `perm` () leaves the order. `swap` exchanges rows and columns: a Q8_0 weight [.., N, K] has its blocks along the
    rows of [K, N].
    """

    dims: tuple[int, ...]
    split: tuple[int, int]
    swap: bool = False
    perm: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions, outermost first, by number."""
        return self.perm or tuple(range(len(self.dims)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(slices, rows, columns)."""
        a, b = self.split
        extents = [self.dims[k] for k in self.order]
        s, r, c = prod(extents[:a]), prod(extents[a:b]), prod(extents[b:])
        return (s, c, r) if self.swap else (s, r, c)

    def place(self, at: Sequence[At]) -> tuple[AxisPlace, AxisPlace, AxisPlace]:
        """The (slice, row, column) of the element at one index per dimension."""
        a, b = self.split
        order = self.order
        s, r, c = self._merge(at, order[:a]), self._merge(at, order[a:b]), self._merge(at, order[b:])
        return (s, c, r) if self.swap else (s, r, c)

    def _merge(self, at: Sequence[At], group: tuple[int, ...]) -> AxisPlace:
        base, via, scale = Affine(), None, 0
        for n, k in enumerate(group):
            stride = prod(self.dims[m] for m in group[n + 1 :])
            base = base + at[k].base * stride
            if at[k].via is not None:
                via, scale = at[k].via, at[k].scale * stride
        return AxisPlace(base, via, scale)


@dataclass(frozen=True)
class Use:
    """One access of a tensor, as a view of the tensor is judged by it.

    `at`: its indices; `extents`: of every piece variable; `par`: how many of them are not reduced; `product`: the piece
    is a product, whose pages run along at most one reduced variable; `fusable`: pairs (a, b) of variables that stand in
    every other access of the piece as `extent(b) * a + b`; `blocked`: reduced lanes come in whole Q8_0 blocks;
    `upright`: variables a guarded write switches on and off, which may not run along its columns; `step`: of how many
    pieces it is one that interleave along the columns: what moves by as many is on one page with what lies between.
    """

    at: tuple[At, ...]
    extents: tuple[int, ...]
    par: int
    product: bool = False
    fusable: frozenset[tuple[int, int]] = frozenset()
    blocked: bool = False
    upright: frozenset[int] = frozenset()
    step: int = 1


def splits(rank: int, sliced: int, kept: bool) -> Iterable[tuple[int, int]]:
    """Every grouping of `rank` dimensions whose slices hold at least the first `sliced`, fewest slices first.

    `kept`: the tensor is a row reduction's result, whose column extent stays 1 (one value a row).
    """
    for a in range(sliced, rank + 1):
        for b in (rank,) if kept else range(a, rank + 1):
            yield a, b


def choose_view(
    dims: tuple[int, ...], uses: Sequence[Use], sliced: int, kept: bool, free: bool, tile: tuple[int, int]
) -> View:
    """The view under which the accesses `uses` cover most lanes.

    Ties go to the given order of dimensions, then to fewer slices and fewer row dimensions. `sliced`: leading
    dimensions that must be slices; `free`: the others may change places.
    """
    rank = len(dims)
    orders = permutations(range(sliced, rank)) if free and rank <= MOST_FREE else [tuple(range(sliced, rank))]
    best, most = View(dims, (sliced, max(rank - 1, sliced))), None
    for order in orders:
        perm = (*range(sliced), *order)
        for split in splits(rank, sliced, kept):
            view = View(dims, split, perm=() if perm == tuple(range(rank)) else perm)
            score = sum(lanes_covered(view, use, tile) for use in uses)
            if most is None or score > most:
                best, most = view, score
    return best


MOST_FREE = 5
"""Dimensions beyond which no other order is tried."""

MISFIT = -(1 << 20)
"""Score of a view under which a Q8_0 product's reduced lanes would cut a block."""


def lanes_covered(view: View, use: Use, tile: tuple[int, int]) -> int:
    """Lanes of the largest page the access could move: one variable along rows, one along columns, unit strides."""
    rows, cols = lane_sides(view, use, tile)
    return rows * cols


def lane_sides(view: View, use: Use, tile: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the largest page the access could move (`MISFIT` rows where none keeps whole blocks)."""
    places = view.place(use.at)
    best = (MISFIT, 1) if use.blocked else (1, 1)
    for rows, row_red in _lane_choices(places, 1, use, tile[0]):
        for cols, col_red in _lane_choices(places, 2, use, tile[1]):
            if use.product and row_red and col_red:
                continue
            reduced = rows if row_red else cols if col_red else 0
            if use.blocked and reduced % 32:
                continue
            if rows * cols > best[0] * best[1]:
                best = (rows, cols)
    return best


def _lane_choices(
    places: tuple[AxisPlace, AxisPlace, AxisPlace], axis: int, use: Use, most: int
) -> list[tuple[int, bool]]:
    """(lanes, reduced?) of each variable, or fused chain of variables, that could run along the axis."""
    others = [p.base for k, p in enumerate(places) if k != axis]
    base = places[axis].base
    found = [(1, False)]
    for n in range(len(use.extents)):
        step = base.coef(f"v{n}")
        if step != 1 and (step != use.step or axis == 1):
            continue
        if any(o.coef(f"v{n}") for o in others) or (axis == 2 and n in use.upright):
            continue
        extent, inner, red = step * use.extents[n], n, n >= use.par
        while True:
            outer = next(
                (
                    m
                    for m in range(len(use.extents))
                    if (m, inner) in use.fusable
                    and (m >= use.par) == red
                    and base.coef(f"v{m}") == extent
                    and all(not o.coef(f"v{m}") for o in others)
                ),
                None,
            )
            if outer is None:
                break
            extent, inner = extent * use.extents[outer], outer
        alone = len(base.terms) == 1 or inner != n
        found.append((min(most, extent) if alone else divisor_tile(extent, most), red))
    return found


def divisor_tile(extent: int, most: int) -> int:
    """The largest divisor of `extent` that is at most `most`."""
    return next(t for t in range(min(extent, most), 0, -1) if extent % t == 0)
