"""What programs mean: sequences as values, scopes, functions, recursion, inputs and results."""

import math
from typing import Any

import numpy as np
import pytest

from spatial.errors import SourceError, UsageError
from spatial.logos.interpret import Seq, interpret
from spatial.logos.parser import parse


def shown(text: str, **inputs: Any) -> list[str]:
    """What the program shows."""
    lines: list[str] = []
    interpret(parse(text, "t.lg"), inputs, ["prog", "12"], lines.append)
    return lines


def fault(text: str, **inputs: Any) -> str:
    """The run-time error a program stops on."""
    with pytest.raises(SourceError) as caught:
        shown(text, **inputs)
    (problem,) = caught.value.problems
    return str(problem)


# Sequences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Show item 1 of xs. Show item 3 of xs. Show item -1 of xs. Show item -3 of xs.", ["1", "3", "3", "1"]),
        ("Repeat for i from 1 to 1:\n    Show item (i - 2) of xs.", ["3"]),
        ("Let i be -2.\nSet item i of xs to 9.\nShow xs.", ["[1, 9, 3]"]),
        ("Set item -1 of xs to 9.\nShow xs.", ["[1, 2, 9]"]),
        (
            "Show items 1 through 2 of xs. Show items 2 through 9 of xs. Show items 3 through 2 of xs.",
            ["[1, 2]", "[]", "[]"],
        ),
        ("Let z be 0.\nShow items (z) through 2 of xs. Show items (-1) through 2 of xs.", ["[1, 2]", "[]"]),
        ("Push 4 to xs. Push 5, 6 to xs. Show xs.", ["[1, 2, 3, 4, 5, 6]"]),
        ("Pop from xs. Pop from xs into last. Show last. Show xs.", ["2", "[1]"]),
        ("Let e be []. Pop from e into x. Show x.", ["nothing"]),
        ("xs[1] += 5. xs[2] *= 2. Show xs.", ["[6, 4, 3]"]),
        ('Push "a" to xs. Push [true] to xs. Show xs.', ["[1, 2, 3, a, [true]]"]),
        ("Repeat for x in xs:\n    Push x to xs.\nShow xs.", ["[1, 2, 3, 1, 2, 3]"]),
        ('Repeat for c in "ab":\n    Show c.', ["a", "b"]),
    ],
)
def test_sequences(text: str, expected: list[str]) -> None:
    assert shown(f"## Main\nLet xs be [1, 2, 3].\n{text}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let b be a. Push 9 to b.", "[[1], [2]]"),
        ("Let b be a. Set item 1 of (item 1 of b) to 9.", "[[1], [2]]"),
        ("Let b be a. Set item 1 of (item 1 of a) to 9.", "[[9], [2]]"),
        ("Let b be item 1 of a. Push 9 to b.", "[[1], [2]]"),
        ("Let b be item 1 of a. Push 9 to item 1 of a. Show b.", "[[1, 9], [2]]"),
        ("Let b be []. Set b to a. Push 9 to b.", "[[1], [2]]"),
        ("Let b be [a]. Push 9 to item 1 of b.", "[[1], [2]]"),
        ("Let b be [1]. Push b to a. Push 9 to b.", "[[1], [2], [1]]"),
        ("Let b be [1]. Set item 1 of a to b. Push 9 to b.", "[[1], [2]]"),
        ("Push item 1 of a to a. Push 9 to item 1 of a.", "[[1, 9], [2], [1]]"),
        ("Set item 1 of a to a. Push 9 to item 2 of a.", "[[[1], [2]], [2, 9]]"),
        ("Let b be a + a. Push 9 to item 1 of b.", "[[1], [2]]"),
        ("Let b be a * 2. Push 9 to item 1 of b. Show b.", "[[1], [2]]"),
        ("Let b be items 1 through 2 of a. Push 9 to item 1 of b.", "[[1], [2]]"),
        ("Let b be copy of a. Push 9 to item 1 of b.", "[[1], [2]]"),
        ("Let b be 2 copies of a. Push 9 to item 1 of b. Show b.", "[[1], [2]]"),
        ("Repeat for row in a:\n    Push 9 to row.", "[[1], [2]]"),
        ("Repeat for row in a:\n    Set item 1 of (item 1 of a) to 5.\n    Show row.", "[[5], [2]]"),
        ("plain(a).", "[[1], [2]]"),
        ("plain(item 1 of a).", "[[1], [2]]"),
        ("by_reference(a).", "[[1], [2], 9]"),
        ("by_reference(item 1 of a).", "[[1, 9], [2]]"),
        ("Let b be a. by_reference(b).", "[[1], [2]]"),
        ("rebinding(a).", "[[1], [2]]"),
        ("passing_on(a).", "[[1], [2]]"),
        ("passing_by_reference(a).", "[[1], [2], 9]"),
        ("Let b be same(a). Push 9 to b.", "[[1], [2]]"),
        ("Let b be same(a). Push 9 to a. Show b.", "[[1], [2], 9]"),
        ("Let b be inner(a). Push 9 to b.", "[[1], [2]]"),
        ("Show both(a, a).", "[[1], [2], 9]"),
        ("changes_the_global(a).", "[[1], [2], 7]"),
        ("changes_the_global(item 1 of a).", "[[1], [2], 7]"),
    ],
)
def test_sequences_are_values(text: str, expected: str) -> None:
    functions = """
## To plain (xs: Seq of Int):
    Push 9 to xs.
## To by_reference (xs: mutable Seq of Int):
    Push 9 to xs.
## To rebinding (xs: mutable Seq of Int):
    Set xs to [7].
    Push 9 to xs.
## To passing_on (xs: mutable Seq of Int):
    plain(xs).
## To passing_by_reference (xs: mutable Seq of Int):
    by_reference(xs).
## To same (xs: Seq of Int) -> Seq of Int:
    Return xs.
## To inner (xs: Seq of (Seq of Int)) -> Seq of Int:
    Return item 1 of xs.
## To both (xs: mutable Seq of Int) and (ys: Seq of Int) -> Int:
    Push 9 to xs.
    Assert that length of ys is 2.
    Return length of xs.
## To changes_the_global (xs: Seq of Int):
    Let before be length of xs.
    Push 7 to a.
    Assert that length of xs equals before.
## Main
Let a be [[1], [2]].
"""
    assert shown(f"{functions}{text}\nShow a.")[-1] == expected


