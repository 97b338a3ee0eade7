"""Templates of products: a sum of products of two tables, over pages of both, with what follows it on the result.

Which table feeds the rows and which the columns of the result, plain or transposed, is read off the accesses. A
table stored Q8_0 is read as stored where the result has one row (int8 pages multiplied, each block's partial sum times
its scales), else dequantised page by page on the way in. A guard becomes a select on the operand pages it depends
on, for zero times infinity is not zero; what only some rows of a page leave out is left to zeros of the rows' side, so
that the other table must be finite there (`docs/sections.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Cell, Convert, InPort, Matmul, Op, OutPort, Page, State
from spatial.ir.graph import Acc, Fn, Num, Read, Statement, Value, Var
from spatial.numerics import Q8_BLOCK, narrowest, precision
from spatial.select.emit import Emitter, Misfit, Nest, Ports, Template, compute, constant
from spatial.select.granules import shared_along
from spatial.select.lanes import Lane, PageRead, coefs, ends_with, page_read, via_uses
from spatial.select.maps import guard_vars, row_mask
from spatial.select.pieces import Placed, Stored, place_piece, reads_of, symbols_of
from spatial.select.reductions import side
from spatial.select.spine import emit_spine
from spatial.select.values import Speller
from spatial.select.views import divisor_tile
from spatial.target import Target


@dataclass(frozen=True)
class Roles:
    """How a product meets the page product: lanes m, n, k, the table of each side, and whether b's pages lie (n, k)."""

    m: Lane
    n: Lane
    k: Lane
    a: Read
    b: Read
    transpose_b: bool


def factors(value: Value) -> tuple[Read, Read] | None:
    """The two tables whose product a term is, or None."""
    match value:
        case Fn(fn="mul", args=(Read() as x, Read() as y)):
            return x, y
        case _:
            return None


def is_product(statement: Statement) -> bool:
    """Whether the statement is one sum of products of two tables, some variable of the result running along only one.

    Where none does (a dot product, a sum of squares) nothing is used twice: that is a reduction.
    """
    if len(statement.pieces) != 1 or len(statement.pieces[0].accs) != 1:
        return False
    piece = statement.pieces[0]
    pair = factors(piece.accs[0].value)
    if piece.accs[0].op != "sum" or piece.accs[0].init is not None or pair is None:
        return False
    a, b = ({s for at in read.at for s in at.base.symbols} for read in pair)
    return any((f"v{n}" in a) != (f"v{n}" in b) for n, extent in enumerate(piece.par) if extent > 1)


def find_roles(placed: Placed, out: Stored, stored: Mapping[int, Stored], tile: tuple[int, int]) -> Roles | None:
    """The roles with the largest pages, or None where the accesses fit no page product."""
    pair = factors(placed.piece.accs[0].value)
    if pair is None:
        return None
    guarded = guard_vars(placed)
    best: tuple[tuple[int, ...], Roles] | None = None
    for a, b in (pair, pair[::-1]):
        pa, pb = placed.reads[a], placed.reads[b]
        in_a = {v for v in placed.par_vars() if any(coefs(pa, v))}
        in_b = {v for v in placed.par_vars() if any(coefs(pb, v))}
        for kv, mv, nv in product(placed.red_vars(), [None, *sorted(in_a - in_b)], [None, *sorted(in_b - in_a)]):
            m, n = side(placed, out, 1, mv, tile[0]), side(placed, out, 2, nv, tile[1])
            if m is None or n is None or nv in guarded or page_read(placed.pos, m, n) is None:
                continue
            if via_uses(pa, nv) or via_uses(pb, mv):
                continue  # one page of a table serves all the lanes that it has not
            k = reduced_lane(placed, kv, (a, b), stored, tile[1])
            read_a, read_b = page_read(pa, m, k), page_read(pb, k, n)
            if read_a is None or read_b is None or not (any(coefs(pa, kv)) and any(coefs(pb, kv))):
                continue
            if not _post_pageable(placed, m, n):
                continue
            rank = (m.tile * n.tile * k.tile, n.tile, -int(read_a.transposed))
            if best is None or rank > best[0]:
                best = (rank, Roles(m, n, k, a, b, read_b.transposed))
    return best and best[1]


def _post_pageable(placed: Placed, m: Lane, n: Lane) -> bool:
    return all(page_read(placed.reads[r], m, n) is not None for r in reads_of(placed.piece.value))


