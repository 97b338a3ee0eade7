"""Templates of row reductions (sum, product, max, min) and arg-max.

Pages of the reduced values stream past an accumulator page, lane by lane; at the end of an item the lanes along the
reduced side are folded in the page. Lanes beyond the extent, and terms whose guard fails, take part as the identity.

Each row is reduced by itself, so that how many rows a page has changes no result. Pages have fewer of them where else
most sites of the chip would have no item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import prod

from spatial.graph.ranges import range_of_value
from spatial.ir.affine import Affine
from spatial.ir.body import Cell, Coord, Expr, InPort, Lanes, Op, OutPort, Page, State
from spatial.ir.graph import Acc, Fn, Num, Read, Reduction, Statement, Value, Var
from spatial.numerics import int_range
from spatial.select.emit import Emitter, Misfit, Nest, Ports, Template, compute, constant
from spatial.select.granules import keeps_order, shared_along
from spatial.select.lanes import Lane, coefs, ends_with, page_read
from spatial.select.pieces import Placed, Stored, place_piece, reads_of
from spatial.select.spine import emit_spine
from spatial.select.values import MANY, Speller, within
from spatial.select.views import divisor_tile
from spatial.target import Target

FOLDS = {"sum": "add", "max": "max", "min": "min"}
"""The elementwise operation that folds one term in; a product of lanes is folded with `mul` page by page."""


def reduction_template(
    statement: Statement, stored: dict[int, Stored], target: Target, bounded: bool = False
) -> Template:
    """The template of one piece with one reduction; raises `Misfit` where it has another form."""
    if len(statement.pieces) != 1 or len(statement.pieces[0].accs) != 1 or statement.pieces[0].guards:
        raise Misfit("a statement with several reductions, parts or guards", "a section holds one reduction")
    out = stored[statement.out]
    placed = place_piece(statement.pieces[0], out, stored)
    acc = placed.piece.accs[0]
    row, col, row_red, col_red = choose_lanes(placed, out, target.tile)
    if col_red and not row_red and all(stored[r.tensor].layout != "q8_0" for r in placed.reads):
        row = rows_apart(placed, row, target.sites)
    if acc.op == "product" and (row_red or col_red):
        row, row_red = (Lane(), False) if row_red else (row, row_red)
        col, col_red = (Lane(), False) if col_red else (col, col_red)
    kept_row, kept_col = Lane() if row_red else row, Lane() if col_red else col
    nest = Nest(row, col, whole=shared_along(placed, kept_col, out, target))
    for var in placed.par_vars():
        if var not in (row.var, col.var):
            nest.axis(var, placed.extents[var])
    if not row_red:
        nest.side(row, False)
    if not col_red:
        nest.side(col, False)
    for var in placed.red_vars():
        if var == row.var or var == col.var:
            nest.side(row if var == row.var else col, True)
        else:
            nest.loop(var, placed.extents[var])
    e = Emitter(target, stored, nest, bounded)
    inside = in_extent(e, row if row_red else Lane(), col if col_red else Lane())
    fold = emit_arg if acc.arg is not None else emit_fold
    queue, shape = fold(e, placed, acc, inside, (row_red, col_red))
    post = Ports(e)
    result = post.port(queue, nest.done)
    speller = Speller(e, placed, post, kept_row, kept_col, {0: result})
    if acc.init is not None:
        result_of = Op({"product": "mul"}.get(acc.op, FOLDS.get(acc.op, "add")), (speller.spell(acc.init), result))
        speller.accs = {0: result_of}
    value = within(e, speller.spell(placed.piece.value), out, statement)
    made = emit_spine(e, post, value, shape, out.prec, nest.done)
    e.store(statement.out, placed.pos, made, None)
    return e.finish("argmax" if acc.arg is not None else "reduction")


def choose_lanes(placed: Placed, out: Stored, tile: tuple[int, int]) -> tuple[Lane, Lane, bool, bool]:
    """(row, column, row reduced?, column reduced?): the largest pages under which reads and result are pageable."""
    best: tuple[int, Lane, Lane, bool, bool] | None = None
    live = [None, *placed.par_vars(), *placed.red_vars()]
    told = [v for acc in placed.piece.accs for v in (acc.value, *acc.guards, acc.arg) if v is not None]
    terms = [r for value in told for r in reads_of(value)]
    for rv, cv in product(live, repeat=2):
        if rv == cv and rv is not None:
            continue
        row_red, col_red = (v is not None and v >= placed.par for v in (rv, cv))
        row, col = side(placed, out, 1, rv, tile[0]), side(placed, out, 2, cv, tile[1])
        if row is None or col is None:
            continue
        kept = (Lane() if row_red else row, Lane() if col_red else col)
        after = [r for r in placed.reads if r not in terms]
        if not all(page_read(placed.reads[r], row, col) for r in terms):
            continue
        if page_read(placed.pos, *kept) is None or not all(page_read(placed.reads[r], *kept) for r in after):
            continue
        score = row.tile * col.tile
        if best is None or score > best[0]:
            best = (score, row, col, row_red, col_red)
    if best is None:
        raise Misfit("the accesses of this reduction share no page", "no choice of lanes faces them all")
    return best[1], best[2], best[3], best[4]


def rows_apart(placed: Placed, row: Lane, sites: int) -> Lane:
    """The lane of rows with the most rows a page, in equal parts of it, whose items keep more than half of the sites
    busy; one row where none do. Beyond that, more items are more waiting for the memory than they are sites."""
    if row.var is None:
        return row
    others = prod(placed.extents[v] for v in placed.par_vars() if v != row.var)
    parts = (replace(row, tile=t) for t in range(row.tile, 1, -1) if row.tile % t == 0)
    return next((lane for lane in parts if 2 * others * lane.pages > sites), replace(row, tile=1))


def side(placed: Placed, out: Stored, axis: int, var: int | None, most: int) -> Lane | None:
    """The lane of `var` along rows (axis 1) or columns (axis 2), or None where the result forbids it."""
    if var is None:
        return Lane()
    extent = placed.extents[var]
    if var >= placed.par:
        return Lane(var, min(extent, most), extent)
    want = (0, 1, 0) if axis == 1 else (0, 0, 1)
    if coefs(placed.pos, var) != want or not keeps_order(placed, var):
        return None
    whole = ends_with(placed.pos[axis], var, extent, out.view.shape[axis])
    return Lane(var, min(extent, most) if whole else divisor_tile(extent, most), extent)


def in_extent(e: Emitter, row: Lane, col: Lane) -> list[Expr]:
    """Conditions under which a reduced lane lies within its variable's extent; none where pages fit exactly."""
    out: list[Expr] = []
    for lane, letter in ((row, "r"), (col, "c")):
        if lane.var is not None and lane.extent % lane.tile:
            shape = (lane.tile, 1) if letter == "r" else (1, lane.tile)
            at = e.nest.bases[f"v{lane.var}"] + Affine.sym(letter)
            out.append(Op("lt", (Coord(at, shape), constant(lane.extent, "int"))))
    return out


