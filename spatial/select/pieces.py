"""A piece of a statement with every access placed on the stored tensors, variables fused where they always stand so.

Two variables a, b that occur in every form as `extent(b) * a + b` are one variable: a head and its element where
heads lie side by side. Fusing them is what lets pages run across what the source spelled as two loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.graph import At, Fn, Piece, Read, Value, Var
from spatial.select.lanes import Places
from spatial.select.views import AxisPlace, View


@dataclass(frozen=True)
class Stored:
    """How a graph tensor is stored on the chip: its name there, view, format, layout and, of integers, its range."""

    name: str
    view: View
    prec: str
    layout: str
    range: tuple[int, int] | None = None

    @property
    def is_int(self) -> bool:
        """Whether it holds integers."""
        return self.prec.startswith("i")


def reads_of(value: Value) -> Iterator[Read]:
    """Every read of a value, index reads included, in order of occurrence."""
    match value:
        case Read():
            yield value
            for at in value.at:
                if at.via is not None:
                    yield from reads_of(at.via)
        case Fn():
            for arg in value.args:
                yield from reads_of(arg)
        case _:
            return


def forms_of(value: Value) -> Iterator[Affine]:
    """Every affine form of a value that is no index: its coordinates."""
    match value:
        case Var():
            yield value.value
        case Fn():
            for arg in value.args:
                yield from forms_of(arg)
        case _:
            return


def values_of(piece: Piece) -> Iterator[Value]:
    """Every value of a piece: its own, its guards, its reductions' parts."""
    yield piece.value
    yield from piece.guards
    for acc in piece.accs:
        yield acc.value
        yield from acc.guards
        if acc.arg is not None:
            yield acc.arg
        if acc.init is not None:
            yield acc.init


def piece_reads(piece: Piece) -> list[Read]:
    """Every distinct read of a piece, indices of its position included, in order of occurrence."""
    found: dict[Read, None] = {}
    for at in piece.pos:
        if at.via is not None:
            found.update(dict.fromkeys(reads_of(at.via)))
    for value in values_of(piece):
        found.update(dict.fromkeys(reads_of(value)))
    return list(found)


def fusable(piece: Piece, extents: Sequence[int], forms: Sequence[Affine]) -> list[tuple[int, int]]:
    """Pairs (a, b) of variables of `extents`, both reduced or both not, that stand in every form as
    `extent(b) * a + b`.

    Where the order of iterations shows (in writes at run-time places, of which the last counts, and in the ties of an
    arg-max), one variable takes them in the order of both only if a is the loop next around b.
    """
    pairs: list[tuple[int, int]] = []
    par = len(piece.par)
    in_order = any(at.via is not None for at in piece.pos), any(acc.arg is not None for acc in piece.accs)
    live = [n for n in range(len(extents)) if extents[n] > 1]
    around = dict(zip(live[1:], live, strict=False))
    for a in live:
        for b in live:
            red = b >= par
            if a == b or (a >= par) != red or (in_order[red] and around.get(b) != a):
                continue
            if all(f.coef(f"v{a}") == extents[b] * f.coef(f"v{b}") for f in forms):
                pairs.append((a, b))
    return pairs


def index_forms(places: Places) -> Iterator[Affine]:
    """The affine forms of an access, its run-time index's included."""
    for p in places:
        yield p.base
        if p.via is not None:
            for at in p.via.at:
                yield at.base


def moved(value: Value, change: Mapping[str, Affine]) -> Value:
    """A value over other variables."""
    match value:
        case Var(form):
            return Var(form.subst(change))
        case Read():
            return _read(value, change)
        case Fn(fn, args, kind):
            return Fn(fn, tuple(moved(a, change) for a in args), kind)
        case _:
            return value


def _read(read: Read, change: Mapping[str, Affine]) -> Read:
    return Read(read.tensor, tuple(_index(at, change) for at in read.at))


def _index(at: At, change: Mapping[str, Affine]) -> At:
    return At(at.base.subst(change), at.via and _read(at.via, change), at.scale)


@dataclass(frozen=True)
class Placed:
    """A piece over stored tensors: `extents` of its variables (1 for one fused away), places of `pos` and of each
    read."""

    piece: Piece
    extents: tuple[int, ...]
    pos: Places
    reads: Mapping[Read, Places]
    gone: frozenset[int]

    @property
    def par(self) -> int:
        """How many variables are not reduced (they come first)."""
        return len(self.piece.par)

    def par_vars(self) -> list[int]:
        """The variables that are not reduced and take more than one value."""
        return [n for n in range(self.par) if self.extents[n] > 1]

    def red_vars(self) -> list[int]:
        """The reduced variables that take more than one value."""
        return [n for n in range(self.par, len(self.extents)) if self.extents[n] > 1]

    def form(self, form: Affine) -> Affine:
        """A coordinate form with the fused variables put together."""
        return _drop(form, self.gone)


def _drop(form: Affine, gone: frozenset[int]) -> Affine:
    return form.subst({f"v{n}": Affine() for n in gone})


def _drop_places(places: Places, gone: frozenset[int]) -> Places:
    def one(p: AxisPlace) -> AxisPlace:
        via = p.via and Read(p.via.tensor, tuple(At(_drop(at.base, gone), at.via, at.scale) for at in p.via.at))
        return AxisPlace(_drop(p.base, gone), via, p.scale)

    s, r, c = places
    return one(s), one(r), one(c)


def place_piece(piece: Piece, out: Stored, stored: Mapping[int, Stored]) -> Placed:
    """The piece over the stored tensors, variables of extent 1 put to 0 and fused where they can be.

    Raises `Refused` where an access has more than one index that is read from a table.
    """
    reads_at = piece_reads(piece)
    if any(sum(a.via is not None for a in at) > 1 for at in (piece.pos, *(r.at for r in reads_at))):
        raise Refused(
            "an access has more than one index that is read from a table",
            "a section adds one such index to a place; what division and remainder give is read from a table too",
            "keep the table flat, and put the places of its items into a sequence of Ints first",
        )
    extents = list(piece.par + piece.red)
    gone = frozenset(n for n, e in enumerate(extents) if e == 1)
    pos = _drop_places(out.view.place(piece.pos), gone)
    reads = {r: _drop_places(stored[r.tensor].view.place(r.at), gone) for r in reads_at}
    forms = [f for places in (pos, *reads.values()) for f in index_forms(places)]
    forms += [_drop(f, gone) for value in values_of(piece) for f in forms_of(value)]
    while True:
        pair = next(iter(fusable(piece, extents, forms)), None)
        if pair is None:
            break
        a, b = pair
        extents[b] *= extents[a]
        extents[a] = 1
        gone = gone | {a}
        forms = [_drop(f, frozenset({a})) for f in forms]
    final = {r: _drop_places(p, gone) for r, p in reads.items()}
    return Placed(piece, tuple(extents), _drop_places(pos, gone), final, gone)


def symbols_of(value: Value, placed: Placed) -> set[str]:
    """The variables a value depends on, through its coordinates and its reads' places."""
    found = {s for form in forms_of(value) for s in placed.form(form).symbols}
    for read in reads_of(value):
        found.update(s for form in index_forms(placed.reads[read]) for s in form.symbols)
    return found
