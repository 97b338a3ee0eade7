"""Obligation 14: every item of every tensor of a graph that travels with a program is made exactly once.

Each tensor is made by one node. The pieces of a statement never write the same item, whatever a run brings; a piece
writes none twice, unless at run-time places, which go in order; and where no other tensor lies below, pieces write
without conditions and leave nothing out. Otherwise a graph would mean something else to each of its readers. What its
values are, and that a program computes them, is not judged here: ranges of integers are taken as the graph has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import gcd, prod

import numpy as np

from spatial.check.meeting import NEVER, Answer, Steps, meeting
from spatial.check.places import FAR, Places, Side
from spatial.check.verdict import Log, Spot
from spatial.ir.affine import Affine
from spatial.ir.graph import At, Block, Fn, Graph, GraphTensor, Piece, Read, Statement, Value, Var

MOST_PIECES = 1 << 12
"""Pieces of one statement that are held against each other."""

MOST_PAIRS = 1 << 12
"""Pairs of one statement's pieces, near each other, that are looked at."""

MOST_VARIABLES = 64
"""Variables of a piece that are looked at."""

Tensors = Sequence[GraphTensor]


def check_graph(graph: Graph, place: str, log: Log) -> None:
    """Holds every statement and every constant of the graph to the obligation."""
    made: set[int] = set()
    steps = Steps()
    for n, tensor in enumerate(graph.tensors):
        if tensor.role == "fill":
            at = log.at("graph", f"{place}, constant t{n}")
            if at.require(tensor.fill is not None, "it has no form"):
                _statement(Statement(n, (tensor.fill,) if tensor.fill else ()), Places(graph.tensors, 1), steps, at)
    for node in graph.nodes:
        body, trip = (node.body, node.trip) if isinstance(node, Block) else ((node,), 1)
        if not log.at("graph", place).require(trip >= 1, f"a block of {trip} instances"):
            continue
        outs = [t for c in node.carried for t in (c.inner, c.final)] if isinstance(node, Block) else []
        for out in (*outs, *(s.out for s in body)):
            known = 0 <= out < len(graph.tensors) and graph.tensors[out].role == "made"
            at = log.at("graph", f"{place}, tensor t{out}")
            at.require(known and out not in made, "two nodes make it" if known else "it is none that a node may make")
            made.add(out)
        for statement in body:
            if 0 <= statement.out < len(graph.tensors):
                at = log.at("graph", f"{place}, tensor t{statement.out}")
                _statement(statement, Places(graph.tensors, trip), steps, at)


def _statement(statement: Statement, work: Places, steps: Steps, at: Spot) -> None:
    tensors, pieces, below = work.tensors, statement.pieces, statement.over
    dims = tensors[statement.out].dims
    if not at.require(
        below is None or (0 <= below < len(tensors) and tensors[below].dims == dims),
        "it is written over no tensor of its shape",
    ):
        return
    constant = tensors[statement.out].role == "fill"
    if not all(_formed(p, dims, tensors, constant, at.at(f"piece {n}")) for n, p in enumerate(pieces)):
        return
    if len(pieces) > MOST_PIECES or any(len(p.par) > MOST_VARIABLES for p in pieces):
        at.unsure(f"it has more than {MOST_PIECES} pieces, or one of more than {MOST_VARIABLES} variables")
        return
    fine = all(_once(p, work, steps, at.at(f"piece {n}")) for n, p in enumerate(pieces))
    fine = fine and _apart(pieces, work, steps, at)
    if fine and below is None:
        _whole(pieces, dims, work.trip, at)


# ---------------------------------------------------------------- pieces that have a meaning


def _formed(piece: Piece, dims: tuple[int, ...], tensors: Tensors, constant: bool, at: Spot) -> bool:
    """Whether a piece has one place on each axis, and says where and when it writes in variables of its own.

    A constant says so of its values too: it is the same for every reader.
    """
    known = {f"v{n}" for n in range(len(piece.par))} | (set[str]() if constant else {"b"})
    forms: list[Affine] = []
    reads: list[Read] = []
    for value in (*_indices(piece.pos), *piece.guards, *((piece.value,) if constant else ())):
        _gather(value, forms, reads)
    return (
        at.require(len(piece.pos) == len(dims), f"it has {len(piece.pos)} places, and the tensor {len(dims)} axes")
        and at.require(min(piece.par, default=1) >= 1, f"its box {piece.par} is empty")
        and at.require(known.issuperset(s for f in forms for s in f.symbols), "its places use what is no variable")
        and at.require(
            all(0 <= r.tensor < len(tensors) and len(r.at) == len(tensors[r.tensor].dims) for r in reads),
            "its places read what is no item of a tensor",
        )
    )


def _indices(index: Sequence[At]) -> Iterator[Value]:
    for at in index:
        yield Var(at.base)
        if at.via is not None:
            yield at.via


def _gather(value: Value, forms: list[Affine], reads: list[Read]) -> None:
    """Adds the forms and the reads of an expression to what is known of them."""
    pending = [value]
    while pending:
        match pending.pop():
            case Var(form):
                forms.append(form)
            case Read() as read:
                reads.append(read)
                pending += _indices(read.at)
            case Fn(args=args):
                pending += args
            case _:
                pass


