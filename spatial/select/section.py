"""Which template a statement gets, and the refusal where none takes it."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spatial.ir.graph import Statement
from spatial.numerics import Q8_BLOCK
from spatial.select.emit import Misfit, Template
from spatial.select.maps import map_template
from spatial.select.pieces import Stored, piece_reads
from spatial.select.products import is_product, product_template
from spatial.select.reductions import reduction_template
from spatial.target import Target


def select(statement: Statement, stored: dict[int, Stored], target: Target, bounded: bool = False) -> Template:
    """The section template of one statement.

    A sum of products goes to the matrix datapath where its accesses and formats fit there, else to the elementwise one
    as a plain reduction. `bounded`: coordinates are kept in the statement's box where pages hang over it, so that
    integers made of them are no larger than the statement's. Raises `Misfit` with the reasons of every family tried,
    each once.
    """
    _bounded(statement)
    target = _paged_in_blocks(statement, stored, target)
    if not any(p.accs for p in statement.pieces):
        return map_template(statement, stored, target, bounded)
    if not is_product(statement):
        return reduction_template(statement, stored, target, bounded)
    try:
        return product_template(statement, stored, target, bounded)
    except Misfit as first:
        try:
            return reduction_template(statement, stored, target, bounded)
        except Misfit as second:
            raise Misfit(tuple(dict.fromkeys((*first.problems, *second.problems)))) from second


MOST_POINTS = 1 << 53
"""Points of a box of one statement, as many as places are counted exactly."""


def _bounded(statement: Statement) -> None:
    """Refuses a box that no run comes to the end of, before anything is planned for it."""
    for piece in statement.pieces:
        points = prod(piece.par) * prod(piece.red)
        if points >= MOST_POINTS:
            raise Misfit(
                f"a statement of {points} iterations",
                f"what a chip counts ends at {MOST_POINTS}, and no run would end",
                "let its loops have fewer iterations",
            )


def _paged_in_blocks(statement: Statement, stored: dict[int, Stored], target: Target) -> Target:
    """The target, with pages of at most one block each way where a table stored Q8_0 is read.

    A page's scales are one row: a page of several blocks would take the first block's scales for all.
    """
    tables = {read.tensor for piece in statement.pieces for read in piece_reads(piece)}
    if all(stored[t].layout != "q8_0" for t in tables):
        return target
    lacking = [form for form in ("i8", "f16") if form not in target.vector.holds]
    if lacking:
        raise Misfit(
            "a weight stored Q8_0 is i8 values and f16 scales",
            f"the vector datapath of the chip holds no {' and no '.join(lacking)}",
            "store the weight unquantised",
        )
    rows, columns = target.tile
    if min(rows, columns) < Q8_BLOCK:
        raise Misfit(
            f"a weight stored Q8_0 is read in blocks of {Q8_BLOCK} values",
            f"the largest page of the chip is {rows} x {columns}",
            "store the weight unquantised",
        )
    return replace(target, tile=(Q8_BLOCK, Q8_BLOCK))
