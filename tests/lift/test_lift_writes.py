"""Writes that meet: collected where a table says, over one another in one iteration, read between; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals, statements

from spatial.ir import wire
from spatial.ir.graph import Statement

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "z": Table((N, M), "float"),
        "w": Table((N, N), "float"),
        "ids": Table((N,), "int", (0, M - 1)),
        "both": Table((N, M), "int", (0, M - 1)),
        "h": Table((M,), "float", state=True),
        "kept": Table((N, M), "float", state=True),
    },
)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {
        "x": floats(seed, N),
        "z": floats(seed + 1, N, M),
        "w": floats(seed + 2, N, N),
        "ids": ints(seed, 0, M - 1, N),
        "both": ints(seed, 0, M - 1, N, M),
        "h": floats(seed + 3, M),
        "kept": floats(seed + 4, N, M),
    }


COLLECTED = {
    "a histogram": """Let y be m copies of 0.
Repeat for i from 1 to n:
    Set item (item i of ids + 1) of y to item (item i of ids + 1) of y + 1.
""",
    "over the items of a table": """Let y be m copies of 2.
Repeat for id in ids:
    Set item (id + 1) of y to item (id + 1) of y + 3.
""",
    "sums": """Let y be m copies of 0.5.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of y to item k of y + item i of x.
""",
    "sums of some": """Let y be m copies of 0.0.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    If item i of x > 0.0:
        Set item k of y to item k of y - item i of x * 2.0.
""",
    "maxima": """Let y be m copies of 0.0.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of y to max(item k of y, item i of x).
""",
    "rows": """Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to m:
    Push m copies of 0.0 to y.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Repeat for j from 1 to m:
        Set item j of (item k of y) to y[k][j] + z[i][j].
""",
    "two loops": """Let y be m copies of 0.
Repeat for i from 1 to n:
    Repeat for j from 1 to m:
        Let k be both[i][j] + 1.
        Set item k of y to item k of y + i.
""",
    "state": """Let y be 0.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of h to item k of h + item i of x.
""",
}


@pytest.mark.parametrize("name", COLLECTED)
def test_what_is_added_where_a_table_says_is_a_sum_for_each_item(name: str):
    text = "## Main\n" + COLLECTED[name]
    graph = graph_of(text, FACTS)
    assert statements(graph) == 1
    (node,) = graph.nodes
    assert isinstance(node, Statement) and len(node.pieces[0].accs) == 1 and node.pieces[0].accs[0].guards
    for seed in range(4):
        agree(text, FACTS, inputs(seed), graph=graph)


OVER = {
    "an item pushed, then set": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push 0.0 to y.
    Set y[i] to z[i][1].
""",
    "an item pushed, then added to": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push 0.0 to y.
    Repeat for j from 1 to m:
        Set y[i] to y[i] + z[i][j].
""",
    "a row pushed, then one of its items set": """Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Push item i of w to y.
    Set y[i][i] to 1.0.
""",
    "a row pushed, then all of its items set": """Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to m:
    Push n copies of 0.0 to y.
    Repeat for j from 1 to n:
        Set y[i][j] to z[j][i].
""",
    "a row set, then an item": """Let y be n copies of (n copies of 0.0).
Repeat for i from 1 to n:
    Set item i of y to item i of w.
    Set y[i][i] to 1.0.
""",
    "an item set, then its row": """Let y be n copies of (n copies of 0.0).
Repeat for i from 1 to n:
    Set y[i][i] to 1.0.
    Set item i of y to item i of w.
""",
    "two items pushed, one set from the other": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of x to y.
    Push 0.5 to y.
    Set item (2 * i) of y to item (2 * i - 1) of y + 1.0.
""",
    "an item in three steps": """Let y be (n + 1) copies of 0.0.
Repeat for i from 1 to n:
    Set item i of y to item i of x.
    Set item i of y to item i of y * 2.0.
    Set item i of y to item i of y + 1.0.
""",
    "rows of state, then their items": """Let y be 0.0.
Repeat for i from 1 to n:
    Set item i of kept to item i of z.
    Repeat for j from 1 to m:
        Set kept[i][j] to kept[i][j] * 2.0.
    Set kept[i][2] to 0.5.
""",
    "a copy changed, and what it is a copy of": """Let y be copy of kept.
Repeat for i from 1 to n:
    Set y[i][1] to kept[i][2].
Repeat for i from 1 to n:
    Set kept[i][3] to y[i][1].
""",
}
BETWEEN = {
    "moved by one after a first loop": """Let y be copy of z.
Repeat for i from 1 to n:
    Repeat for j from 1 to m - 1:
        Set y[i][j] to z[i][j] * 3.0.
    Repeat for j from 1 to m - 1:
        Set y[i][j] to y[i][j + 1] / 2.0.
""",
    "moved by one after two": """Let y be copy of z.
Repeat for i from 1 to n:
    Repeat for j from 1 to m - 1:
        Set y[i][j] to abs(z[i][j]).
    Repeat for j from 1 to m - 1:
        Set y[i][j] to y[i][j] + 1.0.
    Repeat for j from 1 to m - 1:
        Set y[i][j] to y[i][j + 1] / 2.0.
""",
    "in a loop of one": """Let y be copy of x.
Repeat for i from 1 to 1:
    Repeat for j from 1 to n - 1:
        Set y[j] to x[j] * 3.0.
    Repeat for j from 1 to n - 1:
        Set y[j] to y[j + 1] / 2.0.
""",
    "of state": """Let y be 0.0.
Repeat for i from 1 to n:
    Repeat for j from 1 to m:
        Set kept[i][j] to kept[i][j] + z[i][j].
    Repeat for j from 1 to m - 1:
        Set kept[i][j] to kept[i][j + 1] * 2.0.
""",
    "what the iteration before left": """Let y be n copies of 0.0.
Let a be n copies of 0.0.
Repeat for i from 1 to n:
    Set a[i] to x[i].
    If i > 1:
        Set y[i] to a[i - 1].
    Set a[i] to a[i] * 2.0.
""",
}


