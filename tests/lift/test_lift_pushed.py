"""Sequences pushed by loops of run-time counts, and sums that run through loops: programs found refused, or wrong."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, refusals

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {"x": Table((N,), "float"), "grid": Table((N, M), "float"), "count": Table((1,), "int", (0, M))},
)

RUNNING = """## Main
Let y be a new Seq of (Seq of (Seq of Float)).
Let total be 0.0.
Repeat for r from 1 to n:
    Let rows be a new Seq of (Seq of Float).
    Repeat for h from 1 to 3:
        Let row be a new Seq of Float.
        Repeat for d from 1 to m:
            TERM
            Push total to row.
        Push row to rows.
    Push rows to y.
"""
TERMS = {
    "of items": "Set total to total + grid[r][d] * x[h].",
    "of sums": "Repeat for t from 1 to r:\n                Set total to total + grid[t][d] * x[h].",
}

PREFIX = """## Main
Let s be a new Seq of Float.
Repeat for j from 1 to count[1]:
    Push x[j] to s.
"""

PUSHED = {
    "sequences of run-time length, one followed by the other": PREFIX
    + """Let t be s followed by [5.0] followed by s followed by x.
Let y be 0.0.
Repeat for k from 1 to length of t:
    Set y to y + t[k] * k.
""",
    "a sequence of run-time length followed by what fills it": PREFIX
    + """Let rest be a new Seq of Float.
Repeat for j from count[1] + 1 to n:
    Push x[j] * 2.0 to rest.
Let y be [1.0] followed by s followed by rest followed by x.
""",
    "rows of run-time number followed by rows": """## Main
Let s be a new Seq of (Seq of Float).
Repeat for j from 1 to count[1]:
    Push grid[j] to s.
Let t be s followed by grid followed by s.
Let y be m copies of 0.0.
Repeat for k from 1 to n + 2 * count[1]:
    Repeat for j from 1 to m:
        Set y[j] to y[j] + t[k][j] * k.
""",
    "rotated by two loops of run-time counts": """## Main
Let y be a new Seq of Float.
Repeat for j from count[1] + 1 to n:
    Push x[j] to y.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
""",
    "rows rotated by two loops of run-time counts, one before them": """## Main
Let y be a new Seq of (Seq of Float).
Push grid[n] to y.
Repeat for j from count[1] + 1 to n:
    Push grid[j] to y.
Repeat for j from 1 to count[1]:
    Push grid[j] to y.
""",
    "rows of shares, from a run-time place on and then up to it": """## To native exp (x: Float) -> Float
## Main
Let y be a new Seq of (Seq of Float).
Repeat for i from count[1] + 1 to n:
    Let row be a new Seq of Float.
    Let whole be 0.0.
    Repeat for j from 1 to m:
        Set whole to whole + exp(grid[i][j]).
    Repeat for j from 1 to m:
        Push exp(grid[i][j]) / whole to row.
    Push row to y.
Repeat for i from 1 to count[1]:
    Push grid[i] to y.
""",
    "the items from a run-time place on, summed": """## Main
Let s be a new Seq of Float.
Repeat for j from count[1] + 1 to n:
    Push x[j] to s.
Let y be 0.0.
Repeat for v in s:
    Set y to y + v * v.
""",
    "a row rotated by every place": """## Main
Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Repeat for j from i to n:
        Push x[j] to row.
    Repeat for j from 1 to i - 1:
        Push x[j] to row.
    Push row to y.
""",
    "items pushed by a loop once two loops of run-time counts have filled a sequence": """## Main
Let y be a new Seq of Float.
Push x[1] to y.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
Push x[n] to y.
Repeat for j from 1 to n - count[1]:
    Push x[j] * 2.0 to y.
Repeat for j from 1 to n:
    Push x[j] * 3.0 to y.
""",
    "an item pushed between two loops of run-time counts": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
Push x[n] * 2.0 to y.
Repeat for j from count[1] + 1 to n:
    Push x[j] to y.
""",
    "a row pushed between two loops of run-time counts": """## Main
Let y be a new Seq of (Seq of Float).
Repeat for j from 1 to count[1]:
    Push grid[j] to y.
Push grid[n] to y.
Repeat for j from count[1] + 1 to n:
    Push grid[j] to y.
""",
    "two loops of run-time counts that start over": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
Repeat for j from 1 to n - count[1]:
    Push x[j] * 2.0 to y.
""",
    "an item before two loops of run-time counts": """## Main
Let y be a new Seq of Float.
Push 5.0 to y.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
Repeat for j from count[1] + 1 to n:
    Push x[j] * 2.0 to y.
""",
    "two prefixes one behind the other, summed": """## Main
Let z be a new Seq of Float.
Repeat for j from 1 to count[1]:
    Push x[j] to z.
Repeat for j from 1 to count[1]:
    Push x[j] * 2.0 to z.
