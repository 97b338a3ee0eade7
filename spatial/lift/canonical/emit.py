"""From units to graph records: canonical order of variables and operands, canonical numbers.

Equal statements of one region are one. Names, places and the order of demand leave no mark but in the side table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.graph import (
    Acc,
    At,
    Block,
    Carried,
    Fn,
    GraphTensor,
    Num,
    Origin,
    Piece,
    Read,
    Reduction,
    Statement,
    Value,
    Var,
)
from spatial.lift.algebra.keys import COMMUTATIVE
from spatial.lift.algebra.values import (
    BlockValue,
    Const,
    Final,
    Fold,
    Get,
    Inner,
    Instance,
    Lin,
    Node,
    Op,
    Source,
    Sym,
    Tensor,
    integer,
    linear,
    parts,
)
from spatial.lift.algebra.values import Piece as UnitPiece
from spatial.lift.canonical.axes import outer_folds
from spatial.lift.canonical.boxes import all_nodes
from spatial.lift.canonical.closed import is_fill
from spatial.lift.canonical.order import Region
from spatial.lift.canonical.units import Unit
from spatial.lift.context.state import NotLifted

_WORD = range(-(2**63), 2**63)
"""The Ints that a graph can name."""


@dataclass(eq=False)
class Emitter:
    """Numbers tensors and builds the nodes of a graph."""

    tensors: list[GraphTensor] = field(default_factory=list[GraphTensor])
    numbers: dict[Tensor, int] = field(default_factory=dict[Tensor, int])
    after: dict[Inner, int] = field(default_factory=dict[Inner, int])
    """What a block leaves, by what its instances begin with."""
    nodes: list[Statement | Block] = field(default_factory=list[Statement | Block])
    origins: list[Origin] = field(default_factory=list[Origin])
    equal: dict[object, int] = field(default_factory=dict[object, int])
    orders: Orders = field(default_factory=lambda: Orders())
    duplicates: set[Unit] = field(default_factory=set[Unit])
    fills: int = 0
    region: BlockValue | None = None
    body: list[Statement] = field(default_factory=list[Statement])
    body_equal: dict[object, int] = field(default_factory=dict[object, int])

    # -- numbering

    def source(self, source: Source) -> int:
        """The number of a table or weight."""
        found = self.numbers.get(source)
        if found is None:
            dims = tuple(d or 0 for d in source.dims or ())
            role = source.role
            found = self.add(GraphTensor(dims, source.kind, role, source.name, source.range))
            self.numbers[source] = found
        return found

    def add(self, tensor: GraphTensor) -> int:
        """A new tensor's number."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def number(self, tensor: Tensor) -> int:
        """The number of a tensor that is emitted."""
        if isinstance(tensor, Source):
            return self.source(tensor)
        if isinstance(tensor, Final):
            found = self.after.get(tensor.block.inner[tensor.slot])
        else:
            found = self.numbers.get(tensor)
        if found is None:
            raise Bug(f"the tensor {tensor.name!r} is read before it is made")
        return found

    def fill(self, dims: tuple[int, ...], kind: str, piece: Piece) -> int:
        """The number of the constant of that closed form."""
        key = ("fill", dims, kind, piece)
        if key not in self.equal:
            self.equal[key] = self.add(GraphTensor(dims, kind, "fill", fill=piece))
        return self.equal[key]

    def turn(self) -> Read:
        """The number of the block's instance, from 0 on, as an item of a constant."""
        if self.region is None:
            raise Bug("an instance's number outside of a block")
        first = Affine.sym("v0")
        dims = (self.region.trip,)
        table = self.fill(dims, "int", Piece(dims, (), (At(first),), Var(first)))
        return Read(table, (At(Affine.sym("b")),))

    # -- statements

    def unit(self, unit: Unit) -> None:
        """Emits one unit."""
        if unit in self.numbers:
            return
        dims = unit.shape
        if is_fill(unit):
            piece = self.piece(unit.pieces[0], dims)
            known = ("fill", dims, unit.kind, piece) in self.equal
            self.fills += not known
            if known:
                self.duplicates.add(unit)
            self.numbers[unit] = self.fill(dims, unit.kind, piece)
            return
        pieces = tuple(sorted((self.piece(p, dims) for p in unit.pieces), key=lambda p: _pos_key(p)))
        base = self.number(unit.base) if unit.base is not None else None
        key = (dims, unit.kind, pieces, base)
        for known in (self.equal, self.body_equal):
            if key in known:
                self.numbers[unit] = known[key]
                self.duplicates.add(unit)
                return
        number = self.add(GraphTensor(dims, unit.kind, "made"))
        self.numbers[unit] = number
        statement = Statement(number, pieces, base)
        inside = self.region is not None
        (self.body_equal if inside else self.equal)[key] = number
        span = unit.span
        place = (len(self.nodes), len(self.body)) if inside else (len(self.nodes), -1)
        self.origins.append(Origin(*place, unit.name, span.file, span.line, span.column))
        if inside:
            self.body.append(statement)
        else:
            self.nodes.append(statement)

    def block(self, region: Region) -> None:
        """Emits a block, its members and carried tensors in the order they have there."""
        block = region.block
        slots = [(block.initial[n], block.inner[n], block.made[n]) for n in region.slots]
        carried: list[tuple[int, int]] = []
        for initial, inner, _ in slots:
            first = self.number(initial)
            known = self.tensors[first]
            number = self.add(GraphTensor(_dims(inner), known.kind, "made"))
            self.numbers[inner] = number
            carried.append((first, number))
        self.region, self.body, self.body_equal = block, [], {}
        for unit in region.members:
            self.unit(unit)
        body = tuple(self.body)
        entries: list[Carried] = []
        for (first, number), (_, inner, made) in zip(carried, slots, strict=True):
            last = self.number(made)
            final = self.add(GraphTensor(self.tensors[number].dims, self.tensors[number].kind, "made"))
            self.after[inner] = final
            entries.append(Carried(first, number, last, final))
        self.region, self.body, self.body_equal = None, [], {}
        self.nodes.append(Block(block.trip, body, tuple(entries)))

    # -- pieces

    def piece(self, p: UnitPiece, dims: tuple[int, ...]) -> Piece:
        """A piece with its variables in canonical order."""
        par = list(p.vars) if p.ordered else sorted(p.vars, key=lambda v: _place_key(p, v, dims))
        folds = outer_folds(p.value)
        if len(folds) > 1:
            raise Bug("a piece with more than one reduction")
        red: list[Sym] = []
        if folds:
            f = folds[0]
            red = list(f.vars) if f.arg is not None else sorted(f.vars, key=lambda v: _reduced_key(f, v))
        names = {v: Affine.sym(f"v{n}") for n, v in enumerate((*par, *red))}
        spell = Speller(self, names, folds[0] if folds else None)
        pos = tuple(spell.at(i) for i in p.pos)
        value = spell.value(p.value)
        accs: tuple[Reduction, ...] = ()
        if folds:
            f = folds[0]
            inner = Speller(self, names, None)
            accs = (
                Reduction(
                    f.op,
                    inner.value(f.value),
                    tuple(sorted((inner.value(g) for g in f.guards), key=self.orders.key)),
                    inner.value(f.arg) if f.arg is not None else None,
                    inner.value(f.init) if f.init is not None else None,
                ),
            )
        guards = tuple(sorted((spell.value(g) for g in p.guards), key=self.orders.key))
        return Piece(tuple(v.extent or 0 for v in par), tuple(v.extent or 0 for v in red), pos, value, accs, guards)


