"""One form for what means the same, and near misses that keep a form of their own; each held to the interpreter."""

from __future__ import annotations

import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints

from spatial.ir import wire

FACTS = Facts(
    {"n": 5, "m": 3},
    {
        "x": Table((5,), "float", None, False),
        "a": Table((3, 5), "float", None, False),
        "q": Table((5,), "int", (-9, 9), False),
        "p": Table((1,), "int", (1, 5), False),
        "ids": Table((5,), "int", (0, 4), False),
    },
    (),
)
INPUTS = {
    "x": floats(1, 5),
    "a": floats(2, 3, 5),
    "q": ints(3, -9, 9, 5),
    "p": ints(4, 1, 5, 1),
    "ids": ints(6, 0, 4, 5),
}
EXP = "## To native exp (x: Float) -> Float\n## Main\n"

SUM = """
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + x[i].
"""
PREFIX = """
Let y be 0.0.
Repeat for i from 1 to item 1 of p:
    Set y to y + x[i].
"""
TRIANGLE = """
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let s be 0.0.
    Repeat for k from 1 to i:
        Set s to s + x[k].
    Push s to y.
"""
BEST = """
Let y be 1.
Let b be q[1].
Repeat for i from 2 to n:
    If q[i] > b:
        Set b to q[i].
        Set y to i.
"""
TWICE = """
Let y be a new Seq of Float.
Let s be 0.0.
Repeat for i from 1 to n:
    Set s to s + exp(x[i]).
Repeat for i from 1 to n:
    Push exp(x[i]) / s to y.
"""
SCALED = """
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push x[i] * (x[1] / x[2]) to y.
"""
CHOICE = """
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If q[i] > 0:
        Push x[i] to y.
    Otherwise:
        Push 0.0 to y.
"""
SHIFTED = """
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + x[i] * x[i].
Set y to y + a[2][1].
"""
BESTS = """
Let y be a new Seq of Float.
Repeat for r in a:
    Let b be r[1].
    Repeat for v in r:
        Set b to max(b, v).
    Push b to y.
"""
PLACED = """
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push x[item i of ids + 1] to y.
"""
CORNER = """
Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to m:
    Let row be a new Seq of Float.
    Repeat for j from 1 to n:
        If j <= i:
            Push a[i][j] to row.
        Otherwise:
            Push -1.0 to row.
    Push row to y.
"""
SQUARES = """
Let y be a new Seq of Float.
Repeat for i from 1 to m:
    Let s be 0.0.
    Repeat for j from 1 to n:
        Repeat for k from 1 to m:
            Set s to s + a[i][j] * a[k][j].
    Push s to y.
"""

