"""One run tells all that is missing of a program: what is refused, what depends on it, and what is lifted all the same.

The interpreter runs these programs whole: what is lifted of one must compute what it computes.
"""

from __future__ import annotations

import numpy as np
import pytest
from effort import effort
from evaluate import evaluate
from lifting import Facts, Table, flat_tables, floats, ints, lifted, parse

from spatial.ir.graph import Lifted
from spatial.logos.interpret import Seq, interpret

FACTS = Facts(
    {"n": 6, "m": 4},
    {
        "xs": Table((6,), "float"),
        "count": Table((1,), "int", (1, 6)),
        "kept": Table((6, 4), "float", None, True),
        "stack": Table((4, 6, 6), "float"),
    },
)

RECURRENCE = 'an iteration reads an item of "{}" that another iteration writes: a recurrence'
CARRIED = '"{}" is computed from what it was in the iteration before: a recurrence'
RUNS = "how often this While runs depends on values that are computed"

CASES: dict[str, tuple[str, list[str], list[str], list[str]]] = {
    # source, refused ("line binder reason"), depending ("line binder"), results that are lifted
    "statements of Main": (
        """Let a be n copies of 0.0.
Repeat for i from 2 to n:
    Set item i of a to item (i - 1) of a + item i of xs.
Let b be item 9 of xs.
Let c be 1.0.
While c < 100.0:
    Set c to c * 2.0.
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item i of xs.
Let z be item 1 of a + y.
Let u be z * 2.0.
""",
        [f"3 a {RECURRENCE.format('a')}", '4 b an index of "xs" is not proved in range', f"6 c {RUNS}"],
        ["11 z", "12 u"],
        ["y"],
    ),
    "one loop nest": (
        """Let a be 1.0.
Let b be 1.0.
Let y be 0.0.
Let e be 0.0.
Repeat for i from 1 to n:
    Set a to a * 0.5 + item i of xs.
    Set b to b * b + item i of xs.
    Set y to y + item i of xs.
    Set e to e + a.
""",
        [f"6 a {CARRIED.format('a')}", f"7 b {CARRIED.format('b')}"],
        ["9 e"],
        ["y"],
    ),
    "one nest of several loops": (
        """Let a be n copies of 0.0.
Let y be a new Seq of Float.
Let b be a new Seq of Float.
Repeat for i from 1 to n:
    Let total be 0.0.
    Repeat for j from 1 to n:
        Set item j of a to item (n + 1 - j) of a + item i of xs.
        Set total to total + item j of xs * item i of xs.
    Push total to y.
    Push item (i + 1) of xs to b.
""",
        [f"7 a {RECURRENCE.format('a')}", '10 b an index of "xs" is not proved in range'],
        [],
        ["y"],
    ),
    "one body of a block": (
        """Let h be copy of xs.
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of xs * 2.0 to y.
Repeat for layer from 1 to m:
    Let a be n copies of 0.0.
    Repeat for i from 2 to n:
        Set item i of a to item (i - 1) of a * 0.5 + item i of xs.
    Let b be a new Seq of Float.
    Repeat for i from 1 to n:
        Push item (i + 1) of xs to b.
    Let next be a new Seq of Float.
    Repeat for j from 1 to n:
        Push item j of h + item j of y + item j of b to next.
    Set h to next.
Let z be item 1 of h.
""",
        [f"8 a {RECURRENCE.format('a')}", '11 b an index of "xs" is not proved in range'],
        ["14 next", "15 h", "16 z"],
        ["y"],
    ),
    "a function, called twice": (
        """## To f (s: Seq of Float) -> Float:
    Let t be 1.0.
    While t < 100.0:
        Set t to t * 2.0.
    Let u be 0.0.
    Repeat for i from 1 to n + 1:
        Set u to u + item i of s.
    Return t + u.

## Main
Let a be f(xs).
Let b be f(xs).
Let y be item 2 of xs + 1.0.
""",
        [f"3 t {RUNS}", '7 u an index of "xs" is not proved in range'],
        ["8 a", "11 a", "12 b"],
        ["y"],
    ),
    "both branches": (
        """Let a be 0.0.
Let y be 0.0.
If item 1 of count > 2:
    Set a to item 9 of xs.
    Set y to 2.0.
Otherwise:
    Set a to item 8 of xs.
    Set y to 3.0.
""",
        ['4 a an index of "xs" is not proved in range', '7 a an index of "xs" is not proved in range'],
        [],
        ["y"],
    ),
    "a loop left early, and a line shown in it": (
        """Let a be 0.0.
Let b be 0.0.
Repeat for i from 1 to n:
    If item i of xs > 3.0:
        Break.
    Set a to a + item i of xs.
    Show i.
Let y be item 1 of xs * 0.5.
Set b to a.
""",
        ["5 a Break leaves a loop early", "7 a Show stands inside a loop"],
        ["9 b"],
        ["y"],
    ),
    "a state table and what reads it": (
        """Repeat for i from 2 to n:
    Repeat for j from 2 to m:
        Set item j of (item i of kept) to item (j - 1) of (item (i - 1) of kept) + item (j - 1) of (item i of kept).
Let a be item 1 of (item 2 of kept).
Let y be item 3 of xs.
""",
        [f"3 kept {RECURRENCE.format('kept')}"],
        ["4 a"],
        ["y"],
    ),
}