def reduced_lane(placed: Placed, var: int, tables: tuple[Read, Read], stored: Mapping[int, Stored], most: int) -> Lane:
    """The lane of the reduced variable: overhanging only where both tables end, so that what overhangs is zero."""
    extent = placed.extents[var]
    whole = True
    for read in tables:
        places, shape = placed.reads[read], stored[read.tensor].view.shape
        axis = next((x for x in (1, 2) if coefs(places, var)[x]), 0)
        whole = whole and axis > 0 and ends_with(places[axis], var, extent, shape[axis])
    if any(stored[r.tensor].layout == "q8_0" for r in tables) and extent % Q8_BLOCK == 0:
        return Lane(var, Q8_BLOCK, extent)
    return Lane(var, min(extent, most) if whole else divisor_tile(extent, most), extent)


def product_template(
    statement: Statement, stored: dict[int, Stored], target: Target, bounded: bool = False
) -> Template:
    """The template of a product; raises `Misfit` where it is none that the matrix datapath computes."""
    out = stored[statement.out]
    placed = place_piece(statement.pieces[0], out, stored)
    roles = find_roles(placed, out, stored, target.tile)
    if roles is None:
        raise Misfit("no choice of rows, columns and reduced lanes faces both tables of this product")
    nest = Nest(roles.m, roles.n, whole=shared_along(placed, roles.n, out, target))
    lanes = {roles.m.var, roles.n.var, roles.k.var}
    for var in placed.par_vars():
        if var not in lanes:
            nest.axis(var, placed.extents[var])
    nest.side(roles.m, False)
    nest.side(roles.n, False)
    for var in placed.red_vars():
        if var != roles.k.var:
            nest.loop(var, placed.extents[var])
    nest.side(roles.k, True)
    e = Emitter(target, stored, nest, bounded)
    acc = emit_product(e, placed, roles)
    post = Ports(e)
    speller = Speller(e, placed, post, roles.m, roles.n, {0: post.port(acc, nest.done)})
    made = emit_spine(e, post, speller.spell(placed.piece.value), (roles.m.tile, roles.n.tile), out.prec, nest.done)
    mask = None
    if placed.piece.guards:
        mask = row_mask(e, placed)
    e.store(statement.out, placed.pos, made, mask)
    return e.finish("product")


def emit_product(e: Emitter, placed: Placed, roles: Roles) -> str:
    """Emit loads, masks, conversions and the page product; gives the queue of finished sums."""
    stored_b = e.tensors[roles.b.tensor]
    ints = stored_b.is_int or e.tensors[roles.a.tensor].is_int
    form = e.target.matrix.int_accumulate if ints else e.target.matrix.float_accumulate
    depth = len(e.nest.loops)
    shape = (roles.m.tile, roles.n.tile)
    # Partial sums can be scaled where a block's values are summed: blocks along the reduced lane, not along columns.
    as_stored = stored_b.layout == "q8_0" and roles.m.tile * roles.m.pages == 1 and not roles.transpose_b
    a = operand(e, placed, roles, roles.a, ints)
    scale = None
    if as_stored:
        b, scale = stored_planes(e, placed, roles)
    else:
        b = operand(e, placed, roles, roles.b, ints)
    acc = e.queue("acc", shape, form)
    zero = 0 if ints else 0.0
    update = Op("add", (Cell(0), Matmul(Page(0), Page(1), roles.transpose_b)))
    ports = Ports(e, [InPort(a, depth), InPort(b, depth)])
    done = e.nest.done
    at = depth if as_stored else done
    compute(
        e,
        "product",
        "matmul",
        depth,
        ports,
        (OutPort(acc, at, (), Cell(0)),),
        (State("acc", shape, form, at, zero, depth, update),),
    )
    if scale is None:
        return acc
    total = e.queue("sum", shape, form)
    term = Op("mul", (Page(0), Page(1)))
    ports = Ports(e, [InPort(acc, depth), InPort(*scale)])
    state = State("sum", shape, form, done, 0.0, depth, Op("add", (Cell(0), term)))
    compute(e, "scale", "generic", depth, ports, (OutPort(total, done, (), Cell(0)),), (state,))
    return total


def stored_planes(e: Emitter, placed: Placed, roles: Roles) -> tuple[str, tuple[str, int]]:
    """Queues of a Q8_0 table's pages as stored: values made floats, exactly; scales with the depth they move at."""
    places = placed.reads[roles.b]
    read = page_read(places, roles.k, roles.n)
    if read is None:
        raise Bug("a product's table lost its page")
    values, depth = e.load(roles.b.tensor, places, read.page, "q", "values")
    scales = e.load(roles.b.tensor, places, scale_page(read), "s", "scales")
    ports = Ports(e)
    form = float_form(e.target)
    value = Convert(form, ports.port(values, depth))
    return emit_spine(e, ports, value, read.page, form, len(e.nest.loops)), scales


