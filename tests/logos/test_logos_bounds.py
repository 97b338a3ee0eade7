"""A few words that ask for too much end in an error soon; so do programs of real text with tokens changed at random."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spatial.errors import SourceError
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse

ORDINARY = [p.read_text(encoding="utf-8") for p in sorted((Path(__file__).parent / "ordinary").glob("*.lg"))]


def shown(text: str) -> list[str]:
    lines: list[str] = []
    interpret(parse("## Main\n" + text, "t.lg"), {}, (), lines.append)
    return lines


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("Show 10 ** 10 ** 9.", "2:6", "a power of too many digits"),
        ("Show (0 - 2) ** 16777217.", "2:7", "a power of too many digits"),
        ("Show pow(10, 10 ** 9).", "2:6", "a power of too many digits"),
        ("Show 1000000000 copies of 0.", "2:6", "a sequence of too many items"),
        ("Show 10 ** 30 * [0].", "2:6", "a sequence of too many items"),
        ("Show repeatSeq(0, 2 ** 80).", "2:6", "a sequence of too many items"),
        ('Let t be "ab".\nRepeat forever:\n    Set t to t + t.', "4:14", "a text of too many characters"),
        ('Let t be "ab".\nRepeat forever:\n    Set t to "{t}{t}".', "4:5", "a text of too many characters"),
        ('Let t be "ab".\nRepeat forever:\n    Set t to t combined with t.', "4:14", "a text of too many characters"),
        ("Let x be [].\nRepeat for i from 1 to 9999:\n    Set x to [x].\nShow x.", "5:1", "nested too deep"),
        ("Let x be [].\nRepeat for i from 1 to 9999:\n    Set x to [x].\nShow x == x.", "5:6", "nested too deep"),
        ("Let x be [1].\nShow item (10 ** 5000) of x.", "3:6", "is out of range"),
        ("Let x be [1].\nSet item (10 ** 5000) of x to 1.", "3:5", "is out of range"),
    ],
)
def test_too_much_is_refused_before_it_is_made(text: str, place: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        shown(text)
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"t.lg:{place}: error: ")
    assert words in problem.what


def test_what_is_shown_is_bounded_though_what_is_held_is_small() -> None:
    with pytest.raises(SourceError, match="too many characters"):
        shown(
            'Let t be "ab".\nRepeat for i from 1 to 16:\n    Set t to t + t.\n'
            "Let x be [t].\nRepeat for i from 1 to 20:\n    Set x to 100 copies of x.\nShow x."
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show 1 ** 10 ** 30. Show 0 ** 10 ** 30. Show (0 - 1) ** (10 ** 30 + 1).", ["1", "0", "-1"]),
        ("Show length of format(7 ** 100000).", ["84510"]),
        ("Show 10 ** 20000 / 10 ** 19998.", ["100"]),
        ("Show [] * 10 ** 30.", ["[]"]),
        ("Show (0 - 10 ** 30) copies of 1.", ["[]"]),
        ("Repeat for i from 1 to 10 ** 30:\n    If i == 3: Break.\nShow 1.", ["1"]),
        ("Let x be [1].\nShow items 1 through (2 ** 70) of x.", ["[]"]),
    ],
)
def test_what_is_large_but_no_more_is_computed(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


def test_a_program_without_end_can_be_interrupted(tmp_path: Path) -> None:
    source = tmp_path / "endless.lg"
    source.write_text("## Main\nShow 1.\nLet n be 0.\nWhile true:\n    Set n to n + 1.\n")
    command = [sys.executable, "-u", "-m", "spatial", "interpret", str(source)]
    root = str(Path(__file__).parents[2])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    run: subprocess.Popen[str] = subprocess.Popen(
        command, cwd=root, env={**os.environ, "PYTHONPATH": root}, text=True, preexec_fn=_interruptible, **pipes
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "1\n"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out, err) == (130, "", "interrupted\n")
    finally:
        run.kill()


def _interruptible() -> None:
    """A shell's background job, as these tests may be, ignores interrupts, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Programs with tokens changed

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|\n *|[^\w\s]+')
_OTHERS = (
    *("0", "-1", "99999999999", "1.5", "true", "nothing", '"t"', '"{xs}"', "[]", "xs", "item", "of", "copies of", "**"),
    *("%", "//", "is", "not", "through", "items", "length", "copy of", "+", "combined with", "{", "(", ")", "Return"),
    *("Break", "Let", "mutable", "infinity", "nan", "\n", "\n    ", "from", "to", ":", ".", "Push", "Pop from", "=="),
)


@st.composite
def changed(draw: st.DrawFn) -> str:
    """A program with one to three tokens dropped, replaced, put in or exchanged."""
    text = draw(st.sampled_from(ORDINARY))
    for _ in range(draw(st.integers(1, 3))):
        tokens = list(_TOKEN.finditer(text))
        a, b = sorted(draw(st.tuples(st.sampled_from(tokens), st.sampled_from(tokens))), key=lambda m: m.start())
        other = draw(st.sampled_from(_OTHERS))
        first, last = {
            "drop": ("", b[0]),
            "replace": (other, b[0]),
            "put in": (f"{other} {a[0]}", b[0]),
            "exchange": (b[0], a[0]),
        }[draw(st.sampled_from(("drop", "replace", "put in", "exchange")))]
        middle = first + text[a.end() : b.start()] + last if a is not b else first
        text = text[: a.start()] + middle + text[b.end() :]
    return text


class Enough(BaseException):
    """A program has run long enough for a test; none of the interpreter's business."""


@contextmanager
def steps(limit: int) -> Iterator[None]:
    """Raise Enough after so many lines of generated code."""
    left = limit

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != "<logos>":
            return None
        left -= 1
        if left < 0:
            raise Enough
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def hold_to_the_family(text: str) -> str:
    """What comes of a program: it runs, it runs too long, or it is refused with a place."""
    try:
        program = parse(text, "t.lg")
    except SourceError as error:
        assert all(problem.place is not None for problem in error.problems)
        return "refused"
    try:
        with steps(3000):
            interpret(program, {}, ("t",), lambda _: None)
    except Enough:
        return "long"
    except SourceError as error:
        (problem,) = error.problems
        assert problem.place is not None and problem.place.line > 0
        return "stopped"
    return "ran"


@settings(max_examples=150, deadline=None)
@given(changed())
def test_changed_programs_run_or_are_refused_with_a_place(text: str) -> None:
    hold_to_the_family(text)


@pytest.mark.nightly
@settings(max_examples=20_000, deadline=None)
@given(changed())
def test_many_changed_programs_run_or_are_refused_with_a_place(text: str) -> None:
    hold_to_the_family(text)
