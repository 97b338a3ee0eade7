"""What the compute engine does when an iteration of a stage ends, over candidates.

An evaluation takes the longer of its operations and of getting its pages out of scratch, at `unpack` bytes a cycle.
Every page is got for every evaluation that reads it, unless evaluations that follow each other read the same one: then
once for all of them (assumed: nothing is kept in the unpacker for longer). Pages are packed at `pack` bytes a cycle,
beside the evaluation of the next. Knows no order and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Evaluated


@dataclass(frozen=True)
class Making:
    """Pages made at the end of an iteration: how many, cycles of evaluating and of packing each."""

    stream: int
    pages: Floats
    evaluate: Floats
    pack: float


def updating(m: Measures, e: Evaluated) -> Floats:
    """Cycles of the updates of an accumulator that fall due at the end of an iteration."""
    return _each(m, e, _repeats(m, e)) * e.times * m.blocked(e.coords)


def making(m: Measures, e: Evaluated) -> Making:
    """The pages that an iteration makes for the out port of `e`."""
    assert e.out is not None
    stream, pages = m.model.streams[e.out], m.blocked(e.coords)
    shared = [np.where(m.blocked(m.model.streams[s].coords) > 1, 1, pages) for _, s in e.pages]
    repeats = [np.where(pages > 1, s, again) for s, again in zip(shared, e.again, strict=True)]
    return Making(e.out, pages.astype(np.float64), _each(m, e, repeats), stream.page_bytes / m.target.pack)


def _each(m: Measures, e: Evaluated, repeats: list[Ints]) -> Floats:
    """Cycles of one evaluation whose pages are each read as often in a row as `repeats` says."""
    got = np.zeros(m.candidates.count)
    for (size, _), times in zip(e.pages, repeats, strict=True):
        got = got + size / m.target.unpack / times
    return np.maximum(got, e.cycles)


def _repeats(m: Measures, e: Evaluated) -> list[Ints]:
    """How many evaluations in a row read the same page: as many as the innermost blocked coordinate has, if the page
    does not differ along it."""
    out: list[Ints] = []
    for (_, stream), again in zip(e.pages, e.again, strict=True):
        times = np.full(m.candidates.count, again, dtype=np.int64)
        for k in sorted(e.coords):
            factor = m.candidates.factors[:, k]
            times = np.where(factor > 1, 1 if k in m.model.streams[stream].coords else factor, times)
        out.append(times)
    return out
