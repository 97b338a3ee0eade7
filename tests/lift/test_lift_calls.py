"""Calls that change variables of Main, or read them: where they stand, and what loops around them make of it."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals

N = 6
FACTS = Facts(
    {"n": N},
    {"q": Table((N,), "int", (-9, 9)), "x": Table((N,), "float"), "d": Table((1,), "int", (-3, 3))},
)

COUNT = """## To count (k: Int) -> Int:
    Set g to g + 1.
    Return k.
"""

LIFTED = {
    "a call in a condition moves a counter": """## To bump (k: Int) -> Int:
    Set c to c + 5.
    Return k.
## Main
Let c be 0.
Let y be 0.
Repeat for i from 1 to n:
    If bump(q[i]) > 2:
        Set y to y + 1.
    Set c to c + 1.
Set y to y + c * 100.
""",
    "a variable of Main is set before one of that name is bound": """## To bump (k: Int) -> Int:
    Set total to total + k.
    Let total be 7.
    Return total + k.
## Main
Let total be 0.
Let y be 0.
Repeat for i from 1 to n:
    Set y to y + bump(q[i]).
Set y to y + total * 100.
""",
    "a variable bound in a branch is none of the branch beside it": """## To bump (k: Int) -> Int:
    If k > 0:
        Let total be 7.
        Set total to total + 1.
        Return total.
    Otherwise:
        Set total to total + k.
    Return k.
## Main
Let total be 0.
Let y be 0.
Repeat for i from 1 to n:
    Set y to y + bump(q[i]).
Set y to y + total * 100.
""",
    "what a function calls changes Main's, not its caller's": """## To add (k: Int) -> Int:
    Set t to t + k.
    Return k.
## To twice (k: Int) -> Int:
    Let t be 5.
    Let r be add(k).
    Return r + t.
## Main
Let t be 0.
Let y be 0.
Repeat for i from 1 to n:
    Set y to y + twice(q[i]).
Set y to y + t * 100.
""",
    "the variable of a loop is called as one of Main's": """## To add (k: Int) -> Int:
    Set i to i + k.
    Return k.
## Main
Let i be 0.
Let y be 0.
Repeat for i from 1 to n:
    Set y to y + add(q[i]).
Set y to y + i * 100.
""",
    "a variable of a loop is called as one of Main's": """## To add (k: Int) -> Int:
    Set t to t + k.
    Return k.
## Main
Let t be 0.
Let y be 0.
Repeat for j from 1 to 2:
    Let t be 7.
    Repeat for i from 1 to n:
        Set y to y + add(q[i]) + t.
Set y to y + t * 100.
""",
    "a function of Floats, then of Ints": """## To sum_of (s: Seq of Int) -> Int:
    Let t be 0.
    Repeat for v in s:
        Set t to t + v.
    Return t.
## Main
Let a be sum_of(x).
Let b be sum_of(q).
Let y be b / 2.
""",
    "Main returns in some cases": """## Main
Let y be 1.
If q[1] > 0:
    Return.
Set y to 2.
If q[2] > 0:
    Set y to 3.
    Return.
Set y to y + q[3].
""",
    "a last Break whose limit may lie below the first iteration": """## Main
Let k be d[1].
Let y be 0.
Repeat for i from 1 to n:
    Set y to y + q[i].
    If i >= k:
        Break.
""",
    "a last Break in a loop that starts where only a run knows": """## Main
Let y be 2.
Repeat for i from d[1] to n:
    Set y to y + 1.
    If i >= 2:
        Break.
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_what_calls_change_is_carried(name: str) -> None:
    graph = graph_of(LIFTED[name], FACTS)
    for seed, d in enumerate((-3, 0, 1, 3)):
        agree(LIFTED[name], FACTS, {"q": ints(seed, -9, 9, N), "x": floats(seed, N), "d": np.array([d])}, graph=graph)


