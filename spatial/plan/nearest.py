"""What is said where no plan fits: of the plan that comes nearest, every limit it breaks and every buffer it has."""

from __future__ import annotations

import numpy as np

from spatial.errors import Problem
from spatial.plan.constraints import explain
from spatial.plan.measures import Measures


def nearest(m: Measures) -> list[Problem]:
    """What keeps the candidate nearest to fitting from fitting, buffer by buffer."""
    row = int(np.argmin(m.scratch))
    problems: list[Problem] = []
    for name, need, have, unit in explain(m, row):
        problems.append(
            Problem(
                f"no plan of this section fits: {name} needs {need:.0f} {unit}, the chip has {have:.0f}",
                "the smallest plan's buffers: " + ", ".join(buffers(m, row)) if name == "scratch" else "",
                "split the statement, store its tables narrower, or use a target with more",
            )
        )
    return problems


def buffers(m: Measures, row: int) -> list[str]:
    """`queue (producer): pages x bytes` of every queue of a candidate, and of every stage's accumulators."""
    by_stage = {load.stage: load for load in m.model.loads}
    out: list[str] = []
    for s in m.model.streams:
        total = int(m.queue_bytes(s, by_stage.get(s.producer))[row])
        slot = m.target.slot(s.page_bytes)
        out.append(f"{s.queue} ({s.producer}): {total // slot} x {slot}")
    for w in m.model.work:
        cells, total = int(m.cells(w)[row]), int(m.state_bytes(w)[row])
        if total:
            out.append(f"accumulators ({w.stage}): {cells} x {total // cells}")
    return out
