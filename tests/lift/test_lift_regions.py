"""Reads that exist only where a branch is taken: boxes cut, guarded writes, indices kept in range; what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals, statements

from spatial.ir.graph import Statement

N, M, K = 7, 5, 3
FACTS = Facts(
    {"n": N, "m": M, "k": K},
    {
        "x": Table((N,), "float"),
        "z": Table((N, M), "float"),
        "f": Table((K,), "float"),
        "g": Table((K, K), "float"),
        "q": Table((N,), "int", (-3, 20)),
        "place": Table((1,), "int", (0, N)),
        "h": Table((N,), "float", state=True),
    },
)


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {
        "x": floats(seed, N),
        "z": floats(seed + 1, N, M),
        "f": floats(seed + 2, K),
        "g": floats(seed + 3, K, K),
        "q": ints(seed, -3, 20, N),
        "place": np.array([(0, 3, N)[seed % 3]]),
        "h": floats(seed + 4, N),
    }


def rows(body: str) -> str:
    """A table made row by row, `a` pushed after `body`."""
    inner = "".join(f"        {line}\n" for line in body.splitlines())
    return f"""Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Repeat for j from 1 to m:
{inner}        Push a to row.
    Push row to y.
"""


LIFTED = {
    "a shift": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If i > 1:
        Push item (i - 1) of x to y.
    Otherwise:
        Push 0.0 to y.
""",
    "both neighbours": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let before be 0.0.
    Let after be 0.0.
    If i != 1:
        Set before to item (i - 1) of x.
    If i < n:
        Set after to item (i + 1) of x.
    Push before - 2.0 * item i of x + after to y.
""",
    "first, last and between": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If i == 1:
        Push item 1 of x - item 2 of x to y.
    Otherwise If i == n:
        Push item n of x * 2.0 to y.
    Otherwise:
        Push item (i + 1) of x - item (i - 1) of x to y.
""",
    "the other side of a condition read in a condition": """Let y be a new Seq of Int.
Repeat for i from 1 to n:
    If i == 1 or item (i - 1) of x > 0.0:
        Push i to y.
    Otherwise:
        Push 0 to y.
""",
    "a condition of two variables": rows(
        "Let a be 0.5.\nIf i >= j:\n    Set a to item (i - j + 1) of x * 2.0 + z[i][j]."
    ),
    "a condition that a run decides and one of the box": rows(
        "Let a be 0.25.\nIf item 1 of place > 2 and i > 1:\n    Set a to item (i - 1) of x * 2.0 + z[i][j]."
    ),
    "a run-time shift": rows("Let a be 0.25.\nLet p be item 1 of place.\nIf i > p:\n    Set a to z[i - p][j]."),
    "an item chosen where there is one": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let c be item i of q.
    If c is at least 1 and c is at most n:
        Push item c of x * item i of x to y.
    Otherwise:
        Push -1.0 to y.
""",
    "items summed where there are some": """Let y be 0.0.
Repeat for i from 1 to n:
    If item i of q >= 1 and item i of q <= n:
        Set y to y + item (item i of q) of x.
""",
    "a sum with a zero beyond the edges": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let t be 0.0.
    Repeat for u from 1 to k:
        Let a be 0.0.
        If i + u >= 3 and i + u - 2 <= n:
            Set a to item (i + u - 2) of x.
        Set t to t + a * item u of f.
    Push t to y.
""",
    "a plane with zeros beyond the edges": """Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to n:
    Let row be a new Seq of Float.
    Repeat for j from 1 to m:
        Let t be 0.0.
        Repeat for u from 1 to k:
            Repeat for v from 1 to k:
                Let a be 0.0.
                Let p be i + u - 2.
                Let r be j + v - 2.
                If p >= 1 and p <= n and r >= 1 and r <= m:
                    Set a to z[p][r].
                Set t to t + a * g[u][v].
        Push t to row.
    Push row to y.
""",
    "a function that looks beyond the edges": """## To look (t: Seq of (Seq of Float), i: Int, j: Int) -> Float:
    If i < 1 or i > n or j < 1 or j > m:
        Return 0.0.
    Return t[i][j].

## Main
"""
    + rows("Let a be look(z, i - 1, j) + look(z, i + 1, j) + look(z, i, j - 1) + look(z, i, j + 1)."),
    "a reduction of the row before": """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let s be 1.5.
    If i > 1:
        Repeat for j from 1 to m:
            Set s to s + z[i - 1][j].
    Push s to y.
""",
    "steps of a stencil": """Let y be copy of x.
Repeat for t from 1 to 4:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        If i > 1 and i < n:
            Push 0.25 * item (i - 1) of y + 0.5 * item i of y + 0.25 * item (i + 1) of y to next.
        Otherwise:
            Push item i of y to next.
    Set y to next.
""",
    "state from what lies before": """Let y be 0.0.
Repeat for i from 1 to n:
    Let a be item i of x.
    If i > 2:
        Set a to item (i - 2) of x - a.
    Set item i of h to a.
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_a_read_under_a_branch_lifts(name: str):
    text = LIFTED[name] if "## Main" in LIFTED[name] else "## Main\n" + LIFTED[name]
    graph = graph_of(text, FACTS)
    for seed in range(6):
        agree(text, FACTS, inputs(seed), graph=graph)


def test_a_guarded_shift_is_a_statement_of_two_pieces():
    graph = graph_of("## Main\n" + LIFTED["a shift"], FACTS)
    (statement,) = graph.nodes
    assert isinstance(statement, Statement) and len(statement.pieces) == 2


def test_the_padded_row_of_a_convolution_stands_over_one_variable():
    graph = graph_of("## Main\n" + LIFTED["a sum with a zero beyond the edges"], FACTS)
    assert statements(graph) == 2
    assert (N + K - 1,) in {t.dims for t in graph.tensors if t.role == "made"}


REFUSED = {
    "one short": ("i >= 2", "item (i - 2) of x"),
    "from the end": ("i != 2", "item (i - 2) of x"),
    "the other way": ("i < n", "item (i - 1) of x"),
    "beyond": ("i <= n", "item (i + 1) of x"),
    "of something else": ("item 1 of place > 1", "item (i - 1) of x"),
    "a run-time index half bounded": ("item i of q >= 1", "item (item i of q) of x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_condition_that_does_not_prove_the_read_is_refused(name: str):
    condition, read = REFUSED[name]
    text = f"""## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If {condition}:
        Push {read} to y.
    Otherwise:
        Push 0.0 to y.
