"""Spellings that mean the same lift to equal graphs, and each computes what the interpreter says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from lifting import Array, Facts, Table, agree, floats, graph_of, ints

N, M, K = 6, 4, 5
FACTS = Facts(
    {"n": N, "m": M, "k": K},
    {"place": Table((1,), "int", (0, N - 1)), "xs": Table((N,), "float"), "q": Table((N,), "int", (-9, 9))},
    ("w", "x", "g"),
)


@dataclass(frozen=True)
class Case:
    """Sources that mean the same; the inputs' shapes."""

    spellings: dict[str, str]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def inputs(self, seed: int, at: int) -> dict[str, Array]:
        given = {name: floats(seed + i, *shape) for i, (name, shape) in enumerate(sorted(self.shapes.items()))}
        return {**given, "place": np.array([at]), "xs": floats(seed + 9, N), "q": ints(seed, -9, 9, N)}


PRODUCT = Case(
    {
        "plain": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let total be 0.0.
    Repeat for i from 1 to k:
        Set total to total + item i of (item j of w) * item i of x.
    Push total to y.
""",
        "counters from zero": """## Main
Let y be a new Seq of Float.
Repeat for j from 0 to m - 1:
    Let total be 0.0.
    Repeat for i from 0 to k - 1:
        Set total to total + item (i + 1) of (item (j + 1) of w) * item (i + 1) of x.
    Push total to y.
""",
        "operands swapped": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let total be 0.0.
    Repeat for i from 1 to k:
        Set total to item i of x * item i of (item j of w) + total.
    Push total to y.
""",
        "a temporary hoisted": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let total be 0.0.
    Let row be item j of w.
    Repeat for i from 1 to k:
        Let part be item i of row * item i of x.
        Set total to total + part.
    Push total to y.
""",
        "while": """## Main
Let y be a new Seq of Float.
Let j be 1.
While j <= m:
    Let total be 0.0.
    Let i be 1.
    While i is at most k:
        Set total to total + item i of (item j of w) * item i of x.
        Set i to i + 1.
    Push total to y.
    Set j to j + 1.
""",
        "set item of a filled sequence": """## Main
Let y be m copies of 0.0.
Repeat for j from 1 to m:
    Let total be 0.0.
    Repeat for i from 1 to k:
        Set total to total + item i of (item j of w) * item i of x.
    Set item j of y to total.
""",
        "accumulating in the sequence": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Push 0.0 to y.
Repeat for j from 1 to m:
    Repeat for i from 1 to k:
        Set item j of y to item j of y + item i of (item j of w) * item i of x.
""",
        "loops exchanged": """## Main
Let y be m copies of 0.0.
Repeat for i from 1 to k:
    Repeat for j from 1 to m:
        Set item j of y to item j of y + item i of (item j of w) * item i of x.
""",
        "a function": """## To dot (a: Seq of Float, b: Seq of Float, count: Int) -> Float:
    Let total be 0.0.
    Repeat for i from 1 to count:
        Set total to total + item i of a * item i of b.
    Return total.

## Main
Let y be a new Seq of Float.
Repeat for row in w:
    Push dot(row, x, k) to y.
""".replace(
            "Repeat for row in w:\n    Push dot(row, x, k) to y.",
            "Repeat for j from 1 to m:\n    Push dot(item j of w, x, k) to y.",
        ),
        "the accumulator outside": """## Main
Let y be a new Seq of Float.
Let total be 0.0.
Repeat for j from 1 to m:
    Set total to 0.0.
    Repeat for i from 1 to k:
        Set total to total + item i of (item j of w) * item i of x.
    Push total to y.
""",
        "products first": """## Main
Let parts be a new Seq of (Seq of Float).
Repeat for j from 1 to m:
    Let row be a new Seq of Float.
    Repeat for i from 1 to k:
        Push item i of (item j of w) * item i of x to row.
    Push row to parts.
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let total be 0.0.
    Repeat for i from 1 to k:
        Set total to total + item i of (item j of parts).
    Push total to y.
""",
        "products first, flat": """## Main
Let parts be a new Seq of Float.
Repeat for j from 1 to m:
    Repeat for i from 1 to k:
        Push item i of (item j of w) * item i of x to parts.
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let total be 0.0.
    Repeat for i from 1 to k:
        Set total to total + item (k * (j - 1) + i) of parts.
    Push total to y.
""",
        "by the function with a mutable sequence": """## To gather (y: mutable Seq of Float, j: Int, row: Seq of Float):
    Repeat for i from 1 to k:
        Set item j of y to item j of y + item i of row * item i of x.

## Main
Let y be m copies of 0.0.
Repeat for j from 1 to m:
    gather(y, j, item j of w).
""",
    },
    {"w": (M, K), "x": (K,)},
)