REFUSED = {
    "the right side of and": (
        COUNT + "## Main\nLet g be 0.\nLet y be 0.\nIf q[1] > 0 and count(q[1]) > 2:\n    Set y to 1.\n",
        'the right side of "and" changes "g", and is reached in some cases only',
    ),
    "the right side of or, in a loop": (
        COUNT
        + "## Main\nLet g be 0.\nLet y be 0.\nRepeat for i from 1 to n:\n    If q[i] > 0 or count(q[i]) < -2:\n"
        + "        Set y to y + 1.\nSet y to y + g.\n",
        'the right side of "or" changes "g", and is reached in some cases only',
    ),
    "the condition of a While": (
        COUNT
        + "## Main\nLet g be 0.\nLet i be 1.\nLet y be 0.\nWhile i <= count(3):\n    Set y to y + i.\n"
        + "    Set i to i + 1.\nSet y to y + g * 100.\n",
        'the condition of this While changes "g" every time it is asked',
    ),
    "the limit of a While, which the body moves": (
        "## To limit (k: Int) -> Int:\n    Return g.\n## Main\nLet g be 6.\nLet i be 1.\nLet y be 0.\n"
        "While i <= limit(0):\n    Set y to y + q[i].\n    Set i to i + 1.\n    Set g to g - 1.\n",
        "how often this While runs depends on values that are computed",
    ),
    "the step of a While, which the body moves": (
        "## To step (k: Int) -> Int:\n    Return g.\n## Main\nLet g be 1.\nLet i be 1.\nLet y be 0.\n"
        "While i <= n:\n    Set y to y + q[1] + 1.\n    Set i to i + step(0).\n    Set g to g + 1.\n",
        "how often this While runs depends on values that are computed",
    ),
    "the step of a While, which changes": (
        COUNT
        + "## Main\nLet g be 0.\nLet i be 1.\nLet y be 0.\nWhile i <= n:\n    Set y to y + 1.\n"
        + "    Set i to i + count(1).\nSet y to y + g.\n",
        "how often this While runs depends on values that are computed",
    ),
    "two variables of one name": (
        "## To add (k: Int) -> Int:\n    Set t to t + k.\n    Return k.\n## Main\nLet t be 0.\nLet y be 0.\n"
        "Repeat for j from 1 to 2:\n    Let t be 7.\n    Repeat for i from 1 to n:\n"
        "        Set t to t + add(q[i]).\n    Set y to y + t.\nSet y to y + t * 100.\n",
        'the loop changes two variables called "t", one of them Main\'s, by a function it calls',
    ),
    "a text that a loop changes": (
        '## Main\nLet y be q[1].\nLet m be "".\nRepeat for i from 1 to 3:\n    Set m to m + "x".\n'
        "    Set y to y + i.\nShow m.\n",
        '"m" holds a text before this loop, and the loop changes it',
    ),
    "Show where only a run knows": (
        "## Main\nLet y be 1.\nIf q[1] > 0:\n    Show y.\nSet y to 2.\n",
        "Show stands under a condition that only a run knows",
    ),
    "Show after a return in some cases": (
        "## Main\nLet y be 1.\nIf q[1] > 0:\n    Return.\nShow y.\n",
        "Show stands under a condition that only a run knows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_always_done_or_not_done_once_is_refused(name: str) -> None:
    source, why = REFUSED[name]
    assert [w for _, w in refusals(source, FACTS)] == [why]


def test_an_iteration_that_reads_what_it_sets_first_begins_with_what_was_there() -> None:
    """The first iteration sets `t` whatever it was, but compares it before: it is no maximum of items alone."""
    source = """## Main
Let c be 0.
Let t be 7.
Repeat for i from 1 to n:
    If t > 3:
        Set c to c + 1.
    If i == 1 or q[i] > t:
        Set t to q[i].
Let y be c.
"""
    assert [why for _, why in refusals(source, FACTS)] == [
        '"t" is computed from what it was in the iteration before: a recurrence'
    ]