def _held(n: int) -> int:
    """An Int of the program as a record of a graph holds it: in 64 bits, or not at all."""
    if n not in _WORD:
        raise NotLifted(
            f"it takes an Int of {n.bit_length()} bits, and a program on a chip has 64", "compute with Floats: 1.0e20"
        )
    return n


def _dims(tensor: Tensor) -> tuple[int, ...]:
    return tuple(d or 0 for d in tensor.dims or ())


@dataclass(eq=False)
class Speller:
    """Spells nodes of one piece as graph values."""

    emitter: Emitter
    names: Mapping[Sym, Affine]
    fold: Fold | None
    spelled: dict[Node, Value] = field(default_factory=dict[Node, Value])
    """What is shared is spelled once."""

    def form(self, node: Node) -> Affine:
        """A sum of box variables as an affine form."""
        const, terms = parts(node)
        total = Affine(_held(const))
        for atom, c in terms:
            total = total + self.symbol(atom) * _held(c)
        return total

    def symbol(self, atom: Node) -> Affine:
        """One box variable."""
        if isinstance(atom, Instance):
            return self.names.get(atom, Affine.sym("b"))
        if isinstance(atom, Sym) and atom in self.names:
            return self.names[atom]
        name = atom.name if isinstance(atom, Sym) else "an index"
        raise NotLifted(f'"{name}" is no variable of this statement', "", None)

    def at(self, node: Node) -> At:
        """An index: an affine form and at most one run-time term."""
        const, terms = parts(node)
        box = linear(const, {a: c for a, c in terms if isinstance(a, Sym)})
        rest = [(a, c) for a, c in terms if not isinstance(a, Sym)]
        if not rest:
            return At(self.form(box))
        ((atom, c),) = rest if len(rest) == 1 else ((None, 0),)
        if not isinstance(atom, Get):
            raise NotLifted("an index is no sum of loop variables and one item of a table", "", None)
        read = self.value(atom)
        if not isinstance(read, Read):
            raise Bug("an index that is no read")
        held = self.emitter.tensors[read.tensor].range
        if held is not None and held[0] == held[1]:
            return At(self.form(box) + c * held[0])  # an index that can be one number only
        return At(self.form(box), read, _held(c))

    def value(self, node: Node) -> Value:
        """An expression."""
        found = self.spelled.get(node)
        if found is None:
            found = self.spelled[node] = self._value(node)
        return found

    def _value(self, node: Node) -> Value:
        match node:
            case Const():
                return Num(node.value if node.kind == "float" else int(node.value), node.kind)
            case Sym() | Lin():
                return self.integer(node)
            case Get():
                return Read(self.emitter.number(node.tensor), tuple(self.at(i) for i in node.index))
            case Fold():
                if node is not self.fold:
                    raise Bug("a reduction inside a reduction")
                return Acc(0)
            case Op():
                return self.op(node)
            case _:
                raise Bug("an expression of no known form")

    def integer(self, node: Node) -> Value:
        """An integer sum: its affine part, then its other terms."""
        const, terms = parts(node)
        box = linear(const, {a: c for a, c in terms if isinstance(a, Sym)})
        rest = [(self.value(a), c) for a, c in terms if not isinstance(a, Sym)]
        added = sorted(((v, c) for v, c in rest if c > 0), key=lambda t: self.emitter.orders.key(t[0]))
        taken = sorted(((v, c) for v, c in rest if c < 0), key=lambda t: self.emitter.orders.key(t[0]))
        form = self.form(box)
        turn = form.coef("b")
        if turn:  # one body serves all instances: their numbers are read like any other item
            form = form - Affine.sym("b", turn)
            (added if turn > 0 else taken).append((self.emitter.turn(), turn))
        total: Value | None = None
        if not form.is_const or form.const or not added:
            total = Num(form.const, "int") if form.is_const else Var(form)
        for v, c in added:
            term = v if c == 1 else Fn("mul", (Num(_held(c), "int"), v), "int")
            total = term if total is None else self.two("add", total, term, "int")
        for v, c in taken:
            term = v if c == -1 else Fn("mul", (Num(_held(-c), "int"), v), "int")
            assert total is not None
            total = Fn("sub", (total, term), "int")
        assert total is not None
        return total

    def op(self, node: Op) -> Value:
        """An operation."""
        if node.fn == "nonneg":
            return self.nonneg(node.args[0])
        args = tuple(self.value(a) for a in node.args)
        if node.fn in COMMUTATIVE:
            return self.two(node.fn, args[0], args[1], node.kind)
        return Fn(node.fn, args, node.kind)

    def two(self, fn: str, a: Value, b: Value, kind: str) -> Value:
        """An operation whose operands may be exchanged, in canonical order."""
        first, second = sorted((a, b), key=self.emitter.orders.key)
        return Fn(fn, (first, second), kind)

    def nonneg(self, node: Node) -> Value:
        """`0 <= node` as `affine and subtracted terms <= added terms`."""
        const, terms = parts(node)
        box: dict[Node, int] = {a: c for a, c in terms if isinstance(a, Sym)}
        added = {a: c for a, c in terms if not isinstance(a, Sym) and c > 0}
        taken = {a: -c for a, c in terms if not isinstance(a, Sym) and c < 0}
        if added or taken:
            left = linear(-const, {**{a: -c for a, c in box.items()}, **taken})
            right = linear(0, added)
        else:
            left, right = integer(0), linear(const, box)
        return Fn("le", (self.value(left), self.value(right)), "bool")


