"""How large expressions are once they are written down: as trees, in which what is shared stands again and again.

Symbolic values share their parts, so that twenty steps of `x := 3.9 x (1 - x)` are a few dozen nodes; the record of
the graph is a tree, and of those steps it would have a million. What a large expression holds several times becomes a
statement of its own here; an expression that is too large all the same is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spatial.lift.algebra.rewrite import Rebuild
from spatial.lift.algebra.values import Node, Op
from spatial.lift.algebra.walk import below, children, tree_size
from spatial.lift.canonical.axes import free_axes
from spatial.lift.canonical.closed import is_closed, is_fill
from spatial.lift.canonical.hoist import Hoister
from spatial.lift.canonical.inside import inside
from spatial.lift.canonical.units import Unit, Units
from spatial.lift.context.state import NotLifted

LARGE = 1000
"""Nodes of a tree beyond which what it holds several times stands alone, if that is not small itself."""

_SMALL = 64
"""Nodes of what is rather written down again."""

_MOST = 500_000
"""Nodes beyond which nobody can do anything with an expression."""


def cut_large(units: Units, live: Sequence[Unit]) -> None:
    """Makes statements of what large expressions hold several times, and refuses what stays too large."""
    sizes: dict[Node, int] = {}

    def size(unit: Unit) -> int:
        return sum(tree_size(n, sizes) for n in _nodes(unit))

    large = [u for u in live if size(u) > LARGE]
    if not large:
        return
    hoister = Hoister(units, live, False)
    for unit in large:
        if not is_fill(unit):
            cut = _Cut(hoister, unit, sizes)
            unit.pieces = tuple(cut.piece(p) for p in unit.pieces)
            unit.belong()
        if size(unit) > _MOST:
            raise NotLifted(
                f'"{unit.name}" is computed by one expression, which written out has more than {_MOST} operations',
                "store parts of it in sequences, each by a loop of its own",
                unit.span,
                binder=unit.name,
            )


def _nodes(unit: Unit) -> list[Node]:
    return [n for p in unit.pieces for n in (*p.guards, *p.pos, p.value)]


class _Cut(Rebuild):
    """Puts statements in the place of operations that a unit holds several times and that are not small."""

    def __init__(self, hoister: Hoister, unit: Unit, sizes: dict[Node, int]) -> None:
        super().__init__()
        self.hoister, self.unit, self.sizes = hoister, unit, sizes
        self.closed: dict[Node, bool] = {}
        self.uses: Counter[Node] = Counter()
        for n in {n: None for root in _nodes(unit) for n in below(root)}:
            self.uses.update(children(n))

    def _node(self, node: Node) -> Node:
        made = super()._node(node)
        if self.uses[node] < 2 or not isinstance(made, Op) or made.kind == "bool":
            return made
        if tree_size(made, self.sizes) <= _SMALL or is_closed(made, self.closed) or not inside(made):
            return made
        return self.hoister.alone(made, free_axes(made), self.unit)
