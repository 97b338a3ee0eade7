"""What a compiled run says: lines from the words it showed, and errors from the words it left when it stopped.

An error of the language is told by the reference interpreter's own operator, given the same operands again; so the two
modes cannot come to differ in a word.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from spatial.errors import Bug, Problem, SourceError, SpatialError, Unsupported
from spatial.logos.compiled.kinds import BOOL, FLOAT, Kind
from spatial.logos.compiled.knowledge import PLAIN, Line, Site
from spatial.logos.faults import TOO_DEEP
from spatial.logos.show import format_value
from spatial.logos.stop import Stop, check_characters
from spatial.logos.values import FALSE, TRUE, Seq

_LIMITS = {
    "WIDTH": ("an Int beyond 64 bits", "compiled code has Ints of 64 bits"),
    "RAGGED": ("rows of unlike length", "compiled code holds rectangular sequences"),
    "LARGE": ("a sequence too large to lie in memory in one piece", "compiled code holds every item of it"),
    "NO_ITEM": ("a Pop from an empty sequence", "it gives nothing, which no variable of compiled code holds"),
    "NO_VALUE": ("a function ends without giving a value", "it gives nothing, which compiled code does not hold"),
}


def told_line(line: Line, words: Iterator[int]) -> str:
    """The line that was shown. Raises SourceError if the language has none so long."""
    try:
        parts = [p if isinstance(p, str) else format_value(_shown(p[0], words), p[1]) for p in line.parts]
        check_characters(sum(map(len, parts)))
    except Stop as stop:
        raise SourceError(Problem(stop.what, stop.why, stop.mend, line.span.place)) from None
    return "".join(parts)


def _shown(kind: Kind, words: Iterator[int]) -> Any:
    if not kind.rank:
        return _scalar(kind, next(words))
    return _sequence(kind.leaf, [next(words) for _ in range(kind.rank)], words)


def _sequence(leaf: Kind, sizes: list[int], words: Iterator[int]) -> Seq:
    count, *inner = sizes
    if inner:
        return Seq([_sequence(leaf, inner, words) for _ in range(count)])
    return Seq([_scalar(leaf, next(words)) for _ in range(count)])


def _scalar(kind: Kind, word: int) -> Any:
    if kind == FLOAT:
        return struct.unpack("<d", struct.pack("<q", word))[0]
    return (TRUE if word else FALSE) if kind == BOOL else word


def told_fault(site: Site, why: str, left: int, right: int) -> SpatialError:
    """The error of a run that stopped at a site, on these operands."""
    place = site.span.place
    if why == "TOO_DEEP":
        return SourceError(Problem(*TOO_DEEP, place))
    if why in _LIMITS:
        what, reason = _LIMITS[why]
        return Unsupported(Problem(what, reason, PLAIN, place))
    if site.rule is not None and site.kinds is not None:
        try:
            stop = site.rule(_scalar(site.kinds[0], left), _scalar(site.kinds[1], right))
        except Stop as raised:
            stop = raised
        if isinstance(stop, Stop):
            return SourceError(Problem(stop.what, stop.why, stop.mend, place))
    return Bug(Problem("compiled code stopped where the interpreter would not", why, "", place))
