"""Walking symbolic values: the direct parts of a node, and every node below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spatial.lift.values import Fold, Get, Lin, Made, Node, Op, Symbol, Tensor


def children(node: Node) -> tuple[Node, ...]:
    """The scalars a node is made of (indices of reads included, tensors not)."""
    match node:
        case Lin():
            return tuple(a for a, _ in node.terms)
        case Op():
            return node.args
        case Get():
            return node.index
        case Fold():
            extra = tuple(n for n in (node.arg, node.init) if n is not None)
            return (*node.guards, node.value, *extra)
        case _:
            return ()


def tensor_nodes(tensor: Tensor) -> Iterator[Node]:
    """The scalars of a made tensor's own pieces."""
    if isinstance(tensor, Made):
        for p in tensor.pieces:
            yield from p.guards
            yield from p.pos
            yield p.value
        if tensor.length is not None:
            yield tensor.length


def reads_below(roots: Iterable[Node | Tensor], symbols: frozenset[Symbol]) -> list[Get]:
    """Every read below the roots that depends on one of `symbols`, through tensors too, in a fixed order."""
    found: list[Get] = []
    seen: set[int] = set()
    keep: list[object] = []
    pending: list[Node | Tensor] = list(roots)[::-1]
    while pending:
        at = pending.pop()
        if id(at) in seen or not (at.free & symbols):
            continue
        seen.add(id(at))
        keep.append(at)
        if isinstance(at, Node):
            if isinstance(at, Get):
                found.append(at)
                pending.append(at.tensor)
            pending += children(at)[::-1]
        else:
            pending += tensor_nodes(at)
            if isinstance(at, Made) and at.base is not None:
                pending.append(at.base)
    return found


def below(node: Node) -> Iterator[Node]:
    """The node and everything in it, indices included."""
    seen: set[int] = set()
    pending = [node]
    while pending:
        n = pending.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        yield n
        pending += children(n)
