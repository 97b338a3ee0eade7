"""Rings, rows turned by a run-time number, and windows drawn in at both ends: what is in range only as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, refusals

from spatial.ir import wire

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "u": Table((N,), "float"),
        "g": Table((M,), "float"),
        "s": Table((N, N), "float"),
        "place": Table((1,), "int", (0, N - 1)),
        "count": Table((1,), "int", (0, N)),
        "ring": Table((N,), "float", state=True),
        "rows": Table((N, M), "float", state=True),
    },
    ("w",),
)
WEIGHTS = Facts({"n": N}, {}, ("w",))


def inputs(seed: int) -> dict[str, np.ndarray]:
    """Inputs; by the seed, all places and counts in turn."""
    found = {name: floats(seed + k, *t.dims) for k, (name, t) in enumerate(FACTS.tables.items()) if t.kind == "float"}
    return found | {"place": np.array([seed % N]), "count": np.array([seed % (N + 1)]), "w": floats(seed + 20, N)}


def held(source: str) -> str:
    """Holds a program to the interpreter; the digest of its graph."""
    results = ("y",) if "Let y" in source else ()
    graph = graph_of(f"## Main\n{source}", FACTS, results)
    for seed in range(N + 1):
        agree(f"## Main\n{source}", FACTS, inputs(seed), results, graph=graph, flat=frozenset())
    return wire.digest(graph)


RINGS = {
    "a ring written behind a place": """Repeat for i from 1 to m:
    Set ring[(place[1] + i) % n + 1] to g[i].
""",
    "a ring shorter than its table": """Repeat for i from 1 to m:
    Set ring[(place[1] + i) % m + 1] to g[i].
""",
    "a ring written twice round, the last write shows": """Repeat for i from 1 to 2 * n:
    Set ring[(place[1] + i) % n + 1] to x[(i - 1) % n + 1] * i.
""",
    "a ring of rows": """Repeat for i from 1 to m:
    Repeat for j from 1 to m:
        Set rows[(place[1] + i) % n + 1][j] to g[j] * x[i].
""",
    "a ring read": """Let y be 0.0.
Repeat for i from 1 to count[1]:
    Set y to y + ring[(place[1] + i) % n + 1] * x[i].
""",
    "one item of a ring": "Set ring[(place[1] + count[1]) % n + 1] to x[1].\nLet y be ring[(place[1] + 1) % n + 1].\n",
    "a row turned": """Let y be a new Seq of Float.
Repeat for j from 1 to n:
    Push x[(j - 1 + count[1]) % n + 1] to y.
""",
    "a row turned the other way": """Let y be n copies of 0.0.
Repeat for j from 1 to n:
    Set y[(j - 1 + count[1]) % n + 1] to x[j].
""",
    "a row turned by two loops": """Let y be a new Seq of Float.
Repeat for j from count[1] + 1 to n:
    Push x[j] to y.
Repeat for j from 1 to count[1]:
    Push x[j] to y.
""",
    "rows turned by two loops": """Let y be a new Seq of (Seq of Float).
Repeat for j from place[1] + 1 to n:
    Push s[j] to y.
Repeat for j from 1 to place[1]:
    Push s[j] to y.
""",
    "two rows turned by two loops": """Let y be a new Seq of Float.
Repeat for j from place[1] + 1 to n:
    Push x[j] * u[j] to y.
Repeat for j from 1 to place[1]:
    Push x[j] + u[n + 1 - j] to y.
""",
    "what came before a place, turned round": """Let t be a new Seq of Float.
Repeat for i from 1 to place[1] + 1:
    Push x[place[1] + 2 - i] to t.
Let y be 0.0.
Repeat for i from 1 to place[1] + 1:
    Set y to y + t[i] * u[i].
""",
    "what is left from a place on, summed": """Let z be a new Seq of Float.
Repeat for j from place[1] + 1 to n:
    Push x[j] * 2.0 to z.
Let y be 0.0.
Repeat for v in z:
    Set y to y + v.
""",
    "sums of rows from a place down": """Let t be a new Seq of Float.
Repeat for i from 1 to place[1] + 1:
    Let k be 0.0.
    Repeat for j from 1 to m:
        Set k to k + s[place[1] + 2 - i][j].
    Push k to t.
Let y be t[1].
""",
    "a second largest": """Let best be x[1].
Let y be x[2] - 1000.0.
Repeat for i from 2 to n:
    Set y to max(y, min(best, x[i])).
    Set best to max(best, x[i]).
""",
    "what is left from a place on, its greatest": """Let z be a new Seq of Float.
Repeat for j from place[1] + 1 to n:
    Push x[j] - u[place[1] + 1] to z.
