"""What kept statements from being lifted or lowered, as problems for people."""

from __future__ import annotations

from spatial.errors import Place, Problem
from spatial.ir.graph import Missing


def problems_of(missing: tuple[Missing, ...]) -> list[Problem]:
    """What kept statements from being lifted or lowered, for people."""
    return [
        Problem(
            f"statement {m.statement} (`{m.binder}`, {m.kind}) is missing",
            m.why,
            m.mend,
            Place(m.file, m.line, m.column) if m.file else None,
        )
        for m in missing
    ]
