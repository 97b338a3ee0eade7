"""Problems of bodies and programs, with paths such as `stage mm / out qc` for places. Knows no rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from spatial.errors import Place, Problem, Refused


def problem(place: str, what: str, why: str = "", mend: str = "") -> Problem:
    """A problem at `place`."""
    return Problem(what, why, mend, Place(place))


def placed(place: str, refusal: Refused) -> Iterator[Problem]:
    """The problems of `refusal`, which knew no place."""
    for p in refusal.problems:
        yield replace(p, place=Place(place))


def within(place: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """`problems` of a part, seen from the whole: `body 3 / stage mm`."""
    for p in problems:
        yield replace(p, place=Place(f"{place} / {p.place}" if p.place else place))
