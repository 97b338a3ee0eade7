"""`spatial compile --trace-passes`: what each pass changed in each section, as lines, as records, and as files.

Lines, records and files are the same on every run and machine. The time that passes take is none of them: it is told
apart, on standard error.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spatial.errors import UsageError, counted

if TYPE_CHECKING:
    from spatial.cli.jobs import Job
    from spatial.ir.body import Body, Plan
    from spatial.ir.graph import Origin
    from spatial.lowering import ProgramLowering
    from spatial.passes.trace import History, Trace, Traced
    from spatial.target import Target

Record = dict[str, Any]

_NAMES = 8
"""Parts of a body that are named in one line before the rest is counted; records name all."""


@dataclass(frozen=True)
class Known:
    """What is known of bodies beside their sections: the number by which the program calls one, the statements it was
    made for; and the chip."""

    numbers: Mapping[Body, int]
    origins: Mapping[Body, Sequence[Origin]]
    chip: Target


def known(job: Job, lowering: ProgramLowering | None) -> Known:
    """What is known once the lowering has ended; next to nothing where it has not."""
    if lowering is None:
        return Known({}, {}, job.target)
    program = lowering.whole()
    numbers = {} if program is None else {body: n for n, body in enumerate(program.bodies)}
    origins = {(o.node, o.inner): o for o in job.lifted.origins}
    found: dict[Body, dict[Origin, None]] = defaultdict(dict)
    for made in lowering.made:
        if (origin := origins.get((made.node, made.inner))) is not None:
            for body in made.bodies:
                found[body][origin] = None
    return Known(numbers, {body: list(those) for body, those in found.items()}, job.target)


# ---------------------------------------------------------------- as records


def records(trace: Trace, known: Known) -> list[Record]:
    """A record of each distinct section and its passes, the template as if a pass had made it."""
    return [
        {
            "section": n,
            "body": _number(history, known),
            "statements": [_statement(o) for o in _origins(history, known)],
            "sites": [history.target.columns, history.target.rows],
            "passes": [_made("template", None, history.template), *(_record(t) for t in history.passes if t.after)],
            "refused": _refused(history),
        }
        for n, history in enumerate(trace.sections)
    ]


def _statement(o: Origin) -> Record:
    return {"statement": o.statement, "binder": o.name, "file": o.file, "line": o.line, "column": o.column}


def _record(traced: Traced) -> Record:
    assert traced.after is not None
    return _made(traced.name, traced.before, traced.after)


def _made(name: str, before: Body | None, after: Body) -> Record:
    from spatial.passes.trace import Change, change, counts_of, kinds_of

    found = Change() if before is None else change(before, after)
    return {
        "name": name,
        "phase": after.phase,
        "changed": before != after,
        "kinds": kinds_of(after),
        **counts_of(after),
        "added": list(found.added),
        "removed": list(found.removed),
        "altered": list(found.altered),
    }


def _number(history: History, known: Known) -> int | None:
    made = history.made()
    return None if made is None else known.numbers.get(made)


def _origins(history: History, known: Known) -> Sequence[Origin]:
    made = history.made()
    return () if made is None else known.origins.get(made, ())


def _refused(history: History) -> str | None:
    """The pass that refused the section."""
    return next((t.name for t in history.passes if t.error is not None), None)


# ---------------------------------------------------------------- as lines


def lines(trace: Trace, known: Known) -> Iterator[str]:
    """Each section, how it was selected, then a line for each pass and what it changed below."""
    for n, history in enumerate(trace.sections):
        yield from _wrapped(f"section {n}: {_about(history, known)}", "", "  ")
        yield from _wrapped(f"template: {_whole(history.template)}", "  ", "    ")
        for traced in history.passes:
            yield from _pass(traced)


def _about(history: History, known: Known) -> str:
    """Which body of the program it is, and what for."""
    number, origins, here = _number(history, known), _origins(history, known), history.target
    parts = ["no body of a program" if number is None else f"body {number} of the program"]
    if origins:
        first, more = origins[0], len(origins) - 1
        place = f"{Path(first.file).name}:{first.line}:{first.column} {first.name or '-'}"
        parts.append(f"for {place}" + (f" and {counted(more, 'more statement')}" if more else ""))
    if (here.columns, here.rows) != (known.chip.columns, known.chip.rows):
        parts.append(f"on {here.columns} x {here.rows} of the sites")
    return ", ".join(parts)


def _whole(body: Body) -> str:
    """The counts of a template."""
    from spatial.passes.trace import counts_of, kinds_of

    counts = counts_of(body)
    kinds = ", ".join(f"{kind} {n}" for kind, n in kinds_of(body).items())
    told = (counted(counts[name], name.removesuffix("s")) for name in ("stages", "queues", "items"))
    stages, queues, items = told
    return f"{stages} ({kinds}), {queues}, {items}"


def _pass(traced: Traced) -> Iterator[str]:
    from spatial.passes.trace import change

    before, after = traced.before, traced.after
    if after is None:
        yield from _wrapped(f"{traced.name} refuses it: {_why(traced)}", "  ", "    ")
    elif after == before:
        yield f"  {traced.name}: nothing changed"
    else:
        phase = [] if after.phase == before.phase else [after.phase]
        told = ", ".join([*phase, *_counted(before, after)]) or "changed"
        yield from _wrapped(f"{traced.name}: {told}", "  ", "    ")
        if before.plan is None and after.plan is not None:
            yield from _wrapped(_planned(after.plan), "    ", "      ")
        found = change(before, after)
        added = tuple(part for part in found.added if part != "plan")
        for what, parts in (("added", added), ("removed", found.removed), ("altered", found.altered)):
            if parts:
                yield from _wrapped(f"{what} {_named(parts)}", "    ", "      ")


def _why(traced: Traced) -> str:
    return traced.error.problems[0].what if traced.error is not None and traced.error.problems else ""


def _planned(plan: Plan) -> str:
    blocks = [f"{coordinate} by {factor}" for coordinate, factor in plan.block]
    scattered = [name for name, _ in plan.scatter]
    what = (("blocked", blocks), ("multicast", plan.multicast), ("scattered", scattered), ("resident", plan.resident))
    told = [f"{word} {', '.join(names)}" for word, names in what if names]
    return "; ".join([f"plan {plan.label or 'plain'} for {plan.rect[0]} x {plan.rect[1]} sites", *told])


def _counted(before: Body, after: Body) -> Iterator[str]:
    """The counts that are others than they were; the kinds of stages in brackets."""
    from spatial.passes.trace import counts_of, kinds_of

    old, new = kinds_of(before), kinds_of(after)
    kinds = [f"{k} {old.get(k, 0)} -> {new.get(k, 0)}" for k in {**old, **new} if old.get(k, 0) != new.get(k, 0)]
    counts, others = counts_of(before), counts_of(after)
    for name, n in counts.items():
        if others[name] != n:
            yield f"{name} {n} -> {others[name]}" + (f" ({', '.join(kinds)})" if name == "stages" else "")


def _named(parts: Sequence[str]) -> str:
    """Parts by kind: `stages a and b, queue c, plan`."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for part in parts[:_NAMES]:
        kind, _, name = part.partition(" ")
        kinds[kind].append(name)
    told = [kind + ("s" if len(names) > 1 else "") + f" {' '.join(names)}".rstrip() for kind, names in kinds.items()]
    more = len(parts) - _NAMES
    return ", ".join(told) + (f", and {more} more" if more > 0 else "")


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent=first, subsequent_indent=rest, break_long_words=False)


