"""From a machine that has run to the record of its phase: what worked for how long, and what no plan is spared.

Knows what a machine counts, and nothing of how it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from spatial.ir.body import Operand
from spatial.ir.program import Call, Phase
from spatial.numerics import Q8_BLOCK, precision
from spatial.simulate.twin.build import Sections
from spatial.simulate.twin.figures import TICKS
from spatial.simulate.twin.machine import Machine
from spatial.simulate.twin.parts import Process, Server
from spatial.simulate.twin.record import CallTime, Engine, PhaseTime
from spatial.simulate.twin.work import full_rate


def told(phase: Phase, sections: Sections, machine: Machine) -> PhaseTime:
    """The record of `phase`, which `machine` has run."""
    target = sections.target
    ends = [max([p.time for p in machine.processes if p.call == n] + [machine.landed[n]]) for n in range(len(phase))]
    whole = max(ends, default=0) + target.section_cycles * TICKS
    banks = [bank.busy for bank in machine.shared.banks]

    def most(servers: Sequence[Server]) -> float:
        return part(max((s.busy for s in servers), default=0))

    def part(time: float) -> float:
        return time / whole if whole else 0.0

    calls = tuple(
        CallTime(
            call.body,
            ends[n] / TICKS + target.section_cycles,
            _engines([p for p in machine.processes if p.call == n], part),
            sum(p.moved_bytes for p in machine.processes if p.call == n),
            sum(p.sent_bytes for p in machine.processes if p.call == n),
            _compute(sections, call),
            _needed(sections, call, [p for p in machine.processes if p.call == n]),
        )
        for n, call in enumerate(phase)
    )
    return PhaseTime(
        whole / TICKS,
        target.section_cycles,
        calls,
        part(sum(banks) / len(banks)),
        most(machine.shared.banks),
        most(machine.shared.ports),
        most(machine.shared.lines),
    )


def _engines(processes: list[Process], part: Callable[[float], float]) -> tuple[Engine, ...]:
    found: list[Engine] = []
    for name in sorted({p.engine for p in processes}):
        counted = [p.counted for p in processes if p.engine == name]
        working, *waiting = (part(sum(c[k] for c in counted) / len(counted)) for k in range(4))
        found.append(Engine(name, working, part(max(c[0] for c in counted)), *waiting))
    return tuple(found)


def _compute(sections: Sections, call: Call) -> float:
    """Cycles of a call's operations, were they spread over all sites and done at full rate."""
    body = sections.program.bodies[call.body]
    works = sections.orders(call.body).works
    turn = sum(full_rate(body, stage, work) for stage, work in zip(body.stages, works, strict=True))
    return turn * prod(body.items.grid) / sections.target.sites


def _needed(sections: Sections, call: Call, processes: list[Process]) -> float:
    """Cycles of the memory, placed well, for what a call moves of each operand, but once."""
    body = sections.program.bodies[call.body]
    moved = dict.fromkeys((o.name for o in body.operands), 0)
    for p in processes:
        for number, (kinds, parts) in p.pages.items():
            access = body.stages[number].access
            if access is not None:
                sizes = np.array([sum(part.bytes for part in found) for found in parts])
                moved[access.operand] += int(sizes @ np.bincount(kinds, minlength=len(sizes)))
    held = {o.name: _bytes(o) for o in body.operands}
    return sum(min(moved[name], held[name]) for name in moved) / sections.target.memory.rate


def _bytes(operand: Operand) -> int:
    elements = prod(operand.extent)
    if operand.prec == "q8_0":
        return elements + elements // Q8_BLOCK * 2
    return elements * precision(operand.prec).bytes
