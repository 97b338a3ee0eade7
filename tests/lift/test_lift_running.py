"""Sums that one pass keeps relative to a running maximum: the online softmax, and the online attention row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, lifted

from spatial.logos.interpret import interpret
from spatial.logos.parser import parse

N, M = 6, 4
FACTS = Facts(
    {"n": N, "m": M},
    {
        "x": Table((N,), "float"),
        "z": Table((N,), "float"),
        "v": Table((N, M), "float"),
        "grid": Table((M, N), "float"),
        "count": Table((1,), "int", (0, N)),
    },
)
HEAD = "## To native exp (x: Float) -> Float\n## Main\n"
FIRST = "item 1 of x"
LOW = "0.0 - 1.0e30"


def given(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs; of seed 0 whole numbers, many of them equal."""
    x = floats(seed, N) * 3 if seed else np.array([1.0, 2.0, 2.0, 0.0, 2.0, 1.0])
    return {
        "x": x,
        "z": floats(seed + 1, N),
        "v": floats(seed + 2, N, M),
        "grid": floats(seed + 3, M, N),
        "count": np.array([count]),
    }


def two_passes(best: str, first: str, last: str, weight: str = "exp(item i of x - best)") -> str:
    return f"""{HEAD}Let best be {best}.
Repeat for i from {first} to {last}:
    Set best to max(best, item i of x).
Let y be 0.0.
Repeat for i from 1 to {last}:
    Set y to y + {weight}.
"""


