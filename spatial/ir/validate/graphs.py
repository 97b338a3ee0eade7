"""Rules on graphs: where the places of pieces are plain, each item of a statement's tensor is made exactly once.

Plain places are sums of a piece's variables, all of whose points can be listed: they are counted out. Pieces under
conditions, or at places only a run knows, and tensors of many items, are left to whoever lifts, and to the checker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from spatial.errors import Problem
from spatial.ir.graph import Block, Graph, Piece, Statement
from spatial.ir.validate.problems import problem
from spatial.numerics import Array

MOST_POINTS = 1 << 20
"""Points of pieces that are listed for one graph."""

MOST_ITEMS = 1 << 53
"""Items of a tensor that are numbered."""


def graph_problems(graph: Graph) -> list[Problem]:
    """Every statement that is seen to make an item twice, or not at all, or outside its tensor."""
    found: list[Problem] = []
    left = MOST_POINTS
    for n, node in enumerate(graph.nodes):
        body, trip = (node.body, node.trip) if isinstance(node, Block) else ((node,), 1)
        for k, statement in enumerate(body):
            place = f"node {n} / statement {k}" if isinstance(node, Block) else f"node {n}"
            if not 0 <= statement.out < len(graph.tensors):
                found.append(problem(place, f"there is no tensor {statement.out}"))
                continue
            dims = graph.tensors[statement.out].dims
            if any(len(p.pos) != len(dims) for p in statement.pieces):
                found.append(problem(place, f"a piece has not one place for each axis of {dims}"))
                continue
            if len(statement.pieces) == 1 and statement.over is None and _own_places(statement.pieces[0], dims):
                continue
            plain = [p for p in statement.pieces if not p.guards and all(at.via is None for at in p.pos)]
            left -= sum(prod(p.par) for p in plain)
            found += _statement(statement, plain, dims, trip, left >= 0, place)
    return found


def _own_places(piece: Piece, dims: tuple[int, ...]) -> bool:
    """Whether a piece writes each item at its own coordinates: so do most."""
    forms = [at.base for at in piece.pos if at.via is None and not at.base.const]
    moved = [form.symbols[0] for form in forms if [c for _, c in form.terms] == [1]]
    own = {f"v{n}": extent for n, extent in enumerate(piece.par)}
    return not piece.guards and sorted(moved) == sorted(own) and dims == tuple(own[v] for v in moved)


def _statement(
    statement: Statement, plain: Sequence[Piece], dims: tuple[int, ...], trip: int, listed: bool, place: str
) -> Iterator[Problem]:
    for p in plain:
        box = {f"v{n}": (0, extent - 1) for n, extent in enumerate(p.par)} | {"b": (0, trip - 1)}
        ends = [at.base.bounds(box) for at in p.pos]
        if any(low < 0 or high >= n for (low, high), n in zip(ends, dims, strict=True)):
            yield problem(place, f"a piece writes {_words(ends)} of a tensor of {dims}", "each item has a place")
            return
    if statement.over is None and len(plain) < len(statement.pieces):
        why = "a condition or a run-time place leaves out items, and no other tensor lies below"
        yield problem(place, "a piece may not write all its items", why, "write it over another tensor")
    shifts = {tuple(at.base.coef("b") for at in p.pos) for p in plain}
    if not plain or not listed or len(shifts) > 1 or prod(dims) >= MOST_ITEMS:
        return
    items, times = np.unique(np.concatenate([_items(p, dims) for p in plain]), return_counts=True)
    whole = statement.over is None and len(plain) == len(statement.pieces)
    if times.max() > 1:
        yield problem(place, f"item {_item(items[times > 1][0], dims)} is written {times.max()} times", _ORDER)
    elif whole and len(items) < prod(dims):
        gaps = np.nonzero(items != np.arange(len(items)))[0]
        first = int(gaps[0]) if len(gaps) else len(items)
        yield problem(place, f"item {_item(first, dims)} is written by no piece", "no other tensor lies below")


_ORDER = "the pieces of a statement lie apart: nothing says which write comes last"


def _item(flat: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of an item."""
    found: list[int] = []
    for extent in reversed(dims):
        flat, rest = divmod(int(flat), extent)
        found.append(rest)
    return tuple(reversed(found))


def _items(piece: Piece, dims: tuple[int, ...]) -> Array:
    """The items a piece writes, row-major, of the first instance."""
    flat = np.zeros((1,) * len(piece.par), dtype=np.int64)
    points = np.ix_(*(np.arange(extent) for extent in piece.par))
    for at, extent in zip(piece.pos, dims, strict=True):
        flat = flat * extent + at.base.const
        for n, v in enumerate(points):
            flat = flat + at.base.coef(f"v{n}") * v
    return np.broadcast_to(flat, piece.par).ravel()


def _words(ends: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{low}..{high}" for low, high in ends)
