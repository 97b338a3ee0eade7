"""Whether linear forms over integers can take wanted values at once: decided exactly, by a search that is bounded.

Serves the obligation on graphs. A system is forms that shall be zero, forms that shall be at least zero, and a range of
each symbol. Symbols that stand alone in an equation are replaced; symbols that only ever stand as one sum or one
difference become one; what is left is halved until bounds and common divisors rule it out, or a point is found. Knows
no piece and no tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from spatial.ir.affine import Affine

MOST_STEPS = 1 << 20
"""Forms looked at while systems are reduced, and parts of boxes that are searched; what takes more is not decided."""

MANY = 1 << 32
"""Values of a symbol beyond which it is halved last."""

Ranges = dict[str, tuple[int, int]]
"""Inclusive bounds of each symbol."""


@dataclass(frozen=True)
class Answer:
    """Whether the forms can meet (None: not decided), and a point at which they do."""

    possible: bool | None
    at: Mapping[str, int] = field(default_factory=dict[str, int])


NEVER, UNKNOWN = Answer(False), Answer(None)


@dataclass
class Steps:
    """Steps that are left, to all questions that share them."""

    left: int = MOST_STEPS

    def take(self, n: int = 1) -> bool:
        """Whether there are `n` more."""
        self.left -= n
        return self.left >= 0


def meeting(
    zero: Sequence[Affine], least: Sequence[Affine], ranges: Mapping[str, tuple[int, int]], steps: Steps
) -> Answer:
    """Whether all of `zero` are 0 and none of `least` is negative somewhere in `ranges`."""
    known = set(least)
    both = {f for f in known if f * -1 in known}  # neither it nor its negative is below zero
    equal = [f for f in least if f in both]
    system = _System([*zero, *equal], [f for f in least if f not in both], dict(ranges), steps)
    if not system.reduce():
        return NEVER if steps.left >= 0 else UNKNOWN
    return system.search()


@dataclass(frozen=True)
class _Pair:
    """A symbol that stands for `first + sign * second`, and the ranges these had."""

    symbol: str
    first: str
    second: str
    sign: int
    ranges: tuple[tuple[int, int], tuple[int, int]]


@dataclass
class _System:
    zero: list[Affine]
    least: list[Affine]
    ranges: Ranges
    steps: Steps
    gone: list[tuple[str, Affine] | _Pair] = field(default_factory=list["tuple[str, Affine] | _Pair"])
    """What was replaced, in order: a symbol by a form, or two by one."""

    def reduce(self) -> bool:
        """Replaces symbols while it can; False where nothing can meet, or no steps are left."""
        while self._alone():
            if not self._taken() or not self._open(self.ranges):
                return False
        while self._paired():
            if not self._taken():
                return False
        return self._open(self.ranges) and not self._opposed()

    def _taken(self) -> bool:
        return self.steps.take(len(self.zero) + len(self.least))

    def _alone(self) -> bool:
        """Puts what an equation says of a symbol in its place, its range becoming two conditions."""
        for n, form in enumerate(self.zero):
            found = next(((s, c) for s, c in form.terms if abs(c) == 1), None)
            if found is not None:
                symbol, c = found
                instead = (form - Affine.sym(symbol, c)) * -c
                low, high = self.ranges.pop(symbol)
                change = {symbol: instead}
                self.zero = [f.subst(change) for k, f in enumerate(self.zero) if k != n]
                self.least = [f.subst(change) for f in self.least]
                self.least += [instead - low, instead * -1 + high]
                self.gone.append((symbol, instead))
                return True
        return False

    def _paired(self) -> bool:
        """Makes one symbol of two that stand everywhere with equal, or opposite, factors."""
        columns: dict[tuple[int, ...], str] = {}
        for symbol in self.ranges:
            column = tuple(f.coef(symbol) for f in (*self.zero, *self.least))
            opposite = tuple(-c for c in column)
            for other, sign in ((column, 1), (opposite, -1)):
                if other in columns and any(column):
                    self._join(columns[other], symbol, sign)
                    return True
            columns[column] = symbol
        return False

    def _join(self, first: str, second: str, sign: int) -> None:
        (a, b), (c, d) = self.ranges.pop(first), self.ranges.pop(second)
        symbol = f"({first}{'+' if sign > 0 else '-'}{second})"
        self.ranges[symbol] = (a + c, b + d) if sign > 0 else (a - d, b - c)
        change = {first: Affine.sym(symbol), second: Affine()}
        self.zero = [f.subst(change) for f in self.zero]
        self.least = [f.subst(change) for f in self.least]
        self.gone.append(_Pair(symbol, first, second, sign, ((a, b), (c, d))))

    def _opposed(self) -> bool:
        """Whether two conditions ask for a form to be large and small at once."""
        known: dict[tuple[tuple[str, int], ...], int] = {}
        for form in self.least:
            known[form.terms] = min(form.const, known.get(form.terms, form.const))
        return any(const + known.get((form * -1).terms, -const) < 0 for form in self.least for const in (form.const,))

    def _open(self, ranges: Ranges) -> bool:
        """Whether bounds and common divisors leave it open that forms meet within `ranges`."""
        for form in self.zero:
            low, high = form.bounds(ranges)
            moving = [(s, c) for s, c in form.terms if ranges[s][0] < ranges[s][1]]
            fixed = form.const + sum(c * ranges[s][0] for s, c in form.terms if ranges[s][0] == ranges[s][1])
            step = gcd(*(c for _, c in moving))
            if low > 0 or high < 0 or (fixed % step if step else fixed):
                return False
        return all(form.bounds(ranges)[1] >= 0 for form in self.least)

    def search(self) -> Answer:
        """Halves the box until nothing is left, or a point is found."""
        used = sorted({s for f in (*self.zero, *self.least) for s in f.symbols})
        pending = [self.ranges]
        while pending:
            if not self.steps.take():
                return UNKNOWN
            ranges = pending.pop()
            if not self._open(ranges):
                continue
            widest = _widest(used, ranges)
            if widest is None:
                return Answer(True, self._point({s: low for s, (low, _) in ranges.items()}))
            low, high = ranges[widest]
            middle = (low + high) // 2
            pending += [ranges | {widest: (middle + 1, high)}, ranges | {widest: (low, middle)}]
        return NEVER

    def _point(self, found: dict[str, int]) -> dict[str, int]:
        """The point in the symbols that the system began with."""
        for step in reversed(self.gone):
            if isinstance(step, _Pair):
                value, ((a, b), (c, _)) = found.pop(step.symbol), step.ranges
                second = max(c, value - b) if step.sign > 0 else max(c, a - value)
                found[step.second], found[step.first] = second, value - step.sign * second
            else:
                symbol, form = step
                found[symbol] = form.at(found)
        return found


def _widest(symbols: Sequence[str], ranges: Ranges) -> str | None:
    """The symbol that has most values left, if one has several; those of many decide little and come last."""
    left = {s: ranges[s][1] - ranges[s][0] for s in symbols}
    return max((s for s in symbols if left[s]), key=lambda s: (left[s] < MANY, left[s]), default=None)
