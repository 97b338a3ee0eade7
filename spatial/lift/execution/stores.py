"""Writes into sequences: items and rows that are set, items and rows that are pushed, each place proved in range."""

from __future__ import annotations

from spatial.errors import Bug
from spatial.lift.algebra.bounds import bounds, is_affine
from spatial.lift.algebra.pieces import made_of_pieces, pieces_of
from spatial.lift.algebra.values import (
    Get,
    Made,
    Node,
    Op,
    Piece,
    Source,
    Start,
    Sym,
    Tensor,
    get,
    int_constant,
    parts,
    plus,
)
from spatial.lift.context.loops import Runner
from spatial.lift.context.state import Cell, NotLifted, Poison, Scope, Seq, Value, whole_of
from spatial.lift.context.writes import grows_late, put, widened
from spatial.logos import syntax
from spatial.logos.syntax import Span


def _root(ex: Runner, place: syntax.Expr, scope: Scope) -> tuple[Cell, list[Node]]:
    """The variable a place belongs to, and the indices into it (from 0), outermost first; all proved."""
    chain: list[syntax.Index] = []
    node = place
    while isinstance(node, syntax.Index):
        chain.append(node)
        node = node.collection
    if not isinstance(node, syntax.Name):
        raise Bug("a place that is no variable's")
    cell = ex.m.lookup(node.name, scope, node.span)
    if isinstance(cell.value, Poison):
        ex.eval.value(node, scope)
    if not isinstance(cell.value, Seq):
        raise NotLifted(f'"{node.name}" is no sequence', "start it as a new Seq", node.span)
    indices: list[Node] = []
    held = cell.held
    assert isinstance(held, Seq)
    for link in reversed(chain):
        here = Seq(held.tensor, (*held.prefix, *indices), held.table)
        indices.append(ex.eval.place(here, ex.eval.index(link.index, scope), link.span))
    return cell, indices


def set_item(ex: Runner, s: syntax.SetItem, scope: Scope) -> None:
    """Writes one item, or one row."""
    cell, indices = _root(ex, s.place, scope)
    ex.m.writable(cell, s.span)
    value = ex.eval.value(s.value, scope)
    held = cell.held
    assert isinstance(held, Seq)
    target = whole_of(held, ex.m.tick(), s.span)
    table = held.table if held.whole else None
    index = _checked(ex, target, table, indices, value, s.span)
    if target.dims is None and ex.m.discovering:
        ex.m.unsure = True
        return  # a copy of a weight: what is read of it goes on telling the shape
    rank = len(target.dims) if target.dims is not None else len(index)
    vars: tuple[Sym, ...] = ()
    if len(index) < rank:
        if not isinstance(value, Seq):
            raise NotLifted("a number is stored where a row stands", "store it in an item of the row", s.span, "write")
        row = ex.m.settled(value, s.span)
        inner = (target.dims or ())[len(index) :]
        if (row.dims is not None and row.dims != inner) or (row.whole and row.tensor.length is not None):
            raise NotLifted(
                "the row stored has another shape than the row it replaces",
                "store a row of the same length, or its items one by one",
                s.span,
                "write",
            )
        if None in inner:
            raise NotLifted("the shape of the row is not known", "write it item by item", s.span, "write")
        vars = tuple(Sym("k", d) for d in inner)
        stored = ex.m.element(row.tensor, (*row.prefix, *vars))
        _learn(ex, stored, row, table, len(index), s.span)
    else:
        stored = ex.m.scalar(value, s.span)
    piece = Piece(vars, (), (*index, *vars), stored)
    made = put(target, piece, ex.m.tick(), s.span, cell.name, ex.m.known())
    cell.span = s.span
    ex.m.assign(cell, Seq(made, (), table))


def _learn(ex: Runner, stored: Node, row: Seq, table: Source | None, depth: int, span: Span) -> None:
    """The shape of a weight whose row is stored, `depth` deep in a table: the row is as long as the one it replaces."""
    if row.dims is None and ex.m.discovering:
        ex.m.unsure = True
    elif row.dims is None:
        raise NotLifted(
            f'the shape of "{row.tensor.name or "the row"}" is not known: nothing but this copy tells it',
            "write the row item by item, in a loop of known bounds",
            span,
            "write",
        )
    number = row.dims is None and table is not None and not table.mode and depth == 1 and not row.whole
    if isinstance(stored, Get) and not number:  # an item stored in a table that may be flat may be a number
        ex.m.note(stored, span)


