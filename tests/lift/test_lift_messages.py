"""What a refusal says: its place, the variable, the real reason, and what would mend it."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, lifted

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "xs": Table((6,), "float"),
        "q": Table((6,), "int", (-9, 9)),
        "free": Table((1,), "int"),
        "ids": Table((4,), "int"),
        "place": Table((1,), "int", (0, 5)),
        "kept": Table((6, 4), "float", None, True),
    },
    ("x", "g", "w"),
)
ALONE = Facts({"m": 4}, open_inputs=True)
COUNTED = Facts(
    {"n": 6},
    {
        "xs": Table((6,), "float"),
        "chosen": Table((6,), "int", (0, 5)),
        "count": Table((1,), "int", (0, 9)),
    },
    assume=("count <= n",),
)

LOST = "is written but is no state: writes of an input are lost"
DECLARE = "declare the table `state: true`, or build a new Seq"
RECURRENCE = 'an iteration reads an item of "y" that another iteration writes: a recurrence'
COMPOSE = "write it as a sum, product, maximum or minimum of terms that do not depend on it"
GIVEN = "stands where a number is wanted, but a name that is never bound is a sequence given as input"
JOIN = "to add item by item, or to join in another way, loop over the items and push them to a new Seq"

CASES: dict[str, tuple[Facts, str, str, str, str, str]] = {
    # ------------------------------------------------ writes of what is given
    "an item of a table, in a loop": (
        FACTS,
        """Repeat for i from 1 to n:
    Set item i of q to 0.
Let y be item 1 of q.
""",
        "2:5",
        "q",
        f'"q" {LOST}',
        DECLARE,
    ),
    "an item of a table, in a block": (
        FACTS,
        """Let y be copy of xs.
Repeat for step from 1 to 3:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item i of y * 0.5 to next.
    Set item 1 of xs to item 1 of y.
    Set y to next.
""",
        "6:5",
        "xs",
        f'"xs" {LOST}',
        DECLARE,
    ),
    "an item pushed to a table": (
        FACTS,
        """Let y be item 1 of xs.
Push 0.0 to xs.
""",
        "2:1",
        "xs",
        f'"xs" {LOST}',
        DECLARE,
    ),
    "a table set whole": (
        FACTS,
        """Let y be item 1 of xs.
Repeat for i from 1 to 2:
    Set xs to copy of xs.
""",
        "3:5",
        "xs",
        f'"xs" {LOST}',
        DECLARE,
    ),
    "a table changed by a function": (
        FACTS,
        """## To clear (t: mutable Seq of Int):
    Repeat for i from 1 to n:
        Set item i of t to 0.

## Main
Let y be item 1 of q.
clear(q).
""",
        "3:9",
        "q",
        f'"q" {LOST}',
        DECLARE,
    ),
    "an item of a weight": (
        FACTS,
        """Repeat for i from 1 to n:
    Set item i of x to 0.0.
Let y be item 1 of x.
""",
        "2:5",
        "x",
        f'"x" {LOST}',
        "build a new Seq, or write into a copy",
    ),
    "state set to another shape": (
        FACTS,
        """Let y be 1.
Set kept to xs.
""",
        "2:1",
        "kept",
        '"kept" is state of 6 x 4 Floats, and is set to something else',
        "write items or rows of it, or set it to a sequence of the same shape and kind",
    ),
    # ------------------------------------------------ rows
    "a row that only its copy tells of": (
        FACTS,
        """Let p be item 1 of place + 1.
Set item p of kept to item 2 of w.
""",
        "2:1",
        "kept",
        '"kept" is written as one flat sequence at a place that only a run knows',
        "index it as deep as it has axes, as in item j of (item i of kept)",
    ),
    "a number for a row": (
        FACTS,
        """Let y be item 2 of (item 1 of kept).
Set item 2 of kept to y.
""",
        "2:1",
        "kept",
        'a number is stored where a row of "kept" stands, which is nested elsewhere',
        "store it in an item of the row; if it is a row itself, copy it item by item",
    ),
    "a row of another length": (
        FACTS,
        """Let y be item 1 of (item 1 of kept).
