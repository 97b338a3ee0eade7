"""Two statements that are alike, walked together: what becomes of the integers and tensors in which they differ.

A `Lockstep` makes of two layers the body of a block: an integer that grows from the first to the second becomes a
multiple of the instance number, a tensor of the layer before what the instance begins with. A `Fit` holds a later layer
to such a body. Whatever else differs ends the walk with `Differ`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spatial.lift.algebra.arith import rebuild
from spatial.lift.algebra.values import (
    Const,
    Fold,
    Get,
    Inner,
    Instance,
    Lin,
    Made,
    Node,
    Op,
    Piece,
    Sym,
    Tensor,
    combine,
    fold,
    get,
    integer,
    linear,
    parts,
)
from spatial.lift.canonical.alike import COMMUTATIVE, Shapes, varies, written
from spatial.lift.context.writes import put
from spatial.logos.syntax import NO_SPAN, Span

EXACT = ("floordiv", "truncdiv", "rem")
"""Operations whose integers must be the same in all layers: quotients of an instance number are no affine index."""


class Differ(Exception):
    """Two statements are not the same statement of two layers."""


class Tensors(Protocol):
    """What is known of the tensors of two layers."""

    def closed(self, a: Tensor, b: Tensor) -> Tensor:
        """What stands for statement `a` of the one and `b` of the other, or for what both read from outside."""
        ...

    def carried(self, a: Get, b: Get) -> Tensor | None:
        """The same for a read `a` in the one and `b` in the other, where that is of the layer before; else None."""
        ...

    def may(self, a: Get, b: Get) -> bool:
        """Whether one of the two would be found for the reads."""
        ...


@dataclass(eq=False)
class Lockstep:
    """Walks layers 0 and 1 together, and builds what they are instances of."""

    shapes: Shapes
    b: Instance
    tensors: Tensors
    memo: dict[tuple[Node, Node], Node] = field(default_factory=dict[tuple[Node, Node], Node])
    made: dict[tuple[Tensor, Tensor], Tensor] = field(default_factory=dict[tuple[Tensor, Tensor], Tensor])
    one: dict[Sym, Sym] = field(default_factory=dict[Sym, Sym])
    other: dict[Sym, Sym] = field(default_factory=dict[Sym, Sym])

    # -- scalars

    def node(self, a: Node, b: Node) -> Node:
        """The expression of which `a` and `b` are instances."""
        found = self.memo.get((a, b))
        if found is None:
            found = self._node(a, b)
            self.memo[a, b] = found
        return found

    def _node(self, a: Node, b: Node) -> Node:
        match a, b:
            case (Lin(), _) | (_, Lin()) if a.kind == b.kind == "int":
                return self.linear(a, b)
            case Sym(), Sym():
                if self.one.get(a) is not b or self.other.get(b) is not a:
                    raise Differ
                return a
            case Const(), Const() if a is b:
                return a
            case Op(), Op() if a.fn == b.fn and a.kind == b.kind and len(a.args) == len(b.args):
                pairs = self.pairs(a.args, b.args, a.fn in COMMUTATIVE)
                args = tuple(self.node(x, y) for x, y in pairs)
                if a.fn in EXACT and any(self.b in (atom for atom, _ in parts(x)[1]) for x in args if x.kind == "int"):
                    raise Differ
                return self.operation(a, args)
            case Get(), Get() if a.kind == b.kind:
                return self.read(a, b)
            case Fold(), Fold() if a.op == b.op:
                return self.reduction(a, b)
            case _:
                raise Differ

    def pairs(self, a: Sequence[Node], b: Sequence[Node], free: bool = True) -> list[tuple[Node, Node]]:
        """Operands of the one beside those of the other; `free`: in any order, sorted by shape."""
        if len(a) != len(b):
            raise Differ
        if not free or len(a) < 2:
            return list(zip(a, b, strict=True))
        left = sorted(b, key=self.shapes.node)
        found: list[tuple[Node, Node]] = []
        for x in sorted(a, key=self.shapes.node):
            alike = [y for y in left if self.shapes.node(y) == self.shapes.node(x)]
            if not alike:
                raise Differ
            y = next((y for y in alike if self.may(x, y)), alike[0])
            left.remove(y)
            found.append((x, y))
        return found

    def may(self, a: Node, b: Node) -> bool:
        """Whether two operands of equal shape may correspond, by the tensors they are elements of."""
        return not isinstance(a, Get) or not isinstance(b, Get) or self.tensors.may(a, b)

    def linear(self, a: Node, b: Node) -> Node:
        """A sum of integers."""
        first, mine = self.terms(a)
        second, theirs = self.terms(b)
        if [c for _, c in mine] != [c for _, c in theirs]:
            raise Differ
        terms: dict[Node, int] = {}
        for (x, c), (y, _) in zip(mine, theirs, strict=True):
            atom = self.node(x, y)
            terms[atom] = terms.get(atom, 0) + c
        return self.number(first, second, terms)

    def terms(self, node: Node) -> tuple[Node, list[tuple[Node, int]]]:
        """The part that may grow from layer to layer, and the rest in an order that all layers share."""
        const, terms = parts(node)
        own: dict[Node, int] = {a: c for a, c in terms if isinstance(a, Instance)}
        rest = [(a, c) for a, c in terms if not isinstance(a, Instance)]
        # Of equal shape, variables come in the order of their loops: what all layers share may be older than they are.
        rest.sort(key=lambda t: (self.shapes.node(t[0]), t[1], t[0].serial))
        return linear(const, own), rest

    def number(self, a: Node, b: Node, rest: dict[Node, int]) -> Node:
        """An integer that is `a` in layer 0 and `b` in layer 1, and the terms beside it."""
        step = parts(combine(b, a, -1))[0]
        total = combine(a, self.b, step) if step else a
        return combine(total, linear(0, rest))

    def operation(self, a: Op, args: tuple[Node, ...]) -> Node:
        """The operation on rebuilt operands."""
        return a if args == a.args else rebuild(a.fn, args, a.kind)

    def read(self, a: Get, b: Get) -> Node:
        """An element read."""
        tensor = self.tensors.carried(a, b)
        mine = a.index
        if tensor is not None:
            mine = a.index[len(a.index) - len(b.index) :]
        else:
            tensor = self.tensor(a.tensor, b.tensor)
        if len(mine) != len(b.index):
            raise Differ
        index = tuple(self.node(x, y) for x, y in zip(mine, b.index, strict=True))
        if any(isinstance(s, Inner) for i in index for s in i.free):
            raise Differ  # what is carried has no bounds that prove an index in range
        return self.element(tensor, index, a)

    def element(self, tensor: Tensor, index: tuple[Node, ...], a: Get) -> Node:
        """The read of what stands for the tensor."""
        return get(tensor, index)

    def reduction(self, a: Fold, b: Fold) -> Node:
        """A reduction."""
        self.bind(a.vars, b.vars)
        guards = tuple(self.node(x, y) for x, y in self.pairs(a.guards, b.guards))
        value = self.node(a.value, b.value)
        arg, init = self.optional(a.arg, b.arg), self.optional(a.init, b.init)
        return self.folded(a, guards, value, arg, init)

    def folded(self, a: Fold, guards: tuple[Node, ...], value: Node, arg: Node | None, init: Node | None) -> Node:
        """The reduction of rebuilt parts."""
        return fold(a.op, a.vars, guards, value, a.order, a.origin, arg, init)

    def optional(self, a: Node | None, b: Node | None) -> Node | None:
        """A part that may be missing."""
        if a is None or b is None:
            if a is not b:
                raise Differ
            return None
        return self.node(a, b)

    def bind(self, a: Sequence[Sym], b: Sequence[Sym]) -> None:
        """Variables of boxes that correspond."""
        if len(a) != len(b):
            raise Differ
        for x, y in zip(a, b, strict=True):
            if x.extent != y.extent or self.one.setdefault(x, y) is not y or self.other.setdefault(y, x) is not x:
                raise Differ

    # -- tensors

    def tensor(self, a: Tensor, b: Tensor) -> Tensor:
        """A tensor read or written over."""
        if not varies(b):
            return self.tensors.closed(a, b)
        found = self.made.get((a, b))
        if found is None:
            found = self.statement(a, b)
            self.made[a, b] = found
        return found

    def statement(self, a: Tensor, b: Tensor) -> Tensor:
        """A tensor that is made."""
        if not isinstance(a, Made) or not isinstance(b, Made) or a.dims != b.dims or a.kind != b.kind:
            raise Differ
        below, mine = written(a)
        under, theirs = written(b)
        if len(mine) != len(theirs) or (below is None) != (under is None):
            raise Differ
        pieces = tuple(self.piece(p, q) for p, q in zip(mine, theirs, strict=True))
        base = self.base(below, under) if below is not None and under is not None else None
        return self.put(a, base, pieces, self.optional(a.length, b.length))

    def base(self, a: Tensor, b: Tensor) -> Tensor:
        """What is written over."""
        return self.tensors.carried(Get(a, ()), Get(b, ())) or self.tensor(a, b)

    def put(self, a: Made, base: Tensor | None, pieces: tuple[Piece, ...], length: Node | None) -> Tensor:
        """The statement of rebuilt parts, made as a loop's body would make it."""
        origin = a.origin if isinstance(a.origin, Span) else NO_SPAN
        if a.step is not None and base is not None:
            return put(base, pieces[0], a.order, origin, a.name)
        made = Made(a.name, a.dims or (), base, pieces, a.order, a.origin, length, a.kind)
        made.dims = a.dims
        return made

    def piece(self, a: Piece, b: Piece) -> Piece:
        """A piece."""
        if a.ordered != b.ordered or len(a.pos) != len(b.pos):
            raise Differ
        self.bind(a.vars, b.vars)
        guards = tuple(self.node(x, y) for x, y in self.pairs(a.guards, b.guards))
        pos = tuple(self.node(x, y) for x, y in zip(a.pos, b.pos, strict=True))
        return self.pieced(a, guards, pos, self.node(a.value, b.value))

    def pieced(self, a: Piece, guards: tuple[Node, ...], pos: tuple[Node, ...], value: Node) -> Piece:
        """The piece of rebuilt parts."""
        return Piece(a.vars, guards, pos, value, a.ordered)


