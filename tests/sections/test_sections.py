"""The hand-written corpus: every case parses, and prints as what it is."""

from __future__ import annotations

import pytest
from sections.cases import CASES, HERE, Case

from spatial.ir.text import parse_program, print_program

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_every_file_is_a_case():
    assert sorted(p.stem for p in HERE.glob("*.sec")) == sorted(case.name for case in CASES)


@EACH
def test_the_text_round_trips(case: Case):
    program = case.program()
    assert parse_program(print_program(program)) == program
    assert {body.phase for body in program.bodies} == {"persistent"}


@EACH
def test_inputs_and_results_have_the_shapes_of_their_tensors(case: Case):
    program = case.program()
    inputs = case.inputs(0)
    for name, array in inputs.items():
        tensor, _, plane = name.partition(".")
        slices, rows, cols = program.tensor(tensor).shape
        assert array.shape == (slices, rows // 32 if plane == "scales" else rows, cols), name
    for name, array in case.expected(inputs).items():
        found = {n: t for n, t, _ in program.results} | {t: t for t, _ in program.state}
        assert array.shape == program.tensor(found[name]).shape, name
