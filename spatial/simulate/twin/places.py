"""Which banks the pages of a load or a store lie in, and in how many transactions each is moved.

The rule, assumed for want of a public one: a tensor's bytes are dealt to the banks in stretches of one tile of its
format, the first stretch of every tensor to bank 0. So consecutive tiles of a dense tensor lie in consecutive banks,
and a walk whose stride shares a factor with the number of banks camps on some of them. A slice that fills a round of
all banks is dealt as a tensor of its own is, so that the layers of a stack lie alike.

A plane that its layout has dealt by width is dealt along its rows of tiles alone, as many columns of tiles to a bank as
the layout says, each row and each slice from bank 0 on.

A page is moved in the contiguous runs its layout makes of it, a transaction each; padding inside a tile is moved with
it. A table of run-time indices is taken to hold its own positions. Knows no time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from spatial.simulate.twin.runs import NOTHING, PageRuns

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

    `placed`: every site draws on one bank alone, which no other does, and stands in a column of sites beside banks: it
    is taken to stand beside its own.
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


def _dealt(tensor: Tensor, plane: PlaneLayout, figures: Figures) -> tuple[int, int]:
    """Bytes of a plane that lie together in one bank, and how far a slice is dealt from the one before."""
    if plane.strip:
        return plane.strip * prod(plane.tile) * plane.itemsize, 0
    stretch = stretch_of(tensor, figures)
    return stretch, _slice_stride(plane, stretch * figures.target.memory.banks)


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


def moves_of(body: Body, stage: Stage, tensor: Tensor, bind: Bind, figures: Figures, left: int = 0) -> Moves:
    """The pages of load or store `stage`, its operand bound to `tensor` by `bind`; `left`: the column of the chip that
    the body's first column of sites is in."""
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
    (stretch, slice_stride), banks = _dealt(tensor, plane, figures), figures.target.memory.banks
    shapes = PageRuns(plane, body.queue(port.queue).page, stretch * banks, slice_stride)
    numbers: dict[int, int] = {}
    kinds: dict[Site, Array] = {}
    for n, site in enumerate(nest.sites):
        s, r, c, here = (_of_site(values, n, shape[1:]) for values in (*place, live))
        keys = np.where(here, shapes.keys((s, r, c), origin, extent), NOTHING)
        found, back = np.unique(keys, return_inverse=True)
        known = np.array([numbers.setdefault(int(key), len(numbers)) for key in found], np.int64)
        kinds[site] = known[back.reshape(-1)]
    whole = figures.target.memory.align if stage.kind == "load" else figures.target.memory.granule
    runs = tuple(_by_bank(shapes.runs(key), stretch, banks, whole) for key in numbers)
    beside = figures.target.memory.beside or range(left, left + body.rect[0])
    return Moves(kinds, runs, stage.kind == "load" and _apart(kinds, runs, [x - left for x in beside]))


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


def _by_bank(runs: list[tuple[int, int]], stretch: int, banks: int, whole: int) -> tuple[Runs, ...]:
    """Runs that follow each other into one bank, in units of `whole` bytes."""
    found: list[tuple[int, list[int]]] = []
    for byte, size in runs:
        bank = byte // stretch % banks
        if not found or found[-1][0] != bank:
            found.append((bank, []))
        found[-1][1].append(round_up(size, whole))
    return tuple(Runs(bank, tuple(sizes)) for bank, sizes in found)


def _apart(kinds: Mapping[Site, Array], runs: tuple[tuple[Runs, ...], ...], beside: Collection[int]) -> bool:
    """Whether each site draws on one bank alone, and no two on the same, from columns `beside` banks."""
    used = {site: {r.bank for kind in np.unique(mine) for r in runs[int(kind)]} for site, mine in kinds.items()}
    drawn = {site: banks for site, banks in used.items() if banks}
    together: set[int] = set()
    for banks in drawn.values():
        together |= banks
    alone = all(len(banks) == 1 for banks in drawn.values()) and len(together) == len(drawn)
    return alone and all(x in beside for x, _ in drawn)
