"""Programs of many kinds: each graph computes what the interpreter says, results, state and lines shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifting import Array, Facts, Table, agree, floats, graph_of, ints, lifted

from spatial.ir.graph import Block

SIZES = {"n": 6, "m": 4}
TABLES = {
    "place": Table((1,), "int", (0, 5)),
    "q": Table((6,), "int", (-9, 9)),
    "pick": Table((6,), "int", (1, 6)),
    "grid": Table((6, 4), "int", (-5, 5)),
    "kept": Table((6, 4), "float", None, True),
    "counts": Table((6,), "int", (0, 100), True),
    "xs": Table((6,), "float"),
}
FACTS = Facts(SIZES, TABLES, ("x", "w"))
WEIGHTS = {"x": (6,), "w": (6, 4)}


def given_for(place: int = 2, seed: int = 1) -> dict[str, Array]:
    return {
        "place": np.array([place]),
        "q": ints(seed, -9, 9, 6),
        "pick": ints(seed + 1, 1, 6, 6),
        "grid": ints(seed + 2, -5, 5, 6, 4),
        "kept": floats(seed + 3, 6, 4),
        "counts": ints(seed + 4, 0, 100, 6),
        "xs": floats(seed + 5, 6),
        **{name: floats(seed + 6 + n, *shape) for n, (name, shape) in enumerate(WEIGHTS.items())},
    }


SOURCES = {
    "sums of groups": """## Main
Let y be 2 copies of 0.0.
Repeat for i from 0 to 5:
    Set item (i / 3 + 1) of y to item (i / 3 + 1) of y + item (i + 1) of x.
""",
    "sums of groups, interleaved": """## Main
Let y be 3 copies of 0.0.
Repeat for i from 0 to 5:
    Set item (i % 3 + 1) of y to item (i % 3 + 1) of y + item (i + 1) of x.
""",
    "reversed in place": """## Main
Let y be copy of xs.
Repeat for i from 1 to n / 2:
    Let a be item i of y.
    Set item i of y to item (n + 1 - i) of y.
    Set item (n + 1 - i) of y to a.
""",
    "from the end": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item (0 - i) of xs to y.
""",
    "a window": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n - 2:
    Let s be 0.0.
    Repeat for j from 0 to 2:
        Set s to s + item (i + j) of xs * item (j + 1) of x.
    Push s to y.
""",
    "transposed": """## Main
Let y be a new Seq of (Seq of Float).
Repeat for j from 1 to m:
    Let row be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item j of (item i of w) to row.
    Push row to y.
""",
    "a gather": """## Main
Let y be a new Seq of (Seq of Int).
Repeat for i from 1 to n:
    Push item (item i of pick) of grid to y.
""",
    "a gather in a sum": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item (item i of pick) of xs * item i of x.
""",
    "a computed index": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let j be min(item i of pick + item 1 of place, n).
    Push item j of xs to y.
""",
    "the last write shows": """## Main
Repeat for i from 1 to n:
    Set item (item i of pick) of counts to i.
Let y be item 3 of counts.
""",
    "a row of state": """## Main
Repeat for j from 1 to m:
    Set item j of (item (item 1 of place + 1) of kept) to item j of (item 1 of w).
Let y be 0.0.
Repeat for t from 1 to item 1 of place + 1:
    Set y to y + item 2 of (item t of kept).
""",
    "a row of state, whole": """## Main
Let row be a new Seq of Float.
Repeat for j from 1 to m:
    Push item j of (item 1 of w) * 2.0 to row.
Set item (item 1 of place + 1) of kept to row.
Let y be item 2 of (item 1 of kept).
""",
    "flat state": """## Main
Repeat for j from 1 to m:
    Set item (m * item 1 of place + j) of kept to item j of (item 1 of w).
Let y be item 3 of kept + item 24 of kept.
""",
    "guarded writes": """## Main
