"""What an expression varies over, and the reductions that stand in it."""

from __future__ import annotations

from spatial.lift.algebra.values import Fold, Instance, Node, Sym
from spatial.lift.algebra.walk import children, made_of
from spatial.lift.canonical.closed import is_closed


def outer_folds(node: Node) -> list[Fold]:
    """The reductions of a value that are in no other, each once."""
    met = made_of((node,), lambda n: () if isinstance(n, Fold) else children(n)[::-1])
    return list(dict.fromkeys(n for n in met if isinstance(n, Fold)))


def axes_of(node: Node, box: frozenset[Sym]) -> frozenset[Sym]:
    """The variables of `box` in an expression."""
    return frozenset(s for s in node.free if isinstance(s, Sym) and s in box)


def free_axes(node: Node) -> frozenset[Sym]:
    """All box variables in an expression (the instance number of a block too, for a closed form)."""
    closed = is_closed(node)
    return frozenset(s for s in node.free if isinstance(s, Sym) and (closed or not isinstance(s, Instance)))
