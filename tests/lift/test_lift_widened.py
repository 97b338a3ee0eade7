"""Ints that a loop makes Floats: Floats from the first iteration on, and refused where that would show."""

from __future__ import annotations

import re

import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, lifted

N = 6
FACTS = Facts(
    {"n": N},
    {
        "x": Table((N,), "float"),
        "q": Table((N,), "int", (-9, 9)),
        "s": Table((N,), "float", state=True),
    },
)


def _evaluated(program: str) -> None:
    graph = graph_of(program, FACTS)
    for seed in range(4):
        given = {"x": floats(seed, N), "q": ints(seed, -9, 9, N), "s": floats(seed + 5, N)}
        agree(program, FACTS, given, graph=graph)


def _as_floats(program: str) -> str:
    return re.sub(r"be (\d)\.\n", r"be \1.0.\n", program)


DIVIDED = {
    "the greatest of it and of Ints": """
    Let t be k.
    Repeat for j from 1 to n:
        Set t to max(t, item j of q).
    Set y to y + t / 2.
""",
    "a sum of it and of Ints": """
    Let t be k.
    Repeat for j from 1 to n:
        If item j of q > 0:
            Set t to t + 1.
    Set y to y + t / 2.
""",
    "a sum of products of it": """
    Let t be 1.
    Repeat for j from 1 to n:
        Set t to t + item j of q * k.
    Set y to y + t / 2.
""",
    "an item of a sequence": """
    Let g be [].
    Repeat for j from 1 to n:
        Push k - item j of q to g.
    Set y to y + item (i) of g / 2.
""",
    "in a sequence": """
    Let g be [].
    Repeat for j from 1 to n:
        Push (k - item j of q) / 2 to g.
    Repeat for j from 1 to n:
        Set y to y + item j of g * item i of x.
""",
    "two of them": """
    Set y to y + (k + b) / 2.
""",
}
"""What an iteration does before `k` and `b`, Ints at first, become Floats."""

AROUND = """## Main
Let k be 7.
Let b be 4.
Let y be 0.0.
Repeat for i from 1 to n:{}    Set k to k + item i of x.
    Set b to b + item i of x.
"""


@pytest.mark.parametrize("name", DIVIDED)
def test_nothing_made_of_ints_and_an_int_that_becomes_a_float_is_divided(name: str) -> None:
    program = AROUND.format(DIVIDED[name])
    (missing,) = lifted(program, FACTS).missing
    assert "is an Int in the first iteration and a Float in the others, and is divided" in missing.why
    _evaluated(_as_floats(program))
    _evaluated(program.replace("/ 2", "* 0.5"))
    _evaluated(program.replace("/ 2", "/ item 1 of x"))


KEPT = {
    "in a sequence": """## Main
Let s be 7.
Let t be [].
Repeat for i from 1 to n:
    Push s to t.
    Set s to s + x[i].
Let y be t[1] / 2.
""",
    "in an item of a table": """## Main
Let a be 7.
Repeat for i from 1 to n:
    Set s[i] to a.
    Set a to x[i].
Let y be s[1] / 2.
""",
    "in a number": """## Main
Let a be 7.
Let t be 0.
Repeat for i from 1 to n:
    Set t to a.
    Set a to a + x[i].
Let y be t / 2.
""",
    "in a row": """## Main
Let a be 7.
Let t be [].
Repeat for i from 1 to n:
    Push 2 copies of a to t.
    Set a to a + x[i].
Let y be t[1][2] / 2.
""",
    "by a loop within": """## Main
Let a be 7.
Let t be [].
Repeat for i from 1 to n:
    Repeat for j from 1 to n:
        Push a to t.
        Set a to a + x[j].
Let y be t[1] / 2.
""",
    "with another": """## Main
Let a be 7.
Let b be 4.
Let t be [].
Repeat for i from 1 to n:
    Push a + b to t.
    Set a to a + x[i].
    Set b to b + x[i].
Let y be t[1] / 2.
""",
    "with an Int": """## Main
Let a be 7.
Let t be [].
Repeat for i from 1 to n:
    Push max(a, q[i]) to t.
    Set a to a + x[i].
Let y be t[1] / 2.
""",
    "in another that becomes a Float later": """## Main
Let a be 7.
Let t be 7.
Repeat for i from 1 to n:
    Set t to t + a.
    Set a to a + x[i].
Let y be t / 2.
""",
    "a zero": """## Main
Let a be 0.
Let t be [].
Repeat for i from 1 to n:
    Push a to t.
    Set a to a + x[i].
Let y be (t[1] + 7) / 2.
""",
    "where it is not divided, but beyond Floats": """## Main
Let a be 3.
Let t be [].
Repeat for i from 1 to n:
    Push a to t.
    Set a to a + x[i].
Let y be t[1] * 9007199254740993 - 27021597764222970 + 0.0.
""",
}


@pytest.mark.parametrize("name", KEPT)
def test_an_int_that_a_loop_makes_a_float_is_kept_nowhere(name: str) -> None:
    (missing,) = lifted(KEPT[name], FACTS).missing
    assert "is an Int in the first iteration and a Float in the others, and" in missing.why
    assert "keeps it" in missing.why
    _evaluated(_as_floats(KEPT[name]))


def test_an_int_that_no_float_has_is_made_none() -> None:
    program = """## Main
Let a be 9007199254740993.
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + (a - 9007199254740992).
    Set a to a + x[i].
"""
    (missing,) = lifted(program, FACTS).missing
    assert "larger than what a Float has exactly" in missing.why
    _evaluated(program.replace("9007199254740993", "7").replace("9007199254740992", "6"))


@pytest.mark.parametrize("first", ["0", "7"])
def test_an_int_that_a_loop_makes_a_float_is_kept_where_nothing_tells(first: str) -> None:
    _evaluated(f"""## Main
Let a be {first}.
Let t be [].
Repeat for i from 1 to n:
    Push a to t.
    Set a to a + x[i].
Let y be [].
Repeat for i from 1 to n:
    Push t[i] * 0.5 to y.
""")