def kind_of_value(value: Value, stored: dict[int, Stored]) -> str:
    """Whether a value is an "int" or a "float"."""
    match value:
        case Num() | Fn():
            return value.kind
        case Var():
            return "int"
        case Read():
            return "int" if stored[value.tensor].is_int else "float"
        case Acc():
            return "float"


def identity(e: Emitter, placed: Placed, acc: Reduction, op: str, kind: str) -> float | int:
    """A value that leaves a reduction as it is: an integer extremum starts beyond all its terms, and no nearer than
    where it is to start, which stands where no term takes part."""
    if op == "sum":
        return 0.0 if kind == "float" else 0
    if op == "product":
        return 1.0 if kind == "float" else 1
    if kind == "float":
        return float("-inf") if op == "max" else float("inf")
    least, most = int_range(e.target.vector.int)
    least, most = max(least, -LARGEST), min(most, LARGEST)
    ranges = {n: t.range for n, t in e.tensors.items() if t.is_int and t.range is not None}
    known = ranges.get(acc.value.tensor) if isinstance(acc.value, Read) else None
    if known is None:
        return least if op == "max" else most
    low, high = known[0] - 1, known[1] + 1
    if acc.init is not None:
        start = range_of_value(acc.init, placed.piece, ranges, MANY) or (least, most)
        low, high = min(low, start[0]), max(high, start[1])
    return max(least, low) if op == "max" else min(most, high)


LARGEST = (1 << 62) - 1
"""The largest integer an artifact names; the proof of integers refuses an extremum of larger ones."""


def terms(
    e: Emitter, placed: Placed, acc: Reduction, value: Value, off: float | int, kind: str, inside: list[Expr]
) -> tuple[str, int]:
    """Emit the stream of masked terms; gives (queue, depth)."""
    nest = e.nest
    ports = Ports(e)
    speller = Speller(e, placed, ports, nest.row, nest.col)
    expr = speller.spell(value)
    masks = [*inside, *(speller.spell(g) for g in acc.guards)]
    if masks:
        cond = masks[0]
        for m in masks[1:]:
            cond = Op("and", (cond, m))
        expr = Op("select", (cond, expr, constant(off, kind)))
    depth = len(nest.loops)
    form = e.target.vector.float if kind == "float" else e.target.vector.int
    return emit_spine(e, ports, expr, (nest.row.tile, nest.col.tile), form, depth), depth


