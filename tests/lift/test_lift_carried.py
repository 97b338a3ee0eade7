"""What loops carry: numbers beside the sequences of a block, reductions in conditions, Ints that become Floats."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, lifted

from spatial.ir.graph import Block

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "z": Table((N,), "float"),
        "q": Table((N,), "int", (-9, 9)),
        "grid": Table((M, N), "float"),
        "count": Table((1,), "int", (0, N)),
    },
)


def held(source: str) -> None:
    graph = graph_of(source, FACTS)
    for count in (0, 1, N):
        for seed in (1, 2, 3):
            x = floats(seed, N) if seed < 3 else np.array([1.0, 2.0, 2.0, 0.0, 2.0, 1.0])
            given = {"x": x, "z": floats(seed + 9, N), "q": ints(seed, -9, 9, N), "grid": floats(seed + 5, M, N)}
            agree(source, FACTS, {**given, "count": np.array([count])}, graph=graph)


LAYERS = """## Main
Let h be copy of x.
Let s be {entry}.
Repeat for l from 1 to m:
    Let next be a new Seq of Float.
    Let size be 0.0.
    Repeat for i from 1 to n:
        Let u be item i of h * s + item i of (item l of grid).
        Push u to next.
        Set size to size + u * u.
    Set h to next.
    {update}
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of h {read} to y.
"""
BLOCKS = {
    "a number that decays": LAYERS.format(entry="1.0", update="Set s to s * 0.5 + 0.1.", read="+ s"),
    "a number of what is carried": LAYERS.format(entry="1.0", update="Set s to s / 2.0 + item 1 of h.", read="* s"),
    "the size of the layer before": LAYERS.format(entry="0.5", update="Set s to 1.0 / (1.0 + size).", read=""),
    "an Int that comes round": LAYERS.format(entry="1", update="Set s to (s * 3 + l) % 7.", read="+ s"),
    "a place found in one layer and read in the next": """## Main
Let h be copy of x.
Let place be 1.
Repeat for l from 1 to m:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item i of h * 0.5 + item place of z * item i of (item l of grid) to next.
    Set h to next.
    Let best be item 1 of h.
    Set place to 1.
    Repeat for i from 2 to n:
        If item i of h > best:
            Set best to item i of h.
            Set place to i.
Let y be copy of h.
Set item 1 of y to item place of h.
""",
    "two numbers that change places": """## Main
Let h be copy of x.
Let a be 1.0.
Let b be 2.0.
Repeat for l from 1 to m:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item i of h * a + item i of (item l of grid) to next.
    Set h to next.
    Let c be a + b * item 2 of h.
    Set a to b.
    Set b to c.
Let y be copy of h.
Set item 1 of y to a.
Set item 2 of y to b.
""",
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_carries_numbers_beside_its_sequences(name: str) -> None:
    blocks = [n for n in graph_of(BLOCKS[name], FACTS).nodes if isinstance(n, Block)]
    assert len(blocks) == 1
    assert blocks[0].trip == M
    assert len(blocks[0].carried) >= 2
    held(BLOCKS[name])


ROW = """## Main
Let y be item (item 1 of count) of square.
Repeat for l from 1 to m:
    Let next be a new Seq of Float.
    Repeat for j from 1 to n:
        Let total be 0.0.
        Repeat for i from 1 to n:
            Set total to total + item i of (item j of square) * item i of y.
        Push total to next.
    Set y to next.
"""


@pytest.mark.parametrize("row", ["item (item 1 of count) of square", "copy of item 2 of square"])
def test_a_row_of_a_table_may_begin_a_block(row: str) -> None:
    facts = Facts({"n": 4, "m": 3}, {"square": Table((4, 4), "float"), "count": Table((1,), "int", (1, 4))})
    source = ROW.replace("item (item 1 of count) of square", row)
    graph = graph_of(source, facts)
    assert any(isinstance(n, Block) for n in graph.nodes)
    for count in (1, 4):
        agree(source, facts, {"square": floats(count, 4, 4), "count": np.array([count])}, graph=graph)


def test_numbers_alone_are_no_block() -> None:
    source = "## Main\nLet y be 1.0.\nRepeat for l from 1 to m:\n    Set y to y * 0.5 + item l of x.\n"
    (missing,) = lifted(source, FACTS).missing
    assert missing.why.endswith("a recurrence")


def test_a_carried_place_that_may_leave_its_sequence_is_refused() -> None:
    source = LAYERS.format(entry="1", update="Set s to s * 2.", read="+ item s of x")
    (missing,) = lifted(source, FACTS).missing
    assert 'an index of "x"' in missing.why


def test_a_carried_number_that_changes_its_kind_is_refused() -> None:
    source = LAYERS.format(entry="1", update="Set s to s * 0.5.", read="")
    (missing,) = lifted(source, FACTS).missing
    assert '"s" changes between Int and Float' in missing.why


CONDITIONS = {
    "a sum under a condition on a sum": """## Main
Let y be 0.0.
Repeat for r from 1 to m:
    Let s be 0.0.
    Repeat for c from 1 to n:
        Set s to s + item c of (item r of grid).
    If s > 0.0:
        Set y to y + s.
""",
    "the first place of the best, by a second loop": """## Main
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
Let y be n.
Repeat for i from 1 to n:
    If item i of x equals best:
        Set y to min(y, i).
""",
    "items above their mean": """## Main
Let s be 0.0.
Repeat for e in x:
    Set s to s + e.
Let y be 0.
Repeat for e in x:
    If e * n > s:
        Set y to y + 1.
""",
    "a maximum that starts as a sum": """## Main
Let y be 0.0.
Repeat for e in x:
    Set y to y + e.
Repeat for i from 1 to item 1 of count:
    Set y to max(y, item i of x * 3.0).
""",
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_reduction_inside_another_stands_alone(name: str) -> None:
    held(CONDITIONS[name])


SUMS = {
    "Ints of the loop variable": "Set y to y + i.",
    "squares": "Set y to y + i * i.",
    "under a condition": "If item i of q > 0:\n        Set y to y + i.",
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("last", ["n", "item 1 of count"])
def test_a_sum_over_the_loop_variable_is_no_counter(name: str, last: str) -> None:
    held(f"## Main\nLet y be 0.\nRepeat for i from 1 to {last}:\n    {SUMS[name]}\n")


WIDENED = "## Main\nLet y be 0.\nRepeat for i from 1 to {last}:\n    {body}\n"


def test_an_int_that_the_loop_surely_makes_a_float_is_one() -> None:
    held(WIDENED.format(last="n", body="Set y to y + item i of x."))


def test_an_int_that_the_loop_may_leave_an_int_is_refused() -> None:
    (missing,) = lifted(WIDENED.format(last="item 1 of count", body="Set y to y + item i of x."), FACTS).missing
    assert "still an Int if the loop runs no time" in missing.why
    assert "0.0" in missing.mend


def test_an_int_that_one_branch_makes_a_float_is_refused() -> None:
    body = "If item i of x > 0.0:\n        Set y to y + item i of x."
    (missing,) = lifted(WIDENED.format(last="n", body=body), FACTS).missing
    assert "an Int on one branch and a Float on the other" in missing.why
    assert "0.0" in missing.mend
