"""Units: the statements of a graph while they are brought to canonical form.

A unit is a tensor with pieces that may still be rewritten; every variable of an enclosing loop is an axis of it. Views
are looked through as units are made: a read of a direct affine copy is a read of what was copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra.bounds import is_affine
from spatial.lift.algebra.pieces import pieces_near
from spatial.lift.algebra.rewrite import Substitution
from spatial.lift.algebra.settle import Settled
from spatial.lift.algebra.solve import lands
from spatial.lift.algebra.values import (
    TRUE,
    BlockValue,
    Const,
    Final,
    Get,
    Inner,
    Instance,
    Made,
    Node,
    Piece,
    Start,
    Sym,
    Symbol,
    Tensor,
    get,
    integer,
    parts,
)
from spatial.lift.algebra.walk import below
from spatial.lift.context.state import NotLifted, Site
from spatial.logos.syntax import NO_SPAN, Span


class Unit(Made):
    """A statement in the making. `block`: the one it belongs to; `fixed`: its dims are told from outside.

    `filled`: whether it is a build-time constant, and of which pieces that was asked.
    """

    __slots__ = ("block", "filled", "fixed")

    def __init__(self, name: str, dims: tuple[int, ...], kind: str, order: int, origin: object) -> None:
        super().__init__(name, dims, None, (), order, origin, kind=kind)
        self.block: BlockValue | None = None
        self.filled: tuple[Sequence[Piece], bool] | None = None
        self.fixed = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dims, all known."""
        return tuple(d or 0 for d in self.dims or ())

    @property
    def span(self) -> Span:
        """The statement it comes from."""
        match self.origin:
            case Span():
                return self.origin
            case Site(span=span):
                return span
            case _:
                return NO_SPAN

    def belong(self) -> None:
        """Finds the block the unit belongs to, from what its pieces depend on."""
        symbols: frozenset[Symbol] = frozenset()
        for p in self.pieces:
            symbols |= p.free
        if self.base is not None:
            symbols |= self.base.free
        keep = [s for s in symbols if isinstance(s, Inner | Instance)]
        self.free = frozenset(keep)
        self.block = keep[0].block if keep else None


