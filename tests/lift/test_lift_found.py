"""Programs that random spellings and their mutants once found refused, or lifted to something else."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "q": Table((N,), "int", (-3, 3)),
        "counts": Table((N, M), "int", (0, 9)),
        "ids": Table((N,), "int", (0, N - 1)),
        "grid": Table((N, M), "float"),
        "count": Table((1,), "int", (0, M)),
    },
    ("w",),
)

LIFTED = {
    "a flat table's first item, to begin a running maximum": """## Main
Let y be a new Seq of (Seq of Float).
Let best be item 1 of grid.
Repeat for i from 0 to n - 1:
    Let part be a new Seq of Float.
    Repeat for j from 1 to m:
        Push best to part.
        Set best to max(best, item (i * m + j) of grid).
    Push part to y.
""",
    "the greatest sum, which a function gives twice": """## To whole (i: Int) -> Float:
    Let total be 0.0.
    Repeat for j from 1 to m:
        Set total to total + grid[i][j].
    Return total.

## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If whole(i) > y:
        Set y to whole(i).
""",
    "two running parts compute what is the same for every term": """## To native exp (x: Float) -> Float
## Main
Let y be a new Seq of Float.
Repeat for h from 1 to n:
    Let scores be a new Seq of Float.
    Repeat for t from 1 to m:
        Push item h of x / 3.0 to scores.
    Let best be 0.0.
    Repeat for t from 1 to item 1 of count:
        Set best to max(best, item t of scores).
    Let whole be 0.0.
    Let other be 1.0.
    Repeat for t from 1 to item 1 of count:
        Set whole to whole + exp(item t of scores - best).
    Repeat for t from 1 to item 1 of count:
        Set other to other * exp(item t of scores - best).
    Push whole * other to y.
""",
    "both branches set the same item, columns outside": """## Main
Let twice be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Repeat for j from 1 to m:
        Push item j of (item i of grid) * 2.0 to row.
    Push row to twice.
Let y be n copies of (m copies of 0.0).
Repeat for j from 1 to m:
    Repeat for i from 1 to n:
        If item i of x > item j of (item i of grid):
            Set y[i][j] to item i of x.
        Otherwise:
            Set y[i][j] to twice[i][j].
""",
    "items of a sequence of run-time length, set and read on": """## To native exp (x: Float) -> Float
## Main
Let y be a new Seq of Float.
Repeat for p from 1 to n:
    Let shares be a new Seq of Float.
    Repeat for t from 1 to p:
        Push item t of x * 0.5 to shares.
    Let whole be 0.0.
    Repeat for t from 1 to p:
        Set item t of shares to exp(item t of shares).
        Set whole to whole + item t of shares.
    Push whole to y.
""",
    "a While until a comparison no longer fails": """## Main
Let y be 0.0.
Let i be n.
While not (i < 1):
    Set y to y + item i of x.
    Set i to i - 1.
Let j be 0.
While not (not (j < n)):
    j += 1.
    y += item j of x * 0.5.
""",
    "items of a table read flat, bound before they are used": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let first be item (m * i + 1 - m) of grid.
    Let best be first.
    Repeat for j from 2 to m:
        If item (m * i + j - m) of grid > best:
            Set best to item (m * i + j - m) of grid.
    Push best - first to y.
""",
    "items of a table read flat and only copied": """## Main
Let y be a new Seq of Float.
Repeat for k from 1 to n * m:
    Push item k of grid to y.
""",
    "items of a table read flat, added": """## Main
Let y be a new Seq of Float.
Repeat for k from 1 to n * m:
    Push item k of grid + item (n * m + 1 - k) of grid to y.
""",
    "a comparison that fails remembers the place": """## Main
Let best be item 1 of x.
Let place be 1.
Repeat for i from 2 to n:
    If not (item i of x <= best):
        Set best to item i of x.
        Set place to i.
Let y be place.
""",
    "items of a table read flat, chosen by branches": """## Main
Let y be a new Seq of Float.
Repeat for k from 1 to n:
    Let a be item k of w.
    Let b be 0.25.
    If b < a:
        Set b to a.
    Let c be item (k * m) of grid.
    If b < c:
        Set b to c.
    Push b to y.
""",
    "an item chosen by an item that is chosen by an item": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item (item (item i of ids + 1) of ids + 1) of x to y.
