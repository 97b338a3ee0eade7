"""What a timing says: of a call, of a phase, of a program. Plain records, and the questions asked of them."""

from __future__ import annotations

from dataclasses import dataclass

BUSY_ENOUGH = 0.5
"""A section is bound by what works for at least this part of its time; else it waits most of the time."""


@dataclass(frozen=True)
class Engine:
    """An engine over the sites of a call: parts of the phase it works (`busy` on average, `busiest` on one site) and
    waits, on average, for pages, for room, and for lines of the network."""

    name: str
    busy: float
    busiest: float
    pages: float
    room: float
    lines: float


@dataclass(frozen=True)
class CallTime:
    """A call of body `body`: `cycles` until its last page has landed, the fixed cost of a section included.

    `memory`, `sent`: bytes moved from and to memory, and between sites; `compute`: cycles of its operations on all
    sites of the chip at full rate; `needed`: cycles of the memory, placed well, for what must be moved once.
    """

    body: int
    cycles: float
    engines: tuple[Engine, ...]
    memory: int
    sent: int
    compute: float
    needed: float

    @property
    def roofline(self) -> float:
        """Cycles no plan can do without: of the operations, or of the memory."""
        return max(self.compute, self.needed)

    @property
    def ratio(self) -> float | None:
        """How many times the roofline the call takes; None where nothing is needed."""
        return self.cycles / self.roofline if self.roofline else None


@dataclass(frozen=True)
class PhaseTime:
    """A phase: cycles with the fixed ones of its start and barrier (`fixed`); parts of it that the banks work, on
    average and the busiest; that the busiest port of a site and the busiest line of the network do."""

    cycles: float
    fixed: float
    calls: tuple[CallTime, ...]
    banks: float
    bank: float
    port: float
    line: float

    def bound(self, call: CallTime) -> str:
        """What keeps `call` from being faster: what works most of the time, or "waiting"."""
        found = [("fixed", self.fixed / self.cycles), *((e.name, e.busiest) for e in call.engines)]
        found += [("memory", self.bank), ("network", max(self.port, self.line))]
        name, part = max(found, key=lambda x: x[1])
        return name if part >= BUSY_ENOUGH else "waiting"


@dataclass(frozen=True)
class SectionTime:
    """All calls of one body: how many, their cycles and bytes together; the longest of them, with its phase."""

    body: int
    calls: int
    cycles: float
    memory: int
    longest: CallTime
    phase: PhaseTime

    @property
    def bound(self) -> str:
        """What binds the longest call."""
        return self.phase.bound(self.longest)


@dataclass(frozen=True)
class ProgramTime:
    """A program: `phases` by number among the distinct ones `times`, in order."""

    phases: tuple[int, ...]
    times: tuple[PhaseTime, ...]

    @property
    def cycles(self) -> float:
        """Cycles of one run."""
        return sum(self.times[n].cycles for n in self.phases)

    @property
    def memory(self) -> int:
        """Bytes moved from and to memory."""
        return sum(call.memory for n in self.phases for call in self.times[n].calls)

    def sections(self) -> tuple[SectionTime, ...]:
        """The sections by body."""
        found: dict[int, list[tuple[PhaseTime, CallTime]]] = {}
        for number in self.phases:
            for call in self.times[number].calls:
                found.setdefault(call.body, []).append((self.times[number], call))
        out: list[SectionTime] = []
        for body, calls in sorted(found.items()):
            phase, longest = max(calls, key=lambda x: x[1].cycles)
            total, moved = sum(call.cycles for _, call in calls), sum(call.memory for _, call in calls)
            out.append(SectionTime(body, len(calls), total, moved, longest, phase))
        return tuple(out)
