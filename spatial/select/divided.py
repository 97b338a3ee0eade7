"""A reduction of few results cut into chunks: its partial results, a chunk an item each, and their reduction.

What a reduction makes of few results keeps few sites busy, however long it is. Cut into chunks, it keeps as many busy
as there are chunks, and what is left are as many terms as chunks.

    m = max of x[k], k < 4096          ->    t[32c + l] = max of x[512c + 32p + l], p < 16      (c < 8, l < 32)
                                             m = max of t[k], k < 256
    a = first k of greatest x[k]       ->    t[c] = max of x[512c + k], k < 512
                                             s[c] = first k of greatest x[512c + k], k < 512
                                             a = first 512c + s[c] of greatest t[c]

Only what is exact in any grouping is cut: extrema, integer sums, first places of extrema. Sums of floats have a pinned
order, of which a chunk's sum is no part. Of the two zeros, which are equal, an extremum is the one met last, lane by
lane; so its chunks keep the lanes of the pages apart, and lanes and folds are those of the whole.

Knows no plan: who asks says how many chunks there are, and whether it pays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt, prod

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Fn, Num, Piece, Read, Reduction, Statement, Value, Var
from spatial.select.pieces import Stored, moved, place_piece
from spatial.select.products import is_product
from spatial.select.reductions import choose_lanes, kind_of_value
from spatial.select.temporaries import Temporaries, identity
from spatial.target import Target

FIRSTS = {"argmax_first": "max", "argmin_first": "min"}
"""The places that may be cut, and the extremum that each is the place of."""


@dataclass(frozen=True)
class Divisible:
    """A reduction that may be cut: over variable `var` alone, of `extent` terms, `lanes` of them on a page.

    `results`: how many values it makes; `kind`: of its terms.
    """

    statement: Statement
    var: int
    extent: int
    lanes: int
    results: int
    kind: str

    @property
    def piece(self) -> Piece:
        """The statement's one piece."""
        return self.statement.pieces[0]

    @property
    def acc(self) -> Reduction:
        """The piece's one reduction."""
        return self.piece.accs[0]

    @property
    def pages(self) -> int:
        """Pages of terms of one result."""
        return -(-self.extent // self.lanes)


def divisible(statement: Statement, stored: dict[int, Stored], target: Target) -> Divisible | None:
    """The statement as a reduction that may be cut, along columns; None where it is none. Blocks of a table stored Q8_0
    are left whole."""
    if len(statement.pieces) != 1 or len(statement.pieces[0].accs) != 1 or is_product(statement):
        return None
    piece = statement.pieces[0]
    kind = kind_of_value(piece.accs[0].value, stored)
    if piece.guards or len(piece.red) != 1 or not _exact(piece.accs[0], len(piece.par), kind):
        return None
    try:
        placed = place_piece(piece, stored[statement.out], stored)
        _, col, row_red, col_red = choose_lanes(placed, stored[statement.out], target.tile)
    except Refused:
        return None
    if row_red or not col_red or any(stored[r.tensor].layout == "q8_0" for r in placed.reads):
        return None
    return Divisible(statement, len(piece.par), piece.red[0], col.tile, prod(piece.par), kind)


def _exact(acc: Reduction, var: int, kind: str) -> bool:
    """Whether the reduction over variable `var` is the same of chunks, chunks without terms among them."""
    if acc.guards and kind == "int" and acc.op != "sum":
        return False  # what a chunk without terms has could be one
    match acc.op:
        case "max" | "min":
            return True
        case "sum":
            return kind == "int"
        case "argmax_first" | "argmin_first":
            return acc.init is None and slope(acc.arg, var) > 0
        case _:
            return False


def slope(arg: Value | None, var: int) -> int:
    """How much a place grows with variable `var`; 0 where it depends on anything else."""
    match arg:
        case Var(form) if form.symbols == (f"v{var}",):
            return form.coef(f"v{var}")
        case _:
            return 0


def chunks_of(found: Divisible, sites: int) -> int:
    """Into how many chunks to cut, less than two where not at all: as many as `sites` work on at once, and as many as
    each has pages: what combines takes a step for each chunk, as a chunk takes one for each page."""
    sections = 2 if found.acc.op in FIRSTS else 1
    most = min(sites // (sections * found.results), isqrt(found.pages)) if found.results else 0
    return -(-found.pages // _length(found, most)) if most else 0


def _length(found: Divisible, chunks: int) -> int:
    """Pages of a chunk, the last one of which may have fewer."""
    return -(-found.pages // chunks)


def cut(found: Divisible, chunks: int, work: Temporaries) -> list[Statement]:
    """The statements of partial results, whose tensors are noted in `work`, and the one that combines them."""
    rest = _places(found, chunks, work) if found.acc.op in FIRSTS else _values(found, chunks, work)
    return [*work.taken(), replace(found.statement, pieces=(rest,))]


def _values(found: Divisible, chunks: int, work: Temporaries) -> Piece:
    """Partial results of each chunk and each lane, then their reduction, lane by lane as it was."""
    var, lanes, acc = found.var, found.lanes, found.acc
    chunk, lane, page = (f"v{var + n}" for n in range(3))
    length = _length(found, chunks)
    at = Affine.of(0, {chunk: length * lanes, page: lanes, lane: 1})
    part = _part(found, acc.op, at, chunks * length * lanes)
    pos = (*identity(var), At(Affine.of(0, {chunk: lanes, lane: 1})))
    dims = (*found.piece.par, chunks * lanes)
    made = work.put(dims, found.kind, Piece((*found.piece.par, chunks, lanes), (length,), pos, Acc(0), (part,)))
    left = Reduction(acc.op, Read(made, identity(var + 1)), (), None, acc.init)
    return replace(found.piece, red=(chunks * lanes,), accs=(left,))


def _places(found: Divisible, chunks: int, work: Temporaries) -> Piece:
    """The extremum of each chunk and its place there, then the first of the extrema."""
    var, acc, arg = found.var, found.acc, found.acc.arg
    assert isinstance(arg, Var)
    length = _length(found, chunks) * found.lanes
    step, terms = slope(arg, var), chunks * length
    at = Affine.of(0, {f"v{var}": length, f"v{var + 1}": 1})
    dims = (*found.piece.par, chunks)
    best = _part(found, FIRSTS[acc.op], at, terms)
    place = replace(_part(found, acc.op, at, terms), arg=Var(Affine.sym(f"v{var + 1}", step)))
    made, told = (
        Read(work.put(dims, kind, Piece(dims, (length,), identity(var + 1), Acc(0), (part,))), identity(var + 1))
        for part, kind in ((best, found.kind), (place, "int"))
    )
    whole = Fn("add", (Var(arg.value.subst({f"v{var}": Affine.sym(f"v{var}", length)})), told), "int")
    return replace(found.piece, red=(chunks,), accs=(Reduction(acc.op, made, (), whole),))


def _part(found: Divisible, op: str, at: Affine, terms: int) -> Reduction:
    """The reduction `op` of the terms at `at`; where chunks have more `terms` than there are, of those there are."""
    change = {f"v{found.var}": at}
    guards = tuple(moved(g, change) for g in found.acc.guards)
    if terms > found.extent:
        guards = (Fn("lt", (Var(at), Num(found.extent, "int")), "bool"), *guards)
    return Reduction(op, moved(found.acc.value, change), guards)
