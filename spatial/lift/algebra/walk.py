"""Walking symbolic values: the direct parts of a node, and every node below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from spatial.lift.algebra.values import Fold, Get, Lin, Made, Node, Op, Sym, Symbol, Tensor


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
    return [at for at in within(roots, symbols) if isinstance(at, Get)]


def within(roots: Iterable[Node | Tensor], symbols: frozenset[Symbol]) -> Iterator[Node | Tensor]:
    """The roots and everything below them that depends on one of `symbols`, through tensors too, each once and in a
    fixed order."""
    seen: set[int] = set()
    keep: list[object] = []
    pending: list[Node | Tensor] = list(roots)[::-1]
    while pending:
        at = pending.pop()
        if id(at) in seen or not (at.free & symbols):
            continue
        seen.add(id(at))
        keep.append(at)
        yield at
        if isinstance(at, Node):
            if isinstance(at, Get):
                pending.append(at.tensor)
            pending += children(at)[::-1]
        else:
            pending += tensor_nodes(at)
            if isinstance(at, Made) and at.base is not None:
                pending.append(at.base)


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


def made_of(roots: Iterable[Node], parts: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """What expressions are made of, each once, reads and their indices left out; `parts`: of each where to go on."""
    seen: set[int] = set()
    pending = list(roots)
    while pending:
        n = pending.pop()
        if id(n) in seen or isinstance(n, Get):
            continue
        seen.add(id(n))
        yield n
        pending += parts(n)


def tree_size(node: Node, known: dict[Node, int]) -> int:
    """How many nodes an expression has written down as a tree, in which shared parts stand again (`known`: of some)."""
    found = known.get(node)
    if found is None:
        found = known[node] = 1 + sum(tree_size(c, known) for c in children(node))
    return found


def tree_depth(node: Node, known: dict[Node, int]) -> int:
    """How deep an expression is nested (`known`: of some)."""
    found = known.get(node)
    if found is None:
        found = known[node] = 1 + max((tree_depth(c, known) for c in children(node)), default=0)
    return found


def levels(node: Node, most: int) -> int:
    """How deep an expression is nested; one more than `most` if deeper than that."""
    deep, level = 0, {node}
    while level and deep <= most:
        level = {c for n in level for c in children(n)}
        deep += 1
    return deep


def alike(a: Node, b: Node) -> bool:
    """Whether two expressions are one but for what the variables of their reductions are called."""
    return _alike(a, b, {}, set())


def _alike(a: Node, b: Node, called: dict[Symbol, Node], seen: set[tuple[Node, Node]]) -> bool:
    if a is b and not (called.keys() & a.free or a.free.intersection(called.values())):
        return True
    if (isinstance(a, Sym) and called.get(a) is b) or (a, b) in seen:
        return True
    match a, b:
        case Lin(), Lin():
            same = a.const == b.const and [c for _, c in a.terms] == [c for _, c in b.terms]
        case Op(), Op():
            same = a.fn == b.fn and a.kind == b.kind
        case Get(), Get():
            same = a.tensor is b.tensor and not (called.keys() & a.tensor.free)
        case Fold(), Fold():
            same = a.op == b.op and [v.extent for v in a.vars] == [v.extent for v in b.vars]
            same = same and (a.arg is None, a.init is None) == (b.arg is None, b.init is None)
            called |= dict(zip(a.vars, b.vars, strict=False))
        case _:
            return False
    first, second = children(a), children(b)
    same = same and len(first) == len(second)
    same = same and all(_alike(x, y, called, seen) for x, y in zip(first, second, strict=True))
    if same:
        seen.add((a, b))
    return same