@dataclass(eq=False)
class Fit(Lockstep):
    """Walks a body and layer `turn` together, and builds nothing."""

    turn: int = 0

    def number(self, a: Node, b: Node, rest: dict[Node, int]) -> Node:
        """An integer of the body, as it is in this layer."""
        const, own = parts(a)
        if combine(b, integer(const + sum(c for _, c in own) * self.turn), -1) is not integer(0):
            raise Differ
        return a

    def operation(self, a: Op, args: tuple[Node, ...]) -> Node:
        """Nothing to build."""
        return a

    def element(self, tensor: Tensor, index: tuple[Node, ...], a: Get) -> Node:
        """Nothing to build."""
        return a

    def folded(self, a: Fold, guards: tuple[Node, ...], value: Node, arg: Node | None, init: Node | None) -> Node:
        """Nothing to build."""
        return a

    def put(self, a: Made, base: Tensor | None, pieces: tuple[Piece, ...], length: Node | None) -> Tensor:
        """Nothing to build."""
        return a

    def pieced(self, a: Piece, guards: tuple[Node, ...], pos: tuple[Node, ...], value: Node) -> Piece:
        """Nothing to build."""
        return a


def slice_of(a: Get, b: Get) -> tuple[Node, ...] | None:
    """Where layer 1 reads a whole tensor as `b`, the slice of which `a` reads the same elements: its first indices."""
    extra = len(a.index) - len(b.index)
    if extra < 0:
        return None
    prefix = a.index[:extra]
    return None if any(i.free for i in prefix) else prefix
