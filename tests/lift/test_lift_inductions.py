"""What has a form in every iteration: counters, swings, exact steps, what the one before was given, what is reset."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Array, Facts, Table, agree, floats, graph_of, ints, lifted

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


def given(count: int, seed: int) -> dict[str, Array]:
    return {
        "x": floats(seed, N),
        "z": floats(seed + 10, N),
        "q": ints(seed, -9, 9, N),
        "grid": floats(seed + 20, M, N),
        "count": np.array([count]),
    }


def held(source: str) -> None:
    graph = graph_of(source, FACTS)
    for count in (0, 1, 3, N):
        for seed in range(3):
            agree(source, FACTS, given(count, seed), graph=graph)


def carried(entry: str, use: str, update: str, seq: str = "Float", last: str = "n") -> str:
    return f"""## Main
Let k be {entry}.
Let y be a new Seq of {seq}.
Repeat for i from 1 to {last}:
    Push {use} to y.
    {update}
"""


FORMS = {
    "a step that grows": carried("0", "k", "Set k to k + i.", "Int"),
    "a step that falls": carried("5", "k * item i of x", "Set k to k - 2 * i + 3."),
    "an index whose step grows": carried("1", "item k of x", "Set k to k + i.", last="3"),
    "a sign": carried("1.0", "k * item i of x", "Set k to 0.0 - k."),
    "an Int sign": carried("1", "k * item i of q", "Set k to 0 - k.", "Int"),
    "one of two places": carried("1", "item k of x", "Set k to 3 - k."),
    "tenths, which round": carried("0.0", "k", "Set k to k + 0.1."),
    "powers that round": carried("1.0", "k", "Set k to k * 0.1."),
    "a step that is data": carried("0", "k", "Set k to k + item i of q.", "Int"),
    "halves": carried("1.0", "k * item i of x", "Set k to k * 0.5."),
    "steps of a half": carried("0.0", "k * item i of x", "Set k to k + 0.5."),
    "the item before": carried("0.0", "item i of x - k", "Set k to item i of x."),
    "the item before, from the first": carried("item 1 of x", "item i of x - k", "Set k to item i of x."),
    "two items before": carried("0.0", "item i of x - k", "Set k to b4.\n    Set b4 to item i of x.").replace(
        "Let k", "Let b4 be 1.0.\nLet k"
    ),
    "the number before": carried("9", "k", "Set k to i * i.", "Int"),
    "a power": "## Main\nLet y be 3.\nRepeat for i from 1 to n:\n    Set y to y * 2.\n",
    "a power under a condition": (
        "## Main\nLet y be 3.\nRepeat for i from 1 to n:\n    If item i of q > 0:\n        Set y to y * 2.\n"
    ),
    "a sum of a sign": """## Main
Let y be 0.0.
Let sign be 1.0.
Repeat for i from 1 to item 1 of count:
    Set y to y + sign * item i of x.
    Set sign to 0.0 - sign.
""",
    "every second item": """## Main
Let y be 0.0.
Let odd be 1.
Repeat for i from 1 to n:
    If odd equals 1:
        Set y to y + item i of x.
    Set odd to 1 - odd.
""",
    "a triangular count of a run-time loop": """## Main
Let y be 2.
Repeat for i from 1 to item 1 of count:
    Set y to y + 3 * i - 1.
""",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_known_form_is_no_recurrence(name: str) -> None:
    held(FORMS[name])


ROWS = """## Main
Let y be a new Seq of Float.
{before}Repeat for r from 1 to m:
{body}"""
RESET = {
    "a sum": ROWS.format(
        before="Let s be 0.0.\n",
        body="""    Repeat for c from 1 to n:
        Set s to s + item c of (item r of grid).
    Push s to y.
    Set s to 0.0.
""",
    ),
    "a counter": ROWS.format(
        before="Let c be 1.\n",
        body="""    Let s be 0.0.
    While c is at most n:
        Set s to s + item c of (item r of grid).
        Set c to c + 1.
    Push s to y.
    Set c to 1.
