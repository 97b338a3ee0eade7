"""`spatial calibrate`: plans priced and timed side by side, what was measured of them, and figures that follow from it.

`spatial calibrate SOURCE --target T`: of each section the compiler's own choice and the best plan of each way of moving
pages, with its price, its time by the cycle twin, and the time that a ledger has of it. Without a source, `--ledger`
alone sets prices beside the measurements of a ledger, `--enter FILE` enters measurements into it, and `--fit` proposes
figures of the target that fit them; `-o` writes these as a new target, and never over a file.

JSON: `target`, `clock`; of a source `sections` with their `candidates`; of a ledger `entered`, `measurements`,
`beyond`, `errors` and `fit`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spatial.cli import measured
from spatial.cli.output import print_json
from spatial.errors import Refused, UsageError

if TYPE_CHECKING:
    from spatial.calibration.candidates import Candidate
    from spatial.calibration.measurements import Measurement
    from spatial.calibration.sections import Section
    from spatial.lowering import ProgramLowering
    from spatial.plan.knobs import Knobs

HEAD = ("candidate", "arrangement", "priced", "timed", "off", "measured", "bound by", "plan")


@dataclass(frozen=True)
class _Shown:
    """A candidate; cycles by the twin, or why it is not timed; cycles that were measured, if a ledger has them."""

    candidate: Candidate
    timed: float | None
    refused: str | None
    measured: float | None


def run(options: argparse.Namespace) -> int:
    """Calibrate."""
    if options.source is None:
        return measured.run(options)
    given = [name for name in ("enter", "fit", "out") if getattr(options, name) is not None]
    given += ["hold-out"] if options.held else []
    if given:
        told = " and ".join("-o" if name == "out" else f"--{name}" for name in given)
        raise UsageError(f"{told} beside a source", "figures are fitted to a ledger alone", "leave out the source")
    return _sections(options)


def _sections(options: argparse.Namespace) -> int:
    from spatial.calibration.sections import sections_of
    from spatial.cli.jobs import job_of
    from spatial.plan.knobs import knobs_of

    want = knobs_of(options.knobs)
    job = job_of(options)
    lowering, sections = sections_of(job.lifted, job.tables, job.target, job.assume)
    _whole(lowering)
    ledger = measured.read(options.ledger, job.target) if options.ledger is not None else []
    wanted = [(n, s) for n, s in enumerate(sections) if options.section in (None, n)]
    if not wanted:
        raise UsageError(f"there is no section {options.section}", f"there are {len(sections)}, counted from 0")
    found = [(n, s, _shown(s, want, ledger)) for n, s in wanted]
    if options.json:
        told = [_record(n, s, _kinds(lowering, s), want, shown) for n, s, shown in found]
        print_json("calibrate", {"target": job.target.name, "clock": job.target.clock, "sections": told})
        return 0
    for n, section, shown in found:
        for line in _lines(n, section, _kinds(lowering, section), want, shown):
            print(line)
    return 0


def _whole(lowering: ProgramLowering) -> None:
    from spatial.build.steps.missing import problems_of

    if lowering.whole() is None:
        counts = lowering.lowered, lowering.statements
        raise Refused(problems_of("lowered", *counts, lowering.missing, lowering.depending))


def _kinds(lowering: ProgramLowering, section: Section) -> list[str]:
    """The kinds of the statements that are a section."""
    return sorted({m.kind for m in lowering.made if section.made in m.bodies})


def _shown(section: Section, want: Knobs, ledger: Sequence[Measurement]) -> list[_Shown]:
    from spatial.calibration.candidates import candidates_of

    mine = measured.of_section(ledger, section)
    return [_timed(c, section, mine) for c in candidates_of(section.template, section.target, want)]


def _timed(candidate: Candidate, section: Section, mine: Sequence[Measurement]) -> _Shown:
    from spatial.calibration.candidates import built
    from spatial.calibration.sections import alone
    from spatial.simulate.twin.clock import time_program

    found = measured.cycles_of(mine, candidate, section)
    try:
        program = alone(built(section.template, candidate.plan, section.target))
        return _Shown(candidate, time_program(program, section.target).cycles, None, found)
    except Refused as refused:
        return _Shown(candidate, None, refused.problems[0].what, found)


def _record(number: int, section: Section, kinds: list[str], want: Knobs, shown: Sequence[_Shown]) -> dict[str, object]:
    sites = [section.target.columns, section.target.rows]
    told = [_candidate(x) for x in shown]
    return {"number": number, "kinds": kinds, "sites": sites, "knobs": str(want), "candidates": told}


def _candidate(x: _Shown) -> dict[str, object]:
    from spatial.plan.knobs import blocked

    plan = x.candidate.plan
    return {
        "kind": x.candidate.kind,
        "arrangement": x.candidate.arrangement,
        "block": blocked(plan),
        "rect": list(plan.rect),
        "multicast": list(plan.multicast),
        "scatter": [name for name, _ in plan.scatter],
        "resident": list(plan.resident),
        "buffers": _buffers(x.candidate),
        "engines": dict(plan.engines),
        "priced": plan.cycles,
        "timed": x.timed,
        "refused": x.refused,
        "measured": x.measured,
        "bound": x.candidate.bound,
        "roofline": x.candidate.ratio,
    }


def _buffers(candidate: Candidate) -> int:
    return max((n for _, n in candidate.plan.depth), default=0)


def _lines(number: int, section: Section, kinds: list[str], want: Knobs, shown: Sequence[_Shown]) -> Iterator[str]:
    chip = section.target
    yield f"section {number}: {', '.join(kinds)} on up to {chip.columns} x {chip.rows} sites"
    if not shown:
        yield f"  no legal plan has {want}"
        return
    yield from measured.table([HEAD, *map(_cells, shown)], right=(2, 3, 4, 5))
    yield from (f"  {x.candidate.kind} is not timed: {x.refused}" for x in shown if x.refused is not None)


def _cells(x: _Shown) -> tuple[str, ...]:
    priced, timed = x.candidate.plan.cycles, x.timed
    off = "-" if timed is None else f"{priced / timed - 1.0:+.1%}"
    times = [f"{priced:.0f}", "-" if timed is None else f"{timed:.0f}", off]
    times.append("-" if x.measured is None else f"{x.measured:.0f}")
    return x.candidate.kind, x.candidate.arrangement, *times, x.candidate.bound, _plan(x.candidate)


def _plan(candidate: Candidate) -> str:
    """The knobs of a plan, as they are held."""
    from spatial.plan.knobs import blocked

    plan = candidate.plan
    told = [f"{name}={factor}" for name, factor in blocked(plan).items()] + [f"rect={plan.rect[0]}x{plan.rect[1]}"]
    scatter = tuple(name for name, _ in plan.scatter)
    for name, loads in (("multicast", plan.multicast), ("scatter", scatter), ("resident", plan.resident)):
        told += [f"{name}={'+'.join(loads)}"] if loads else []
    return " ".join([*told, f"buffers={_buffers(candidate)}"])
