"""What was measured: a ledger, one time for each section and arrangement.

A later measurement takes the place of an earlier one of the same thing, and of nothing else: what a plan does with its
stores, a knob that was held, a chip of another grid make it another thing. Knows no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spatial.calibration.arrangements import ARRANGEMENTS
from spatial.calibration.candidates import BEST
from spatial.calibration.operations import Operated
from spatial.errors import UsageError, nearest
from spatial.plan.knobs import ANY, Knobs, knobs_of
from spatial.target import Target

LABELS = (BEST, *ARRANGEMENTS)
"""What a measured plan may be called: by its arrangement, or as the compiler's own choice."""

UNITS = {"cycles": 0.0, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Seconds of a unit of time; cycles are the clock's."""


_AS = "as in grid=8x8 passes=2"


@dataclass(frozen=True)
class Conditions:
    """What of the chip was otherwise, None being as the target has it: its grid of sites; the passes of page products;
    accumulator tiles and bytes of scratch that a site had for the plan, where it kept its sums or its pages in another
    way than plans here do."""

    grid: tuple[int, int] | None = None
    passes: int | None = None
    registers: int | None = None
    scratch: int | None = None

    def __str__(self) -> str:
        told = [f"grid={self.grid[0]}x{self.grid[1]}"] if self.grid else []
        numbers = (("passes", self.passes), ("registers", self.registers), ("scratch", self.scratch))
        return " ".join([*told, *(f"{name}={n}" for name, n in numbers if n is not None)])

    def chip(self, target: Target) -> Target:
        """The target as it was measured."""
        matrix = target.matrix
        if self.passes is not None:
            matrix = replace(matrix, passes=tuple((name, self.passes) for name, _ in matrix.passes))
        if self.registers is not None:
            matrix = replace(matrix, registers=self.registers)
        columns, rows = self.grid or (target.columns, target.rows)
        scratch = target.scratch if self.scratch is None else self.scratch
        return replace(target, columns=columns, rows=rows, matrix=matrix, scratch=scratch)


@dataclass(frozen=True)
class Measurement:
    """A time of one run of an operation on a chip: `label` and `knobs` of its plan, `amount` in `unit`; `note` tells
    runs apart that all else says are the same; `source`: where the time is from."""

    target: str
    what: Operated
    label: str
    knobs: Knobs
    conditions: Conditions
    amount: float
    unit: str
    note: str = ""
    source: str = ""

    @property
    def key(self) -> tuple[str, str, str, str, str, str]:
        """What it is a measurement of: another of the same key takes its place."""
        return (*self.plan, self.note)

    @property
    def plan(self) -> tuple[str, str, str, str, str]:
        """The plan it is of, however often and under whatever circumstances that was measured."""
        return self.target, str(self.what), str(self.conditions), self.label, str(self.knobs)

    def cycles(self, target: Target) -> float:
        """The time in cycles of the target's clock."""
        return self.amount if self.unit == "cycles" else self.amount * UNITS[self.unit] * target.clock


def entered(ledger: Iterable[Measurement], more: Iterable[Measurement]) -> list[Measurement]:
    """The ledger with more entered, sorted by what is measured: of equal keys the last stays."""
    found = {m.key: m for m in (*ledger, *more)}
    return [found[key] for key in sorted(found)]


def plan_words(text: str) -> tuple[str, Knobs]:
    """The label and the knobs of a plan, of words such as `multicast-split i0=2 rect=8x8`. Raises UsageError."""
    label, *knobs = text.split() or [BEST]
    if label not in LABELS:
        known = f"known: {', '.join(LABELS)}"
        raise UsageError(f'a plan cannot be labelled "{label}"', "", nearest(label, LABELS) or known)
    return label, knobs_of(knobs) if knobs else ANY


def condition_words(text: str) -> Conditions:
    """The conditions of words such as `grid=13x10 passes=2`. Raises UsageError."""
    names = ("grid", "passes", "registers", "scratch")
    found: dict[str, tuple[int, ...]] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in names or name in found:
            raise UsageError(f'"{word}" is no condition', f"{', '.join(names)} may be told, once each", _AS)
        numbers = value.split("x")
        sides = 2 if name == "grid" else 1
        if len(numbers) != sides or any(not n.isdecimal() or len(n) > 9 or int(n) < 1 for n in numbers):
            raise UsageError(f'"{word}" is no condition', "a grid is columns x rows, the others numbers from 1 on", _AS)
        found[name] = tuple(map(int, numbers))
    grid = (found["grid"][0], found["grid"][1]) if "grid" in found else None
    return Conditions(grid, *(found[name][0] if name in found else None for name in names[1:]))


def time_words(text: str) -> tuple[float, str]:
    """An amount and a unit, of words such as `61.6 us`. Raises UsageError."""
    for unit in sorted(UNITS, key=len, reverse=True):
        if text.endswith(unit):
            digits = text.removesuffix(unit).strip()
            whole, _, part = digits.partition(".")
            if len(digits) <= 24 and (whole + part).isdecimal() and float(digits) > 0:
                return float(digits), unit
            break
    raise UsageError(f'"{text}" is no time', f"a time is above zero, in {', '.join(UNITS)}", "as in 61.6 us")