Let y be 0.0.
Repeat for j from 1 to count[1] * 2:
    Set y to y + z[j].
""",
}


def held(source: str) -> None:
    """The program lifts, and its graph computes what it computes, whatever number of items it counts."""
    graph = graph_of(source, FACTS)
    for count in (0, 2, M):
        given = {"x": floats(count, N), "grid": floats(count, N, M), "count": np.array([count])}
        agree(source, FACTS, given, graph=graph)


@pytest.mark.parametrize("name", PUSHED)
def test_what_is_pushed_as_often_as_only_a_run_knows(name: str) -> None:
    held(PUSHED[name])


@pytest.mark.parametrize("term", TERMS)
def test_a_running_sum_through_three_loops_lifts(term: str) -> None:
    held(RUNNING.replace("TERM", TERMS[term]))


@pytest.mark.parametrize("taken", ["2 copies of s", "s * 2", "[s, s]"])
def test_a_sequence_of_run_time_length_is_not_taken_for_as_long_as_it_can_get(taken: str) -> None:
    ((line, why),) = refusals(PREFIX + f"Let t be {taken}.\nLet y be t[1].\n", FACTS)
    assert line == 5 and "is known only at run time" in why


RING = FACTS.tables | {"made": Table((1,), "int", (0, 3 * N)), "h": Table((N,), "float", state=True)}
"""A buffer that fills up, and then goes round: as many of its items count as were written."""

FILLED = """## Main
Let live be {live}.
Let s be a new Seq of Float.
Repeat for t from 1 to {pushed}:
    Push h[t] * 2.0 to s.
Let y be 0.0.
"""

LIVE = ["min(made[1] + 1, n)", "min(n, made[1] + 1)", "min(made[1], n - 1) + 1", "min(min(made[1] + 1, n), 4)"]

READ = [
    "Repeat for v in s:\n    Set y to y + v.\n",
    "Repeat for t from 1 to live:\n    Set y to y + s[t] * t.\n",
    "Let most be s[1].\nRepeat for t from 1 to live:\n    Set most to max(most, s[t]).\nSet y to most.\n",
    "Repeat for t from 1 to live:\n    If t > 1:\n        Set y to y + s[t - 1].\n",
]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("live", LIVE)
def test_as_many_items_as_the_least_of_two_counts(live: str, read: str) -> None:
    facts, text = Facts(FACTS.sizes, RING), FILLED.format(live=live, pushed="live") + read
    graph = graph_of(text, facts)
    for at in (0, 1, N - 1, N, 3 * N):
        agree(text, facts, {"h": floats(at, N), "made": np.array([at])}, graph=graph)


@pytest.mark.parametrize(
    ("pushed", "read"),
    [
        ("live", "Repeat for t from 1 to n:\n    Set y to y + s[t].\n"),
        ("live", "Repeat for t from 1 to live:\n    Set y to y + s[t + 1].\n"),
        ("live", "Set y to s[2].\n"),
        ("live - 1", "Set y to s[1].\n"),
        ("min(live, 3)", "Repeat for t from 1 to live:\n    Set y to y + s[t].\n"),
        ("min(made[1], n)", "Repeat for t from 1 to live:\n    Set y to y + s[t].\n"),
        ("min(made[1] + 1, n)", "Repeat for t from 1 to max(made[1], 1):\n    Set y to y + s[t].\n"),
    ],
)
def test_more_items_than_the_least_of_two_counts_are_not_read(pushed: str, read: str) -> None:
    text = FILLED.format(live=LIVE[0], pushed=pushed) + read
    assert all("is not proved in range" in why for _, why in refusals(text, Facts(FACTS.sizes, RING)))


@pytest.mark.parametrize("grown", ["y followed by [x[i]]", "[x[i]] followed by y", "y + [x[i], 1.0]"])
@pytest.mark.parametrize("last", ["n", "count[1]"])
def test_what_a_loop_found_empty_is_not_empty_in_it(grown: str, last: str) -> None:
    text = f"## Main\nLet y be [].\nRepeat for i from 1 to {last}:\n    Set y to {grown}.\n"
    assert [line for line, _ in refusals(text, FACTS)] == [4]


@pytest.mark.parametrize(
    "body",
    [
        "Let r be [].\n    Set r to r followed by [x[i]].\n    Push r to y.",
        "Let r be [].\n    Set r to grid[i] followed by r.\n    Push r to y.",
        "Set y to [] followed by x followed by [].",
        "Push [x[i]] followed by (items 2 through 1 of x) to y.",
    ],
)
def test_nothing_is_followed_by_something(body: str) -> None:
    text = f"## Main\nLet y be [].\nRepeat for i from 1 to n:\n    {body}\n"
    agree(text, FACTS, {"x": floats(1, N), "grid": floats(2, N, M)})
