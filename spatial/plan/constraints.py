"""The one list of what a plan must keep. The search filters by it, the error text explains by it.

Each constraint gives, over all candidates, what is needed and what there is; a candidate is legal where no need
exceeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures

Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Constraint:
    """`name` of what is limited; `need` of each candidate; `have` on the target; `unit` for messages.

    No need hangs on where the items are, but for what is multicast and what stays: so of a blocking the candidate on
    one site, with one batch a queue, needs least of everything.
    """

    name: str
    need: Callable[[Measures], Floats]
    have: Callable[[Measures], float]
    unit: str


def _scratch(m: Measures) -> Floats:
    return m.scratch.astype(np.float64)


def _queues(m: Measures) -> Floats:
    total = np.full(m.candidates.count, float(len(m.model.streams)))
    for load in m.model.loads:
        total = total + m.sends(load)
    return total


def _descriptors(m: Measures) -> Floats:
    """One for every transfer a queue has room for, at each end where a mover is; a multicast adds two ends, and so does
    a scatter, in every column of readers, with the load's own."""
    need = np.zeros(m.candidates.count)
    streams = {s.queue: s for s in m.model.streams}
    casts: dict[str, Ints] = {}
    for load in m.model.loads:
        members = m.members(load)
        columns = m.candidates.rect[:, 0] // np.maximum(members, 1)
        casts[load.stage] = np.where(members > 0, 3 * columns - 1, 2 * m.cast(load))
    for stage in m.model.body.stages:
        if stage.kind not in ("load", "store"):
            continue
        for port in (*stage.ins, *stage.outs):
            need = need + m.transfers(streams[port.queue])
        if stage.name in casts:
            need = need + casts[stage.name] * m.transfers(streams[stage.outs[0].queue])
    return need


def _locks(m: Measures) -> Floats:
    """Two for every queue whose ends are carried by two engines or by a mover: its pages are counted, and its room."""
    kinds = {s.name: s.kind for s in m.model.body.stages}
    need = np.zeros(m.candidates.count)
    for stream in m.model.streams:
        ends = [kinds[stream.producer], kinds[stream.consumer]]
        moved = any(kind in ("load", "store") for kind in ends)
        if moved or m.target.engine_of(ends[0])[0] != m.target.engine_of(ends[1])[0]:
            need = need + 2
    for load in m.model.loads:
        need = need + np.where(m.sends(load), 2, 0)
    return need


def _any_number(limit: int) -> float:
    """A limit of which 0 says that there is none."""
    return float(limit) if limit else float("inf")


def _registers(m: Measures) -> Floats:
    need = np.zeros(m.candidates.count)
    for work in m.model.work:
        if work.matrix:
            need = np.maximum(need, np.where(m.spills(work), work.tiles, m.cells(work) * work.tiles))
    return need


def _live(m: Measures) -> Floats:
    need = np.zeros(m.candidates.count)
    for work in m.model.work:
        if not work.matrix:
            need = np.maximum(need, m.cells(work) * work.tiles + work.live)
    return need


def _counters(m: Measures) -> Floats:
    """The room of the largest queue: counters of pages pushed and freed wrap, and are told apart by less than that."""
    need = np.zeros(m.candidates.count)
    by_stage = {load.stage: load for load in m.model.loads}
    for stream in m.model.streams:
        load = by_stage.get(stream.producer)
        room = m.room(stream, load)
        need = np.maximum(need, room if load is None else room * np.maximum(m.members(load), 1))
    return need


CONSTRAINTS: tuple[Constraint, ...] = (
    Constraint("scratch", _scratch, lambda m: m.target.scratch, "bytes a site"),
    Constraint("queues", _queues, lambda m: m.target.queues, "queues a site"),
    Constraint("descriptors", _descriptors, lambda m: _any_number(m.target.descriptors), "transfers a site"),
    Constraint("locks", _locks, lambda m: _any_number(m.target.locks), "locks a site"),
    Constraint("registers", _registers, lambda m: m.target.matrix.registers, "accumulator tiles"),
    Constraint("vector registers", _live, lambda m: m.target.vector.registers, "accumulator and live tiles"),
    Constraint("counters", _counters, lambda m: 2.0**m.target.counter_bits - 1, "pages in a queue"),
)


def legal(m: Measures) -> Truth:
    """Where every constraint holds."""
    ok = np.ones(m.candidates.count, dtype=np.bool_)
    for c in CONSTRAINTS:
        ok &= c.need(m) <= c.have(m)
    return ok


def explain(m: Measures, row: int) -> list[tuple[str, float, float, str]]:
    """(name, need, have, unit) of every constraint candidate `row` breaks."""
    found: list[tuple[str, float, float, str]] = []
    for c in CONSTRAINTS:
        need, have = float(c.need(m)[row]), float(c.have(m))
        if need > have:
            found.append((c.name, need, have, c.unit))
    return found
