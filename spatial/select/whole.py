"""A tensor written in part as one statement over all of it: what each element is, chosen by its coordinates.

Only state keeps in memory what is not written. A part of any other tensor is written so: over the whole box, the part's
value where the coordinates lie in it, elsewhere what was there before.

    y = 0 everywhere;  y[i + 1] = x[i] over y      ->      y[v] = select(1 <= v and v <= n, x[v - 1], 0)

A read then runs past its table where it is not chosen: lanes outside a table are zero, and a `select` lets nothing
through. What may not run past (a run-time index, a divisor, a reduction) is held in a tensor of its own first. Writes
at run-time places, of which the last one shows, are turned round: each element asks which write was its last.

Knows no layout. The parts of a tensor that do not share memory's granules need not come here: see `select.parts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spatial.ir.affine import Affine
from spatial.ir.graph import At, Fn, Num, Piece, Read, Statement, Value, Var
from spatial.select.pieces import moved
from spatial.select.scattered import Point, last_write, seen
from spatial.select.temporaries import Temporaries

_RESIDUES = 8
"""Strides along the last axis up to which each remainder becomes a piece of its own, to be interleaved."""

_AT_ONCE = 6
"""Parts that one statement chooses among."""


def whole(statement: Statement, work: Temporaries, interleave: bool = True) -> Statement | None:
    """The statement as one that writes all of its tensor, what it needs made before noted in `work`.

    None where its places have no such form. `interleave`: let strides along the last axis become pieces there.
    """
    dims = work.tensors[statement.out].dims
    box = _box_of(statement.pieces, dims)
    if box is None:
        return None
    placed = [_placed(p, box) for p in statement.pieces]
    split = _residues(statement.pieces, box) if interleave else 1
    kind = work.tensors[statement.out].kind
    parts = [_part(p, at, box, split, work, kind) for p, at in zip(statement.pieces, placed, strict=True) if at]
    if len(parts) < len(statement.pieces):
        return None
    over = statement.over
    while len(parts) > _AT_ONCE:
        some, parts = parts[:_AT_ONCE], parts[_AT_ONCE:]
        step = work.made(dims, kind, work.tensors[statement.out].range)
        work.before.append(Statement(step, _made(box, split, some, over, work, kind)))
        over = step
    return Statement(statement.out, _made(box, split, parts, over, work, kind))


# ---------------------------------------------------------------- the box of the result


@dataclass(frozen=True)
class _Box:
    """The box of the result, its dimensions split so that every piece moves along a digit by ones.

    `digits`: of each dimension the (variable, stride, extent) of its digits, outermost first.
    """

    digits: tuple[tuple[tuple[int, int, int], ...], ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """What each variable runs through."""
        return tuple(extent for dim in self.digits for _, _, extent in dim)

    @property
    def place(self) -> tuple[At, ...]:
        """The position of the box's own point."""
        return tuple(At(Affine.of(0, {f"v{v}": stride for v, stride, _ in dim})) for dim in self.digits)


@dataclass(frozen=True)
class _Digit:
    """What a piece writes along one digit: `sign * var + const`, the variable None where it is a constant alone."""

    var: int | None
    sign: int
    const: int


@dataclass(frozen=True)
class _Placed:
    """A piece in the box: its digits by variable of the box, and the dimension it writes at a run-time place, if any.

    `owned`: variables of the piece that the element it writes tells.
    """

    digits: Mapping[int, _Digit]
    indirect: int | None
    owned: frozenset[int]


