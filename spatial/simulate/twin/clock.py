"""How long programs take: phase after phase, equal ones once.

A phase lasts from its start until every site has finished and every store has landed, and costs the target's
`section_cycles` beside. Phases are equal where their calls have the same bodies and places, and bindings whose pages
lie in the banks alike (all banks turned by as many is alike).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spatial.errors import Bug, Problem, Refused, Unsupported
from spatial.ir.program import Phase, Program
from spatial.simulate.process import deadlock, leftover
from spatial.simulate.twin.build import Sections, machine_of
from spatial.simulate.twin.machine import Machine
from spatial.simulate.twin.parts import Process
from spatial.simulate.twin.places import phase_of
from spatial.simulate.twin.record import PhaseTime, ProgramTime
from spatial.simulate.twin.steady import Steady
from spatial.simulate.twin.tell import told
from spatial.target import Target

EVENTS = 10_000_000
"""Transactions of a phase that are run one by one at most; those skipped as repeated are not counted."""


def time_program(program: Program, target: Target, skipping: bool = True) -> ProgramTime:
    """The time of one run of `program`. `skipping`: whether repeated rounds are skipped, which changes no figure.

    Raises `Refused`, naming the phase, where a schedule deadlocks or is too long to be timed.
    """
    sections = Sections(program, target)
    known: dict[object, int] = {}
    times: list[PhaseTime] = []
    phases: list[int] = []
    for number, phase in enumerate(program.phases):
        key = _key(phase, sections)
        if key not in known:
            try:
                times.append(time_phase(phase, sections, skipping))
            except Refused as refused:
                said = [replace(p, what=f"phase {number}: {p.what}") for p in refused.problems]
                raise type(refused)(said) from refused
            known[key] = len(times) - 1
        phases.append(known[key])
    return ProgramTime(tuple(phases), tuple(times))


def time_phase(phase: Phase, sections: Sections, skipping: bool = True) -> PhaseTime:
    """The time of one phase."""
    machine = machine_of(phase, sections)
    stages = [[s.name for s in sections.program.bodies[call.body].stages] for call in phase]
    run(machine, stages, skipping)
    return told(phase, sections, machine)


def run(machine: Machine, stages: Sequence[Sequence[str]], skipping: bool = True) -> None:
    """Run `machine` to its end; `stages`: names of the stages of each call.

    Raises `Refused` where it deadlocks, with a site of each engine that waits, or ends with pages in a queue.
    """
    steady = Steady(machine) if skipping and machine.processes else None
    machine.settle()
    while machine.heap:
        if steady is not None:
            steady.look()
        if machine.granted > EVENTS:
            raise Unsupported(f"a phase makes more than {EVENTS} transactions", "and does not repeat itself")
        machine.grant()
        machine.settle()
    stuck = [p for p in machine.processes if not p.ended]
    left = [leftover(q.name, len(q.pages)) for q in machine.queues if q.pages]
    if stuck or left:
        found = {(p.call, p.engine): _stuck(p, stages[p.call][p.acts[p.act].stage]) for p in reversed(stuck)}
        raise Refused(list(reversed(found.values())) or dict.fromkeys(left))


def _stuck(p: Process, stage: str) -> Problem:
    """What a process that goes on no more waits for."""
    queue = p.waiting
    if queue is None:
        raise Bug(f"{p.engine} at site {p.site} has stopped and waits for nothing")
    what = "page" if queue.consumer is p else "room"
    held = queue.cap - len(queue.room)
    return deadlock(f"engine {p.engine} at site {p.site}", stage, queue.name, what, held, queue.cap)


def _key(phase: Phase, sections: Sections) -> object:
    """Equal for phases of equal times."""
    places = [[phase_of(sections.program.tensor(b.tensor), b, sections.figures) for b in call.binds] for call in phase]
    turn = next((p.bank for found in places for p in found), 0)
    banks = sections.target.memory.banks
    return tuple(
        (call.body, call.place, tuple(replace(p, bank=(p.bank - turn) % banks) for p in found))
        for call, found in zip(phase, places, strict=True)
    )
