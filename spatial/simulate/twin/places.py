"""Which banks the pages of a load or a store lie in, and in how many transactions each is moved.

The rule, assumed for want of a public one: a tensor's bytes are dealt to the banks in stretches of one tile of its
format, the first stretch of every tensor to bank 0. So consecutive tiles of a dense tensor lie in consecutive banks,
and a walk whose stride shares a factor with the number of banks camps on some of them. A slice that fills a round of
all banks is dealt as a tensor of its own is, so that the layers of a stack lie alike.

A page is moved in the contiguous runs its layout makes of it, a transaction each; padding inside a tile is moved with
it. A table of run-time indices is taken to hold its own positions. Knows no time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.errors import Refused, Unsupported
from spatial.ir.body import Access, Body, Stage, count
from spatial.ir.layout import PlaneLayout, layout_of, round_up
from spatial.ir.program import Bind, Tensor
from spatial.numerics import Q8_BLOCK, Array
from spatial.simulate.axes import Nest, nest_of
from spatial.simulate.twin.figures import Figures, Site

Triple = tuple[int, int, int]

MOST = 1 << 24
"""Pages that a stage may move in a call that is timed, on all its sites."""


@dataclass(frozen=True)
class Runs:
    """Transactions of a page that follow each other into one bank: their bytes."""

    bank: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Moves:
    """The pages a stage moves: of each site the kinds of its pages in order, and of each kind its runs.

    `placed`: every site draws on one bank alone, which no other does, and is taken to stand beside it.
    """

    kinds: dict[Site, Array]
    runs: tuple[tuple[Runs, ...], ...]
    placed: bool


def moved_port(stage: Stage, access: Access) -> int:
    """The port whose pages are moved: the out port of a load, of a store the in port of its data."""
    if stage.kind == "load":
        return 0
    index = access.index.port if access.index else -1
    return next(n for n in range(len(stage.ins)) if n not in (index, access.mask))


def stretch_of(tensor: Tensor, figures: Figures) -> int:
    """Bytes of a tensor that lie together in one bank."""
    layout = layout_of(tensor.layout, tensor.prec, tensor.shape, figures.target)
    return prod(figures.target.tile) * layout.planes[0][1].itemsize


@dataclass(frozen=True)
class BankPhase:
    """All that the banks of a binding's pages hang on: those of equal phases, all banks turned alike, are moved alike.

    `bank`: of the slice the binding begins with, `offset`: of that slice in its stretch; none where slices lie alike.
    """

    shape: tuple[int, int]
    extent: tuple[int, int, int]
    origin: tuple[int, int]
    slice_bytes: int
    bank: int
    offset: int


def phase_of(tensor: Tensor, bind: Bind, figures: Figures) -> BankPhase:
    """The phase of a binding."""
    layout = layout_of(tensor.layout, tensor.prec, tensor.shape, figures.target)
    stretch, banks = stretch_of(tensor, figures), figures.target.memory.banks
    slice_bytes = _slice_stride(layout.planes[0][1], stretch * banks)
    bank, offset = divmod(bind.origin[0] * slice_bytes, stretch)
    (_, rows, cols), (_, row, col) = tensor.shape, bind.origin
    return BankPhase((rows, cols), bind.extent, (row, col), slice_bytes, bank % banks, offset)


def _slice_stride(plane: PlaneLayout, period: int) -> int:
    """How far a slice is dealt from the one before: not at all, where each is dealt from bank 0 on."""
    return 0 if plane.slice_bytes >= period else plane.slice_bytes


def moves_of(body: Body, stage: Stage, tensor: Tensor, bind: Bind, figures: Figures) -> Moves:
    """The pages of load or store `stage`, its operand bound to `tensor` by `bind`."""
    access = stage.access
    if access is None:
        raise Refused(f"stage {stage.name} is a {stage.kind} without a place")
    port = stage.outs[0] if stage.kind == "load" else stage.ins[moved_port(stage, access)]
    plane = layout_of(tensor.layout, tensor.prec, tensor.shape, figures.target).plane(access.plane)
    unit = Q8_BLOCK if access.plane == "scales" else 1
    origin = (bind.origin[0], bind.origin[1] // unit, bind.origin[2])
    extent = (bind.extent[0], bind.extent[1] // unit, bind.extent[2])
    nest = _nest(body, stage, port.depth)
    shape = (*nest.shape, *port.pages)
    if prod(shape) > MOST:
        raise Unsupported(f"stage {stage.name} moves {prod(shape)} pages in a call", f"up to {MOST} are timed")
    place = [nest.values(form, port.pages) for form in access.place]
    if access.index is not None:
        index = _indices(body, stage, access.index.port, nest, len(port.pages)) * access.index.scale
        axis = access.index.axis
        place[axis] = (place[axis] + index) % extent[axis]
    busy = np.ones((1, 1), np.bool_) if nest.idle is None else ~nest.idle
    live = busy.reshape(*busy.shape, *(1,) * (len(shape) - 2))
    stretch, banks = stretch_of(tensor, figures), figures.target.memory.banks
    shapes = _Shapes(plane, body.queue(port.queue).page, stretch * banks)
    numbers: dict[int, int] = {}
    kinds: dict[Site, Array] = {}
    for n, site in enumerate(nest.sites):
        s, r, c, here = (_of_site(values, n, shape[1:]) for values in (*place, live))
        found, back = np.unique(shapes.keys((s, r, c), origin, extent, here), return_inverse=True)
        known = np.array([numbers.setdefault(int(key), len(numbers)) for key in found], np.int64)
        kinds[site] = known[back.reshape(-1)]
    unit = figures.target.memory.align if stage.kind == "load" else figures.target.memory.granule
    runs = tuple(_by_bank(shapes.runs(key), stretch, banks, unit) for key in numbers)
    return Moves(kinds, runs, stage.kind == "load" and _apart(kinds, runs))


def _of_site(values: Array, site: int, shape: tuple[int, ...]) -> Array:
    """What `values`, over sites and the axes of `shape`, has for one site, page by page."""
    row = values[site if values.shape[0] > 1 else 0]
    return np.broadcast_to(row, shape).reshape(-1)


def _nest(body: Body, stage: Stage, depth: int) -> Nest:
    """The iterations of `stage` at `depth` and above."""
    nest = nest_of(body, stage)
    if depth < 0:
        return Nest(nest.sites, (), (), (), None)
    return Nest(nest.sites, nest.trips, nest.loops[:depth], nest.items, nest.idle)


def _indices(body: Body, stage: Stage, port: int, nest: Nest, pages: int) -> Array:
    """The run-time indices of a stage's iterations, over the axes of `nest`: positions in the table they come from."""
    popped = stage.ins[port]
    source = next((s for s in body.stages if any(o.queue == popped.queue for o in s.outs)), None)
    zero = np.zeros((1,) * (nest.ndim + pages), np.int64)
    if source is None or source.access is None or source.on != stage.on:
        return zero
    made = _nest(body, source, source.outs[0].depth)
    extent = body.operand(source.access.operand).extent
    axes = [np.broadcast_to(made.values(form), made.shape) for form in source.access.place]
    position = (axes[0] * extent[1] + axes[1]) * extent[2] + axes[2]
    taken = _nest(body, stage, popped.depth).shape
    if count(source.outs[0].pages) != 1 or position.size != prod(taken):
        return zero
    return position.reshape(*taken, *(1,) * (nest.ndim + pages - len(taken)))


