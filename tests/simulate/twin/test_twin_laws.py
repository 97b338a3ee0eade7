"""What holds of every timing: skipping changes nothing, a run is as long as the last, more is never slower."""

from __future__ import annotations

from dataclasses import replace

import pytest
from drawing import STATEMENTS, products
from graphs import Drawn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import LONE, SMALL
from simulate.twin.pipes import PAPER, cycles, mapped, memory, planned, program_of, spread, summed
from simulate.twin.witness import Witness
from support import TF32

from spatial.ir.body import Body
from spatial.simulate.twin.build import Sections, machine_of
from spatial.simulate.twin.clock import run, time_program
from spatial.simulate.twin.steady import Steady
from spatial.target import Target

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
BANKS = memory(replace(TF32, name="banks", columns=3, rows=2, scratch=262_144), banks=6, rate=40.0, unplaced=24.0)
"""A small chip whose memory is slow, in banks."""


@st.composite
def pipes(draw: st.DrawFn) -> Body:
    """Pipes of one site or several, of many pages."""
    pages, depth = draw(st.integers(1, 60)), draw(st.integers(1, 5))
    match draw(st.sampled_from(("mapped", "summed", "multicast", "scatter"))):
        case "mapped":
            across, stride = draw(st.sampled_from(((1, 1), (3, 3), (8, 3), (8, 8))))
            return mapped(pages, depth, draw(st.integers(1, 3)), draw(st.sampled_from(("neg", "exp"))), across, stride)
        case "summed":
            layout = draw(st.sampled_from(("dense", "flat")))
            return summed(pages, depth, draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.booleans()), layout)
        case kind:
            return spread(pages, draw(st.integers(1, 5)), depth, kind, draw(st.booleans()))


@st.composite
def chips(draw: st.DrawFn) -> Target:
    """Chips of round and of crooked figures."""
    rate = draw(st.sampled_from((4096.0, 64.0, 23.7)))
    banks = draw(st.sampled_from((1, 2, 3, 12)))
    unplaced = rate * draw(st.sampled_from((1.0, 0.5)))
    target = memory(PAPER, rate=rate, unplaced=unplaced, banks=banks, latency=draw(st.sampled_from((500.0, 77.3))))
    network = replace(target.network, link=draw(st.sampled_from((64.0, 3.3))))
    return replace(target, step_cycles=draw(st.sampled_from((0.0, 40.0))), network=network)


@settings(max_examples=60, **QUIET)
@given(pipes(), chips())
def test_skipping_what_repeats_changes_no_figure(body: Body, target: Target):
    program = program_of(body)
    assert time_program(program, target) == time_program(program, target, skipping=False)


@settings(max_examples=40, **QUIET)
@given(products() | STATEMENTS, st.integers(0, 1000), st.sampled_from((BANKS, SMALL, LONE)))
def test_so_it_does_of_bodies_under_any_plan(case: Drawn, seed: int, target: Target):
    for body in planned(case, seed, target):
        program = program_of(body)
        assert time_program(program, target) == time_program(program, target, skipping=False)


@pytest.mark.parametrize(
    "body",
    (
        mapped(400),
        mapped(400, across=8, stride=3),
        summed(300, 3, 3, 4),
        spread(300, 4),
        spread(300, 3, kind="scatter"),
    ),
)
def test_most_of_a_long_pipe_is_skipped(body: Body):
    target = memory(PAPER, rate=96.0, unplaced=96.0, banks=3)
    sections = Sections(program_of(body), target)
    machines = [machine_of(sections.program.phases[0], sections) for _ in range(2)]
    steady = Steady(machines[0])
    machines[0].settle()
    while machines[0].heap:
        steady.look()
        machines[0].grant()
        machines[0].settle()
    run(machines[1], [[s.name for s in body.stages]], skipping=False)
    assert steady.skipped + machines[0].granted == machines[1].granted
    assert steady.skipped > machines[1].granted // 2
    assert [p.time for p in machines[0].processes] == [p.time for p in machines[1].processes]
    assert [p.counted for p in machines[0].processes] == [p.counted for p in machines[1].processes]
    assert machines[0].landed == machines[1].landed