HALVES = Case(
    {
        "nested": """## Main
Let y be a new Seq of Float.
Repeat for h from 1 to 3:
    Repeat for i from 1 to 2:
        Push item (2 * (h - 1) + i) of x * item h of g to y.
""",
        "one counter": """## Main
Let y be a new Seq of Float.
Repeat for i from 0 to 5:
    Push item (i + 1) of x * item (i / 2 + 1) of g to y.
""",
        "a running place": """## Main
Let y be 6 copies of 0.0.
Let p be 0.
Repeat for h from 1 to 3:
    Repeat for i from 1 to 2:
        Set p to p + 1.
        Set item p of y to item p of x * item h of g.
""",
    },
    {"x": (6,), "g": (3,)},
)

SOFTMAX = Case(
    {
        "lists": """## To native exp (x: Float) -> Float
## Main
Let best be item 1 of xs.
Repeat for t from 1 to item 1 of place + 1:
    Set best to max(best, item t of xs).
Let shares be a new Seq of Float.
Let whole be 0.0.
Repeat for t from 1 to item 1 of place + 1:
    Let share be exp(item t of xs - best).
    Push share to shares.
    Set whole to whole + share.
Let y be 0.0.
Repeat for t from 1 to item 1 of place + 1:
    Set y to y + item t of shares * item t of x.
Set y to y / whole.
""",
        "branches, two loops": """## To native exp (x: Float) -> Float
## Main
Let last be item 1 of place.
Let best be item 1 of xs.
Repeat for t from 0 to last:
    If item (t + 1) of xs > best:
        Set best to item (t + 1) of xs.
Let shares be a new Seq of Float.
Repeat for t from 0 to last:
    Push exp(item (t + 1) of xs - best) to shares.
Let whole be 0.0.
Repeat for t from 0 to last:
    Set whole to whole + item (t + 1) of shares.
Let mean be 0.0.
Repeat for t from 0 to last:
    Set mean to mean + item (t + 1) of x * item (t + 1) of shares.
Let y be mean / whole.
""",
        "a peeled maximum": """## To native exp (x: Float) -> Float
## Main
Let last be item 1 of place + 1.
Let best be item 1 of xs.
Repeat for t from 2 to last:
    Set best to max(item t of xs, best).
Let shares be a new Seq of Float.
Let whole be 0.0.
Let mean be 0.0.
Repeat for t from 1 to last:
    Push exp(item t of xs - best) to shares.
    Set whole to whole + item t of shares.
    Set mean to mean + item t of shares * item t of x.
Let y be mean / whole.
""",
    },
    {"x": (N,)},
)

NORM = Case(
    {
        "plain": """## Main
Let total be 0.0.
Repeat for i from 1 to n:
    Set total to total + item i of x * item i of x.
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of x / sqrt(total / n + 0.00001) * item i of g to y.
""",
        "the root hoisted": """## Main
Let total be 0.
Let squares be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of x * item i of x to squares.
Repeat for i from 1 to n:
    Set total to total + item i of squares.
Let spread be sqrt(total / n + 0.00001).
Let scaled be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of x / spread to scaled.
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of g * item i of scaled to y.
""",
    },
    {"x": (N,), "g": (N,)},
)

