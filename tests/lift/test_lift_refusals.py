"""What cannot be lifted is refused with its line and a reason in the user's terms; several at once."""

from __future__ import annotations

import pytest
from lifting import Facts, Table, lifted

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "place": Table((1,), "int", (0, 5)),
        "free": Table((1,), "int"),
        "xs": Table((6,), "float"),
        "kept": Table((6, 4), "float", None, True),
    },
    ("x", "w"),
)

CASES = {
    "a recurrence": (
        """## Main
Let y be n copies of 0.0.
Repeat for i from 2 to n:
    Set item i of y to item (i - 1) of y + item i of x.
""",
        4,
        "another iteration writes: a recurrence",
    ),
    "a recurrence of a scalar": (
        """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y * 0.5 + item i of x.
""",
        4,
        "what it was in the iteration before",
    ),
    "a running place": (
        """## Main
Let y be a new Seq of Int.
Let s be 1.
Repeat for i from 1 to n:
    If item i of x > item s of x:
        Set s to i.
    Push s to y.
""",
        7,
        'running value of "s"',
    ),
    "two scalars that chase each other": (
        """## Main
Let a be 1.
Let y be 1.
Repeat for i from 1 to n:
    Let c be a + y.
    Set a to y.
    Set y to c.
""",
        6,
        'what "y" was in the iteration before',
    ),
    "a full reversal in place": (
        """## Main
Let y be copy of xs.
Repeat for i from 1 to n:
    Set item i of y to item (n + 1 - i) of y.
""",
        4,
        "a recurrence",
    ),
    "a while on data": (
        """## Main
Let y be 1.0.
While y < 100.0:
    Set y to y * 2.0.
""",
        3,
        "depends on values that are computed",
    ),
    "a loop left early": (
        """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If item i of x > 3.0:
        Break.
    Set y to y + item i of x.
""",
        5,
        "leaves a loop early",
    ),
    "an index past the end": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item (i + 1) of xs to y.
""",
        4,
        "it runs from 2 to 7",
    ),
    "an index of zero": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 0 to n - 1:
    Push item i of xs to y.
""",
        4,
        "it may be 0 or negative",
    ),
    "an index one below": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item (i - 2) of xs to y.
""",
        4,
        "it runs from -1 to 4",
    ),
    "an input without a range": (
        """## Main
Let y be item (item 1 of free + 1) of xs.
""",
        2,
        "not proved in range",
    ),
    "a length known only at run time": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to item 1 of place + 1:
    Push item i of xs to y.
""",
        3,
        "a length known only at run time",
    ),
    "past the run-time length": (
        """## Main
Let s be a new Seq of Float.
Repeat for i from 1 to item 1 of place + 1:
    Push item i of xs to s.
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item i of s.
""",
        7,
        "it may exceed a length known at run time",
    ),
    "a loop that may run no time": (
        """## Main
Let best be item 1 of xs.
Let s be a new Seq of Float.
Repeat for i from 1 to item 1 of place - 1:
    Push item i of xs to s.
Let y be length of s.
""",
        5,
        "negative number of times",
    ),
    "a table that is no state": (
        """## Main
Set item 1 of xs to 0.0.
Let y be item 2 of xs.
""",
        2,
        "is no state",
    ),
    "an unknown name": (
        """## Main
Let y be place2.
""",
        2,
        "not bound here",
    ),
    "pushing under a condition": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If item i of x > 0.0:
        Push item i of x to y.
""",
        4,
        "different length",
    ),
    "uneven rows": (
        """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Repeat for j from 1 to i:
        Push item j of x to y.
""",
        5,
        "different number of items",
    ),
    "two kinds in a sequence": (
        """## Main
Let y be a new Seq of Float.
Push 1 to y.
Push 2.0 to y.
""",
        4,
        "Ints and Floats",
    ),
    "writes that coincide": (
        """## Main
Let y be n copies of 0.0.
Repeat for i from 1 to n - 1:
    Set item i of y to item i of x.
    Set item (i + 1) of y to item i of x * 2.0.
""",
        5,
        "may coincide",
    ),
    "one item from several iterations": (
        """## Main
Let y be n copies of 0.0.
Repeat for i from 1 to n:
    Set item (i / 2 + 1) of y to item i of x.
""",
        4,
        "several iterations write the same item",
    ),
    "recursion": (
        """## To f (a: Int) -> Int:
    If a is at most 0:
        Return 0.
    Return f(a - 1) + 1.

## Main
Let y be f(3).
""",
        4,
        '"f" calls itself',
    ),
    "an assertion on data": (
        """## Main
Assert that item 1 of x > 0.0.
Let y be item 1 of x.
""",
        2,
        "assertion",
    ),
    "a table used two ways": (
        """## Main
Let z be item 1 of (item 2 of kept).
Let y be item 20 of kept + z.
""",
        3,
        "is not proved in range",
    ),
    "division by zero": (
        """## Main
Let y be item 1 of x / 0.
""",
        2,
        "division by zero",
    ),
    "an undeclared native": (
        """## Main
Let y be exp(item 1 of x).
""",
        2,
        'no function "exp"',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_its_line_and_reason(name: str) -> None:
    source, line, reason = CASES[name]
    found = lifted(source, FACTS)
    assert found.graph is None
    assert [(m.line, m.file) for m in found.missing] == [(line, "test.lg")], found.missing
    assert reason in found.missing[0].why


def test_several_refusals_at_once() -> None:
    """What a refused statement would have bound is not blamed again."""
    source = """## Main
Let y be n copies of 0.0.
Repeat for i from 2 to n:
    Set item i of y to item (i - 1) of y + item i of x.
Let z be item 9 of xs.
Let after be item 1 of y.
Repeat for i from 1 to n:
    Show i.
"""
    found = lifted(source, FACTS)
    assert [m.line for m in found.missing] == [4, 5, 8]
    assert [m.binder for m in found.missing] == ["y", "z", ""]
    assert all(m.why for m in found.missing)
    assert found.missing[0].mend


def test_a_result_that_is_not_bound() -> None:
    found = lifted("## Main\nLet logit be item 1 of x.\n", FACTS, ("logits",))
    (problem,) = found.missing
    assert 'the result "logits"' in problem.why
    assert problem.mend == 'did you mean "logit"?'


@pytest.mark.parametrize("rest", ["", "Let xs be copy of y.\n"])
def test_a_result_is_no_table_that_is_given(rest: str) -> None:
    found = lifted(f"## Main\nLet y be copy of xs.\nSet item 1 of y to 2.0.\n{rest}", FACTS, ("y", "xs"))
    (missing,) = found.missing
    assert missing.why == 'the result "xs" has the name of an input'
    assert missing.mend == "bind the result to a name of its own" and missing.binder == "xs"


def test_nothing_read_from_outside() -> None:
    found = lifted("## Main\nLet y be item 1 of x.\nLet z be y.\n", FACTS, ())
    assert "read from outside" in found.missing[0].why


def test_an_attempt_that_fails_leaves_no_trace() -> None:
    """A loop tried as a nest and lifted as a block gives what a loop that is a block from the start gives."""
    source = """## Main
Let y be copy of xs.
Let count be 0.
Repeat for step from 1 to 3:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        Push 0.5 * item i of y to next.
    Set y to next.
    Set count to count + 1.
Let z be count.
"""
    found = lifted(source, FACTS, ("y", "z"))
    assert found.graph is not None
    ((_, z),) = [r for r in found.graph.results if r[0] == "z"]
    assert found.graph.tensors[z].fill is not None or found.graph.tensors[z].range == (3, 3)
