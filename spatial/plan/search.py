"""The choice of a plan: unique, and the plan that comes nearest where none fits.

Blockings that fit no site are never placed; which of the rest have to be priced is `pruning`'s to say, and `order`'s
which of those is the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spatial.errors import DoesNotFit
from spatial.ir.body import Body, Plan
from spatial.plan.candidates import LIMIT, VARIANTS, Ints, blockings, smallest, spots_of, variants_of
from spatial.plan.constraints import legal
from spatial.plan.cost import Price
from spatial.plan.engines import engines_of
from spatial.plan.measures import Measures
from spatial.plan.model import Model, model_of
from spatial.plan.nearest import nearest
from spatial.plan.order import ranked
from spatial.plan.pruning import Keep, pruned, variants
from spatial.target import Target


@dataclass(frozen=True)
class Choice:
    """The chosen plan; how many candidates there were, legal or not, and how many of them were priced; what bounds the
    plan, and its cycles over the roofline."""

    plan: Plan
    candidates: int
    priced: int
    bound: str
    ratio: float


def choose(body: Body, target: Target) -> Choice:
    """The best legal plan of a template; raises `DoesNotFit` with the buffers of the nearest plan where none is
    legal."""
    model = model_of(body, target)
    combos = _fitting(model, target)
    spots = Measures(model, spots_of(model, target, combos), target)
    found = pruned(spots)
    if found is None:
        raise DoesNotFit(nearest(Measures(model, variants_of(spots.candidates), target)))
    near, cost = found
    best = int(ranked(near, cost)[0])
    counts = spots.candidates.count * len(VARIANTS), near.candidates.count
    return Choice(plan_of(near, cost, best), *counts, cost.bound(best), float(cost.ratio[best]))


def best_of(model: Model, target: Target, keep: Keep) -> Measures | None:
    """The best legal plan of those that `keep` lets pass, by the rule of `choose`; None where there is none."""
    spots = Measures(model, spots_of(model, target, _fitting(model, target)), target)
    found = pruned(spots, keep)
    return None if found is None else found[0].take(ranked(*found)[:1])


def legal_plans(model: Model, target: Target) -> Measures:
    """Every legal candidate of a template, each plan once; raises `DoesNotFit` where there is none."""
    spots = Measures(model, spots_of(model, target, _fitting(model, target)), target)
    kept = variants(spots)
    if not kept.candidates.count:
        raise DoesNotFit(nearest(Measures(model, variants_of(spots.candidates), target)))
    return kept


def _fitting(model: Model, target: Target) -> Ints:
    """The blockings that fit a site; all where none does."""
    combos = np.array(blockings(model, LIMIT), dtype=np.int64)
    fits = legal(Measures(model, smallest(combos, len(model.body.items.grid)), target), placed=False)
    return combos[fits] if fits.any() else combos


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
