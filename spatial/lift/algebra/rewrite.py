"""Rebuilding symbolic values: one walk over the shared graph, everything simplified anew, and what is built on it.

`Rebuild` walks; a subclass says what becomes of symbols, reads and reductions. `Substitution` replaces symbols,
loop-start tensors and single reads (parts without anything to replace are kept as they are); `Mapper` makes every
read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spatial.lift.algebra import arith
from spatial.lift.algebra.values import (
    ONE,
    TRUE,
    ZERO,
    Const,
    Fold,
    Get,
    Inner,
    Lin,
    Made,
    Node,
    Op,
    Piece,
    Start,
    Sym,
    Symbol,
    Tensor,
    combine,
    fold,
    get,
    integer,
    scale,
)


class Rebuild:
    """Rebuilds expressions bottom-up, shared parts once."""

    def __init__(self) -> None:
        self.memo: dict[Node, Node] = {}

    def node(self, node: Node) -> Node:
        """The expression, rebuilt."""
        found = self.memo.get(node)
        if found is None:
            found = self._node(node)
            self.memo[node] = found
        return found

    def _node(self, node: Node) -> Node:
        match node:
            case Sym():
                return self.symbol(node)
            case Lin():
                total: Node = integer(node.const)
                for atom, c in node.terms:
                    total = combine(total, scale(self.node(atom), c))
                return total
            case Op(fn="select", args=(condition, a, b)) if isinstance(known := self.node(condition), Const):
                return self.op(self.node(a if known.value else b))  # what the other side would be may be undefined
            case Op():
                args = tuple(self.node(a) for a in node.args)
                return self.op(node if args == node.args else arith.rebuild(node.fn, args, node.kind))
            case Get():
                return self.read(node)
            case Fold():
                return self.reduction(node)
            case _:
                return node

    def symbol(self, node: Sym) -> Node:
        """A variable."""
        return node

    def op(self, node: Node) -> Node:
        """What became of an operation, its operands rebuilt."""
        return node

    def read(self, node: Get) -> Node:
        """A read."""
        return get(node.tensor, tuple(self.node(i) for i in node.index))

    def reduction(self, node: Fold) -> Node:
        """A reduction."""
        return refolded(node, self.node, node.vars)

    def piece(self, piece: Piece) -> Piece:
        """The piece, rebuilt."""
        guards = tuple(g for g in (self.node(g) for g in piece.guards) if g is not TRUE)
        return Piece(piece.vars, guards, tuple(self.node(p) for p in piece.pos), self.node(piece.value), piece.ordered)


def refolded(node: Fold, change: Callable[[Node], Node], vars: tuple[Sym, ...]) -> Node:
    """The reduction over `vars`, its parts changed."""
    return fold(
        node.op,
        vars,
        tuple(change(g) for g in node.guards),
        change(node.value),
        node.order,
        node.origin,
        change(node.arg) if node.arg is not None else None,
        change(node.init) if node.init is not None else None,
    )


def apart(node: Node) -> Node:
    """The expression, every reduction in it over variables of its own."""
    return _Apart().node(node)


class _Apart(Rebuild):
    def reduction(self, node: Fold) -> Node:
        """The reduction over new variables; what it starts from is outside their scope."""
        fresh = {v: Sym(v.name, v.extent) for v in node.vars}
        change = Substitution(fresh)
        return fold(
            node.op,
            tuple(fresh.values()),
            tuple(change.node(self.node(g)) for g in node.guards),
            change.node(self.node(node.value)),
            node.order,
            node.origin,
            change.node(self.node(node.arg)) if node.arg is not None else None,
            self.node(node.init) if node.init is not None else None,
        )


class Substitution(Rebuild):
    """Replaces symbols by nodes and tensors by tensors (`tensors`), and whole reads by nodes (`reads`).

    `wholes`: expressions of such symbols that are replaced as they stand, before what they are made of.
    """

    def __init__(
        self,
        nodes: Mapping[Sym, Node],
        tensors: Mapping[Tensor, Tensor] | None = None,
        reads: Mapping[Get, Node] | None = None,
        wholes: Mapping[Node, Node] | None = None,
    ) -> None:
        super().__init__()
        self.memo.update(wholes or {})
        self.nodes, self.tensors, self.reads = nodes, tensors or {}, reads or {}
        touched: set[Symbol] = set(nodes)
        for t in self.tensors:
            touched |= {t} if isinstance(t, Start | Inner) else t.free
        for r in self.reads:
            touched |= r.free
        self.touched = frozenset(touched)
        self.tensor_memo: dict[Tensor, Tensor] = {}

    def node(self, node: Node) -> Node:
        """The expression, changed."""
        return super().node(node) if node.free & self.touched else node

    def symbol(self, node: Sym) -> Node:
        """A variable, or what replaces it."""
        return self.nodes.get(node, node)

    def read(self, node: Get) -> Node:
        """A read of the changed tensor, or what replaces it."""
        if node in self.reads:
            return self.reads[node]
        return get(self.tensor(node.tensor), tuple(self.node(i) for i in node.index))

    def reduction(self, node: Fold) -> Node:
        """A reduction; one over a variable that is replaced around it keeps its own meaning of it."""
        if any(v in self.nodes for v in node.vars):
            return self.node(apart(node))
        return super().reduction(node)

    def tensor(self, tensor: Tensor) -> Tensor:
        """The tensor, changed."""
        if tensor in self.tensors:
            return self.tensors[tensor]
        if not (tensor.free & self.touched):
            return tensor
        found = self.tensor_memo.get(tensor)
        if found is None:
            found = self._tensor(tensor)
            self.tensor_memo[tensor] = found
        return found

    def _tensor(self, tensor: Tensor) -> Tensor:
        match tensor:
            case Made():
                return Made(
                    tensor.name,
                    tensor.dims or (),
                    self.tensor(tensor.base) if tensor.base is not None else None,
                    tuple(self.piece(p) for p in tensor.pieces),
                    tensor.order,
                    tensor.origin,
                    self.node(tensor.length) if tensor.length is not None else None,
                )
            case _:
                return tensor

    def piece(self, piece: Piece) -> Piece:
        """The piece, changed (its own variables are never replaced)."""
        return super().piece(piece) if piece.free & self.touched else piece


def supposed(nodes: Mapping[Sym, Node], *of: Node) -> list[Node] | None:
    """Expressions with symbols replaced by what may lie beyond all for which they are computed; None if one has no
    meaning there, as a quotient by zero has none."""
    change = Substitution(nodes)
    try:
        return [change.node(n) for n in of]
    except arith.Undefined:
        return None


class Mapper(Rebuild):
    """Makes every read anew: `on_get`, of its tensor and its rebuilt index; variables of extent 1 leave reductions."""

    def __init__(self, on_get: Callable[[Tensor, tuple[Node, ...]], Node]) -> None:
        super().__init__()
        self.on_get = on_get

    def read(self, node: Get) -> Node:
        """A read, made anew."""
        return self.on_get(node.tensor, tuple(self.node(i) for i in node.index))

    def reduction(self, node: Fold) -> Node:
        """A reduction, without variables of extent 1."""
        return self.node(once(node)) if any(v.extent == 1 for v in node.vars) else super().reduction(node)


def once(node: Fold) -> Node:
    """A reduction without its variables of extent 1 (of one term alone: that term)."""
    change = Substitution({v: integer(0) for v in node.vars if v.extent == 1})
    guards = tuple(g for g in (change.node(g) for g in node.guards) if g is not TRUE)
    vars = tuple(v for v in node.vars if v.extent != 1)
    value, arg = change.node(node.value), change.node(node.arg) if node.arg is not None else None
    if not vars and not guards and node.init is None:
        return value if arg is None else arg
    if not vars:
        # A single term under a condition.
        if arg is not None or (node.init is None and node.op in ("max", "min")):
            return value if arg is None else arg
        rest = node.init if node.init is not None else {"sum": ZERO, "product": ONE}[node.op]
        rest = arith.to_float(rest) if value.kind == "float" else rest
        condition: Node = TRUE
        for g in guards:
            condition = arith.both(condition, g)
        taken = arith.extreme(node.op, rest, value) if node.op in ("max", "min") else value
        return arith.select(condition, taken, rest)
    return fold(node.op, vars, guards, value, node.order, node.origin, arg, node.init)
