"""What the translator writes, run by Python itself, is what the interpreter does: lines, errors, variables to the bit.

Programs it does not take are refused before anything runs, or stop where they would need what compiled code lacks.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from compiling import as_array, emulated, held_equal, plainly, run
from drawn_programs import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.errors import Unsupported
from spatial.logos.compiled.units import translate
from spatial.logos.parser import parse

HERE = Path(__file__).parent
WRITTEN = re.split(r"^--- (.*)\n", (HERE / "programs.txt").read_text(encoding="utf-8"), flags=re.M)[1:]
PROGRAMS = dict(zip(WRITTEN[::2], WRITTEN[1::2], strict=True))
LANGUAGE = (HERE.parents[2] / "docs/language.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```logos\n(.*?)```\n```text", LANGUAGE, re.DOTALL)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_written_program(name: str) -> None:
    program = parse(PROGRAMS[name], "written.lg")
    found = run(program, {}, emulated)
    held_equal(run(program, {}, plainly), found)


def test_the_language_page() -> None:
    """All but three are taken: those with a Float among Ints, an Int beyond 64 bits, rows of unlike length."""
    refused = 0
    for text in EXAMPLES:
        program = parse(text)
        found = run(program, {}, emulated)
        refused += found.refused
        if not found.refused:
            held_equal(run(program, {}, plainly), found)
    assert refused <= 3 < len(EXAMPLES) - refused


def agrees(number: int) -> bool:
    """Whether a drawn program is taken; if it is, both modes agree."""
    source = random.Random(number)
    program = parse(drawn(source.randrange), "drawn.lg")
    plain, found = run(program, {}, plainly), run(program, {}, emulated)
    if found.refused:
        assert found.lines == plain.lines[: len(found.lines)]
        return False
    held_equal(plain, found)
    return True


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**9))
def test_drawn_programs(number: int) -> None:
    agrees(number)


def test_most_drawn_programs_are_taken() -> None:
    assert sum(agrees(number) for number in range(60)) >= 36


@pytest.mark.nightly
def test_many_drawn_programs() -> None:
    assert sum(agrees(number) for number in range(1000, 6000)) >= 3000


def test_inputs_are_taken_as_they_are_and_never_changed() -> None:
    program = parse("Set item 1 of w to item 2 of u.\nPush 5 to k.\nLet y be item 2 of item 1 of t.\nLet z be n + 1.")
    inputs = {
        "w": np.array([1.0, 2.0], np.float32),
        "u": [0.5, 0.25],
        "k": np.array([3], np.int8),
        "t": np.arange(4.0).reshape(2, 2)[::-1],
        "n": np.int64(4),
        "unread": np.array([1], np.float32),
        "text": "unread too",
    }
    plain, found = run(program, inputs, plainly), run(program, inputs, emulated)
    assert plain.variables.keys() == found.variables.keys()
    for name in ("w", "u", "k", "t", "y", "z"):
        x, y = as_array(plain.variables[name]), as_array(found.variables[name])
        assert x.dtype == y.dtype and np.array_equal(x, y)
    assert inputs["w"].tolist() == [1, 2] and inputs["k"].tolist() == [3]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ({"w": [1, 2.5]}, "Floats and Ints"),
        ({"w": [[1], [2, 3]]}, "unlike length"),
        ({"w": [1, [2]]}, "sequences and scalars"),
        ({"w": "text"}, "a Text"),
        ({"w": [1 << 64]}, "beyond 64 bits"),
        ({"w": np.array([1 << 63], np.uint64)}, "beyond 64 bits"),
    ],
)
def test_inputs_that_are_refused(inputs: dict[str, object], why: str) -> None:
    found = run(parse("Show w."), inputs, emulated)
    assert found.refused and why in str(found.error)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("Let t be 0.\nSet t to t + 0.5.", "2:1: error: t holds an Int and, here, a Float; "),
        (
            "Let xs be a new Seq of Float.\nPush 1 to xs.\nPush 1.5 to xs.",
            "3:13: error: xs holds a Seq of Int and, here",
        ),
        ("Show [1, 2.5].", "1:10: error: the list holds an Int and, here, a Float"),
        ('Let s be "a".', "s would be a Text"),
        ("Let g be [[1]].\nPush 2 to item 1 of g.", "a Seq inside a Seq grows"),
        ("Show 1 % 2.5.", "% of an Int and a Float"),
        ("Show 1 + true.", "+ of an Int and a Bool"),
        ("Let n be -1.\nShow pow(2, n).", "pow of two Ints"),
        ('Show parseInt("3").', "parseInt has no compiled form"),
        ("## To f (xs: mutable Seq of Int):\n    Set xs to [1].\n## Main\nLet a be [0].\nf(a).", "set as a whole"),
        (
            "## To f (a: mutable Seq of Int, b: mutable Seq of Int):\n    Push 1 to b.\n"
            "## Main\nLet a be [0].\nf(a, a).",
            "a reaches f twice",
        ),
        ("## To f () -> Int:\n    Return n.\n## Main\nShow f().\nLet n be 1.", "n is used by what is called here"),
        ("## To f (n: Int) -> Int:\n    If n > 0: Return 1.\n    Return 0.5.\n## Main\nShow f(1).", "the result"),
    ],
)
def test_programs_that_are_refused_before_they_run(source: str, told: str) -> None:
    with pytest.raises(Unsupported) as caught:
        translate(parse(source, "refused.lg"), {})
    assert told in str(caught.value)
    assert "leave --compiled out" in str(caught.value)
    assert all(problem.place for problem in caught.value.problems)


def test_refusals_are_told_all_at_once_and_once_each() -> None:
    text = (
        "Let t be 0.\nSet t to 1.5.\nLet u be [1, 2.5].\nShow u.\nRepeat for i from 1 to 2:\n    Set t to 2.5.\nShow t."
    )
    with pytest.raises(Unsupported) as caught:
        translate(parse(text), {})
    assert [p.place.line for p in caught.value.problems if p.place] == [2, 3, 6]


@pytest.mark.parametrize(
    ("source", "told", "lines"),
    [
        ("Show 1.\nLet n be 9223372036854775807.\nShow n + 1.", "3:6: error: an Int beyond 64 bits", ["1"]),
        ("Show 0 - 9223372036854775807 - 2.", "an Int beyond 64 bits", []),
        ("Show 4294967296 * 4294967296.", "an Int beyond 64 bits", []),
        ("Show 2 ** 63.", "an Int beyond 64 bits", []),
        ("Let n be -9223372036854775808.\nShow n / -1.", "an Int beyond 64 bits", []),
        ("Let n be -9223372036854775808.\nShow abs(n).", "an Int beyond 64 bits", []),
        ("Let g be [[1]].\nPush [1, 2] to g.", "2:16: error: rows of unlike length", []),
        ("Let g be [[1, 2], [3]].", "rows of unlike length", []),
        ("Let xs be 100000 copies of (100000 copies of 0).", "too large to lie in memory", []),
        ("Let xs be a new Seq of Int.\nPop from xs into y.", "a Pop from an empty sequence", []),
        (
            "## To f (n: Int) -> Int:\n    If n > 0: Return 1.\n## Main\nShow f(1).\nLet x be f(0).",
            "without giving a value",
            ["1"],
        ),
    ],
)
def test_runs_that_stop_at_a_limit_never_give_another_value(source: str, told: str, lines: list[str]) -> None:
    found = run(parse(source, "limit.lg"), {}, emulated)
    assert found.refused and told in str(found.error) and "leave --compiled out" in str(found.error)
    assert found.lines == lines
