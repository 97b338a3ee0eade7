"""How often loops run: conditions that counters end, in every spelling; and those that are no counts."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, lifted

N = 6
FACTS = Facts({"n": N}, {"x": Table((N,), "float"), "count": Table((1,), "int", (0, N))})


def loop(head: str, condition: str, *body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body)
    return f"## Main\nLet y be 0.0.\n{head}While {condition}:\n{lines}"


ADD = "Set y to y + item i of x."
ONE, ZERO = "Let i be 1.\n", "Let i be 0.\n"
WHOLE = "## Main\nLet y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y + item i of x.\n"
PART = WHOLE.replace("to n:", "to item 1 of count:")

SAME = {
    "an expression of the counter": (WHOLE, loop(ZERO, "i + 1 <= n", "Set i to i + 1.", ADD)),
    "the counter on both sides": (WHOLE, loop(ONE, "2 * i < n + i + 1", ADD, "Set i to i + 1.")),
    "until a place is met": (WHOLE, loop(ONE, "i is not n + 1", ADD, "Set i to i + 1.")),
    "two that meet": (
        WHOLE,
        loop(ONE + "Let left be n.\n", "left > 0", ADD, "Set i to i + 1.", "Set left to left - 1."),
    ),
    "both of two": (PART, loop(ONE, "i <= n and i <= item 1 of count", ADD, "Set i to i + 1.")),
    "not one of two": (PART, loop(ONE, "not (i > n or i > item 1 of count)", ADD, "Set i to i + 1.")),
    "moved on either branch": (
        WHOLE,
        loop(ONE, "i <= n", ADD, "If i > 3:", "    Set i to i + 1.", "Otherwise:", "    Set i to 1 + i."),
    ),
    "broken off at the top": (WHOLE, loop(ONE, "true", "If i > n:", "    Break.", ADD, "Set i to i + 1.")),
    "a Repeat broken off at the top": (
        PART,
        WHOLE.replace("    Set", "    If i > item 1 of count:\n        Break.\n    Set"),
    ),
}


def held(source: str) -> None:
    graph = graph_of(source, FACTS)
    for count in range(N + 1):
        agree(source, FACTS, {"x": floats(count, N), "count": np.array([count])}, graph=graph)


@pytest.mark.parametrize("name", SAME)
def test_a_counting_while_is_the_repeat(name: str) -> None:
    plain, spelled = SAME[name]
    assert graph_of(spelled, FACTS) == graph_of(plain, FACTS)
    held(spelled)


LIFTED = {
    "by twos": loop(ONE, "i <= n", ADD, "Set i to i + 2."),
    "by twos to a run-time place": loop(ONE, "i <= item 1 of count", ADD, "Set i to i + 2."),
    "down by threes": loop("Let i be n.\n", "i > 0", ADD, "Set i to i - 3."),
    "two steps an iteration": loop(ONE, "i < n", ADD, "Set i to i + 1.", ADD, "Set i to i + 1."),
    "a multiple of the counter": loop(ZERO, "2 * i < n", "Set y to y + item (2 * i + 1) of x.", "Set i to i + 1."),
    "two ends that meet": loop(
        ONE + "Let j be n.\n",
        "i < j",
        "Set y to y + item i of x * item j of x.",
        "Set i to i + 1.",
        "Set j to j - 1.",
    ),
    "the counter afterwards": loop(ONE, "i <= n", ADD, "Set i to i + 4.") + "Set y to y + i.\n",
    "a square of the counter": loop(ONE, "i * i <= n", ADD, "Set i to i + 1."),
    "a power and a quotient": loop(ZERO, "2 * i * i + i / 2 < 9", "Set y to y + item (i + 1) of x.", "Set i to i + 1."),
    "a square that is met": loop(ONE, "i * i is not 9", ADD, "Set i to i + 1."),
    "a square and a run-time place": loop(ONE, "i * i < 30 and i <= item 1 of count", ADD, "Set i to i + 1."),
    "a condition that never holds": loop(ONE, "i > n", ADD, "Set i to i - 1."),
}


@pytest.mark.parametrize("name", LIFTED)
def test_a_counting_while_lifts(name: str) -> None:
    held(LIFTED[name])


REFUSED = {
    "a condition on data": loop(ONE, "i <= n and item i of x > 0.0", ADD, "Set i to i + 1."),
    "either of two": loop(ONE, "i <= n or y < 0.0", ADD, "Set i to i + 1."),
    "a counter that turns back": loop(ONE, "i <= n", ADD, "Set i to i - 1."),
    "a counter that stands": loop(ONE, "i <= n", ADD, "Set i to i + 0."),
    "a place that may be passed": loop(ONE, "i is not n + 1", ADD, "Set i to i + 4."),
    "a place behind": loop("Let i be n.\n", "i is not 0", ADD, "Set i to i + 1."),
    "moved on one branch": loop(ONE, "i <= n", ADD, "If item i of x > 0.0:", "    Set i to i + 1."),
    "moved by an inner loop": loop(ONE, "i <= n", ADD, "Repeat for k from 1 to 2:", "    Set i to i + 1."),
    "moved by what the body binds": loop(ONE, "i <= n", ADD, "Let k be 2.", "Set i to i + k."),
    "a square of what the body sums": loop(ONE, "i * i <= n and y * y < 2.0", ADD, "Set i to i + 1."),
    "a square that is passed by": loop("Let i be 2.\n", "i * i is not 9", ADD, "Set i to i + 2."),
    "a square below a run-time place": loop(ONE, "i * i <= item 1 of count", ADD, "Set i to i + 1."),
    "halved": loop("Let i be n.\n", "i > 1", ADD, "Set i to i / 2."),
    "a flag": loop(ONE + "Let on be true.\n", "on", ADD, "Set i to i + 1.", "If i > n:", "    Set on to false."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_while_that_does_not_count_is_refused(name: str) -> None:
    (missing,) = lifted(REFUSED[name], FACTS).missing
    assert "depends on values that are computed" in missing.why


@pytest.mark.parametrize("test", ["item i of x > 2.0", "y > 2.0", "i < item 1 of count", "i == item 1 of count"])
def test_a_break_that_no_count_tells_is_refused(test: str) -> None:
    source = WHOLE.replace("    Set", f"    If {test}:\n        Break.\n    Set")
    (missing,) = lifted(source, FACTS).missing
    assert "Break leaves a loop early" in missing.why


@pytest.mark.parametrize(
    "test", ["i == 3", "i >= 3", "i * i > 4", "2 * i + 1 > n", "i == n", "i > n", "n - i < 4", "i == k"]
)
def test_a_break_at_the_end_of_a_body_does_the_iteration_it_ends(test: str) -> None:
    for first in (1, 2):
        source = "## Main\nLet k be 4.\n" + WHOLE.removeprefix("## Main\n").replace("from 1", f"from {first}")
        held(source + f"    If {test}:\n        Break.\n")
    every = {"i > n": "n", "i == n": "n", "i == k": "4", "n - i < 4": "3"}.get(test, "3")
    plain = WHOLE.replace("to n:", f"to {every}:")
    assert graph_of(WHOLE + f"    If {test.replace('k', '4')}:\n        Break.\n", FACTS) == graph_of(plain, FACTS)


def test_a_break_at_both_ends_of_a_body() -> None:
    held(
        WHOLE.replace("    Set", "    If i > item 1 of count:\n        Break.\n    Set")
        + "    If i == 4:\n        Break.\n"
    )


@pytest.mark.parametrize(
    "last",
    [
        "    If item i of x > 2.0:\n        Break.\n",
        "    If y > 2.0:\n        Break.\n",
        "    Let k be i + 1.\n    If k == 3 or i == k:\n        Break.\n",
        "    Set k to k + 2.\n    If i + 2 == k:\n        Break.\n",
        "    If i == 3:\n        Break.\n    Otherwise:\n        Set k to 1.\n",
        "    If i == 3:\n        Break.\n    Set k to i.\n",
        "    If i == 3:\n        Set k to 1.\n        Break.\n",
        "    If k == 1:\n        Break.\n",
    ],
)
def test_a_break_at_the_end_that_no_count_tells_is_refused(last: str) -> None:
    source = WHOLE.replace("Let y be 0.0.\n", "Let y be 0.0.\nLet k be 1.\n")
    (missing,) = lifted(source + last, FACTS).missing
    assert "Break leaves a loop early" in missing.why
