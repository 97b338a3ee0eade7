"""The order in which each engine takes up its stages during one turn.

Stages that hand each other pages inside a loop take turns in that loop, in the order of the dataflow; a stage that
needs what another finishes at the end of its loop comes after the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from spatial.errors import Bug
from spatial.ir.body import Body, Engine, Loop, Stage, Step


def grain(stage: Stage) -> int:
    """The deepest depth at which the stage moves pages."""
    return max((p.depth for p in (*stage.ins, *stage.outs)), default=0)


def engine_names(body: Body) -> dict[str, str]:
    """The engine of every stage: the plan's; of a multicast, that of the load it serves."""
    if body.plan is None:
        raise Bug("engines are asked for before a plan is chosen")
    names = dict(body.plan.engines)
    producer = {o.queue: s.name for s in body.stages for o in s.outs}
    for s in body.stages:
        if s.name not in names:
            names[s.name] = names[producer[s.ins[0].queue]]
    return names


def turn_orders(body: Body) -> tuple[Engine, ...]:
    """Every engine with the order of its stages in one turn; engines by name."""
    names = engine_names(body)
    stages = dataflow_order(body.stages)
    engines = sorted(set(names.values()))
    return tuple(Engine(e, _nest([s for s in stages if names[s.name] == e], 0)) for e in engines)


def dataflow_order(stages: Sequence[Stage]) -> list[Stage]:
    """The stages so that each comes after those it takes pages from; otherwise as listed."""
    producer = {o.queue: s.name for s in stages for o in s.outs}
    by_name = {s.name: s for s in stages}
    done: dict[str, None] = {}

    def visit(stage: Stage) -> None:
        if stage.name in done:
            return
        for port in stage.ins:
            visit(by_name[producer[port.queue]])
        done[stage.name] = None

    for stage in stages:
        visit(stage)
    return [by_name[n] for n in done]


def _nest(stages: Sequence[Stage], depth: int) -> tuple[Loop | Step, ...]:
    nodes: list[Step | list[Stage]] = []
    for stage in stages:
        if grain(stage) <= depth:
            nodes.append(Step(stage.name, depth))
        elif nodes and isinstance(nodes[-1], list) and _joins(nodes[-1], stage, depth):
            nodes[-1].append(stage)
        else:
            nodes.append([stage])
    return tuple(n if isinstance(n, Step) else Loop(n[0].loops[depth], _nest(n, depth + 1)) for n in nodes)


def _joins(group: Sequence[Stage], stage: Stage, depth: int) -> bool:
    """Whether the stage may take turns with the group: same trips, and it waits for nothing they finish at their
    end."""
    if group[0].loops[depth] != stage.loops[depth]:
        return False
    made = {o.queue for s in group for o in s.outs}
    return all(p.depth > depth for p in stage.ins if p.queue in made)