def _box_of(pieces: Sequence[Piece], dims: tuple[int, ...]) -> _Box | None:
    """The box under which each variable of each piece moves along one digit by ones; None if there is none."""
    found: list[tuple[tuple[int, int, int], ...]] = []
    number = 0
    for d, extent in enumerate(dims):
        edges = [1]
        strides = {stride for p in pieces if p.pos[d].via is None for stride in _steps(p, p.pos[d])}
        for stride in sorted(strides - {1}):
            if stride % edges[-1] or extent % stride:
                return None
            edges.append(stride)
        if extent > edges[-1] or len(edges) == 1:
            edges.append(max(extent, 1))
        dim: list[tuple[int, int, int]] = []
        for low, high in zip(edges[-2::-1], edges[:0:-1], strict=True):
            dim.append((number, low, high // low))
            number += 1
        found.append(tuple(dim))
    return _Box(tuple(found))


def _placed(piece: Piece, box: _Box) -> _Placed | None:
    """Where a piece lies in the box; None where a variable carries over from one digit into the next."""
    found: dict[int, _Digit] = {}
    used: set[int] = set()
    indirect: int | None = None
    for d, (at, dim) in enumerate(zip(piece.pos, box.digits, strict=True)):
        if at.via is not None:
            if indirect is not None:
                return None
            indirect = d
            continue
        own = _steps(piece, at)
        if at.base.coef("b") or len(own) < len(_moving(piece, at)):
            return None
        rest = at.base.const
        for number, stride, extent in dim:
            const = rest // stride
            rest -= const * stride
            var, sign = own.get(stride, (None, 1))
            reach = 0 if var is None else sign * (piece.par[var] - 1)
            if not (0 <= const < extent and 0 <= const + reach < extent):
                return None
            if var is not None:
                used.add(var)
            found[number] = _Digit(var, sign, const)
    free = {n for n, extent in enumerate(piece.par) if extent > 1} - used
    return None if free and indirect is None else _Placed(found, indirect, frozenset(used))


def _steps(piece: Piece, at: At) -> dict[int, tuple[int, int]]:
    """By stride the (variable, sign) of a position's terms, one of each stride."""
    return {abs(c): (v, 1 if c > 0 else -1) for v, c in _moving(piece, at)}


def _moving(piece: Piece, at: At) -> list[tuple[int, int]]:
    """The (variable, factor) of a position's terms; variables that stand still left out."""
    return [(int(s[1:]), c) for s, c in at.base.terms if s != "b" and piece.par[int(s[1:])] > 1]


def _residues(pieces: Sequence[Piece], box: _Box) -> int:
    """How many pieces interleave along the last axis: its innermost digit, where no piece has a variable there."""
    if not box.digits or len(box.digits[-1]) < 2:
        return 1
    _, stride, extent = box.digits[-1][-1]
    last = [p.pos[-1] for p in pieces]
    moving = any(at.via is not None or any(abs(c) == stride for _, c in at.base.terms) for at in last)
    return extent if not moving and extent <= _RESIDUES else 1


# ---------------------------------------------------------------- values and conditions


@dataclass(frozen=True)
class _Part:
    """What a piece puts into the box: where `conditions` hold, `value`; only at `residue` of the innermost digit."""

    conditions: tuple[Value, ...]
    value: Value
    residue: int


def _part(piece: Piece, placed: _Placed, box: _Box, split: int, work: Temporaries, kind: str) -> _Part:
    """The part of one piece, over the box's variables."""
    change = {f"v{n}": Affine() for n in range(len(piece.par))}
    conditions: list[Value] = []
    last = len(box.extents) - 1
    for number, digit in placed.digits.items():
        here, extent = Affine.sym(f"v{number}"), box.extents[number]
        count = 1 if digit.var is None else piece.par[digit.var]
        low = digit.const if digit.sign > 0 else digit.const - count + 1
        if digit.var is not None:
            point, known = (here - digit.const) * digit.sign, change[f"v{digit.var}"]
            if known.terms:  # a diagonal: the variable stands on two axes
                conditions.append(Fn("eq", (Var(point), Var(known)), "bool"))
                continue
            change[f"v{digit.var}"] = point
        if split == 1 or number != last:
            conditions += _between(here, low, low + count - 1, extent)
    residue = placed.digits[last].const if split > 1 else 0
    point = Point(change, {f"v{n}": (0, extent - 1) for n, extent in enumerate(box.extents)})
    if placed.indirect is not None:
        found, value = last_write(
            piece, placed.owned, placed.indirect, box.place[placed.indirect].base, point, work, kind
        )
    else:
        found, value = seen(piece, point, work, kind)
    return _Part((*conditions, *found), value, residue)


def _between(here: Affine, low: int, high: int, extent: int) -> Iterator[Value]:
    """`low <= here <= high` in [0, extent), what always holds left out."""
    if low == high and extent > 1:
        yield Fn("eq", (Var(here), Num(low, "int")), "bool")
        return
    if low > 0:
        yield Fn("le", (Num(low, "int"), Var(here)), "bool")
    if high < extent - 1:
        yield Fn("le", (Var(here), Num(high, "int")), "bool")


def _made(
    box: _Box, split: int, parts: Sequence[_Part], over: int | None, work: Temporaries, kind: str
) -> tuple[Piece, ...]:
    """The pieces that choose among parts: one, or one for each residue."""
    extents = box.extents if split == 1 else box.extents[:-1]
    pieces: list[Piece] = []
    for residue in range(split):
        at = {} if split == 1 else {f"v{len(extents)}": Affine(residue)}
        value = None if over is None else _element(over, box.place, work)
        for part in parts:
            if part.residue == residue:
                # Without anything before, the parts cover the whole: what no other takes is the first one's.
                value = part.value if value is None else _where(part.conditions, part.value, value, kind)
        if value is None:  # a first step of several, of which a later one has these elements
            value = Num(0.0, "float") if kind == "float" else Num(0, "int")
        pieces.append(Piece(extents, (), tuple(At(a.base.subst(at)) for a in box.place), moved(value, at)))
    return tuple(pieces)


def _element(tensor: int, at: tuple[At, ...], work: Temporaries) -> Value:
    """An element of a tensor; of one that holds one number everywhere, that number."""
    fill = work.tensors[tensor].fill
    return fill.value if fill is not None and isinstance(fill.value, Num) else Read(tensor, at)


def _where(conditions: Sequence[Value], value: Value, other: Value, kind: str) -> Value:
    """`value` where all conditions hold, else `other`."""
    if not conditions:
        return value
    total = conditions[0]
    for c in conditions[1:]:
        total = Fn("and", (total, c), "bool")
    return Fn("select", (total, value, other), kind)
