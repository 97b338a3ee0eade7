"""Running values: a sum, product, maximum or minimum that something else takes as its loop runs.

As iteration v begins such a variable holds the reduction over the iterations before v; as it ends, over those up to v.
So a running value is a reduction of its own for every iteration: as much work as a triangle, and as well defined as
any other reduction. Between `combine` and the closing steps, for scalars and items of sequences alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spatial.lift.algebra.rewrite import Substitution, apart
from spatial.lift.algebra.values import Node, Sym, Symbol, Tensor, plus
from spatial.lift.carried.carries import Carry, Closing
from spatial.lift.carried.combine import combined
from spatial.lift.carried.reductions import Term, match
from spatial.lift.context.trips import guard_of

LONGEST = 1024
"""Iterations of a loop whose running values are each reduced anew."""


def running_values(c: Closing, users: Iterable[Node | Tensor]) -> Substitution:
    """What stands for the variables in `users` that are reductions of terms free of all that the loop carries."""
    taken = frozenset[Symbol]().union(*(u.free for u in users))
    nodes: dict[Sym, Node] = {}
    ends: dict[Node, Node] = {}
    if c.v.extent is None or c.v.extent > LONGEST:
        return Substitution({})
    open_ = frozenset(k.start for k in c.carries if not k.closed)
    for k in c.carries:
        start, exit = k.start, k.exit
        if k.closed or start not in taken or not isinstance(start, Sym) or not isinstance(exit, Node):
            continue
        term = match(exit, start)
        if term is None or any(open_ & n.free for n in (term.value, *term.guards)):
            continue
        nodes[start] = _over(c, k, term, c.v)
        ends[exit] = _over(c, k, term, plus(c.v, 1))
    return Substitution(nodes, wholes=ends)


def _over(c: Closing, k: Carry, term: Term, trip: Node) -> Node:
    """The variable after `trip` iterations; loops inside, under whose variables it may be read, count there anew."""
    assert isinstance(k.entry, Node)
    own = Sym(c.v.name, c.v.extent)
    change = Substitution({c.v: own})
    value, guards = apart(change.node(term.value)), tuple(apart(change.node(g)) for g in term.guards)
    part = replace(term, value=value, guards=guards)
    return combined(replace(c, v=own, trip=trip, guard=guard_of(trip, own)), k, k.entry, Substitution({}), part)
