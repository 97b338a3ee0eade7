"""Symbolic values: what a scalar or a tensor is while a source is executed once for all its iterations.

Scalars are hash-consed expressions: two equal expressions are one object, so equality is identity and shared parts
are visited once. Integer arithmetic is kept as linear forms over atoms (box variables, reads, operations), so that
spellings of one index meet. Tensors are functions on a box, built of pieces. Knows no statement of the language and
no graph record; smart constructors only simplify what is exact in LOGOS arithmetic.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Union
from weakref import WeakValueDictionary

_serial = itertools.count()


class Node:
    """A scalar expression of `kind` "int", "float" or "bool"; `free`: the symbols and loop-start tensors in it."""

    __slots__ = ("__weakref__", "free", "kind", "serial")

    def __init__(self, kind: str, free: frozenset[Symbol]) -> None:
        self.kind = kind
        self.free = free
        self.serial = next(_serial)


class Sym(Node):
    """An integer variable counting from 0 (`extent` known), or what a carried scalar is as an iteration begins."""

    __slots__ = ("carried", "extent", "name")

    def __init__(self, name: str, extent: int | None = None, kind: str = "int", carried: bool = False) -> None:
        super().__init__(kind, frozenset())
        self.free = frozenset((self,))
        self.name = name
        self.extent = extent
        self.carried = carried


class Instance(Sym):
    """The instance number of a block."""

    __slots__ = ("block",)

    def __init__(self, extent: int) -> None:
        super().__init__("b", extent)
        self.block: BlockValue | None = None


class Lin(Node):
    """An integer: `const + Σ coef * atom`, atoms by age; never a single atom alone."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: tuple[tuple[Node, int], ...]) -> None:
        super().__init__("int", free_of([a for a, _ in terms]))
        self.const = const
        self.terms = terms


class Const(Node):
    """A float or a truth value (integers are `Lin`)."""

    __slots__ = ("value",)

    def __init__(self, value: float | bool, kind: str) -> None:
        super().__init__(kind, frozenset())
        self.value = value


class Op(Node):
    """A function of `ir.graph.FNS` of expressions; also `nonneg`, the truth of an integer being at least 0."""

    __slots__ = ("args", "fn")

    def __init__(self, fn: str, args: tuple[Node, ...], kind: str) -> None:
        super().__init__(kind, free_of(args))
        self.fn = fn
        self.args = args


class Get(Node):
    """The element of a tensor at `index`, counted from 0."""

    __slots__ = ("index", "tensor")

    def __init__(self, tensor: Tensor, index: tuple[Node, ...]) -> None:
        super().__init__(tensor.kind, tensor.free | free_of(index))
        self.tensor = tensor
        self.index = index


class Fold(Node):
    """A reduction of `value` over the box of `vars` where `guards` hold (`arg`, `init` as in `ir.graph.Reduction`)."""

    __slots__ = ("arg", "guards", "init", "op", "order", "origin", "value", "vars")

    def __init__(
        self,
        op: str,
        vars: tuple[Sym, ...],
        guards: tuple[Node, ...],
        value: Node,
        arg: Node | None,
        init: Node | None,
        order: int,
        origin: object,
    ) -> None:
        inner = free_of((value, *guards, *((arg,) if arg else ()))) - frozenset(vars)
        super().__init__(arg.kind if arg else value.kind, inner | free_of((init,) if init is not None else ()))
        self.op, self.vars, self.guards, self.value = op, vars, guards, value
        self.arg, self.init, self.order, self.origin = arg, init, order, origin


class Tensor:
    """A function from a box to scalars. `dims`: extents, None where not yet known."""

    __slots__ = ("dims", "free", "kind", "length", "name", "serial")

    def __init__(self, name: str, dims: tuple[int | None, ...] | None, kind: str, free: frozenset[Symbol]) -> None:
        self.name = name
        self.dims = dims
        self.kind = kind
        self.free = free
        self.length: Node | None = None
        """Of a sequence of run-time length: how many of the `dims[0]` items there are."""
        self.serial = next(_serial)


class Source(Tensor):
    """A table, a weight or an input. `range`: declared bounds of integers; `state`: may be written in place."""

    __slots__ = ("asked", "bound", "items", "mode", "needs", "range", "role", "state")

    def __init__(
        self,
        name: str,
        role: str,
        dims: tuple[int | None, ...] | None,
        kind: str,
        range: tuple[int, int] | None,
        state: bool,
    ) -> None:
        super().__init__(name, dims, kind, frozenset())
        self.role, self.range, self.state = role, range, state
        self.mode = ""  # "flat" or "nested", once the source has shown how deep it indexes
        self.needs: dict[int, int] = {}  # least extent each axis must have, by the accesses
        # While `dims` is None: whether they were asked for, and how deep items of it were taken for numbers, or bound.
        self.asked = False
        self.items: set[int] = set()
        self.bound: set[int] = set()