Repeat for i from 1 to item 1 of place + 1:
    Repeat for j from 1 to m:
        Set item j of (item i of kept) to 0.5 * item j of (item i of kept).
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item 1 of (item i of kept).
""",
    "a choice": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    If item i of xs > 0.0:
        Push item i of xs to y.
    Otherwise:
        Push 0.1 * item i of xs to y.
""",
    "a choice by a function": """## To leaky (z: Float) -> Float:
    If z > 0.0:
        Return z.
    Return 0.1 * z.

## Main
Let y be a new Seq of Float.
Repeat for z in xs:
    Push leaky(z) to y.
""",
    "a conditional write": """## Main
Let y be n copies of 1.5.
Repeat for i from 1 to n:
    If item i of q > 0:
        Set item i of y to item i of xs.
""",
    "a mask over places": """## Main
Let y be a new Seq of Int.
Repeat for i from 1 to n:
    If i % 2 is 0:
        Push 0 - item i of q to y.
    Otherwise:
        Push item i of q to y.
""",
    "integers": """## Main
Let y be a new Seq of Int.
Repeat for i from 1 to n:
    Let total be 0.
    Repeat for j from 1 to m:
        Set total to total + item j of (item i of grid) * item i of q - 3.
    Push total // 4 + total % 5 to y.
""",
    "a maximum of terms that may all be missing": """## Main
Let y be item 2 of xs.
Repeat for i from 3 to item 1 of place + 1:
    Set y to max(y, item i of xs).
""",
    "a sum whose first term stands outside": """## Main
Let y be item 2 of xs * item 2 of x.
Repeat for i from 3 to item 1 of place + 1:
    Set y to y + item i of xs * item i of x.
""",
    "a count under a condition": """## Main
Let y be 0.
Repeat for i from 1 to n:
    If item i of q > 2 and item i of q is not 5:
        Set y to y + 1.
""",
    "extremes": """## Main
Let high be item 1 of xs.
Let low be 100.0.
Repeat for i from 1 to n:
    Set high to max(high, item i of xs).
    If item i of xs < low:
        Set low to item i of xs.
Let y be high - low.
""",
    "the last place of the least": """## Main
Let least be item 1 of q.
Let y be 1.
Repeat for i from 1 to n:
    If item i of q <= least:
        Set least to item i of q.
        Set y to i.
""",
    "a product of items": """## Main
Let y be 1.0.
Repeat for i from 1 to n:
    Set y to y * item i of xs.
""",
    "differences": """## Main
Let y be 10.0.
Repeat for i from 1 to n:
    Set y to y - item i of xs * item i of x.
""",
    "counting down": """## Main
Let y be a new Seq of Float.
Let i be n.
While i > 0:
    Push item i of xs to y.
    Set i to i - 1.
""",
    "joined and sliced": """## Main
Let y be items 2 through 4 of xs + [1.5, 2.5].
""",
    "items from 0": """## Main
Let y be (items 0 through 2 of xs) + (items (1 - 1) through 1 of xs).
""",
    "items of which there are none": """## Main
Let rest be items (n + 1) through n of xs.
Let y be (items 3 through 2 of xs) followed by xs followed by rest.
Repeat for v in rest:
    Push v to y.
Push 1.0 * length of rest to y.
""",
    "rows of which there are none": """## Main
Let y be a new Seq of Float.
Repeat for row in (items 2 through 1 of kept) followed by kept followed by (items 5 through 4 of kept):
    Push item 2 of row to y.
""",
    "a nest of lists": """## Main
Let y be a new Seq of (Seq of Float).
Repeat for i from 1 to 3:
    Push [item i of xs, 0.5, item (i + 1) of xs] to y.
""",
    "steps carried whole": """## Main
Let y be copy of xs.
Repeat for step from 1 to 5:
    Let next be a new Seq of Float.
    Repeat for i from 1 to n:
        Push 0.5 * item i of y + 0.25 * item (i % n + 1) of y to next.
    Set y to next.
""",
    "two carried, exchanged": """## Main
Let a be copy of xs.
Let b be copy of x.
Repeat for step from 1 to 3:
    Let c be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item i of a + 0.5 * item i of b to c.
    Set a to b.
    Set b to c.
Let y be b.
""",
    "a triangular sum": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let s be 0.0.
    Repeat for j from 1 to i:
        Set s to s + item j of xs.
    Push s to y.
""",
    "a table of the loop": """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push sqrt(i + 0.0) * item i of xs to y.
""",
    "rows and columns at once": """## Main
Let rows be a new Seq of Float.
Let y be m copies of 0.0.
Repeat for i from 1 to n:
    Let s be 0.0.
    Repeat for j from 1 to m:
        Set s to s + item j of (item i of w).
        Set item j of y to item j of y + item j of (item i of w).
    Push s to rows.
Repeat for j from 1 to m:
    Set item j of y to item j of y - item j of rows.
""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_program_computes_what_the_interpreter_says(name: str) -> None:
    graph = graph_of(SOURCES[name], FACTS)
    for place in (0, 3, 5):
        shapes = {t.name: t.dims for t in graph.tensors if t.name}
        inputs = {
            name: value[tuple(slice(0, d) for d in shapes[name])]  # a weight is as large as it is read
            for name, value in given_for(place, 10 + place).items()
            if name in shapes
        }
        agree(SOURCES[name], FACTS, inputs, graph=graph)


