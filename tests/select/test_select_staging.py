"""Staging: what already runs stays as it is; readers of old versions go first; copies only where nothing else helps."""

from __future__ import annotations

import numpy as np
from drawing_programs import blocks, places
from evaluate import evaluate
from graphs import Drawn, Maker, Piece, Shape, at, decoder, fn, num, read, var
from hypothesis import HealthCheck, given, settings
from running import tables_of

from spatial.graph.settle import settle
from spatial.ir.graph import Block, Graph, Statement
from spatial.select.pieces import piece_reads
from spatial.select.staging import staged


def told(graph: Graph) -> list[str]:
    """One line a statement: what it makes, over what, of what."""
    lines: list[str] = []
    for s in graph.nodes:
        assert isinstance(s, Statement)
        reads = sorted({r.tensor for p in s.pieces for r in piece_reads(p)})
        lines.append(f"{s.out}" + (f" over {s.over}" if s.over is not None else "") + f" of {reads}")
    return lines


def write(make: Maker, over: int, *sources: int) -> int:
    value = read(sources[0], var(0))
    for s in sources[1:]:
        value = fn("sub", value, read(s, var(0)))
    return make.put(make.made((8,)), Piece((8,), (), at(var(0)), fn("add", value, num(1.0))), over=over)


def two_tables() -> tuple[Maker, int, int]:
    make = Maker()
    return make, make.table((8,), role="state"), make.table((8,), role="state")


def ends(make: Maker, *ends_of: tuple[int, int]) -> Graph:
    make.state += [(make.tensors[t].name, t, last) for t, last in ends_of]
    return make.graph()


def test_a_graph_in_order_stays_as_it_is():
    graph = staged(decoder(Shape()).graph).graph
    assert staged(graph).graph == graph


def test_a_reader_of_the_old_version_goes_before_the_writer():
    make, a, b = two_tables()
    new = write(make, a, b)
    make.result(make.map((8,), fn("neg", read(a, var(0)))))
    graph = staged(ends(make, (a, new), (b, b))).graph
    assert told(graph) == ["3 of [0]", "2 over 0 of [1]"]


def test_an_exchange_copies_one_of_the_two():
    make, a, b = two_tables()
    x, y = write(make, a, b), write(make, b, a)
    found = staged(ends(make, (a, x), (b, y)))
    assert told(found.graph) == ["4 of [0]", "2 over 0 of [1]", "3 over 1 of [4]"]
    assert found.owners == (((0, -1),), ((0, -1),), ((1, -1),))


def test_a_table_updated_from_itself_goes_through_a_temporary():
    make, a, b = two_tables()
    new = write(make, a, a, b)
    graph = staged(ends(make, (a, new), (b, b))).graph
    assert told(graph) == ["3 of [0, 1]", "2 over 0 of [3]"]


def test_a_result_that_is_written_over_later_is_copied():
    make, a, b = two_tables()
    first = write(make, a, b)
    second = write(make, first, b)
    make.result(first)
    graph = staged(ends(make, (a, second), (b, b))).graph
    assert told(graph) == ["2 over 0 of [1]", "4 of [2]", "3 over 2 of [1]"]
    assert graph.results == (("result0", 4),)


def test_a_result_that_is_an_input_is_copied():
    make = Maker()
    x = make.table((8,))
    make.result(x)
    assert told(staged(make.graph()).graph) == ["1 of [0]"]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(places() | blocks())
def test_nothing_is_read_where_it_is_written_and_the_meaning_stays(case: Drawn):
    settled = settle(case.graph)
    graph = staged(settled).graph
    for node in graph.nodes:
        for s in node.body if isinstance(node, Block) else (node,):
            assert s.over is None or all(r.tensor != s.over for p in s.pieces for r in piece_reads(p))
    given_tables = tables_of(case)
    before, after = evaluate(settled, given_tables), evaluate(graph, given_tables)
    finals = [(a[1], b[1]) for a, b in zip(settled.results, graph.results, strict=True)]
    finals += [(a[2], b[2]) for a, b in zip(settled.state, graph.state, strict=True)]
    for old, new in finals:
        assert np.array_equal(before[old].value, after[new].value, equal_nan=True)