""",
    "a sum from a run-time place down": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let total be 0.5.
    Let j be item 1 of count.
    While j > 0:
        Set total to total + item (m * i + j - m) of grid.
        Set j to j - 1.
    Push total to y.
""",
    "rows of a flat table from a run-time place down": """## Main
Let y be m copies of 0.0.
Repeat for j from 1 to m:
    Let total be 0.0.
    Let i be item 1 of count + 1.
    While 1 <= i:
        Set total to total + item ((i - 1) * m + j) of grid.
        Set i to i - 1.
    Set item j of y to total.
""",
    "products of items of tables of Ints read flat": """## Main
Let y be a new Seq of Int.
Repeat for i from 1 to n:
    Push item i of counts * item i of q to y.
Let y be y followed by [item (n * m) of counts].
""",
    "a sequence that a function finishes": """## To finish (r: mutable Seq of Float):
    Repeat for i from 1 to n:
        Push item i of x * 2.0 to r.

## Main
Let y be a new Seq of Float.
finish(y).
""",
    "two axes and two halves by one counter": """## Main
Let y be n copies of (2 * m copies of 0.0).
Let k be n * m.
While k >= 1:
    Set item ((k - 1) / n + 1) of (item ((k - 1) % n + 1) of y) to item ((k - 1) % n + 1) of x.
    Set item (m + (k - 1) / n + 1) of (item ((k - 1) % n + 1) of y) to item ((k - 1) / n * n + (k - 1) % n + 1) of grid.
    Set k to k - 1.
""",
    "items of a flat table by quotient and remainder, turned": """## Main
Let y be a new Seq of Float.
Repeat for k from 0 to n * m - 1:
    Push item (k / n + k % n * m + 1) of grid to y.
""",
    "a place that an If mends": """## Main
Let p be count[1].
If p == 0:
    Set p to n.
Let y be x[p].
""",
    "a place that an If wraps": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let p be i + count[1].
    If p > n:
        Set p to p - n.
    Push x[p] to y.
""",
    "a place drawn to the edge by an If": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let p be i - 2.
    If p < 1:
        Set p to 1.
    Push x[p] to y.
""",
    "edges told by or": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If i == 1 or i == n:
        Push x[i] to y.
    Otherwise:
        Push x[i - 1] + x[i + 1] to y.
""",
    "a ring read from its oldest item": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + w[(count[1] + i) % n + 1] * x[i].
""",
    "products within a maximum over a window": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let best be -1.0e30.
    Repeat for j from max(1, i - 2) to i:
        Let t be 0.0.
        Repeat for k from 1 to m:
            Set t to t + grid[i][k] * grid[j][k].
        Set best to max(best, t).
    Push best to y.
""",
    "a return before a loop": """## To f (k: Int) -> Float:
    If k == 0:
        Return 7.0.
    Let t be 0.0.
    Repeat for i from 1 to k:
        Set t to t + x[i].
    Return t.

## Main
Let y be f(count[1]).
""",
    "a return before what is passed is changed": """## To f (s: mutable Seq of Float, k: Int) -> Float:
    Let t be 1.0.
    If k == 0:
        Set item 2 of s to 9.0.
        Set t to 3.0.
        Return t.
    Set item 1 of s to 5.0.
    Return t * 2.0.