""",
    ),
    "sums, made anew": ROWS.format(
        before="Let acc be n copies of 0.0.\n",
        body="""    Repeat for c from 1 to n:
        Set item c of acc to item c of acc + item c of (item r of grid) * item c of x.
    Let s be 0.0.
    Repeat for c from 1 to n:
        Set s to s + item c of acc.
    Push s to y.
    Set acc to n copies of 0.0.
""",
    ),
    "sums, item by item": ROWS.format(
        before="Let acc be n copies of 0.0.\n",
        body="""    Repeat for c from 1 to n:
        Set item c of acc to item c of acc + item c of (item r of grid) * item c of x.
    Push item 2 of acc to y.
    Repeat for c from 1 to n:
        Set item c of acc to 0.0.
""",
    ),
}


@pytest.mark.parametrize("name", RESET)
def test_what_is_set_back_at_the_end_of_an_iteration_starts_each(name: str) -> None:
    held(RESET[name])


def test_a_sum_set_back_at_the_end_is_the_sum_that_starts_anew() -> None:
    inside = (
        RESET["a sum"]
        .replace("    Set s to 0.0.\n", "")
        .replace("    Repeat for c", "    Let s be 0.0.\n    Repeat for c")
    )
    assert graph_of(RESET["a sum"], FACTS) == graph_of(
        inside.replace("Let s be 0.0.\nRepeat for r", "Repeat for r"), FACTS
    )


REFUSED = {
    "a decay": carried("1.0", "k", "Set k to k * 0.5 + item i of x."),
    "two that chase each other": carried("0", "k", "Let c be a + k.\n    Set k to a.\n    Set a to c.", "Int").replace(
        "Let k", "Let a be 1.\nLet k"
    ),
    "a swing that does not come back": carried("2.0", "k", "Set k to 1.0 - 0.5 * k."),
    "a sum set back to something else": RESET["a sum"].replace("Set s to 0.0.", "Set s to 0.5 * s."),
    "a counter set back by what it was": RESET["a counter"].replace("    Set c to 1.", "    Set c to c - n."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_known_form_is_refused(name: str) -> None:
    found = lifted(REFUSED[name], FACTS)
    assert found.graph is None
    assert any("in every iteration" in m.why or "iteration before" in m.why or "limit" in m.why for m in found.missing)


CHANGED = {
    "another start than the reset": RESET["a sum"].replace("Let s be 0.0", "Let s be 1.0"),
    "a reset under a condition": RESET["a sum"].replace("    Set s to 0.0.", "    If r < 9:\n        Set s to 0.0."),
    "a first item before": FORMS["the item before"].replace("Let k be 0.0", "Let k be item 2 of x"),
    "a sign that starts turned": FORMS["a sum of a sign"].replace("sign be 1.0", "sign be 0.0 - 1.0"),
    "quarters": FORMS["halves"].replace("0.5", "0.25"),
    "another counter": RESET["a counter"].replace("Let c be 1.", "Let c be 2.").replace("Set c to 1.", "Set c to 2."),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_form_is_what_the_program_says(name: str) -> None:
    held(CHANGED[name])


MOMENTS = """## Main
Let mu be 0.0.
Let m2 be 0.0.
Repeat for i from 1 to n:
    Let d be item i of x - mu.
    Set mu to mu + d / i.
    Set m2 to m2 + d * (item i of x - mu).
Let y be m2 / n.
"""


def test_a_mean_that_every_item_corrects_is_refused_and_two_sums_lift() -> None:
    (missing,) = [m for m in lifted(MOMENTS, FACTS).missing if m.binder == "mu"]
    assert missing.why == '"mu" is computed from what it was in the iteration before: a recurrence'
    assert "divide after the loop" in missing.mend
    held("""## Main
Let s be 0.0.
Let t be 0.0.
Repeat for e in x:
    Set s to s + e.
    Set t to t + e * e.
Let y be t / n - s / n * (s / n).
""")
