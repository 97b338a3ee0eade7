"""Expressions that share their parts are written down in proportion to these, whatever they would be as trees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from effort import effort
from lifting import Facts, Table, agree, floats, graph_of, refusals

from spatial.ir import wire

FACTS = Facts({"n": 6}, {"x": Table((6,), "float")})


def logistic(count: int) -> str:
    """A recurrence of numbers taken step by step."""
    return (
        "Let y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Let z be item i of x.\n"
        f"    Repeat for k from 1 to {count}:\n        Set z to 3.9 * z * (1.0 - z).\n    Push z to y.\n"
    )


def squares(count: int) -> str:
    """A number, each statement reading the one before twice."""
    return "Let y be item 1 of x / 4.0.\n" + "Set y to y * y - 0.5.\n" * count


def branches(count: int) -> str:
    """Conditions over a number, each of which changes it."""
    return "Let y be 0.0.\n" + "".join(f"If item 1 of x > y + 0.{k}:\n    Set y to y + 0.{k}.\n" for k in range(count))


def sequences(count: int) -> str:
    """Maps, each reading the one before twice at the same place: a single reader, which it would join."""
    text = "Let y0 be copy of x.\n"
    for k in range(1, count + 1):
        text += f"Let y{k} be a new Seq of Float.\nRepeat for i from 1 to n:\n"
        text += f"    Push item i of y{k - 1} * item i of y{k - 1} - 0.5 to y{k}.\n"
    return text + f"Let y be copy of y{count}.\n"


def terms(count: int) -> str:
    """Terms of a sum."""
    steps = "    Set z to z * z - 0.5.\n" * count
    return f"Let y be 0.0.\nRepeat for i from 1 to n:\n    Let z be item i of x / 4.0.\n{steps}    Set y to y + z.\n"


def guards(count: int) -> str:
    """A condition of a write."""
    steps = "Set z to z * z - 0.5.\n" * count
    return (
        f"Let z be item 1 of x / 4.0.\nLet y be copy of x.\n{steps}Repeat for i from 1 to n:\n"
        "    If item i of x > z:\n        Set item i of y to z.\n"
    )


SHARED = (logistic, squares, branches, sequences, terms, guards)


@pytest.mark.parametrize("shape", SHARED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [7, 24])
def test_what_is_cut_computes_what_the_source_means(shape: Callable[[int], str], count: int) -> None:
    source = f"## Main\n{shape(count)}"
    for seed in (1, 2):
        agree(source, FACTS, {"x": abs(floats(seed, 6)) % 1.0}, tolerance=1e-6)


@pytest.mark.parametrize("shape", SHARED, ids=lambda f: f.__name__)
def test_twice_the_statements_are_twice_the_graph(shape: Callable[[int], str]) -> None:
    (few, less), (many, more) = (effort(lambda n=n: graph_of(f"## Main\n{shape(n)}", FACTS)) for n in (25, 50))
    assert more <= 2.2 * less
    assert len(wire.pack(many)) <= 2.5 * len(wire.pack(few))


def test_a_small_expression_stays_one_statement_however_often_it_reads_a_part() -> None:
    assert len(graph_of(f"## Main\n{squares(4)}", FACTS).nodes) == 1


@pytest.mark.parametrize(
    "source",
    [
        "Let t be item 1 of x > 0.5.\nLet y be 0.0.\n"
        + "".join(f"Set t to (t and item 1 of x > 0.{k}) or (not t and item 1 of x < 0.{k}).\n" for k in range(30))
        + "If t:\n    Set y to 1.0.\n",
        logistic(30).replace("item i of x", "i * 0.1"),
    ],
    ids=["conditions alone", "a fill"],
)
def test_what_cannot_be_cut_is_refused(source: str) -> None:
    ((_, why),) = refusals(f"## Main\n{source}", FACTS)
    assert "one expression, which written out has more than 500000 operations" in why
