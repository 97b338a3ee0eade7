"""The order in which each engine takes up its stages during one turn.

One order of all stages is made first, as if one engine carried them: stages that hand each other pages inside a loop
take turns in that loop, in the order of the dataflow; a stage that needs what another finishes at the end of its loop
comes after the loop, and what needs nothing of it before. Each engine follows that order with the stages it has, so
that room for one transfer in every queue is enough to run: engines never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    whole = _nest(body.stages, 0)
    return tuple(Engine(e, _only(whole, e, names)) for e in sorted(set(names.values())))


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
    """The stages of one iteration at `depth`, which depend on one another and on what came before."""
    todo = list(stages)
    made = {o.queue: s.name for s in stages for o in s.outs}
    out: list[Loop | Step] = []

    def ready(stage: Stage, done: Sequence[Stage]) -> bool:
        return all(p.queue not in made or made[p.queue] in {s.name for s in done} for p in stage.ins)

    done: list[Stage] = []
    while todo:
        now = [s for s in todo if ready(s, done)]
        shallow = next((s for s in now if grain(s) <= depth), None)
        if shallow is not None:
            out.append(Step(shallow.name, depth))
            group = [shallow]
        else:
            group = [now[0]]
            while True:
                rest = (s for s in todo if s not in group and ready(s, [*done, *group]))
                joining = next((s for s in rest if grain(s) > depth and _joins(group, s, depth)), None)
                if joining is None:
                    break
                group.append(joining)
            out.append(Loop(group[0].loops[depth], _nest(group, depth + 1)))
        done += group
        todo = [s for s in todo if s not in group]
    return tuple(out)


def _joins(group: Sequence[Stage], stage: Stage, depth: int) -> bool:
    """Whether the stage may take turns with the group: same trips, and it waits for nothing they finish at their
    end."""
    if group[0].loops[depth] != stage.loops[depth]:
        return False
    made = {o.queue for s in group for o in s.outs}
    return all(p.depth > depth for p in stage.ins if p.queue in made)


def _only(order: Sequence[Loop | Step], engine: str, names: Mapping[str, str]) -> tuple[Loop | Step, ...]:
    """The part of an order that one engine carries."""
    out: list[Loop | Step] = []
    for node in order:
        match node:
            case Step():
                out += [node] if names[node.stage] == engine else []
            case Loop():
                inner = _only(node.body, engine, names)
                out += [Loop(node.count, inner)] if inner else []
    return tuple(out)
