"""What is computed once: equal statements are one, and an expression of two statements is a statement of its own.

Equality is of keys (`keys`), so it does not matter over which loops, in which order of axes or by whose hand a value is
spelled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spatial.lift.algebra.keys import Keys
from spatial.lift.algebra.rewrite import Mapper, Substitution
from spatial.lift.algebra.values import BlockValue, Fold, Get, Inner, Instance, Node, Op, Piece, Sym, Tensor, get
from spatial.lift.algebra.walk import children, made_of
from spatial.lift.canonical.order import depends, visited
from spatial.lift.canonical.units import Unit, Units

_Part = tuple[str, BlockValue | None]
"""The digest of an expression, and the block whose instances it is computed in."""


def merge(units: Units, outside: set[Tensor]) -> dict[Unit, Unit]:
    """Makes equal statements one, that which is read from outside if one is; of each that went, the one that stayed."""
    keys = Keys()
    groups: dict[tuple[str, object], list[Unit]] = {}
    visited(units.all, _read_units, keys.tensor)
    for unit in units.all:
        key = keys.function(unit)
        if key is not None and frozenset(key.vars) >= frozenset(unit.pieces[0].vars):
            groups.setdefault((key.digest, unit.block), []).append(unit)
    held = {u.base for u in units.all if u.base is not None}
    instead: dict[Unit, tuple[Unit, tuple[int, ...]]] = {}
    for group in groups.values():
        made = [u for u in group if not isinstance(u.pieces[0].value, Get)]
        if len(group) < 2 or not made:
            continue
        first = next((u for u in group if u in outside), made[0])
        if first not in made:
            _take_over(first, made[0], keys)
        for unit in made:
            if unit is not first and unit not in outside and unit not in held:
                instead[unit] = first, _axes(unit, first, keys)
    if not instead:
        return {}

    def on_get(tensor: Tensor, index: tuple[Node, ...]) -> Node:
        if not isinstance(tensor, Unit) or tensor not in instead:
            return get(tensor, index)
        first, axes = instead[tensor]
        return get(first, tuple(index[n] for n in axes))

    mapper = Mapper(on_get)
    for unit in units.all:
        unit.pieces = tuple(mapper.piece(p) for p in unit.pieces)
    return {unit: first for unit, (first, _) in instead.items()}


def _axes(unit: Unit, first: Unit, keys: Keys) -> tuple[int, ...]:
    """Which axis of a unit each axis of its equal is."""
    mine, other = keys.of(unit.pieces[0].value).vars, keys.of(first.pieces[0].value).vars
    place = {v: n for n, v in enumerate(unit.pieces[0].pos)}
    same = {o: place[m] for m, o in zip(mine, other, strict=True) if m in place}
    return tuple(same[v] for v in first.pieces[0].pos if isinstance(v, Sym))


def _take_over(copy: Unit, made: Unit, keys: Keys) -> None:
    """What is read from outside computes itself what it was a copy of."""
    p = made.pieces[0]
    copy.pieces = (Piece(p.vars, (), tuple(p.pos[n] for n in _axes(made, copy, keys)), p.value),)


def _read_units(unit: Unit) -> list[Unit]:
    return [t for t in depends(unit) if isinstance(t, Unit)]


class Shared:
    """What is known to be held by a statement, and what two statements compute."""

    def __init__(self, units: Sequence[Unit], repeats: bool) -> None:
        self.keys = Keys()
        self._holders: dict[_Part, tuple[Unit, tuple[Sym, ...], tuple[Node, ...]]] = {}
        visited(units, _read_units, self.keys.tensor)
        self._twice = self._repeated(units) if repeats else set[_Part]()

    def _repeated(self, units: Sequence[Unit]) -> set[_Part]:
        """The operations and reductions that occur in two statements."""
        first: dict[_Part, Unit] = {}
        twice: set[_Part] = set()
        for unit in units:
            for node in operations(p.value for p in unit.pieces):
                part = self._part(node)
                if first.setdefault(part, unit) is not unit:
                    twice.add(part)
        return twice

    def _part(self, node: Node) -> _Part:
        """What an expression computes, in instances of which block, if of any: each has its own."""
        block = next((s.block for s in node.free if isinstance(s, Inner | Instance)), None)
        return self.keys.of(node).digest, block

    def hold(self, node: Node, unit: Unit, index: tuple[Node, ...]) -> None:
        """An expression is what `unit` holds at `index`; not told of one that is the same all along an axis."""
        key = self.keys.of(node)
        if frozenset(key.vars) >= frozenset(s for i in index for s in i.free):
            self._holders.setdefault(self._part(node), (unit, key.vars, index))

    def holds(self, unit: Unit, node: Node) -> bool:
        """Whether an expression is what a unit is read for."""
        found = self._holders.get(self._part(node))
        return found is not None and found[0] is unit

    def known(self, node: Node, reader: Unit) -> Get | None:
        """The read of a unit, other than the reader, that holds an expression."""
        key = self.keys.of(node)
        found = self._holders.get(self._part(node))
        if found is None or found[0] is reader:
            return None
        unit, vars, index = found
        if any(
            a is not b and (isinstance(a, Instance) or isinstance(b, Instance))
            for a, b in zip(vars, key.vars, strict=True)
        ):
            return None
        change = Substitution(dict(zip(vars, key.vars, strict=True)))
        read = get(unit, tuple(change.node(i) for i in index))
        return read if isinstance(read, Get) else None

    def repeated(self, node: Node, axes: frozenset[Sym]) -> bool:
        """Whether two statements compute an expression, which is not the same all along one of `axes`."""
        key = self.keys.of(node)
        return self._part(node) in self._twice and frozenset(key.vars) >= axes


def operations(values: Iterable[Node]) -> Iterator[Node]:
    """The operations and reductions of expressions that are numbers, each once; indices and conditions left out."""
    for n in made_of(values, _number_parts):
        if isinstance(n, Fold) or (isinstance(n, Op) and n.kind != "bool"):
            yield n


def _number_parts(node: Node) -> Iterable[Node]:
    """The parts of an expression, the conditions and the start of a reduction left out."""
    if isinstance(node, Fold):
        return (node.value,) if node.arg is None else (node.value, node.arg)
    return children(node)
