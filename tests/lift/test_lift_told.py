"""What is believed of conditions, limits and versions is what they say, no more: spellings that look like less."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints

N = 6
FACTS = Facts(
    {"n": N},
    {
        "x": Table((N,), "float"),
        "z": Table((N,), "float"),
        "q": Table((N,), "int", (-9, 9)),
        "d": Table((1,), "int", (-9, 9)),
        "count": Table((1,), "int", (0, N - 1)),
        "place": Table((1,), "int", (1, N)),
        "s": Table((N,), "float", state=True),
    },
)

LIFTED = {
    "two bounds of a place, and a condition on an item": """## Main
Repeat for i from 1 to n:
    If i >= 2 and i <= 4:
        If x[i] > 0.0:
            Set s[i] to x[i].
Let y be [].
Repeat for i from 2 to 4:
    Push s[i] * 2.0 to y.
""",
    "one place, and a condition on its item": """## Main
Repeat for i from 1 to n:
    If i == 3:
        If x[i] > 0.0:
            Set s[i] to x[i].
Let y be s[3] * 2.0.
""",
    "two bounds, and one of two conditions": """## Main
Repeat for i from 1 to n:
    If i > 1 and i < n:
        If q[i] > 0 or x[i] > 0.0:
            Set s[i] to x[i].
Let y be 0.0.
Repeat for i from 2 to n - 1:
    Set y to y + s[i].
""",
    "a number that only a run knows, and a condition on an item": """## Main
Let w be copy of z.
Repeat for i from 1 to n:
    If d[1] == 2:
        If x[i] > 0.0:
            Set w[i] to x[i].
Let y be [].
Repeat for i from 1 to n:
    If d[1] == 2:
        Push w[i] * 2.0 to y.
    Otherwise:
        Push 0.0 to y.
""",
    "a term after those up to half of a number": """## Main
Let y be 0.0.
Repeat for i from 0 to count[1] / 2:
    Set y to y + x[i + 1].
Set y to y + x[4].
""",
    "a term after those of which twice the place is below a number": """## Main
Let y be -100.0.
Repeat for i from 0 to 4:
    If 2 * i <= count[1]:
        Set y to max(y, x[i + 1]).
Set y to max(y, x[4]).
""",
    "a limit divided by a number below zero": """## Main
Let y be 0.0.
Repeat for i from 1 to min(n, d[1] // -2):
    Set y to y + x[i].
""",
    "a parameter set whole from a call that changes it": """## To g (zs: mutable Seq of Float) -> Seq of Float:
    Set item 1 of zs to 7.0.
    Return zs.

## To f (xs: mutable Seq of Float) -> Float:
    Set xs to g(xs).
    Set item 2 of xs to 9.0.
    Return item 1 of xs.

## Main
Let y be copy of x.
Let r be f(y).
Set y[3] to r.
""",
    "parameters that swap the names of their callers": """## To f (a: mutable Seq of Float,
         b: mutable Seq of Float) -> Int:
    Repeat for i from 1 to n:
        Push x[i] to a.
        Push x[i] * 2.0 to b.
        Push x[i] * 3.0 to b.
        Set a[i] to a[i] + x[i] * 5.0.
    Return 1.

## Main
Let a be [].
Let b be [].
Let r be f(b, a).
Let y be [].
Repeat for i from 1 to n:
    Push a[i] + b[i] to y.
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_no_more_is_believed_than_is_said(name: str) -> None:
    graph = graph_of(LIFTED[name], FACTS)
    for seed, d in enumerate((-9, -4, 0, 2, 9)):
        given = {
            "x": floats(seed, N),
            "z": floats(seed + 9, N),
            "q": ints(seed, -9, 9, N),
            "d": np.array([d]),
            "count": np.array([min(max(d, 0) + seed % 2, N - 1)]),
            "place": np.array([1 + seed % N]),
            "s": floats(seed + 5, N),
        }
        agree(LIFTED[name], FACTS, given, graph=graph)


QUOTIENTS = {
    "a sum of quotients after a term": """## Main
Let s be 0.0.
Repeat for i from 1 to n:
    Set s to s + x[i] / i.
Let y be x[1] + s.
""",
    "a sum of remainders after a term": """## Main
Let s be 0.
Repeat for i from 1 to n:
    Set s to s + q[i] % (n + 1 - i).
Let y be q[1] + s.
""",
    "quotients written over a part of a table under a condition": """## Main
Let y be copy of z.
Repeat for i from 2 to n:
    If q[i] > 0:
        Set y[i] to x[i] * (12 / (i - 1)).
""",
    "a sum of quotients from an item": """## Main
Let y be x[1].
Repeat for i from 1 to n:
    Set y to y + x[i] * (12 / i).
""",
    "all values of a sum of quotients": """## Main
Let s be 0.0.
Let y be [].
Repeat for i from 1 to n:
    Set s to s + x[i] * (12 / i).
    Push s to y.
""",
    "a quotient handed on": """## Main
Let p be x[2].
Let y be [].
Repeat for i from 1 to n:
    Push p to y.
    Set p to x[i] * (12 / i).
""",
    "the place of the best quotient": """## Main
Let p be 1.
Let b be x[1].
Repeat for i from 1 to n:
    If x[i] * (12 / i) > b:
        Set b to x[i] * (12 / i).
        Set p to i.
Let y be b + p.
""",
    "the last quotient": """## Main
Let p be 1.
Repeat for i from 1 to n:
    If x[i] > 0.0:
        Set p to 12 / i.
Let y be p + x[1].
""",
    "quotients by the sum of two places": """## Main
Let y be [].
Repeat for i from 1 to n:
    Let a be 0.0.
    Repeat for j from 1 to 3:
        If i + j > 2:
            If i + j < n + 2:
                Set a to a + x[i + j - 2] * (12 / (i + j - 1)) * j.
    Push a to y.
""",
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_no_quotient_is_asked_for_where_no_iteration_is(name: str) -> None:
    graph = graph_of(QUOTIENTS[name], FACTS)
    for seed in range(4):
        given = {"x": floats(seed, N), "z": floats(seed + 9, N), "q": ints(seed, -9, 9, N)}
        agree(QUOTIENTS[name], FACTS, given, graph=graph)


def _evaluated(program: str) -> None:
    graph = graph_of(program, FACTS)
    for seed in range(3):
        agree(program, FACTS, {"x": floats(seed, N), "s": floats(seed + 5, N)}, graph=graph)