def _checked(
    ex: Runner, target: Tensor, table: Source | None, indices: list[Node], value: Value, span: Span
) -> tuple[Node, ...]:
    """The indices of a write, proved in range; a flat table's index split over its axes."""
    m = ex.m
    open_ = isinstance(value, Seq) and value.dims is None  # a weight of a shape not known yet: not told
    if table is not None and not open_:
        flat = len(indices) == 1 and not (isinstance(value, Seq) and value.dims != ())
        if flat and table.mode == "nested":
            raise NotLifted(
                f'a number is stored where a row of "{table.name}" stands, which is nested elsewhere',
                "store it in an item of the row; if it is a row itself, copy it item by item",
                span,
                "write",
            )
        m.set_mode(table, "flat" if flat else "nested", span)
        if not flat:
            return _nested(ex, target, indices, span)
        index = m.flat_index(target, tuple(indices), span)
        if any(isinstance(atom, Op) and not is_affine(atom) for i in index for atom, _ in parts(i)[1]):
            raise NotLifted(
                f'"{table.name}" is written as one flat sequence at a place that only a run knows',
                f"index it as deep as it has axes, as in item j of (item i of {table.name})",
                span,
                "write",
            )
        return index
    return _nested(ex, target, indices, span)


def _nested(ex: Runner, target: Tensor, indices: list[Node], span: Span) -> tuple[Node, ...]:
    """The indices of a write, one an axis, proved in range."""
    for axis, index in enumerate(indices):
        if target.dims is not None and axis >= len(target.dims):
            raise NotLifted(
                f'"{target.name}" is indexed deeper than it is nested',
                "use as many indices as it has axes",
                span,
                "write",
            )
        ex.m.demand(index, target, axis, span)
    return tuple(indices)


def push(ex: Runner, expr: syntax.Expr, place: syntax.Expr, scope: Scope, span: Span) -> None:
    """Appends an item or a row."""
    value = ex.eval.value(expr, scope)
    cell, indices = _root(ex, place, scope)
    ex.m.writable(cell, span)
    if indices:
        raise NotLifted("Push to a row of a sequence", "build the row first, then push it whole", span, "write")
    assert isinstance(cell.value, Seq)
    target = whole_of(cell.value, ex.m.tick(), span)
    length = ex.m.length(Seq(target), span)
    old = tuple(target.dims[1:]) if target.dims is not None and target.kind != "none" else None
    pos: tuple[Node, ...] = (length,)
    vars: tuple[Sym, ...] = ()
    inner: tuple[int | None, ...] | None = ()
    if isinstance(value, Seq) and value.dims != ():
        row = ex.m.settled(value, span)
        inner = row.dims
        if row.whole and row.tensor.length is not None:
            raise NotLifted(
                "a row whose length is known only at run time is pushed",
                "push rows of a fixed length", span, "write",
            )  # fmt: skip
        if inner is None or None in inner:
            inner = None
            stored = get(row.tensor, row.prefix)
        else:
            vars = tuple(Sym("k", d) for d in inner)
            stored = ex.m.element(row.tensor, (*row.prefix, *vars))
        pos = (length, *vars)
    else:
        stored = ex.m.scalar(value, span)
    if old is not None and inner is not None and target.dims is not None and old != inner:
        raise NotLifted("rows of different lengths are pushed", "push rows, or numbers, of one shape", span, "write")
    piece = Piece(vars, (), pos, stored)
    cell.span = span
    ex.m.assign(cell, Seq(_grown(ex, target, piece, plus(length, 1), inner, cell.name, span)))


def _grown(
    ex: Runner, target: Tensor, piece: Piece, length: Node, inner: tuple[int | None, ...] | None, name: str, span: Span
) -> Made:
    """The sequence with one more item."""
    n = int_constant(length)
    dims = (n, *inner) if inner is not None else None
    run_time = None if n is not None else length
    order = ex.m.tick()
    if isinstance(target, Made) and grows_late(target) and inner is not None:
        box = None if isinstance(target.base, Start) else bounds(length)[1]
        return put(widened(target, (box, *inner), run_time), piece, order, span, name)
    match target:
        case Start():
            made = Made(name, dims or (), target, (piece,), order, span, run_time)
        case Made() if target.base is None or isinstance(target.base, Start):
            pieces = pieces_of(target).over(piece, dims or ())
            made = made_of_pieces(name, dims or (), target.base, pieces, order, span, run_time)
        case _:
            if target.dims is None or None in target.dims:
                raise NotLifted(
                    f'the shape of "{name}" is not known, so nothing can be pushed to it',
                    "push its items to a new Seq in a loop of known bounds",
                    span,
                    "write",
                )
            vars = tuple(Sym("k", d) for d in target.dims)
            old = Piece(vars, (), vars, get(target, vars))
            made = Made(name, dims or (), None, (old, piece), order, span, run_time)
    if dims is None:
        made.dims = None
    return made
