"""A long list, written out item by item, is one piece: of constants, a table known while building.

Its items are told apart by halves, so that its form is no deeper than the logarithm of its length. Short lists stay the
pieces they are written as, and so do those of reductions. Knows no reader of the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from spatial.lift.algebra import arith
from spatial.lift.algebra.values import Node, Piece, Sym, combine, constant, integer, scale
from spatial.lift.canonical.axes import outer_folds
from spatial.lift.canonical.units import Unit

SHORT = 32
"""Pieces up to which a list stays as it is written."""


def as_tables(live: Sequence[Unit]) -> None:
    """Makes one piece of every long list."""
    for unit in live:
        if unit.base is None and len(unit.pieces) > SHORT:
            items = _items(unit)
            if items is not None:
                vars = tuple(Sym("k", d) for d in unit.shape)
                flat: Node = integer(0)
                for v, extent in zip(vars, unit.shape, strict=True):
                    flat = combine(v, scale(flat, extent))
                unit.pieces = (Piece(vars, (), vars, _halved(flat, items, 0)),)


def _items(unit: Unit) -> list[Node] | None:
    """The items in row-major order, where every piece is one of them at a known place and none is left out."""
    found: dict[int, Node] = {}
    for p in unit.pieces:
        places = [constant(i) for i in p.pos]
        if p.vars or p.guards or p.ordered or None in places or outer_folds(p.value):
            return None
        at = 0
        for place, extent in zip(places, unit.shape, strict=True):
            at = at * extent + int(place or 0)
        found[at] = p.value
    if len(found) < len(unit.pieces) or len(found) != prod(unit.shape):
        return None
    return [found[n] for n in range(len(found))]


def _halved(flat: Node, items: Sequence[Node], first: int) -> Node:
    """The item at place `flat` of those from place `first` on."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    low, high = _halved(flat, items[:half], first), _halved(flat, items[half:], first + half)
    return arith.select(arith.compare("<", flat, integer(first + half)), low, high)
