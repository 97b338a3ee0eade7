"""One sequence under two names: a loop that changes it under one of them changes what the other one means."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, graph_of, lifted

N = 5
FACTS = Facts(
    {"n": N},
    {"x": Table((N,), "float"), "s": Table((N,), "float", None, True), "si": Table((N,), "int", (-9, 9), True)},
)
INPUTS = {"x": np.linspace(-1.0, 2.0, N), "s": np.linspace(3.0, 4.0, N), "si": np.arange(N) + 2}


def shared(body: str, start: str = "[6, 1]", kind: str = "Int", call: str = "f(a, a)") -> str:
    """A function that is passed one sequence of Main as b and as c, both to be changed, and counts in k."""
    return (
        f"## To f (b: mutable Seq of {kind}, c: mutable Seq of {kind}) -> Int:\n    Let k be 0.\n{body}    Return k.\n"
        f"## To first () -> Int:\n    Return item 1 of a.\n## To lower (e: mutable Seq of Int):\n"
        f"    Set item 1 of e to item 1 of e - 1.\n## Main\nLet a be {start}.\nLet y be {call}.\n"
    )


LOWERED = "        Set item 1 of c to item 1 of c - 1.\n"
COUNTED = "        Set k to k + 1.\n"
PUSHED = "    Repeat for i from 1 to 4:\n        Push i to c.\n"


def broken(test: str, change: str = LOWERED) -> str:
    return f"    Repeat for i from 1 to 9:\n        If {test}:\n            Break.\n{change}{COUNTED}"


UNKNOWN = {
    "a bound under the other parameter": shared(f"    While k < item 1 of b:\n{LOWERED}{COUNTED}"),
    "a bound under Main's name": shared(f"    While k < item 1 of a:\n{LOWERED}{COUNTED}"),
    "a bound that a function reads": shared(f"    While k < first():\n{LOWERED}{COUNTED}"),
    "a bound that a function lowers": shared(f"    While k < item 1 of b:\n        lower(c).\n{COUNTED}"),
    "a step": shared(f"    While k < 12:\n{LOWERED.replace('- 1', '+ 1')}        Set k to k + item 2 of b.\n"),
    "a step that a function reads": shared(f"    While k < 30:\n{LOWERED}        Set k to k + first().\n"),
    "a growing length": shared("    While k < length of b and k < 9:\n        Push 1 to c.\n        Set k to k + 2.\n"),
    "a sequence set whole": shared(
        "    While k < length of b:\n        Set c to [1, 2, 3].\n        Set k to k + 1.\n"
    ),
    "a state table": shared(f"    While k < item 1 of si:\n{LOWERED}{COUNTED}", call="f(a, si)"),
}
BROKEN = {
    "a last place": shared(broken("i > item 1 of b")),
    "a last place of Main": shared(broken("i > item 1 of a")),
    "a last place that a function lowers": shared(broken("i > item 1 of b", "        lower(c).\n")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_count_that_the_loop_changes_under_another_name_is_refused(name: str) -> None:
    (missing,) = lifted(UNKNOWN[name], FACTS).missing
    assert "depends on values that are computed" in missing.why


@pytest.mark.parametrize("name", BROKEN)
def test_a_break_at_a_place_that_the_loop_changes_under_another_name_is_refused(name: str) -> None:
    (missing,) = lifted(BROKEN[name], FACTS).missing
    assert "Break leaves a loop early" in missing.why


LIFTED = {
    # What grows under the other name is no constant step, and still a length that is known in every iteration.
    "lengths are added": shared(f"{PUSHED}        Set k to k + length of b.\n"),
    "lengths of Main's are added": shared(f"{PUSHED}        Set k to k + length of a.\n"),
    "lengths over its own items": shared(
        "    Repeat for v in b:\n        Push v to c.\n        Set k to k + length of b.\n"
    ),
    "a sum of an item that changes": shared(
        f"    Repeat for i from 1 to 5:\n{LOWERED}        Set k to k + item 1 of b.\n"
    ),
    # Near misses: other sequences, other items of none, lengths that stay.
    "two sequences": shared(f"    While k < item 1 of b:\n{LOWERED}{COUNTED}", call="f(a, [9, 9])").replace(
        "Let y be f(a, [9, 9])", "Let d be [9, 9].\nLet y be f(a, d)"
    ),
    "a copy": shared(f"    Let d be copy of b.\n    While k < item 1 of d:\n{LOWERED}{COUNTED}"),
    "a length that items leave": shared(
        "    While k < length of b:\n        Set k to k + 1.\n        Set item k of c to k * 5.\n", start="[6, 1, 2]"
    ),
    "a step of a length that items leave": shared(f"    While k < 9:\n{LOWERED}        Set k to k + length of b.\n"),
    "a break at a length that items leave": shared(broken("i > length of b")),
    "a break at a bound that stays": shared(broken("i > item 2 of d", LOWERED)).replace(
        "    Let k be 0.\n", "    Let k be 0.\n    Let d be copy of c.\n", 1
    ),
    "a name that a function has for itself": shared(f"    While k < other():\n{LOWERED}{COUNTED}").replace(
        "## Main\n", "## To other () -> Int:\n    Let a be [4].\n    Return item 1 of a.\n## Main\n"
    ),
}


@pytest.mark.parametrize("name", LIFTED)
def test_what_two_names_leave_known_lifts(name: str) -> None:
    agree(LIFTED[name], FACTS, INPUTS)


def test_a_while_over_the_items_it_sets_is_the_repeat() -> None:
    counted = """## Main
Let y be copy of x.
Let k be 1.
While k is at most length of y:
    Set item k of y to item k of y * 2.0 + k.
    Set k to k + 1.
"""
    plain = """## Main
Let y be a new Seq of Float.
Repeat for k from 1 to n:
    Push item k of x * 2.0 + k to y.
"""
    assert graph_of(counted, FACTS) == graph_of(plain, FACTS)
    agree(counted, FACTS, INPUTS)


def test_a_function_that_sets_a_sequence_whole_changes_its_length() -> None:
    source = "## To f ():\n    Set y to copy of x.\n## Main\nLet y be [1.0, 2.0].\nLet k be 1.\n"
    source += "While k is at most length of y:\n    {}\n    Set k to k + 1.\n"
    (missing,) = lifted(source.format("f()."), FACTS).missing
    assert "depends on values that are computed" in missing.why
    agree(source.format("Set item k of y to 3.0."), FACTS, INPUTS)
