"""Tables of several axes read as one row-major sequence: where an index leads, and the sequence itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spatial.lift.algebra.arith import floordiv
from spatial.lift.algebra.solve import element
from spatial.lift.algebra.values import Made, Node, Piece, Sym, Tensor, combine, integer, linear
from spatial.logos.syntax import NO_SPAN, Span


def places(dims: Sequence[int], index: Node) -> tuple[Node, ...]:
    """The indices, one an axis, that an index into the whole sequence is (all from 0)."""
    found: list[Node] = []
    rest = index
    for stride in _strides(dims):
        q = floordiv(rest, integer(stride))
        found.append(q)
        rest = combine(rest, q, -stride)
    return tuple(found)


def unrolled(tensor: Tensor, order: int) -> Made:
    """The items of a tensor of several axes, one after the other."""
    dims = [d or 1 for d in tensor.dims or ()]
    v = Sym("k", math.prod(dims))
    piece = Piece((v,), (), (v,), element(tensor, places(dims, v)))
    return Made("", (v.extent,), None, (piece,), order, NO_SPAN)


def rolled(tensor: Tensor, prefix: tuple[Node, ...], dims: Sequence[int], order: int, origin: Span) -> Made:
    """A sequence, the slice of a tensor at `prefix`, in rows."""
    vars = tuple(Sym("k", d) for d in dims)
    at = linear(0, dict(zip(vars, _strides(dims), strict=True)))
    return Made("", tuple(dims), None, (Piece(vars, (), vars, element(tensor, (*prefix, at))),), order, origin)


def _strides(dims: Sequence[int]) -> list[int]:
    return [math.prod(dims[n + 1 :]) for n in range(len(dims))]
