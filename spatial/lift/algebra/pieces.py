"""The pieces of a tensor by where they lie, so that a version of many costs no more than what its last write meets.

A version has the pieces of the one before, without some, and one more. Both are kept as they are: trees share what did
not change. A piece stands in the tree of the axis on which it is narrowest, in the smallest block of 16**k places that
holds its interval; what has no known interval on any axis is looked at always. Knows where pieces lie, and nothing of
what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

from spatial.lift.algebra.bounds import bounds, is_affine
from spatial.lift.algebra.values import Made, Node, Piece, Symbol, Tensor, free_of, joined_kind, one_kind

_BITS = 4
"""A block has 2**_BITS blocks in it."""
_FEW = 16
"""Pieces that are looked at one by one."""


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """A piece, its place among all by age, and the interval on the axis it is found by (None: by none)."""

    age: int
    piece: Piece
    axis: int | None
    low: int = 0
    high: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Entries that lie in a block and in no block inside it, and the blocks inside."""

    held: tuple[Entry, ...] = ()
    inside: dict[int, _Block] = field(default_factory=dict[int, "_Block"])


@dataclass(frozen=True, eq=False, slots=True)
class _Tree:
    """Entries by one axis: the block of 16**depth places from 0 on."""

    depth: int = 0
    root: _Block = _Block()

    def put(self, entry: Entry, present: bool) -> _Tree:
        """The tree with an entry more, or one less."""
        depth, root = self.depth, self.root
        while entry.high >> _BITS * depth:
            root = _Block((), {0: root})
            depth += 1
        return _Tree(depth, _put(root, depth, entry, present))

    def near(self, low: int, high: int | None) -> Iterator[Entry]:
        """Entries whose intervals meet another."""
        pending = [(self.root, self.depth, 0)]
        while pending:
            block, depth, start = pending.pop()
            yield from (e for e in block.held if e.high >= low and (high is None or e.low <= high))
            for n, inner in block.inside.items():
                first = start + (n << _BITS * (depth - 1))
                if first + (1 << _BITS * (depth - 1)) > low and (high is None or first <= high):
                    pending.append((inner, depth - 1, first))


def _put(block: _Block, depth: int, entry: Entry, present: bool) -> _Block:
    shift = _BITS * (depth - 1)
    if depth and entry.low >> shift == entry.high >> shift:
        n = entry.low >> shift & (1 << _BITS) - 1
        return _Block(block.held, {**block.inside, n: _put(block.inside.get(n, _Block()), depth - 1, entry, present)})
    held = (*block.held, entry) if present else tuple(e for e in block.held if e is not entry)
    return _Block(held, block.inside)


