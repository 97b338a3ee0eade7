"""Indices that no section can count out become tables made at build time."""

from __future__ import annotations

from collections.abc import Sequence

from spatial.lift.algebra.bounds import is_affine
from spatial.lift.algebra.rewrite import Mapper, Substitution
from spatial.lift.algebra.values import Node, Op, Piece, Sym, combine, get, linear, parts
from spatial.lift.canonical.units import Unit, Units
from spatial.lift.context.state import NotLifted


def tabulate(units: Units, live: Sequence[Unit]) -> list[Unit]:
    """Indices that stay quotients become reads of a build-time table of integers; the tables made."""
    made: list[Unit] = []
    known: dict[Node, Node] = {}

    def index(node: Node) -> Node:
        const, terms = parts(node)
        bent = {a: c for a, c in terms if isinstance(a, Op)}
        if not bent:
            return node
        straight: dict[Node, int] = {
            a: c for a, c in terms if isinstance(a, Sym) and not any(a in o.free for o in bent)
        }
        rest = {a: c for a, c in terms if a not in straight}
        value = linear(const, rest)
        if not is_affine(value):
            raise NotLifted("an index adds an item of a table to a quotient", "compute it into a sequence first")
        if value not in known:
            vars = tuple(sorted((s for s in value.free if isinstance(s, Sym)), key=lambda s: s.serial))
            own = tuple(Sym(v.name, v.extent) for v in vars)
            unit = units.new("an index", tuple(v.extent or 0 for v in vars), "int", 0, None)
            change = Substitution(dict(zip(vars, own, strict=True)))
            unit.pieces = (Piece(own, (), own, change.node(value)),)
            unit.belong()
            made.append(unit)
            known[value] = get(unit, vars)
        return combine(linear(0, straight), known[value])

    mapper = Mapper(lambda t, at: get(t, tuple(index(i) for i in at)))
    for u in live:
        try:
            u.pieces = tuple(
                Piece(q.vars, q.guards, tuple(index(i) for i in q.pos), q.value, q.ordered)
                for q in (mapper.piece(p) for p in u.pieces)
            )
        except NotLifted as problem:
            raise problem.at(u.span, u.name) from None
    return made
