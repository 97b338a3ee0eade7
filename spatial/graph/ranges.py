"""Interval analysis of a tensor graph: proved bounds of every integer tensor.

From the declared ranges of inputs, through statements in order and blocks to a fixed point. Sums count their terms,
so that an accumulator's width follows; a reduction under guards may have fewer terms. What is not bounded is left
out, never guessed. Used for index bounds and for exactness of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from spatial.graph.conditions import MOST_FACTS, Bounds, Fact, Line, Reading, facts_of, line_of, narrowed
from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, Block, Carried, Fn, Graph, Node, Num, Piece, Read, Reduction, Statement, Value, Var

Range = tuple[int, int]
Facts = tuple[Fact[Value], ...]

_GROWING = 2
"""Rounds in which carried integers may grow: those that do afterwards are called unbounded."""

_ROUNDS = 16
"""Rounds after which all carried integers of a block are called unbounded."""


def ranges_of(graph: Graph) -> dict[int, Range]:
    """Proved inclusive bounds of the integer tensors of `graph`, by number; a tensor without bounds is not in it."""
    known: dict[int, Range] = {}
    for n, t in enumerate(graph.tensors):
        if t.kind == "int" and t.range is not None:
            known[n] = t.range
        if t.kind == "int" and t.fill is not None:
            found = _piece(t.fill, known, ())
            if found is not None:
                known[n] = found
    for node in graph.nodes:
        _node(graph, node, known)
    return known


def with_ranges(graph: Graph) -> Graph:
    """`graph` with the proved range of every integer tensor filled in (declared ranges stay), if 64 bits hold it."""
    found = {n: known for n, known in ranges_of(graph).items() if known[0] >= -(2**63) and known[1] < 2**63}
    return replace(
        graph,
        tensors=tuple(
            replace(t, range=found[n]) if t.range is None and n in found else t for n, t in enumerate(graph.tensors)
        ),
    )


def range_of_value(value: Value, piece: Piece, known: Mapping[int, Range], trip: int = 1) -> Range | None:
    """Bounds of an integer expression of a piece (in a block of `trip` instances), or None."""
    box = {f"v{n}": (0, e - 1) for n, e in enumerate((*piece.par, *piece.red))} | {"b": (0, trip - 1)}
    return _value(value, box, known, piece)


def _node(graph: Graph, node: Node, known: dict[int, Range]) -> None:
    match node:
        case Statement():
            _statement(graph, node, known, 1)
        case Block():
            _block(graph, node, known)


def _block(graph: Graph, block: Block, known: dict[int, Range]) -> None:
    carried = [c for c in block.carried if graph.tensors[c.inner].kind == "int"]
    for c in carried:
        if c.initial in known:
            known[c.inner] = known[c.initial]
    turn = 0
    while not _round(graph, block, carried, known, turn):
        turn += 1
    for c in carried:
        if c.made in known:
            known[c.final] = known[c.made]


def _round(graph: Graph, block: Block, carried: Sequence[Carried], known: dict[int, Range], turn: int) -> bool:
    """Bounds of a block's body by those of what it carries; whether these hold for what it hands on, else wider ones
    are taken for the next round."""
    for s in block.body:
        known.pop(s.out, None)
        _statement(graph, s, known, block.trip)
    settled = True
    for c in carried:
        inner, made = known.get(c.inner), known.get(c.made)
        if inner is None or (made is not None and inner[0] <= made[0] and made[1] <= inner[1]):
            continue
        settled = False
        if made is None or turn >= _GROWING:
            known.pop(c.inner)
        else:
            known[c.inner] = (min(inner[0], made[0]), max(inner[1], made[1]))
    if not settled and turn >= _ROUNDS:
        for c in carried:
            known.pop(c.inner, None)
    return settled


def _statement(graph: Graph, s: Statement, known: dict[int, Range], trip: int) -> None:
    if graph.tensors[s.out].kind != "int":
        return
    total: Range | None = None
    if s.over is not None:
        total = known.get(s.over)
        if total is None:
            return
    for p in s.pieces:
        found = range_of_value(p.value, p, known, trip)
        if found is None:
            return
        total = found if total is None else (min(total[0], found[0]), max(total[1], found[1]))
    if total is not None:
        known[s.out] = total


def _piece(piece: Piece, known: Mapping[int, Range], _: tuple[()]) -> Range | None:
    return range_of_value(piece.value, piece, known, 1)


def _value(
    value: Value, box: Mapping[str, Range], known: Mapping[int, Range], piece: Piece, facts: Facts = ()
) -> Range | None:
    found = _unconditional(value, box, known, piece, facts)
    if not facts:
        return found
    held = narrowed(value, Bounds(*(found or (-inf, inf)), kind="int"), facts, _reading(box, known))
    return None if inf in (-held.low, held.high) else (int(held.low), int(held.high))


def _reading(box: Mapping[str, Range], known: Mapping[int, Range]) -> Reading[Value]:
    def leaf(value: Value) -> Bounds | None:
        match value:
            case Num(v, "int"):
                return Bounds(v, v, kind="int")
            case Var(form):
                return Bounds(*form.bounds(box), kind="int")
            case Read(tensor) if tensor in known:
                return Bounds(*known[tensor], kind="int")
            case _:
                return None

    return Reading(_parts, leaf, _line)


def _parts(value: Value) -> tuple[str, tuple[Value, ...]]:
    return (value.fn, value.args) if isinstance(value, Fn) else ("", ())


def _line(value: Value) -> Line[Value]:
    match value:
        case Var(form):
            return line_of(form, Var)
        case Fn("add", (inner, Num(n, "int")) | (Num(n, "int"), inner)):
            return _line(inner).plus(int(n))
        case Fn("sub", (inner, Num(n, "int"))):
            return _line(inner).plus(-int(n))
        case Fn("sub", (Num(n, "int"), inner)):
            return _line(inner).taken_from(int(n))
        case _:
            return Line(value)


def _unconditional(
    value: Value, box: Mapping[str, Range], known: Mapping[int, Range], piece: Piece, facts: Facts
) -> Range | None:
    match value:
        case Num(v, "int"):
            return int(v), int(v)
        case Var(form):
            return form.bounds(box)
        case Read(tensor):
            return known.get(tensor)
        case Acc(n):
            return _reduction(piece.accs[n], box, known, piece)
        case Fn("select", (condition, one, other), "int"):
            told = (facts_of(condition, holds, _reading(box, known)) for holds in (True, False))
            ways = [(*new, *facts)[:MOST_FACTS] for new in told]
            found = [_value(v, box, known, piece, f) for v, f in zip((one, other), ways, strict=True)]
            ends = [f for f in found if f is not None]
            return (min(low for low, _ in ends), max(high for _, high in ends)) if len(ends) == 2 else None
        case Fn(fn, args, "int"):
            cyclic = remainder(value)
            if cyclic is not None:
                return cyclic.shift, cyclic.shift + cyclic.scale * (cyclic.modulus - 1)
            return _function(fn, [_value(a, box, known, piece, facts) for a in args])
        case _:
            return None


@dataclass(frozen=True)
class Remainder:
    """`shift` plus `scale`, at least 1, times the remainder, from 0 to `modulus` - 1, of `of` divided by `modulus`."""

    of: Value
    modulus: int
    scale: int
    shift: int


def remainder(value: Value) -> Remainder | None:
    """The remainder that `a - k * n * (x // n)` of integers is, k, n > 0 and a = k * x + shift; or None."""
    match value:
        case Fn(
            "sub",
            (a, Fn("mul", (Num(m), Fn("floordiv", (x, Num(n)))) | (Fn("floordiv", (x, Num(n))), Num(m)))),
            "int",
        ):
            scale = int(m) // int(n) if n > 0 and m > 0 and not m % n else 0
        case _:
            return None
    if not scale:
        return None
    gap: dict[Value, int] = {}
    shift = 0 if a == x and scale == 1 else _add_terms(a, 1, gap) + _add_terms(x, -scale, gap)
    return None if any(gap.values()) else Remainder(x, int(n), scale, shift)


def _add_terms(value: Value, factor: int, to: dict[Value, int]) -> int:
    """Adds the terms of `factor * value`, an integer, `to` those of a sum, and returns its constant."""
    match value:
        case Num(n, "int"):
            return factor * int(n)
        case Var(form):
            for symbol, coef in form.terms:
                atom = Var(Affine.sym(symbol))
                to[atom] = to.get(atom, 0) + factor * coef
            return factor * form.const
        case Fn("add", (a, b)):
            return _add_terms(a, factor, to) + _add_terms(b, factor, to)
        case Fn("sub", (a, b)):
            return _add_terms(a, factor, to) + _add_terms(b, -factor, to)
        case Fn("mul", (a, Num(n, "int")) | (Num(n, "int"), a)):
            return _add_terms(a, factor * int(n), to)
        case _:
            to[value] = to.get(value, 0) + factor
            return 0


def _reduction(r: Reduction, box: Mapping[str, Range], known: Mapping[int, Range], piece: Piece) -> Range | None:
    if r.arg is not None:
        return _value(r.arg, box, known, piece)
    inner = _value(r.value, box, known, piece)
    if inner is None:
        return None
    low, high = inner
    count = math.prod(piece.red)
    match r.op:
        case "sum":
            low, high = low * count, high * count
            if r.guards:
                low, high = min(low, 0), max(high, 0)
        case "max" | "min":
            pass
        case _:
            bound = max(abs(low), abs(high), 1) ** count if count <= 64 else None
            return None if bound is None else (-bound, bound)
    if r.init is None:
        return low, high
    init = _value(r.init, box, known, piece)
    if init is None:
        return None
    if r.op == "sum":
        return low + init[0], high + init[1]
    return min(low, init[0]), max(high, init[1])


def _corners(a: Range, b: Range, op: Callable[[int, int], int]) -> Range:
    found = [op(x, y) for x in a for y in b]
    return min(found), max(found)


def _truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _function(fn: str, args: list[Range | None]) -> Range | None:
    known = [a for a in args if a is not None]
    if len(known) < len(args) or not known:
        return None
    first, second = known[0], known[-1]
    match fn:
        case "neg":
            return -first[1], -first[0]
        case "abs":
            low = 0 if first[0] <= 0 <= first[1] else min(abs(first[0]), abs(first[1]))
            return low, max(abs(first[0]), abs(first[1]))
        case "add":
            return first[0] + second[0], first[1] + second[1]
        case "sub":
            return first[0] - second[1], first[1] - second[0]
        case "mul":
            return _corners(first, second, lambda x, y: x * y)
        case "min":
            return min(first[0], second[0]), min(first[1], second[1])
        case "max":
            return max(first[0], second[0]), max(first[1], second[1])
        case "floordiv" if second[0] > 0:
            return _corners(first, second, lambda x, y: x // y)
        case "truncdiv" if second[0] > 0:
            return _corners(first, second, _truncated)
        case "rem" if second[0] > 0:
            top = second[1] - 1
            return max(first[0], -top) if first[0] < 0 else 0, min(first[1], top) if first[1] > 0 else 0
        case _:
            return None
