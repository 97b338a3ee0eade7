"""Running values as reductions of their own, sums both branches add to, and short recurrences taken step by step."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Array, Facts, Table, agree, floats, graph_of, ints, lifted

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M, "long": 2000},
    {
        "x": Table((N,), "float"),
        "z": Table((N,), "float"),
        "q": Table((N,), "int", (-9, 9)),
        "grid": Table((N, M), "float"),
        "far": Table((2000,), "float"),
        "count": Table((1,), "int", (0, N)),
    },
)


def given(count: int, seed: int) -> dict[str, Array]:
    x = floats(seed, N) if seed else np.array([1.0, 2.0, 2.0, 0.0, 2.0, 3.0])
    return {
        "x": x,
        "z": floats(seed + 10, N),
        "q": ints(seed, -9, 9, N),
        "grid": floats(seed + 20, N, M),
        "far": floats(seed + 30, 2000),
        "count": np.array([count]),
    }


def held(source: str) -> None:
    graph = graph_of(source, FACTS)
    for count in (0, 1, N):
        for seed in range(3):
            agree(source, FACTS, given(count, seed), graph=graph)


def running(entry: str, body: str, seq: str = "Float") -> str:
    return f"## Main\nLet y be a new Seq of {seq}.\nLet s be {entry}.\nRepeat for i from 1 to n:\n    {body}\n"


SUM = running("0.0", "Set s to s + item i of x.\n    Push s to y.")
RUNNING = {
    "a sum": SUM,
    "a sum before its item": running("0.0", "Push s to y.\n    Set s to s + item i of x."),
    "a sum from what is data": running("item 1 of z", "Set s to s - item i of x.\n    Push s * 0.5 to y."),
    "an Int sum": running("0", "Set s to s + item i of q.\n    Push s to y.", "Int"),
    "an Int sum in an expression": running("3", "Push 2 * s + i to y.\n    Set s to s + item i of q.", "Int"),
    "a product": running("1.0", "Set s to s * item i of x.\n    Push s to y."),
    "a maximum": running("item 1 of x", "Set s to max(s, item i of x).\n    Push s to y."),
    "a maximum by a branch": running(
        "item 1 of x", "If item i of x > s:\n        Set s to item i of x.\n    Push s to y."
    ),
    "a minimum before its item": running("infinity", "Push min(s, 100.0) to y.\n    Set s to min(s, item i of x)."),
    "a count under a condition": running(
        "0", "If item i of x > 0.0:\n        Set s to s + 1.\n    Push s to y.", "Int"
    ),
    "a sum set over copies": running("0.0", "Set s to s + item i of x.\n    Set item i of y to s.").replace(
        "a new Seq of Float", "n copies of 0.0"
    ),
    "a sum of sums": """## Main
Let s be 0.0.
Let y be 0.0.
Repeat for i from 1 to n:
    Set s to s + item i of x.
    Set y to y + s.
""",
    "the greatest sum": """## Main
Let s be 0.0.
Let y be 0.0.
Repeat for i from 1 to item 1 of count:
    Set s to s + item i of x.
    Set y to max(y, s).
""",
    "how often a best is beaten": """## Main
Let best be item 1 of x.
Let y be 0.
Repeat for i from 2 to n:
    If item i of x > best:
        Set best to item i of x.
        Set y to y + i.
""",
    "a sum of sums, on its way": running(
        "0.5", "Set s to s + item i of x.\n    Set r to r + s.\n    Push r to y."
    ).replace("Let s", "Let r be 0.0.\nLet s"),
    "a sum of sums before its item": running(
        "0.5", "Push r to y.\n    Set r to r + s.\n    Set s to s + item i of x."
    ).replace("Let s", "Let r be 0.0.\nLet s"),
    "a sum of products of a sum and the greatest sum": """## Main
Let y be a new Seq of Float.
Let s be 0.5.
Let best be 0.0.
Let r be 1.0.
Repeat for i from 1 to n:
    Set best to max(best, s).
    Set s to s + item i of x.
    Set r to r + best * s.
    Push r to y.
""",
    "a sum of a row's sums, on through the rows": """## Main
Let y be a new Seq of Float.
Let r be 0.0.
Repeat for i from 1 to n:
    Let s be 0.5.
    Repeat for j from 1 to m:
        Set s to s + item j of (item i of grid).
        Set r to r + s.
        Push r to y.
