"""How a graph tensor lies as a chip's tensor: its dimensions grouped into slices, rows and columns; flat or dense.

A group of dimensions is merged row-major. The grouping is chosen by what it makes pageable: over all accesses of the
tensor, the lanes a page could cover at once. Dimensions indexed by the instance number of a block always go to the
slices, so that a body never knows its layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    """`dims` grouped at `split` = (a, b): slices dims[:a], rows dims[a:b], columns dims[b:]; `swap` exchanges the
    last two.

    A Q8_0 weight [.., N, K] is swapped: its blocks run along the rows of [K, N].
    """

    dims: tuple[int, ...]
    split: tuple[int, int]
    swap: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """(slices, rows, columns)."""
        a, b = self.split
        s, r, c = prod(self.dims[:a]), prod(self.dims[a:b]), prod(self.dims[b:])
        return (s, c, r) if self.swap else (s, r, c)

    def place(self, at: Sequence[At]) -> tuple[AxisPlace, AxisPlace, AxisPlace]:
        """The (slice, row, column) of the element at one index per dimension."""
        a, b = self.split
        s, r, c = self._merge(at, 0, a), self._merge(at, a, b), self._merge(at, b, len(self.dims))
        return (s, c, r) if self.swap else (s, r, c)

    def _merge(self, at: Sequence[At], first: int, last: int) -> AxisPlace:
        base, via, scale = Affine(), None, 0
        for k in range(first, last):
            stride = prod(self.dims[k + 1 : last])
            base = base + at[k].base * stride
            if at[k].via is not None:
                via, scale = at[k].via, at[k].scale * stride
        return AxisPlace(base, via, scale)


@dataclass(frozen=True)
class Use:
    """One access of a tensor, as a view of the tensor is judged by it.

    `at`: its indices; `extents`: of every piece variable; `par`: how many of them are not reduced; `product`: the piece
    is a product, whose pages run along at most one reduced variable; `fusable`: pairs (a, b) of variables that stand in
    every other access of the piece as `extent(b) * a + b`; `blocked`: reduced lanes come in whole Q8_0 blocks.
    """

    at: tuple[At, ...]
    extents: tuple[int, ...]
    par: int
    product: bool = False
    fusable: frozenset[tuple[int, int]] = frozenset()
    blocked: bool = False


def splits(rank: int, sliced: int) -> Iterable[tuple[int, int]]:
    """Every grouping of `rank` dimensions whose slices hold at least the first `sliced`, fewest slices first."""
    for a in range(sliced, rank + 1):
        for b in range(a, rank + 1):
            yield a, b


def choose_split(
    dims: tuple[int, ...], uses: Sequence[Use], sliced: int, kept: bool, tile: tuple[int, int]
) -> tuple[int, int]:
    """The split under which the accesses `uses` cover most lanes; ties go to fewer slices, then fewer row dimensions.

    `sliced`: leading dimensions that must be slices; `kept`: the tensor is a row reduction's result, whose column
    extent stays 1 (one value a row).
    """
    rank = len(dims)
    if kept:
        return max(rank - 1, sliced), rank
    ranked = [(sum(lanes_covered(View(dims, s), u, tile) for u in uses), s) for s in splits(rank, sliced)]
    best = max(score for score, _ in ranked)
    return next(s for score, s in ranked if score == best)


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
        if base.coef(f"v{n}") != 1 or any(o.coef(f"v{n}") for o in others):
            continue
        extent, inner, red = use.extents[n], n, n >= use.par
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
        found.append((min(most, extent), red))
    return found
