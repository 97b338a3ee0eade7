"""Where a variable counts from: of all ways that bounds, conditions and reads suggest, the plainest.

A loop may run up or down, from any place, over a box that a condition cuts; one choice is made for all that mean the
same: the smallest box, the fewest conditions, then the plainest indices. What is placed may be a reduction or a piece
of a tensor; both are here a box, conditions that hold on it, and expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spatial.lift.algebra import arith
from spatial.lift.algebra.bounds import bounds, decided
from spatial.lift.algebra.rewrite import Rebuild, Substitution
from spatial.lift.algebra.values import (
    FALSE,
    TRUE,
    ZERO,
    Get,
    Lin,
    Node,
    Op,
    Sym,
    combine,
    integer,
    parts,
    plus,
    scale,
)
from spatial.lift.algebra.walk import below


@dataclass(frozen=True)
class Box:
    """Expressions over variables where conditions hold. `pos`: of them, the places that a piece writes.

    `turned`: which variables count from the other end than they did.
    """

    vars: tuple[Sym, ...]
    guards: tuple[Node, ...]
    pos: tuple[Node, ...]
    values: tuple[Node, ...]
    turned: int = 0


_SPLIT = 12
"""Conditions that are made of some at most: each minimum in a minimum makes two of one."""


def split_guards(guards: Sequence[Node]) -> tuple[Node, ...]:
    """Conditions that hold together, each by itself, none twice, none that always holds."""
    found: dict[Node, None] = {}
    pending = list(guards)[::-1]
    while pending:
        g = pending.pop()
        match g:
            case Op(fn="and", args=(a, b)):
                pending += [b, a]
            case Op(fn="nonneg", args=(form,)) if (
                len(found) + len(pending) < _SPLIT and (both := _extreme_split(form)) is not None
            ):
                pending += [arith.nonneg(f) for f in both[::-1]]
            case _:
                if g is not TRUE:
                    found[g] = None
    return tuple(found)


class _Under(Rebuild):
    """Decides branches where conditions hold."""

    def __init__(self, guards: Sequence[Node]) -> None:
        super().__init__()
        self.guards = tuple(guards)

    def op(self, node: Node) -> Node:
        """An operation, or what a branch surely takes."""
        return taken(node, self.guards)


def taken(node: Node, guards: Sequence[Node]) -> Node:
    """What a branch takes where conditions hold; the branch, where they do not tell."""
    while isinstance(node, Op) and node.fn == "select":
        condition, a, b = node.args
        known = True if condition in guards else decided(condition, guards)
        if known is None:
            break
        node = a if known else b
    return node


def under(value: Node, guards: Sequence[Node]) -> Node:
    """An expression where conditions hold."""
    if not guards or not any(isinstance(n, Op) and n.fn == "select" for n in below(value)):
        return value
    return _Under(guards).node(value)


def _extreme_split(form: Node) -> tuple[Node, Node] | None:
    """`0 <= r + c min(a, b)` as two conditions; `0 <= r - c max(a, b)` too."""
    for atom, c in parts(form)[1]:
        match atom:
            case Op(fn=("min" | "max") as fn, args=(a, b)) if (c > 0) == (fn == "min"):
                rest = combine(form, atom, -c)
                return combine(rest, a, c), combine(rest, b, c)
            case _:
                pass
    return None


# ---------------------------------------------------------------- where a variable counts from


def limits(v: Sym, guards: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """What conditions say a variable is at least, and at most."""
    low: list[Node] = []
    high: list[Node] = []
    for g in guards:
        match g:
            case Op(fn="nonneg", args=(form,)):
                c = dict(parts(form)[1]).get(v, 0)
                rest = combine(form, v, -c)
                if v in rest.free or c == 0:
                    continue
                if c == 1:
                    low.append(scale(rest, -1))
                elif c == -1:
                    high.append(rest)
                elif c > 0:
                    most = bounds(rest)[1]
                    low += [] if most is None else [integer(-(most // c))]
                else:
                    most = bounds(rest)[1]
                    high += [] if most is None else [integer(most // -c)]
            case _:
                pass
    return low, high


def placed(box: Box, v: Sym, key: Callable[[Box], str]) -> Box:
    """The box with one of its variables counted as is best; `key` decides between equals."""
    extent = v.extent or 1
    if not any(v in n.free for n in (*box.pos, *box.values, *box.guards)):
        return box
    low, high = limits(v, box.guards)
    if not low and not high and (box.pos or _score(box, v)[-2:] == (0, 0)) and _score(box, v)[2] == 0:
        return box
    ways: dict[tuple[int, Node], None] = {(1, ZERO): None, (-1, integer(extent - 1)): None}
    ways.update(dict.fromkeys((1, at) for at in low))
    ways.update(dict.fromkeys((-1, at) for at in high))
    ways.update(dict.fromkeys(_alone(box.pos, v)))
    for value in (*box.pos, *box.values):
        ways.update(dict.fromkeys(_suggested(value, v)))
    best: tuple[int, ...] = ()
    tied: list[Box] = []
    for sign, start in ways:
        found = _counted(box, v, sign, start, low, high)
        if found is None:
            continue
        score = _score(*found)
        if not tied or score < best:
            best, tied = score, [found[0]]
        elif score == best:
            tied.append(found[0])
    return box if not tied else tied[0] if len(tied) == 1 else min(tied, key=key)


def _suggested(value: Node, v: Sym) -> Iterator[tuple[int, Node]]:
    """Ways to count a variable in which an index is the variable alone."""
    for n in below(value):
        if isinstance(n, Get):
            yield from _alone(n.index, v)


def _alone(index: Sequence[Node], v: Sym) -> Iterator[tuple[int, Node]]:
    """Ways to count a variable in which one of some indices is the variable alone."""
    for i in index:
        terms = dict(parts(i)[1])
        c = terms.get(v, 0)
        rest = combine(i, v, -c)
        if abs(c) == 1 and len(terms) > 1 and v not in rest.free:
            yield c, scale(rest, -c)


def _counted(
    box: Box, v: Sym, sign: int, start: Node, low: Sequence[Node], high: Sequence[Node]
) -> tuple[Box, Sym] | None:
    """The box with `v = start + sign k`, k counted from its least value; None if its extent is not known."""
    low, high = [ZERO, *low], [integer((v.extent or 1) - 1), *high]
    if sign < 0:
        low, high = [combine(start, h, -1) for h in high], [combine(start, at, -1) for at in low]
    else:
        low, high = [combine(at, start, -1) for at in low], [combine(h, start, -1) for h in high]
    least = [b for b in (bounds(at)[0] for at in low) if b is not None]
    most = [b for b in (bounds(at)[1] for at in high) if b is not None]
    if not least or not most or max(least) > min(most):
        return None
    first, extent = max(least), min(most) - max(least) + 1
    if sign > 0 and start is ZERO and first == 0 and extent == v.extent:
        return box, v
    k = Sym(v.name, extent)
    at = combine(plus(start, sign * first), k, sign)
    change = Substitution({v: at})
    inside = (arith.nonneg(at), arith.nonneg(combine(integer((v.extent or 1) - 1), at, -1)))
    try:
        guards = split_guards((*(change.node(g) for g in box.guards), *inside))
        pos, values = (tuple(change.node(n) for n in nodes) for nodes in (box.pos, box.values))
    except arith.Undefined:
        return None  # counted so, a divisor is no longer seen to differ from zero
    if FALSE in guards:
        return None
    vars = tuple(k if u is v else u for u in box.vars)
    return Box(vars, guards, pos, values, box.turned + (sign < 0)), k


def _score(box: Box, k: Sym) -> tuple[int, ...]:
    """How plain a box is: extent, conditions, places it writes backwards, what stands beside the variable in indices
    (an index that is the variable alone is in range without conditions), then anywhere, how often it counts down."""
    beside = down = 0
    reads = {i for node in box.values for n in below(node) if isinstance(n, Get) for i in n.index if k in i.free}
    read = sum(len(parts(i)[1]) - 1 + (parts(i)[0] != 0) for i in reads)
    for lin in {n for node in box.values for n in below(node) if isinstance(n, Lin) and k in n.free}:
        terms = dict(lin.terms)
        beside += len(terms) - 1 + (lin.const != 0)
        down += terms.get(k, 0) < 0
    for g in (*box.guards, *box.pos):
        if k in g.free:
            beside += sum(len(n.terms) for n in below(g) if isinstance(n, Lin))
    backwards = sum(dict(parts(i)[1]).get(k, 0) < 0 for i in box.pos)
    return k.extent or 0, len(box.guards), backwards, read, beside, down
