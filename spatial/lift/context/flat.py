"""Tables of several axes read as one row-major sequence: where an index leads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spatial.lift.algebra.arith import floordiv
from spatial.lift.algebra.values import Node, combine, integer


def places(dims: Sequence[int], index: Node) -> tuple[Node, ...]:
    """The indices, one an axis, that an index into the whole sequence is (all from 0)."""
    found: list[Node] = []
    rest = index
    for n in range(len(dims)):
        stride = math.prod(dims[n + 1 :])
        q = floordiv(rest, integer(stride))
        found.append(q)
        rest = combine(rest, q, -stride)
    return tuple(found)
