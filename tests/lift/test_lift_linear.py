"""Lifting costs in proportion to the statements of a program, however they are chained."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from benchmarks.lifting_cost import FACTS, LONG, REFUSED, SHAPES, TIMED, costs, work
from effort import effort

from spatial.ir import wire
from spatial.ir.graph import Lifted
from spatial.lift import lift
from spatial.logos.parser import parse


@pytest.mark.parametrize("shape", (*SHAPES, *REFUSED))
def test_four_times_the_statements_cost_four_times(shape: str) -> None:
    few, many = costs(shape, (40, 160) if shape in SHAPES else (10, 40))  # refused programs are executed twice
    assert many <= 4.4 * few


def test_a_chain_of_a_thousand_statements_lifts() -> None:
    work("chain", 1000)()


@pytest.mark.nightly
@pytest.mark.parametrize("shape", LONG)
def test_ten_thousand_statements_cost_ten_times_a_thousand(shape: str) -> None:
    few, many = costs(shape, tuple(TIMED))
    assert many <= 11 * few


@pytest.mark.parametrize("shape", REFUSED)
def test_every_statement_of_a_refused_program_is_told(shape: str) -> None:
    found = work(shape, 20)()
    assert isinstance(found, Lifted)
    roots, others = (20, 20) if shape == "refused" else (1, 20)
    assert (len(found.missing), len(found.depending)) == (roots, others)


def lost_numbers(count: int) -> str:
    """Numbers that one loop hands on, each a recurrence."""
    starts = "".join(f"Let z{k} be 0.0.\n" for k in range(count))
    steps = "".join(f"    Set z{k} to z{k} * item i of x + {k}.5.\n" for k in range(count))
    return f"{starts}Repeat for i from 1 to n:\n{steps}"


def lost_and_pushed(count: int) -> str:
    """The same, each pushed to a sequence."""
    starts = "".join(f"Let z{k} be 0.0.\nLet y{k} be a new Seq of Float.\n" for k in range(count))
    steps = "".join(f"    Set z{k} to z{k} * item i of x + {k}.5.\n    Push z{k} to y{k}.\n" for k in range(count))
    return f"{starts}Repeat for i from 1 to n:\n{steps}"


def lost_sequences(count: int) -> str:
    """Sequences of which each item is computed from the one before."""
    starts = "".join(f"Let z{k} be n copies of 0.0.\n" for k in range(count))
    steps = "".join(f"    Set item i of z{k} to item (i - 1) of z{k} * 0.5 + {k}.5.\n" for k in range(count))
    return f"{starts}Repeat for i from 2 to n:\n{steps}"


@pytest.mark.parametrize("shape", [lost_numbers, lost_and_pushed, lost_sequences], ids=lambda f: f.__name__)
def test_many_refused_variables_of_one_loop_are_told_at_once(shape: Callable[[int], str]) -> None:
    spent: list[int] = []
    for count in (10, 40):
        program = parse(f"## Main\n{shape(count)}", "lost.lg")
        found, calls = effort(lambda p=program, n=count: lift(p, FACTS, [f"z{k}" for k in range(n)]))
        assert [m.binder for m in found.missing] == [f"z{k}" for k in range(count)]
        spent.append(calls)
    assert spent[1] <= 4.4 * spent[0]


def test_a_variable_that_depends_on_a_refused_one_is_no_cause_beside_it() -> None:
    source = """## Main
Let a be 0.0.
Let b be 0.0.
Let c be 0.0.
Let d be 0.0.
Repeat for i from 1 to n:
    Set a to a * item i of x + 0.5.
    Set b to b * item i of x + a.
    Set c to c * item i of x + 1.5.
    Set d to d + item i of x.
"""
    found = lift(parse(source, "lost.lg"), FACTS, ("d",))
    assert [m.binder for m in found.missing] == ["a", "c"]
    assert [m.binder for m in found.depending] == ["b"]


def test_a_long_chain_of_maps_is_cut_where_it_gets_too_deep_to_be_written_down() -> None:
    short, long = work("fused", 80)(), work("fused", 400)()
    assert isinstance(short, Lifted) and isinstance(long, Lifted)
    assert short.graph is not None and len(short.graph.nodes) == 1
    assert long.graph is not None and 4 <= len(long.graph.nodes) <= 16
    assert wire.digest(long.graph) != wire.digest(short.graph)
