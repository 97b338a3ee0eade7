"""What the leaves of a stage's expressions stand for in stream execution, and pages as a port holds them.

A stream is what passes through one queue in one call: [sites, turns, pages of a turn, rows, columns], or with one turn
where an end of the queue is of depth -1. What is equal on all sites, or in all turns, has an axis of size 1 there, and
is computed once. Knows no queue's capacity and no tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from spatial.errors import Refused
from spatial.ir.body import Cell, Coord, Expr, InPort, OutPort, Page, Stage, count
from spatial.numerics import Array
from spatial.simulate.axes import LOOPS, Choice, Nest, choice, choose, squeezed, stretched, windowed
from spatial.simulate.expression import walk

Window = tuple[slice, slice]
"""The sites and turns computed at a time."""


@dataclass(frozen=True)
class PageLeaf:
    """A page of in port `port`, chosen by `how`."""

    port: int
    how: Choice


@dataclass(frozen=True)
class CoordLeaf:
    """Coordinate values over all axes and lanes."""

    values: Array


@dataclass(frozen=True)
class CellLeaf:
    """A cell of the final value of state `state`, chosen by `how`."""

    state: int
    how: Choice


@dataclass(frozen=True)
class Value:
    """An expression at `depth` with page coordinates over `pages`, and its leaves by the `id` of their node."""

    expr: Expr
    depth: int
    pages: tuple[int, ...]
    leaves: dict[int, PageLeaf | CoordLeaf | CellLeaf]


def value_of(stage: Stage, nest: Nest, expr: Expr, depth: int, pages: tuple[int, ...], update: bool) -> Value:
    """`expr` of `stage` with its leaves resolved; in an `update` the cells are left to the accumulators.

    Raises `Refused` where a leaf reads a page or a state that is not there at `depth`.
    """
    leaves: dict[int, PageLeaf | CoordLeaf | CellLeaf] = {}
    for node in walk(expr):
        match node:
            case Page(port, at):
                held = stage.ins[port] if 0 <= port < len(stage.ins) else None
                if held is None or held.depth > depth:
                    raise Refused(f"stage {stage.name} reads a page of port {port} at depth {depth}", "no page is held")
                bound = LOOPS + max(held.depth, 0)
                leaves[id(node)] = PageLeaf(port, choice(nest, at, held.pages, bound, pages))
            case Coord(form, shape):
                leaves[id(node)] = CoordLeaf(nest.values(form, pages, shape))
            case Cell(number, at) if not update:
                state = stage.states[number] if 0 <= number < len(stage.states) else None
                if state is None or state.depth != depth:
                    raise Refused(f"stage {stage.name} pushes state {number} at depth {depth}", "it ends elsewhere")
                leaves[id(node)] = CellLeaf(number, choice(nest, at, state.cells, LOOPS + max(depth, 0), pages))
            case _:
                pass
    return Value(expr, depth, pages, leaves)


def held_pages(stream: Array, stage: Stage, nest: Nest, port: InPort) -> Array:
    """A stream as `port` holds it: [sites, turns, loops…, pages…, R, C], loops deeper than the port of size 1."""
    depth, (sites, turns, pages, rows, cols) = port.depth, stream.shape
    if depth < 0:
        shape = (sites, 1, *(1,) * nest.depth, *port.pages, rows, cols)
        known = turns * pages == prod(port.pages)
    else:
        shape = (sites, turns, *nest.loops[:depth], *(1,) * (nest.depth - depth), *port.pages, rows, cols)
        known = pages == prod(nest.loops[:depth]) * prod(port.pages)
    if not known:
        raise Refused(
            f"stage {stage.name} pops other than what is pushed to queue {port.queue}",
            "the two ends of a queue move equally many pages in a turn",
            "balance the rates of its ends",
        )
    return squeezed(stream.reshape(shape), nest.ndim)


def as_stream(values: Array, nest: Nest, port: OutPort, page: tuple[int, int]) -> Array:
    """Values [sites, turns, loops…, pages…, R, C] as the stream that `port` pushes."""
    ndim = nest.ndim + len(port.pages) + 2
    if values.ndim < ndim:
        values = values.reshape((1,) * (ndim - values.ndim) + values.shape)
    loops = nest.loops[: max(port.depth, 0)]
    lead, inner = values.shape[:2], (*loops, *(1,) * (nest.depth - len(loops)), *port.pages)
    return stretched(values, (*lead, *inner, *page)).reshape(*lead, prod(inner), *page)


def leaf_values(leaf: PageLeaf | CoordLeaf, held: Sequence[Array], nest: Nest, pages: int, window: Window) -> Array:
    """The pages a leaf stands for, over [sites, turns, loops…, pages…, R, C]; `held`: by port."""
    match leaf:
        case CoordLeaf(values):
            return windowed(values, window)
        case PageLeaf(port, how):
            return choose(_with_pages(held[port], nest, pages), nest.ndim + pages, how, window)


def cell_values(leaf: CellLeaf, finals: dict[int, Array], nest: Nest, pages: int, window: Window) -> Array:
    """The final cells a leaf of an out port stands for."""
    return choose(_with_pages(finals[leaf.state], nest, pages), nest.ndim + pages, leaf.how, window)


def _with_pages(values: Array, nest: Nest, pages: int) -> Array:
    """`values` with axes of size 1 for the page coordinates, behind those of the nest."""
    if not pages:
        return values
    return values.reshape(*values.shape[: nest.ndim], *(1,) * pages, *values.shape[nest.ndim :])


def per_turn(stage: Stage, port: InPort | OutPort) -> int:
    """Pages a port moves in one turn (of depth -1: in the call)."""
    return prod(stage.loops[: max(port.depth, 0)]) * count(port.pages)
