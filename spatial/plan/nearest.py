"""What is said where no plan fits: of the plan that comes nearest, every limit it breaks and every buffer it has.

Where knobs are held, they are named, and the plan that fits and is nearest to them is given in the words that would
hold the search to it.
"""

from __future__ import annotations

import numpy as np

from spatial.errors import Problem, one_of
from spatial.ir.body import Plan
from spatial.plan.candidates import Ints
from spatial.plan.constraints import CONSTRAINTS, explain
from spatial.plan.knobs import ANY, Knobs, allowed, knobs_of_plan
from spatial.plan.measures import Measures

MEND = "split the statement, store its tables narrower, or use a target with more"


def nearest(m: Measures, want: Knobs = ANY, fits: Plan | None = None) -> list[Problem]:
    """What keeps the candidate nearest to fitting from fitting, buffer by buffer. `m`: candidates, none of them legal
    and with the knobs `want`; `fits`: the plan that fits and is nearest to these."""
    mend = MEND if fits is None else f"the nearest plan that fits: {knobs_of_plan(fits)}"
    rows = np.nonzero(allowed(m, want))[0].astype(np.int64)
    held = "" if want == ANY else f" with {want}"
    if not len(rows):
        apart = [str(knob) for knob in want.each() if not allowed(m, knob).any()]
        why = f"nothing may be {one_of(apart)} here" if apart else "these do not go together"
        return [Problem(f"this section has no plan{held}", why, mend)]
    some = m.take(rows)
    row = int(nearest_first(some)[0])
    problems: list[Problem] = []
    for name, need, have, unit in explain(some, row):
        why = "the smallest plan's buffers: " + ", ".join(buffers(some, row)) if name == "scratch" else ""
        what = f"no plan of this section{held} fits: {name} needs {need:.0f} {unit}, the chip has {have:.0f}"
        problems.append(Problem(what, why, mend))
    return problems


def nearest_first(m: Measures) -> Ints:
    """Candidates, those that break fewest constraints first; of them those that break them by least; then by
    scratch."""
    broken, beyond = (np.zeros(m.candidates.count) for _ in range(2))
    for c in CONSTRAINTS:
        need, have = c.need(m), max(c.have(m), 1.0)
        broken += need > have
        beyond = np.maximum(beyond, need / have)
    return np.lexsort((m.scratch, beyond, broken)).astype(np.int64)


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
