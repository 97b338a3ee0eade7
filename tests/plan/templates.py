"""Templates of drawn graphs, and bodies under a plan of one's own choosing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from graphs import Drawn
from running import layouts

from spatial.ir.body import Body, Plan
from spatial.numerics import Array
from spatial.passes import PASS_ORDER
from spatial.passes.fuse_generic import fuse_generic
from spatial.passes.tile import apply_plan
from spatial.plan.constraints import legal
from spatial.plan.cost import price
from spatial.plan.measures import Measures
from spatial.plan.model import model_of
from spatial.plan.places import candidates_of
from spatial.plan.search import plan_of
from spatial.select.layouts import statements_of, store_all
from spatial.select.section import select
from spatial.target import Target

AFTER_TILE = tuple((n, p) for n, p in PASS_ORDER if n not in ("fuse_generic", "tile"))


def template_of(case: Drawn, target: Target) -> Body:
    """The template of the graph's first statement, stages joined."""
    stored = store_all(case.graph, layouts(case, target), target)
    return fuse_generic(select(next(statements_of(case.graph)), stored, target).body, target)


def measures_of(template: Body, target: Target) -> Measures:
    """All candidates of a template, measured."""
    model = model_of(template, target)
    return Measures(model, candidates_of(model, target), target)


def sampled(measures: Measures, seed: int, count: int) -> tuple[Measures, list[Plan]]:
    """Up to `count` legal candidates, drawn by `seed`, and the plans they stand for."""
    return _pick(measures, np.nonzero(legal(measures))[0], seed, count)


def sampled_illegal(measures: Measures, seed: int, count: int) -> tuple[Measures, list[Plan]]:
    return _pick(measures, np.nonzero(~legal(measures))[0], seed, count)


def _pick(measures: Measures, rows: Array, seed: int, count: int) -> tuple[Measures, list[Plan]]:
    chosen = np.random.default_rng(seed).permutation(rows)[:count]
    few = Measures(measures.model, measures.candidates.take(chosen), measures.target)
    cost = price(few)
    return few, [plan_of(few, cost, n) for n in range(len(chosen))]


def under(template: Body, plan: Plan, target: Target, last: str = "verify") -> Body:
    """The template under a plan, through the passes up to `last`."""
    body = apply_plan(template, plan)
    for name, run in AFTER_TILE:
        body = run(body, target)
        if name == last:
            break
    return body


def pressed(target: Target, bytes_of_scratch: int, registers: int) -> Target:
    """The target with less room."""
    matrix = replace(target.matrix, registers=registers)
    return replace(target, name="pressed", scratch=bytes_of_scratch, matrix=matrix)