class Start(Tensor):
    """What a carried sequence is as an iteration of a loop begins; `length` may be a carried symbol."""

    __slots__ = ()

    def __init__(self, name: str, dims: tuple[int | None, ...] | None, kind: str, length: Node | None) -> None:
        super().__init__(name, dims, kind, frozenset())
        self.length = length
        own: frozenset[Symbol] = frozenset((self,))
        self.free = own | length.free if length is not None else own


class Inner(Tensor):
    """What a carried tensor is as an instance of a block begins; `range`: proved bounds of a carried Int."""

    __slots__ = ("block", "range", "slot")

    def __init__(self, name: str, dims: tuple[int | None, ...] | None, kind: str, block: BlockValue, slot: int) -> None:
        super().__init__(name, dims, kind, frozenset())
        self.free = frozenset((self,))
        self.block, self.slot = block, slot
        self.range: tuple[int | None, int | None] = (None, None)


class Final(Tensor):
    """What a carried tensor is after the last instance of a block."""

    __slots__ = ("block", "slot")

    def __init__(self, name: str, dims: tuple[int | None, ...] | None, kind: str, block: BlockValue, slot: int) -> None:
        super().__init__(name, dims, kind, block.free)
        self.block, self.slot = block, slot


class BlockValue:
    """A repeated block: `trip` instances, `b` the instance number, and for each carried tensor its three faces."""

    __slots__ = ("b", "free", "initial", "inner", "made", "order", "origin", "trip")

    def __init__(self, trip: int, b: Instance, order: int, origin: object) -> None:
        self.trip, self.b, self.order, self.origin = trip, b, order, origin
        self.initial: list[Tensor] = []
        self.inner: list[Inner] = []
        self.made: list[Tensor] = []
        self.free: frozenset[Symbol] = frozenset()


class Piece:
    """For every point of the box of `vars` where `guards` hold, element `pos` is `value`.

    `ordered`: the writes happen in order of `vars`, the last one shows; else they are injective.
    """

    __slots__ = ("free", "guards", "ordered", "pos", "table", "value", "vars")

    def __init__(
        self,
        vars: tuple[Sym, ...],
        guards: tuple[Node, ...],
        pos: tuple[Node, ...],
        value: Node,
        ordered: bool = False,
    ) -> None:
        self.vars, self.guards, self.pos, self.value, self.ordered = vars, guards, pos, value, ordered
        self.free: frozenset[Symbol] = free_of((*guards, *pos, value)) - frozenset(vars)
        self.table: Made | None = None  # the values alone, over the box, once somebody reads them so

    @property
    def volume(self) -> int:
        """Points of the box."""
        return math.prod(v.extent or 0 for v in self.vars)


class Made(Tensor):
    """A tensor a source makes: disjoint pieces, and elsewhere the elements of `base` (None: the pieces cover it)."""

    __slots__ = ("base", "order", "origin", "pieces", "step")

    def __init__(
        self,
        name: str,
        dims: tuple[int | None, ...],
        base: Tensor | None,
        pieces: Sequence[Piece],
        order: int,
        origin: object,
        length: Node | None = None,
        kind: str = "",
        free: frozenset[Symbol] | None = None,
    ) -> None:
        """`kind` and `free`, where they are known already: of the whole, and of the pieces."""
        free = free_of(pieces) if free is None else free
        if base is not None:
            free |= base.free
        if length is not None:
            free |= length.free
        super().__init__(name, dims, kind or joined_kind(pieces, base), free)
        self.base, self.pieces, self.order, self.origin = base, pieces, order, origin
        self.length = length
        self.step: tuple[Tensor, Piece] | None = None
        """Where a write joined the pieces of the version before: that version, and the piece written over it."""


Symbol = Union[Sym, Start, Inner]  # noqa: UP007  (used in annotations of classes above)


def joined_kind(pieces: Iterable[Piece], base: Tensor | None = None) -> str:
    """The kind of what pieces hold, over a base: "none" of nothing, "mixed" of several."""
    return one_kind((*(p.value.kind for p in pieces), "none" if base is None else base.kind))


