"""What kept a program from being lifted or lowered whole, as problems for people: one report of all of it."""

from __future__ import annotations

from collections.abc import Sequence

from spatial.errors import Place, Problem, counted
from spatial.ir.graph import NAMED, Missing


def problems_of(
    done: str, count: int, statements: int, missing: Sequence[Missing], depending: Sequence[Missing] = ()
) -> list[Problem]:
    """The fraction done ("lifted", "lowered"), up to `NAMED` missing statements by name, how many more there are, and
    what is not at fault but reads what is missing."""
    if not statements:
        return [Problem(m.why) for m in missing]
    told = f"{done} {count} of {counted(statements, 'statement')}"
    found = [Problem(told, "a program is made whole or not at all"), *map(_problem, missing[:NAMED])]
    more = len(missing) - NAMED
    if more > 0:
        found.append(Problem(f"and {more} more"))
    if depending:
        named = ", ".join(f"`{m.binder}` (line {m.line})" if m.binder else f"line {m.line}" for m in depending[:NAMED])
        rest = f" and {len(depending) - NAMED} more" if len(depending) > NAMED else ""
        verb = "depends" if len(depending) == 1 else "depend"
        found.append(Problem(f"{counted(len(depending), 'statement')} {verb} on what is missing", named + rest))
    return found


def _problem(m: Missing) -> Problem:
    what = f"statement {m.statement} (`{m.binder}`, {m.kind}) is missing" if m.binder else _unnamed(m)
    return Problem(what, m.why, m.mend, Place(m.file, m.line, m.column) if m.file else None)


def _unnamed(m: Missing) -> str:
    """What is said of a statement that binds nothing, or of the program as a whole."""
    if m.kind == "compose":
        return "the sections do not compose to one program"
    return f"statement {m.statement} ({m.kind}) is missing"
