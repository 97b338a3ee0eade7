"""The last look at writes: every item of every statement is made exactly once.

A statement says of each item which piece makes it, and says nothing of an order between its pieces; what read the
graph would each choose its own. So the pieces of a statement are proved to lie apart, the points of each too unless it
is kept in order, and, where no other tensor lies below, to leave no item out. How the pieces came together does not
matter here: whatever was concluded on the way, this is the one gate that all statements pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, inf, prod

from spatial.lift.algebra.bounds import bounds
from spatial.lift.algebra.solve import disjoint, injective
from spatial.lift.algebra.values import Node, Piece, Sym, parts
from spatial.lift.canonical.closed import opened
from spatial.lift.canonical.units import Unit
from spatial.lift.context.state import NotLifted


def check_once(units: Sequence[Unit]) -> None:
    """Refuses the first statement of which an item may be made twice, or not at all."""
    for unit in units:
        if len(unit.pieces) == 1 and _everywhere(unit.pieces[0], unit.shape):
            continue
        pieces = [_opened(p) for p in unit.pieces]
        if not all(p.ordered or _moves_alone(p) or injective(p) for p in pieces):
            raise _refused(
                unit, f'several iterations may write the same item of "{unit.name}"', "write every item once"
            )
        if not all(disjoint(a, b) for a, b in _near(pieces)):
            raise _refused(
                unit,
                f'two writes of "{unit.name}" may meet, and nothing says which comes last',
                "write every item once, or write the later items into a copy",
            )
        if unit.base is None and not _whole(unit):
            raise _refused(unit, f'not every item of "{unit.name}" is known to be written', "fill it before")


def _refused(unit: Unit, why: str, mend: str) -> NotLifted:
    return NotLifted(why, mend, unit.span, "write", unit.name)


def _everywhere(p: Piece, shape: tuple[int, ...]) -> bool:
    """Whether a piece writes each item at its own coordinates: so do most."""
    own = all(isinstance(i, Sym) and i.extent == d for i, d in zip(p.pos, shape, strict=True))
    return own and not p.guards and len(set(p.pos)) == len(p.pos) and set(p.pos) == set(p.vars)


def _moves_alone(p: Piece) -> bool:
    """Whether each variable is all that moves the piece along some axis."""
    alone = {terms[0][0] for terms in (parts(i)[1] for i in p.pos) if len(terms) == 1}
    return alone.issuperset(p.vars)


def _opened(p: Piece) -> Piece:
    """A piece whose places do not read tables that are known while building, but say what stands there."""
    if all(isinstance(a, Sym) for i in p.pos for a, _ in parts(i)[1]):
        return p
    return Piece(p.vars, p.guards, tuple(opened(i) for i in p.pos), p.value, p.ordered)


def _whole(unit: Unit) -> bool:
    """Whether pieces that lie apart leave nothing out."""
    plain = not any(p.guards or p.ordered for p in unit.pieces)
    return plain and sum(p.volume for p in unit.pieces) == prod(unit.shape)


def _near(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Piece]]:
    """The pairs of pieces that neither remainders nor bounds keep apart; in time linear in pieces, and in such pairs.

    Where all that moves along an axis are multiples of some number, pieces of different remainders never meet.
    """
    if len(pieces) < 2:
        return
    axes = range(len(pieces[0].pos))
    steps = [gcd(*(c for p in pieces for _, c in parts(p.pos[axis])[1])) for axis in axes]
    alike: dict[tuple[int, ...], list[Piece]] = {}
    for p in pieces:
        at = (parts(i)[0] for i in p.pos)
        alike.setdefault(tuple(n % step if step else n for n, step in zip(at, steps, strict=True)), []).append(p)
    for group in alike.values():
        yield from _overlapping(group)


def _overlapping(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Piece]]:
    """The pairs of pieces whose boxes of bounds share a place, found along the axis on which most begin apart."""
    if len(pieces) < 2:
        return
    boxes = [tuple(_range(i) for i in p.pos) for p in pieces]
    axes = range(len(boxes[0]))
    along = max(axes, key=lambda axis: len({box[axis][0] for box in boxes}), default=None)
    if along is None:
        yield from ((pieces[0], other) for other in pieces[1:])
        return
    open_: list[int] = []
    for n in sorted(range(len(pieces)), key=lambda n: boxes[n][along][0]):
        open_ = [m for m in open_ if boxes[m][along][1] >= boxes[n][along][0]]
        for m in open_:
            if all(boxes[m][axis][0] <= boxes[n][axis][1] and boxes[n][axis][0] <= boxes[m][axis][1] for axis in axes):
                yield pieces[m], pieces[n]
        open_.append(n)


def _range(index: Node) -> tuple[float, float]:
    """Bounds of an index, endless where none is known."""
    low, high = bounds(index)
    return -inf if low is None else low, inf if high is None else high
