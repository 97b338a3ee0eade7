"""What is proved of integers: intervals, and `at least zero` under guards.

Exact interval arithmetic over the linear forms of `values`; guards are linear inequalities themselves, and multiples of
up to three of them may be subtracted. Never guesses: an unknown bound is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from spatial.lift.algebra.values import (
    Const,
    Final,
    Fold,
    Get,
    Inner,
    Lin,
    Made,
    Node,
    Op,
    Source,
    Sym,
    Tensor,
    combine,
    integer,
    parts,
    plus,
    raw_op,
    scale,
)

Bounds = tuple[int | None, int | None]

ANY: Bounds = (None, None)

_CHOOSING = ("select", "max", "min")
_CHOSEN = 2
"""Selections, maxima and minima of one sum of which both sides are looked at."""

_LOOKED = 64
"""How often both sides are looked at for one integer: a side may hold more of them, and so on."""

_LOOKED_UNDER_GUARDS = 4 * _LOOKED
"""How often for all integers together that guards are taken from."""


_TOGETHER = 24
"""What guards say that is taken from an integer two and three at a time: the innermost."""


class Memo(dict[object, Bounds]):
    """The bounds found for one question, and how often both sides of a choice may still be looked at."""

    def __init__(self, looks: int = _LOOKED) -> None:
        super().__init__()
        self.looks = looks


def add_bounds(a: Bounds, b: Bounds) -> Bounds:
    """Bounds of a sum."""
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def scale_bounds(a: Bounds, factor: int) -> Bounds:
    """Bounds of a multiple."""
    low = None if a[0] is None else a[0] * factor
    high = None if a[1] is None else a[1] * factor
    return (low, high) if factor >= 0 else (high, low)


def join_bounds(a: Bounds, b: Bounds) -> Bounds:
    """Bounds of one or the other."""
    return (
        None if a[0] is None or b[0] is None else min(a[0], b[0]),
        None if a[1] is None or b[1] is None else max(a[1], b[1]),
    )


def _corners(a: Bounds, b: Bounds, op: Callable[[int, int], int]) -> Bounds:
    """Bounds of an operation that is monotone in each operand."""
    first, second = [n for n in a if n is not None], [n for n in b if n is not None]
    if len(first) < 2 or len(second) < 2:
        return ANY
    found = [op(x, y) for x in first for y in second]
    return min(found), max(found)


def _floored(x: int, y: int) -> int:
    return x // y


def _truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def bounds(node: Node) -> Bounds:
    """Proved least and greatest value of an integer."""
    return _bounds(node, Memo())


def _bounds(node: Node, memo: Memo) -> Bounds:
    if node in memo:
        return memo[node]
    found = _find(node, memo)
    memo[node] = found
    return found


def _find(node: Node, memo: Memo) -> Bounds:
    match node:
        case Sym():
            return (0, node.extent - 1) if node.extent is not None else ANY
        case Lin():
            total: Bounds = (node.const, node.const)
            for atom, c in node.terms:
                total = add_bounds(total, scale_bounds(_bounds(atom, memo), c))
            found = _remainders(node, total, memo)
            chosen = [a for a, _ in node.terms if isinstance(a, Op) and a.fn in _CHOOSING]
            apart = _either_side(node, chosen[0], memo) if 0 < len(chosen) <= _CHOSEN else ANY
            return _narrower(found, apart)
        case Get():
            return tensor_bounds(node.tensor, memo)
        case Fold():
            return _fold(node, memo)
        case Op(fn="select") if node.kind == "int":
            return _either_side(node, node, memo)
        case Op():
            return _op(node.fn, [_bounds(a, memo) if a.kind == "int" else ANY for a in node.args])
        case _:
            return ANY


def _either_side(node: Node, chosen: Op, memo: Memo) -> Bounds:
    """Bounds of an integer in which a selection, a maximum or a minimum stands: those of either side in its place."""
    a, b = chosen.args[-2:]
    if not memo.looks:
        return join_bounds(_bounds(a, memo), _bounds(b, memo)) if node is chosen else ANY
    memo.looks -= 1
    if chosen.fn == "select":
        condition, holds = chosen.args[0], True
    else:
        condition, holds = raw_op("nonneg", (combine(a, b, -1),), "bool"), chosen.fn == "max"
    c = dict(parts(node)[1]).get(chosen, 1)
    rest = combine(node, chosen, -c)
    first = _where(condition, holds, combine(rest, a, c), memo)
    return join_bounds(first, _where(condition, not holds, combine(rest, b, c), memo))


def _where(condition: Node, holds: bool, value: Node, memo: Memo) -> Bounds:
    """Bounds of an integer where a condition holds, or does not: it differs from what that proves by so much."""
    found = _bounds(value, memo)
    for form in _proved(condition, holds, memo):
        for k in _multiples(value, form):
            found = _narrower(found, (_bounds(combine(value, form, -k), memo)[0], None))
        for k in _multiples(scale(value, -1), form):
            found = _narrower(found, (None, _bounds(combine(value, form, k), memo)[1]))
    return found


def _narrower(a: Bounds, b: Bounds) -> Bounds:
    """The bounds that both prove."""
    low = a[0] if b[0] is None else b[0] if a[0] is None else max(a[0], b[0])
    high = a[1] if b[1] is None else b[1] if a[1] is None else min(a[1], b[1])
    return low, high


def _remainders(node: Lin, naive: Bounds, memo: Memo) -> Bounds:
    """Tighter bounds where `k E - k m (E // m)` occurs: a remainder lies between 0 and m - 1."""
    found = naive
    for atom, c in node.terms:
        match _quotient(atom):
            case Op(fn="floordiv", args=(e, Lin(const=m, terms=()))) if m > 0 and c % m == 0:
                k = -c // m
                rest = combine(combine(node, e, -k), atom, k * m)
                if len(parts(rest)[1]) >= len(node.terms):
                    continue
                found = _narrower(found, add_bounds(_bounds(rest, memo), scale_bounds((0, m - 1), k)))
            case _:
                pass
    return found


def _quotient(atom: Node) -> Node:
    """An atom, or what it is where it is kept as a number of its own."""
    match atom:
        case Get(tensor=Made(pieces=(piece,), base=None), index=()) if not piece.guards:
            return piece.value
        case _:
            return atom


def tensor_bounds(tensor: Tensor, memo: Memo) -> Bounds:
    """Proved bounds of every element of an integer tensor."""
    if tensor.kind != "int":
        return ANY
    if tensor in memo:
        return memo[tensor]
    match tensor:
        case Source():
            found: Bounds = tensor.range or ANY
        case Inner():
            found = tensor.range
        case Final():
            found = tensor.block.inner[tensor.slot].range
        case Made():
            values = [_bounds(p.value, memo) for p in tensor.pieces]
            if tensor.base is not None:
                values.append(tensor_bounds(tensor.base, memo))
            found = values[0] if values else ANY
            for v in values[1:]:
                found = join_bounds(found, v)
        case _:
            found = ANY
    memo[tensor] = found
    return found


def _fold(node: Fold, memo: Memo) -> Bounds:
    if node.arg is not None:
        return _bounds(node.arg, memo)
    inner = _bounds(node.value, memo)
    if node.op == "sum":
        count = math.prod(v.extent or 0 for v in node.vars)
        low, high = scale_bounds(inner, count)
        if node.guards:
            low, high = (None if low is None else min(low, 0)), (None if high is None else max(high, 0))
        return low, high
    if node.op in ("max", "min"):
        return join_bounds(inner, _bounds(node.init, memo)) if node.init is not None else inner
    return ANY


def _op(fn: str, args: Sequence[Bounds]) -> Bounds:
    match fn:
        case "mul":
            return _corners(args[0], args[1], lambda x, y: x * y)
        case "max":
            (a, b), (c, d) = args
            low = a if c is None else c if a is None else max(a, c)
            return low, None if b is None or d is None else max(b, d)
        case "min":
            (a, b), (c, d) = args
            high = b if d is None else d if b is None else min(b, d)
            return None if a is None or c is None else min(a, c), high
        case "abs":
            a, b = args[0]
            if a is None or b is None:
                return 0, None
            return (0 if a <= 0 <= b else min(abs(a), abs(b))), max(abs(a), abs(b))
        case "floordiv" | "truncdiv":
            (a, b), (c, d) = args
            if a is None or b is None or c is None or d is None or c <= 0:
                return ANY
            return _corners((a, b), (c, d), _floored if fn == "floordiv" else _truncated)
        case "rem":
            (a, b), (c, d) = args
            if c is None or d is None or c <= 0 or a is None or b is None:
                return ANY
            top = d - 1
            return max(a, -top) if a < 0 else 0, min(b, top) if b > 0 else 0
        case _:
            return ANY


def guard_forms(guards: Iterable[Node]) -> list[Node]:
    """The integers that guards say are at least zero."""
    memo = Memo()
    return [form for g in guards for form in _proved(g, True, memo)]


def told_by_forms(condition: Node, holds: bool = True) -> bool:
    """Whether a condition holds (or not) wherever the integers that it says are at least zero are so."""
    match condition:
        case Const(value=value):
            return bool(value) == holds
        case Op(fn="not", args=(inner,)):
            return told_by_forms(inner, not holds)
        case Op(fn="nonneg"):
            return True
        case Op(fn=("and" | "or") as fn, args=(a, b)):
            return holds == (fn == "and") and told_by_forms(a, holds) and told_by_forms(b, holds)
        case Op(fn="eq", args=(a, b)):
            return holds and a.kind == b.kind == "int"
        case _:
            return False


def _proved(condition: Node, holds: bool, memo: Memo) -> list[Node]:
    """The integers that are at least zero where a condition holds, or where it does not."""
    match condition:
        case Op(fn="not", args=(inner,)):
            return _proved(inner, not holds, memo)
        case Op(fn="nonneg", args=(form,)):
            return [form if holds else plus(scale(form, -1), -1)]
        case Op(fn=("and" | "or") as fn, args=(a, b)) if holds == (fn == "and"):
            return _proved(a, holds, memo) + _proved(b, holds, memo)
        case Op(fn="eq", args=(a, b)) if a.kind == b.kind == "int":
            one, other = combine(a, b, -1), combine(b, a, -1)
            if holds:
                return [one, other]
            # Different from what it is at least, or at most, it is more, or less.
            low, high = _bounds(one, memo)
            return [plus(one, -1)] * (low == 0) + [plus(other, -1)] * (high == 0)
        case _:
            return []


def at_least_zero(node: Node, guards: Iterable[Node] = ()) -> bool:
    """Whether the integer is proved to be at least 0 where the guards hold."""
    if _shown(node, (), Memo()):
        return True
    forms = guard_forms(guards)
    return bool(forms) and _follows(node, forms, _CHOSEN, Memo(_LOOKED_UNDER_GUARDS))


def _follows(node: Node, forms: Sequence[Node], looks: int, memo: Memo) -> bool:
    """Whether the integer is at least 0 where all `forms` are; `looks`: least and greatest ones still looked into."""
    if any(_shown(node, (form,), memo) for form in forms):
        return True
    if any(_shown(node, chosen, memo) for n in (2, 3) for chosen in combinations(forms[-_TOGETHER:], n)):
        return True
    for atom, c in parts(node)[1] if looks else ():
        match atom:
            case Op(fn="min" | "max", args=(a, b)):
                rest = combine(node, atom, -c)
                values = (combine(rest, side, c) for side in (a, b))
                sides = (_shown(value, (), memo) or _follows(value, forms, looks - 1, memo) for value in values)
                # It is one of the two, and at least both where it is the greater.
                return all(sides) if (atom.fn == "min") == (c > 0) else any(sides)
            case _:
                pass
    return False


def _shown(node: Node, forms: Sequence[Node], memo: Memo) -> bool:
    """Whether the integer stays at least 0 when positive multiples of all `forms` are taken from it."""
    if not forms:
        low = _bounds(node, memo)[0]
        return low is not None and low >= 0
    return any(_shown(combine(node, forms[0], -c), forms[1:], memo) for c in _multiples(node, forms[0]))


def _multiples(node: Node, form: Node) -> list[int]:
    """How often a form may be taken from an integer: once, or so often that a term of the integer goes."""
    known = dict(parts(form)[1])
    found = {1: None}
    for atom, c in parts(node)[1]:
        k = known.get(atom, 0)
        if k and c % k == 0 and c // k > 1:
            found[c // k] = None
    return list(found)


def decided(condition: Node, guards: Iterable[Node] = ()) -> bool | None:
    """Whether a condition is proved true or false where the guards hold; None if neither."""
    match condition:
        case Const(value=value):
            return bool(value)
        case Op(fn="nonneg", args=(form,)):
            known = list(guards)
            if at_least_zero(form, known):
                return True
            if at_least_zero(plus(combine(integer(0), form, -1), -1), known):
                return False
            return None
        case Op(fn="eq", args=(a, b)) if a.kind == b.kind == "int":
            known, form = list(guards), combine(a, b, -1)
            apart = at_least_zero(plus(form, -1), known) or at_least_zero(plus(combine(b, a, -1), -1), known)
            return False if apart else None
        case Op(fn="not", args=(inner,)):
            found = decided(inner, guards)
            return None if found is None else not found
        case _:
            return None


def is_affine(node: Node) -> bool:
    """Whether an integer is made of box variables alone, divided ones included."""
    return all(_is_box(a) for a, _ in parts(node)[1])


def _is_box(atom: Node) -> bool:
    match atom:
        case Sym():
            return True
        case Op(fn="floordiv", args=(a, b)):
            return is_affine(a) and isinstance(b, Lin) and not b.terms
        case _:
            return False