@dataclass(frozen=True, eq=False)
class Pieces(Sequence[Piece]):
    """Pieces by age, oldest first. `volume`: points of all boxes; `partial`: those whose box does not tell what they
    write, as they are guarded, ordered, or at run-time places."""

    number: int = 0
    volume: int = 0
    partial: int = 0
    next: int = 0
    free: frozenset[Symbol] = frozenset()
    kind: str = "none"
    rank: int | None = None
    trees: dict[int, _Tree] = field(default_factory=dict[int, _Tree])
    loose: tuple[Entry, ...] = ()
    before: Pieces | None = None
    last: Entry | None = None
    gone: Sequence[Entry] = ()
    """Which these were made of, by what more and what less."""

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries by age."""
        found = [*self.loose, *(e for tree in self.trees.values() for e in tree.near(0, None))]
        return tuple(sorted(found, key=_age))

    @cached_property
    def _all(self) -> tuple[Piece, ...]:
        return tuple(e.piece for e in self.entries)

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._all)

    def __reversed__(self) -> Iterator[Piece]:
        return reversed(self._all)

    @overload
    def __getitem__(self, index: int) -> Piece: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Piece, ...]: ...
    def __getitem__(self, index: int | slice) -> Piece | tuple[Piece, ...]:
        return self._all[index]

    def near(self, pos: Sequence[Node]) -> Sequence[Entry]:
        """The entries that may write an element at `pos`, by age."""
        if self.number <= _FEW or len(pos) != self.rank:
            return self.entries
        found = [*self.loose]
        for axis, tree in self.trees.items():
            low, high = bounds(pos[axis])
            found += tree.near(low or 0, high)
        return sorted(found, key=_age)

    def over(self, piece: Piece, dims: Sequence[int | None], without: Sequence[Entry] = ()) -> Pieces:
        """These without some, and one more: the youngest."""
        trees, loose = dict(self.trees), self.loose
        for old in without:
            if old.axis is None:
                loose = tuple(e for e in loose if e is not old)
            else:
                trees[old.axis] = trees[old.axis].put(old, False)
        rank = len(piece.pos) if self.rank is None else self.rank
        entry = _entry(self.next, piece, dims if len(piece.pos) == rank else ())
        if entry.axis is None:
            loose = (*loose, entry)
        else:
            trees[entry.axis] = trees.get(entry.axis, _Tree()).put(entry, True)
        kind = piece.value.kind if self.kind == "none" else self.kind
        if kind == piece.value.kind and not any(e.piece.free for e in without):
            free = self.free | piece.free
        else:  # what is told of all may have been told by what is left out
            left = [*(e.piece for e in self.entries if e not in without), piece]
            free, kind = free_of(left), joined_kind(left)
        return Pieces(
            self.number - len(without) + 1,
            self.volume - sum(e.piece.volume for e in without) + piece.volume,
            self.partial - sum(_partial(e.piece) for e in without) + _partial(piece),
            self.next + 1,
            free,
            kind,
            rank,
            trees,
            loose,
            self,
            entry,
            without,
        )

    def since(self, older: Sequence[Piece]) -> tuple[list[Piece], bool] | None:
        """What these have more than older ones that they were made of, and whether all of those are left; None if they
        were not."""
        if not isinstance(older, Pieces):
            return None
        at, added, gone = self, list[Entry](), set[Entry]()
        while at is not older:
            if at.before is None or at.last is None or at.next <= older.next:
                return None
            gone.update(at.gone)
            added += [at.last] if at.last not in gone else []
            at = at.before
        return [e.piece for e in reversed(added)], all(e.age >= older.next for e in gone)

    def cover(self, dims: Sequence[int | None]) -> bool:
        """Whether these, which are disjoint and injective, write every element of `dims`."""
        return not self.partial and None not in dims and self.volume == math.prod(d or 0 for d in dims)


def pieces_of(made: Made) -> Pieces:
    """The pieces of a tensor by where they lie."""
    if not isinstance(made.pieces, Pieces):
        found = Pieces()
        for p in made.pieces:
            found = found.over(p, made.dims or ())
        made.pieces = found
    return made.pieces


def pieces_near(made: Made, pos: Sequence[Node]) -> Sequence[Piece]:
    """The pieces of a tensor that may write an element at `pos`, by age."""
    return made.pieces if len(made.pieces) <= _FEW else [e.piece for e in pieces_of(made).near(pos)]


def made_of_pieces(
    name: str,
    dims: tuple[int | None, ...],
    base: Tensor | None,
    pieces: Pieces,
    order: int,
    origin: object,
    length: Node | None,
) -> Made:
    """The tensor of such pieces over a base."""
    kind = pieces.kind if base is None else one_kind((base.kind, pieces.kind))
    return Made(name, dims, base, pieces, order, origin, length, kind, pieces.free)


def _entry(age: int, piece: Piece, dims: Sequence[int | None]) -> Entry:
    """A piece by the axis on which it is narrowest; by none if writes of it have an order, or no interval is known."""
    best: tuple[float, int, int, int] | None = None
    for axis, (index, dim) in enumerate(zip(piece.pos, dims, strict=False)) if not piece.ordered else ():
        low, high = bounds(index)
        if low is None or high is None or high < max(low, 0):
            continue
        share = (high - low + 1) / dim if dim else 0.0
        if best is None or share < best[0]:
            best = share, axis, max(low, 0), high
    return Entry(age, piece, None) if best is None else Entry(age, piece, *best[1:])


def _partial(piece: Piece) -> bool:
    return bool(piece.guards) or piece.ordered or not all(map(is_affine, piece.pos))


def _age(entry: Entry) -> int:
    return entry.age