Set item 2 of kept to xs.
""",
        "2:1",
        "kept",
        "the row stored has another shape than the row it replaces",
        "store a row of the same length, or its items one by one",
    ),
    # ------------------------------------------------ sizes that are missing
    "a loop's bound that is no size": (
        ALONE,
        """Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item i of x.
""",
        "2:24",
        "y",
        f'"n" {GIVEN}',
        "give its value if it is a size: `--size n=…`; take an item of it if it is a sequence",
    ),
    "a table for a bound": (
        FACTS,
        """Let y be 0.0.
Repeat for i from 1 to place:
    Set y to y + item i of x.
""",
        "2:24",
        "y",
        'the table "place" stands where a number is wanted',
        "take an item of it, as in item 1 of place",
    ),
    "a weight for a number": (
        FACTS,
        "Let y be g * 2.5.\n",
        "1:10",
        "y",
        'the weight "g" stands where a number is wanted',
        "take an item of it, or use a size of the spec",
    ),
    # ------------------------------------------------ recurrences
    "a recurrence started by a push": (
        FACTS,
        """Let y be a new Seq of Float.
Push item 1 of xs to y.
Repeat for i from 2 to n:
    Push item (i - 1) of y + item i of xs to y.
""",
        "4:5",
        "y",
        RECURRENCE,
        "write into a second sequence, or compute each item from the inputs alone",
    ),
    "a sequence that starts empty and is read before it grows": (
        FACTS,
        """Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of y to y.
""",
        "3:10",
        "y",
        'an index of "y" is not proved in range: it runs from 1 to 6, and it may exceed a length known at run time, '
        "the length",
        "bound the loop, or declare the range of the input it comes from",
    ),
    "a recurrence beside a local variable": (
        FACTS,
        """Let y be 0.0.
Repeat for i from 1 to n:
    Let z be item i of xs.
    Set y to y * 0.5 + z.
""",
        "4:5",
        "y",
        '"y" is computed from what it was in the iteration before: a recurrence',
        COMPOSE,
    ),
    # ------------------------------------------------ ranges that are missing
    "an index of no known range": (
        FACTS,
        """Let y be 0.0.
Repeat for i from 1 to m:
    Set y to y + item (item i of ids + 1) of xs.
""",
        "3:18",
        "y",
        'an index of "xs" is not proved in range: it comes from "ids", of which no range is known, and it may be 0 or '
        "negative",
        'declare the range of "ids"',
    ),
    "an index of an input of no known range": (
        ALONE,
        """Let z be a new Seq of Float.
Repeat for i from 1 to m:
    Push item i of v to z.
Let y be item (item 1 of a) of z.
""",
        "4:10",
        "y",
        'an index of "z" is not proved in range: it comes from "a", of which no range is known, and it may be 0 or '
        "negative",
        "bound the index with max and min: max(1, min(length, …))",
    ),
    "a loop of no known length": (
        FACTS,
        """Repeat for i from 1 to item 1 of free:
    Let z be item 1 of xs.
    Set item 1 of (item 1 of kept) to z.
""",
        "1:1",
        "kept",
        "how often this loop runs has no known limit",
        'declare the range of "free"',
    ),
    # ------------------------------------------------ assertions and joins
    "an assertion on data": (
        FACTS,
        """Let y be item 1 of xs.
Assert that y > 2.0.
""",
        "2:1",
        "",
        "an assertion depends on run-time values, and a chip has nobody to tell",
        "leave it out, or declare ranges (or an `assume` of the spec) that prove it",
    ),
    "an assertion that is false": (
        FACTS,
        """Let y be item 1 of xs.
Assert that n > m + 2.
""",
        "2:1",
        "",
        "an assertion does not hold: its condition is false whatever the inputs are",
        "mend the condition, or what it is about",
    ),
    "a weight of unknown shape joined": (
        FACTS,
        "Let y be x + xs.\n",
        "1:10",
        "y",
        '+ puts sequences one after the other, and the shape of "x" is not known here',
        JOIN,
    ),
    "numbers joined to rows": (
        FACTS,
        "Let y be xs + kept.\n",
        "1:10",
        "y",
        "+ puts sequences one after the other, and these have items of different shape: numbers and rows of 4",
        JOIN,
    ),
    # ------------------------------------------------ variables of refusals found late
    "in range only under a condition": (
        COUNTED,
        """Let y be 0.0.
