"""Reductions cut into chunks, as text: the whole, then its chunks and what combines them; SPATIAL_UPDATE_CASES=1 writes
the files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import Drawn, Maker, Piece, Reduction, drawn, num, read, var
from running import layouts
from support import REFERENCE

from spatial.graph.ranges import range_of_value
from spatial.ir.graph import Acc, Read, Statement, Var
from spatial.ir.text import print_body
from spatial.ir.validate import validate
from spatial.select.divided import Divisible, chunks_of, cut, divisible
from spatial.select.layouts import statements_of, store_all
from spatial.select.pieces import Stored
from spatial.select.section import select
from spatial.select.temporaries import Temporaries

HERE = Path(__file__).parent
UPDATE = os.environ.get("SPATIAL_UPDATE_CASES") == "1"


def row(op: str, extent: int, start: float | None = None) -> Drawn:
    """A row's extremum, or its place, counted from one."""
    make = Maker()
    x = make.table((extent,))
    arg = Var(var(0) + 1) if op.startswith("arg") else None
    init = None if start is None else num(start)
    acc = Reduction(op, read(x, var(0)), (), arg, init)
    make.result(make.put(make.made((), "float" if arg is None else "int"), Piece((), (extent,), (), Acc(0), (acc,))))
    return drawn(make, 0)


def found(case: Drawn) -> tuple[Divisible, dict[int, Stored]]:
    stored = store_all(case.graph, layouts(case, REFERENCE), REFERENCE)
    made = divisible(next(statements_of(case.graph)), stored, REFERENCE)
    assert made is not None
    return made, stored


def parts(case: Drawn, chunks: int) -> tuple[list[Statement], dict[int, Stored], Temporaries]:
    """The statements of a row that is cut, and all layouts."""
    whole, stored = found(case)
    work = Temporaries(list(case.graph.tensors))
    made = cut(whole, chunks, work)
    graph = replace(case.graph, tensors=tuple(work.tensors), nodes=tuple(made))
    return made, store_all(graph, layouts(case, REFERENCE), REFERENCE) | stored, work


@pytest.mark.parametrize(("name", "op"), (("divided_extremum", "max"), ("divided_first_place", "argmax_first")))
def test_chunks_read_as_they_should(name: str, op: str):
    case = row(op, 200, 0.5 if op == "max" else None)
    made, stored, _ = parts(case, 3)
    texts: list[str] = []
    for statement in (*statements_of(case.graph), *made):
        body = select(statement, stored, REFERENCE).body
        assert validate(body, REFERENCE) == []
        texts.append(print_body(body).strip() + "\n")
    text, path = "---\n".join(texts), HERE / f"{name}.chunks"
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} expects nothing yet"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("extent", (64, 200, 1999, 49152, 128256))
def test_chunks_are_as_many_as_run_at_once_and_no_more_than_each_has_pages(extent: int):
    for op, sections in (("max", 1), ("argmax_first", 2)):
        whole, _ = found(row(op, extent))
        for sites in (1, 2, 6, 64, 132):
            chunks = chunks_of(whole, sites)
            assert sections * chunks <= max(sites, sections)
            if chunks > 1:
                pages = -(-whole.pages // chunks)
                assert chunks <= pages and (chunks - 1) * pages < whole.pages <= chunks * pages


@pytest.mark.parametrize("extent", (70, 96, 1999))
def test_every_term_is_in_one_chunk(extent: int):
    """Chunks, lanes and pages meet every place once, in the order of places for each lane; what lies beyond is left
    out."""
    whole, _ = found(row("max", extent))
    for chunks in (2, 3):
        made, _, work = parts(row("max", extent), chunks)
        piece = made[0].pieces[0]
        (n, lanes), (pages,) = piece.par, piece.red
        value = piece.accs[0].value
        assert isinstance(value, Read)
        place = value.at[0].base
        met = [
            [place.at({"v0": c, "v1": lane, "v2": p}) for c in range(n) for p in range(pages)] for lane in range(lanes)
        ]
        assert all(one == sorted(one) and {k % lanes for k in one} == {lane} for lane, one in enumerate(met))
        assert sorted(k for one in met for k in one) == list(range(n * lanes * pages))
        assert (n - 1) * lanes * pages < whole.extent <= n * lanes * pages
        assert bool(piece.accs[0].guards) == (n * lanes * pages > extent)
        assert work.tensors[made[0].out].dims == (n * lanes,)


def test_places_in_a_chunk_have_the_range_of_its_length():
    made, _, work = parts(row("argmax_first", 1999), 7)
    assert work.tensors[made[1].out].range == (0, 287)
    last = made[-1].pieces[0]
    assert range_of_value(last.value, last, work.ranges) == (1, 6 * 288 + 1 + 287)