def all_of(source: str) -> list[str]:
    """Every variable Main binds."""
    return [s.name for s in parse(source, "test.lg").main if hasattr(s, "name")]


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_missing_is_told_at_once(name: str) -> None:
    source, refused, depending, whole = CASES[name]
    found = lifted(source, FACTS, tuple(sorted({*all_of(source), "y"})))
    assert found.graph is None
    said = [f"{m.line} {m.binder} {m.why}" for m in found.missing]
    assert len(said) == len(refused)
    assert all(s.startswith(r) for s, r in zip(said, refused, strict=True)), said
    assert [f"{m.line} {m.binder}" for m in found.depending] == depending
    assert all(m.kind == "depends" for m in found.depending)
    assert found.partial is not None
    assert set(whole) <= {name for name, _ in found.partial.results}
    held(source, found, whole)


def held(source: str, found: Lifted, whole: list[str]) -> None:
    """Holds what is lifted of a program to the interpreter."""
    assert found.partial is not None
    program = parse(source, "test.lg")
    used = {t.name for t in found.partial.tensors}
    shapes = {"xs": (6,), "kept": (6, 4), "stack": (4, 6, 6)}
    given = {n: floats(3, *shape) for n, shape in shapes.items()} | {"count": ints(5, 1, 6, 1)}
    flat = flat_tables(program, FACTS)
    values = {n: (v.ravel() if n in flat else v).tolist() for n, v in given.items()}
    top = interpret(parse(mended(source)), {**FACTS.sizes, **values}, output=lambda _: None).variables
    made = evaluate(found.partial, {n: v for n, v in given.items() if n in used})
    for name, number in found.partial.results:
        if name not in whole:
            continue
        expected = top[name]
        want = expected.to_array() if isinstance(expected, Seq) else np.asarray(expected)
        np.testing.assert_allclose(made[number].value, want, rtol=0, atol=1e-12)


def mended(source: str) -> str:
    """The program, its indices mended so that the interpreter comes to the end: what is lifted reads none of them."""
    for bad, good in (("item 9", "item 1"), ("item 8", "item 1"), ("item (i + 1)", "item i"), ("n + 1:", "n:")):
        source = source.replace(f"{bad} of xs", f"{good} of xs") if "item" in bad else source.replace(bad, good)
    return source


def test_refusals_are_the_same_in_every_run() -> None:
    for source, *_ in CASES.values():
        program = parse(source, "test.lg")
        assert lifted(program, FACTS, None) == lifted(program, FACTS, None)


def test_what_is_lifted_of_a_part_is_what_the_part_alone_lifts_to() -> None:
    """The graph of the rest is the graph of the program without its refused statements."""
    rest = """Let y be a new Seq of Float.
Repeat for j from 1 to n:
    Let total be 0.0.
    Repeat for i from 1 to n:
        Set total to total + item i of (item j of (item 1 of stack)) * item i of xs.
    Push total to y.
"""
    bad = "Let a be item 7 of xs.\n"
    whole = lifted(rest, FACTS)
    for source in (bad + rest, rest + bad, bad + rest + "Let b be a + item 1 of y.\n"):
        found = lifted(source, FACTS)
        assert found.partial == whole.graph
        assert found.statements == whole.statements + len(found.missing) + len(found.depending)
        assert (found.views, found.fills, found.dead) == (whole.views, whole.fills, whole.dead)


def test_what_only_a_refused_statement_reads_is_lifted_for_its_sake() -> None:
    source = """Let row be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of xs * 2.0 to row.
Let y be 1.0.
While y < item 2 of row:
    Set y to y * 2.0.
"""
    found = lifted(source, FACTS)
    assert found.partial is not None
    assert [name for name, _ in found.partial.results] == ["row"]
    assert (found.statements, len(found.missing)) == (2, 1)


def test_statements_that_only_the_last_look_refuses_are_all_told() -> None:
    """What is in range only under a condition is found when the graph is made."""
    tables = {"chosen": Table((6,), "int", (0, 5)), "many": Table((1,), "int", (0, 9))}
    facts = Facts(FACTS.sizes, {**FACTS.tables, **tables}, assume=("many <= n",))
    one = """Let {0} be 0.0.
Repeat for t from 1 to item 1 of many:
    Set {0} to {0} + item (item t of chosen + 1) of xs.
"""
    source = one.format("a") + "Let y be item 1 of xs + 1.0.\n" + one.format("b")
    found = lifted(source, facts, ("a", "y", "b"))
    assert [(m.line, m.binder) for m in found.missing] == [(3, "a"), (7, "b")]
    assert found.partial is not None
    assert [name for name, _ in found.partial.results] == ["y"]


def test_a_statement_is_numbered_by_its_place_in_the_text() -> None:
    source, *_ = CASES["statements of Main"]
    found = lifted(source, FACTS, None)
    assert [m.statement for m in found.missing] == [2, 3, 5]
    assert [m.statement for m in found.depending] == [10, 11]
    again = lifted("Let first be 0.\n\n\n" + source, FACTS, None)
    assert [(m.statement, m.line) for m in again.missing] == [(m.statement + 1, m.line + 3) for m in found.missing]


def test_a_survey_costs_in_proportion_to_the_statements() -> None:
    """However many are refused, in Main, in one loop body, and one after the other."""

    def main(count: int) -> str:
        return "Let s be 1.5.\n" + "".join(
            f"Let a{n} be item 9 of xs.\nLet b{n} be item 2 of xs + {n}.5.\n" for n in range(count)
        )

    def body(count: int) -> str:
        inner = "".join(f"    Let a{n} be item (i + 1) of xs.\n    Set s to s + item i of xs.\n" for n in range(count))
        return f"Let s be 0.0.\nRepeat for i from 1 to n:\n{inner}"

    for shape in (main, body):
        costs: list[int] = []
        for count in (20, 80):
            program = parse(shape(count), "test.lg")
            found, cost = effort(lambda program=program: lifted(program, FACTS, ("s",)))
            assert len(found.missing) == count
            costs.append(cost)
        assert costs[1] <= 4.6 * costs[0]
