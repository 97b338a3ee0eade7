"""The choice of a plan: unique, and the plan that comes nearest where none fits.

Blockings that fit no site are never placed; which of the rest have to be priced is `pruning`'s to say, and `order`'s
which of those is the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from spatial.errors import DoesNotFit, Problem
from spatial.ir.body import Body, Plan
from spatial.plan.candidates import LIMIT, VARIANTS, blockings, smallest, variants_of
from spatial.plan.constraints import legal
from spatial.plan.cost import Price, price
from spatial.plan.engines import copy_name, engines_of, sender_of
from spatial.plan.knobs import ANY, Knobs, allowed, factors_of, nearest_to, require_known, unknown
from spatial.plan.measures import Measures
from spatial.plan.model import Model, model_of
from spatial.plan.nearest import nearest, nearest_first
from spatial.plan.order import ranked
from spatial.plan.places import Spots, spots_of
from spatial.plan.pruning import Keep, pruned, variants
from spatial.target import Target

NEAREST = 16
"""Blockings that are told apart where none fits."""


@dataclass(frozen=True)
class Choice:
    """The chosen plan; how many candidates there were, legal or not, and how many of them were priced; what bounds the
    plan, and its cycles over the roofline."""

    plan: Plan
    candidates: int
    priced: int
    bound: str
    ratio: float


def choose(body: Body, target: Target, want: Knobs = ANY) -> Choice:
    """The best legal plan of a template, of those with the knobs `want`; raises `DoesNotFit` where none is legal, with
    the buffers of the one that comes nearest, and the nearest that fits."""
    near, cost, candidates = priced(model_of(body, target), target, want)
    best = int(ranked(near, cost)[0])
    counts = candidates, near.candidates.count
    return Choice(plan_of(near, cost, best), *counts, cost.bound(best), float(cost.ratio[best]))


def priced(model: Model, target: Target, want: Knobs = ANY) -> tuple[Measures, Price, int]:
    """The candidates that were priced, the best among them, and how many there were in all; raises `DoesNotFit` where
    none is legal."""
    require_known(model, target, want)
    spots = _spots(model, target, want)
    found = pruned(spots, None if want == ANY else partial(allowed, want=want))
    if found is None:
        raise DoesNotFit(_refusal(spots, want))
    return *found, spots.count * len(VARIANTS)


def best_of(model: Model, target: Target, keep: Keep, want: Knobs = ANY) -> Measures | None:
    """The best legal plan of those with the knobs `want` that `keep` lets pass, by the rule of `choose`; None where
    there is none."""
    if unknown(model, target, want):
        return None
    spots = _spots(model, target, want)
    found = pruned(spots, lambda m: allowed(m, want) & keep(m))
    return None if found is None else found[0].take(ranked(*found)[:1])


def legal_plans(model: Model, target: Target, want: Knobs = ANY) -> Measures:
    """Every legal candidate of a template with the knobs `want`, each plan once; raises `DoesNotFit` where there is
    none."""
    require_known(model, target, want)
    spots = _spots(model, target, want)
    every = variants(spots.at())
    found = every.take(np.nonzero(allowed(every, want))[0])
    if not found.candidates.count:
        raise DoesNotFit(_refusal(spots, want))
    return found


def _spots(model: Model, target: Target, want: Knobs) -> Spots:
    """The blockings that fit a site, at all their places; those that come nearest where none does."""
    combos = np.array(blockings(model, LIMIT, factors_of(model, want)), dtype=np.int64)
    least = Measures(model, smallest(combos, len(model.body.items.grid)), target)
    fits = legal(least)
    some = combos[fits] if fits.any() else combos[nearest_first(least)[:NEAREST]]
    return spots_of(model, target, some, want.rect)


def _refusal(spots: Spots, want: Knobs) -> list[Problem]:
    """Why no plan of `spots` is legal and has what is held: what the one that comes nearest breaks; and, where knobs
    are held, the nearest plan that is legal."""
    model, target = spots.model, spots.target
    every = Measures(model, variants_of(spots.at().candidates), target)
    fits = None if want == ANY else variants(_spots(model, target, ANY).at())
    if fits is None or not fits.candidates.count:
        return nearest(every, want)
    near = fits.take(nearest_to(fits, want))
    cost = price(near)
    return nearest(every, want, plan_of(near, cost, int(ranked(near, cost)[0])))


def plan_of(m: Measures, cost: Price, row: int) -> Plan:
    """Candidate `row` as a plan."""
    c, model, engines = m.candidates, m.model, engines_of(m)
    blocking = m.blocking(range(len(model.coordinates)))
    block = tuple((model.coordinates[k].name, int(f[row])) for k, f in blocking if int(f[row]) > 1)
    w, h = int(c.rect[row, 0]), int(c.rect[row, 1])
    a, b = int(c.along[row, 0]), int(c.along[row, 1])
    spread = () if a < 0 else ((a, "xy"),) if a == b else ((a, "x"), (b, "y"))
    multicast = tuple(load.stage for load in model.loads if bool(m.cast(load)[row]))
    resident = tuple(load.stage for load in model.loads if bool(m.stays(load)[row]))
    scatter = tuple((load.stage, int(n)) for load in model.loads if (n := m.members(load)[row]))
    label = "readers" if scatter else "multicast" if multicast else "blocked" if block else "streamed"
    carrying = [(s.name, s.name) for s in model.body.stages]
    if scatter:
        sends = {load.stage: sender_of(m, load) for load in model.loads}
        carrying += [(sends[name], sends[name]) for name in multicast]
        for name, n in scatter:
            columns = range(0, w, n)
            carrying += [(copy_name(name, x), name) for x in columns if x]
            carrying += [(copy_name(sends[name], x), sends[name]) for x in columns]
    return Plan(
        block=block,
        rect=(w, h),
        spread=spread,
        multicast=multicast,
        scatter=scatter,
        resident=resident,
        depth=tuple((s.queue, int(c.buffers[row])) for s in model.streams),
        engines=tuple((name, m.target.engines[int(engines[of][row])].name) for name, of in carrying),
        label=label,
        cycles=round(float(cost.cycles[row]), 3),
        traffic=int(cost.traffic[row]),
    )
