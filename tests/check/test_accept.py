"""What must be accepted is, on both chips it may run on, with every obligation counted."""

from __future__ import annotations

import pytest
from check.mutants import read, texts
from support import REFERENCE, TF32

from spatial.check import OBLIGATIONS, check_program

EVERY = ("shape", "precision", "resources", "items", "queues", "schedule", "access", "binding", "version", "rectangle")


@pytest.mark.parametrize("name", sorted(texts()))
def test_program_is_accepted(name: str):
    verdict = check_program(read(name), REFERENCE)
    assert verdict.answer == "accept", [str(f) for f in (*verdict.failures, *verdict.unsupported)]
    assert verdict.accepted and set(verdict.counts) == set(OBLIGATIONS)
    assert all(verdict.counts[o] > 0 for o in EVERY)


@pytest.mark.parametrize("name", sorted(set(texts()) - {"integers"}))
def test_a_chip_that_rounds_operands_makes_no_difference_to_safety(name: str):
    assert check_program(read(name), TF32).accepted


def test_a_chip_of_narrow_accumulators_refuses_wide_ones():
    verdict = check_program(read("integers"), TF32)
    assert {f.obligation for f in verdict.failures} >= {"precision"}


def test_equal_bodies_are_judged_once():
    program = read("layers")
    assert len(program.bodies) == 1 and sum(len(p) for p in program.phases) == 8
    # One engine each on both sites, judged for one class of sites: counts do not grow with calls.
    once = check_program(program, REFERENCE).counts["schedule"]
    again = check_program(read("layers"), REFERENCE).counts["schedule"]
    assert once == again


def test_a_declared_range_is_held_to_what_the_program_was_made_for():
    program = read("rotary")
    assert check_program(program, REFERENCE, {"position": (0, 15)}).accepted
    wide = check_program(program, REFERENCE, {"position": (0, 16)})
    assert [f.obligation for f in wide.failures] == ["binding"]
