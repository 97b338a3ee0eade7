"""The last look at safety: every access of every statement lies in its tensor for the whole box.

An intermediate is computed for its whole box, guards of loops dropped; so each of its accesses must be in range
without them. Guards count only in reductions and on writes, where they survive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.values import Fold, Get, Node, Tensor, combine, integer, plus
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.units import Unit
from spatial.lift.context.state import NotLifted


def inside(node: Node, assumed: tuple[Node, ...] = ()) -> bool:
    """Whether every access of an expression lies in its tensor, whatever conditions it stands under."""
    return all(_proved(i, extent, known) for _, i, extent, known in _accesses(node, assumed))


def check_inside(units: Sequence[Unit], assumed: tuple[Node, ...]) -> None:
    """Refuses the first access that may leave its tensor."""
    for unit in units:
        for p in unit.pieces:
            known = (*assumed, *p.guards)
            for axis, index in enumerate(p.pos):
                _prove(index, unit.shape[axis], known, unit, "write", unit.name)
            for n in (*p.guards, *p.pos, p.value):
                _check(n, known, unit)


def _check(node: Node, known: tuple[Node, ...], unit: Unit) -> None:
    for tensor, index, extent, guards in _accesses(node, known):
        _prove(index, extent, guards, unit, "read", tensor.name)


def _accesses(node: Node, known: tuple[Node, ...]) -> Iterator[tuple[Tensor, Node, int, tuple[Node, ...]]]:
    """Each index of each read, with the extent of its axis and the conditions it stands under."""
    seen: set[tuple[Node, tuple[Node, ...]]] = set()
    pending: list[tuple[Node, tuple[Node, ...]]] = [(node, known)]
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        n, guards = at
        if isinstance(n, Get):
            for axis, index in enumerate(n.index):
                extent = n.tensor.dims[axis] if n.tensor.dims is not None else None
                yield n.tensor, index, extent or 0, guards
        inner = (*guards, *n.guards) if isinstance(n, Fold) else guards
        pending += [(c, inner) for c in children(n)]


def _proved(index: Node, extent: int, guards: tuple[Node, ...]) -> bool:
    return at_least_zero(index, guards) and at_least_zero(plus(combine(integer(extent), index, -1), -1), guards)


def _prove(index: Node, extent: int, guards: tuple[Node, ...], unit: Unit, kind: str, name: str) -> None:
    if not _proved(index, extent, guards):
        raise NotLifted(
            f'an index of "{name}" is in range only under a condition that its statement does not keep',
            _MEND[kind],
            unit.span,
            kind,
            unit.name,
        )


_MEND = {
    "read": "index so that every item of the loop's whole range exists, or read inside a sum, maximum or minimum",
    "write": "write at places that exist all over the loop's range, or loop over such places alone",
}
