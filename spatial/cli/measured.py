"""What `spatial calibrate` does with a ledger: set prices beside what was measured, enter more, and fit figures.

The records are those that `--json` prints; the text says the same in tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spatial.cli.output import print_json, write_whole
from spatial.cli.places import target_file, target_of
from spatial.errors import EnvironmentFault, Refused, UsageError, nearest

if TYPE_CHECKING:
    from spatial.calibration.candidates import Candidate
    from spatial.calibration.measurements import Measurement
    from spatial.calibration.pricing import Priced
    from spatial.calibration.refit import Errors, Fit
    from spatial.calibration.sections import Section
    from spatial.target import Target

Record = dict[str, object]

TAG = "refit"
"""The source that fitted figures name."""


def run(options: argparse.Namespace) -> int:
    """The command without a source."""
    for name in ("size", "results", "q8", "dense", "knobs"):
        if getattr(options, name):
            raise UsageError(f"--{name} without a source", "it is about a program", "name a source, or leave it out")
    if options.target is None or options.ledger is None:
        raise UsageError("nothing to calibrate", "", "name a source and --target, or --target and --ledger")
    if options.out is not None and options.fit is None:
        raise UsageError("-o without --fit", "what is written is a target with fitted figures", "add --fit")
    if options.held and options.fit is None:
        raise UsageError("--hold-out without --fit", "only a fit holds measurements out", "add --fit")
    target = target_of(options)
    fields = _fields(options.fit) if options.fit is not None else ()
    ledger, entered = _ledger(options, target)
    told: Record = {"target": target.name, "clock": target.clock, "entered": entered}
    lines = list(_entered(entered))
    if options.enter is None or options.fit is not None:
        record, more = _compared([m for m in ledger if m.target == target.name], target, fields, options)
        told |= record
        lines += more
    if options.json:
        print_json("calibrate", told)
        return 0
    for line in lines:
        print(line)
    return 0


def read(path: Path, target: Target) -> list[Measurement]:
    """The measurements of a ledger on a target. Raises SpecError or EnvironmentFault."""
    from spatial.build.measured_files import read_measurements

    return [m for m in read_measurements(path, target.name) if m.target == target.name]


# ---------------------------------------------------------------- beside candidates


def of_section(ledger: Sequence[Measurement], section: Section) -> list[Measurement]:
    """The measurements of a ledger that are of a section, on the chip as it is."""
    from spatial.calibration.measurements import Conditions
    from spatial.calibration.operations import template_of
    from spatial.calibration.sections import likeness

    mine = likeness(section.template)
    found: list[Measurement] = []
    for m in ledger:
        if m.conditions != Conditions():
            continue
        try:
            if likeness(template_of(m.what, section.target)) == mine:
                found.append(m)
        except Refused:
            continue  # an operation that this chip has no template of is no section
    return found


def cycles_of(mine: Sequence[Measurement], candidate: Candidate, section: Section) -> float | None:
    """What was measured of a candidate: of its arrangement with knobs that it has, or as the compiler's own choice."""
    from spatial.calibration.arrangements import packing
    from spatial.calibration.knobs import has

    for m in mine:
        mine_too = m.label in (candidate.kind, candidate.arrangement)
        if mine_too and has(candidate.plan, packing(section.template, candidate.plan), m.knobs):
            return m.cycles(section.target)
    return None


# ---------------------------------------------------------------- the ledger


def _ledger(options: argparse.Namespace, target: Target) -> tuple[list[Measurement], list[Record]]:
    """The ledger, with what is entered into it, which is written; and what became of each entry."""
    from spatial.build.measured_files import read_measurements, written
    from spatial.calibration.measurements import entered

    path: Path = options.ledger
    if options.enter is None:
        return read_measurements(path, target.name), []
    before = read_measurements(path, target.name) if path.exists() else []
    more = read_measurements(options.enter, target.name)
    known = {m.key: m for m in before}
    found: list[Record] = []
    for m in more:
        old = known.get(m.key)
        found.append({**_what(m), "time": _time(m), "before": None if old is None else _time(old)})
    after = entered(before, more)
    write_whole(path, lambda at: at.write_bytes(written(after, path.suffix)))
    return after, found


def _entered(rows: Sequence[Record]) -> Iterator[str]:
    for row in rows:
        was = f", before {row['before']}" if row["before"] is not None else ""
        yield f"entered {row['op']} {row['shape']} {row['precision']} {row['plan']}: {row['time']}{was}"


def _time(m: Measurement) -> str:
    return f"{m.amount:g} {m.unit}"


def _what(m: Measurement) -> Record:
    shape, plan = "x".join(map(str, m.what.shape)), f"{m.label} {m.knobs}".strip()
    told = {"op": m.what.name, "shape": shape, "precision": m.what.precision, "plan": plan, "chip": str(m.conditions)}
    return {**told, "note": m.note}


# ---------------------------------------------------------------- prices, errors, figures