Let y be z[1].
Repeat for v in z:
    Set y to max(y, v).
""",
}


@pytest.mark.parametrize("name", RINGS)
def test_rings_and_turned_rows_are_what_the_interpreter_makes(name: str) -> None:
    held(RINGS[name])


def test_places_in_a_ring_may_be_computed_first() -> None:
    first = """Let p be a new Seq of Int.
Repeat for i from 1 to m:
    Push (place[1] + i) % n to p.
Repeat for i from 1 to m:
    Set ring[p[i] + 1] to g[i].
"""
    assert held(first) == held(RINGS["a ring written behind a place"])


@pytest.mark.parametrize("index", ["(place[1] + i) % n + 2", "(place[1] + i) % (n + 1) + 1", "(place[1] + i) % n"])
def test_a_ring_past_its_ends_is_refused(index: str) -> None:
    ((line, why),) = refusals(f"## Main\nRepeat for i from 1 to m:\n    Set ring[{index}] to g[i].\n", FACTS, ())
    assert line == 3 and why.startswith('an index of "ring" is not proved in range')


def test_two_turns_that_do_not_fill_a_row_are_not_what_is_read() -> None:
    source = """## Main
Let z be a new Seq of Float.
Repeat for j from count[1] + 1 to n:
    Push x[j] to z.
Let y be z[n].
"""
    ((line, why),) = refusals(source, FACTS)
    assert line == 5 and why.startswith('an index of "z" is not proved in range')


# ---------------------------------------------------------------- windows

WINDOW = """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let t be {start}.
    Repeat for j from {first} to {last}:
        {term}
    Push t to y.
"""
SUM = "Set t to t + s[i][j] * x[j]."


def window(first: str, last: str, term: str = SUM, start: str = "0.0") -> str:
    return WINDOW.format(first=first, last=last, term=term, start=start)


def test_a_window_drawn_in_at_both_ends_is_the_window_where_there_are_items() -> None:
    drawn = held(window("max(1, i - 2)", "min(n, i + 1)"))
    assert held(window("max(i - 2, 1)", "min(i + 1, n)")) == drawn
    guarded = "If j is at least 1 and j is at most n:\n            " + SUM
    assert held(window("i - 2", "i + 1", guarded)) == drawn
    assert held(window("max(1, i - 1)", "min(n, i + 1)")) != drawn
    assert held(window("max(2, i - 2)", "min(n, i + 1)")) != drawn
    assert held(window("max(1, i - 2)", "min(n - 1, i + 1)")) != drawn


@pytest.mark.parametrize(
    ("term", "start"),
    [
        ("Set t to max(t, s[i][j]).", "0.0 - 1.0e30"),
        ("Set t to t + 1.0.", "0.5"),
        ("Set t to x[j].", "0.25"),
        ("If x[j] > u[i]:\n            Set t to t + s[i][j] * j.", "0.0"),
    ],
)
@pytest.mark.parametrize(
    ("first", "last"), [("max(1, i - 2)", "min(n, i + 1)"), ("max(1, 2 * i - 5)", "min(n, 2 * i)")]
)
def test_what_is_computed_in_a_window(term: str, start: str, first: str, last: str) -> None:
    source = f"## Main\n{window(first, last, term, start)}"
    if "Set t to x[j]" in term:
        assert refusals(source, FACTS)  # which iteration is the last is not told
    else:
        held(window(first, last, term, start))


def test_what_a_body_changes_does_not_move_the_start_of_its_window() -> None:
    held("""Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let t be 0.0.
    Let k be i - 2.
    Repeat for j from max(1, k) to min(n, i + 1):
        Set k to 9.
        Set t to t + x[j].
    Push t + k to y.
""")


def test_items_pushed_in_a_window_of_known_ends() -> None:
    held("""Let y be a new Seq of Float.
Repeat for j from max(1, n - 2) to min(n, m + 1):
    Push x[j] to y.
""")


# ---------------------------------------------------------------- weights whose rank is told late


def test_copies_of_an_item_of_a_weight() -> None:
    source = "## Main\nLet y be n copies of w[1].\nRepeat for a from 2 to n:\n    Set y[a] to w[a] * 0.5 + y[1].\n"
    agree(source, WEIGHTS, {"w": floats(1, N)})


def test_an_item_of_a_weight_has_no_length() -> None:
    source = "## Main\nLet y be 0.0.\nRepeat for i from 1 to length of w[1]:\n    Set y to y + w[1][i].\n"
    ((line, why), *_) = refusals(source, WEIGHTS)
    assert line == 3 and why == 'how many items an item of "w" has is not known here'