def one_pass(best: str, whole: str, first: str, last: str, body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"{HEAD}Let best be {best}.\nLet y be {whole}.\nRepeat for i from {first} to {last}:\n{lines}"


UPDATES = {
    "the next maximum first": """
Let u be item i of x.
Let next be max(best, u).
Set y to y * exp(best - next) + exp(u - next).
Set best to next.
""",
    "the old maximum kept": """
Let old be best.
Set best to max(item i of x, best).
Set y to exp(item i of x - best) + exp(old - best) * y.
""",
    "both branches": """
Let u be item i of x.
If u > best:
    Set y to y * exp(best - u) + 1.0.
    Set best to u.
Otherwise:
    Set y to y + exp(u - best).
""",
    "branches the other way round": """
Let u be item i of x.
If u is at most best:
    Set y to y + exp(u - best).
Otherwise:
    Set y to 1.0 + y * exp(best - u).
    Set best to u.
""",
    "rescaled by a branch, then added": """
Let u be item i of x.
If u >= best:
    Set y to y * exp(best - u).
    Set best to u.
Set y to y + exp(u - best).
""",
    "a factor that is mostly 1": """
Let u be item i of x.
Let fade be 1.0.
If u > best:
    Set fade to exp(best - u).
    Set best to u.
Let share be exp(u - best).
Set y to y * fade + share.
""",
    "two statements": """
Let next be best.
If next < item i of x:
    Set next to item i of x.
Set y to exp(best - next) * y.
Set best to next.
Set y to y + exp(item i of x - best).
""",
}


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize(
    ("best", "whole", "first", "last"),
    [
        (FIRST, "1.0", "2", "n"),
        (FIRST, "0.0", "1", "n"),
        (LOW, "0.0", "1", "n"),
        (LOW, "0.0", "1", "item 1 of count"),
        ("0.0 - 1.0e308 * 10.0", "0.0", "1", "n"),
    ],
)
def test_one_pass_is_the_graph_of_two(update: str, best: str, whole: str, first: str, last: str) -> None:
    source = one_pass(best, whole, first, last, UPDATES[update])
    graph = graph_of(source, FACTS)
    assert graph == graph_of(two_passes(best, first, last), FACTS)
    for count in (0, 1, N):
        for seed in (0, 1, 2):
            agree(source, FACTS, given(count, seed), graph=graph)


def test_guards_are_those_of_two_passes() -> None:
    two = two_passes(LOW, "1", "item 1 of count")
    update = UPDATES["both branches"].strip().replace("\n", "\n    ")
    whole = one_pass(LOW, "0.0", "1", "n", f"If i is at most item 1 of count:\n    {update}")
    hoisted = one_pass(
        LOW,
        "0.0",
        "1",
        "n",
        """
Let fade be 1.0.
Let share be 0.0.
If i is at most item 1 of count:
    Let next be max(best, item i of x).
    Set fade to exp(best - next).
    Set share to exp(item i of x - next).
    Set best to next.
Set y to y * fade + share.
""",
    )
    assert graph_of(whole, FACTS) == graph_of(hoisted, FACTS) == graph_of(two, FACTS)


MORE = {
    "a sum that starts as something": one_pass(FIRST, "item 2 of z", "1", "n", UPDATES["both branches"]),
    "two sums, one that falls, exponents scaled": HEAD
    + """Let best be item 1 of x.
Let a be 2.5.
Let b be item 2 of z.
Repeat for i from 1 to n:
    Let u be item i of x.
    Let old be best.
    Set best to max(best, u).
    Let fade be exp((old - best) * 0.5).
    Set a to a * fade - exp((u - best) * 0.5) * item i of z.
    Set b to b * fade + exp(0.5 * (item i of z - best)).
Let y be a * b + best.
""",
    "relative to a minimum": HEAD
    + """Let least be item 1 of x.
Let y be 1.0.
Repeat for i from 2 to n:
    Let old be least.
    Set least to min(least, item i of x).
    Set y to exp(least - item i of x) + y * exp(least - old).
""",
    "a loop in a loop": HEAD
    + """Let best be 0.0 - 1.0e30.
Let y be 0.0.
Repeat for b from 1 to m:
    Repeat for j from 1 to item 1 of count:
        Let next be max(best, item j of (item b of grid)).
        Set y to y * exp(best - next) + exp(item j of (item b of grid) - next).
        Set best to next.
""",
    "block by block": HEAD
    + """Let best be 0.0 - 1.0e30.
Let y be 0.0.
Repeat for b from 0 to 1:
    Let high be item (3 * b + 1) of x.
    Repeat for j from 2 to 3:
        Set high to max(high, item (3 * b + j) of x).
    Let next be max(best, high).
    Set y to y * exp(best - next).
    Repeat for j from 1 to 3:
        Set y to y + exp(item (3 * b + j) of x - next) * item (3 * b + j) of z.
    Set best to next.
""",
    "two terms an iteration": HEAD
    + """Let best be 0.0 - 1.0e30.
Let y be 0.0.
Repeat for b from 1 to n / 2:
    Let u be item (2 * b - 1) of x.
    Let w be item (2 * b) of x.
    Let next be max(max(best, u), w).
    Set y to y * exp(best - next) + exp(u - next) + exp(w - next).
    Set best to next.
""",
    "terms that a mask leaves out": one_pass(
        LOW,
        "0.0",
        "1",
        "n",
        """
Let next be max(best, item i of x).
Set y to y * exp(best - next).
If i % 2 is 0:
    Set y to y + exp(item i of x - next).
Set best to next.
""",
    ),
}

ROW = """Let y be a new Seq of Float.
Repeat for d from 1 to m:
    Push item d of acc / whole to y.
"""
ROWS = {
    "an attention row": HEAD
    + """Let best be 0.0 - 1.0e30.
Let whole be 0.0.
Let acc be m copies of 0.0.
Repeat for t from 1 to item 1 of count:
    Let u be item t of x * 0.5.
    Let next be max(best, u).
    Let fade be exp(best - next).
    Let share be exp(u - next).
    Set whole to whole * fade + share.
    Repeat for d from 1 to m:
        Set item d of acc to item d of acc * fade + share * item d of (item t of v).
    Set best to next.
"""
    + ROW,
    "an attention row by branches, from the first": HEAD
    + """Let best be item 1 of x.
Let whole be 1.0.
Let acc be a new Seq of Float.
Repeat for d from 1 to m:
    Push item d of (item 1 of v) to acc.
Repeat for t from 2 to n:
    Let u be item t of x.
    If u > best:
        Let fade be exp(best - u).
        Set whole to whole * fade + 1.0.
        Repeat for d from 1 to m:
            Set item d of acc to item d of acc * fade + item d of (item t of v).
        Set best to u.
    Otherwise:
        Let share be exp(u - best).
        Set whole to whole + share.
        Repeat for d from 1 to m:
            Set item d of acc to item d of acc + share * item d of (item t of v).
"""
    + ROW,
    "a masked attention row": HEAD
    + """Let best be 0.0 - 1.0e30.
Let whole be 0.0.
Let acc be m copies of 0.0.
Repeat for t from 1 to n:
    If t is at most item 1 of count:
        Let old be best.
        Set best to max(best, item t of x).
        Repeat for d from 1 to m:
            Set item d of acc to item d of acc * exp(old - best) + exp(item t of x - best) * item d of (item t of v).
        Set whole to whole * exp(old - best) + exp(item t of x - best).
"""
    + ROW,
}


@pytest.mark.parametrize("name", MORE)
def test_a_running_form_lifts(name: str) -> None:
    graph = graph_of(MORE[name], FACTS)
    for count in (0, 1, N):
        for seed in (0, 1, 2):
            agree(MORE[name], FACTS, given(count, seed), graph=graph)


@pytest.mark.parametrize("name", ROWS)
def test_an_attention_row_of_one_pass_lifts(name: str) -> None:
    graph = graph_of(ROWS[name], FACTS)
    for count in (1, 2, N):
        for seed in (0, 1, 2):
            agree(ROWS[name], FACTS, given(count, seed), graph=graph)


PLAIN = one_pass(FIRST, "1.0", "2", "n", UPDATES["the next maximum first"])
BRANCH = one_pass(FIRST, "1.0", "2", "n", UPDATES["both branches"])
GUARDED = one_pass(
    LOW,
    "0.0",
    "1",
    "n",
    "If i is at most item 1 of count:\n    " + UPDATES["the next maximum first"].strip().replace("\n", "\n    "),
)
BESIDE = PLAIN.replace("Let y be 1.0.", "Let y be 1.0.\nLet seen be 0.0.")

NEAR = {
    "the maximum changed too early": (PLAIN, "    Let next be", "    Set best to max(best, u).\n    Let next be"),
    "the factor upside down": (PLAIN, "exp(best - next)", "exp(next - best)"),
    "a weight that knows the maximum": (PLAIN, "+ exp(u - next)", "+ best * exp(u - next)"),
    "a weight that knows the sum": (PLAIN, "+ exp(u - next)", "+ y * exp(u - next)"),
    "not rescaled, and subtracted from": (PLAIN, "y * exp(best - next)", "1.0 - y"),
    "a term beside the old maximum": (PLAIN, "+ exp(u - next)", "+ exp(u - best)"),
    "a term beside another maximum": (PLAIN, "+ exp(u - next)", "+ exp(u - item 1 of x)"),
    "a minimum": (PLAIN, "max(best, u)", "min(best, u)"),
    "rescaled twice": (PLAIN, "y * exp(best - next)", "y * exp(best - next) * exp(best - next)"),
    "rescaled by another base": (PLAIN, "exp(best - next)", "pow(2.0, best - next)"),
    "rescaled by two scales": (PLAIN, "exp(best - next)", "exp(2.0 * (best - next))"),
    "a factor too many": (PLAIN, "exp(best - next)", "exp(best - next) * 2.0"),
    "the sum subtracted": (PLAIN, "y * exp(best - next) + exp(u - next)", "exp(u - next) - y * exp(best - next)"),
    "a term squared": (PLAIN, "exp(u - next)", "exp(u - next) * exp(u - next)"),
    "the sum read on the way": (BESIDE, "    Set best to next.", "    Set best to next.\n    Set seen to seen + y."),
    "the sum pushed on the way": (
        PLAIN.replace("Let y be 1.0.", "Let y be 1.0.\nLet seen be a new Seq of Float."),
        "    Set best to next.",
        "    Set best to next.\n    Push y to seen.",
    ),
    "a new maximum that counts for less": (BRANCH, "+ 1.0", "+ 0.5"),
    "a maximum taken the wrong way": (BRANCH, "If u > best", "If u < best"),
    "a maximum that stays": (BRANCH, "        Set best to u.\n", ""),
    "nothing where there is no new maximum": (BRANCH, "Set y to y + exp(u - best)", "Set y to y + 0.0"),
    "rescaled where there is no new maximum": (BRANCH, "Set y to y + exp", "Set y to y * exp(best - u) + exp"),
    "a new maximum only now and then": (BRANCH, "If u > best", "If u > best and i > 3"),
    "a new maximum with a margin": (BRANCH, "If u > best:", "If u > best + 1.0:"),
    "the maximum of more terms than the sum": (
        GUARDED,
        "        Set best to next.",
        "    Set best to max(best, item i of x).",
    ),
    "terms beyond the guard": (
        GUARDED,
        "        Set best to next.",
        "        Set best to next.\n    Set y to y + exp(item i of x - best).",
    ),
    "terms beside no maximum": (PLAIN, "    Set best to next.", "    Set best to next.\n    Set y to y + exp(u)."),
    "a maximum below everything, and a term as low": (
        one_pass("0.0 - 1.0e308 * 10.0", "0.0", "1", "n", UPDATES["the next maximum first"]),
        "Let u be item i of x.",
        "Let u be item i of x.\n    If i < 2:\n        Set u to 0.0 - 1.0e308 * 10.0.",
    ),
}


@pytest.mark.parametrize("name", NEAR)
def test_what_only_looks_like_a_running_form_is_refused(name: str) -> None:
    source, old, new = NEAR[name]
    assert old in source
    found = lifted(source.replace(old, new), FACTS, None if "seen" in new else ("y",))
    assert found.graph is None
    assert any("iteration" in m.why for m in found.missing)


CHANGED = {
    "another start of the sum": (PLAIN, "Let y be 1.0", "Let y be 2.0"),
    "another start of the maximum": (PLAIN, "Let best be item 1", "Let best be item 2"),
    "the first item twice": (PLAIN, "from 2 to n", "from 1 to n"),
    "a term of its own exponent": (PLAIN, "+ exp(u - next)", "+ exp(u + u - next)"),
    "another sign": (PLAIN, "+ exp(u - next)", "- exp(u - next)"),
    "a weight": (PLAIN, "+ exp(u - next)", "+ item i of z * exp(u - next)"),
    "one item fewer": (PLAIN, "to n:", "to n - 1:"),
    "another guard": (GUARDED, "If i is at most", "If i is less than"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_running_form_computes_what_it_says(name: str) -> None:
    source, old, new = CHANGED[name]
    assert old in source
    changed = source.replace(old, new)
    graph = graph_of(changed, FACTS)
    assert graph != graph_of(source, FACTS)
    apart = False
    for count in (0, 2, N):
        for seed in (0, 1, 2):
            agree(changed, FACTS, given(count, seed), graph=graph)
            values = [_value(s, count, seed) for s in (source, changed)]
            apart = apart or not math.isclose(*values, rel_tol=1e-9)
    assert apart


def _value(source: str, count: int, seed: int) -> float:
    lists = {name: value.tolist() for name, value in given(count, seed).items()}
    value = interpret(parse(source, "test.lg"), {**FACTS.sizes, **lists}, output=lambda _: None).variables["y"]
    assert isinstance(value, float)
    return value


def test_a_sum_beside_a_maximum_below_everything_starts_as_nothing() -> None:
    source = one_pass("0.0 - 1.0e308 * 10.0", "1.0", "1", "item 1 of count", UPDATES["the next maximum first"])
    (missing,) = lifted(source, FACTS).missing
    assert "starts below everything" in missing.why
    sure = source.replace("item 1 of count", "n")
    agree(sure, FACTS, given(0, 1))