def test_a_change_between_aliases_does_not_show_in_the_other() -> None:
    lines = shown("Let a be [1].\nLet b be a.\nLet c be b.\nPush 2 to b.\nPush 3 to a.\nShow a. Show b. Show c.")
    assert lines == ["[1, 3]", "[1, 2]", "[1]"]


def test_passing_and_reading_whole_sequences_costs_no_copy() -> None:
    """Some 10^5 passes of 10^5 items: copying would take minutes."""
    text = """
## To first (xs: Seq of (Seq of Int)) -> Int:
    Let row be item 1 of xs.
    Let again be row.
    Return item 1 of again.
## Main
Let total be 0.
Repeat for i from 1 to 100000:
    Set total to total + first(table).
    Set item 1 of counts to i.
Show total.
"""
    assert shown(text, table=[[1] * 100_000], counts=[0] * 100_000) == ["100000"]


# Scopes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Let x be 1. If true:\n    Let x be 2.\n    Show x.\nShow x.", ["2", "1"]),
        ("Let x be 1. If true:\n    Set x to 2.\nShow x.", ["2"]),
        ("Let x be 1. If true:\n    Let x be 2.\n    Set x to 3.\nShow x.", ["1"]),
        ("Let x be 1. If true:\n    Show x.\n    Let x be 2.\n    Show x.\nShow x.", ["1", "2", "1"]),
        ("Let x be 1. Let x be x + 1. Show x.", ["2"]),
        ("Let i be 7. Repeat for i from 1 to 2:\n    Show i.\nShow i.", ["1", "2", "7"]),
        ("Repeat for i from 1 to 3:\n    Set i to i * 10.\n    Show i.", ["10", "20", "30"]),
        ("Repeat for i from 1 to 2:\n    i = i + 1.\n    Show i.", ["2", "3"]),
        ("Let n be 0. While n < 2:\n    Let n2 be n + 1.\n    Set n to n2.\nShow n.", ["2"]),
        ("Repeat for i from 3 to 1:\n    Show i.\nShow 0.", ["0"]),
        ("Let n be 2. Repeat for i from 1 to n:\n    Set n to 5.\n    Show i.", ["1", "2"]),
        (
            "Repeat for i from 1 to 9:\n    Repeat for j from 1 to 9:\n        If j > 1: Break.\n"
            "        Show j.\n    If i > 1: Break.",
            ["1", "1"],
        ),
        ("Show 1. Break. Show 2.", ["1"]),
        ("Show 1. Return 5. Show 2.", ["1"]),
        ("Repeat forever:\n    Show 1.\n    Return.\nShow 2.", ["1"]),
        ("If 0:\n    Show 1.\nOtherwise If nothing:\n    Show 2.\nOtherwise:\n    Show 3.", ["3"]),
        ("While c:\n    # nothing\nShow 1.", ["1"]),
    ],
)
def test_scopes(text: str, expected: list[str]) -> None:
    assert shown(f"## Main\n{text}", c=False) == expected


