"""The order in which each engine takes up its stages during one turn.

One order of all stages is made first, as if one engine carried them (`plan.turn`). Each engine follows that order with
the stages it has, so that room for one transfer in every queue is enough to run: engines never wait for each other in
a circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spatial.errors import Bug
from spatial.ir.body import Body, Engine, Loop, Stage, Step
from spatial.plan.turn import turn_of


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
    whole = turn_of(body.stages)
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