def _compared(
    ledger: Sequence[Measurement], target: Target, fields: Sequence[str], options: argparse.Namespace
) -> tuple[Record, list[str]]:
    """Prices beside a ledger's measurements, and figures fitted to them if any are asked for."""
    from spatial.calibration.pricing import priced
    from spatial.calibration.refit import errors, fit, halves

    good, beyond = priced(ledger, target)
    if not good:
        why = "; ".join(dict.fromkeys(b.why for b in beyond)) or f"the ledger has none of {target.name}"
        raise Refused("no measurement has a plan here that it could be of", why)
    given, held = halves(good) if options.held else (good, [])
    found = fit(given, target, fields, held) if fields else None
    chip = target if found is None else found.target
    rows = [_row(x, x.under(chip), target, x in held) for x in good]
    told: Record = {
        "measurements": rows,
        "beyond": [{**_what(b.measurement), "why": b.why} for b in beyond],
        "errors": _errors(errors(good, chip)),
        "fit": None if found is None else _fit(found),
    }
    lines = list(_side_by_side(rows)) + [f"no plan for {b.measurement.what}: {b.why}" for b in beyond]
    if found is None:
        return told, [*lines, f"prices: {_said(errors(good, target))}"]
    if options.out is not None:
        _write(options, found, given, held)
    return told, [*lines, *_proposed(found)]


def _row(x: Priced, under: float, target: Target, held: bool) -> Record:
    time = x.measurement.cycles(target)
    told = {**_what(x.measurement), "measured": time, "priced": x.cycles, "fitted": under}
    return {**told, "error": under / time - 1.0, "bound": x.bound, "held": held}


def _side_by_side(rows: Sequence[Record]) -> Iterator[str]:
    head = ("operation", "chip", "plan", "note", "measured", "priced", "fitted", "off", "bound by")
    cells: list[tuple[str, ...]] = [head]
    for r in rows:
        what = f"{r['op']} {r['shape']} {r['precision']}"
        told = (what, str(r["chip"]) or "-", str(r["plan"]), str(r["note"]) or "-")
        numbers = (f"{r['measured']:.0f}", f"{r['priced']:.0f}", f"{r['fitted']:.0f}", f"{r['error']:+.1%}")
        cells.append((*told, *numbers, f"{r['bound']}{', held out' if r['held'] else ''}"))
    yield from table(cells, right=(4, 5, 6, 7))


def _errors(found: Errors) -> Record:
    return {"count": found.count, "median": found.median, "percentile95": found.percentile, "most": found.most}


def _said(found: Errors) -> str:
    return (
        f"{found.count} measurements, off by {found.median:.1%} at the median, {found.percentile:.1%} at the 95th "
        f"percentile, {found.most:.1%} at most"
    )


def _fit(found: Fit) -> Record:
    figures = [
        {"figure": f.name, "old": f.old, "new": f.new, "told": f.told, "kind": "derived" if f.told else None}
        for f in found.figures
    ]
    held = None if found.held is None else [_errors(e) for e in found.held]
    return {"figures": figures, "fitted": [_errors(e) for e in found.fitted], "held": held}


def _proposed(found: Fit) -> Iterator[str]:
    yield f"before: {_said(found.fitted[0])}"
    yield f"fitted: {_said(found.fitted[1])}"
    if found.held is not None:
        yield f"held out, before: {_said(found.held[0])}"
        yield f"held out, after:  {_said(found.held[1])}"
    cells = [("figure", "old", "new", "kind")]
    for f in found.figures:
        new, kind = (f"{f.new:g}", "derived") if f.told else ("-", "not told")
        cells.append((f.name, f"{f.old:g}", new, kind))
    yield from table(cells, right=(1, 2))


def _fields(text: str) -> tuple[str, ...]:
    """The figures that `--fit` names; fixed costs where it names none. Raises UsageError."""
    from spatial.calibration.refit import FIELDS, FIXED

    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip())) or FIXED
    for name in names:
        if name not in FIELDS:
            known = nearest(name, FIELDS) or f"known: {', '.join(FIELDS)}"
            raise UsageError(f"{name} is no figure that is fitted", "", known)
    return names


def _write(options: argparse.Namespace, found: Fit, given: Sequence[Priced], held: Sequence[Priced]) -> None:
    """Write the target with its fitted figures as a new file."""
    from spatial.build.target_figures import Figure, with_figures

    path: Path = options.out
    if path.exists():
        raise UsageError(f"{path} is there already", "a target is never written over", "name a new file")
    if path.suffix != ".yaml":
        raise UsageError(f"{path} is no target's name", "targets are .yaml files", f"write {path.name}.yaml")
    how = f"least squares over {len(given)} measured times, with the other figures of this source"
    if found.held is not None:
        errors = found.held[1]
        how += f"; {errors.count} held out are off by {errors.median:.1%} at the median"
    figures = {f.name: Figure(f.new, how, "derived") for f in found.figures if f.told}
    document = f"the measurements {options.ledger.name}, fitted by spatial calibrate"
    where = target_file(options)
    try:
        data = where.read_bytes()
    except OSError as error:
        raise EnvironmentFault(f"the target {where} cannot be read: {error.strerror}") from None
    text = with_figures(data, str(where), figures, TAG, document)
    write_whole(path, lambda at: at.write_bytes(text))


# ---------------------------------------------------------------- text


def table(rows: Sequence[Sequence[str]], right: Sequence[int]) -> Iterator[str]:
    """Rows of cells in columns, those numbered in `right` against their right edge."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        cells = [c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield "  " + "  ".join(cells).rstrip()