def test_functions_see_mains_variables_as_they_are_at_the_call() -> None:
    text = """
## To bump ():
    Set counter to counter + 1.
## To read () -> Int:
    Return counter + size.
## To own () -> Int:
    Let counter be 100.
    Set counter to counter + 1.
    Return counter.
## Main
Let counter be 1.
bump(). bump().
Show read(). Show own(). Show counter.
"""
    assert shown(text, size=10) == ["13", "101", "3"]


def test_functions_see_neither_mains_blocks_nor_their_callers() -> None:
    inner = "## To f ():\n    Return y.\n## To g ():\n    Let y be 1.\n    Return f().\n## Main\n"
    assert 'undefined variable "y"' in fault(inner + "If true:\n    Let y be 1.\n    Show f().")
    assert 'undefined variable "y"' in fault(inner + "Show g().")


def test_the_condition_of_a_loop_does_not_see_its_body() -> None:
    assert 'undefined variable "y"' in fault(
        "## Main\nLet i be 0.\nWhile i < 1 or y:\n    Let y be 1.\n    Set i to 1."
    )


def test_functions_and_variables_are_separate_and_definitions_are_hoisted() -> None:
    assert shown(
        "## Main\nLet f be 2.\nShow f(f).\n## To f (x: Int):\n    Return x + g(x).\n## To g (x: Int):\n    Return 1."
    ) == ["3"]


def test_falling_off_the_end_gives_nothing_and_break_ends_a_function() -> None:
    assert (
        shown("## To f ():\n    Let x be 1.\n## To g ():\n    Break.\n    Return 1.\n## Main\nShow f(). Show g().")
        == ["nothing"] * 2
    )


# Recursion


@pytest.mark.parametrize(
    ("body", "n", "expected"),
    [
        ("If n < 1: Return 0.\n    Return n + f(n - 1).", 100_000, "5000050000"),
        ("If n < 1: Return 0.\n    Return f(n - 1) + n.", 100_000, "5000050000"),
        ("If n > 0:\n        Return n + f(n - 1).\n    Return 0.", 5000, "12502500"),
        ("If n < 1: Return 1.\n    Return n * f(n - 1).", 20, str(math.factorial(20))),
        ("If n < 1: Return 7.\n    Return f(n - 1).", 100_000, "7"),
        ("If n < 1: Return 7.\n    Let r be f(n - 1).\n    Return r.", 100_000, "7"),
        ("If n < 1:\n        Return 7.\n    Otherwise:\n        Return f(n - 1).", 100_000, "7"),
        (
            "If n < 1: Return 7.\n    Repeat for i from 1 to 3:\n        Repeat for j in [1]:\n"
            "            If i > 1: Return f(n - 1).\n    Return 8.",
            10_000,
            "7",
        ),
        ("If n < 2: Return n.\n    Return f(n - 1) + f(n - 2).", 15, "610"),
        ("If n < 1: Return 0.\n    Return 1 + f(n - 1) - 0.", 2000, "2000"),
        ("If n < 1: Return.\n    Return f(n - 1).", 5000, "nothing"),
    ],
)
def test_recursion(body: str, n: int, expected: str) -> None:
    assert shown(f"## To f (n: Int) -> Int:\n    {body}\n## Main\nShow f({n}).") == [expected]


