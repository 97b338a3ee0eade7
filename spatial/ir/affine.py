"""Affine forms over named coordinates: `32*i0 + l1 + 5`.

The one arithmetic of places: item maps, accesses, page choices and coordinate leaves of bodies, and the index
expressions of graphs, are all `Affine`. Knows no meaning of any symbol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spatial.errors import Bug


@dataclass(frozen=True)
class Affine:
    """`const + Σ coef * symbol`, canonical: terms sorted by symbol, no zero coefficient."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(const: int = 0, terms: Mapping[str, int] | None = None) -> Affine:
        """The canonical form of `const + Σ terms`."""
        return Affine(const, tuple(sorted((s, c) for s, c in (terms or {}).items() if c)))

    @staticmethod
    def sym(name: str, coef: int = 1) -> Affine:
        """`coef * name`."""
        return Affine.of(0, {name: coef})

    def coef(self, symbol: str) -> int:
        """The coefficient of `symbol`, 0 where it does not occur."""
        return dict(self.terms).get(symbol, 0)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that occur, sorted."""
        return tuple(s for s, _ in self.terms)

    @property
    def is_const(self) -> bool:
        """Whether no symbol occurs."""
        return not self.terms

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.const + other, self.terms)
        terms = dict(self.terms)
        for s, c in other.terms:
            terms[s] = terms.get(s, 0) + c
        return Affine.of(self.const + other.const, terms)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other if isinstance(other, int) else other * -1)

    def __mul__(self, factor: int) -> Affine:
        return Affine.of(self.const * factor, {s: c * factor for s, c in self.terms})

    def subst(self, values: Mapping[str, Affine]) -> Affine:
        """The form with each symbol of `values` replaced by its form."""
        out = Affine(self.const)
        for s, c in self.terms:
            out = out + (values[s] * c if s in values else Affine.sym(s, c))
        return out

    def at(self, values: Mapping[str, int]) -> int:
        """The value at a point; a symbol without a value is a bug."""
        total = self.const
        for s, c in self.terms:
            if s not in values:
                raise Bug(f"no value for the coordinate {s} in {self}")
            total += c * values[s]
        return total

    def bounds(self, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Least and greatest value over the box `ranges` (inclusive bounds of each symbol)."""
        low = high = self.const
        for s, c in self.terms:
            if s not in ranges:
                raise Bug(f"no range for the coordinate {s} in {self}")
            a, b = ranges[s]
            low += min(c * a, c * b)
            high += max(c * a, c * b)
        return low, high

    def __str__(self) -> str:
        text = ""
        for s, c in self.terms:
            sign = " - " if c < 0 else " + "
            text += (sign if text else sign.strip() if c < 0 else "") + (s if abs(c) == 1 else f"{abs(c)}*{s}")
        if self.const or not text:
            text += str(self.const) if not text else f" {'-' if self.const < 0 else '+'} {abs(self.const)}"
        return text


ZERO = Affine()

_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+)(?:\s*\*\s*([A-Za-z_]\w*))?|([A-Za-z_]\w*))")


def parse_affine(text: str) -> Affine | None:
    """The form that `text` (as `str` prints it) spells, or None where it spells none."""
    at, total, first = 0, Affine(), True
    text = text.strip()
    while at < len(text):
        m = _TERM.match(text, at)
        if m is None or (not first and not m.group(1)):
            return None
        sign = -1 if m.group(1) == "-" else 1
        if m.group(4):
            total = total + Affine.sym(m.group(4), sign)
        elif m.group(3):
            total = total + Affine.sym(m.group(3), sign * int(m.group(2)))
        else:
            total = total + sign * int(m.group(2))
        at, first = m.end(), False
    return None if first else total
