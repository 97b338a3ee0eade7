"""Keys of symbolic values: equal for equal meaning, whatever a spelling calls, nests, stores or repeats.

The key of an expression is a digest that knows no variable by name, and the variables it stands for, in the order in
which the digest counts them: two expressions are one function if their digests are equal, of the arguments that the
variables say. A read of a statement has the key of what the statement computes, so a value stored first and the same
value in place have one key. The names of tables and weights are part of a key (they are part of the meaning), the
order of commuting operands is not. Nothing of this process is: keys order statements the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spatial.lift.algebra.values import (
    BlockValue,
    Const,
    Final,
    Fold,
    Get,
    Inner,
    Instance,
    Lin,
    Made,
    Node,
    Op,
    Piece,
    Source,
    Sym,
    Tensor,
)

COMMUTATIVE = ("add", "mul", "min", "max", "eq", "ne", "and", "or")
"""Operations whose operands may be exchanged."""


@dataclass(frozen=True)
class Key:
    """A digest, and the variables it is of in the order in which it counts them."""

    digest: str
    vars: tuple[Sym, ...] = ()


class Keys:
    """Keys of expressions and tensors, each computed once; what they are of must not change meanwhile."""

    def __init__(self) -> None:
        self.nodes: dict[Node, Key] = {}
        self.tensors: dict[Tensor, str] = {}
        self.functions: dict[Tensor, Key | None] = {}
        self.blocks: dict[BlockValue, str] = {}

    def of(self, node: Node) -> Key:
        """The key of an expression."""
        found = self.nodes.get(node)
        if found is None:
            found = self._of(node)
            self.nodes[node] = found
        return found

    def _of(self, node: Node) -> Key:
        match node:
            case Const():
                return Key(_digest("const", node.kind, repr(node.value)))
            case Instance():
                return Key(_digest("instance", node.extent), (node,))
            case Sym():
                return Key(_digest("var", node.extent, node.kind), (node,))
            case Lin():
                parts = sorted(((str(c), self.of(a)) for a, c in node.terms), key=lambda t: (t[0], t[1].digest))
                return _joined(("sum", node.const, *(c for c, _ in parts)), [k for _, k in parts])
            case Op():
                args = [self.of(a) for a in node.args]
                if node.fn in COMMUTATIVE:
                    args.sort(key=lambda k: k.digest)
                return _joined(("op", node.fn, node.kind), args)
            case Get():
                return self._read(node)
            case Fold():
                return self._fold(node)
            case _:
                return Key(_digest("value", id(node)))

    def _read(self, node: Get) -> Key:
        args = [self.of(i) for i in node.index]
        function = self.function(node.tensor)
        if function is None:
            return _joined(("read", self.tensor(node.tensor)), args)
        order = _places(node.tensor)
        given = [node.index[order[v]] if v in order else v for v in function.vars]
        if len(set(given)) == len(given) and all(
            isinstance(a, Sym) and a.extent == v.extent for a, v in zip(given, function.vars, strict=True)
        ):
            return Key(function.digest, tuple(a for a in given if isinstance(a, Sym)))
        return _joined(("apply", function.digest), [self.of(a) for a in given])

    def _fold(self, node: Fold) -> Key:
        guards = sorted((self.of(g) for g in node.guards), key=lambda k: k.digest)
        parts = [self.of(node.value), *guards, *([self.of(node.arg)] if node.arg is not None else [])]
        body = _joined(("terms", len(guards)), parts)
        inner = _bound(("fold", node.op), body, node.vars, ordered=node.arg is not None)
        return inner if node.init is None else _joined(("from",), [inner, self.of(node.init)])

    def function(self, tensor: Tensor) -> Key | None:
        """The key of what a tensor computes, if one expression over its own box is all it is."""
        if tensor not in self.functions:
            plain = isinstance(tensor, Made) and _plain(tensor)
            self.functions[tensor] = self.of(tensor.pieces[0].value) if isinstance(tensor, Made) and plain else None
        return self.functions[tensor]

    def tensor(self, tensor: Tensor) -> str:
        """The digest of a tensor, its axes in the order they have."""
        found = self.tensors.get(tensor)
        if found is None:
            found = self._tensor(tensor)
            self.tensors[tensor] = found
        return found

    def _tensor(self, tensor: Tensor) -> str:
        match tensor:
            case Source():
                return _digest("source", tensor.name)
            case Inner():
                return self._slot(tensor.block, tensor.slot, "inner")
            case Final():
                return self._slot(tensor.block, tensor.slot, "final") + self.block(tensor.block)
            case Made():
                base = self.tensor(tensor.base) if tensor.base is not None else ""
                pieces = sorted(self.piece(p).digest for p in tensor.pieces)
                return _digest("made", tensor.kind, tensor.dims, base, *pieces)
            case _:
                return _digest("tensor", id(tensor))

    def piece(self, p: Piece) -> Key:
        """The key of a piece: of the instance it belongs to, if of anything."""
        guards = sorted((self.of(g) for g in p.guards), key=lambda k: k.digest)
        body = _joined(("piece", len(p.pos)), [*(self.of(i) for i in p.pos), self.of(p.value), *guards])
        return _bound(("over",), body, p.vars, p.ordered)

    def _slot(self, block: BlockValue, slot: int, face: str) -> str:
        """A carried tensor by what it starts as; of several that start alike, by their order."""
        own = self.tensor(block.initial[slot])
        rank = sum(self.tensor(t) == own for t in block.initial[:slot])
        return _digest(face, block.trip, own, rank)

    def block(self, block: BlockValue) -> str:
        """The digest of a block."""
        found = self.blocks.get(block)
        if found is None:
            faces = sorted(self._slot(block, n, "inner") + self.tensor(t) for n, t in enumerate(block.made))
            found = _digest("block", block.trip, *faces)
            self.blocks[block] = found
        return found


def _plain(tensor: Made) -> bool:
    """Whether a tensor is one expression over its whole box."""
    if tensor.base is not None or len(tensor.pieces) != 1:
        return False
    p = tensor.pieces[0]
    return (
        not p.guards
        and not p.ordered
        and all(isinstance(i, Sym) for i in p.pos)
        and len(set(p.pos)) == len(p.pos) == len(p.vars)
    )


def _places(tensor: Tensor) -> dict[Node, int]:
    """Which axis of a plain tensor each of its variables is."""
    return {v: n for n, v in enumerate(tensor.pieces[0].pos)} if isinstance(tensor, Made) else {}


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _joined(tag: Sequence[object], parts: Iterable[Key]) -> Key:
    """The key of what is made of parts, each of its variables counted where it first occurs."""
    vars: dict[Sym, int] = {}
    told: list[object] = []
    for part in parts:
        told.append(part.digest)
        told.append(tuple(vars.setdefault(v, len(vars)) for v in part.vars))
    return Key(_digest(tag, told), tuple(vars))


def _bound(tag: Sequence[object], body: Key, bound: Sequence[Sym], ordered: bool) -> Key:
    """The key of what binds variables; in which order counts only where it means something."""
    at = {v: n for n, v in enumerate(body.vars)}
    places = [at.get(v, -1) for v in bound]
    idle = [v.extent for v in bound if v not in at]
    told = (tag, body.digest, places if ordered else sorted(n for n in places if n >= 0), idle)
    return Key(_digest(*told), tuple(v for v in body.vars if v not in set(bound)))
