"""Templates of maps: gathers, elementwise expressions, rotary pairs, writes into state.

A map's pages are pages of its result. Pieces that interleave along the columns (position n * v + j) make one section
that computes every piece and selects by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from spatial.ir.affine import Affine
from spatial.ir.body import Convert, Coord, Expr, Op, OutPort
from spatial.ir.graph import Statement
from spatial.select.emit import Emitter, Misfit, Nest, Ports, Template, compute, constant
from spatial.select.granules import keeps_order, shared_along
from spatial.select.lanes import Lane, coefs, ends_with, page_read, via_uses
from spatial.select.pieces import Placed, Stored, place_piece, symbols_of
from spatial.select.spine import emit_spine
from spatial.select.values import Speller, within
from spatial.select.views import divisor_tile
from spatial.target import Target


def map_template(statement: Statement, stored: dict[int, Stored], target: Target, bounded: bool = False) -> Template:
    """The template of a statement without reductions; raises `Misfit` where its pieces cannot be one section."""
    out = stored[statement.out]
    placed = [place_piece(p, out, stored) for p in statement.pieces]
    step = len(placed)
    if step > 1 and not interleaved(placed):
        raise Misfit("the parts of a tensor do not interleave along its last axis", "a map's section writes one box")
    row, col = choose_lanes(placed, out, target.tile, step)
    nest = Nest(row, col, whole=shared_along(placed[0], col, out, target))
    for var in placed[0].par_vars():
        if var not in (row.var, col.var):
            nest.axis(var, placed[0].extents[var])
    nest.side(row, False)
    nest.side(col, False)
    e = Emitter(target, stored, nest, bounded)
    mask = row_mask(e, placed[0])
    ports = Ports(e)
    values = [Speller(e, p, ports, row, col).spell(p.piece.value) for p in placed]
    value = within(e, interleave(values, col) if step > 1 else values[0], out, statement)
    queue = emit_spine(e, ports, value, (row.tile, col.tile), out.prec, nest.done)
    e.store(statement.out, placed[0].pos, queue, mask)
    return e.finish(kind_of(statement, placed))


def kind_of(statement: Statement, placed: Sequence[Placed]) -> str:
    """What a report calls the section: rotary, write, gather or map."""
    if len(placed) > 1:
        return "rotary"
    if statement.over is not None:
        return "write"
    indirect = any(p.via is not None for places in placed[0].reads.values() for p in places)
    return "gather" if indirect else "map"


def interleaved(placed: Sequence[Placed]) -> bool:
    """Whether pieces are one box written at n * v + j, j = 0 … n - 1, along the columns."""
    first, n = placed[0], len(placed)
    bases = [p.pos[2].base - p.pos[2].base.const % n for p in placed]
    return all(
        p.extents == first.extents
        and bases[k] == bases[0]
        and (p.pos[2].via, p.pos[2].scale) == (first.pos[2].via, first.pos[2].scale)
        and p.pos[2].base.const % n == k
        and p.pos[:2] == first.pos[:2]
        and p.piece.guards == first.piece.guards
        for k, p in enumerate(placed)
    )


def interleave(values: Sequence[Expr], col: Lane) -> Expr:
    """The value whose lane c is that of `values[c % n]`."""
    n = len(values)
    lane = Op("mod", (Coord(Affine.sym("c"), (1, col.tile)), constant(n, "int")))
    out = values[-1]
    for j in range(n - 2, -1, -1):
        out = Op("select", (Op("eq", (lane, constant(j, "int"))), values[j], out))
    return out


def row_mask(e: Emitter, placed: Placed) -> str | None:
    """The queue of the store's row mask where the writes are guarded; None where they are not."""
    if not placed.piece.guards:
        return None
    ports = Ports(e)
    speller = Speller(e, placed, ports, e.nest.row, Lane())
    value: Expr = speller.spell(placed.piece.guards[0])
    for guard in placed.piece.guards[1:]:
        value = Op("and", (value, speller.spell(guard)))
    prec, done = e.target.vector.int, e.nest.done
    queue = e.queue("mask", (e.nest.row.tile, 1), prec)
    compute(e, "guard", "generic", done, ports, (OutPort(queue, done, (), Convert(prec, value)),))
    return queue


def choose_lanes(placed: Sequence[Placed], out: Stored, tile: tuple[int, int], step: int) -> tuple[Lane, Lane]:
    """The row and column lanes under which every access of the pieces is pageable and pages are largest."""
    first = placed[0]
    guarded = guard_vars(first)
    best: tuple[int, int, Lane, Lane] | None = None
    for rv, cv in product([None, *first.par_vars()], repeat=2):
        if rv == cv and rv is not None:
            continue
        row, col = out_lane(first, out, 1, rv, tile[0], 1), out_lane(first, out, 2, cv, tile[1], step)
        if row is None or col is None or cv in guarded:
            continue
        if step == 1 and page_read(first.pos, row, col) is None:
            continue
        if step > 1 and (via_uses(first.pos, rv) or via_uses(first.pos, cv)):
            continue
        if all(page_read(pl, row, col) for p in placed for pl in p.reads.values()):
            rank = (row.tile * col.tile, col.tile)
            if best is None or rank > best[:2]:
                best = (*rank, row, col)
    if best is None:
        raise Misfit("the accesses of this map share no page", "no choice of lanes faces them all")
    return best[2], best[3]


def guard_vars(placed: Placed) -> set[int]:
    """The variables the guards of a write depend on: they run along rows or items, for a store masks whole rows."""
    symbols = {s for guard in placed.piece.guards for s in symbols_of(guard, placed)}
    return {v for v in placed.par_vars() if f"v{v}" in symbols}


def out_lane(placed: Placed, out: Stored, axis: int, var: int | None, most: int, step: int) -> Lane | None:
    """The lane of `var` along one axis of the result: strides 1 (`step` where pieces interleave), tile overhanging only

    where the axis ends.
    """
    if var is None:
        return Lane(None, step, 1, step)
    want = [0, 0, 0]
    want[axis] = step
    if coefs(placed.pos, var) != tuple(want) or not keeps_order(placed, var):
        return None
    extent, place = placed.extents[var], placed.pos[axis]
    if step > 1:
        base = place.base - place.base.const
        whole = place.via is None and base == Affine.sym(f"v{var}", step) and extent * step == out.view.shape[axis]
        most_groups = most // step
        tile = min(extent, most_groups) if whole else divisor_tile(extent, most_groups)
        return Lane(var, tile * step, extent, step)
    if ends_with(place, var, extent, out.view.shape[axis]):
        return Lane(var, min(extent, most), extent)
    return Lane(var, divisor_tile(extent, most), extent)
