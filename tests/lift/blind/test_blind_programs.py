"""Programs as engineers write them, written without sight of how lifting recognises anything.

Each is first held to an array expression of numpy (`blind_answers.py`), so that the program itself is known to be
right; then it lifts to a graph that computes the same and lowers to a chip that computes the same, or is refused for
the reason written word for word in `refused.txt`, where it is read and judged. `python -m lift.blind` in the folder of
the tests records anew what happens; whoever changes what is refused reads the difference and judges it.

Beside what `tests/sources.py` reads, a program's head may say

    # shape w [n, k]        the shape of a weight, which lifting infers by itself
    # positive v, w         tables drawn above zero
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from lift.blind import blind_answers
from lift.blind.records import FOLDER, SECTIONS, outcome, read
from lifting import agree
from sources import Source, compiled, hold, read_sources
from support import REFERENCE

from spatial.build.expressions import evaluate as integer
from spatial.errors import Bug
from spatial.logos.interpret import Seq, interpret
from spatial.logos.parser import parse
from spatial.numerics import Array

SOURCES = read_sources(FOLDER)
_SHAPE = re.compile(r"^# shape (\w+) \[([^]]*)\]$", re.MULTILINE)
_POSITIVE = re.compile(r"^# positive (.+)$", re.MULTILINE)


RECORDED = read().entries
NOT_LIFTED, NOT_LOWERED, FAULTS = (RECORDED[section] for section in SECTIONS)
LIFTED = [s for s in SOURCES if str(s) not in NOT_LIFTED]


def drawn(source: Source, seed: int) -> dict[str, Array]:
    """Tables for the program, by its head."""
    rng = np.random.default_rng(seed)
    sizes = source.facts.sizes
    shapes = {n: tuple(integer(d, sizes) for d in dims.split(",")) for n, dims in _SHAPE.findall(source.text)}
    shapes |= {n: t.dims for n, t in source.facts.tables.items()}
    positive = {w.strip() for line in _POSITIVE.findall(source.text) for w in line.split(",")}
    out: dict[str, Array] = {}
    for name, shape in sorted(shapes.items()):
        table = source.facts.tables.get(name)
        if table is not None and table.kind == "int":
            low, high = table.range or (-9, 9)
            out[name] = rng.integers(low, high + 1, shape)
        else:
            out[name] = np.abs(rng.normal(size=shape)) + 0.1 if name in positive else rng.normal(size=shape)
    return out


def test_every_record_is_of_a_program():
    known = {str(s) for s in SOURCES}
    assert set(NOT_LIFTED) <= known
    assert set(NOT_LOWERED) <= known - set(NOT_LIFTED)
    assert set(FAULTS) <= known - set(NOT_LIFTED) - set(NOT_LOWERED)


@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_program_is_right(source: Source):
    sizes = source.facts.sizes
    for seed in (1, 2, 3):
        given = drawn(source, seed)
        want = getattr(blind_answers, source.name)({**sizes, **given})
        assert set(source.results) <= set(want)
        assert {n for n, t in source.facts.tables.items() if t.state} <= set(want)
        inputs = {n: v.tolist() for n, v in given.items()}
        got = interpret(parse(source.text, f"{source.name}.lg"), {**sizes, **inputs}).variables
        for name, value in want.items():
            found = got[name]
            array = found.to_array() if isinstance(found, Seq) else np.asarray(found)
            assert array.shape == np.shape(value), name
            assert (array.dtype.kind == "i") == (np.asarray(value).dtype.kind == "i"), name
            assert np.allclose(array, value, rtol=1e-9, atol=1e-9), (name, array, value)


@pytest.mark.parametrize("source", LIFTED, ids=str)
def test_the_graph_computes_what_the_program_says(source: Source):
    for seed in (1, 2, 3):
        agree(source.text, source.facts, drawn(source, seed), source.results)


def lowering() -> list[Any]:
    """What should lower; a fault of ours that is mended but still recorded fails."""
    fault = pytest.mark.xfail(strict=True, raises=(Bug, KeyError), reason="see refused.txt")
    tried = [s for s in LIFTED if str(s) not in NOT_LOWERED]
    return [pytest.param(s, marks=[fault] if str(s) in FAULTS else [], id=str(s)) for s in tried]


@pytest.mark.parametrize("source", lowering())
def test_the_chip_computes_what_the_program_says(source: Source):
    work = compiled(source, REFERENCE)
    for seed in (1, 2):
        hold(work, seed)


@pytest.mark.parametrize("source", [s for s in SOURCES if str(s) in {**NOT_LIFTED, **NOT_LOWERED}], ids=str)
def test_what_is_refused_says_what_was_reviewed(source: Source):
    section, report = outcome(source)
    assert section
    assert report == RECORDED[section].get(str(source))