@dataclass(eq=False)
class Units:
    """All units made so far, in the order of demand; blocks rebuilt over units.

    `instead`: what stands for executed tensors that folding replaced.
    """

    instead: Mapping[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    made: dict[Tensor, tuple[Tensor, tuple[Sym, ...]]] = field(
        default_factory=dict[Tensor, tuple[Tensor, tuple[Sym, ...]]]
    )
    blocks: dict[BlockValue, BlockValue] = field(default_factory=dict[BlockValue, BlockValue])
    all: list[Unit] = field(default_factory=list[Unit])
    viewed: set[Tensor] = field(default_factory=set[Tensor])
    """Units that some read looked through."""

    numbers: dict[Node, Unit] = field(default_factory=dict[Node, Unit])
    """Units of numbers read from outside."""

    def __post_init__(self) -> None:
        self.mapper = Settled(self.read)

    def new(self, name: str, dims: tuple[int, ...], kind: str, order: int, origin: object) -> Unit:
        """A unit without pieces yet."""
        unit = Unit(name, dims, kind, order, origin)
        self.all.append(unit)
        return unit

    # -- from executed tensors

    def tensor(self, tensor: Tensor) -> tuple[Tensor, tuple[Sym, ...]]:
        """The unit of a tensor, and the enclosing loops' variables that are its first axes."""
        tensor = self.instead.get(tensor, tensor)
        found = self.made.get(tensor)
        if found is None:
            for before in self._before(tensor):
                self.made[before] = self._tensor(before)
            found = self._tensor(tensor)
            self.made[tensor] = found
        return found

    def _before(self, tensor: Tensor) -> Iterator[Made]:
        """What a tensor is made of and no unit is yet, each after what it is made of itself: chains are long."""
        seen: set[Tensor] = {tensor}
        pending = [(tensor, self._parts(tensor))]
        while pending:
            at, parts = pending[-1]
            part = next((p for p in parts if p not in seen and p not in self.made), None)
            if part is not None:
                seen.add(part)
                pending.append((part, self._parts(part)))
                continue
            pending.pop()
            if at is not tensor and isinstance(at, Made):
                yield at

    def _parts(self, tensor: Tensor) -> Iterator[Made]:
        """Executed tensors that a tensor is written over or reads, in the order in which it is rebuilt."""
        if not isinstance(tensor, Made) or isinstance(tensor, Unit):
            return
        found = [] if tensor.base is None else [tensor.base]
        for p in tensor.pieces:
            for root in (*p.guards, *p.pos, p.value):
                found += [n.tensor for n in below(root) if isinstance(n, Get)]
        for part in found:
            part = self.instead.get(part, part)
            if isinstance(part, Made) and not isinstance(part, Unit):
                yield part

    def _tensor(self, tensor: Tensor) -> tuple[Tensor, tuple[Sym, ...]]:
        match tensor:
            case Unit():
                return tensor, ()
            case Made():
                return self._made(tensor)
            case Final():
                block = self.block(tensor.block)
                final = Final(tensor.name, tensor.dims, tensor.kind, block, tensor.slot)
                return final, ()
            case Inner():
                return self.block(tensor.block).inner[tensor.slot], ()
            case Start():
                raise NotLifted("a value of a loop is read outside it", "", None)
            case _:
                return tensor, ()

    def _made(self, made: Made) -> tuple[Tensor, tuple[Sym, ...]]:
        span = made.origin if isinstance(made.origin, Span) else NO_SPAN
        if made.dims is None or None in made.dims:
            raise NotLifted(
                f'the shape of "{made.name}" does not follow from how it is read',
                "read it with known bounds",
                span,
                binder=made.name,
            )
        axes = _axes(made)
        dims = (*(a.extent or 0 for a in axes), *(d or 0 for d in made.dims))
        if made.kind == "none":
            raise NotLifted(f'"{made.name}" has no items', "give it at least one item", span, "write", made.name)
        if made.kind not in ("int", "float"):
            raise NotLifted(
                f'"{made.name}" holds Ints and Floats, or truth values',
                "store one kind of number (0.0)",
                span,
                "write",
                made.name,
            )
        unit = Unit(made.name, dims, made.kind, made.order, made.origin)
        if made.base is not None:
            base, base_axes = self.tensor(made.base)
            if axes and (base_axes != axes or not isinstance(base, Unit)):
                if not isinstance(base, Unit):
                    raise NotLifted(
                        f'"{made.name}" is a table changed anew in every iteration',
                        "write into a new Seq of the iteration",
                        span,
                        "write",
                        made.name,
                    )
                base = self._spread(base, base_axes, axes, made)
            unit.base = base
        pieces: list[Piece] = []
        for p in made.pieces:
            piece = self.mapper.piece(p)
            # The loops' own variables stay bound in the piece, so that equal expressions of one iteration still meet.
            once = {v: integer(0) for v in (*axes, *piece.vars) if v.extent == 1}
            change = Substitution(once)
            pieces.append(
                Piece(
                    tuple(v for v in (*axes, *piece.vars) if v not in once),
                    tuple(g for g in (change.node(g) for g in piece.guards) if g is not TRUE),
                    tuple(change.node(i) for i in (*axes, *piece.pos)),
                    change.node(piece.value),
                    piece.ordered,
                )
            )
        unit.pieces = tuple(pieces)
        unit.belong()
        self.all.append(unit)
        return unit, axes

    def _spread(self, base: Unit, base_axes: tuple[Sym, ...], axes: tuple[Sym, ...], made: Made) -> Unit:
        """A copy of `base` for every point of `axes`."""
        inner = base.shape[len(base_axes) :]
        vars = (*(Sym(a.name, a.extent) for a in axes), *(Sym("k", d) for d in inner))
        rename = dict(zip(axes, vars, strict=False))
        index = (*(rename[a] for a in base_axes), *vars[len(axes) :])
        unit = self.new(made.name, tuple(v.extent or 0 for v in vars), base.kind, made.order, made.origin)
        unit.pieces = (Piece(vars, (), vars, self.read_unit(base, index)),)
        unit.belong()
        return unit

    def read(self, tensor: Tensor, index: tuple[Node, ...]) -> Node:
        """A read, views looked through."""
        target, axes = self.tensor(tensor)
        return self.read_unit(target, (*axes, *index))

    def read_unit(self, target: Tensor, index: tuple[Node, ...], guards: Sequence[Node] = ()) -> Node:
        """A read of a unit (where `guards` hold): of what it copies, where it is a direct copy or a plain number."""
        while isinstance(target, Unit):
            seen = _through(target, index, guards)
            if seen is None:
                break
            self.viewed.add(target)
            if isinstance(seen, Node):
                return seen
            target, index = seen
        return get(target, index)

    # -- blocks

    def block(self, block: BlockValue) -> BlockValue:
        """The block over units, with carried tensors of its own: their extents will be chosen anew."""
        found = self.blocks.get(block)
        if found is not None:
            return found
        rebuilt = BlockValue(block.trip, block.b, block.order, block.origin)
        for old in block.inner:
            inner = Inner(old.name, old.dims, old.kind, rebuilt, old.slot)
            inner.range = old.range
            rebuilt.inner.append(inner)
        self.blocks[block] = self.blocks[rebuilt] = rebuilt  # what is over units already stays as it is
        block.b.block = rebuilt
        # What is handed on is told apart by what it starts as: that stands first.
        rebuilt.initial += [self.tensor(initial)[0] for initial in block.initial]
        rebuilt.made += [self.tensor(made)[0] for made in block.made]
        return rebuilt


def _axes(made: Made) -> tuple[Sym, ...]:
    """Variables of enclosing loops in a tensor, outermost first."""
    found = [s for s in made.free if isinstance(s, Sym) and not isinstance(s, Instance)]
    for s in found:
        if s.carried:
            raise NotLifted(f'"{s.name}" has a value that only a run knows', binder=s.name)
    return tuple(sorted(found, key=lambda s: s.serial))


def _through(
    unit: Unit, index: tuple[Node, ...], guards: Sequence[Node]
) -> tuple[Tensor, tuple[Node, ...]] | Node | None:
    """What a read of a unit really reads: another tensor's element, a number, or None if it reads the unit."""
    hit: Piece | None = None
    point: dict[Sym, Node] | None = None
    for p in reversed(pieces_near(unit, index)):
        point = None if p.ordered else lands(p, index, guards)
        if point is not None:
            hit = p
            break
    if hit is None or point is None:
        return None
    value = hit.value
    if isinstance(value, Const) or (value.kind == "int" and (is_affine(value) or _is_place(value))):
        return Substitution(point).node(value)
    if isinstance(value, Get) and all(is_affine(i) for i in value.index):
        change = Substitution(point)
        return value.tensor, tuple(change.node(i) for i in value.index)
    return None


def _is_place(value: Node) -> bool:
    """Whether an integer is what an index may be: one item of a table times a constant, beside box variables."""
    atoms = [a for a, _ in parts(value)[1]]
    items = [a for a in atoms if isinstance(a, Get)]
    plain = all(is_affine(a) for a in atoms if not isinstance(a, Get))
    return plain and len(items) == 1 and all(is_affine(i) for i in items[0].index)