""",
    "a sum where a sum is large": running(
        "0.5", "Set s to s + item i of x.\n    If s > 1.0:\n        Set r to r + item i of z.\n    Push r to y."
    ).replace("Let s", "Let r be 0.0.\nLet s"),
    "of every row": """## Main
Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Let s be 0.0.
    Repeat for j from 1 to m:
        Set s to s + item j of (item i of grid).
        Push s to row.
    Push row to y.
""",
    "on through every row": """## Main
Let y be a new Seq of (Seq of Float).
Let s be 0.0.
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Repeat for j from 1 to m:
        Set s to s + item j of (item i of grid).
        Push s to row.
    Push row to y.
""",
}


@pytest.mark.parametrize("name", RUNNING)
def test_a_running_value_is_a_reduction_of_its_own(name: str) -> None:
    held(RUNNING[name])


def test_a_running_sum_is_a_sum_of_what_came_so_far() -> None:
    triangle = """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let s be 0.0.
    Repeat for j from 1 to i:
        Set s to s + item j of x.
    Push s to y.
"""
    assert graph_of(SUM, FACTS) == graph_of(triangle, FACTS)


RUNS_ON = {
    "a decay": SUM.replace("Set s to s + ", "Set s to s * 0.5 + "),
    "a sum of what it makes": SUM.replace("Set s to s + item i of x", "Set s to s + item i of x * s"),
    "a sum of a running sum of itself": SUM.replace("Push s to y", "Push r to y")
    .replace("Let s be 0.0.", "Let s be 0.0.\nLet r be 0.0.")
    .replace("    Set s to s + item i of x.", "    Set r to r + s.\n    Set s to s + r * item i of x."),
    "sums that add to each other": running("0.5", "Set s to s + r.\n    Set r to r + s.\n    Push r to y.").replace(
        "Let s", "Let r be item 1 of x.\nLet s"
    ),
    "a sum of sums over a loop too long for that": SUM.replace("Push s to y", "Set r to r + s.\n    Push r to y")
    .replace("Let s", "Let r be 0.0.\nLet s")
    .replace("1 to n", "1 to 200")
    .replace("item i of x", "item i of far"),
    "over a loop too long": SUM.replace("1 to n", "1 to long").replace("item i of x", "item i of far"),
    "the place of the best so far": running(
        "1", "If item i of x > item s of x:\n        Set s to i.\n    Push s to y.", "Int"
    ),
}


@pytest.mark.parametrize("name", RUNS_ON)
def test_what_only_looks_like_a_running_value_is_refused(name: str) -> None:
    found = lifted(RUNS_ON[name], FACTS)
    assert found.graph is None
    assert all("a recurrence" in m.why for m in found.missing)


CHANGED = {
    "one item late": RUNNING["a sum before its item"],
    "another start": SUM.replace("Let s be 0.0", "Let s be 0.5"),
    "another sign": SUM.replace("s + item", "s - item"),
    "a sum under a condition": SUM.replace("    Set s", "    If item i of z > 0.0:\n        Set s"),
    "a sum that starts anew": SUM.replace("    Set s", "    If i == 3:\n        Set s to 0.0.\n    Set s"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_running_sum_is_what_the_program_says(name: str) -> None:
    found = lifted(CHANGED[name], FACTS)
    if found.graph is None:
        assert name == "a sum that starts anew"
    else:
        assert found.graph != graph_of(SUM, FACTS)
        held(CHANGED[name])


def branches(entry: str, first: str, second: str, between: str = "Otherwise:") -> str:
    return f"""## Main
Let y be {entry}.
Repeat for i from 1 to item 1 of count:
    If item i of x > 0.5:
        {first}
    {between}
        {second}
"""


BRANCHES = {
    "a sum": branches("0.0", "Set y to y + item i of x.", "Set y to y - item i of z."),
    "a count": branches("0", "Set y to y + 1.", "Set y to y + 1.", "Otherwise If item i of z < 0.0:"),
    "a count of two kinds": branches("0", "Set y to y + 1.", "Set y to y + i.", "Otherwise If item i of z < 0.0:"),
    "a sum that one branch adds to now and then": branches(
        "0.0", "Set y to y + item i of x.", "If item i of z < 0.0:\n            Set y to y + 2.0."
    ),
    "a product": branches("1.0", "Set y to y * item i of x.", "Set y to y * 0.5."),
    "a maximum": branches("0.0", "Set y to max(y, item i of x).", "Set y to max(y, item i of z)."),
    "a maximum of two, one now and then": """## Main
