"""Variables that remember: the place of the best, what was found first or last, and what the first iteration sets."""

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
        "one": Table((1,), "int", (1, N)),
    },
)


def given(count: int, seed: int) -> dict[str, Array]:
    """Inputs; of an odd seed whole numbers, many of them equal."""
    return {
        "x": floats(seed, N).round(0 if seed % 2 else 9),
        "z": floats(seed + 10, N),
        "q": ints(seed, -2, 2, N),
        "grid": floats(seed + 20, M, N).round(0 if seed % 2 else 9),
        "count": np.array([count]),
        "one": np.array([max(count, 1)]),
    }


def held(source: str) -> None:
    graph = graph_of(source, FACTS)
    for count in (0, 1, 3, N):
        for seed in range(6):
            agree(source, FACTS, given(count, seed), graph=graph)


LIFTED = {
    "the place of each row's best": """## Main
Let y be a new Seq of Int.
Repeat for r from 1 to m:
    Let best be item 1 of (item r of grid).
    Let place be 1.
    Repeat for i from 2 to n:
        If item i of (item r of grid) > best:
            Set best to item i of (item r of grid).
            Set place to i.
    Push place to y.
""",
    "a place that is its own best": """## Main
Let y be 1.
Repeat for i from 2 to n:
    If item i of x > item y of x:
        Set y to i.
""",
    "the last place of the least, by itself": """## Main
Let y be 1.
Repeat for i from 2 to n:
    If item i of x <= item y of x:
        Set y to i.
""",
    "a best from far below, no place": """## Main
Let y be 0.
Let best be 0.0 - 1.0e30.
Repeat for i from 1 to n:
    If item i of x > best:
        Set best to item i of x.
        Set y to i.
""",
    "a best from far below, the first place": """## Main
Let y be 1.
Let best be 0.0 - 1.0e30.
Repeat for i from 1 to n:
    If item i of x > best:
        Set best to item i of x.
        Set y to i.
""",
    "Ints from below their range": """## Main
Let y be 1.
Let best be 0 - 100.
Repeat for i from 1 to n:
    If item i of q > best:
        Set best to item i of q.
        Set y to i.
""",
    "up to a run-time place, the first before": """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to item 1 of one:
    If item i of x > best:
        Set best to item i of x.
        Set y to i.
""",
    "the best of products, the first before": """## Main
Let y be 1.
Let best be 0.0.
Repeat for j from 1 to n:
    Set best to best + item j of (item 1 of grid) * item j of x.
Repeat for i from 2 to m:
    Let c be 0.0.
    Repeat for j from 1 to n:
        Set c to c + item j of (item i of grid) * item j of x.
    If c > best:
        Set best to c.
        Set y to i.
""",
    "the best of products": """## Main
Let y be 1.
Let best be 0.0 - 1.0e30.
Repeat for i from 1 to m:
    Let c be 0.0.
    Repeat for j from 1 to n:
        Set c to c + item j of (item i of grid) * item j of x.
    If c > best:
        Set best to c.
        Set y to i.
""",
    "the first item that is the maximum, once set": """## Main
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
Let y be 0.
Repeat for i from 1 to n:
    If item i of x == best and y == 0:
        Set y to i.
""",
    "the last item that is the maximum": """## Main
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
Let y be 0.
Repeat for i from 1 to n:
    If item i of x == best:
        Set y to i.
""",
    "the least place of the maximum": """## Main
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
Let y be n.
Repeat for i from 1 to n:
    If item i of x == best:
        Set y to min(y, i).
""",
    "the first item that is the maximum, from the end": """## Main
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
Let y be n.
Let i be n.
While i is at least 1:
    If item i of x == best:
        Set y to i.
    Set i to i - 1.
""",
    "a best, its place and another item there": """## Main
Let place be 1.
Let best be item 1 of x.
Let other be item 1 of z.
Repeat for i from 2 to n:
    If item i of x > best:
        Set other to item i of z.
        Set best to item i of x.
        Set place to i.
Let y be other + place + best.
""",
    "the best of two loops, from its first item": """## Main
Let best be item 1 of (item 1 of grid).
Let y be 0.
Repeat for r from 1 to m:
    Repeat for i from 1 to n:
        If item i of (item r of grid) > best:
            Set best to item i of (item r of grid).
            Set y to (r - 1) * n + i - 1.
""",
    "the best of two loops, two places": """## Main
Let best be item 1 of (item 1 of grid).
Let a be 1.
Let b be 1.
Repeat for r from 1 to m:
    Repeat for i from 1 to n:
        If item i of (item r of grid) > best:
            Set best to item i of (item r of grid).
            Set a to r.
            Set b to i.
Let y be a * 10 + b.
""",
    "the first item taken by itself": """## Main
Let best be 0.0.
Let y be 0.
Repeat for i from 1 to n:
    If i == 1 or item i of x > best:
        Set best to item i of x.
        Set y to i.
""",
    "the best of some": """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to n:
    If item i of q > 0:
        If item i of x > best:
            Set best to item i of x.
            Set y to i.
""",
    "the best of some, one condition": """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to n:
    If item i of q > 0 and item i of x > best:
        Set best to item i of x.
        Set y to i.
""",
    "a place compared before the maximum": """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to n:
    If item i of x > best:
        Set y to i.
    Set best to max(best, item i of x).
""",
    "a place where the maximum is the item": """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to n:
    Set best to max(best, item i of x).
    If best == item i of x:
        Set y to i.
""",
    "the first item taken on a branch of its own": """## Main
Let best be 0.0.
Let y be 0.
Repeat for i from 1 to n:
    If i == 1:
        Set best to item i of x.
        Set y to i.
    Otherwise:
        If item i of x > best:
            Set best to item i of x.
            Set y to i.
""",
    "a sum whose first item is set": """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If i equals 1:
        Set y to item i of x.
    Otherwise:
        Set y to y + item i of x.
""",
    "a maximum whose first item is set": """## Main
Let y be 0.0.
Repeat for i from 1 to item 1 of one:
    If i > 1:
        Set y to max(y, item i of x).
    Otherwise:
        Set y to item i of x.
""",
    "a place that is its own best, the first set": """## Main
Let y be 0.
Repeat for i from 1 to n:
    If i == 1 or item i of x > item y of x:
        Set y to i.
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_what_a_loop_remembers_lifts(name: str) -> None:
    held(LIFTED[name])


COMPARED = [n for n, source in LIFTED.items() if " > " in source and "of some" not in n and "compared before" not in n]


@pytest.mark.parametrize("name", [n for n in COMPARED if "If i > 1" not in LIFTED[n]])
@pytest.mark.parametrize("other", [" >= ", " < ", " <= "])
def test_equal_terms_go_to_the_first_or_the_last_as_compared(name: str, other: str) -> None:
    held(LIFTED[name].replace(" > ", other))


@pytest.mark.parametrize("name", [n for n in LIFTED if "of some" in n])
def test_the_last_of_some_that_may_all_be_missing_is_refused(name: str) -> None:
    source = LIFTED[name].replace("item i of x >", "item i of x >=")
    (missing,) = lifted(source, FACTS).missing
    assert "may all be missing" in missing.why


BEST = """## Main
Let y be 1.
Let best be item 1 of x.
Repeat for i from 2 to n:
    If item i of x > best:
        Set best to item i of x.
        Set y to i.
"""
OWN = """## Main
Let y be 1.
Repeat for i from 2 to n:
    If item i of x > item y of x:
        Set y to i.
"""
FOUND = """## Main
Let y be 0.
Repeat for i from 1 to n:
    If item i of x > 0.5 and y equals 0:
        Set y to i.
"""
REFUSED = {
    "the best of other items": BEST.replace("Set best to item i of x", "Set best to item i of z"),
    "a margin": BEST.replace("> best:", "> best + 0.5:"),
    "a place that doubles": BEST.replace("Set y to i.", "Set y to 2 * y + i."),
    "a place under more than the best": BEST.replace(
        "        Set y to i.", "        If y > 1:\n            Set y to i."
    ),
    "the least beside a maximum": LIFTED["a place compared before the maximum"].replace(" > ", " < "),
    "a best that does not move": BEST.replace(
        "        Set best to item i of x.\n", "        Set best to best - 1.0.\n"
    ),
    "what stands at another place": OWN.replace("If item i of x > item y", "If item i of z > item y"),
    "what stands beside": OWN.replace("item y of x", "item (max(y - 1, 1)) of x"),
    "a first that may be set to what it starts as": FOUND.replace("Set y to i", "Set y to i - 1"),
    "a first told by something else": FOUND.replace("y equals 0", "y < 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_looks_like_a_place_is_refused(name: str) -> None:
    found = lifted(REFUSED[name], FACTS)
    assert found.graph is None
    assert any("iteration" in m.why or "index" in m.why for m in found.missing)


CHANGED = {
    "the least for the best": BEST.replace("> best", "< best"),
    "another start": BEST.replace("Let best be item 1 of x", "Let best be item 2 of x"),
    "another first place": BEST.replace("Let y be 1", "Let y be 5"),
    "another place": BEST.replace("Set y to i", "Set y to i - 1"),
    "an item for a place": BEST.replace("Let y be 1.", "Let y be item 1 of q.").replace("to i.", "to item i of q."),
    "one item fewer": BEST.replace("to n:", "to n - 1:"),
    "a first item set": BEST.replace("    If item", "    If i equals 2 or item"),
    "the first that is more": FOUND,
    "the last that is more": FOUND.replace(" and y equals 0", ""),
    "the first from another start": FOUND.replace("Let y be 0.", "Let y be 9.").replace("equals 0", "equals 9"),
    "the first item that is more": FOUND.replace("y be 0", "y be 0 - 99")
    .replace("y equals 0", "y equals 0 - 99")
    .replace("Set y to i", "Set y to item i of q"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_place_is_what_the_program_says(name: str) -> None:
    graph = graph_of(CHANGED[name], FACTS)
    assert graph not in (graph_of(BEST, FACTS), graph_of(OWN, FACTS))
    held(CHANGED[name])


def test_a_place_that_the_first_iteration_compares_is_not_one_that_it_sets() -> None:
    apart = """## Main
Let best be 1.0.
Let y be 0.
Repeat for i from 1 to n:
    If item i of x > best:
        Set y to i.
    If i equals 1 or item i of x > best:
        Set best to item i of x.
"""
    assert lifted(apart, FACTS).graph is None
