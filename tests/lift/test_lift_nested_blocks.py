"""Layers within groups, chunks or steps: one of the loops is written out, both where they are short."""

from __future__ import annotations

import pytest
from layered import FACTS, FUNCTIONS, graph, trips
from lifting import lifted

from spatial.ir.graph import Block

BEGIN = "Let y be copy of x.\n"


def test_the_same_layers_in_every_step() -> None:
    text = (
        "Repeat for s from 1 to steps:\n    Repeat for l from 1 to layers:\n        Set y to product(y, item l of w).\n"
    )
    found = graph(BEGIN + text)
    assert trips(found) == [3, 3]
    assert found == graph(BEGIN + "".join(f"Set y to product(y, item {layer} of w).\n" for layer in (1, 2, 3) * 2))


def test_uniform_layers_in_groups_are_one_block() -> None:
    inner = "        Set y to plus(y, product(y, item ((s - 1) * layers + l) of w)).\n"
    found = graph(BEGIN + f"Repeat for s from 1 to steps:\n    Repeat for l from 1 to layers:\n{inner}")
    loop = "Repeat for l from 1 to steps * layers:\n    Set y to plus(y, product(y, item l of w)).\n"
    assert found == graph(BEGIN + loop) and trips(found) == [6]


def test_groups_of_layers_with_work_of_their_own() -> None:
    """One block of the groups leaves fewer statements than two of the layers."""
    text = (
        "Repeat for s from 1 to steps:\n    Set y to normed(y, item s of g).\n"
        "    Repeat for l from 1 to layers:\n        Set y to product(y, item l of w).\n    Set item s of log to y.\n"
    )
    assert trips(graph(BEGIN + text)) == [2]


def test_many_steps_of_few_layers_are_a_block_of_the_steps() -> None:
    text = (
        "Repeat for s from 1 to 40:\n    Set y to normed(y, item (1 + s % 2) of g).\n"
        "    Repeat for l from 1 to 2:\n        Set y to product(y, item l of w).\n"
    )
    found = graph(BEGIN + text)
    (block,) = (n for n in found.nodes if isinstance(n, Block))
    assert (block.trip, len(block.carried)) == (40, 1)


def test_few_steps_of_many_layers_are_blocks_of_the_layers() -> None:
    inner = "    Repeat for l from 1 to 40:\n        Set y to product(y, one).\n"
    text = f"Repeat for s from 1 to 2:\n{inner}    Set y to plus(y, z).\n"
    assert trips(graph(BEGIN + text)) == [40, 40]


def test_three_loops() -> None:
    text = (
        "Repeat for a from 1 to 2:\n    Repeat for s from 1 to steps:\n        Repeat for l from 1 to layers:\n"
        "            Set y to product(y, item l of w).\n        Set y to normed(y, item s of g).\n"
    )
    assert trips(graph(BEGIN + text)) == [2, 2]


def test_a_loop_counted_by_while_within() -> None:
    text = (
        "Repeat for s from 1 to steps:\n    Let l be 1.\n    While l is at most layers:\n"
        "        Set y to product(y, item l of w).\n        Set l to l + 1.\n"
    )
    assert trips(graph(BEGIN + text)) == [3, 3]


def test_long_loops_within_each_other_are_refused() -> None:
    text = "Repeat for s from 1 to 100:\n    Repeat for l from 1 to 200:\n        Set y to product(y, one).\n"
    found = lifted(FUNCTIONS + BEGIN + text, FACTS)
    (missing,) = found.missing
    assert "a loop of 200 iterations stands in another, and both hand sequences on" in missing.why
    assert missing.mend == "write one loop over the iterations of both"


def test_a_block_of_run_time_length_is_refused() -> None:
    text = "Repeat for l from 1 to item 1 of spot:\n    Set y to product(y, one).\n"
    found = lifted(FUNCTIONS + BEGIN + text, FACTS)
    (missing,) = found.missing
    assert missing.binder == "y" and "recurrence" in missing.why


@pytest.mark.parametrize(
    "condition", ["l is 1", "l equals layers", "l is at most 2", "l % 2 is 1", "item 1 of spot > l"]
)
def test_other_work_in_some_layers(condition: str) -> None:
    text = (
        "Repeat for l from 1 to layers:\n    Set y to product(y, item l of w).\n"
        f"    If {condition}:\n        Set y to normed(y, item l of g).\n    Otherwise:\n        Set y to plus(y, z).\n"
    )
    assert trips(graph(BEGIN + text)) == [3]


def test_work_of_the_first_layer_alone() -> None:
    text = (
        "Repeat for l from 1 to layers:\n    If l is 1:\n        Set y to normed(y, one).\n"
        "    Set y to product(y, item l of w).\n"
    )
    assert trips(graph(BEGIN + text)) == [3]
