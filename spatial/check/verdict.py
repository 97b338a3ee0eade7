"""What the checker answers: accept, reject or unsupported, with every obligation counted.

Bottom of `check/`: names the obligations and collects what their functions find. Knows nothing of how any of them is
judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OBLIGATIONS = (
    "shape",
    "precision",
    "resources",
    "items",
    "queues",
    "schedule",
    "multicast",
    "access",
    "store",
    "binding",
    "version",
    "rectangle",
    "integer",
    "graph",
    "deployment",
    "claims",
)
"""The obligations in the order in which `spatial.check` numbers and explains them."""

MOST_FAILURES = 200
"""Findings one verdict carries; what lies beyond is counted by nobody, for a rejection needs only one."""


@dataclass(frozen=True)
class Failure:
    """One obligation that does not hold (or can't be judged): where, what was seen, what would mend it."""

    obligation: str
    place: str
    witness: str
    mend: str = ""

    def __str__(self) -> str:
        text = f"{self.obligation}: {self.place}: {self.witness}"
        return f"{text}; {self.mend}" if self.mend else text


@dataclass(frozen=True)
class Verdict:
    """The answer; `counts`: instances of each obligation that were checked; `failures`: what made it a rejection.

    `unsupported`: what could not be judged, with the reason as witness. One failure makes the answer "reject"; without
    any, one entry of `unsupported` makes it "unsupported"; there are no warnings beside an "accept".
    """

    answer: str
    counts: Mapping[str, int]
    failures: tuple[Failure, ...] = ()
    unsupported: tuple[Failure, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the answer is "accept"."""
        return self.answer == "accept"


@dataclass
class Log:
    """Collects the findings of one check."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OBLIGATIONS, 0))
    failures: list[Failure] = field(default_factory=list[Failure])
    unsupported: list[Failure] = field(default_factory=list[Failure])

    def count(self, obligation: str, instances: int = 1) -> None:
        """`instances` more of `obligation` were looked at."""
        self.counts[obligation] += instances

    def reject(self, obligation: str, place: str, witness: str, mend: str = "") -> None:
        """`obligation` does not hold at `place`."""
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(Failure(obligation, place, witness, mend))

    def unsure(self, obligation: str, place: str, reason: str, mend: str = "") -> None:
        """`obligation` can't be judged at `place`, for `reason`."""
        if len(self.unsupported) < MOST_FAILURES:
            self.unsupported.append(Failure(obligation, place, reason, mend))

    def at(self, obligation: str, place: str) -> Spot:
        """The place where instances of `obligation` are judged next."""
        return Spot(self, obligation, place)

    @property
    def findings(self) -> int:
        """How much was found so far."""
        return len(self.failures) + len(self.unsupported)

    def add(self, other: Log) -> None:
        """Take over the findings of `other`."""
        for name, n in other.counts.items():
            self.counts[name] += n
        room = MOST_FAILURES - len(self.failures)
        self.failures += other.failures[:room]
        self.unsupported += other.unsupported[: MOST_FAILURES - len(self.unsupported)]

    def verdict(self) -> Verdict:
        """The answer these findings amount to."""
        answer = "reject" if self.failures else "unsupported" if self.unsupported else "accept"
        return Verdict(answer, dict(self.counts), tuple(self.failures), tuple(self.unsupported))


@dataclass(frozen=True)
class Spot:
    """One obligation at one place of the artifact."""

    log: Log
    obligation: str
    place: str

    def at(self, part: str) -> Spot:
        """The same obligation at a part of this place."""
        return Spot(self.log, self.obligation, f"{self.place}, {part}")

    def require(self, holds: bool, witness: str, mend: str = "") -> bool:
        """Count one instance and reject it unless it `holds`; returns whether it does."""
        self.log.count(self.obligation)
        if not holds:
            self.log.reject(self.obligation, self.place, witness, mend)
        return holds

    def reject(self, witness: str, mend: str = "") -> None:
        """The obligation does not hold here."""
        self.log.reject(self.obligation, self.place, witness, mend)

    def unsure(self, reason: str, mend: str = "") -> None:
        """The obligation can't be judged here."""
        self.log.unsure(self.obligation, self.place, reason, mend)