## Main
Let s be copy of x.
Let r be f(s, count[1]).
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push s[i] * r to y.
""",
    "truth values compared": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If (x[i] > 0.0) == (w[i] > 0.0):
        Push 1.0 to y.
    Otherwise:
        If (x[i] > 0.5) != (w[i] > x[i]):
            Push 2.0 to y.
        Otherwise:
            Push 3.0 to y.
""",
    "products added where they overlap": """## Main
Let y be (n + 2) copies of 0.5.
Repeat for i from 1 to n:
    Repeat for k from 1 to 3:
        Set y[i + k - 1] to y[i + k - 1] + x[i] * x[k + 1].
""",
    "products added where they overlap, two axes": """## Main
Let y be (n + 2) copies of ((m + 1) copies of 0.5).
Repeat for i from 1 to n:
    Repeat for j from 1 to m:
        Repeat for a from 1 to 3:
            Repeat for b from 1 to 2:
                Set y[i + a - 1][j + b - 1] to y[i + a - 1][j + b - 1] + grid[i][j] * x[a + b].
""",
    "the greatest where they overlap, counted down under a condition": """## Main
Let y be (2 * n + 1) copies of -1.0.
Let k be 3.
While k >= 1:
    Repeat for i from 1 to n:
        If q[i] > 0:
            Set y[2 * i + k - 2] to max(y[2 * i + k - 2], x[i] * x[k + 1]).
    Set k to k - 1.
""",
    "steps over a copy, its ends left": """## Main
Let y be copy of x.
Repeat for step from 1 to 5:
    Let next be copy of y.
    Repeat for i from 2 to n - 1:
        Set next[i] to y[i] + 0.25 * (y[i - 1] - 2.0 * y[i] + y[i + 1]).
    Set y to next.
""",
    "the place of the best, where it is left alone otherwise": """## Main
Let best be item 1 of q.
Let y be 1.
Repeat for i from 2 to n:
    If item i of q >= best:
        Set best to item i of q.
        Set y to i.
    Otherwise:
        Set y to y.
""",
}


def held(source: str) -> None:
    """The program lifts, and its graph computes what it computes, whatever number of items it counts."""
    graph = graph_of(source, FACTS)
    for count in (0, 2, M):
        given = {"x": floats(count, N), "q": ints(count, -3, 3, N), "grid": floats(count, N, M), "w": floats(9, N)}
        given |= {"counts": ints(count, 0, 9, N, M), "ids": ints(count, 0, N - 1, N), "count": np.array([count])}
        agree(source, FACTS, given, graph=graph)


@pytest.mark.parametrize("name", LIFTED)
def test_a_program_found_refused_or_wrong_lifts(name: str) -> None:
    held(LIFTED[name])


@pytest.mark.parametrize("table", ["x", "q"])
def test_a_place_kept_where_the_best_is_not_is_no_place_of_the_best(table: str) -> None:
    source = f"""## Main
Let best be item 1 of {table}.
Let y be 1.
Repeat for i from 2 to n:
    If item i of {table} <= best:
        Set y to i.
    Otherwise:
        Set best to item i of {table}.
"""
    (refused,) = refusals(source, FACTS)
    assert refused[0] == 6 and "recurrence" in refused[1]


RECURRENT = {
    "what overlaps is halved first": "y[i + k - 1] * 0.5 + x[i] * w[k]",
    "the item beside it is added": "y[max(i + k - 2, 1)] + x[i] * w[k]",
    "what is added reads another item": "y[i + k - 1] + x[i] * y[k]",
}


@pytest.mark.parametrize("name", RECURRENT)
def test_what_overlaps_and_is_no_sum_is_a_recurrence(name: str) -> None:
    source = f"""## Main
Let y be (n + 2) copies of 1.0.
Repeat for i from 1 to n:
    Repeat for k from 1 to 3:
        Set y[i + k - 1] to {RECURRENT[name]}.
"""
    ((line, why),) = refusals(source, FACTS)
    assert line == 5 and why.endswith("a recurrence"), (line, why)


@pytest.mark.parametrize("write", ["Push hid to y", "Set y[i] to hid"])
def test_rows_of_a_recurrence_are_collected_in_a_state_table_alone(write: str) -> None:
    start = "a new Seq of (Seq of Float)" if "Push" in write else "n copies of (m copies of 0.0)"
    source = f"""## Main
Let y be {start}.
Let hid be m copies of 0.0.
Repeat for i from 1 to n:
    Let next be a new Seq of Float.
    Repeat for j from 1 to m:
        Push grid[i][j] + hid[m + 1 - j] * 0.5 to next.
    Set hid to next.
    {write}.
"""
    ((line, why),) = refusals(source, FACTS)
    assert line == 9 and '"y"' in why and "hands values on" in why, (line, why)


def test_a_row_past_the_last_is_no_item_of_a_flat_table() -> None:
    source = """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item 1 of (item (i + 1) of grid) to y.
"""
    ((line, why),) = refusals(source, FACTS)
    assert line == 4 and "may exceed 6" in why
