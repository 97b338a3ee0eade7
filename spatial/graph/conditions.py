"""What a condition says of the numbers it compares, where it holds and where it does not: bounds of a choice's values.

    select(c < 3, c + 1, 0)        of c in 0..3: c + 1 is taken only where c is at most 2

One side of a comparison that is read or counted bounds the other side, whatever that is. A NaN makes a comparison
false (`ne` true): what holds is said of numbers, what does not hold says nothing of a NaN. For expressions of any form:
the caller says how they are taken apart (`Reading`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Generic, TypeVar

from spatial.ir.affine import Affine

T = TypeVar("T")

MOST_FACTS = 16
"""Facts kept at once, those of the innermost conditions first."""


@dataclass(frozen=True)
class Bounds:
    """Least and greatest value, of `kind` "int", "float" or "truth"; `nan`: a float that may be no number."""

    low: float
    high: float
    nan: bool = False
    kind: str = "float"


@dataclass(frozen=True)
class Fact(Generic[T]):
    """`value` is at least `low`, at most `high` and not `but`; of a float this is said of numbers, which it is if
    `number`."""

    value: T
    low: float = -inf
    high: float = inf
    number: bool = False
    but: float | None = None


@dataclass(frozen=True)
class Line(Generic[T]):
    """An integer that is exactly `sign * of + more`; of a float, the float itself."""

    of: T
    sign: int = 1
    more: int = 0

    def plus(self, more: int) -> Line[T]:
        """`more` added."""
        return replace(self, more=self.more + more)

    def taken_from(self, whole: int) -> Line[T]:
        """`whole` minus it."""
        return Line(self.of, -self.sign, whole - self.more)


def line_of(form: Affine, of: Callable[[Affine], T]) -> Line[T]:
    """The line of an affine form: one of the form without its constant, its first coefficient positive."""
    sign = -1 if form.terms and form.terms[0][1] < 0 else 1
    return Line(of(Affine(0, form.terms) * sign), sign, form.const)


@dataclass(frozen=True)
class Reading(Generic[T]):
    """How expressions are taken apart.

    `parts`: an operation's name and operands, "" of anything else; `leaf`: the bounds of what is read or counted, None
    of anything else; `line`: an expression without the constants it is moved by.
    """

    parts: Callable[[T], tuple[str, tuple[T, ...]]]
    leaf: Callable[[T], Bounds | None]
    line: Callable[[T], Line[T]]


def facts_of(condition: T, holds: bool, reading: Reading[T]) -> tuple[Fact[T], ...]:
    """What is known where a condition holds, or where it does not."""
    match reading.parts(condition):
        case "not", (inner,):
            return facts_of(inner, not holds, reading)
        case "and" | "or" as op, (a, b) if holds == (op == "and"):
            return facts_of(a, holds, reading) + facts_of(b, holds, reading)
        case "lt" | "le" as op, (a, b):
            strict = (op == "lt") == holds
            return _ordered(a, b, strict, True, reading) if holds else _ordered(b, a, strict, False, reading)
        case "eq" | "ne" as op, (a, b) if holds == (op == "eq"):
            return _ordered(a, b, False, True, reading) + _ordered(b, a, False, True, reading)
        case "eq" | "ne", (a, b):
            return _differ(a, b, reading) + _differ(b, a, reading)
        case _:
            return ()


def _ordered(low: T, high: T, strict: bool, numbers: bool, reading: Reading[T]) -> tuple[Fact[T], ...]:
    """`low` is no more than `high`; `strict`: less, which integers tell apart; `numbers`: neither is a NaN."""
    found = [Fact(low, number=True), Fact(high, number=True)] if numbers else []
    above, below = reading.leaf(high), reading.leaf(low)
    if above is not None and (numbers or not above.nan):
        found.append(Fact(low, high=above.high - (strict and above.kind == "int"), number=numbers))
    if below is not None and (numbers or not below.nan):
        found.append(Fact(high, low=below.low + (strict and below.kind == "int"), number=numbers))
    return tuple(found)


def _differ(value: T, other: T, reading: Reading[T]) -> tuple[Fact[T], ...]:
    known = reading.leaf(other)
    return (Fact(value, but=known.low),) if known and known.kind == "int" and known.low == known.high else ()


def narrowed(value: T, bounds: Bounds, facts: tuple[Fact[T], ...], reading: Reading[T]) -> Bounds:
    """The bounds that facts leave of `value`; as they were where nothing is left, for it is never taken then."""
    for fact in sorted(facts, key=lambda f: f.but is not None):  # what is left out may be an end only then
        known, line = reading.line(fact.value), reading.line(value)
        if known.of != line.of:
            continue
        sign = known.sign * line.sign
        more = line.more - sign * known.more
        ends = sorted((sign * fact.low + more, sign * fact.high + more))
        low, high = max(bounds.low, ends[0]), min(bounds.high, ends[1])
        if fact.but is not None:
            low, high = low + (low == sign * fact.but + more), high - (high == sign * fact.but + more)
        if low <= high:
            bounds = replace(bounds, low=low, high=high, nan=bounds.nan and not fact.number)
    return bounds
