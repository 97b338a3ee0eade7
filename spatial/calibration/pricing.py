"""The plan that a measurement is of, and its price: the one that is chosen under the target as it stands.

A plan that was measured stays what it was while figures are fitted: it is chosen once, and priced again under others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spatial.calibration.arrangements import ARRANGEMENTS, arranged
from spatial.calibration.candidates import BEST
from spatial.calibration.knobs import lacking
from spatial.calibration.measurements import Measurement
from spatial.calibration.operations import template_of
from spatial.errors import Refused
from spatial.ir.body import Body, Plan
from spatial.plan.candidates import Candidates, Truth
from spatial.plan.cost import price
from spatial.plan.knobs import Knobs
from spatial.plan.measures import Measures
from spatial.plan.model import Model, model_of
from spatial.plan.search import best_of, plan_of
from spatial.target import Target


@dataclass(frozen=True)
class Priced:
    """A measurement, the template and the plan it is of, and the price under the target's own figures."""

    measurement: Measurement
    template: Body
    candidate: Candidates
    plan: Plan
    cycles: float
    bound: str

    def under(self, target: Target) -> float:
        """Cycles of the plan under the figures of `target`."""
        chip = self.measurement.conditions.chip(target)
        return float(price(Measures(model_of(self.template, chip), self.candidate, chip)).cycles[0])


@dataclass(frozen=True)
class Beyond:
    """A measurement of a plan that there is none of here, and why."""

    measurement: Measurement
    why: str


def priced(measurements: Iterable[Measurement], target: Target) -> tuple[list[Priced], list[Beyond]]:
    """The measurements with the prices of their plans, and those of plans that there are none of."""
    good: list[Priced] = []
    beyond: list[Beyond] = []
    known: dict[tuple[str, ...], Priced | str] = {}
    for m in measurements:
        if m.plan not in known:
            known[m.plan] = _priced(m, target)
        found = known[m.plan]
        if isinstance(found, str):
            beyond.append(Beyond(m, found))
        else:
            good.append(Priced(m, found.template, found.candidate, found.plan, found.cycles, found.bound))
    return good, beyond


def _priced(m: Measurement, target: Target) -> Priced | str:
    """The price of the plan of a measurement, or why there is none."""
    chip = m.conditions.chip(target)
    try:
        template = template_of(m.what, chip)
        model = model_of(template, chip)
        found = _found(model, chip, m.label, m.knobs)
        if found is None:
            return _why(model, chip, m)
    except Refused as refused:
        return "; ".join(p.what for p in refused.problems)
    cost = price(found)
    plan = plan_of(found, cost, 0)
    return Priced(m, template, found.candidates, plan, float(cost.cycles[0]), cost.bound(0))


def _found(model: Model, chip: Target, label: str, knobs: Knobs) -> Measures | None:
    """The best plan with a label and knobs."""

    def labelled(m: Measures) -> Truth:
        return np.ones(m.candidates.count, dtype=np.bool_) if label == BEST else arranged(m, label)

    return best_of(model, chip, labelled, knobs)


def _why(model: Model, chip: Target, m: Measurement) -> str:
    """Why no plan is what a measurement says: what it holds is not there, or no plan has it, or another label."""
    missing = lacking(model, m.knobs)
    if missing:
        names = [c.name for c in model.coordinates] + [x.stage for x in model.loads]
        return f"the section has no {', '.join(missing)}; it has {', '.join(names)}"
    held = f" with {m.knobs}" if str(m.knobs) else ""
    others = [label for label in ARRANGEMENTS if _found(model, chip, label, m.knobs) is not None]
    return f"no legal plan{held} is {m.label}" + (f"; there are {', '.join(others)}" if others else "")
