"""Statements that are alike: equal but for the tensors they read, the integers in them and the names of variables.

The ground of folding: every statement of a program gets the number of its shape, and stretches in which the numbers
repeat are found in one pass for each power of two. Judges nothing: what repeats may yet differ in what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra.values import Const, Fold, Get, Instance, Lin, Made, Node, Op, Piece, Source, Sym, Tensor

COMMUTATIVE = ("add", "mul", "min", "max", "eq", "ne", "and", "or")
_LONGEST = 64
"""Statements in a row by which places are told apart: layers of more than that repeat nothing so long within."""


@dataclass(frozen=True)
class Stretch:
    """Statements `start` to `end` (exclusive), each alike the one `period` before it, two periods at least."""

    start: int
    end: int
    period: int

    @property
    def covered(self) -> int:
        """Statements in whole periods."""
        return self.end - self.start - (self.end - self.start) % self.period


def varies(value: Node | Tensor) -> bool:
    """Whether a value depends on variables of loops around it (not of blocks)."""
    return any(isinstance(s, Sym) and not isinstance(s, Instance) for s in value.free)


@dataclass(eq=False)
class Shapes:
    """Numbers of shapes; `named`: the weights read are part of a shape."""

    named: bool = False
    numbers: dict[object, int] = field(default_factory=dict[object, int])
    nodes: dict[Node, int] = field(default_factory=dict[Node, int])
    tensors: dict[Tensor, int] = field(default_factory=dict[Tensor, int])

    def _number(self, key: object) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def node(self, node: Node) -> int:
        """The shape of an expression."""
        found = self.nodes.get(node)
        if found is None:
            found = self._number(self._node(node))
            self.nodes[node] = found
        return found

    def _node(self, node: Node) -> object:
        match node:
            case Instance():
                return "instance", id(node)
            case Sym(extent=extent, kind=kind):
                return "sym", extent, kind
            case Lin(terms=terms):
                atoms = [(self.node(a), c) for a, c in terms if not isinstance(a, Instance)]
                return ("lin", *sorted(atoms))
            case Const(value=value, kind=kind):
                return kind, value.hex() if isinstance(value, float) else value
            case Op(fn=fn, args=args, kind=kind):
                numbers = [self.node(a) for a in args]
                return (fn, kind, *(sorted(numbers) if fn in COMMUTATIVE else numbers))
            case Get(tensor=tensor, index=index, kind=kind):
                return ("get", kind, self._read(tensor), *(self.node(i) for i in index if varies(i)))
            case Fold(op=op, vars=vars, guards=guards, value=value, arg=arg, init=init):
                extents = tuple(v.extent for v in vars)
                parts = tuple(-1 if n is None else self.node(n) for n in (value, arg, init))
                return ("fold", op, extents, parts, *sorted(self.node(g) for g in guards))
            case _:
                return id(node)

    def _read(self, tensor: Tensor) -> object:
        if varies(tensor):
            return self.tensor(tensor)
        return tensor.name if self.named and isinstance(tensor, Source) and tensor.role == "weight" else ""

    def piece(self, piece: Piece) -> object:
        """The shape of a piece."""
        extents = tuple(v.extent for v in piece.vars)
        guards = tuple(sorted(self.node(g) for g in piece.guards))
        return extents, piece.ordered, guards, tuple(self.node(i) for i in piece.pos), self.node(piece.value)

    def tensor(self, tensor: Tensor) -> int:
        """The shape of a tensor that is made."""
        found = self.tensors.get(tensor)
        if found is None:
            found = self._number(self._tensor(tensor))
            self.tensors[tensor] = found
        return found

    def _tensor(self, tensor: Tensor) -> object:
        if not isinstance(tensor, Made):
            return id(tensor)
        base, pieces = written(tensor)
        over = -1 if base is None else self.tensor(base) if varies(base) else "over"
        length = -1 if tensor.length is None else self.node(tensor.length)
        return ("made", tensor.dims, tensor.kind, over, length, *(self.piece(p) for p in pieces))


def written(made: Made) -> tuple[Tensor | None, Sequence[Piece]]:
    """What a statement writes over, and its pieces: of a table in place, of the version before."""
    if made.step is not None:
        before, piece = made.step
        return before, (piece,)
    return made.base, made.pieces


def stretches(word: Sequence[int]) -> list[Stretch]:
    """Where a word repeats, found from the last time each part of 1, 2, 4, … letters stood before."""
    found: list[Stretch] = []
    looked: dict[int, int] = {}  # by period: letters before this one have been compared at that distance
    grams, width = list(word), 1
    while width <= min(_LONGEST, len(word)):
        last: dict[int, int] = {}
        for at in range(width - 1, len(word)):
            period = at - last.get(grams[at], at)
            last[grams[at]] = at
            if not period or at < looked.get(period, 0):
                continue
            first, end = at, at + 1
            while first > max(period, looked.get(period, 0)) and word[first - 1] == word[first - 1 - period]:
                first -= 1
            while end < len(word) and word[end] == word[end - period]:
                end += 1
            looked[period] = end
            if end - first >= period:
                found.append(Stretch(first - period, end, period))
        pairs: dict[tuple[int, int], int] = {}
        wider = [pairs.setdefault((grams[n - width], grams[n]), len(pairs)) for n in range(2 * width - 1, len(word))]
        grams = [*grams[: 2 * width - 1], *wider]
        width *= 2
    return found
