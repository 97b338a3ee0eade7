"""Which template a statement gets, and the refusal where none takes it."""

from __future__ import annotations

from spatial.ir.graph import Statement
from spatial.select.emit import Misfit, Template
from spatial.select.maps import map_template
from spatial.select.pieces import Stored
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
