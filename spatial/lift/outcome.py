"""What lifting hands back where something is refused: all that is missing, and the graph of the rest, for the counts.

The rest is what the program's roots, and the statements that are missing, read and is lifted. It is no program and is
never taken for one: `Lifted.graph` stays None.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from spatial.ir.graph import Lifted, Missing
from spatial.lift.algebra.values import Node
from spatial.lift.canonical.graph import Roots, canonical_graph
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import NotLifted, Poison, Seq
from spatial.lift.context.survey import Noted, Survey
from spatial.lift.roots import Refuse, last_span, wanted_roots
from spatial.logos import syntax
from spatial.logos.syntax import NO_SPAN, Span


class Numbers:
    """The statements of a source, counted from 0 in the order of its text."""

    def __init__(self, program: syntax.Program) -> None:
        bodies = (*(f.body for f in program.functions), program.main)
        spans = [s.span for body in bodies for s in syntax.statements(body)]
        self.files = {file: n for n, file in enumerate(dict.fromkeys(s.file for s in spans))}
        self.starts = sorted(self.key(s.file, s.line, s.column) for s in spans)

    def key(self, file: str, line: int, column: int) -> tuple[int, int, int]:
        """Where a place stands in the text."""
        return self.files.get(file, 0), line, column

    def of(self, file: str, line: int, column: int) -> int:
        """The statement that begins at a place, or last before it."""
        return max(bisect_right(self.starts, self.key(file, line, column)) - 1, 0)


def numbered(lifted: Lifted, program: syntax.Program) -> Lifted:
    """`lifted`, its statements told by their numbers in the text."""
    numbers = Numbers(program)
    origins = tuple(replace(o, statement=numbers.of(o.file, o.line, o.column)) for o in lifted.origins)
    records = tuple(replace(r, statement=numbers.of(r.file, r.line, r.column)) for r in lifted.recorded)
    return replace(lifted, origins=origins, recorded=records)


def refusal(program: syntax.Program, noted: Sequence[Noted], rest: Lifted | None) -> Lifted:
    """What is missing, in the order of the text, beside what was lifted all the same."""
    numbers = Numbers(program)

    def missing(n: Noted) -> Missing:
        problem = n.problem
        span = (problem.span if n.root else n.span) or NO_SPAN
        kind = problem.kind if n.root else "depends"
        number = numbers.of(span.file, span.line, span.column)
        return Missing(number, problem.binder, kind, problem.why, problem.mend, span.file, span.line, span.column)

    def place(m: Missing) -> tuple[int, int, int]:
        return numbers.key(m.file, m.line, m.column)

    roots = sorted((missing(n) for n in noted if n.root), key=place)
    parts = _parts([n.span for n in noted if n.root], numbers)
    depending = sorted((missing(n) for n in noted if not n.root and not parts(n.span)), key=place)
    count = len(roots) + len(depending)
    if rest is None:
        return Lifted(None, (), count, 0, 0, 0, tuple(roots), tuple(depending))
    rest = numbered(rest, program)
    return replace(
        rest,
        graph=None,
        statements=rest.statements + count,
        missing=tuple(roots),
        depending=tuple(depending),
        partial=rest.graph,
    )


def _parts(spans: Sequence[Span], numbers: Numbers) -> Callable[[Span], bool]:
    """Whether a span lies in one of `spans`: a part of a refused statement is not told beside it."""
    ordered = sorted(
        (numbers.key(s.file, s.line, s.column), numbers.key(s.file, s.end_line, s.end_column)) for s in spans
    )
    starts = [start for start, _ in ordered]
    ends = list(accumulate((end for _, end in ordered), max))

    def inside(span: Span) -> bool:
        before = bisect_right(starts, numbers.key(span.file, span.line, span.column))
        return before > 0 and numbers.key(span.file, span.end_line, span.end_column) <= ends[before - 1]

    return inside


def liftable(machine: Machine, survey: Survey, results: Sequence[str] | None, program: syntax.Program) -> Lifted | None:
    """The graph of all that is lifted and wanted, if there is any; what only now turns out refused is noted."""
    end = last_span(program)
    blamed = {n.problem.binder for n in survey.noted}

    def refuse(problem: NotLifted) -> None:
        if problem.silent and problem.binder in blamed:
            return
        span = problem.span or end
        survey.note(problem.at(end), span)

    outside = wanted_roots(machine, results, program, refuse)
    shown = tuple(v for v in outside.shows if not isinstance(v, Poison))
    parts = [
        *(Roots((r,), (), ()) for r in outside.results),
        *(Roots((), (s,), ()) for s in outside.state),
        *(Roots((), (), (line,)) for line in shown),
    ]
    held = {id(value) for _, value in outside.results}
    reads = [
        Roots(((name, value),), (), ())
        for name, value in survey.reads.values()
        if isinstance(value, Seq | Node) and id(value) not in held and _outside_loops(value)
    ]
    sound = _sound(parts, machine, refuse) + _sound(reads, machine, lambda p: refuse(p) if p.span else None)
    try:
        return canonical_graph(_together(sound), machine) if sound else None
    except NotLifted as problem:
        refuse(problem)
        return None


def _sound(parts: Sequence[Roots], machine: Machine, refuse: Refuse) -> list[Roots]:
    """Those of the roots whose graphs can be made; of each other, why not."""
    if not parts:
        return []
    try:
        canonical_graph(_together(parts), machine)
    except NotLifted as problem:
        if len(parts) == 1:
            refuse(problem)
            return []
        half = len(parts) // 2
        return _sound(parts[:half], machine, refuse) + _sound(parts[half:], machine, refuse)
    return list(parts)


def _outside_loops(value: Seq | Node) -> bool:
    """Whether a value depends on no loop's variable."""
    if isinstance(value, Node):
        return not value.free
    return not value.tensor.free and not any(p.free for p in value.prefix)


def _together(parts: Sequence[Roots]) -> Roots:
    """All that several roots read."""
    return Roots(
        tuple(r for p in parts for r in p.results),
        tuple(s for p in parts for s in p.state),
        tuple(line for p in parts for line in p.shows),
    )
