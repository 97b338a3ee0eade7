"""`spatial compile SOURCE --target T …` or `DEPLOYMENT:PROGRAM`: lower one program, and say what became of it.

A single source takes its sizes from `--size`; any other name it reads is an input or weight whose shape its accesses
imply. A deployment's program is compiled as the deployment has it: layouts are agreed over all its programs.

JSON: `whole`, `statements`, `lowered`, `views`, `fills`, `dead`, `sections`, `kinds` (name to count), `distinct`
bodies, `phases`, `state`, `missing` (statement, binder, kind, why, mend, file, line, column); with `--explain` and
`--trace-passes` more. Exit 0 only when whole.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spatial.cli import trace as tracing
from spatial.cli.explain import explained, told
from spatial.cli.jobs import Job, job_of
from spatial.cli.output import print_json, write_whole
from spatial.errors import Refused, Unsupported

if TYPE_CHECKING:
    from spatial.ir.graph import Lifted, Missing
    from spatial.ir.program import Program
    from spatial.lowering import ProgramLowering
    from spatial.passes.trace import Trace


def run(options: argparse.Namespace) -> int:
    """Compile."""
    from spatial.build.steps.missing import problems_of

    if options.tp is not None:
        raise Unsupported("tensor parallelism is not supported by this version", "", "leave out --tp")
    if options.trace_dir is not None:
        tracing.writable(options.trace_dir)
    job = job_of(options)
    lowering, trace = _traced(options, job)
    program = lowering.whole()
    more = explained(job, lowering) if options.explain else {}
    if options.json:
        passes = {"trace": tracing.records(trace, tracing.known(job, lowering))} if _traces(options) else {}
        print_json("compile", _record(job.lifted, lowering) | more | passes)
    else:
        for line in (*_told(job.lifted, lowering), *(told(more) if more else ())):
            print(line)
    for line in () if options.json else _more(options, trace, job, lowering):
        print(line)
    if _traces(options):
        _timed(trace)
    if program is None:
        raise Refused(
            problems_of("lowered", lowering.lowered, lowering.statements, lowering.missing, lowering.depending)
        )
    if options.out is not None:
        _write(options.out, program)
    return 0


def _traces(options: argparse.Namespace) -> bool:
    return options.trace_passes or options.trace_dir is not None


def _traced(options: argparse.Namespace, job: Job) -> tuple[ProgramLowering, Trace]:
    """The lowering, and what its passes did; where a fault of ours ends it, that is told before the fault is."""
    from spatial.lowering import Options, lower
    from spatial.passes.trace import Trace

    trace, ended = Trace(time.perf_counter), False
    try:
        lowering = lower(job.lifted, job.tables, job.target, Options(assume=job.assume, run=trace.run))
        ended = True
        return lowering, trace
    finally:
        if options.trace_dir is not None:
            tracing.write(trace, options.trace_dir)
        if not ended and _traces(options):
            for line in tracing.lines(trace, tracing.known(job, None)):
                print(line, file=sys.stderr)


def _timed(trace: Trace) -> None:
    for line in tracing.times(trace):
        print(line, file=sys.stderr)


# ---------------------------------------------------------------- what is told


def _told(lifted: Lifted, lowering: ProgramLowering) -> Iterator[str]:
    yield f"lowered {lowering.lowered} of {lowering.statements} statements"
    yield f"views {lifted.views}, fills {lifted.fills}, duplicates {lifted.duplicates}, unread {lifted.dead}"
    yield f"sections {lowering.sections}"
    for kind, count in lowering.kinds:
        yield f"  {kind}: {count}"
    program = lowering.whole()
    if program is not None:
        yield f"phases {len(program.phases)}, distinct bodies {len(program.bodies)}"
    if lowering.state:
        yield f"state {', '.join(lowering.state)}"


def _record(lifted: Lifted, lowering: ProgramLowering) -> dict[str, object]:
    program = lowering.whole()
    return {
        "whole": program is not None,
        "statements": lowering.statements,
        "lowered": lowering.lowered,
        "views": lifted.views,
        "fills": lifted.fills,
        "duplicates": lifted.duplicates,
        "dead": lifted.dead,
        "sections": lowering.sections,
        "kinds": dict(lowering.kinds),
        "distinct": None if program is None else len(program.bodies),
        "phases": None if program is None else len(program.phases),
        "state": list(lowering.state),
        "missing": [_missing(m) for m in lowering.missing],
        "depending": [_missing(m) for m in lowering.depending],
    }


def _missing(m: Missing) -> dict[str, object]:
    return {
        "statement": m.statement,
        "binder": m.binder,
        "kind": m.kind,
        "why": m.why,
        "mend": m.mend,
        "file": m.file,
        "line": m.line,
        "column": m.column,
    }


def _more(options: argparse.Namespace, trace: Trace, job: Job, lowering: ProgramLowering) -> Iterator[str]:
    """The plan of each distinct section, and what its passes changed, where they are asked for."""
    for number, history in enumerate(trace.sections):
        made = history.made()
        if options.explain and made is not None and made.plan is not None:
            plan = made.plan
            yield f"section {number}: {plan.label or 'plain'} on {plan.rect[0]} x {plan.rect[1]} sites"
            yield f"  price {plan.cycles:.0f} cycles, {plan.traffic} bytes moved"
            scattered = tuple(name for name, _ in plan.scatter)
            for what, names in (
                ("multicast", plan.multicast),
                ("scattered", scattered),
                ("resident", plan.resident),
            ):
                if names:
                    yield f"  {what}: {', '.join(names)}"
    if _traces(options):
        yield from tracing.lines(trace, tracing.known(job, lowering))


def _write(path: Path, program: Program) -> None:
    """Write `program` whole or not at all, in text form where the name ends in .txt."""
    from spatial.ir import wire
    from spatial.ir.text import print_program

    data = print_program(program).encode() if path.suffix == ".txt" else wire.pack(program)
    write_whole(path, lambda at: at.write_bytes(data))
