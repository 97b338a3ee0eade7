"""`spatial time ARTIFACT [PROGRAM]`: how many cycles each program takes by the cycle twin, and what binds its sections.

A line for each distinct section, named as `show` names bodies: calls, their cycles together, cycles of the longest,
what binds that one, how many times the roofline it takes (the least its operations or its memory could take).

JSON: `target`, `clock`, `programs` (name, cycles, milliseconds, bytes, phases, sections with their engines).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spatial.build.artifacts import Artifact, open_artifact
from spatial.cli.output import print_json
from spatial.errors import UsageError, nearest

if TYPE_CHECKING:
    from spatial.ir.program import Program
    from spatial.simulate.twin.record import ProgramTime, SectionTime
    from spatial.target import Target

HEAD = ("section", "calls", "cycles", "longest", "bound by", "roofline")


def run(options: argparse.Namespace) -> int:
    """Time it."""
    from spatial.simulate.twin.clock import time_program

    artifact = open_artifact(options.artifact)
    target = _target(artifact, options)
    programs = _programs(artifact, options.program)
    found = {name: time_program(program, target) for name, program in programs.items()}
    if options.json:
        told = [_record(name, time, target) for name, time in found.items()]
        print_json("time", {"target": target.name, "clock": target.clock, "programs": told})
        return 0
    for name, time in found.items():
        for line in _lines(name, time, target):
            print(line)
    return 0


def _target(artifact: Artifact, options: argparse.Namespace) -> Target:
    if artifact.bundle is not None:
        return artifact.bundle.target
    if options.target is None:
        raise UsageError("a program alone names no chip", "", "say which with --target")
    from spatial.cli.places import target_of

    return target_of(options)


def _programs(artifact: Artifact, asked: str | None) -> dict[str, Program]:
    if artifact.bundle is None:
        assert artifact.program is not None
        programs = {"program": artifact.program}
    else:
        programs = {entry.name: entry.program for entry in artifact.bundle.entries}
    if asked is None:
        return programs
    if asked not in programs:
        raise UsageError(f"there is no program {asked}", f"there are {', '.join(programs)}", nearest(asked, programs))
    return {asked: programs[asked]}


def _milliseconds(time: ProgramTime, target: Target) -> float:
    return time.cycles / target.clock * 1e3


def _lines(name: str, time: ProgramTime, target: Target) -> Iterator[str]:
    took = f"{time.cycles:.0f} cycles, {_milliseconds(time, target):.4g} ms at {target.clock / 1e9:g} GHz"
    yield f"{name}: {took}, {len(time.phases)} phases, {time.memory} bytes of memory traffic"
    rows: list[tuple[str, ...]] = [HEAD]
    for section in time.sections():
        ratio = section.longest.ratio
        rows.append(
            (
                f"{name}:{section.body}",
                str(section.calls),
                f"{section.cycles:.0f}",
                f"{section.longest.cycles:.0f}",
                section.bound,
                "-" if ratio is None else f"{ratio:.2f}",
            )
        )
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    for row in rows:
        cells = [
            cell.ljust(w) if n in (0, 4) else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(cells).rstrip()


def _record(name: str, time: ProgramTime, target: Target) -> dict[str, object]:
    return {
        "name": name,
        "cycles": time.cycles,
        "milliseconds": _milliseconds(time, target),
        "bytes": time.memory,
        "phases": len(time.phases),
        "sections": [_section(name, section) for section in time.sections()],
    }


def _section(name: str, section: SectionTime) -> dict[str, object]:
    longest, phase = section.longest, section.phase
    return {
        "name": f"{name}:{section.body}",
        "calls": section.calls,
        "cycles": section.cycles,
        "longest": longest.cycles,
        "bound": section.bound,
        "roofline": longest.roofline,
        "bytes": section.memory,
        "sent": longest.sent,
        "banks": phase.banks,
        "bank": phase.bank,
        "network": max(phase.port, phase.line),
        "engines": [
            {"name": e.name, "busy": e.busy, "busiest": e.busiest, "pages": e.pages, "room": e.room, "lines": e.lines}
            for e in longest.engines
        ],
    }
