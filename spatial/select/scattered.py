"""A piece seen from the elements it writes: what each takes from it, and where; writes at run-time places turned round.

The part of `select.whole` that knows values: it looks at one piece at a time, from a point of the whole tensor's box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Fn, Num, Piece, Read, Reduction, Value, Var
from spatial.select.pieces import forms_of, moved, reads_of
from spatial.select.temporaries import Temporaries, has_accs, identity

_PARTIAL = frozenset(("truncdiv", "floordiv", "rem", "floor", "ceil", "round"))
"""Operations that have no value for some operands."""


@dataclass(frozen=True)
class Point:
    """A point of the whole tensor's box. `change`: a piece's variables there; `ranges`: bounds of the box's own."""

    change: Mapping[str, Affine]
    ranges: Mapping[str, tuple[int, int]]


def seen(piece: Piece, point: Point, work: Temporaries, kind: str) -> tuple[list[Value], Value]:
    """The guards of a piece and its value, at a point that may lie outside the piece's box."""
    value = piece.value if _runs_past(piece.value, point, work) else work.held(piece, piece.value, kind)
    guards = [g if _runs_past(g, point, work) else work.held_truth(piece, g) for g in piece.guards]
    return [moved(g, point.change) for g in guards], moved(value, point.change)


def _runs_past(value: Value, point: Point, work: Temporaries) -> bool:
    """Whether a value may be computed where it is not chosen: its reads may lie outside their tables there."""
    if has_accs(value) or _is_partial(value):
        return False
    for read in reads_of(value):
        for at, extent in zip(read.at, work.tensors[read.tensor].dims, strict=True):
            if at.via is not None:
                return False
            if any(a.base.coef("b") for a in read.at):
                low, high = (at.base - Affine.sym("b", at.base.coef("b"))).subst(point.change).bounds(point.ranges)
                if low < 0 or high >= extent:
                    return False  # it would be an item of another instance's
    return True


def _is_partial(value: Value) -> bool:
    match value:
        case Fn(fn, args):
            return fn in _PARTIAL or any(_is_partial(a) for a in args)
        case _:
            return False


def last_write(
    piece: Piece, owned: frozenset[int], axis: int, place: Affine, point: Point, work: Temporaries, kind: str
) -> tuple[list[Value], Value]:
    """Of a piece that writes at run-time places along `axis`: where it writes at all, and what its last write leaves.

    `owned`: variables of the piece that the element written tells; `place`: the element's place along the axis.

    Writes are numbered in their order. Each element of the axis takes the greatest number of those that hit it where
    the piece's guards hold, -1 where there is none; the values, held by number, are then gathered.
    """
    at, change = piece.pos[axis], point.change
    assert at.via is not None
    hit = Fn("mul", (Num(at.scale, "int"), at.via), "int") if at.scale != 1 else at.via
    free = [n for n, extent in enumerate(piece.par) if extent > 1 and n not in owned]
    if not free:  # one write for each element at most
        guards, value = seen(piece, point, work, kind)
        return [_same(place, at.base.subst(change), moved(hit, change)), *guards], value
    used = {s for v in (Var(at.base), hit, *piece.guards) for s in _symbols(v)}
    own = [n for n in range(len(piece.par)) if n in owned]
    told = [n for n in own if f"v{n}" in used]
    names = {f"v{n}": Affine() for n in range(len(piece.par))}
    names |= {f"v{n}": Affine.sym(f"v{1 + k}") for k, n in enumerate((*told, *free))}
    box_of_last = (place.bounds(point.ranges)[1] + 1, *(piece.par[n] for n in told))
    counts = tuple(piece.par[n] for n in free)
    many = prod(counts)
    strides = [prod(counts[k + 1 :]) for k in range(len(counts))]

    guards = (
        _same(Affine.sym("v0"), at.base.subst(names), moved(hit, names)),
        *(moved(g, names) for g in piece.guards),
    )
    number = Affine.of(0, {f"v{1 + len(told) + k}": stride for k, stride in enumerate(strides)})
    here = identity(len(box_of_last))
    greatest = Reduction("max", Var(number), guards, None, Num(-1, "int"))
    last = work.put(box_of_last, "int", Piece(box_of_last, counts, here, Acc(0), (greatest,)))
    sure = Fn("min", (Fn("max", (Read(last, here), Num(0, "int")), "int"), Num(many - 1, "int")), "int")
    index = work.put(box_of_last, "int", Piece(box_of_last, (), here, sure))

    extents = tuple(piece.par[n] for n in own)
    numbered = At(Affine.of(0, {f"v{n}": stride for n, stride in zip(free, strides, strict=True)}))
    kept = (numbered, *(At(Affine.sym(f"v{n}")) for n in own))
    values = work.put((many, *extents), kind, Piece(piece.par, piece.red, kept, piece.value, piece.accs))

    dims = (box_of_last[0], *extents)
    axes = {n: At(Affine.sym(f"v{1 + k}")) for k, n in enumerate(own)}
    chosen = Read(index, (here[0], *(axes[n] for n in told)))
    gathered = Read(values, (At(Affine(), chosen, 1), *axes.values()))
    taken = work.put(dims, kind, Piece(dims, (), identity(len(dims)), gathered))

    written = Read(last, (At(place), *(At(change[f"v{n}"]) for n in told)))
    value = Read(taken, (At(place), *(At(change[f"v{n}"]) for n in own)))
    return [Fn("le", (Num(0, "int"), written), "bool")], value


def _same(place: Affine, base: Affine, hit: Value) -> Value:
    """Whether `base` and the run-time term `hit` are together `place`."""
    return Fn("eq", (Var(place - base), hit), "bool")


def _symbols(value: Value) -> Iterator[str]:
    """The variables of a value, in indices too."""
    for form in forms_of(value):
        yield from form.symbols
    for read in reads_of(value):
        for at in read.at:
            yield from at.base.symbols
