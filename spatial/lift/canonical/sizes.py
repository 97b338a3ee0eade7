"""How large and deep expressions are once they are written down: as trees, in which what is shared stands again and
again.

Symbolic values share their parts, so that twenty steps of `x := 3.9 x (1 - x)` are a few dozen nodes; the record of
the graph is a tree, and of those steps it would have a million. What a large expression holds several times becomes a
statement of its own here, and so does every so many levels what a long chain of operations has come to; an expression
that is too large or too deep all the same is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spatial.lift.algebra.rewrite import Rebuild
from spatial.lift.algebra.values import Node, Op
from spatial.lift.algebra.walk import below, children, tree_depth, tree_size
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

DEEPEST = 96
"""Levels of an expression of a graph at most: a longer chain of operations is several statements. What graphs are
written as holds little more (`spatial.ir.body.DEEPEST`)."""

_STRETCH = DEEPEST // 2
"""Levels after which a chain that is too deep is cut."""

_MOST = 500_000
"""Nodes beyond which nobody can do anything with an expression."""


def cut_large(units: Units, live: Sequence[Unit]) -> None:
    """Makes statements of what large expressions hold several times, and of stretches of deep ones; refuses what stays
    too large or too deep."""
    sizes: dict[Node, int] = {}
    depths: dict[Node, int] = {}

    def size(unit: Unit) -> int:
        return sum(tree_size(n, sizes) for n in _nodes(unit))

    def depth(unit: Unit) -> int:
        return max((tree_depth(n, depths) for n in _nodes(unit)), default=0)

    large = [u for u in live if size(u) > LARGE or depth(u) > DEEPEST]
    if not large:
        return
    hoister = Hoister(units, live, False)
    for unit in large:
        if not is_fill(unit):
            cut = _Cut(hoister, unit, sizes, depths if depth(unit) > DEEPEST else None)
            unit.pieces = tuple(cut.piece(p) for p in unit.pieces)
            unit.belong()
        if size(unit) > _MOST:
            raise NotLifted(
                f'"{unit.name}" is computed by one expression, which written out has more than {_MOST} operations',
                "store parts of it in sequences, each by a loop of its own",
                unit.span,
                binder=unit.name,
            )
        if depth(unit) > DEEPEST:
            raise NotLifted(
                f'"{unit.name}" is computed by an expression that is nested more than {DEEPEST} deep',
                "store parts of it in sequences, each by a loop of its own",
                unit.span,
                binder=unit.name,
            )


def _nodes(unit: Unit) -> list[Node]:
    return [n for p in unit.pieces for n in (*p.guards, *p.pos, p.value)]


class _Cut(Rebuild):
    """Puts statements in the place of operations that a unit holds several times and that are not small, and of those
    that many levels stand below (`depths`: of some; None: the unit is not deep)."""

    def __init__(self, hoister: Hoister, unit: Unit, sizes: dict[Node, int], depths: dict[Node, int] | None) -> None:
        super().__init__()
        self.hoister, self.unit, self.sizes, self.depths = hoister, unit, sizes, depths
        self.closed: dict[Node, bool] = {}
        self.uses: Counter[Node] = Counter()
        for n in {n: None for root in _nodes(unit) for n in below(root)}:
            self.uses.update(children(n))

    def _node(self, node: Node) -> Node:
        made = super()._node(node)
        if not isinstance(made, Op) or made.kind == "bool":
            return made
        again = self.uses[node] > 1 and tree_size(made, self.sizes) > _SMALL
        deep = self.depths is not None and tree_depth(made, self.depths) > _STRETCH
        if not (again or deep) or is_closed(made, self.closed) or not inside(made):
            return made
        return self.hoister.alone(made, free_axes(made), self.unit)
