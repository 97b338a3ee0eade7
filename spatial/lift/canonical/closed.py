"""What is known while building: expressions of loop variables and constants alone, and the fills that hold them."""

from __future__ import annotations

from spatial.lift.algebra.rewrite import Mapper, Substitution
from spatial.lift.algebra.solve import lands
from spatial.lift.algebra.values import Fold, Get, Node, Piece, Sym, Tensor, get
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.units import Unit


def is_closed(node: Node, known: dict[Node, bool] | None = None) -> bool:
    """Whether an expression is of loop variables and constants alone (fills included); `known` keeps the answers."""
    if not all(isinstance(s, Sym) for s in node.free):
        return False
    known = {} if known is None else known
    found = known.get(node)
    if found is None:
        match node:
            case Fold():
                found = False
            case Get():
                found = isinstance(node.tensor, Unit) and is_fill(node.tensor)
                found = found and all(is_closed(i, known) for i in node.index)
            case _:
                found = all(is_closed(n, known) for n in children(node))
        known[node] = found
    return found


def is_fill(unit: Unit) -> bool:
    """Whether a unit is a build-time constant: one piece, everywhere, of a closed form that all instances share.

    Asked of a chain of units again and again: the answer is kept with the pieces it was given for.
    """
    if unit.base is not None or len(unit.pieces) != 1 or unit.pieces[0].guards:
        return False
    if unit.filled is None or unit.filled[0] is not unit.pieces:
        p = unit.pieces[0]
        unit.filled = unit.pieces, not p.ordered and p.value.free.issubset(p.vars) and is_closed(p.value)
    return unit.filled[1]


def without_fills(piece: Piece) -> Piece:
    """A fill's piece with the fills it reads put in their place."""
    return Piece(piece.vars, piece.guards, piece.pos, opened(piece.value), piece.ordered)


def opened(node: Node) -> Node:
    """An expression with the fills it reads put in their place."""
    return Mapper(_inline).node(node)


def _inline(tensor: Tensor, index: tuple[Node, ...]) -> Node:
    if isinstance(tensor, Unit) and is_fill(tensor):
        own = without_fills(tensor.pieces[0])
        point = lands(own, index)
        if point is not None:
            return Substitution(point).node(own.value)
    return get(tensor, index)