Let y be item 1 of x.
Repeat for i from 2 to n:
    If item i of z > 0.0:
        Set y to max(y, item i of z).
    Set y to max(y, item i of x).
""",
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_reduction_to_which_both_branches_add(name: str) -> None:
    held(BRANCHES[name])


UNLIKE = {
    "a sum and a product": branches("1.0", "Set y to y + item i of x.", "Set y to y * item i of z."),
    "a maximum and a minimum": branches("0.0", "Set y to max(y, item i of x).", "Set y to min(y, item i of z)."),
    "a sum and a maximum": branches("0.0", "Set y to y + item i of x.", "Set y to max(y, item i of z)."),
    "a sum and a start anew": branches("0.0", "Set y to y + item i of x.", "Set y to 0.0."),
    "a sum under what it is": branches("0.0", "Set y to y + 1.0.", "Set y to y - 1.0.").replace("item i of x >", "y <"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_branches_that_do_not_reduce_alike_are_refused(name: str) -> None:
    (missing,) = lifted(UNLIKE[name], FACTS).missing
    assert missing.why.endswith("a recurrence")


HORNER = """## Main
Let y be a new Seq of Float.
Repeat for v in x:
    Let p be 0.0.
    Repeat for j from 1 to m:
        Set p to p * v + item j of (item 1 of grid).
    Push p to y.
"""
INNER = "        Repeat for k from 1 to {}:\n            Set p to p * v{}.\n"
STEPS = {
    "a polynomial": HORNER,
    "a guarded recurrence of three": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let a be 0.0.
    Let b be 0.0.
    Let count be 0.
    Repeat for step from 1 to 5:
        If a * a + b * b < 4.0:
            Let t be a * a - b * b + item i of x.
            Set b to 2.0 * a * b + item i of z.
            Set a to t.
            Set count to count + 1.
    Push a + b * count to y.
""",
    "a recurrence in a recurrence": HORNER.replace(
        "        Set p to p * v +", INNER.format(3, " + 0.5") + "        Set p to 1.0 -"
    ),
    "a sum of recurrences": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Let p be 1.0.
    Repeat for j from 1 to m:
        Set p to 1.0 - p * item j of (item i of grid).
    Set y to y + p.
""",
    "the two best": """## Main
Let y be a new Seq of Float.
Repeat for row in grid:
    Let a be item 1 of row.
    Let b be 0.0 - 100.0.
    Repeat for j from 2 to m:
        If item j of row > a:
            Set b to a.
            Set a to item j of row.
        Otherwise If item j of row > b:
            Set b to item j of row.
    Push a + 2.0 * b to y.
""",
    "in a loop of one iteration": HORNER.replace("for v in x:", "for i from 1 to 1:\n    Let v be item i of x."),
    "an index that a recurrence makes": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let k be i.
    Repeat for j from 1 to 3:
        Set k to (2 * k + j) % n.
    Push item (k + 1) of z to y.
""",
}


@pytest.mark.parametrize("name", STEPS)
def test_a_short_recurrence_of_numbers_in_a_nest_is_taken_step_by_step(name: str) -> None:
    held(STEPS[name])


TERM = "1 to m:\n        Set p to p * v + item j of (item 1 of grid)"
LONG = {
    "of more than 64 steps": HORNER.replace(TERM, "1 to 65:\n        Set p to p * v + 1.0"),
    "of more than 64 steps together": HORNER.replace("        Set p", INNER.format(17, " + 0.5") + "        Set p"),
    "of steps that a run counts": HORNER.replace(TERM, "1 to item 1 of count:\n        Set p to p * v + item j of x"),
    "of the outermost loop": "## Main\nLet y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y * 0.5 + item i of x.\n",
}


@pytest.mark.parametrize("name", LONG)
def test_another_recurrence_of_numbers_is_refused(name: str) -> None:
    (missing,) = lifted(LONG[name], FACTS).missing
    assert missing.why.endswith("a recurrence")


def test_a_short_recurrence_is_not_named_beside_what_is_refused() -> None:
    source = HORNER.replace("    Push p to y.", "    Let late be item 9 of x.\n    Push p + late to y.")
    found = lifted(source, FACTS)
    assert [m.line for m in found.missing] == [7]
    assert "index" in found.missing[0].why