"""
    ((line, why),) = refusals(text, FACTS)
    assert line == 5 and "is not proved in range" in why


WINDOWED = """Let y be [].
Repeat for i from 1 to n:
    Let line be [].
    Repeat for c from 1 to m:
        Let s be 0.0.
{body}        Push s to line.
    Push line to y.
"""
"""A sum over what lies around i, for several columns: what its terms compute without the column is shared by them."""

SLID = """        Repeat for j from max(1, i - 2) to i:
            Set s to s + {term} * z[j][c].
"""

PADDED = """        Repeat for j from -1 to 1:
            If {condition}:
                Set s to s + {term} * z[j + 2][c].
"""

IN_RANGE = "i + j >= 1 and i + j <= n"

SHARED = {
    "a window": (SLID.format(term="exp(x[j])"), (N,)),
    "a window, counted on": (SLID.format(term="exp(h[n + 1 - j] + f[2])"), (N,)),
    "a window by a condition": (
        """        Repeat for j from 1 to i:
            If i - j < 3:
                Set s to s + exp(x[j]) * z[j][c].
""",
        (N,),
    ),
    "an edge of zeros": (PADDED.format(condition=IN_RANGE, term="max(0.0, x[i + j])"), (N,)),
    "an edge of zeros, two tables": (PADDED.format(condition=IN_RANGE, term="(x[i + j] * h[i + j])"), (N,)),
    "what knows its row too": (PADDED.format(condition=IN_RANGE, term="exp(x[i + j] * x[i])"), None),
    "what is chosen by numbers": (
        PADDED.format(condition=IN_RANGE, term="max(0.0, f[min(3, max(1, q[i + j]))])"),
        (N,),
    ),
    "what reads two places": (
        PADDED.format(condition="i + j >= 2 and i + j <= n", term="exp(x[i + j] - x[i + j - 1])"),
        None,
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_what_the_terms_of_a_window_share_is_made_over_the_whole_table(name: str):
    body, dims = SHARED[name]
    text = "## To native exp (x: Float) -> Float\n## Main\n" + WINDOWED.format(body=body)
    graph = graph_of(text, FACTS)
    made = {t.dims for t in graph.tensors if t.role == "made"} - {(N, M)}
    assert made == ({dims} if dims else set())
    for seed in range(4):
        agree(text, FACTS, inputs(seed), graph=graph)


@pytest.mark.parametrize(
    "body",
    [
        "        Repeat for j from i - 2 to i:\n            Set s to s + exp(x[j]) * z[1][c].\n",
        PADDED.format(condition="i + j >= 1", term="max(0.0, x[i + j])"),
        PADDED.format(condition="i + j >= 0 and i + j <= n", term="max(0.0, x[i + j])"),
        PADDED.format(condition="i + j >= 1 and i + j <= n + 1", term="max(0.0, x[i + j])"),
        PADDED.format(condition=IN_RANGE, term="max(0.0, x[i + j + 1])"),
        PADDED.format(condition=IN_RANGE, term="max(0.0, x[i - j])"),
        PADDED.format(condition=IN_RANGE, term="(max(0.0, x[i + j]) + x[i + j - 1])"),
    ],
)
def test_a_window_that_leaves_its_table_is_refused(body: str):
    text = "## To native exp (x: Float) -> Float\n## Main\n" + WINDOWED.format(body=body)
    assert all("is not proved in range" in why for _, why in refusals(text, FACTS))
