"""Parts of a statement that become statements of their own.

Indirect reads inside an expression (gathers), closed forms (fills), operations over fewer variables than their
statement, reductions that cannot stay, and run-time indices that are more than one element of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spatial.lift.algebra.arith import rebuild
from spatial.lift.algebra.bounds import Bounds, add_bounds, bounds, is_affine
from spatial.lift.algebra.folds import together
from spatial.lift.algebra.rewrite import Mapper, Rebuild, Substitution, supposed
from spatial.lift.algebra.solve import injective
from spatial.lift.algebra.values import (
    Const,
    Fold,
    Get,
    Lin,
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
    scale,
)
from spatial.lift.algebra.walk import below, children
from spatial.lift.canonical.axes import axes_of, free_axes, outer_folds
from spatial.lift.canonical.closed import is_closed, is_fill, without_fills
from spatial.lift.canonical.inside import inside
from spatial.lift.canonical.share import Shared
from spatial.lift.canonical.units import Unit, Units
from spatial.lift.context.state import Site


class Hoister:
    """Rewrites units until no expression holds a part that must stand alone.

    `repeats`: what two statements compute stands alone too; asked once the statements are apart. `assumed`: the
    declared relations of inputs.
    """

    def __init__(self, units: Units, live: Sequence[Unit], repeats: bool, assumed: tuple[Node, ...] = ()) -> None:
        self.units = units
        self.live = list(live)
        self.shared = Shared(live, repeats)
        self.closed: dict[Node, bool] = {}
        self.assumed = assumed
        self.within: dict[Node, bool] = {}

    def run(self) -> None:
        """Hoists in every unit, in new ones too; then every reduction that is part of an expression."""
        for unit in self.live:
            self.register(unit)
        at = 0
        while at < len(self.live):
            self.unit(self.live[at])
            at += 1
        self.folds()

    def register(self, unit: Unit) -> None:
        """What a unit computes need not be computed again where the same iteration needs it."""
        if len(unit.pieces) != 1 or unit.base is not None or is_fill(unit):
            return
        p = unit.pieces[0]
        if isinstance(p.value, Op | Fold) and p.value.kind != "bool" and frozenset(p.pos) >= frozenset(p.vars):
            self.shared.hold(p.value, unit, p.pos)

    def unit(self, unit: Unit) -> None:
        """Hoists the parts of one unit (its reductions stay in place for now)."""
        if is_fill(unit):
            unit.pieces = tuple(without_fills(p) for p in unit.pieces)
            return
        pieces: list[Piece] = []
        for p in unit.pieces:
            box = frozenset(p.vars)
            pos = tuple(self.index(i, unit, d) for i, d in zip(p.pos, unit.shape, strict=True))
            guards = tuple(self.condition(g, unit) for g in p.guards)
            value = p.value
            if isinstance(value, Get) and not all(is_affine(i) for i in value.index):
                value = self.read(value.tensor, value.index, unit)  # a gather, already alone
            else:
                value = self.value(value, box, unit)
            made = Piece(p.vars, guards, pos, value, p.ordered)
            if pos != p.pos and not p.ordered and not injective(made):  # looked up, places no longer show it: any order
                made = Piece(p.vars, guards, pos, value, True)
            pieces.append(made)
        unit.pieces = tuple(pieces)
        unit.belong()

    # -- expressions

    def value(self, node: Node, box: frozenset[Sym], unit: Unit, top: bool = False) -> Node:
        """An expression over the variables `box`, its hoistable parts replaced by reads."""
        mine = axes_of(node, box)
        if isinstance(node, Op | Fold) and node.kind != "bool" and not is_closed(node, self.closed):
            found = self.shared.known(node, unit)
            if found is not None:
                return found
            if self.shared.repeated(node, mine) and not self.shared.holds(unit, node) and self.safe(node):
                return self.alone(node, mine, unit)
        match node:
            case Const() | Sym():
                return node
            case Get():
                read = self.read(node.tensor, node.index, unit)
                if all(is_affine(i) for i in node.index):
                    return read
                return self.alone(read, mine, unit)
            case Op() if node.kind == "float" and node.free and node.fn != "float" and is_closed(node, self.closed):
                return self.alone(node, free_axes(node), unit)
            case Op() if (
                node.kind != "bool"
                and not top
                and len(mine) < len(box)
                and not is_closed(node, self.closed)
                and (apart := self.apart(node, mine, unit)) is not None
            ):
                return apart
            case Op(fn="floor" | "ceil" | "round"):
                return _same_or(node, tuple(self.limited(a, box, unit) for a in node.args))
            case Op():
                return _same_or(node, tuple(self.value(a, box, unit) for a in node.args))
            case Lin():
                total: Node = integer(node.const)
                for atom, c in node.terms:
                    total = combine(total, scale(self.value(atom, box, unit), c))
                return total
            case Fold():
                return self.fold(node, box, unit)
            case _:
                return node

    def limited(self, node: Node, box: frozenset[Sym], unit: Unit) -> Node:
        """What becomes an Int: the limits that prove it does stay beside it, shared or not."""
        if isinstance(node, Op) and node.fn in ("min", "max"):
            return _same_or(node, tuple(self.limited(a, box, unit) for a in node.args))
        return self.value(node, box, unit)

    def fold(self, node: Fold, box: frozenset[Sym], unit: Unit) -> Node:
        """A reduction, its own parts hoisted; one inside another stands alone."""
        outer = axes_of(node, box)
        inner = frozenset(node.vars) | outer

        def part(value: Node, box: frozenset[Sym] = inner) -> Node:
            return self.nested(self.value(value, box, unit, top=True), box, unit)

        return fold(
            node.op,
            node.vars,
            tuple(self.condition(g, unit) for g in node.guards),
            part(node.value),
            node.order,
            node.origin,
            part(node.arg) if node.arg is not None else None,
            part(node.init, outer) if node.init is not None else None,
        )

    def nested(self, node: Node, box: frozenset[Sym], unit: Unit) -> Node:
        """Reductions inside an expression that must have none."""
        match node:
            case Fold():
                return self.alone(node, axes_of(node, box), unit)
            case Op():
                return _same_or(node, tuple(self.nested(a, box, unit) for a in node.args))
            case Lin():
                total: Node = integer(node.const)
                for atom, c in node.terms:
                    total = combine(total, scale(self.nested(atom, box, unit), c))
                return total
            case _:
                return node

    def condition(self, node: Node, unit: Unit) -> Node:
        """A condition: its indices put right, its reductions alone, nothing else moved."""
        alone = Mapper(lambda t, index: self.read(t, index, unit)).node(node)
        return self.nested(alone, free_axes(alone), unit)

    def read(self, tensor: Tensor, index: tuple[Node, ...], unit: Unit) -> Node:
        """An element, its indices put right."""
        dims = tensor.dims or ()
        return get(tensor, tuple(self.index(i, unit, d or 0) for i, d in zip(index, dims, strict=True)))

    def index(self, node: Node, unit: Unit, extent: int) -> Node:
        """An index with at most one run-time term, and that a direct read of a table.

        The rest is added to the item read, unless only both together are known to stay below `extent`.
        """
        const, terms = parts(node)
        box = {a: c for a, c in terms if is_affine(a)}
        rest = {a: c for a, c in terms if a not in box}
        if not rest:
            return node
        apart = add_bounds(bounds(linear(const, box)), bounds(linear(0, rest)))
        if not _among(apart, extent) and _among(bounds(node), extent):
            return self.looked_up(node, unit)
        if len(rest) == 1:
            ((atom, c),) = rest.items()
            if isinstance(atom, Get) and all(is_affine(i) for i in atom.index):
                return node
            return combine(linear(const, box), scale(self.looked_up(atom, unit), c))
        return combine(linear(const, box), self.looked_up(linear(0, rest), unit))

    def looked_up(self, run_time: Node, unit: Unit) -> Node:
        """A run-time part of an index as one item of a table; of an item chosen by another, the gather of it."""
        axes = free_axes(run_time)
        value = self.value(run_time, axes, unit, top=True)
        if isinstance(value, Get) and all(is_affine(i) for i in value.index):
            return value
        return self.alone(value, axes, unit)

    # -- standing alone

    def alone(self, node: Node, axes: Iterable[Sym], reader: Unit) -> Node:
        """A unit of its own for an expression, over `axes`; the read that takes its place."""
        found = self.shared.known(node, reader)
        if found is not None:
            return found
        vars = tuple(sorted(axes, key=lambda s: s.serial))
        fresh = tuple(Sym(v.name, v.extent) for v in vars)
        order, name, origin = reader.order, reader.name, reader.origin
        folds = [n for n in below(node) if isinstance(n, Fold)]
        if folds:
            last = max(folds, key=lambda f: f.order)
            order = last.order
            if isinstance(last.origin, Site):
                name, origin = last.origin.name, last.origin.span
        unit = self.units.new(name, tuple(v.extent or 0 for v in vars), node.kind, order, origin)
        self.live.append(unit)
        change = Substitution(dict(zip(vars, fresh, strict=True)))
        unit.pieces = (Piece(fresh, (), fresh, change.node(node)),)
        unit.belong()
        read = get(unit, vars)
        self.shared.hold(node, unit, vars)
        return read

    def apart(self, node: Node, axes: frozenset[Sym], reader: Unit) -> Node | None:
        """An operation in a unit of its own; None if some of its reads leave their tables without the conditions of
        the reduction around it, which that unit would not have: it stays where they hold."""
        if self.safe(node):
            return self.alone(node, axes, reader)
        for index, extent in _places(node):
            found = _over_places(node, index, extent, axes)
            if found is not None and self.safe(found[0]):
                # What it is at every place of the table, read at the places that the conditions leave.
                value, place, rest = found
                return Substitution({place: index}).node(self.alone(value, rest | {place}, reader))
        return None

    def safe(self, node: Node) -> bool:
        """Whether every access of an expression lies in its tensor, whatever conditions it stands under."""
        found = self.within.get(node)
        if found is None:
            if isinstance(node, Get | Fold):
                found = inside(node, self.assumed)
            else:
                found = all(self.safe(c) for c in children(node))
            self.within[node] = found
        return found

    def folds(self) -> None:
        """Every reduction stands alone; what may join its reader joins it later."""
        at = 0
        while at < len(self.live):
            unit = self.live[at]
            at += 1
            pieces: list[Piece] = []
            for p in unit.pieces:
                found = outer_folds(p.value)
                if p.value in found or isinstance(together(p.value), Fold):
                    pieces.append(p)
                    continue
                box = frozenset(p.vars)
                change = {f: self.alone(f, axes_of(f, box), unit) for f in found}
                value = _Replace(change).node(p.value)
                pieces.append(Piece(p.vars, p.guards, p.pos, value, p.ordered))
            unit.pieces = tuple(pieces)


class _Replace(Rebuild):
    """Puts nodes in the place of the reductions of an expression (what those hold, and indices, stay)."""

    def __init__(self, change: dict[Fold, Node]) -> None:
        super().__init__()
        self.change = change

    def read(self, node: Get) -> Node:
        """A read, as it is."""
        return node

    def reduction(self, node: Fold) -> Node:
        """What replaces a reduction."""
        return self.change[node]


def _same_or(node: Op, args: tuple[Node, ...]) -> Node:
    return node if args == node.args else rebuild(node.fn, args, node.kind)


def _among(found: Bounds, extent: int) -> bool:
    low, high = found
    return low is not None and high is not None and low >= 0 and high < extent


def _places(node: Node) -> Iterator[tuple[Lin, int]]:
    """The indices of the direct reads of an expression that are sums, with the extent of their axes."""
    for read in below(node):
        if isinstance(read, Get):
            for index, extent in zip(read.index, read.tensor.dims or (), strict=True):
                if isinstance(index, Lin) and extent is not None and is_affine(index):
                    yield index, extent


def _over_places(node: Node, index: Lin, extent: int, axes: frozenset[Sym]) -> tuple[Node, Sym, frozenset[Sym]] | None:
    """(an expression over the places of an axis, their variable, its other variables), if it knows the variables of
    `index`, the place, by that alone."""
    own = [(a, c) for a, c in index.terms if isinstance(a, Sym)]
    if len(own) != len(index.terms) or not all(a in axes for a, _ in own):
        return None
    for v, c in own:
        if abs(c) == 1:
            place = Sym("k", extent)
            rest = combine(index, v, -c)
            found = supposed({v: scale(combine(place, rest, -1), c)}, node)
            others = axes - {a for a, _ in own}
            return (found[0], place, others) if found and axes_of(found[0], axes) <= others else None
    return None
