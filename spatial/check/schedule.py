"""Obligation 6: the engines' orders run every stage whole, and one complete schedule exists within the capacities.

A body is a Kahn network of one sequential process per engine and site, so one complete schedule proves every
interleaving live, and capacities depend on no data: the schedule is run on counts (`counts`), one site of each class.
"""

from __future__ import annotations

from collections.abc import Mapping

from spatial.check.counts import MOST_PASSES, Event, Instance, Process, Stuck, run
from spatial.check.events import (
    MOST_EVENTS,
    POP,
    PUSH,
    RELEASE,
    Row,
    event_count,
    process_of,
    row_of,
    step_count,
    unrolled,
)
from spatial.check.queues import SENDERS, moved
from spatial.check.site_classes import SiteClass, site_classes
from spatial.check.verdict import Log, Spot
from spatial.ir.body import Body, Engine, Loop, Step, count
from spatial.numerics import Array
from spatial.target import Target


def check_schedule(body: Body, target: Target, place: str, log: Log) -> bool:
    """Whether the orders are whole and a schedule exists."""
    at = log.at("schedule", place)
    before = log.findings
    _orders(body, target, at)
    if log.findings > before:
        return False
    classes = site_classes(body)
    processes = _processes(body, classes, at)
    if processes is None:
        return False
    log.count("schedule", len(processes))
    caps = {(c, q.name): q.cap for c in range(len(classes)) for q in body.queues}
    stuck = run(processes, caps)
    if stuck is None:
        at.unsure(f"no schedule was found within {MOST_PASSES} rounds")
    elif stuck.waits:
        at.reject(f"no schedule exists: {'; '.join(stuck.waits)}", _mend(body, processes, caps, stuck))
    return log.findings == before


def _orders(body: Body, target: Target, at: Spot) -> None:
    """Every stage stands in the order of exactly one engine, which exists and carries its kind."""
    owners: dict[str, list[str]] = {s.name: [] for s in body.stages}
    known = {e.name: e for e in target.engines}
    for engine in body.engines:
        here = at.at(f"engine {engine.name}")
        here.require(engine.name in known, "the chip has no such engine", f"it has {', '.join(known)}")
        if not here.require(step_count(engine.order) <= MOST_EVENTS, f"the order has over {MOST_EVENTS} steps"):
            continue
        for step in _entries(engine):
            if isinstance(step, Loop):
                here.require(step.count >= 1, f"a loop of {step.count} rounds")
            elif step.stage not in owners:
                here.require(False, f"the order steps {step.stage!r}, which is no stage")
            elif not -1 <= step.depth <= body.stage(step.stage).depth:
                here.require(False, f"{step.stage} has no iterations at depth {step.depth}")
            elif engine.name not in owners[step.stage]:
                owners[step.stage].append(engine.name)
    for stage in body.stages:
        here, named = at.at(f"stage {stage.name}"), owners[stage.name]
        here.require(
            len(named) == 1,
            f"{' and '.join(named) or 'no engine'} carr{'y' if len(named) > 1 else 'ies'} it",
            "step the stage in the order of one engine",
        )
        for name in named:
            kinds = known[name].kinds if name in known else ()
            here.require(
                name not in known or stage.kind in kinds,
                f"the engine {name} carries no stages of kind {stage.kind}",
                f"such stages run on {', '.join(target.engine_of(stage.kind)) or 'no engine of this chip'}",
            )


def _entries(engine: Engine) -> list[Loop | Step]:
    """The loops and steps of an order, each once for each time it is written."""
    out: list[Loop | Step] = list(engine.order)
    for entry in out:
        if isinstance(entry, Loop):
            out.extend(entry.body)
    return out


def _processes(body: Body, classes: tuple[SiteClass, ...], at: Spot) -> list[Process] | None:
    for stage in body.stages:
        if event_count(body, stage) > MOST_EVENTS:
            at.at(f"stage {stage.name}").unsure(f"it has over {MOST_EVENTS} events in a call on one site")
            return None
    rows = {n: row_of(body, stage) for n, stage in enumerate(body.stages)}
    sources = _sources(body, classes)
    out: list[Process] = []
    made: dict[tuple[str, frozenset[int]], tuple[Array, Array] | None] = {}
    for c, alike in enumerate(classes):
        for engine in body.engines:
            mine: dict[int, Row] = {n: rows[n] for n in sorted(alike.stages)}
            key = (engine.name, alike.stages)
            if key not in made:
                steps = unrolled(engine.order, {body.stages[n].name: n for n in mine})
                made[key] = process_of(body, mine, steps, at.at(f"engine {engine.name}"))
            process = made[key]
            if process is None:
                return None
            codes, owners = process
            width = 1 + 3 * max((len(s.ins) + len(s.outs) for s in body.stages), default=0)
            events, stages = _events(body, c, alike, sources, width)
            name = f"engine {engine.name} of site {alike.site}"
            out.append(Process(name, owners * width + codes, events, stages))
    return out


def _sources(body: Body, classes: tuple[SiteClass, ...]) -> dict[tuple[int, int], tuple[Instance, ...]]:
    """For each class and stage that sends, the queue instances one push reaches."""
    return {
        (c, s): tuple((t, body.stages[s].outs[0].queue) for t in targets)
        for c, alike in enumerate(classes)
        for s, targets in alike.targets.items()
    }


def _events(
    body: Body, c: int, alike: SiteClass, sources: Mapping[tuple[int, int], tuple[Instance, ...]], width: int
) -> tuple[dict[int, Event], dict[int, str]]:
    """What each event number of class `c` does, and whose it is."""
    events: dict[int, Event] = {}
    stages: dict[int, str] = {}
    for s in sorted(alike.stages):
        stage = body.stages[s]
        for n, port in enumerate(stage.ins):
            base = s * width + 3 * n
            events[base + POP] = (POP, ((c, port.queue),), 1)
            events[base + RELEASE] = (RELEASE, ((c, port.queue),), count(port.pages))
            stages |= {base + POP: stage.name, base + RELEASE: stage.name}
        for n, port in enumerate(stage.outs):
            to = sources[c, s] if stage.kind in SENDERS else ((c, port.queue),)
            events[s * width + 3 * n + PUSH] = (PUSH, to, 1)
            stages[s * width + 3 * n + PUSH] = stage.name
    return events, stages


def _mend(body: Body, processes: list[Process], caps: Mapping[Instance, int], stuck: Stuck) -> str:
    """The least capacity of one full queue with which a schedule exists, in words."""
    for name in sorted({q for _, q in stuck.full}):
        most = max(moved(body, s, p) for s in body.stages for p in s.outs if p.queue == name)
        low, high = body.queue(name).cap, most
        if not _completes(processes, caps, name, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _completes(processes, caps, name, middle) else (middle, high)
        return f"a capacity of {high} pages of {name} would suffice"
    return "no capacity of one queue alone would do; look at the order of the steps"


def _completes(processes: list[Process], caps: Mapping[Instance, int], name: str, cap: int) -> bool:
    raised = {i: (cap if i[1] == name else c) for i, c in caps.items()}
    stuck = run(processes, raised)
    return stuck is not None and not stuck.waits
