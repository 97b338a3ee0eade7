"""Tensors that lowering adds to a program's: copies, and values that a statement must find made."""

from __future__ import annotations

from dataclasses import dataclass, field

from spatial.graph.ranges import range_of_value
from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Fn, GraphTensor, Num, Piece, Read, Statement, Value


@dataclass
class Temporaries:
    """The tensors of a graph and those added so far; `before`: statements that make them, in order."""

    tensors: list[GraphTensor]
    before: list[Statement] = field(default_factory=list[Statement])

    def __post_init__(self) -> None:
        self.ranges = {n: t.range for n, t in enumerate(self.tensors) if t.kind == "int" and t.range is not None}

    def made(self, dims: tuple[int, ...], kind: str, bounds: tuple[int, int] | None = None) -> int:
        """A new tensor's number."""
        self.tensors.append(GraphTensor(dims, kind, "made", "", bounds))
        number = len(self.tensors) - 1
        if bounds is not None:
            self.ranges[number] = bounds
        return number

    def copy(self, tensor: int) -> Statement:
        """A statement that makes a new tensor of the elements of `tensor`."""
        old = self.tensors[tensor]
        at = identity(len(old.dims))
        return Statement(self.made(old.dims, old.kind, old.range), (Piece(old.dims, (), at, Read(tensor, at)),))

    def held(self, piece: Piece, value: Value, kind: str) -> Read:
        """A value of a piece in a tensor of its own, over the piece's box; the read of it."""
        at = identity(len(piece.par))
        red, accs = (piece.red, piece.accs) if has_accs(value) else ((), ())
        return Read(self.put(piece.par, kind, Piece(piece.par, red, at, value, accs)), at)

    def put(self, dims: tuple[int, ...], kind: str, piece: Piece) -> int:
        """The number of a new tensor that a piece makes, its statement noted; integers with their proved range."""
        tensor = self.made(dims, kind, range_of_value(piece.value, piece, self.ranges) if kind == "int" else None)
        self.before.append(Statement(tensor, (piece,)))
        return tensor

    def held_truth(self, piece: Piece, guard: Value) -> Value:
        """A condition of a piece in a tensor of its own; the condition that reads it."""
        one, zero = Num(1, "int"), Num(0, "int")
        return Fn("ne", (self.held(piece, Fn("select", (guard, one, zero), "int"), "int"), zero), "bool")

    def taken(self) -> list[Statement]:
        """The statements noted since the last time."""
        found, self.before = self.before, []
        return found


def identity(rank: int) -> tuple[At, ...]:
    """The place of a box's own point."""
    return tuple(At(Affine.sym(f"v{n}")) for n in range(rank))


def has_accs(value: Value) -> bool:
    """Whether a value is made of its piece's reductions."""
    match value:
        case Fn():
            return any(has_accs(a) for a in value.args)
        case Acc():
            return True
        case _:
            return False
