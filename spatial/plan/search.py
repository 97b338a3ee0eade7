"""The choice of a plan: price the legal candidates that may be best as arrays, take the unique best, name what is
nearest where none fits.

The order is total: cycles in bands of 2 % of the least, then the less busy second path (what is nearer to bounding it
too), traffic, scratch, sites, cycles, then the candidate's own numbers; so equal templates get equal plans on any
machine. Blockings that fit no site are never placed; candidates that cannot come within a band of the best by
`bound` are not priced, which changes no choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.errors import DoesNotFit, Problem
from spatial.ir.body import Body, Plan
from spatial.plan.bound import bound
from spatial.plan.candidates import LIMIT, Ints, blockings, candidates_of, smallest
from spatial.plan.constraints import explain, legal
from spatial.plan.cost import Price, joined, price
from spatial.plan.engines import engines_of
from spatial.plan.measures import Measures, Truth
from spatial.plan.model import Model, model_of
from spatial.target import Target

BAND = 0.02
"""Cycles are told apart in bands of this part of the least."""

FIRST = 64
"""Candidates that are priced before it is known what the rest has to come near to."""


@dataclass(frozen=True)
class Choice:
    """The chosen plan; how many candidates were legal, and how many of them were priced; what bounds the plan, and its
    cycles over the roofline."""

    plan: Plan
    legal: int
    priced: int
    bound: str
    ratio: float


def choose(body: Body, target: Target) -> Choice:
    """The best legal plan of a template; raises `DoesNotFit` with the buffers of the nearest plan where none is
    legal."""
    model = model_of(body, target)
    kept = legal_plans(model, target)
    near, cost = contenders(kept)
    best = int(ranked(near, cost)[0])
    counts = kept.candidates.count, near.candidates.count
    return Choice(plan_of(near, cost, best), *counts, cost.bound(best), float(cost.ratio[best]))


def legal_plans(model: Model, target: Target) -> Measures:
    """Every legal candidate of a template, each plan once; raises `DoesNotFit` where there is none."""
    combos = np.array(blockings(model, LIMIT), dtype=np.int64)
    fits = legal(Measures(model, smallest(combos, len(model.body.items.grid)), target), placed=False)
    everything = Measures(model, candidates_of(model, target, combos[fits] if fits.any() else combos), target)
    ok = legal(everything)
    if not ok.any():
        raise DoesNotFit(_nearest(everything))
    return _few(everything, np.nonzero(ok & _tells(everything))[0])


def _tells(m: Measures) -> Truth:
    """Where a candidate is not the plan of another: a flag is set only where some load is multicast or stays by it."""
    casts, stays = (np.zeros(m.candidates.count, dtype=np.bool_) for _ in range(2))
    for load in m.model.loads:
        casts, stays = casts | m.cast(load), stays | m.stays(load)
    return np.asarray((casts | (m.candidates.multicast == 0)) & (stays | (m.candidates.resident == 0)), dtype=np.bool_)


def contenders(m: Measures) -> tuple[Measures, Price]:
    """The candidates that may come within a band of the best, and their prices."""
    least = bound(m)
    order = np.argsort(least, kind="stable")
    first, rest = order[:FIRST], order[FIRST:]
    known = price(_few(m, first))
    # A bound and a price add up the same in different orders.
    limit = float(known.cycles.min()) * (1.0 + BAND + 1e-9)
    rest = rest[least[rest] <= limit]
    if not len(rest):
        return _few(m, first), known
    return _few(m, np.concatenate((first, rest))), joined(known, price(_few(m, rest)))


def _few(m: Measures, rows: Ints) -> Measures:
    return Measures(m.model, m.candidates.take(rows), m.target)


def ranked(m: Measures, cost: Price) -> Ints:
    """The candidates from best to worst."""
    least = float(cost.cycles.min())
    bands, second = (np.floor((x - least) / (BAND * least)) for x in (cost.cycles, cost.second))
    c = m.candidates
    own = [c.factors[:, k] for k in range(c.factors.shape[1])]
    own += [c.along[:, 0], c.along[:, 1], c.rect[:, 0], c.rect[:, 1], -c.multicast, -c.resident, -c.buffers]
    order = np.lexsort((*own[::-1], cost.cycles, m.sites, m.scratch, cost.traffic, second, bands))
    return order.astype(np.int64)


def plan_of(m: Measures, cost: Price, row: int) -> Plan:
    """Candidate `row` as a plan."""
    c, model, engines = m.candidates, m.model, engines_of(m)
    block = tuple(
        (coord.name, int(c.factors[row, k])) for k, coord in enumerate(model.coordinates) if int(c.factors[row, k]) > 1
    )
    w, h = int(c.rect[row, 0]), int(c.rect[row, 1])
    a, b = int(c.along[row, 0]), int(c.along[row, 1])
    spread = () if a < 0 else ((a, "xy"),) if a == b else ((a, "x"), (b, "y"))
    multicast = tuple(load.stage for load in model.loads if bool(m.cast(load)[row]))
    resident = tuple(load.stage for load in model.loads if bool(m.stays(load)[row]))
    label = "multicast" if multicast else "blocked" if block else "streamed"
    return Plan(
        block=block,
        rect=(w, h),
        spread=spread,
        multicast=multicast,
        resident=resident,
        depth=tuple((s.queue, int(c.buffers[row])) for s in model.streams),
        engines=tuple((s.name, m.target.engines[int(engines[s.name][row])].name) for s in model.body.stages),
        label=label,
        cycles=round(float(cost.cycles[row]), 3),
        traffic=int(cost.traffic[row]),
    )


def _nearest(m: Measures) -> list[Problem]:
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
