"""The plans of a section that are measured: the compiler's own choice, and the best of each way of moving pages.

Ranked by the compiler's own rule and searched by its own search, held to part of its space; candidates start from the
template after `fuse_generic`, as its search does. What is built under a plan is what the search priced: the pinned
passes run, with the plan in place of a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from spatial.calibration.arrangements import KINDS, arranged, arrangement
from spatial.ir.body import Body, Plan
from spatial.passes import PASS_ORDER, run_passes
from spatial.passes.fuse_generic import fuse_generic
from spatial.passes.tile import apply_plan
from spatial.plan.candidates import Truth
from spatial.plan.cost import price
from spatial.plan.knobs import Knobs
from spatial.plan.measures import Measures
from spatial.plan.model import model_of
from spatial.plan.search import best_of, plan_of
from spatial.target import Target

BEST = "best"


@dataclass(frozen=True)
class Candidate:
    """A plan to be measured: of which kind it is the best, its arrangement; what bounds it, and its price over the
    roofline. The price is the plan's own `cycles`."""

    kind: str
    arrangement: str
    plan: Plan
    bound: str
    ratio: float


def fused(template: Body, target: Target) -> Body:
    """The template that candidates are plans of."""
    return fuse_generic(template, target)


def candidates_of(template: Body, target: Target, want: Knobs) -> Iterator[Candidate]:
    """The candidates of a fused template among the plans with the knobs `want`: the best, then that of each kind of
    which there is one."""
    model = model_of(template, target)

    for kind in (BEST, *KINDS):
        found = best_of(model, target, _of_kind(kind), want)
        if found is not None:
            cost = price(found)
            plan = plan_of(found, cost, 0)
            yield Candidate(kind, arrangement(template, plan), plan, cost.bound(0), float(cost.ratio[0]))


def _of_kind(kind: str) -> Callable[[Measures], Truth]:
    """What tells which candidates are of a kind; all are of which the best is looked for."""
    return (
        (lambda m: np.ones(m.candidates.count, dtype=np.bool_)) if kind == BEST else lambda m: arranged(m, f"{kind}*")
    )


def built(template: Body, plan: Plan, target: Target) -> Body:
    """A fused template under a plan, through all passes that follow the choice of one, and verified."""
    passes = [(name, run) for name, run in PASS_ORDER if name not in ("fuse_generic", "tile")]
    return run_passes(apply_plan(template, plan), target, passes)