def one_kind(kinds: Iterable[str]) -> str:
    """The kind that all have which have one."""
    found = {*kinds} - {"none"}
    return "none" if not found else found.pop() if len(found) == 1 else "mixed"


def free_of(nodes: Iterable[Node | Piece]) -> frozenset[Symbol]:
    """All symbols of some expressions."""
    free: frozenset[Symbol] = frozenset()
    for n in nodes:
        free = free | n.free if free else n.free
    return free


# ---------------------------------------------------------------- constructors

_pool: WeakValueDictionary[tuple[object, ...], Node] = WeakValueDictionary()
"""Expressions by what they are made of, which they hold as long as they live themselves."""


def _intern(key: tuple[object, ...], make: Callable[[], Node]) -> Node:
    found = _pool.get(key)
    if found is None:
        found = make()
        _pool[key] = found
    return found


def integer(value: int) -> Node:
    """The integer constant."""
    return _intern((value, ()), lambda: Lin(value, ()))


def real(value: float) -> Node:
    """The float constant (kept in binary64, signs of zero and all)."""
    return _intern(("float", value.hex()), lambda: Const(value, "float"))


def truth(value: bool) -> Node:
    """The truth value."""
    return _intern(("bool", value), lambda: Const(value, "bool"))


TRUE, FALSE, ZERO, ONE = truth(True), truth(False), integer(0), integer(1)


def parts(node: Node) -> tuple[int, tuple[tuple[Node, int], ...]]:
    """An integer as `(const, terms)`."""
    return (node.const, node.terms) if isinstance(node, Lin) else (0, ((node, 1),))


def linear(const: int, terms: Mapping[Node, int]) -> Node:
    """`const + Σ coef * atom`."""
    return _ordered(const, tuple(sorted(((a, c) for a, c in terms.items() if c), key=_age)))


def _age(term: tuple[Node, int]) -> int:
    return term[0].serial


def _ordered(const: int, terms: tuple[tuple[Node, int], ...]) -> Node:
    """`const + Σ coef * atom` of terms by age, none of them zero."""
    if const == 0 and len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    return _intern((const, terms), lambda: Lin(const, terms))


def constant(node: Node) -> int | float | bool | None:
    """The value of a constant, or None."""
    match node:
        case Const(value=value):
            return value
        case Lin(const=const, terms=()):
            return const
        case _:
            return None


def int_constant(node: Node) -> int | None:
    """The value of an integer constant, or None."""
    return node.const if isinstance(node, Lin) and not node.terms else None


def combine(a: Node, b: Node, factor: int = 1) -> Node:
    """`a + factor * b` of integers."""
    ca, ta = parts(a)
    cb, tb = parts(b)
    if not tb:
        return _ordered(ca + factor * cb, ta)
    if not ta:
        return _ordered(ca + factor * cb, tuple((atom, factor * c) for atom, c in tb) if factor else ())
    terms = dict(ta)
    for atom, c in tb:
        terms[atom] = terms.get(atom, 0) + factor * c
    return linear(ca + factor * cb, terms)


def scale(a: Node, factor: int) -> Node:
    """`factor * a` of an integer."""
    if factor == 1:
        return a
    c, terms = parts(a)
    return _ordered(c * factor, tuple((atom, k * factor) for atom, k in terms) if factor else ())


def plus(a: Node, n: int) -> Node:
    """`a + n` of an integer."""
    c, terms = parts(a)
    return _ordered(c + n, terms)


def raw_op(fn: str, args: tuple[Node, ...], kind: str) -> Node:
    """The operation as it stands, nothing simplified."""
    return _intern((fn, kind, args), lambda: Op(fn, args, kind))


def get(tensor: Tensor, index: tuple[Node, ...]) -> Node:
    """The element, nothing looked through."""
    return _intern((tensor, index), lambda: Get(tensor, index))


def fold(
    op: str,
    vars: tuple[Sym, ...],
    guards: tuple[Node, ...],
    value: Node,
    order: int,
    origin: object,
    arg: Node | None = None,
    init: Node | None = None,
) -> Node:
    """The reduction; a fold of a like fold over nothing else is one fold over both boxes."""
    if (
        isinstance(value, Fold)
        and value.op == op
        and arg is None
        and value.arg is None
        and value.init is None
        and op in ("sum", "product", "max", "min")
    ):
        vars, guards, value = (*vars, *value.vars), (*guards, *value.guards), value.value
    guards = tuple(dict.fromkeys(g for g in guards if g is not TRUE))
    key = (op, vars, guards, value, arg, init)
    return _intern(key, lambda: Fold(op, vars, guards, value, arg, init, order, origin))
