"""What knobs that are held say of plans and sections that are there already (`plan.knobs` holds the search to them)."""

from __future__ import annotations

from spatial.ir.body import Plan
from spatial.plan.knobs import Knobs, blocked
from spatial.plan.model import Model


def lacking(model: Model, want: Knobs) -> list[str]:
    """What is held that a section does not have: coordinates that are not blocked, loads that are not there."""
    loads = [x.stage for x in model.loads]
    found = [name for name, _ in want.block if name not in [c.name for c in model.coordinates]]
    named = sorted(frozenset[str]().union(*(x or () for x in (want.multicast, want.scatter, want.resident))))
    return [*found, *(name for name in named if name not in loads)]


def has(plan: Plan, packing: str, want: Knobs) -> bool:
    """Whether a plan, its stores packed so, has what is held."""
    block = blocked(plan)
    return (
        all(block.get(name, 1) == factor for name, factor in want.block)
        and want.rect in (None, plan.rect)
        and want.multicast in (None, frozenset(plan.multicast))
        and want.scatter in (None, frozenset(dict(plan.scatter)))
        and want.resident in (None, frozenset(plan.resident))
        and want.buffers in (None, *(n for _, n in plan.depth[:1]))
        and want.packing in (None, packing)
    )
