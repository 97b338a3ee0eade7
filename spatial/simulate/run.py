"""Running a whole program on a memory: its phases in order, by either executor. Knows no bundle and no host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from spatial.errors import Bug, Refused
from spatial.ir.program import Phase, Program
from spatial.simulate.lockstep import Lockstep
from spatial.simulate.memory import Memory
from spatial.simulate.pagewise import Pagewise
from spatial.target import Target

EXECUTORS = ("lockstep", "pagewise")

Observe = Callable[[int, Memory], None]
"""Called after each phase with its number and the memory, to read tensors while they live."""


class Executor(Protocol):
    """What runs the calls of one phase."""

    def run_phase(self, program: Program, phase: Phase, memory: Memory, seed: int = 0) -> None:
        """Run all calls of `phase`."""
        ...


def executor_for(name: str, target: Target) -> Executor:
    """The executor called `name` for programs on `target`."""
    match name:
        case "lockstep":
            return Lockstep(target)
        case "pagewise":
            return Pagewise(target)
        case _:
            raise Bug(f"no executor is called {name!r}")


def run_program(
    program: Program,
    target: Target,
    memory: Memory,
    executor: str | Executor = "lockstep",
    seed: int = 0,
    observe: Observe | None = None,
) -> None:
    """Run `program` on `memory`, which holds its inputs, weights and state, and afterwards its results and state.

    `executor`: by name, or one that keeps what it knows of bodies from run to run. `seed`: of the interleavings.
    Raises `Refused`, naming the phase, where a schedule does not run or a number leaves its format or its table.
    """
    runner = executor_for(executor, target) if isinstance(executor, str) else executor
    with np.errstate(all="ignore"):
        for number, phase in enumerate(program.phases):
            try:
                runner.run_phase(program, phase, memory, seed + number)
            except Refused as refused:
                said = [replace(p, what=f"phase {number}: {p.what}") for p in refused.problems]
                raise type(refused)(said) from refused
            if observe is not None:
                observe(number, memory)
