"""What blocks carry: tables are copied where a block does not write them in place, and nothing else is."""

from __future__ import annotations

import numpy as np
from drawing_programs import blocks
from evaluate import evaluate
from graphs import Drawn, Maker, Piece, at, fn, num, read, var
from hypothesis import HealthCheck, given, settings
from running import tables_of

from spatial.graph.settle import in_place
from spatial.ir.graph import Block, Carried, Graph, Statement
from spatial.select.staging import staged


def step(make: Maker, inner: int, over: int | None = None) -> Statement:
    """Half of each item of `inner`, from the last one on or, written over a table, each in its place."""
    where = read(inner, var(0, -1) + 7) if over is None else read(inner, var(0))
    return Statement(make.made((8,)), (Piece((8,), (), at(var(0)), fn("mul", where, num(0.5))),), over)


def carrying(make: Maker, *carried: Carried, body: tuple[Statement, ...]) -> Graph:
    make.nodes.append(Block(3, body, carried))
    for c in carried:
        make.result(c.final)
    return make.graph()


def block_of(graph: Graph) -> tuple[list[int], Block, dict[int, int]]:
    """What is made before the block, the block, and of each whole copy what it copies."""
    copies: dict[int, int] = {}
    before: list[int] = []
    (block,) = (n for n in graph.nodes if isinstance(n, Block))
    for s in (*(n for n in graph.nodes if isinstance(n, Statement)), *block.body):
        (piece,) = s.pieces
        match piece.value:
            case value if s.over is None and value == read(getattr(value, "tensor", -1), var(0)):
                copies[s.out] = getattr(value, "tensor", -1)
            case _:
                pass
    for node in graph.nodes:
        if isinstance(node, Block):
            break
        before.append(node.out)
    return before, block, copies


def test_an_input_that_begins_a_block_is_copied_once():
    make = Maker()
    a = make.table((8,))
    p, q = make.made((8,)), make.made((8,))
    x, y = step(make, p), step(make, q)
    first, second = (Carried(a, i, s.out, make.made((8,))) for i, s in ((p, x), (q, y)))
    before, block, copies = block_of(staged(carrying(make, first, second, body=(x, y))).graph)
    (copy,) = before
    assert copies[copy] == a and [c.initial for c in block.carried] == [copy, copy] and len(block.body) == 2


def test_what_the_program_made_begins_a_block_itself():
    make = Maker()
    a = make.map((8,), fn("neg", read(make.table((8,)), var(0))))
    p = make.made((8,))
    x = step(make, p)
    graph = carrying(make, Carried(a, p, x.out, make.made((8,))), body=(x,))
    assert staged(graph).graph == graph


def test_state_written_in_place_is_carried_itself_and_handed_on_as_a_copy():
    make = Maker()
    s, a = make.table((8,), role="state"), make.map((8,), fn("neg", read(make.table((8,)), var(0))))
    old, p = make.made((8,)), make.made((8,))
    new = step(make, p, over=old)
    written = Carried(s, old, new.out, make.made((8,)))
    make.state.append((make.tensors[s].name, s, written.final))
    make.nodes.append(Block(3, (new,), (written, last := Carried(a, p, new.out, make.made((8,))))))
    make.result(last.final)
    before, block, copies = block_of(staged(make.graph()).graph)
    assert before == [a]
    kept, handed = block.carried
    assert kept == written and in_place(block, kept)
    assert copies[handed.made] == new.out and handed.made in {s.out for s in block.body}


def test_a_table_that_every_instance_hands_on_is_copied_before_the_block():
    make = Maker()
    a, b = make.map((8,), fn("neg", read(make.table((8,)), var(0)))), make.table((8,))
    p, q = make.made((8,)), make.made((8,))
    x = Statement(make.made((8,)), (Piece((8,), (), at(var(0)), fn("sub", read(p, var(0)), read(q, var(0)))),))
    moved, alike = Carried(a, p, x.out, make.made((8,))), Carried(a, q, b, make.made((8,)))
    before, block, copies = block_of(staged(carrying(make, moved, alike, body=(x,))).graph)
    assert [copies.get(t) for t in before] in ([None, b], [b, None])
    assert copies[block.carried[1].made] == b and block.carried[0] == moved


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks())
def test_copies_change_nothing(case: Drawn):
    graph = staged(case.graph).graph
    tables = tables_of(case)
    before, after = evaluate(case.graph, tables), evaluate(graph, tables)
    for (name, old), (same, new) in zip(case.graph.results, graph.results, strict=True):
        assert name == same and np.array_equal(before[old].value, after[new].value, equal_nan=True)