def scale_page(read: PageRead) -> tuple[int, int]:
    """The page of scales that goes with a page of values: one row a block."""
    return 1, read.page[1]


def operand(e: Emitter, placed: Placed, roles: Roles, which: Read, ints: bool) -> str:
    """The queue of one side's pages as the matrix datapath takes them: dequantised, masked, converted as they need."""
    first = which is roles.a
    row, col = (roles.m, roles.k) if first else (roles.k, roles.n)
    turned = roles.transpose_b and not first
    if turned:
        row, col = col, row
    stored = e.tensors[which.tensor]
    depth = len(e.nest.loops)
    ports = Ports(e)
    speller = Speller(e, placed, ports, row, col)
    value = speller.spell(which)
    for guard in placed.piece.accs[0].guards:
        condition = guard_for(placed, guard, which, roles, first)
        if condition is not None:
            off = constant(0, "int" if ints else "float")
            value = Op("select", (speller.spell(condition), value, off))
    form = operand_form(e, stored, ints)
    return emit_spine(e, ports, value, (row.tile, col.tile), form, depth)


def float_form(target: Target) -> str:
    """The format computed floats enter the matrix datapath in: the vector datapath's own, else the widest it takes."""
    floats = target.matrix.floats
    return target.vector.float if target.vector.float in floats else max(floats, key=lambda f: precision(f).bits)


def operand_form(e: Emitter, stored: Stored, ints: bool) -> str:
    """The format a side's pages enter the matrix datapath in; refuses integers it has no format for."""
    matrix = e.target.matrix
    if not ints:
        return stored.prec if stored.prec in matrix.floats else float_form(e.target)
    form = narrowest(stored.range, matrix.ints) if stored.range else None
    if not stored.is_int or form is None:
        raise Misfit(
            "a product of integers wider than the matrix datapath takes",
            f"it multiplies {', '.join(matrix.ints)} and a table here is proved to hold {stored.range}",
            "declare a narrower range, or use a target with wider integers",
        )
    return form


def guard_for(placed: Placed, guard: Value, which: Read, roles: Roles, first: bool) -> Value | None:
    """The condition a guard puts on one side's pages.

    Exact where the guard depends on nothing the side lacks. Else, on the columns' side only, the weakest condition over
    the rows of a page: rows beyond it are masked here, the rest by the other side alone.
    """
    other = roles.n if first else roles.m
    if other.var is None or f"v{other.var}" not in symbols_of(guard, placed):
        return guard
    if first:
        raise Misfit(
            "a guarded product whose condition depends on the column of the result",
            "the first table's pages serve every column",
            "write the guard over the row and the reduced index",
        )
    return weakest(guard, f"v{other.var}", other, placed)


def weakest(guard: Value, var: str, lane: Lane, placed: Placed) -> Value | None:
    """The guard with lane variable `var` put to whatever end of its page lets most through; None where that is
    unclear."""
    if not (isinstance(guard, Fn) and guard.fn in ("lt", "le")):
        return None
    low, high = (_pushed(a, var, lane, placed, up) for a, up in zip(guard.args, (False, True), strict=True))
    return None if low is None or high is None else Fn(guard.fn, (low, high), "bool")


def _pushed(value: Value, var: str, lane: Lane, placed: Placed, up: bool) -> Value | None:
    """The value with the lane part of `var` at the page's end that makes it largest (`up`) or smallest."""
    match value:
        case Var():
            coef = value.value.coef(var)
            if not coef or (coef > 0) != up:
                return value
            end = Fn("add", (value, Num(coef * (lane.tile - 1), "int")), "int")
            if lane.extent % lane.tile == 0:
                return end
            last = Var(value.value.subst({var: Affine(lane.extent - 1)}))  # the last page overhangs
            return Fn("min" if up else "max", (end, last), "int")
        case Fn(fn="add"):
            parts = [_pushed(a, var, lane, placed, up) for a in value.args]
            return None if None in parts else Fn("add", tuple(p for p in parts if p is not None), value.kind)
        case Fn(fn="sub"):
            x, y = (_pushed(a, var, lane, placed, u) for a, u in zip(value.args, (up, not up), strict=True))
            return None if x is None or y is None else Fn("sub", (x, y), value.kind)
        case Read() if var in symbols_of(value, placed):
            return None  # which row's is the greatest is not known before
        case Num() | Acc() | Read():
            return value
        case _:
            return None
