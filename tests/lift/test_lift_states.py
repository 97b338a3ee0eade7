"""States written and read in loops of few trips, sequences of one item: programs once lifted wrong, or not judged."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals


def facts(n: int) -> Facts:
    tables = {
        "x": Table((n,), "float"),
        "z": Table((n, 3), "float"),
        "q": Table((n,), "int", (-5, 5)),
        "ids": Table((3,), "int", (0, n - 1)),
        "count": Table((1,), "int", (1, n)),
        "s": Table((n,), "float", state=True),
        "rows": Table((n, 3), "float", state=True),
        "si": Table((n,), "int", (-50, 50), True),
    }
    return Facts({"n": n}, tables)


PROGRAMS: Mapping[str, tuple[tuple[int, ...], str]] = {
    "a place kept in the one item of a sequence": (
        (1, 5),
        """Let y be [0].
Repeat for i from 1 to n:
    If x[i] > 0.0:
        Set y[1] to i.
""",
    ),
    "the last of the best, kept in one item": (
        (1, 4),
        """Let y be [1].
Let best be [-9.0].
Repeat for i from 1 to n:
    If x[i] >= best[1]:
        Set y[1] to i.
        Set best[1] to x[i].
""",
    ),
    "a recurrence in a state, read by a maximum at turned places": (
        (3, 5),
        """Repeat for i from 1 to 2:
    Set s[i] to s[1] - i.
Let y be 0.0.
Repeat for k from 0 to 2:
    Set y to max(y, x[(2 * k + 2) % 3 + 1] + s[1]).
""",
    ),
    "a result of a block, and its maximum counted down": (
        (2, 6),
        """Let y be copy of x.
Repeat for l from 1 to 4:
    Let g be a new Seq of Float.
    Repeat for i from 1 to n:
        Push y[i] * y[n + 1 - i] to g.
    Set y to g.
Let top be 0.0.
Repeat for i from 1 to n:
    Set top to max(top, y[n + 1 - i]).
Set s[1] to top.
""",
    ),
    "two blocks that begin alike and share a part of what they do": (
        (1, 4),
        """Let y be x.
Repeat for l from 1 to 2:
    Let t be a new Seq of Float.
    Repeat for i from 1 to n:
        Push y[i] * 0.5 + 0.5 to t.
    Set y to t.
Let other be x.
Repeat for l from 1 to 2:
    Let t be a new Seq of Float.
    Repeat for i from 1 to n:
        Push other[i] * 0.5 + x[i] to t.
    Set other to t.
Repeat for i from 1 to n:
    Set s[i] to other[i].
""",
    ),
    "a block that exchanges, and a minimum counted down": (
        (2, 5),
        """Let y be copy of x.
Let other be copy of s.
Repeat for l from 1 to 3:
    Let t be y.
    Set y to other.
    Set other to t.
Let least be 9.0.
Repeat for i from 1 to n:
    Set least to min(least, y[n + 1 - i]).
Set s[1] to least.
""",
    ),
    "a state written by halves, its maximum counted down": (
        (4, 8),
        """Let y be 0.0.
Repeat for i from 1 to 3:
    Set s[i / 2 + 1] to x[i].
Repeat for i from 1 to n:
    Set y to max(y, s[n + 1 - i]).
""",
    ),
    "terms added at remainders of two loops": (
        (4, 5),
        """Let y be 0.
Repeat for a from 0 to 1:
    Repeat for b from 0 to 1:
        Set si[(2 * a + b + 1) % 3 + 1] to si[(2 * a + b + 1) % 3 + 1] + q[2 * a + b + 1].
""",
    ),
    "halves of one state, remainders of another": (
        (4, 7),
        """Let y be 2.
Repeat for i from 1 to n:
    Set s[i / 2 + 1] to max(s[i / 2 + 1], 1.0).
    Set si[i % 3 + 1] to si[i % 3 + 1] + q[i].
""",
    ),
    "a diagonal by remainders, and an item beside it": (
        (4,),
        """Let y be copy of z.
Repeat for i from 0 to 3:
    Set y[i + 1][i % 3 + 1] to 1.0.
Set y[4][2] to 1.0.
""",
    ),
    "rows at run-time places of which there is one": (
        (1, 4),
        """Let y be 0.
Repeat for i from 1 to 3:
    Repeat for j from 1 to 3:
        Set rows[ids[i] + 1][j] to z[n][j] * i.
""",
    ),
    "items at run-time places, if a run comes so far": (
        (2, 4),
        """Let y be n copies of 0.0.
Repeat for i from 1 to 3:
    If i <= count[1]:
        Set y[ids[i] + 1] to x[n] * i.
""",
    ),
    "either of two places that meet": (
        (5,),
        """Let y be 1.
Repeat for i from 1 to 3:
    If i % 2 == 1:
        Set s[i] to 2.0.
    Otherwise:
        Set s[1] to 3.0.
""",
    ),
    "a run-time place, where no other is": (
        (6,),
        """Let y be 0.
Repeat for i from 1 to n:
    If i != n:
        Set s[2] to 2.0.
    Otherwise:
        Set s[count[1] % 2 + 1] to 3.0.
""",
    ),
    "a ring and a place of its own": (
        (5, 7),
        """Let y be 1.
Repeat for i from 0 to n - 1:
    Set s[(i + 2) % n + 1] to 2.0.
    Set s[i + 1] to 3.0.
""",
    ),
    "all but the first, and the first": (
        (7,),
        """Let y be 0.
Repeat for i from 1 to 3:
    If i != 1:
        Set s[i + 1] to 2.0.
        Set s[2] to 1.0.
""",
    ),
    "quotients by the loop's variable, up to a run-time place": (
        (3, 6),
        """Let y be 1.
Repeat for i from 1 to count[1]:
    Set si[i] to q[i] / i.
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_over_states_lifts_to_what_it_computes(name: str) -> None:
    sizes, text = PROGRAMS[name]
    for n in sizes:
        source, known = f"## Main\n{text}", facts(n)
        graph = graph_of(source, known)
        for count in {1, n}:
            given = {"x": floats(count, n), "z": floats(count, n, 3), "q": ints(count, -5, 5, n), "s": floats(7, n)}
            given |= {"ids": ints(count, 0, n - 1, 3), "count": ints(0, count, count, 1), "rows": floats(8, n, 3)}
            agree(source, known, given | {"si": ints(9, -5, 5, n)}, graph=graph)


def test_what_a_refused_statement_leaves_lifts_for_itself() -> None:
    """A state is made by a block; what reads it is not all that is read of it, and one statement names nothing."""
    source = """## Main
Let y be 1.
Repeat for i from 1 to 3:
    Set rows[i / 2 + 1][1] to 1.0.
Repeat for i from 1 to 3:
    Repeat for j from 1 to 3:
        Set s[4 - j] to s[4 - j] + rows[4 - i][1].
Set s[unknown] to 2.0.
"""
    assert [line for line, _ in refusals(source, facts(3))] == [8]
