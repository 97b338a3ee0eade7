"""What an expression varies over, and the reductions that stand in it."""

from __future__ import annotations

from spatial.lift.algebra.values import Fold, Get, Instance, Node, Sym
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.closed import is_closed


def outer_folds(node: Node) -> list[Fold]:
    """The reductions of a value that are in no other, each once."""
    found: dict[Fold, None] = {}
    seen: set[int] = set()
    pending = [node]
    while pending:
        n = pending.pop()
        if id(n) in seen or isinstance(n, Get):
            continue
        seen.add(id(n))
        if isinstance(n, Fold):
            found[n] = None
        else:
            pending += children(n)[::-1]
    return list(found)


def axes_of(node: Node, box: frozenset[Sym]) -> frozenset[Sym]:
    """The variables of `box` in an expression."""
    return frozenset(s for s in node.free if isinstance(s, Sym) and s in box)


def free_axes(node: Node) -> frozenset[Sym]:
    """All box variables in an expression (the instance number of a block too, for a closed form)."""
    closed = is_closed(node)
    return frozenset(s for s in node.free if isinstance(s, Sym) and (closed or not isinstance(s, Instance)))
