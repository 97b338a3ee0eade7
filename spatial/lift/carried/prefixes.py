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
    """What stands for the variables in `users` that are reductions of terms free of all that the loop carries, or that
    carry such a variable on: a running sum of running sums."""
    taken = frozenset[Symbol]().union(*(u.free for u in users))
    nodes: dict[Sym, Node] = {}
    ends: dict[Node, Node] = {}
    open_ = frozenset(k.start for k in c.carries if not k.closed)
    terms = {k.start: (k, term) for k in c.carries if k.start in open_ and (term := _term(k)) is not None}
    depth = 1
    while terms and c.v.extent is not None and c.v.extent ** (depth + 1) <= LONGEST**2:
        inner = Substitution(nodes, wholes=ends)
        ready = [(k, _read(term, inner)) for k, term in terms.values()]
        ready = [(k, term) for k, term in ready if not any(open_ & n.free for n in (term.value, *term.guards))]
        if not ready:
            break
        for k, term in ready:
            assert isinstance(k.start, Sym) and isinstance(k.exit, Node)
            del terms[k.start]
            nodes[k.start] = _over(c, k, term, c.v)
            ends[k.exit] = _over(c, k, term, plus(c.v, 1))
        depth += 1
    return Substitution({s: n for s, n in nodes.items() if s in taken}, wholes=ends)


def _term(k: Carry) -> Term | None:
    return match(k.exit, k.start) if isinstance(k.start, Sym) and isinstance(k.exit, Node) else None


def _read(term: Term, inner: Substitution) -> Term:
    """The term, running values in it as reductions."""
    return replace(term, value=inner.node(term.value), guards=tuple(inner.node(g) for g in term.guards))


def _over(c: Closing, k: Carry, term: Term, trip: Node) -> Node:
    """The variable after `trip` iterations; loops inside, under whose variables it may be read, count there anew."""
    assert isinstance(k.entry, Node)
    own = Sym(c.v.name, c.v.extent)
    change = Substitution({c.v: own})
    value, guards = apart(change.node(term.value)), tuple(apart(change.node(g)) for g in term.guards)
    part = replace(term, value=value, guards=guards)
    return combined(replace(c, v=own, trip=trip, guard=guard_of(trip, own)), k, k.entry, Substitution({}), part)