def folded(value: Expr, op: str, red: tuple[bool, bool]) -> Expr:
    """The lanes of a page folded along the reduced sides."""
    if red[1]:
        value = Lanes(op, "cols", value)
    return Lanes(op, "rows", value) if red[0] else value


def emit_fold(
    e: Emitter, placed: Placed, acc: Reduction, inside: list[Expr], red: tuple[bool, bool]
) -> tuple[str, tuple[int, int]]:
    """A reduction of one stream into one accumulator page; gives the queue of the folded pages and their shape."""
    kind = kind_of_value(acc.value, dict(e.tensors))
    off = identity(e, placed, acc, acc.op, kind)
    queue, depth = terms(e, placed, acc, acc.value, off, kind, inside)
    form = e.page_of(queue).prec
    page = (e.nest.row.tile, e.nest.col.tile)
    shape = (1 if red[0] else page[0], 1 if red[1] else page[1])
    done = e.nest.done
    state = State("acc", page, form, done, off, depth, Op({"product": "mul", **FOLDS}[acc.op], (Cell(0), Page(0))))
    out = e.queue("r", shape, form)
    ports = Ports(e, [InPort(queue, depth)])
    value = folded(Cell(0), acc.op, red)
    compute(e, "reduce", "generic", depth, ports, (OutPort(out, done, (), value),), (state,))
    return out, shape


@dataclass(frozen=True)
class Place:
    """A place that an arg-max gives: a form of the coordinates, and what a table may add to it."""

    form: Affine
    low: int = 0
    high: int = 0


def place_of(e: Emitter, arg: Value) -> Place | None:
    """The place that `arg` is; None where it is none, or what a table adds has no known range."""
    match arg:
        case Var(form):
            return Place(form)
        case Fn("add", (Var(form), Read(tensor))) if (told := e.tensors[tensor].range) is not None:
            return Place(form, *told)
        case _:
            return None


def ascends(placed: Placed, form: Affine, reach: int) -> bool:
    """Whether a form grows along the reduced variables in the order the terms are met, each step by more than
    `reach`."""
    for var in reversed(placed.red_vars()):
        coef = form.coef(f"v{var}")
        if coef <= reach:
            return False
        reach += coef * (placed.extents[var] - 1)
    return all(s != "b" and int(s[1:]) >= placed.par for s in form.symbols)


def emit_arg(
    e: Emitter, placed: Placed, acc: Reduction, inside: list[Expr], red: tuple[bool, bool]
) -> tuple[str, tuple[int, int]]:
    """An arg-max or arg-min: two accumulators, the best value and its argument, updated together, folded together."""
    kind = kind_of_value(acc.value, dict(e.tensors))
    least = acc.op.startswith("argmin")
    off = identity(e, placed, acc, "min" if least else "max", kind)
    form = e.target.vector.float if kind == "float" else e.target.vector.int
    place = None if acc.arg is None else place_of(e, acc.arg)
    if place is None or acc.arg is None:
        raise Misfit("an arg-max of something other than a position", "its ties are decided by position")
    form_of_place = placed.form(place.form)
    if not ascends(placed, form_of_place, place.high - place.low):
        why = "its ties are decided by position, and the loops do not count the position up"
        raise Misfit("an arg-max over loops in another order", why, "write the loops so that the position grows")
    values, depth = terms(e, placed, acc, acc.value, off, kind, inside)
    ports = Ports(e, [InPort(values, depth)])
    arg = Speller(e, placed, ports, e.nest.row, e.nest.col).spell(acc.arg)
    page, index = (e.nest.row.tile, e.nest.col.tile), e.target.vector.int
    term, best = Page(0), Cell(0)
    pair = (term, best) if least else (best, term)
    last = acc.op.endswith("last")
    better: Expr = Op("le" if last else "lt", pair)
    if last:  # a term left out equals the identity, which `le` would let win
        guards = [Speller(e, placed, ports, e.nest.row, e.nest.col).spell(g) for g in acc.guards]
        for condition in (*inside, *guards):
            better = Op("and", (condition, better))
    start, end = form_of_place.bounds({f"v{v}": (0, placed.extents[v] - 1) for v in placed.red_vars()})
    start, end = start + place.low, end + place.high
    done = e.nest.done
    states = (
        State("best", page, form, done, off, depth, Op("select", (better, term, best))),
        State("arg", page, index, done, start, depth, Op("select", (better, arg, Cell(1)))),
    )
    fold = "min" if least else "max"
    same = Op("eq", (best, folded(best, fold, red)))
    choice = Op("select", (same, Cell(1), constant(start if last else end, "int")))
    shape = (1 if red[0] else page[0], 1 if red[1] else page[1])
    out = e.queue("r", shape, index)
    value = folded(choice, "max" if last else "min", red)
    compute(e, "reduce", "generic", depth, ports, (OutPort(out, done, (), value),), states)
    return out, shape
