"""Rules on engines: each stage is carried by one engine of its kind, and the orders run every stage to its end.

Knows counts of iterations; whether an order can block is for the run on counts, not for rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from spatial.errors import Problem
from spatial.ir.body import Body, Loop, Stage, Step
from spatial.ir.validate.problems import problem
from spatial.ir.validate.shape import repeated
from spatial.target import Target

MOST_STEPS = 1 << 20
"""Steps of an order that are followed one by one; a stage stepped at several depths more often is left unjudged."""

Order = tuple[Loop | Step, ...]


def _steps(order: Order) -> Iterator[Step]:
    """Every step that is written, once."""
    for node in order:
        match node:
            case Step():
                yield node
            case Loop(_, inner):
                yield from _steps(inner)


def _loops(order: Order) -> Iterator[Loop]:
    for node in order:
        if isinstance(node, Loop):
            yield node
            yield from _loops(node.body)


def carried(body: Body, target: Target) -> Iterator[Problem]:
    """Engines are the target's, and each stage occurs in the order of exactly one, which carries its kind."""
    known = {e.name: e.kinds for e in target.engines}
    stages = {s.name: s for s in body.stages}
    carriers: dict[str, list[str]] = {name: [] for name in stages}
    for engine in body.engines:
        place = f"engine {engine.name}"
        if engine.name not in known:
            yield problem(place, "a site has no such engine", f"it has {', '.join(known)}")
            continue
        for loop in _loops(engine.order):
            if loop.count < 1:
                yield problem(place, f"a loop of {loop.count}", "a loop has a step at least")
        for name in dict.fromkeys(step.stage for step in _steps(engine.order)):
            if name not in stages:
                yield problem(place, f"a step of {name!r}", "no stage is called so")
                continue
            carriers[name].append(engine.name)
            if stages[name].kind not in known[engine.name]:
                why = f"it carries {', '.join(known[engine.name])}"
                yield problem(place, f"a step of {name}, a {stages[name].kind}", why, "move it to another engine")
        for step in _steps(engine.order):
            if step.stage in stages and not -1 <= step.depth <= stages[step.stage].depth:
                why = f"the stage has depths -1 to {stages[step.stage].depth}"
                yield problem(place, f"a step of {step.stage} at depth {step.depth}", why)
    for name, found in carriers.items():
        if len(found) != 1 or repeated(found):
            what = f"carried by {' and '.join(found) if found else 'no engine'}"
            yield problem(f"stage {name}", what, "exactly one engine carries it")


def complete(body: Body, target: Target) -> Iterator[Problem]:
    """Each engine's order advances each of its stages through exactly the iterations of one call."""
    for engine in body.engines:
        written = Counter(step.stage for step in _steps(engine.order))
        for name in written:
            stage = body.stage(name)
            want, got = _iterations(body, stage, -1), _advanced(body, stage, engine.order)
            if got is not None and got != want:
                what = f"{got} of the {want} innermost iterations of {name}"
                yield problem(f"engine {engine.name}", what, "an order runs each of its stages to the end of the call")


def _iterations(body: Body, stage: Stage, depth: int) -> int:
    """Innermost iterations of `stage` inside one iteration at `depth`."""
    return prod(body.items.trips) * prod(stage.loops) if depth < 0 else prod(stage.loops[depth:])


def _advanced(body: Body, stage: Stage, order: Order) -> int | None:
    """Innermost iterations through which `order` takes `stage`; None where that takes too long to find out."""
    depths = {step.depth for step in _steps(order) if step.stage == stage.name}
    times = _times(order, stage.name)
    if len(depths) == 1:
        return times * _iterations(body, stage, depths.pop())
    if times > MOST_STEPS:
        return None
    at = 0
    for step in _run(order, stage.name):
        size = _iterations(body, stage, step.depth)
        at = (at // size + 1) * size
    return at


def _times(order: Order, stage: str) -> int:
    """Steps of `stage` that `order` makes."""
    total = 0
    for node in order:
        match node:
            case Step(name):
                total += name == stage
            case Loop(count, inner):
                total += count * _times(inner, stage)
    return total


def _run(order: Order, stage: str) -> Iterator[Step]:
    """The steps of `stage`, in turn."""
    for node in order:
        match node:
            case Step(name):
                if name == stage:
                    yield node
            case Loop(count, inner):
                if _times(inner, stage):
                    for _ in range(count):
                        yield from _run(inner, stage)
