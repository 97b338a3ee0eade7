"""How a plan moves its pages, as a label: two plans of different labels are different things to measure.

`streamed`: pages one at a time, each read where it is used; `multicast`: some page is read once for several sites;
`readers`: sites beside the banks read for others; `blocked`: pages in blocks, read by each site for itself. Which
engine carries the stores is part of it: with `-split` a store shares its mover with a load. What is streamed is told
apart no further.
"""

from __future__ import annotations

import numpy as np

from spatial.ir.body import Body, Plan
from spatial.plan.candidates import Truth
from spatial.plan.knobs import split
from spatial.plan.measures import Measures

KINDS = ("streamed", "multicast", "readers", "blocked")
"""Ways of moving pages of which the best plan is looked for."""

ARRANGEMENTS = ("streamed", *(f"{kind}{also}" for kind in KINDS[1:] for also in ("", "-split")))
"""All labels."""


def arrangement(body: Body, plan: Plan) -> str:
    """The label of a plan of a template."""
    kind = "readers" if plan.scatter else "multicast" if plan.multicast else "blocked" if plan.block else "streamed"
    return labelled(kind, packing(body, plan) == "split")


def packing(body: Body, plan: Plan) -> str:
    """Whether a plan has a store share its mover with a load ("split") or not ("apart")."""
    engines = dict(plan.engines)
    loads = {engines.get(s.name) for s in body.stages if s.kind == "load"}
    return "split" if any(engines.get(s.name) in loads for s in body.stages if s.kind == "store") else "apart"


def labelled(kind: str, beside: bool) -> str:
    """The label of a way of moving pages, with stores beside loads or not."""
    return f"{kind}-split" if beside and kind != "streamed" else kind


def arranged(m: Measures, label: str) -> Truth:
    """Which candidates are of an arrangement; of a kind, whatever carries their stores, where the label is a kind's
    followed by `*`."""
    kind = label.removesuffix("*").removesuffix("-split")
    cast = np.zeros(m.candidates.count, dtype=np.bool_)
    for load in m.model.loads:
        cast |= m.cast(load)
    several, apart = (m.candidates.factors > 1).any(axis=1), ~m.beside & ~cast
    found = {"readers": m.beside, "multicast": cast & ~m.beside, "blocked": apart & several}
    ok = found.get(kind, apart & ~several)
    return ok if label.endswith("*") or kind == "streamed" else ok & (split(m) == label.endswith("-split"))
