"""Calls that change variables of Main: loops around them carry these, whatever else has their names."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints

N = 6
FACTS = Facts(
    {"n": N},
    {"q": Table((N,), "int", (-9, 9)), "x": Table((N,), "float"), "d": Table((1,), "int", (-3, 3))},
)

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
