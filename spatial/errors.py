"""The one closed family of errors a user may meet, and whose fault each is.

Ground floor: imports nothing of ours. Every error is a list of `Problem`s, so that one run tells all it can; each
problem says where (file, line, column, or a path inside an artifact), what is wrong, why, and what would mend it. The
class says whose fault it is and so fixes the exit code of the command line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, order=True)
class Place:
    """A point in a text a person wrote: file as the user named it, line and column counted from 1 (0: unknown)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file] + [str(n) for n in (self.line, self.column) if n]
        return ":".join(parts)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: what was found, why that can't be, what would mend it; `place` where it stands."""

    what: str
    why: str = ""
    mend: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        text = "; ".join(part for part in (self.what, self.why, self.mend) if part)
        return f"{self.place}: error: {text}" if self.place else f"error: {text}"


class SpatialError(Exception):
    """Base of the family; never raised itself. `problems` holds every problem found, in the order of the text."""

    exit_code: ClassVar[int] = 3

    def __init__(self, problems: Problem | Iterable[Problem] | str, why: str = "", mend: str = "") -> None:
        if isinstance(problems, str):
            problems = Problem(problems, why, mend)
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems: tuple[Problem, ...] = found
        super().__init__("\n".join(str(p) for p in found))

    def __reduce__(self) -> tuple[type[SpatialError], tuple[tuple[Problem, ...]]]:
        # Errors cross process borders whole.
        return type(self), (self.problems,)


class SourceError(SpatialError):
    """A LOGOS source that does not parse, or that the interpreter stops on."""

    exit_code = 1


class Refused(SpatialError):
    """A program, a link or a check that is refused, with the reasons."""

    exit_code = 1


class DoesNotFit(Refused):
    """A plan or section that needs more of something than a site has."""


class Unsupported(Refused):
    """Well formed, but outside what this version handles."""


class Damaged(Refused):
    """An artifact, a cache entry or a weight file whose bytes are not what they claim to be."""


class SpecError(SpatialError):
    """A deployment spec, a target or a manifest that does not validate."""

    exit_code = 2


class UsageError(SpatialError):
    """A command line that asks for something there is not."""

    exit_code = 2


class EnvironmentFault(SpatialError):
    """The disk, a lock, the network or a missing file stands in the way."""

    exit_code = 4


class Bug(SpatialError):
    """Our own fault: an invariant did not hold."""

    exit_code = 3


def nearest(word: str, known: Iterable[str]) -> str:
    """The hint `did you mean "x"?` for the known word nearest to `word`, or an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"?' if close else ""


def one_of(words: Sequence[str]) -> str:
    """`a, b or c`: the words of a closed list as a person would say them."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def counted(count: int, thing: str) -> str:
    """`1 statement`, `3 statements`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
