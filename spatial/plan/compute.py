"""What the compute engine does when an iteration of a stage begins and ends, over candidates.

An evaluation takes the longer of its operations and of getting its pages out of scratch, at `unpack` bytes a cycle.
Every page is got for every evaluation that reads it, unless evaluations that follow each other read the same one: then
once for all of them (assumed: nothing is kept in the unpacker for longer). Pages are packed at `pack` bytes a cycle,
beside the evaluation of the next; accumulators that are too many for the registers go the same ways. An iteration that
takes or makes pages costs a step. Knows no order and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.errors import Bug
from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Evaluated, Work


@dataclass(frozen=True)
class Making:
    """Pages made at the end of an iteration: of which stream, how many, cycles of evaluating and of packing each."""

    stream: int
    pages: Floats
    evaluate: Floats
    pack: float


@dataclass(frozen=True)
class Computing:
    """What a computing stage does, by depth: cycles of the step at which an iteration begins, of the updates at its
    end, and the pages it makes there."""

    step: dict[int, Floats]
    update: dict[int, Floats]
    made: dict[int, tuple[Making, ...]]

    def take(self, rows: Ints) -> Computing:
        """The same of some candidates."""
        return Computing(
            {d: x[rows] for d, x in self.step.items()},
            {d: x[rows] for d, x in self.update.items()},
            {
                d: tuple(Making(x.stream, x.pages[rows], x.evaluate[rows], x.pack) for x in made)
                for d, made in self.made.items()
            },
        )

    def least(self, depth: int) -> Floats | float:
        """Cycles of one iteration at `depth`, nothing waited for."""
        made = sum((x.evaluate + (x.pages - 1) * np.maximum(x.evaluate, x.pack) for x in self.made.get(depth, ())), 0.0)
        return self.step.get(depth, 0.0) + self.update.get(depth, 0.0) + made


def computing_of(m: Measures, work: Work) -> Computing:
    """What the stage of `work` does. Pages that stay are taken once: an iteration that takes nothing else is no
    step."""
    stage = m.model.body.stage(work.stage)
    loads = {m.model.streams[x.stream].queue: x for x in m.model.loads}
    once = np.ones(m.candidates.count)
    step: dict[int, Floats] = {}
    for port in stage.ins:
        load = loads.get(port.queue)
        pays = np.where(m.stays(load), 0.0, once) if load else once
        step[port.depth] = np.maximum(step.get(port.depth, 0.0), pays)
    step |= {port.depth: once for port in stage.outs}
    update: dict[int, Floats] = {}
    made: dict[int, tuple[Making, ...]] = {}
    for e in work.evaluated:
        if e.out is None:
            update[e.depth] = update.get(e.depth, 0.0) + _updating(m, work, e)
        else:
            made[e.depth] = (*made.get(e.depth, ()), _making(m, e))
    return Computing({d: x * m.target.step_cycles for d, x in step.items()}, update, made)


def _updating(m: Measures, work: Work, e: Evaluated) -> Floats:
    """Cycles of the updates of an accumulator that fall due at the end of an iteration.

    Where there are more cells than registers, those worked on are got out of scratch before and put back after, but
    for the first and the last time: beside the evaluations if the registers are in halves."""
    got, times = _got(m, e, _repeats(m, e)), e.times * m.blocked(e.coords)
    if not e.cell or not (spills := m.spills(work)).any():
        return np.maximum(got, e.cycles) * times.astype(np.float64)
    visits = e.visits / (m.candidates.factors[:, m.model.loop] if e.looped and m.model.loop is not None else 1)
    moved = np.where(spills, m.cells(work) * e.times * e.cell * (1.0 - 1.0 / visits), 0.0)
    reload, spill = moved / m.target.unpack, moved / m.target.pack
    if m.target.matrix.halves > 1:
        return np.maximum(np.maximum(e.cycles * times, got * times + reload), spill)
    return np.maximum(got, e.cycles) * times + reload + spill


def _making(m: Measures, e: Evaluated) -> Making:
    if e.out is None:
        raise Bug("an accumulator's update makes no page")
    stream, pages = m.model.streams[e.out], m.blocked(e.coords)
    shared = [np.where(m.blocked(m.model.streams[s].coords) > 1, 1, pages) for _, s in e.pages]
    repeats = [np.where(pages > 1, s, again) for s, again in zip(shared, e.again, strict=True)]
    evaluate = np.maximum(_got(m, e, repeats), e.cycles)
    return Making(e.out, pages.astype(np.float64), evaluate, stream.page_bytes / m.target.pack)


def _got(m: Measures, e: Evaluated, repeats: list[Ints]) -> Floats:
    """Cycles in which the pages of one evaluation are got, each read as often in a row as `repeats` says."""
    got = np.zeros(m.candidates.count)
    for (size, _), times in zip(e.pages, repeats, strict=True):
        got = got + size / m.target.unpack / times
    return got


def _repeats(m: Measures, e: Evaluated) -> list[Ints]:
    """How many evaluations in a row read the same page: as many as the innermost blocked coordinate has, if the page
    does not differ along it."""
    blocking = m.blocking(e.coords)
    out: list[Ints] = []
    for (_, stream), again in zip(e.pages, e.again, strict=True):
        times = np.full(m.candidates.count, again, dtype=np.int64)
        for k, factor in blocking:
            times = np.where(factor > 1, 1 if k in m.model.streams[stream].coords else factor, times)
        out.append(times)
    return out