# ---------------------------------------------------------------- what is written, and how often


def _once(piece: Piece, work: Places, steps: Steps, at: Spot) -> bool:
    """Whether a piece never writes an item twice, or does so in order, at run-time places."""
    alone = {i.base.terms[0][0] for i in piece.pos if len(i.base.terms) == 1 and i.base.terms[0][1]}
    if any(i.via is not None for i in piece.pos) or alone.issuperset(f"v{n}" for n in range(len(piece.par))):
        return at.require(True, "")
    one, other = work.side(piece, "p"), work.side(piece, "q")
    for n in range(len(piece.par)):
        same = [Affine.of(0, {f"p{k}": 1, f"q{k}": -1}) for k in range(n)]
        later = Affine.of(-1, {f"q{n}": 1, f"p{n}": -1})
        answer = _meeting(one, other, same, (later,), steps)
        if not _never(answer, at, f"two of its points write item {_item(answer, one)}", "write each item once"):
            return False
    return True


def _apart(pieces: Sequence[Piece], work: Places, steps: Steps, at: Spot) -> bool:
    """Whether no two pieces ever write the same item."""
    for looked, (a, b) in enumerate(_near(pieces, work)):
        if looked >= MOST_PAIRS:
            at.unsure(f"more than {MOST_PAIRS} pairs of its pieces lie near each other")
            return False
        one, other = work.side(pieces[a], "p"), work.side(pieces[b], "q")
        answer = _meeting(one, other, (), (), steps)
        words = f"pieces {a} and {b} both write item {_item(answer, one)}, and nothing says which comes last"
        if not _never(answer, at, words, "let one of them be a statement over the other's tensor"):
            return False
    return at.require(True, "")


def _meeting(one: Side, other: Side, same: Sequence[Affine], later: Sequence[Affine], steps: Steps) -> Answer:
    """Whether both write one item, in any of the ways in which their conditions hold."""
    equal = [a - b for a, b in zip(one.places, other.places, strict=True)]
    ranges = {**one.ranges, **other.ranges}
    answer = NEVER
    for first, second in product(one.ways, other.ways):
        found = meeting((*equal, *same), (*first, *second, *later), ranges, steps)
        if found.possible:
            return found
        answer = answer if found.possible is False else found
    return answer


def _never(answer: Answer, at: Spot, words: str, mend: str) -> bool:
    """Whether nothing meets; else `words` are told, or that it is not decided."""
    if answer.possible is None:
        at.unsure("it takes too many steps to tell whether its writes meet")
    return answer.possible is not None and at.require(not answer.possible, words, mend)


def _item(answer: Answer, one: Side) -> tuple[int, ...]:
    return tuple(form.at(answer.at) for form in one.places) if answer.possible else ()


def _near(pieces: Sequence[Piece], work: Places) -> Iterator[tuple[int, int]]:
    """The pairs of pieces that neither remainders nor bounds keep apart.

    Where all that moves along an axis are multiples of some number, pieces of different remainders never meet.
    """
    if len(pieces) < 2:
        return
    sides = [work.side(p, "p") for p in pieces]
    steps = [
        gcd(*(c for form in forms for _, c in form.terms)) for forms in zip(*(s.places for s in sides), strict=True)
    ]
    alike: dict[tuple[int, ...], list[int]] = {}
    for n, side in enumerate(sides):
        rest = (f.const % step if step else f.const for f, step in zip(side.places, steps, strict=True))
        alike.setdefault(tuple(rest), []).append(n)
    for group in alike.values():
        ends = [[f.bounds(sides[n].ranges) for f in sides[n].places] for n in group]
        low = np.array([[max(a, -FAR) for a, _ in axes] for axes in ends], dtype=np.int64)
        high = np.array([[min(b, FAR) for _, b in axes] for axes in ends], dtype=np.int64)
        for k in range(len(group) - 1):
            near = ((low[k] <= high[k + 1 :]) & (low[k + 1 :] <= high[k])).all(axis=1)
            yield from ((group[k], group[k + 1 + int(m)]) for m in np.nonzero(near)[0])


def _whole(pieces: Sequence[Piece], dims: tuple[int, ...], trip: int, at: Spot) -> None:
    """Whether pieces that lie apart fill the tensor, which lies over nothing."""
    for n, piece in enumerate(pieces):
        here = at.at(f"piece {n}")
        plain = not piece.guards and all(i.via is None for i in piece.pos)
        words = "a run decides what it writes, and no other tensor lies below"
        if not here.require(plain, words, "write it over a tensor that has every item"):
            return
        box = {f"v{k}": (0, extent - 1) for k, extent in enumerate(piece.par)} | {"b": (0, trip - 1)}
        ends = [i.base.bounds(box) for i in piece.pos]
        inside = all(low >= 0 and high < n for (low, high), n in zip(ends, dims, strict=True))
        if not here.require(inside, f"it is written at {ends}, and the tensor is {dims}"):
            return
    written, items = sum(prod(p.par) for p in pieces), prod(dims)
    words = f"{written} of its {items} items are made, and no other tensor lies below"
    at.require(written == items, words, "make the others too, or write it over a tensor that has them")
