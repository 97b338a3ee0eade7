"""A statement of several pieces as statements of one piece each, for sections that run side by side in one phase.

All stores of a phase into a tensor make its next version together, so the parts of a concatenation, or the halves of a
rotation, are sections of their own: each stores its part, and the phase stores the whole. Two calls of a phase must not
write into one granule of memory, so parts must lie granules apart. Pieces that interleave along the columns stay
together (`select.maps`). Each part is planned for its share of the sites, lest they not fit. Parts that do not fit so
are made otherwise before (`select.staging`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from spatial.ir.graph import Statement
from spatial.numerics import precision
from spatial.select.emit import Misfit
from spatial.select.maps import interleaved
from spatial.select.pieces import Placed, Stored, place_piece
from spatial.target import Target


def parts_of(statement: Statement, stored: dict[int, Stored], target: Target) -> tuple[Statement, ...]:
    """The statement itself where one section makes it, else a statement for each piece, in order.

    Raises `Misfit` where the pieces are written at guarded or run-time places, share granules of memory, or are more
    than fit side by side.
    """
    if len(statement.pieces) == 1 or any(p.accs for p in statement.pieces):
        return (statement,)
    out = stored[statement.out]
    placed = [place_piece(p, out, stored) for p in statement.pieces]
    if len(placed) <= target.tile[1] and interleaved(placed):
        return (statement,)
    if any(p.piece.guards or any(a.via is not None for a in p.pos) for p in placed):
        raise Misfit(
            "the parts of a tensor are written at places known only when the program runs",
            "sections of one phase store parts that are proved disjoint",
            "write each part in a statement of its own",
        )
    share(target, len(placed))
    unit = max(1, target.memory.granule // precision(out.prec).bytes)
    for one, other in combinations(placed, 2):
        if not _apart(one, other, unit):
            raise Misfit(
                "the parts of a tensor meet inside a granule of memory",
                f"each part is a section's own, and a write covers {target.memory.granule} bytes of a row whole",
                f"let each part begin at a multiple of {unit} along the last axis, or write it to a tensor of its own",
            )
    return tuple(replace(statement, pieces=(p,)) for p in statement.pieces)


def share(target: Target, parts: int) -> Target:
    """The target with as many sites as each of `parts` sections may take for all to fit into one phase.

    A share is a band of rows, or of columns where there are fewer rows than parts; placed one after the other at the
    first free spot, bands always fit. Raises `Misfit` where there are fewer of either.
    """
    if parts <= target.rows:
        return replace(target, rows=target.rows // parts)
    if parts <= target.columns:
        return replace(target, columns=target.columns // parts)
    raise Misfit(
        f"a tensor is made of {parts} parts, more than the chip has rows or columns of sites",
        "the parts are sections of one phase, each on sites of its own",
        "join the parts a few at a time, or write each to a tensor of its own",
    )


def _apart(one: Placed, other: Placed, unit: int) -> bool:
    """Whether on some axis the two positions have no place in common; columns are counted in granules of `unit`."""
    for axis, size in enumerate((1, 1, unit)):
        a, b = one.pos[axis].base, other.pos[axis].base
        if a.coef("b") != b.coef("b"):
            continue
        if not _along(one, axis, size) & _along(other, axis, size):
            return True
    return False


def _along(placed: Placed, axis: int, size: int) -> set[int]:
    """The places along one axis that a piece writes, in runs of `size`, instance 0's."""
    form = placed.pos[axis].base
    found: Sequence[int] | set[int] = (form.const,)
    for var in placed.par_vars():
        stride = form.coef(f"v{var}")
        if stride:
            found = {at + stride * n for at in found for n in range(placed.extents[var])}
    return {at // size for at in found}