def test_a_fold_starts_from_an_int_and_combines_in_the_order_of_the_calls() -> None:
    text = "## To f (n: Int) -> Float:\n    If n < 1: Return 1e16.\n    Return 1.0 + f(n - 1).\n## Main\nShow f(3)."
    assert shown(text) == ["10000000000000004"]
    text = '## To f (n: Int) -> Text:\n    If n < 1: Return "z".\n    Return "a" + f(n - 1).\n## Main\nShow f(2).'
    assert shown(text) == ["0aaz"]


def test_tail_calls_keep_sequences_values() -> None:
    text = """
## To fill (n: Int) and (xs: Seq of Int) and (old: Seq of Int) -> Int:
    If n < 1: Return length of xs * 100 + length of old.
    Push n to xs.
    Return fill(n - 1, xs, xs).
## To swap (n: Int) and (a: Seq of Int) and (b: Seq of Int) -> Seq of Int:
    If n < 1: Return a.
    Return swap(n - 1, b, a).
## Main
Let start be [0].
Show fill(3, start, start).
Show start.
Show swap(3, [1], [2]).
"""
    assert shown(text) == ["404", "[0]", "[2]"]


def test_a_call_2500_deep_is_allowed() -> None:
    assert shown(
        "## To f (n: Int) -> Int:\n    If n < 2: Return 1.\n    Return 2 - f(n - 1).\n## Main\nShow f(2500)."
    ) == ["1"]


# The border


def test_inputs_and_results() -> None:
    program = parse("Set item 1 of table to 5.\nPush 4 to xs.\nLet y be item 2 of (item 2 of w) + size.\nLet z be xs.")
    table, w = Seq.of([1, 2]), np.array([[1.0, 2.0], [3.0, 4.5]])
    run = interpret(program, {"table": table, "xs": [1, True, "a", None], "w": w, "size": np.int64(2)})
    assert run.variables["y"] == 6.5
    for name, expected in [("table", [5, 2]), ("z", [1, True, "a", None, 4]), ("w", w.tolist())]:
        found = run.variables[name]
        assert isinstance(found, Seq) and found.to_list() == expected
    assert table.to_list() == [1, 2]
    found = run.variables["w"]
    assert isinstance(found, Seq) and np.array_equal(found.to_array(), w)


def test_ints_and_floats_stay_what_they_are() -> None:
    run = interpret(parse("Let a be item 1 of xs / 2.\nLet b be item 1 of ys / 2."), {"xs": [5], "ys": np.array([5.0])})
    assert run.variables["a"] == 2 and run.variables["b"] == 2.5


def test_wrong_inputs_are_told() -> None:
    with pytest.raises(UsageError, match="is no value"):
        interpret(parse("Show 1."), {"x": {1: 2}})
    with pytest.raises(UsageError, match="no sequence"):
        Seq.of(5)
    with pytest.raises(UsageError, match="ragged"):
        Seq.of([[1], [1, 2]]).to_array()


def test_loops_nested_too_deep_for_python_are_told() -> None:
    text = "".join(" " * i + f"Repeat for i{i} from 1 to 1:\n" for i in range(25)) + " " * 25 + "Show 1.\n"
    with pytest.raises(SourceError, match="loops nested deeper than 18"):
        shown("## Main\n" + text)
