"""A lowering tells honestly what it did, and gives a program only when it did all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphs import Drawn, Maker, Shape, at, decoder, drawn, fn, num, read, var
from running import SMALL, layouts, lifted, lowered
from support import REFERENCE

from spatial.errors import Refused
from spatial.ir.graph import NAMED, Graph, Lifted, Missing, Origin, Piece
from spatial.lowering import Options, lower


def with_powers(good: int, bad: int) -> Drawn:
    """`good` statements that lower and `bad` that no section computes, alternating as far as both last."""
    make = Maker()
    x = make.table((64,))
    for n in range(max(good, bad)):
        if n < good:
            make.result(make.map((64,), fn("add", read(x, var(0)), num(float(n)))))
        if n < bad:
            make.result(make.map((64,), fn("pow", read(x, var(0)), read(x, var(0)))))
    return drawn(make, 0)


def named(case: Drawn) -> Lifted:
    origins = tuple(Origin(n, -1, f"name{n}", "source.lg", n + 1, 5, 2 * n) for n in range(len(case.graph.nodes)))
    return replace(lifted(case.graph), origins=origins)


def test_one_unsupported_statement_makes_the_lowering_partial():
    case = with_powers(2, 1)
    result = lower(named(case), layouts(case, REFERENCE), REFERENCE)
    assert (result.statements, result.lowered, result.sections) == (3, 2, 2)
    assert result.program is None and result.whole() is None
    assert [(m.statement, m.binder, m.file, m.line, m.column) for m in result.missing] == [
        (2, "name1", "source.lg", 2, 5)
    ]
    assert result.missing[0].why.startswith("a power of run-time values")
    assert result.refusal().startswith("lowered 2 of 3 statements; not lowered: source.lg:2:5 `name1` (")
    with pytest.raises(Refused, match="lowered 2 of 3"):
        result.into_whole()


def test_a_refusal_names_six_and_counts_the_rest():
    case = with_powers(0, NAMED + 3)
    result = lower(named(case), layouts(case, REFERENCE), REFERENCE)
    assert (result.lowered, result.sections, len(result.missing)) == (0, 0, NAMED + 3)
    text = result.refusal()
    assert all(f"`name{n}`" in text for n in range(NAMED))
    assert f"`name{NAMED}`" not in text
    assert text.endswith("and 3 more")


def test_what_the_lifter_missed_is_missing_here_too():
    missing = (Missing(1, "y", "unrecognized", "it loops until a float is small", file="a.lg", line=3, column=1),)
    result = lower(Lifted(None, (), 3, 0, 0, 0, missing), {}, REFERENCE)
    assert (result.statements, result.lowered, result.program) == (3, 0, None)
    assert result.missing == missing
    assert result.refusal().startswith("lowered 0 of 3 statements; not lowered: a.lg:3:1 `y` (")


def test_a_source_without_tensor_statements_is_refused():
    make = Maker()
    make.table((3,))
    case = drawn(make, 0)
    result = lowered(case, REFERENCE)
    assert result.program is None and result.whole() is None
    assert (result.statements, result.lowered, result.sections) == (0, 0, 0)
    assert "no statement" in result.refusal()
    with pytest.raises(Refused):
        result.into_whole()


def test_sections_of_a_block_count_once_an_instance():
    result = lowered(decoder(Shape(layers=3)), REFERENCE)
    kinds = dict(result.kinds)
    assert kinds["product"] == 3 * 9 + 1
    assert kinds["argmax"] == 1
    assert result.sections == sum(kinds.values())
    assert result.state == ("k_cache", "v_cache")


def test_only_wanted_results_are_named():
    case = with_powers(3, 0)
    program = lowered(case, REFERENCE, Options(results=frozenset({"result1"}))).into_whole()
    assert [n for n, _, _ in program.results] == ["result1"]
    assert {t.name for t in program.tensors if t.role == "result"} == {"result1"}


def test_a_statement_that_fits_no_site_is_missing_with_its_buffers():
    tiny = replace(SMALL, scratch=2048)
    make = Maker()
    a, b = make.table((64, 64)), make.table((64, 64))
    make.result(make.map((64, 64), fn("add", read(a, var(0), var(1)), read(b, var(0), var(1)))))
    result = lowered(drawn(make, 0), tiny)
    assert result.program is None
    assert "no plan of this section fits: scratch needs" in result.missing[0].why
    assert "x0 (load_x0): 1 x 4096" in result.missing[0].why


def test_a_value_outside_a_tables_range_is_refused():
    make = Maker()
    table = make.table((8,), "int", "state", (0, 9))
    x = make.table((8,), "int", "input", (0, 9))
    out = make.made((8,), "int")
    value = fn("add", read(x, var(0)), num(1), kind="int")
    make.put(out, Piece((8,), (), at(var(0)), value), over=table)
    make.state.append((make.tensors[table].name, table, out))
    result = lowered(drawn(make, 0), REFERENCE)
    assert result.program is None
    assert f"table `{make.tensors[table].name}` may be given values" in result.missing[0].why


def test_a_tensor_that_is_no_state_is_written_in_part_along_its_axes_only():
    make = Maker()
    x = make.table((42,))
    y = make.map((42,), fn("neg", read(x, var(0))))
    out = make.made((42,))
    make.put(out, Piece((5,), (), at(var(0, 5) + 3), num(0.0)), over=y)  # 42 is no multiple of 5
    make.result(out)
    result = lowered(drawn(make, 0), REFERENCE)
    assert (result.statements, result.lowered, result.program) == (2, 1, None)
    assert "a tensor that is no state is written in part, at places that follow none of its axes" in result.refusal()


def test_lowering_never_raises_for_what_a_source_says():
    case = with_powers(1, 1)
    empty = Graph(case.graph.tensors, (), (), ())
    for graph in (case.graph, empty):
        lower(lifted(graph), layouts(case, REFERENCE), REFERENCE)
