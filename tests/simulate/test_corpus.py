"""Every hand-written section: both executors give what its formula says, and agree bit for bit in any interleaving."""

from __future__ import annotations

import numpy as np
import pytest
from sections.cases import CASES, Case, Tables, wide
from support import REFERENCE, TF32

from spatial.ir.program import Program
from spatial.simulate import lockstep
from spatial.simulate.memory import Memory
from spatial.simulate.pagewise import STRATEGIES, Pagewise
from spatial.simulate.run import Executor, run_program
from spatial.target import Target

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def loaded(program: Program, tables: Tables, target: Target) -> Memory:
    memory = Memory.of(program, target)
    for name, array in tables.items():
        tensor, _, plane = name.partition(".")
        memory.set(tensor, array, plane)
    return memory


def outcome(program: Program, memory: Memory) -> Tables:
    found = {name: memory.get(tensor) for name, tensor, _ in program.results}
    return found | {name: memory.get(name) for name, _ in program.state}


def ran(case: Case, executor: str | Executor, seed: int, target: Target = REFERENCE) -> Tables:
    program = case.program()
    memory = loaded(program, case.inputs(0), target)
    run_program(program, target, memory, executor, seed)
    return outcome(program, memory)


def same(found: Tables, expected: Tables) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes(), name


@EACH
@pytest.mark.parametrize("seed", range(3))
def test_lockstep_computes_what_the_formula_says(case: Case, seed: int):
    program, inputs = case.program(), case.inputs(seed)
    memory = loaded(program, inputs, REFERENCE)
    run_program(program, REFERENCE, memory)
    found, expected = outcome(program, memory), case.expected(wide(inputs))
    for name, array in expected.items():
        np.testing.assert_allclose(found[name].astype(np.float64), array, case.tolerance, case.tolerance, err_msg=name)


@EACH
@pytest.mark.parametrize("size", (1, 3000))
def test_windows_change_nothing(case: Case, size: int, monkeypatch: pytest.MonkeyPatch):
    expected = ran(case, "lockstep", 0)
    monkeypatch.setattr(lockstep, "STREAM_BYTES", size)
    same(ran(case, "lockstep", 0), expected)


@EACH
@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_pagewise_agrees_bit_for_bit_in_any_interleaving(case: Case, target: Target):
    expected = ran(case, "lockstep", 0, target)
    for strategy in STRATEGIES[1:]:
        same(ran(case, Pagewise(target, strategy), 0, target), expected)
    for seed in range(30):
        same(ran(case, Pagewise(target), seed, target), expected)
