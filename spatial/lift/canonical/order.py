"""The canonical order of statements: by what they need and by what they compute, not by where the source has them.

What is read from outside is visited in order of its name, and each statement after what it reads, the longest chain
first; between chains of one length the statement itself decides, told from its like by the tables it reads and then by
its key. So statements of like layers stand in like order, and a result does not wait in memory for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from spatial.lift.algebra.keys import Keys
from spatial.lift.algebra.values import BlockValue, Final, Fold, Get, Op, Source, Tensor
from spatial.lift.algebra.walk import children
from spatial.lift.canonical.closed import is_fill
from spatial.lift.canonical.units import Unit

T = TypeVar("T")

Rank = tuple[int, tuple[object, ...], tuple[str, ...], tuple[object, ...], str]
"""Where a statement stands among those that may come next, smaller is earlier: by the chain behind it, by its form, by
the tables it reads, by its extents, by its key. Sizes count late, so that they do not reorder a program."""


@dataclass(frozen=True)
class Region:
    """A block with its statements and its carried tensors in order."""

    block: BlockValue
    members: tuple[Unit, ...]
    slots: tuple[int, ...]


def depends(unit: Unit) -> list[Tensor]:
    """The tensors a statement is over and reads, each once."""
    found: dict[Tensor, None] = {}
    if unit.base is not None:
        found[unit.base] = None
    seen: set[int] = set()
    pending = [n for p in unit.pieces for n in (*p.guards, *p.pos, p.value)]
    while pending:
        n = pending.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if isinstance(n, Get):
            found[n.tensor] = None
        pending += children(n)
    return list(found)


def in_order(live: Sequence[Unit], blocks: Sequence[BlockValue], roots: Iterable[Tensor]) -> list[Unit | Region]:
    """The statements and blocks of a graph; `roots`: what is read from outside, in order."""
    return _Orderer(live, blocks).run(roots)


def ranked(live: Sequence[Unit], blocks: Sequence[BlockValue]) -> dict[Unit, Rank]:
    """Where statements stand among their like, each after what it needs."""
    orderer = _Orderer(live, blocks)
    orderer.run(())
    return {u: orderer.ranks[u] for u in live}


class _Orderer:
    def __init__(self, live: Sequence[Unit], blocks: Sequence[BlockValue]) -> None:
        self.keys = Keys()
        self.reads = {u: depends(u) for u in live}
        self.inside: dict[BlockValue, list[Unit]] = {b: [] for b in blocks}
        for u in live:
            if u.block is not None:
                self.inside[u.block].append(u)
        self.outside: list[Unit | BlockValue] = [*(u for u in live if u.block is None), *blocks]
        self.ranks: dict[Unit | BlockValue, Rank] = {}

    def run(self, roots: Iterable[Tensor]) -> list[Unit | Region]:
        regions: dict[BlockValue, Region] = {}

        def known(item: Unit | BlockValue) -> None:
            if isinstance(item, BlockValue):
                regions[item] = self.region(item)
            self.rank(item)

        visited(self.outside, self.needs, known)
        ordered: list[Unit | Region] = []

        def emit(item: Unit | BlockValue) -> None:
            ordered.append(regions[item] if isinstance(item, BlockValue) else item)

        first = [i for t in roots for i in self.items((t,), None)]
        rest = sorted(self.outside, key=self.ranks.__getitem__)
        visited([*first, *rest], lambda item: sorted(self.needs(item), key=self.ranks.__getitem__), emit)
        return ordered

    def items(self, tensors: Iterable[Tensor], block: BlockValue | None) -> list[Unit | BlockValue]:
        """What makes tensors, in the block or (None) outside of all."""
        found: dict[Unit | BlockValue, None] = {}
        for t in tensors:
            if isinstance(t, Unit) and t in self.reads and t.block is block:
                found[t] = None
            elif isinstance(t, Final) and block is None:
                found[t.block] = None
        return list(found)

    def needs(self, item: Unit | BlockValue) -> list[Unit | BlockValue]:
        """What has to be made before an item that is in no block."""
        if isinstance(item, Unit):
            return self.items(self.reads[item], None)
        inner = (t for u in self.inside[item] for t in self.reads[u])
        return self.items((*item.initial, *item.made, *inner), None)

    def rank(self, item: Unit | BlockValue) -> None:
        """Where an item stands, what it needs standing already."""
        if isinstance(item, Unit):
            needs = self.items(self.reads[item], item.block)
            names = tuple(sorted(name for t in self.reads[item] if (name := _name(t))))
            form, extents, digest = _form(item), _extents(item), self.digest(item)
        else:
            needs, names, form, extents, digest = self.needs(item), (), (), (), self.keys.block(item)
        self.ranks[item] = (min((self.ranks[n][0] for n in needs), default=0) - 1, form, names, extents, digest)

    def digest(self, unit: Unit) -> str:
        """The key of a statement: of what it computes, however that is laid out, if that is one expression."""
        whole = self.keys.tensor(unit)
        function = self.keys.function(unit)
        return function.digest + whole if function is not None else whole

    def region(self, block: BlockValue) -> Region:
        """A block whose surroundings have their ranks."""
        within = self.inside[block]

        def needs(unit: Unit) -> list[Unit]:
            return [i for i in self.items(self.reads[unit], block) if isinstance(i, Unit)]

        visited(within, needs, self.rank)
        slots = sorted(range(len(block.made)), key=lambda n: (*self.slot(block, n), n))
        first = [t for n in slots for t in (block.made[n],) if isinstance(t, Unit) and t.block is block]
        members: list[Unit] = []
        rest = sorted(within, key=self.ranks.__getitem__)
        visited([*first, *rest], lambda u: sorted(needs(u), key=self.ranks.__getitem__), members.append)
        return Region(block, tuple(members), tuple(slots))

    def slot(self, block: BlockValue, n: int) -> tuple[object, ...]:
        """Where a carried tensor stands among those of its block: by what it starts as."""
        initial, made = block.initial[n], block.made[n]
        names = (initial.name,) if isinstance(initial, Source) else ()
        rank = self.ranks[initial][:-1] if isinstance(initial, Unit) and initial in self.ranks else ()
        return names, rank, self.keys.tensor(block.inner[n]), self.keys.tensor(made)


def visited(items: Iterable[T], needs: Callable[[T], Iterable[T]], visit: Callable[[T], object]) -> None:
    """Visits every item once, each after what it needs; chains may be long."""
    done: set[T] = set()
    for root in items:
        if root in done:
            continue
        done.add(root)
        pending = [(root, iter(needs(root)))]
        while pending:
            at, left = pending[-1]
            part = next((n for n in left if n not in done), None)
            if part is None:
                pending.pop()
                visit(at)
            else:
                done.add(part)
                pending.append((part, iter(needs(part))))


def _name(tensor: Tensor) -> str:
    """What tells like statements apart in every layer alike: the name of a table, or the function of a constant."""
    if isinstance(tensor, Source):
        return tensor.name
    if isinstance(tensor, Unit) and is_fill(tensor):
        value = tensor.pieces[0].value
        return f" {value.fn}" if isinstance(value, Op) else ""
    return ""


def _form(unit: Unit) -> tuple[object, ...]:
    """A statement without the tensors it reads and makes and without sizes: axes, pieces, reductions and guards."""
    pieces = [(len(p.vars), p.value.op if isinstance(p.value, Fold) else "", len(p.guards)) for p in unit.pieces]
    return unit.kind, len(unit.shape), unit.base is not None, *sorted(pieces)


def _extents(unit: Unit) -> tuple[object, ...]:
    return tuple(sorted(unit.shape)), *sorted(tuple(sorted(v.extent or 0 for v in p.vars)) for p in unit.pieces)
