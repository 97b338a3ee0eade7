"""A statement of several pieces as statements of one piece each, for sections that run side by side in one phase.

All stores of a phase into a tensor make its next version together, so the parts of a concatenation, or the halves of a
rotation, are sections of their own: each stores its part, and the phase stores the whole. Two calls of a phase must not
write into one granule of memory, so parts must lie granules apart. Pieces that interleave along the columns stay
together (`select.maps`). Each part is planned for its share of the sites, lest they not fit. Parts that do not fit so
are made otherwise before (`select.staging`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd, prod

from spatial.ir.graph import Statement
from spatial.numerics import precision
from spatial.select.emit import Misfit
from spatial.select.maps import interleaved
from spatial.select.pieces import Placed, Stored, place_piece
from spatial.target import Target

_COUNTED = 1 << 12
"""Places along an axis that are looked at one by one."""


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
        if _disjoint(_along(one, axis), _along(other, axis), size):
            return True
    return False


@dataclass(frozen=True)
class _Along:
    """The places along one axis that a piece writes, instance 0's: `const` and any sums of (stride, extent)."""

    const: int
    steps: tuple[tuple[int, int], ...]

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest."""
        reach = [stride * (extent - 1) for stride, extent in self.steps]
        return self.const + sum(min(r, 0) for r in reach), self.const + sum(max(r, 0) for r in reach)

    def runs(self, size: int) -> set[int]:
        """All, in runs of `size`."""
        found = {self.const}
        for stride, extent in self.steps:
            found = {at + stride * n for at in found for n in range(extent)}
        return {at // size for at in found}


def _along(placed: Placed, axis: int) -> _Along:
    form = placed.pos[axis].base
    steps = ((form.coef(f"v{var}"), placed.extents[var]) for var in placed.par_vars())
    return _Along(form.const, tuple(s for s in steps if s[0]))


def _disjoint(one: _Along, other: _Along, size: int) -> bool:
    """Whether two pieces have no run of `size` places in common; of many places by their ends and strides alone."""
    (a, b), (c, d) = one.ends, other.ends
    if b // size < c // size or d // size < a // size:
        return True
    step = gcd(*(stride for stride, _ in (*one.steps, *other.steps)))
    if step % size == 0 and step and (one.const // size - other.const // size) % (step // size):
        return True
    if max(prod(extent for _, extent in p.steps) for p in (one, other)) > _COUNTED:
        return False
    return not one.runs(size) & other.runs(size)