RESIDUAL = Case(
    {
        "after": """## Main
Let change be a new Seq of Float.
Repeat for j from 1 to k:
    Let total be 0.0.
    Repeat for i from 1 to n:
        Set total to total + item i of (item j of w) * item i of xs.
    Push total to change.
Let y be a new Seq of Float.
Repeat for j from 1 to k:
    Push item j of x + item j of change to y.
""",
        "at once": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to k:
    Let total be 0.0.
    Repeat for i from 1 to n:
        Set total to total + item i of (item j of w) * item i of xs.
    Push total + item j of x to y.
""",
        "from the residual": """## Main
Let y be a new Seq of Float.
Repeat for j from 1 to k:
    Let total be item j of x.
    Repeat for i from 1 to n:
        Set total to total + item i of (item j of w) * item i of xs.
    Push total to y.
""",
    },
    {"w": (K, N), "x": (K,)},
)

ARGMAX = Case(
    {
        "from the first": """## Main
Let best be item 1 of q.
Let y be 1.
Repeat for i from 1 to n:
    If item i of q > best:
        Set best to item i of q.
        Set y to i.
""",
        "peeled": """## Main
Let y be 1.
Let best be item 1 of q.
Repeat for i from 2 to n:
    If best < item i of q:
        Set y to i.
        Set best to item i of q.
""",
        "while": """## Main
Let best be item 1 of q.
Let y be 1.
Let i be 2.
While i <= n:
    Let here be item i of q.
    If here > best:
        Set best to here.
        Set y to i.
    Set i to i + 1.
""",
    }
)

GATE = Case(
    {
        "two lists": """## To native exp (x: Float) -> Float
## Main
Let a be a new Seq of Float.
Let b be a new Seq of Float.
Repeat for j from 1 to m:
    Let s be 0.0.
    Let t be 0.0.
    Repeat for i from 1 to n:
        Set s to s + item i of (item j of w) * item i of x.
        Set t to t + item i of (item j of g) * item i of x.
    Push s to a.
    Push t to b.
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Push item j of a / (1.0 + exp(0.0 - item j of a)) * item j of b to y.
""",
        "at once": """## To native exp (x: Float) -> Float
## Main
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let s be 0.0.
    Repeat for i from 1 to n:
        Set s to s + item i of (item j of w) * item i of x.
    Let t be 0.0.
    Repeat for i from 1 to n:
        Set t to t + item i of (item j of g) * item i of x.
    Push s / (1.0 + exp(-s)) * t to y.
""",
        "the activation first": """## To native exp (x: Float) -> Float
## To silu (z: Float) -> Float:
    Return z / (1.0 + exp(-z)).

## Main
Let a be a new Seq of Float.
Repeat for j from 1 to m:
    Let s be 0.0.
    Repeat for i from 1 to n:
        Set s to s + item i of (item j of w) * item i of x.
    Push s to a.
Let c be a new Seq of Float.
Repeat for j from 1 to m:
    Push silu(item j of a) to c.
Let y be a new Seq of Float.
Repeat for j from 1 to m:
    Let t be 0.0.
    Repeat for i from 1 to n:
        Set t to t + item i of (item j of g) * item i of x.
    Push item j of c * t to y.
""",
    },
    {"w": (M, N), "g": (M, N), "x": (N,)},
)

CASES = {
    "product": PRODUCT,
    "halves": HALVES,
    "softmax": SOFTMAX,
    "norm": NORM,
    "residual": RESIDUAL,
    "argmax": ARGMAX,
    "gate": GATE,
}


@pytest.mark.parametrize(("case", "spelling"), [(case, s) for case, c in CASES.items() for s in c.spellings])
def test_a_spelling_gives_the_same_graph(case: str, spelling: str) -> None:
    first = next(iter(CASES[case].spellings.values()))
    graph = graph_of(CASES[case].spellings[spelling], FACTS)
    assert graph == graph_of(first, FACTS)
    used = {t.name for t in graph.tensors}
    for at in (0, 2, N - 1):
        given = CASES[case].inputs(at + 1, at)
        agree(CASES[case].spellings[spelling], FACTS, {n: v for n, v in given.items() if n in used}, graph=graph)


def test_divisions_in_another_order_are_another_graph() -> None:
    """What rounds differently is told apart."""
    one = NORM.spellings["plain"].replace("sqrt(total / n + 0.00001)", "3.0")
    other = one.replace("item i of x / 3.0 * item i of g", "item i of x * item i of g / 3.0")
    assert graph_of(one, FACTS) != graph_of(other, FACTS)
