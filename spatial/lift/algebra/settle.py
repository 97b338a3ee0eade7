"""Expressions in canonical form: what is spelled in several ways and is exactly one value.

Nothing here rounds differently: a difference for a sum with the sign changed, a factor of one, an Int that becomes a
Float by adding zero, a branch that takes the greater of two Ints. Reductions have a page of their own (`folds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from spatial.lift.algebra import arith
from spatial.lift.algebra.counting import taken
from spatial.lift.algebra.folds import apart, counted_piece, joined, settled, together
from spatial.lift.algebra.keys import Keys
from spatial.lift.algebra.rewrite import Mapper, once
from spatial.lift.algebra.values import (
    Const,
    Fold,
    Lin,
    Made,
    Node,
    Op,
    Piece,
    Tensor,
    combine,
    constant,
    get,
    parts,
    plus,
)


class Settled(Mapper):
    """Rebuilds expressions in canonical form; `on_get` makes each read anew."""

    def __init__(self, on_get: Callable[[Tensor, tuple[Node, ...]], Node]) -> None:
        super().__init__(on_get)
        self.keys = Keys()

    def _node(self, node: Node) -> Node:
        found = super()._node(node)
        return joined(found, self.keys) if isinstance(found, Lin) else found

    def op(self, node: Node) -> Node:
        """An operation whose operands are settled."""
        return joined(self.branch(plain(node)), self.keys)

    def branch(self, node: Node) -> Node:
        """A branch by the condition that is canonical of it and its opposite, a constant last; none asks again."""
        match node:
            case Op(fn="select", args=(condition, a, b)):
                other = arith.negate(condition)
                a, b = taken(a, (condition,)), taken(b, (other,))
                if isinstance(condition, Op) and condition.fn == "nonneg":
                    last = constant(a) is not None, self.keys.of(condition).digest
                    if (constant(b) is not None, self.keys.of(other).digest) < last:
                        condition, a, b = other, b, a
                return arith.select(condition, a, b)
            case _:
                return node

    def piece(self, piece: Piece) -> Piece:
        """A piece whose expressions are settled and whose variables are placed."""
        return counted_piece(super().piece(piece), self.keys)

    def reduction(self, node: Fold) -> Node:
        """A reduction whose parts are settled."""
        found = super().reduction(node)
        for _ in range(2):
            before = found
            if isinstance(found, Fold):
                found = settled(found, self.keys)
            if found is before or not isinstance(found, Fold):
                break
            found = super().reduction(found)  # an index that is plain now may look through what it reads
        while isinstance(found, Fold) and any(v.extent == 1 for v in found.vars):
            found = once(found)
        return apart(found)


def settle(statements: Iterable[Made]) -> None:
    """Brings the expressions of statements to canonical form once more, after they were put together."""
    mapper = Settled(get)
    for made in statements:
        pieces = [mapper.piece(p) for p in made.pieces]
        made.pieces = tuple(Piece(p.vars, p.guards, p.pos, together(p.value), p.ordered) for p in pieces)


def plain(node: Node) -> Node:
    """An operation without what changes nothing."""
    match node:
        case Op(fn="add", args=(a, b)) if node.kind == "float":
            return _sum(a, b) or _sum(b, a) or node
        case Op(fn="sub", args=(a, Op(fn="neg", args=(b,)))) if node.kind == "float":
            return arith.add(a, b)
        case Op(fn="sub", args=(a, b)) if node.kind == "float" and _is(b, 0.0):
            return a
        case Op(fn="neg", args=(Op(fn="neg", args=(a,)),)):
            return a
        case Op(fn="mul", args=(a, b)) if node.kind == "float" and (_is(a, 1.0) or _is(b, 1.0)):
            return b if _is(a, 1.0) else a
        case Op(fn="div", args=(a, b)) if _is(b, 1.0):
            return a
        case Op(fn="select", args=(condition, a, b)) if node.kind == "int":
            return _greater(condition, a, b) or node
        case _:
            return node


def _is(node: Node, value: float) -> bool:
    """Whether a node is that Float, sign of zero and all."""
    return isinstance(node, Const) and node.kind == "float" and repr(node.value) == repr(value)


def _sum(a: Node, b: Node) -> Node | None:
    """`a + b` where b only has its sign changed, or is a zero that changes nothing."""
    match b:
        case Op(fn="neg", args=(c,)):
            return arith.sub(a, c)
        case Const() if _is(b, -0.0) or (_is(b, 0.0) and isinstance(a, Op) and a.fn == "float"):
            return a  # an Int made a Float is never a negative zero
        case _:
            return None


def _greater(condition: Node, a: Node, b: Node) -> Node | None:
    """A branch between two Ints by their order, as their maximum or minimum."""
    match condition:
        case Op(fn="nonneg", args=(form,)):
            for first, second, fn in ((a, b, "max"), (b, a, "min")):
                gap = combine(first, second, -1)
                if parts(gap)[1] and (form is gap or form is plus(gap, -1)):
                    return arith.extreme(fn, a, b)
            return None
        case _:
            return None
