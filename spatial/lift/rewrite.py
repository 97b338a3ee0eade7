"""Substitution in symbolic values: symbols, loop-start tensors and single reads replaced, everything simplified anew.

One pass over the shared graph, parts without anything to replace kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from spatial.lift import arith
from spatial.lift.values import (
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


class Substitution:
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
        self.nodes, self.tensors, self.reads = nodes, tensors or {}, reads or {}
        touched: set[Symbol] = set(nodes)
        for t in self.tensors:
            touched |= {t} if isinstance(t, Start | Inner) else t.free
        for r in self.reads:
            touched |= r.free
        self.touched = frozenset(touched)
        self.memo: dict[Node, Node] = dict(wholes or {})
        self.tensor_memo: dict[Tensor, Tensor] = {}

    def node(self, node: Node) -> Node:
        """The expression, changed."""
        if not (node.free & self.touched):
            return node
        found = self.memo.get(node)
        if found is None:
            found = self._node(node)
            self.memo[node] = found
        return found

    def _node(self, node: Node) -> Node:
        match node:
            case Sym():
                return self.nodes.get(node, node)
            case Lin():
                total: Node = integer(node.const)
                for atom, c in node.terms:
                    total = combine(total, scale(self.node(atom), c))
                return total
            case Op():
                return arith.rebuild(node.fn, tuple(self.node(a) for a in node.args), node.kind)
            case Get():
                if node in self.reads:
                    return self.reads[node]
                return get(self.tensor(node.tensor), tuple(self.node(i) for i in node.index))
            case Fold():
                return fold(
                    node.op,
                    node.vars,
                    tuple(self.node(g) for g in node.guards),
                    self.node(node.value),
                    node.order,
                    node.origin,
                    self.node(node.arg) if node.arg is not None else None,
                    self.node(node.init) if node.init is not None else None,
                )
            case _:
                return node

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
        if not (piece.free & self.touched):
            return piece
        guards = tuple(g for g in (self.node(g) for g in piece.guards) if g is not arith.TRUE)
        return Piece(piece.vars, guards, tuple(self.node(p) for p in piece.pos), self.node(piece.value), piece.ordered)
