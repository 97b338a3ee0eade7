"""Writes over what the program made itself, and items set one by one, put as statements that make the whole.

Memory of the program's own is stored whole, never in part. Where each element is written by one point of the box at
most, and it is known which, the statement says of each element whether it is written:

    y = 1.0 at (v0, labels[v0]), over z      ->      y = (if v1 = labels[v0]: 1.0, else z[v0, v1]) at (v0, v1)

    y = 0.5 at 0, s at 1, 0.25 at 2          ->      y = (if v0 < 1: 0.5, else (if v0 < 2: s, else 0.25)) at v0

A copy of a table is such memory too. Leaves alone state, which is written in part, writes of which several may meet,
and large tensors made of several pieces. Knows no layout, no target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from spatial.graph.settle import steps_of_state
from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Block, Fn, Graph, Num, Piece, Read, Statement, Value, Var


def filled(graph: Graph) -> Graph:
    """The graph, its state settled, with every such write made whole."""
    state = steps_of_state(graph)

    def whole(s: Statement) -> Statement:
        if s.over is None:
            return _listed(graph, s)
        return s if s.out in state else _whole(graph, s, s.over)

    return replace(
        graph,
        nodes=tuple(
            replace(n, body=tuple(whole(s) for s in n.body)) if isinstance(n, Block) else whole(n) for n in graph.nodes
        ),
    )


FEW = 1024
"""Elements of a tensor up to which one section that chooses is worth more than a section for each piece."""


def _listed(graph: Graph, statement: Statement) -> Statement:
    """A statement that makes a small tensor of pieces at fixed places as one of the whole tensor."""
    tensor = graph.tensors[statement.out]
    points = [_point(p, tensor.dims) for p in statement.pieces]
    if len(points) < 2 or prod(tensor.dims) > FEW:
        return statement
    here = tuple(At(Affine.sym(f"v{n}")) for n in range(len(tensor.dims)))
    items: list[tuple[tuple[int | None, ...], Value]] = []
    for piece, point in zip(statement.pieces, points, strict=True):
        if point is None or any(at.via is not None for at in piece.pos):
            return statement
        place = tuple(at.base.const if at.base.is_const else None for at in piece.pos)
        items.append((place, _moved(piece.value, point)))
    axes = [n for n in range(len(here)) if all(place[n] is not None for place, _ in items)]
    if len({tuple(place[n] for n in axes) for place, _ in items}) < len(items):
        return statement
    value = _chosen([(tuple(place[n] or 0 for n in axes), v) for place, v in items], axes, tensor.kind)
    return replace(statement, pieces=(Piece(tensor.dims, (), here, value),))


def _chosen(items: Sequence[tuple[tuple[int, ...], Value]], axes: Sequence[int], kind: str) -> Value:
    """The value of the item that stands where the variables of `axes` point, by halving."""
    first = items[0][1]
    if all(value == first for _, value in items):
        return first
    places = sorted({place[0] for place, _ in items})
    if len(places) == 1:
        return _chosen([(place[1:], value) for place, value in items], axes[1:], kind)
    cut = places[len(places) // 2]
    low, high = ([i for i in items if (i[0][0] < cut) == side] for side in (True, False))
    below = Fn("lt", (Var(Affine.sym(f"v{axes[0]}")), Num(cut, "int")), "bool")
    return Fn("select", (below, _chosen(low, axes, kind), _chosen(high, axes, kind)), kind)


def _whole(graph: Graph, statement: Statement, over: int) -> Statement:
    """The statement without `over`; as it is where an element may be written more than once."""
    tensor = graph.tensors[statement.out]
    here = tuple(At(Affine.sym(f"v{n}")) for n in range(len(tensor.dims)))
    base = graph.tensors[over].fill
    value: Value = base.value if base is not None and isinstance(base.value, Num) else Read(over, here)
    for piece in statement.pieces:
        point = _point(piece, tensor.dims)
        if point is None:
            return statement
        new = _moved(piece.value, point)
        for hit in (*_hits(piece, point), *(_moved(g, point) for g in piece.guards)):
            new = Fn("select", (hit, new, value), tensor.kind)
        value = new
    return replace(statement, pieces=(Piece(tensor.dims, (), here, value),), over=None)


def _point(piece: Piece, dims: tuple[int, ...]) -> Mapping[str, Affine] | None:
    """For each variable of a write the axis of the tensor that it runs along whole; None where one runs along none."""
    found: dict[str, Affine] = {}
    for axis, (at, extent) in enumerate(zip(piece.pos, dims, strict=True)):
        for n, own in enumerate(piece.par):
            if at == At(Affine.sym(f"v{n}")) and own == extent:
                found.setdefault(f"v{n}", Affine.sym(f"v{axis}"))
    found |= {f"v{n}": Affine() for n, own in enumerate(piece.par) if own == 1}
    return found if len(found) == len(piece.par) and not piece.accs else None


def _hits(piece: Piece, point: Mapping[str, Affine]) -> list[Value]:
    """What must hold for an element to be written, of each axis that says something."""
    hits: list[Value] = []
    for axis, at in enumerate(piece.pos):
        away = Affine.sym(f"v{axis}") - at.base.subst(point)
        if at.via is not None:
            index = _read(at.via, point)
            held: Value = index if at.scale == 1 else Fn("mul", (Num(at.scale, "int"), index), "int")
            hits.append(Fn("eq", (Var(away), held), "bool"))
        elif away != Affine():
            hits.append(Fn("eq", (Var(away), Num(0, "int")), "bool"))
    return hits


def _moved(value: Value, point: Mapping[str, Affine]) -> Value:
    match value:
        case Var():
            return Var(value.value.subst(point))
        case Read():
            return _read(value, point)
        case Fn():
            return Fn(value.fn, tuple(_moved(a, point) for a in value.args), value.kind)
        case Num() | Acc():
            return value


def _read(read: Read, point: Mapping[str, Affine]) -> Read:
    def moved(at: At) -> At:
        return At(at.base.subst(point), None if at.via is None else _read(at.via, point), at.scale)

    return Read(read.tensor, tuple(moved(at) for at in read.at))