class Held(Steady):
    """Holds every skip to what it claims: the machine stands after it as it stood before, but for the time."""

    held = 0

    def _skip(self, before, now, rounds: int) -> None:
        super()._skip(before, now, rounds)
        base = now.base + (now.base - before.base) * rounds
        assert self.machine.heap[0][0] == base
        assert self._mark(base).state == now.state
        self.held += 1


@settings(max_examples=60, **QUIET)
@given(pipes(), chips())
def test_a_skip_leaves_the_machine_as_it_stood(body: Body, target: Target):
    sections = Sections(program_of(body), target)
    machine = machine_of(sections.program.phases[0], sections)
    steady = Held(machine)
    machine.settle()
    while machine.heap:
        steady.look()
        machine.grant()
        machine.settle()
    assert (steady.held > 0) == (steady.skipped > 0)


@pytest.mark.parametrize("body", (mapped(100_000), summed(100_000, 4, 3)), ids=("mapped", "summed"))
def test_a_long_pipe_costs_as_much_as_its_first_rounds(body: Body):
    target = memory(PAPER, rate=96.0, unplaced=96.0, banks=3)
    sections = Sections(program_of(body), target)
    machine = machine_of(sections.program.phases[0], sections)
    run(machine, [[s.name for s in body.stages]])
    assert machine.granted < 200


def ticks(body: Body, target: Target) -> tuple[int, int]:
    """When a call ends: by the machine, and by the witness, which has nobody run ahead of time."""
    sections = Sections(program_of(body), target)
    machine, other = (machine_of(sections.program.phases[0], sections) for _ in range(2))
    granted: list[int] = []
    machine.settle()
    while machine.heap:
        granted.append(machine.heap[0][0])
        machine.grant()
        machine.settle()
    assert granted == sorted(granted)
    witness = Witness(other)
    assert witness.ended == len(machine.processes)
    return max(*machine.landed, *(p.time for p in machine.processes)), witness.end


@settings(max_examples=60, **QUIET)
@given(pipes(), chips())
def test_running_ahead_changes_no_tick(body: Body, target: Target):
    found, plain = ticks(body, target)
    assert found == plain


@settings(max_examples=30, **QUIET)
@given(products() | STATEMENTS, st.integers(0, 1000), st.sampled_from((BANKS, SMALL, LONE)))
def test_running_ahead_changes_no_tick_under_any_plan(case: Drawn, seed: int, target: Target):
    for body in planned(case, seed, target):
        found, plain = ticks(body, target)
        assert found == plain


@settings(max_examples=60, **QUIET)
@given(pipes(), chips())
def test_a_memory_twice_as_fast_is_not_slower(body: Body, target: Target):
    """Where several contend, a page that comes sooner may overtake, and what it overtakes is bound to be late by one
    service at most; a site alone is never slower."""
    m = target.memory
    faster = memory(target, rate=2 * m.rate, unplaced=2 * m.unplaced)
    late = 0 if body.rect == (1, 1) else 4096 * m.banks / m.unplaced
    assert cycles(body, faster) <= cycles(body, target) + late


@settings(max_examples=60, **QUIET)
@given(pipes(), chips(), st.integers(1, 4))
def test_more_buffers_are_not_slower(body: Body, target: Target, more: int):
    """As above: what is read ahead may stand before what is needed now, in the one queue of a bank."""
    m = target.memory
    deeper = replace(body, queues=tuple(replace(q, cap=q.cap * (1 + more)) for q in body.queues))
    late = 4096 * m.banks / m.unplaced * max(q.cap for q in deeper.queues)
    assert cycles(deeper, target) <= cycles(body, target) + late