@dataclass(frozen=True)
class _Shapes:
    """Pages of `plane` as numbers: where among the banks a page begins (its first byte modulo `period`), where in its
    tile, and how much of it lies inside. Pages of one number are moved alike."""

    plane: PlaneLayout
    page: tuple[int, int]
    period: int

    def keys(self, place: tuple[Array, Array, Array], origin: Triple, extent: Triple, live: Array) -> Array:
        """The numbers of pages at `place` relative to a binding; -1 of pages with nothing to move."""
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
        element = (row // th * p.tiles_across + col // tw) * th * tw + within
        byte = (place[0] + origin[0]) * _slice_stride(p, self.period) + p.start + element * p.itemsize
        if self._flat:
            at_col = np.minimum(at_col, 1)
        key = byte % self.period
        for part, size in zip((at_row, at_col, *inside), (th, self._columns, *(n + 1 for n in self.page)), strict=True):
            key = key * size + part
        outside = ~live | (inside[0] <= 0) | (inside[1] <= 0) | (place[0] < 0) | (place[0] >= extent[0])
        return np.where(outside, -1, key)

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
    def _columns(self) -> int:
        """Columns of a tile that are told apart: of a flat row only the first from the rest."""
        return 2 if self._flat else self.plane.tile[1]

    def _element(self, row: int, col: int) -> int:
        p, (th, tw) = self.plane, self.plane.tile
        within = col % tw * th + row % th if p.tile_transposed else row % th * tw + col % tw
        return (row // th * p.tiles_across + col // tw) * th * tw + within

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


def _by_bank(runs: list[tuple[int, int]], stretch: int, banks: int, unit: int) -> tuple[Runs, ...]:
    """Runs that follow each other into one bank, in whole units."""
    found: list[tuple[int, list[int]]] = []
    for byte, size in runs:
        bank = byte // stretch % banks
        if not found or found[-1][0] != bank:
            found.append((bank, []))
        found[-1][1].append(round_up(size, unit))
    return tuple(Runs(bank, tuple(sizes)) for bank, sizes in found)


def _apart(kinds: Mapping[Site, Array], runs: tuple[tuple[Runs, ...], ...]) -> bool:
    """Whether each site draws on one bank alone, and no two on the same."""
    used = [{r.bank for kind in np.unique(mine) for r in runs[int(kind)]} for mine in kinds.values()]
    drawn = [banks for banks in used if banks]
    together: set[int] = set()
    for banks in drawn:
        together |= banks
    return all(len(banks) == 1 for banks in drawn) and len(together) == len(drawn)