Repeat for t from 1 to item 1 of count:
    Set y to y + item (item t of chosen + 1) of xs.
""",
        "3:5",
        "y",
        'an index of "chosen" is in range only under a condition that its statement does not keep',
        "index so that every item of the loop's whole range exists, or read inside a sum, maximum or minimum",
    ),
    "a result of unknown shape": (
        FACTS,
        "Let y be g.\n",
        "1:1",
        "y",
        'the shape of "y" is not known',
        "read its items by indices of known bounds",
    ),
    "a loop that only calls": (
        FACTS,
        """## To mark (t: mutable Seq of (Seq of Float), i: Int):
    Set item 1 of (item i of t) to 0.0.

## Main
Repeat for i from 1 to item 1 of free:
    mark(kept, i).
""",
        "5:1",
        "kept",
        "how often this loop runs has no known limit",
        'declare the range of "free"',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_says_where_what_why_and_what_would_lift(name: str) -> None:
    facts, source, place, binder, why, mend = CASES[name]
    found = lifted(source, facts, ("y",) if "Let y " in source else ())
    assert found.graph is None
    said = [(f"{p.line}:{p.column}", p.binder, p.why, p.mend) for p in found.missing]
    assert said == [(place, binder, why, mend)]


# ---------------------------------------------------------------- what the mends lift to


@pytest.mark.parametrize(
    "source",
    [
        "Let y be xs.\nSet item 2 of y to 0.5.\n",
        "Let y be copy of xs.\nRepeat for i from 2 to n:\n    Set item i of y to 0.5.\n",
        "Let y be copy of xs.\nPush 0.5 to y.\n",
    ],
)
def test_a_copy_of_a_table_may_be_written(source: str) -> None:
    agree(source, FACTS, {"xs": floats(1, 6)})


def test_a_copy_of_a_weight_may_be_written() -> None:
    source = """Let z be copy of x.
Set item 2 of z to 0.5.
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item i of z.
"""
    agree(source, FACTS, {"x": floats(1, 6)})


def test_a_copy_of_state_is_not_the_state() -> None:
    source = """Let z be copy of kept.
Set item 1 of (item 2 of z) to 9.5.
Set item 3 of (item 1 of kept) to 4.5.
Let y be item 1 of (item 2 of z) + item 1 of (item 2 of kept) + item 3 of (item 1 of z).
"""
    agree(source, FACTS, {"kept": floats(1, 6, 4)})


def test_a_flat_table_written_at_a_run_time_row_lifts() -> None:
    source = """Repeat for j from 1 to m:
    Set item (m * item 1 of place + j) of kept to item j of g.
"""
    agree(source, FACTS, {"kept": floats(1, 6, 4), "g": floats(2, 4), "place": np.array([3])}, ())


def test_the_shape_of_a_row_follows_from_the_row_it_is_stored_to() -> None:
    source = "Set item (item 1 of place + 1) of kept to g.\n"
    graph = graph_of(source, FACTS, ())
    assert {t.name: t.dims for t in graph.tensors if t.role == "weight"} == {"g": (4,)}
    agree(source, FACTS, {"kept": floats(1, 6, 4), "g": floats(2, 4), "place": np.array([3])}, (), graph)


def test_a_row_of_a_weight_follows_where_the_table_is_indexed_as_nested_before() -> None:
    source = """Let y be item 1 of (item 2 of kept).
Set item (item 1 of place + 1) of kept to item 2 of w.
"""
    agree(source, FACTS, {"kept": floats(1, 6, 4), "w": floats(2, 2, 4), "place": np.array([3])})


def test_a_row_of_a_weight_follows_from_a_sequence_of_rows() -> None:
    source = """Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to 3:
    Push item i of kept to y.
Repeat for i from 1 to 3:
    Set item i of y to item i of w.
"""
    graph = graph_of(source, FACTS)
    assert [t.dims for t in graph.tensors if t.name == "w"] == [(3, 4)]
    agree(source, FACTS, {"w": floats(1, 3, 4), "kept": floats(2, 6, 4)}, graph=graph)
