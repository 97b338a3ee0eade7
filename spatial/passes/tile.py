"""tile: choose the plan and apply its blocking.

Expects: template, without a plan.  Ensures: tiled; the body carries its plan, and every blocked coordinate moves as
many pages at once as the plan says.
Leaves alone: operands, queues, sites; what is computed, and the order in which each accumulator meets its terms.

    items [8]; load a[32*i0] -> q @0          ->    items [4]; load a[64*i0 + 32*p0] -> q @0 pages 2
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug
from spatial.ir.body import Body, Plan
from spatial.passes.due import due
from spatial.plan.block import block
from spatial.plan.knobs import ANY, Knobs
from spatial.plan.search import choose
from spatial.target import Target


def tile(body: Body, target: Target, want: Knobs = ANY) -> Body:
    """Return `body` under the best legal plan with the knobs `want`; raises `DoesNotFit` where there is none."""
    if not due("tile", "template", body):
        return body
    if body.plan is not None:
        raise Bug("a template has a plan before one is chosen")
    return apply_plan(body, choose(body, target, want).plan)


def apply_plan(body: Body, plan: Plan) -> Body:
    """Return the template `body` blocked as `plan` says."""
    for coord, factor in plan.block:
        body = block(body, coord, factor)
    return replace(body, plan=plan, phase="tiled")