class Orders:
    """A total order of expressions: by shape, and by the numbers of the tensors read only between like shapes.

    A name or a number that differs from layer to layer so never orders operands differently. Long keys are digests.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Value, str, str]] = {}

    def key(self, value: Value) -> tuple[str, str]:
        """Where an expression stands in the order."""
        found = self.known.get(id(value))
        if found is None:
            shape, numbers = self._key(value)
            found = (value, _short(shape), _short(numbers))
            self.known[id(value)] = found
        return found[1], found[2]

    def _key(self, value: Value) -> tuple[str, str]:
        match value:
            case Num(v, kind):
                return f"5{kind}{v!r}", ""
            case Var(form):
                return f"4{form}", ""
            case Acc(n):
                return f"3acc{n}", ""
            case Fn(fn, args, kind):
                keys = [self.key(a) for a in args]
                return f"2{fn}{kind}({','.join(k for k, _ in keys)})", ",".join(n for _, n in keys)
            case Read(t, at):
                shape, numbers = "", f"{t:09d}"
                for a in at:
                    shape += f"{a.base};"
                    if a.via is not None:
                        inner = self.key(a.via)
                        shape += f"{a.scale}*{inner[0]};"
                        numbers += inner[1]
                return f"1[{shape}]", numbers


def _short(key: str) -> str:
    return key if len(key) < 200 else key[:40] + hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def _pos_key(piece: Piece) -> tuple[object, ...]:
    return tuple((at.base.const, at.base.terms, at.scale) for at in piece.pos)


def _place_key(p: UnitPiece, v: Sym, dims: tuple[int, ...]) -> tuple[int, int]:
    """Slowest first: by the stride of a variable in the tensor made."""
    stride, total = 1, 0
    for i, d in zip(reversed(p.pos), reversed(dims), strict=True):
        total += abs(dict(parts(i)[1]).get(v, 0)) * stride
        stride *= d
    return -total, p.vars.index(v)


def _reduced_key(f: Fold, v: Sym) -> tuple[object, ...]:
    """By the strides of a reduced variable in the reads, widest first."""
    probe = UnitPiece((), (), (), f.value)
    strides: list[int] = []
    for n in all_nodes(probe):
        if isinstance(n, Get) and n.tensor.dims is not None:
            stride, total = 1, 0
            for i, d in zip(reversed(n.index), reversed(n.tensor.dims), strict=True):
                total += abs(dict(parts(i)[1]).get(v, 0)) * stride
                stride *= d or 1
            strides.append(total)
    return (tuple(-s for s in sorted(strides, reverse=True)), -(v.extent or 0), f.vars.index(v))
