"""Canonical form: from executed values to the graph. The order of the steps, on one screen.

Units with views looked through; parts that stand alone hoisted; single readers joined; boxes split, fused and laid
out; every access proved inside its tensor without the guards an intermediate drops, every item to be made once; then
numbered and emitted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from spatial.graph.ranges import with_ranges
from spatial.ir.graph import Graph, Lifted, Shown
from spatial.lift.algebra.arith import Undefined
from spatial.lift.algebra.settle import settle
from spatial.lift.algebra.values import Node, Piece, Source, Sym, Tensor, constant
from spatial.lift.canonical.axes import outer_folds
from spatial.lift.canonical.boxes import reshape
from spatial.lift.canonical.emit import Emitter
from spatial.lift.canonical.hoist import Hoister
from spatial.lift.canonical.inside import check_inside
from spatial.lift.canonical.joins import join, reachable
from spatial.lift.canonical.layers import fold_layers
from spatial.lift.canonical.layouts import lay_out
from spatial.lift.canonical.lists import as_tables
from spatial.lift.canonical.needs import drop_unread, filled, selected
from spatial.lift.canonical.once import check_once
from spatial.lift.canonical.order import Region, depends, in_order
from spatial.lift.canonical.record import recorded, unread
from spatial.lift.canonical.regions import Regions
from spatial.lift.canonical.share import merge
from spatial.lift.canonical.sizes import cut_large
from spatial.lift.canonical.tabulate import tabulate
from spatial.lift.canonical.units import Unit, Units
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import NotLifted, Seq, Site, Text, Value
from spatial.logos.show import show_value


@dataclass(frozen=True)
class Roots:
    """What is read from outside: results, state tables with their last versions, lines shown."""

    results: tuple[tuple[str, Seq | Node], ...]
    state: tuple[tuple[str, Source, Seq], ...]
    shows: tuple[Value, ...]


def canonical_graph(roots: Roots, machine: Machine) -> Lifted:
    """The graph of what the roots need."""
    try:
        return _canonical(roots, machine)
    except Undefined as problem:
        raise NotLifted(str(problem), problem.mend) from None


def _canonical(roots: Roots, machine: Machine) -> Lifted:
    folded = fold_layers(_read(roots))
    units = Units(folded.instead)
    kept = {name for name, _, _ in roots.state}
    made = {name: _root(units, value, machine, name) for name, value in roots.results if name not in kept}
    state = [(name, source, _last(units, value, machine, name)) for name, source, value in roots.state]
    made |= {name: t for name, _, t in state}  # a result that is state is read where that ends
    results = [(name, made[name]) for name, _ in roots.results]
    last = [t for _, _, t in state]
    shows = [_shown(units, value, machine) for value in roots.shows]
    shown = [p for line in shows for p in line if isinstance(p, Tensor)]
    for t in (*(t for _, t in results), *last, *shown):
        if isinstance(t, Unit):
            t.fixed = True
    outside: set[Tensor] = {t for _, t in results} | set(last) | set(shown)
    for block in units.blocks.values():
        outside |= {*block.initial, *block.made}
    blocks = list(units.blocks.values())
    for unit in units.all:
        selected(unit, units.read_unit)
    cut_large(units, reachable(units, outside))
    Regions(Hoister(units, reachable(units, outside), False, machine.assumed), machine.assumed).run()
    equal: dict[Unit, Unit] = {}
    for repeats in (False, True):
        equal |= merge(units, outside)
        Hoister(units, reachable(units, outside), repeats, machine.assumed).run()
    reshape(reachable(units, outside), blocks, last, variables=False)
    joined = join(units, outside)
    live = reachable(units, outside)
    drop_unread(live, blocks, outside)
    live = reachable(units, outside)
    _hold_something(live)
    lay_out(live, blocks, outside)
    settle(live)
    reshape(live, blocks, last)
    check_inside(live, machine.assumed)
    as_tables(live)
    live = [*live, *tabulate(units, live)]
    live = [*live, *filled(units, live)]
    check_once(live)
    emitter = Emitter()
    begun = {source for _, source, _ in state}  # a state written whole is read by nobody
    for source in sorted(begun | set(_sources(live, outside)), key=lambda s: s.name):
        emitter.source(source)
    by_name = [*sorted(((name, t) for name, _, t in state), key=_name), *sorted(results, key=_name)]
    for item in in_order(live, blocks, [*(t for _, t in by_name), *shown]):
        _emit(emitter, item)
    graph = Graph(
        tuple(emitter.tensors),
        tuple(emitter.nodes),
        tuple((name, emitter.number(t)) for name, t in results),
        tuple((name, emitter.source(source), emitter.number(t)) for name, source, t in state),
        tuple(_line(line, emitter) for line in shows),
    )
    unseen = unread(units, machine, folded.members)
    records = recorded(units, live, joined, equal, emitter) + unseen
    fates = Counter(r.fate for r in records)
    return Lifted(
        with_ranges(graph),
        tuple(emitter.origins),
        len(units.all) + len(unseen),
        fates["view"],
        emitter.fills,
        fates["dead"],
        (),
        duplicates=fates["duplicate"],
        recorded=records,
    )


def _hold_something(live: list[Unit]) -> None:
    """Refuses a tensor without items: there would be nothing to compute and nothing to store."""
    for unit in live:
        if 0 in unit.shape:
            raise NotLifted(
                f'"{unit.name}" has no items',
                "leave it out, or give it at least one item",
                unit.span,
                "write",
                unit.name,
            )


def _read(roots: Roots) -> list[Tensor | Node]:
    """The tensors and scalars that the roots are made of."""
    found: list[Tensor | Node] = []
    pending: list[Value | str] = [v for _, v in roots.results]
    pending += [v for _, _, v in roots.state]
    pending += roots.shows
    for value in pending:
        match value:
            case Seq(tensor, prefix):
                found += [tensor, *prefix]
            case Node():
                found.append(value)
            case Text(parts):
                pending += parts
            case _:
                pass
    return found


def _root(units: Units, value: Seq | Node, machine: Machine, name: str) -> Tensor:
    """A value read from outside, as a tensor of its own."""
    order = machine.tick()
    if isinstance(value, Node):
        known = units.numbers.get(units.mapper.node(value))
        if known is not None:
            return known
        if value.kind == "bool":
            raise NotLifted(
                f'"{name}" is a truth value, and only numbers are tensors', "store 1 or 0", None, "write", name
            )
        folds = [f.origin for f in outer_folds(value) if isinstance(f.origin, Site)]
        unit = units.new(name, (), value.kind, order, folds[-1] if folds else None)
        unit.fixed = True
        unit.pieces = (Piece((), (), (), units.mapper.node(value)),)
        unit.belong()
        units.numbers[unit.pieces[0].value] = unit
        return unit
    tensor, axes = units.tensor(value.tensor)
    plain = value.whole and not axes and value.tensor.length is None
    if plain and isinstance(tensor, Unit) and not tensor.fixed:
        return tensor
    return _apart(units, value, order, name)


def _apart(units: Units, value: Seq, order: int, name: str) -> Unit:
    """A copy of a sequence, or of a slice of one."""
    tensor, axes = units.tensor(value.tensor)
    if value.tensor.length is not None and value.whole:
        raise NotLifted(
            f'"{name}" has a length known only at run time',
            "read a sequence of fixed length from outside",
            binder=name,
        )
    dims = value.dims
    if dims is None or None in dims:
        raise NotLifted(f'the shape of "{name}" is not known', "read its items by indices of known bounds", binder=name)
    vars = tuple(Sym("k", d) for d in dims)
    prefix = tuple(units.mapper.node(p) for p in value.prefix)
    unit = units.new(name, tuple(d or 0 for d in dims), tensor.kind, order, None)
    unit.pieces = (Piece(vars, (), vars, units.read_unit(tensor, (*axes, *prefix, *vars))),)
    unit.belong()
    return unit


def _last(units: Units, value: Seq, machine: Machine, name: str) -> Tensor:
    """What a state table ends as: a tensor as it is, a slice of one as a tensor of its own."""
    tensor, axes = units.tensor(value.tensor)
    plain = value.whole and not axes and value.tensor.length is None
    return tensor if plain else _apart(units, value, machine.tick(), name)


def _shown(units: Units, value: Value, machine: Machine) -> list[str | Tensor]:
    """A line to print: texts, and tensors for what only a run knows."""
    if isinstance(value, Text):
        found: list[str | Tensor] = []
        for part in value.parts:
            found += [part] if isinstance(part, str) else _shown(units, part, machine)
        return found
    if isinstance(value, Node):
        known = constant(value)
        if known is not None and not isinstance(known, bool):
            return [show_value(known)]
        return [_root(units, value, machine, "a shown value")]
    if isinstance(value, Seq):
        return [_root(units, value, machine, "a shown value")]
    raise NotLifted("this is no value that can be shown", "show texts, numbers and sequences of them")


def _name(root: tuple[str, Tensor]) -> str:
    return root[0]


def _line(line: list[str | Tensor], emitter: Emitter) -> Shown:
    """A line to print, neighbouring texts joined."""
    found: list[str | int] = []
    for part in line:
        if isinstance(part, Tensor):
            found.append(emitter.number(part))
        elif found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return Shown(tuple(found))


def _sources(live: list[Unit], outside: set[Tensor]) -> set[Source]:
    found = {t for u in live for t in depends(u) if isinstance(t, Source)}
    return found | {t for t in outside if isinstance(t, Source)}


def _emit(emitter: Emitter, item: Unit | Region) -> None:
    if isinstance(item, Region):
        emitter.block(item)
        return
    try:
        emitter.unit(item)
    except NotLifted as problem:
        raise problem.at(item.span, item.name) from None
