"""Writes over what the program made: made whole where each element is written once at most, left alone else."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import evaluate
from graphs import Maker, Piece, at, fn, num, read, var, via

from spatial.graph.settle import settle
from spatial.ir.graph import At, Graph, Num, Statement
from spatial.select.filling import filled

ROWS, COLUMNS = 4, 6


def written(piece: Piece, kind: str = "float", base: Num | None = None) -> Graph:
    """A graph that writes `piece` over a tensor of its own; tensors 0 and 1 are an integer and a float table."""
    make = Maker()
    make.table((ROWS,), "int", "input", (0, ROWS - 1))
    make.table((ROWS, COLUMNS))
    first = make.map((ROWS, COLUMNS), base or fn("neg", read(1, var(0), var(1))), kind)
    out = make.put(make.made((ROWS, COLUMNS), kind), piece, over=first)
    make.result(out)
    return settle(make.graph())


def row(*pos: At, extent: int = ROWS) -> Piece:
    return Piece((extent,), (), pos, fn("mul", read(1, var(0), var(0)), num(3.0)))


HERE = via(0, var(0))
WHOLE = {
    "an item of each row, chosen at run time": row(*at(var(0), HERE)),
    "an item of each row, a fixed one": row(*at(var(0), var(0) * 0 + 2)),
    "the diagonal": row(*at(var(0), var(0))),
    "one row": Piece((COLUMNS,), (), at(via(0, 1), var(0)), read(1, 0, var(0))),
    "one item": Piece((), (), at(1, 2), num(5.0)),
    "a row under a condition": Piece((COLUMNS,), (), at(2, var(0)), num(1.0), (), (fn("lt", read(0, 1), num(2)),)),
}
LEFT = {
    "rows that may be one row": Piece((ROWS, COLUMNS), (), at(HERE, var(1)), num(1.0)),
    "rows from the second on": row(*at(var(0) + 1, 0), extent=ROWS - 1),
    "two variables on one axis": Piece((2, 2), (), at(var(0, 2) + var(1), 0), num(1.0)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_write_of_which_each_element_knows_is_made_whole(name: str):
    before = written(WHOLE[name])
    after = filled(before)
    statements = [n for n in after.nodes if isinstance(n, Statement)]
    assert len(statements) == len(before.nodes) and all(s.over is None for s in statements)
    (number,) = (n for _, n in before.results)
    rng = np.random.default_rng(1)
    for _ in range(8):
        given = {t.name: rng.normal(size=t.dims) for t in before.tensors if t.role == "input"}
        given[before.tensors[0].name] = rng.integers(0, ROWS, ROWS)
        assert np.array_equal(evaluate(before, given)[number].value, evaluate(after, given)[number].value)


@pytest.mark.parametrize("name", LEFT)
def test_a_write_that_may_meet_another_is_left_alone(name: str):
    graph = written(LEFT[name])
    assert filled(graph) == graph


def test_state_is_left_alone():
    make = Maker()
    table, labels = make.table((ROWS, COLUMNS), role="state"), make.table((ROWS,), "int", "input", (0, COLUMNS - 1))
    value = Piece((ROWS,), (), at(var(0), via(labels, var(0))), num(1.0))
    new = make.put(make.made((ROWS, COLUMNS)), value, over=table)
    branch = make.put(make.made((ROWS, COLUMNS)), value, over=table)
    make.result(branch)
    make.state.append((make.tensors[table].name, table, new))
    graph = settle(make.graph())
    over = {s.out: s.over for s in filled(graph).nodes if isinstance(s, Statement)}
    assert over == {new: table, branch: None}


def listed(*pieces: Piece, dims: tuple[int, ...]) -> Graph:
    make = Maker()
    make.table((ROWS,), "int", "input", (0, ROWS - 1))
    make.table((ROWS, COLUMNS))
    make.result(make.put(make.made(dims), *pieces))
    return make.graph()


def test_items_at_fixed_places_are_one_piece():
    items = [Piece((), (), at(n), read(1, n, n + 1) if n % 2 else num(n + 0.5)) for n in (2, 0, 3, 1)]
    rows = [Piece((COLUMNS,), (), at(n, var(0)), read(1, (n + 1) % ROWS, var(0))) for n in range(ROWS)]
    table = np.random.default_rng(1).normal(size=(ROWS, COLUMNS))
    for graph in (listed(*items, dims=(4,)), listed(*rows, dims=(ROWS, COLUMNS))):
        after = filled(graph)
        (node,) = after.nodes
        assert isinstance(node, Statement) and len(node.pieces) == 1
        given = {t.name: table if n else np.zeros(ROWS, int) for n, t in enumerate(graph.tensors) if t.role == "input"}
        out = node.out
        assert np.array_equal(evaluate(graph, given)[out].value, evaluate(after, given)[out].value)


def test_large_pieces_and_pieces_that_run_on_stay_pieces():
    large = [Piece((600,), (), at(n, var(0)), num(n + 0.5)) for n in (0, 1)]
    halves = [Piece((8,), (), at(var(0) + 8 * n), num(n + 0.5)) for n in (0, 1)]
    for graph in (listed(*large, dims=(2, 600)), listed(*halves, dims=(16,))):
        assert filled(graph) == graph