SAME = {
    "a first term beside another": (
        SHIFTED,
        "Let y be a[2][1] + x[1] * x[1].\nRepeat for i from 2 to n:\n    Set y to y + x[i] * x[i].",
    ),
    "maxima carried in items": (
        BESTS,
        "Let y be a new Seq of Float.\nRepeat for i from 1 to m:\n    Push a[i][n] to y.\n"
        "Repeat for j from 1 to n - 1:\n    Repeat for i from 1 to m:\n        Set y[i] to max(a[i][j], y[i]).",
    ),
    "places computed first": (
        PLACED,
        "Let t be a new Seq of Int.\nRepeat for v in ids:\n    Push 2 * v + 3 to t.\nLet y be n copies of 0.0.\n"
        "Repeat for i from 1 to n:\n    Set y[i] to x[(t[i] - 1) / 2].",
    ),
    "the rest masked": (
        CORNER,
        "Let y be copy of a.\nRepeat for i from 1 to m:\n    Repeat for j from i + 1 to n:\n"
        "        Set y[i][j] to -1.0.",
    ),
    "a row in two loops": (
        CORNER,
        "Let y be a new Seq of (Seq of Float).\nRepeat for i from 1 to m:\n    Let row be a new Seq of Float.\n"
        "    Repeat for j from 1 to i:\n        Push a[i][j] to row.\n    Repeat for j from 1 to n - i:\n"
        "        Push -1.0 to row.\n    Push row to y.",
    ),
    "terms stored flat": (
        SQUARES,
        "Let y be a new Seq of Float.\nRepeat for i from 1 to m:\n    Let t be a new Seq of Float.\n"
        "    Repeat for j from 1 to n:\n        Repeat for k from 1 to m:\n            Push a[i][j] * a[k][j] to t.\n"
        "    Let s be 0.0.\n    Repeat for v in t:\n        Set s to s + v.\n    Push s to y.",
    ),
    "counted down": (SUM, "Let y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y + item (n + 1 - i) of x."),
    "the last term first": (SUM, "Let y be x[n].\nRepeat for i from 1 to n - 1:\n    Set y to y + x[i]."),
    "a prefix by a guard": (
        PREFIX,
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    If i <= item 1 of p:\n        Set y to y + x[i].",
    ),
    "a prefix counted down": (
        PREFIX,
        "Let y be 0.0.\nLet i be item 1 of p.\nWhile i >= 1:\n    Set y to y + x[i].\n    Set i to i - 1.",
    ),
    "a prefix of masked terms": (
        PREFIX,
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    Let t be 0.0.\n    If i <= item 1 of p:\n"
        "        Set t to x[i].\n    Set y to y + t.",
    ),
    "a triangle by a guard": (
        TRIANGLE,
        "Let y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Let s be 0.0.\n    Repeat for j from 1 to n:\n"
        "        Let k be n + 1 - j.\n        If not (k > i):\n            Set s to s + x[k].\n    Push s to y.",
    ),
    "the last of equals, counted down": (
        BEST,
        "Let y be n.\nLet b be q[n].\nRepeat for k from 1 to n:\n    Let i be n + 1 - k.\n    If q[i] >= b:\n"
        "        Set b to q[i].\n        Set y to i.",
    ),
    "stored before it is used twice": (
        TWICE,
        "Let e be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push exp(item (n + 1 - i) of x) to e.\n"
        "Let s be 0.0.\nRepeat for v in e:\n    Set s to s + v.\nLet y be n copies of 0.0.\n"
        "Repeat for i from 1 to n:\n    Set y[i] to e[n + 1 - i] / s.",
    ),
    "one value stored for every item": (
        SCALED,
        "Let e be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push x[1] / x[2] to e.\n"
        "Let y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push x[i] * e[i] to y.",
    ),
    "the branches exchanged": (
        CHOICE,
        "Let y be n copies of 0.0.\nRepeat for i from 1 to n:\n    If q[i] <= 0:\n        Set y[i] to 0.0.\n"
        "    Otherwise:\n        Set y[i] to x[i].",
    ),
    "written over a copy": (
        CHOICE,
        "Let y be copy of x.\nRepeat for i from 1 to n:\n    If q[i] < 1:\n        Set y[i] to 0.0.",
    ),
}
OTHER = {
    "a first term taken twice": (
        SHIFTED,
        "Let y be a[2][1] + x[1] * x[1].\nRepeat for i from 1 to n:\n    Set y to y + x[i] * x[i].",
    ),
    "a first term times what stands beside": (
        SHIFTED,
        "Let y be a[2][1] * (x[1] * x[1]).\nRepeat for i from 2 to n:\n    Set y to y + x[i] * x[i].",
    ),
    "maxima that leave an item out": (
        BESTS,
        "Let y be a new Seq of Float.\nRepeat for i from 1 to m:\n    Push a[i][n] to y.\n"
        "Repeat for j from 1 to n - 2:\n    Repeat for i from 1 to m:\n        Set y[i] to max(a[i][j], y[i]).",
    ),
    "places one further": (
        PLACED,
        "Let t be a new Seq of Int.\nRepeat for v in ids:\n    Push v + 1 to t.\nLet y be n copies of 0.0.\n"
        "Repeat for i from 1 to n:\n    Set y[i] to x[t[n + 1 - i]].",
    ),
    "the rest and the diagonal masked": (
        CORNER,
        "Let y be copy of a.\nRepeat for i from 1 to m:\n    Repeat for j from i to n:\n        Set y[i][j] to -1.0.",
    ),
    "a row in two loops that meet later": (
        CORNER,
        "Let y be a new Seq of (Seq of Float).\nRepeat for i from 1 to m:\n    Let row be a new Seq of Float.\n"
        "    Repeat for j from 1 to i + 1:\n        Push a[i][j] to row.\n    Repeat for j from i + 2 to n:\n"
        "        Push -1.0 to row.\n    Push row to y.",
    ),
    "a term short": (SUM, "Let y be 0.0.\nRepeat for i from 1 to n - 1:\n    Set y to y + item (n + 1 - i) of x."),
    "a first term that is not the next": (SUM, "Let y be x[1].\nRepeat for i from 1 to n - 1:\n    Set y to y + x[i]."),
    "a prefix one longer": (
        PREFIX,
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    If i <= item 1 of p + 1:\n        Set y to y + x[i].",
    ),
    "masked by what adds": (
        PREFIX,
        "Let y be 0.0.\nRepeat for i from 1 to n:\n    Let t be 1.0.\n    If i <= item 1 of p:\n"
        "        Set t to x[i].\n    Set y to y + t.",
    ),
    "the other triangle": (
        TRIANGLE,
        "Let y be n copies of 0.0.\nRepeat for k from 1 to n:\n    Repeat for i from 1 to k:\n"
        "        Set y[i] to y[i] + x[k].",
    ),
    "the first of equals, counted down": (
        BEST,
        "Let y be n.\nLet b be q[n].\nRepeat for k from 1 to n:\n    Let i be n + 1 - k.\n    If q[i] > b:\n"
        "        Set b to q[i].\n        Set y to i.",
    ),
    "stored and read the other way round": (
        TWICE,
        "Let e be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push exp(item (n + 1 - i) of x) to e.\n"
        "Let s be 0.0.\nRepeat for v in e:\n    Set s to s + v.\nLet y be n copies of 0.0.\n"
        "Repeat for i from 1 to n:\n    Set y[i] to e[i] / s.",
    ),
    "one value stored for every item, a term reversed": (
        SCALED,
        "Let e be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push x[2] / x[1] to e.\n"
        "Let y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push x[i] * e[i] to y.",
    ),
    "a condition that holds at zero": (
        CHOICE,
        "Let y be copy of x.\nRepeat for i from 1 to n:\n    If q[i] < 0:\n        Set y[i] to 0.0.",
    ),
    "a difference by zero minus": (
        "Let y be x[1] - x[2].",
        "Let y be x[1] + (0.0 - x[2]).",
    ),
    "a comparison of Floats denied": (
        "Let y be 0.0.\nIf x[1] > x[2]:\n    Set y to 1.0.",
        "Let y be 0.0.\nIf not (x[1] <= x[2]):\n    Set y to 1.0.",
    ),
}


def both(pair: tuple[str, str]) -> list[str]:
    """The digests of two programs, each held to the interpreter."""
    found: list[str] = []
    for text in pair:
        graph = graph_of(EXP + text.strip() + "\n", FACTS)
        agree(EXP + text.strip() + "\n", FACTS, INPUTS, graph=graph)
        found.append(wire.digest(graph))
    return found


@pytest.mark.parametrize("name", SAME)
def test_what_means_the_same_is_one_graph(name: str) -> None:
    plain, other = both(SAME[name])
    assert plain == other


@pytest.mark.parametrize("name", OTHER)
def test_near_misses_are_other_graphs(name: str) -> None:
    plain, other = both(OTHER[name])
    assert plain != other
