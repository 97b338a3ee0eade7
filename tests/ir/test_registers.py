"""What a product has in registers at once, by the loops that choose its sums: for the compiler and for the checker."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulate.bodies import add, forms
from support import TF32

from spatial.check.resources import registers
from spatial.ir.body import Cell, InPort, Matmul, OutPort, Page, Stage, State
from spatial.ir.registers import held_tiles, resident

LOOPS = (9, 4, 3, 2)


def stage_of(loops: tuple[int, ...], chosen: tuple[int, ...], kind: str = "matmul", shape: tuple[int, int] = (32, 32)):
    """A stage whose sums are chosen by the loops numbered `chosen`, from 1."""
    cells, cell = tuple(loops[n - 1] for n in chosen), forms(*(f"l{n}" for n in chosen))
    update = add(Cell(0, cell), Matmul(Page(0), Page(1), False) if kind == "matmul" else Page(0))
    state = State("s", shape, "f32", 0, 0.0, len(loops), update, cells, cell)
    value = Cell(0, forms(*(f"p{n}" for n in range(len(chosen)))))
    return Stage("f", kind, loops, (InPort("a", 1), InPort("b", 1)), (OutPort("o", 0, cells, value),), (state,))


def target_of(have: int):
    return replace(TF32, matrix=replace(TF32.matrix, registers=have))


@pytest.mark.parametrize(
    ("have", "depth", "tiles"), [(8, -1, 8), (24, -1, 8), (7, 2, 2), (4, 2, 2), (2, 2, 2), (1, 4, 1), (0, 4, 1)]
)
def test_as_many_sums_as_fit_are_there(have: int, depth: int, tiles: int):
    assert resident(stage_of(LOOPS, (2, 4)), target_of(have)) == (depth, tiles)


def test_an_elementwise_stage_has_all_of_its_own_there():
    assert held_tiles(stage_of(LOOPS, (2, 4), "generic"), target_of(1)) == 8


def test_a_sum_of_less_than_a_tile_takes_one():
    assert resident(stage_of(LOOPS, (2, 4), shape=(1, 32)), target_of(8)) == (-1, 8)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5).map(tuple), st.sets(st.integers(1, 5)), st.integers(1, 20))
def test_what_is_there_is_what_an_iteration_works_on(loops: tuple[int, ...], named: set[int], have: int):
    """Counted cell by cell: the most distinct ones of an iteration, at the first depth where they fit; and no
    shallower one would do. The checker counts as many."""
    chosen = tuple(sorted(n for n in named if n <= len(loops)))
    stage, target = stage_of(loops, chosen), target_of(have)
    depth, tiles = resident(stage, target)

    def works_on(depth: int) -> int:
        inside = [range(n) if k > depth else range(1) for k, n in enumerate(loops, 1)]
        return len({tuple(at[n - 1] for n in chosen) for at in product(*inside)})

    assert tiles == works_on(depth) <= have
    assert all(works_on(shallower) > have for shallower in range(-1, depth))
    assert registers(stage, target) == tiles == held_tiles(stage, target)
    assert works_on(0) == prod(loops[n - 1] for n in chosen)