@pytest.mark.parametrize("name", (*OVER, *BETWEEN))
def test_an_iteration_may_write_over_what_it_wrote(name: str):
    text = "## Main\n" + {**OVER, **BETWEEN}[name]
    graph = graph_of(text, FACTS)
    for seed in range(3):
        agree(text, FACTS, inputs(seed), graph=graph)


REFUSED = {
    "a bin is read beside": (
        """Let y be m copies of 0.
Let t be 0.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of y to item k of y + 1.
    Set t to t + item 1 of y.
""",
        "another iteration writes: a recurrence",
    ),
    "bins chosen by bins": (
        """Let y be m copies of 0.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of y to item k of y + item (m + 1 - k) of y.
""",
        "another iteration writes: a recurrence",
    ),
    "bins multiplied and added to": (
        """Let y be m copies of 1.
Repeat for i from 1 to n:
    Let k be item i of ids + 1.
    Set item k of y to item k of y * 2 + i.
""",
        "another iteration writes: a recurrence",
    ),
    "two bins an iteration": (
        """Let y be m copies of 0.
Repeat for i from 1 to n:
    Set item (item i of ids + 1) of y to item (item i of ids + 1) of y + 1.
    Set item (both[i][1] + 1) of y to item (both[i][1] + 1) of y + 1.
""",
        "another iteration writes: a recurrence",
    ),
    "what an iteration wrote at first, at half its place": (
        """Let a be n copies of 0.0.
Let y be n copies of 0.0.
Repeat for i from 0 to n - 1:
    Set a[i + 1] to x[i + 1].
    Set y[i + 1] to a[i / 2 + 1].
    Set a[i + 1] to a[i + 1] * 2.0.
""",
        "another iteration writes: a recurrence",
    ),
    "moved down after a first loop": (
        """Let y be copy of z.
Repeat for i from 1 to n:
    Repeat for j from 1 to m:
        Set y[i][j] to z[i][j] * 3.0.
    Repeat for j from 2 to m:
        Set y[i][j] to y[i][j - 1] / 2.0.
""",
        "another iteration writes: a recurrence",
    ),
    "the first item of what is pushed": (
        """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of x to y.
    Set item 1 of y to item i of x.
""",
        "several iterations write the same item",
    ),
    "the item after": (
        """Let y be (n + 1) copies of 0.0.
Repeat for i from 1 to n:
    Set item i of y to item i of x.
    Set item (i + 1) of y to 1.0.
""",
        "may coincide",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_the_order_of_iterations_is_refused(name: str):
    text, why = REFUSED[name]
    assert any(why in reason for _, reason in refusals("## Main\n" + text, FACTS))


ROWS = """Repeat for i from 1 to n:
    Repeat for j from 1 to m:
        Set kept[ids[i] + 1][j] to z[i][j].
Let y be 0.
"""
ROW = """Repeat for j from 1 to m:
    Set kept[ids[2] + 1][j] to h[j].
Let y be 0.
"""
ONE_ROW = {
    "columns outside": (
        ROWS,
        ROWS.replace("i from 1 to n", "c from 1 to m").replace("j from 1 to m", "i from 1 to n").replace("[j]", "[c]"),
        True,
    ),
    "rows backwards": (ROWS, ROWS.replace("[i]", "[n + 1 - i]"), False),
    "searched for": (
        ROW,
        "Repeat for i from 1 to n:\n    If ids[2] == i - 1:\n        Repeat for j from 1 to m:\n"
        "            Set kept[i][j] to h[j].\nLet y be 0.\n",
        True,
    ),
    "searched for, one further": (
        ROW,
        "Repeat for i from 1 to n:\n    If ids[2] + 2 == i:\n"
        "        Repeat for j from 1 to m:\n            Set kept[i][j] to h[j].\n"
        "Let y be 0.\n",
        False,
    ),
    "searched for past the end": (
        ROW,
        "Repeat for i from 1 to n:\n    If ids[2] + 5 == i:\n"
        "        Repeat for j from 1 to m:\n            Set kept[i][j] to h[j].\n"
        "Let y be 0.\n",
        False,
    ),
    "all but the row": (
        ROW,
        "Repeat for i from 1 to n:\n    If ids[2] + 1 != i:\n"
        "        Repeat for j from 1 to m:\n            Set kept[i][j] to h[j].\nLet y be 0.\n",
        False,
    ),
}


@pytest.mark.parametrize("name", ONE_ROW)
def test_rows_at_run_time_places_have_one_form(name: str) -> None:
    plain, other, same = ONE_ROW[name]
    graphs = [graph_of(text, FACTS) for text in (plain, other)]
    for text, graph in zip((plain, other), graphs, strict=True):
        for seed in range(4):
            agree(text, FACTS, inputs(seed), graph=graph)
    assert (wire.digest(graphs[0]) == wire.digest(graphs[1])) == same
