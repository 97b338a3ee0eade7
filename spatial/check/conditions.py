"""What a condition says of the numbers it compares, lane by lane, where it holds and where it does not.

A selection takes a lane of its first value only where its condition holds there, and of its second where it does not:
`select(c < 3, c + 1, 0)` never shows more than 3. Of a comparison with a page, a cell, a coordinate or a constant, what
stands on the other side is bounded by it. A NaN makes every comparison but `ne` false, so that a comparison that holds
is one of numbers, and one that does not hold says nothing of a NaN. Knows how to bound nothing itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from spatial.check.spans import Span
from spatial.ir.body import Cell, Const, Coord, Expr, Op, Page

MOST_FACTS = 16
"""Facts that are kept at once; the innermost conditions come first."""


@dataclass(frozen=True)
class Fact:
    """A lane of `value` lies between `low` and `high`, or is NaN unless it is a `number`, and is not `but`."""

    value: Expr
    low: float | int = -math.inf
    high: float | int = math.inf
    number: bool = False
    but: int | None = None


Facts = tuple[Fact, ...]
Leaf = Callable[[Expr], Span | None]
"""The values of a page, a cell, a coordinate or a constant."""


def facts_of(condition: Expr, holds: bool, leaf: Leaf) -> Facts:
    """What is known where `condition` holds, or where it does not."""
    match condition:
        case Op("not", (inner,)):
            return facts_of(inner, not holds, leaf)
        case Op("and" | "or" as op, (one, other)) if holds == (op == "and"):
            return facts_of(one, holds, leaf) + facts_of(other, holds, leaf)
        case Op("lt", (one, other)):
            return _below(one, other, 1, True, leaf) if holds else _below(other, one, 0, False, leaf)
        case Op("le", (one, other)):
            return _below(one, other, 0, True, leaf) if holds else _below(other, one, 1, False, leaf)
        case Op("eq" | "ne" as op, (one, other)):
            if holds == (op == "eq"):
                return _below(one, other, 0, True, leaf) + _below(other, one, 0, True, leaf)
            return _apart(one, other, leaf) + _apart(other, one, leaf)
        case _:
            return ()


def _below(low: Expr, high: Expr, by: int, numbers: bool, leaf: Leaf) -> Facts:
    """`low` is at most `high`, of integers `by` less; `numbers`: neither is NaN, else either may be."""
    found: list[Fact] = [Fact(low, number=True), Fact(high, number=True)] if numbers else []
    for value, against, sign in ((low, high, 1), (high, low, -1)):
        span = _values(against, leaf)
        if span is None or (span.nan and not numbers):
            continue
        gap = by if span.kind == "int" else 0
        bound = Fact(value, high=span.high - gap) if sign > 0 else Fact(value, low=span.low + gap)
        found.append(replace(bound, number=numbers))
    return tuple(found)


def _apart(value: Expr, other: Expr, leaf: Leaf) -> Facts:
    span = _values(other, leaf)
    one = span is not None and span.kind == "int" and span.low == span.high
    return (Fact(value, but=int(span.low)),) if span is not None and one else ()


def _values(expr: Expr, leaf: Leaf) -> Span | None:
    return leaf(expr) if isinstance(expr, Const | Coord | Page | Cell) else None


def narrowed(expr: Expr, span: Span, facts: Facts) -> Span:
    """The values of `expr` among `span` that the facts leave; where they leave none, no lane is taken at all."""
    for fact in sorted(facts, key=lambda f: f.but is not None):
        found = _relation(fact.value, expr)
        if found is None:
            continue
        sign, more = found
        ends = sorted((sign * fact.low + more, sign * fact.high + more))
        low, high = max(span.low, ends[0]), min(span.high, ends[1])
        if fact.but is not None:
            low += low == sign * fact.but + more
            high -= high == sign * fact.but + more
        if low <= high:
            span = Span(span.kind, low, high, span.nan and not fact.number)
    return span


def _relation(known: Expr, expr: Expr) -> tuple[int, int] | None:
    """`expr` as `sign * known + more` in every lane, where it is that: (sign, more)."""
    one, other = _linear(known), _linear(expr)
    if one.of != other.of:
        return None
    return one.sign * other.sign, other.more - one.sign * other.sign * one.more


@dataclass(frozen=True)
class _Linear:
    """`sign * of + more`, exactly; a coordinate is `of` one without a constant, whose
    first coefficient is positive."""

    of: Expr
    sign: int = 1
    more: int = 0


def _linear(expr: Expr) -> _Linear:
    match expr:
        case Coord(form, shape):
            sign = -1 if form.terms and form.terms[0][1] < 0 else 1
            return _Linear(Coord((form - form.const) * sign, shape), sign, form.const)
        case Op("add", (inner, Const(n, "int"))) | Op("add", (Const(n, "int"), inner)):
            found = _linear(inner)
            return replace(found, more=found.more + int(n))
        case Op("sub", (inner, Const(n, "int"))):
            found = _linear(inner)
            return replace(found, more=found.more - int(n))
        case Op("sub", (Const(n, "int"), inner)):
            found = _linear(inner)
            return replace(found, sign=-found.sign, more=int(n) - found.more)
        case _:
            return _Linear(expr)