@pytest.mark.parametrize("name", ["steps carried whole", "two carried, exchanged"])
def test_what_hands_whole_tensors_on_is_a_block(name: str) -> None:
    graph = graph_of(SOURCES[name], FACTS)
    assert any(isinstance(n, Block) for n in graph.nodes)


@pytest.mark.parametrize("name", [n for n in SOURCES if "carried" not in n])
def test_what_is_a_nest_is_no_block(name: str) -> None:
    assert not any(isinstance(n, Block) for n in graph_of(SOURCES[name], FACTS).nodes)


SHOWN = """## Main
Let best be item 1 of q.
Let ahead be 1.
Repeat for i from 2 to n:
    If item i of q > best:
        Set best to item i of q.
        Set ahead to i.
Show "ahead: " + ahead + " of " + n.
Show ahead.
"""


def test_shown_lines() -> None:
    graph = agree(SHOWN, FACTS, {"q": ints(3, -9, 9, 6)}, ())
    assert len(graph.shows) == 2
    first, second = graph.shows
    assert first.parts[0] == "ahead: "
    assert first.parts[-1] == " of 6"
    assert first.parts[1] == second.parts[0]


ZEROS = {
    "products of zero": "Set y to y - max(item i of xs, 5.0) * 0.0.",
    "terms": "Set y to y - item i of xs.",
    "negative zeros": "Set y to y - max(item i of xs, 5.0) * -0.0.",
}


@pytest.mark.parametrize("start", ("0.0", "0"))
@pytest.mark.parametrize("name", ZEROS)
def test_what_is_taken_from_zero_is_shown_with_its_sign(name: str, start: str) -> None:
    source = f"## Main\nLet y be {start}.\nRepeat for i from 1 to n:\n    {ZEROS[name]}\nShow y.\n"
    agree(source, FACTS, {"xs": np.zeros(6)})


@pytest.mark.parametrize(
    ("last", "change"),
    (("item 1 of place", "Set y to y - item i of xs."), ("n", "If item i of xs > 9.0:\n        Set y to y - 1.0.")),
)
def test_what_no_iteration_takes_from_zero_is_zero(last: str, change: str) -> None:
    source = f"## Main\nLet y be 0.0.\nRepeat for i from 1 to {last}:\n    {change}\nShow y.\n"
    agree(source, FACTS, {"xs": np.ones(6), "place": np.array([0])})


QUOTIENTS = {
    "set in the last": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If i == n:
        Set y to 1.0.
    Otherwise:
        Set y to item i of xs / (n - i).
""",
    "set in all but the last": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If i < n:
        Set y to item i of xs / (n - i).
    Otherwise:
        Set y to item i of xs * 2.0.
""",
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_a_quotient_that_the_last_iteration_does_not_take(name: str) -> None:
    agree(QUOTIENTS[name], FACTS, {"xs": floats(3, 6)})


@pytest.mark.parametrize("rest", ["max(y, item i of xs / (i - 1))", "y + item i of xs / (i - 1)"])
def test_a_quotient_that_the_first_iteration_does_not_take(rest: str) -> None:
    source = f"""## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If i == 1:
        Set y to item 1 of xs.
    Otherwise:
        Set y to {rest}.
"""
    (missing,) = lifted(source, FACTS).missing
    assert "from what it was in the iteration before" in missing.why
    (missing,) = lifted(source.replace("(i - 1)", "(n - n)"), FACTS).missing
    assert missing.why == "division by zero"


PRODUCT = """## Main
Let y be a new Seq of (Seq of Int).
Repeat for i from 1 to n:
    Let row be a new Seq of Int.
    Repeat for j from 1 to m:
        Let total be 0.
        Repeat for k from 1 to depth:
            Set total to total + item k of (item i of a) * item j of (item k of b).
        Push total to row.
    Push row to y.
"""


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_products_of_any_size(n: int, m: int, depth: int, seed: int) -> None:
    """Extents of one are boxes like any other."""
    tables = {"a": Table((n, depth), "int", (-50, 50)), "b": Table((depth, m), "int", (-50, 50))}
    facts = Facts({"n": n, "m": m, "depth": depth}, tables)
    inputs = {"a": ints(seed, -50, 50, n, depth), "b": ints(seed + 1, -50, 50, depth, m)}
    graph = agree(PRODUCT, facts, inputs)
    ((_, y),) = graph.results
    assert graph.tensors[y].range == (-2500 * depth, 2500 * depth)