def times(trace: Trace) -> Iterator[str]:
    """The time each pass took, over all sections, in the pinned order."""
    spent: dict[str, float] = defaultdict(float)
    for history in trace.sections:
        for traced in history.passes:
            spent[traced.name] += traced.time
    yield f"passes over {counted(len(trace.sections), 'section')}: {1e3 * sum(spent.values()):.1f} ms"
    for name, seconds in spent.items():
        yield f"  {name:<22}{1e3 * seconds:>10.1f} ms"


# ---------------------------------------------------------------- as files


def writable(folder: Path) -> None:
    """Raises UsageError where `folder` holds anything: an earlier trace must not show through a new one."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is no empty folder", "a trace is not mixed with other files", "name a new folder")


def write(trace: Trace, folder: Path) -> None:
    """`section-000/0-template.txt`, and a file for each pass that changed the section, numbered in the pinned order."""
    from spatial.ir.text import print_body
    from spatial.passes import PASS_ORDER

    order = {name: n for n, (name, _) in enumerate(PASS_ORDER, 1)}
    width = max(3, len(str(len(trace.sections) - 1)))
    for n, history in enumerate(trace.sections):
        place = folder / f"section-{n:0{width}}"
        place.mkdir(parents=True)
        texts = {"0-template": history.template}
        texts |= {f"{order[t.name]}-{t.name}": t.after for t in history.passes if t.after not in (None, t.before)}
        for name, body in texts.items():
            (place / f"{name}.txt").write_text(print_body(body), encoding="utf-8", newline="\n")
