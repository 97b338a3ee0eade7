"""Templates of the main families as text, one file each beside this one; SPATIAL_UPDATE_CASES=1 writes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from graphs import Drawn, Maker, Piece, Reduction, Shape, at, decoder, drawn, fn, num, read, var, via
from running import layouts
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.ir.graph import Acc, Statement, Var
from spatial.ir.text import print_body
from spatial.ir.validate import validate
from spatial.select.emit import Template
from spatial.select.layouts import statements_of, store_all
from spatial.select.section import select
from spatial.target import Target

HERE = Path(__file__).parent
UPDATE = os.environ.get("SPATIAL_UPDATE_CASES") == "1"


def template(case: Drawn, number: int = 0, target: Target = REFERENCE) -> Template:
    stored = store_all(case.graph, layouts(case, target), target)
    return select(list(statements_of(case.graph))[number], stored, target)


def mapped() -> Drawn:
    """Rows scaled and shifted by columns."""
    make = Maker()
    x, gain, bias = make.table((40, 100)), make.table((100,)), make.table((40,))
    make.result(
        make.map((40, 100), fn("add", fn("mul", read(x, var(0), var(1)), read(gain, var(1))), read(bias, var(0))))
    )
    return drawn(make, 0)


def gather() -> Drawn:
    """A row of a table at a run-time index."""
    make = Maker()
    token, table = make.table((1,), "int", "input", (0, 49)), make.table((50, 96), role="weight")
    make.result(make.map((96,), read(table, via(token, 0), var(0))))
    return drawn(make, 0)


def rotary() -> Drawn:
    return drawn_statement(lambda s: len(s.pieces) == 2 and s.over is None)


def write() -> Drawn:
    """A chunk of rows into a table from a run-time row on, as many as count."""
    make = Maker()
    cache, x = make.table((2, 50, 48), role="state"), make.table((7, 48))
    start, count = make.table((), "int", "input", (0, 43)), make.table((), "int", "input", (0, 7))
    out = make.made((2, 50, 48))
    guard = fn("lt", Var(var(0)), read(count), kind="bool")
    piece = Piece((7, 48), (), at(1, via(start, base=var(0)), var(1)), read(x, var(0), var(1)), (), (guard,))
    make.put(out, piece, over=cache)
    make.state.append((make.tensors[cache].name, cache, out))
    return drawn(make, 0)


def reduction() -> Drawn:
    """The root of the mean square of each row."""
    make = Maker()
    x = make.table((40, 80))
    term = fn("mul", read(x, var(0), var(1)), read(x, var(0), var(1)))
    value = fn("sqrt", fn("div", Acc(0), num(80.0)))
    make.result(make.put(make.made((40,)), Piece((40,), (80,), at(var(0)), value, (Reduction("sum", term),))))
    return drawn(make, 0)


def argmax() -> Drawn:
    """The last place of the largest of some values."""
    make = Maker()
    x = make.table((100,))
    acc = Reduction("argmax_last", read(x, var(0)), (), Var(var(0)))
    make.result(make.put(make.made((), "int"), Piece((), (100,), (), Acc(0), (acc,))))
    return drawn(make, 0)


def product(rows: int, stored: str = "", kind: str = "float") -> Drawn:
    """Rows by a weight [n, k]."""
    make = Maker()
    bounds = (-128, 127) if kind == "int" else None
    x, w = make.table((rows, 96), kind, "input", bounds), make.table((70, 96), kind, "weight", bounds)
    if stored:
        make.stored[make.tensors[w].name] = stored
    term = fn("mul", read(x, var(0), var(2)), read(w, var(1), var(2)), kind=kind)
    piece = Piece((rows, 70), (96,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((rows, 70), kind), piece))
    return drawn(make, 0)


def guarded() -> Drawn:
    """Weights by table rows, of which only those up to a run-time bound take part: causal in chunks."""
    make = Maker()
    w, table = make.table((7, 50)), make.table((50, 24))
    p = make.table((), "int", "input", (0, 43))
    guard = fn("le", Var(var(2)), fn("add", read(p), Var(var(0)), kind="int"), kind="bool")
    term = fn("mul", read(w, var(0), var(2)), read(table, var(2), var(1)))
    piece = Piece((7, 24), (50,), at(var(0), var(1)), Acc(0), (Reduction("sum", term, (guard,)),))
    make.result(make.put(make.made((7, 24)), piece))
    return drawn(make, 0)


def ragged() -> Drawn:
    """Seven columns a head, side by side: one item writes all heads of its rows."""
    make = Maker()
    x, gain = make.table((40, 5, 7)), make.table((7,))
    value = fn("mul", read(x, var(0), var(1), var(2)), read(gain, var(2)))
    make.result(make.put(make.made((40, 35)), Piece((40, 5, 7), (), at(var(0), var(1, 7) + var(2)), value)))
    return drawn(make, 0)


def drawn_statement(wanted: Callable[[Statement], bool]) -> Drawn:
    """The decoder with the wanted statement put first among its block's, to be looked at alone."""
    case = decoder(Shape())
    (found,) = [s for s in statements_of(case.graph) if wanted(s)][:1]
    PICKED[id(case)] = list(statements_of(case.graph)).index(found)
    return case


PICKED: dict[int, int] = {}
FAMILIES: dict[str, tuple[Callable[[], Drawn], str]] = {
    "map": (mapped, "map"),
    "gather": (gather, "gather"),
    "rotary": (rotary, "rotary"),
    "write": (write, "write"),
    "reduction": (reduction, "reduction"),
    "argmax": (argmax, "argmax"),
    "product": (lambda: product(40), "product"),
    "product_of_one_row": (lambda: product(1), "product"),
    "product_q8_as_stored": (lambda: product(1, "q8_0"), "product"),
    "product_q8_dequantised": (lambda: product(40, "q8_0"), "product"),
    "product_of_integers": (lambda: product(1, kind="int"), "product"),
    "product_guarded": (guarded, "product"),
    "ragged": (ragged, "map"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_template_reads_as_it_should(name: str):
    make, kind = FAMILIES[name]
    case = make()
    found = template(case, PICKED.get(id(case), 0))
    assert found.kind == kind
    assert validate(found.body, REFERENCE) == []
    assert found.body.rect == (1, 1) and found.body.items.grid == found.body.items.trips
    text, path = print_body(found.body).strip() + "\n", HERE / f"{name}.template"
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} expects nothing yet"
    assert text == path.read_text(encoding="utf-8")


def test_every_file_is_of_a_family():
    assert {p.stem for p in HERE.glob("*.template")} == set(FAMILIES)


def test_layers_of_a_block_have_one_template():
    case = decoder(Shape(layers=3))
    for number, _ in enumerate(statements_of(case.graph)):
        found = template(case, number)
        assert all("b" not in f.symbols for s in found.body.stages if s.access for f in s.access.place)


def refusal(case: Drawn, target: Target = REFERENCE) -> str:
    with pytest.raises(Refused) as caught:
        template(case, 0, target)
    return "\n".join(str(p) for p in caught.value.problems)


def test_an_index_read_through_an_index_is_refused():
    make = Maker()
    a = make.table((4,), "int", "input", (0, 3))
    x = make.table((4, 8))
    make.result(make.map((8,), read(x, at(via(a, via(a, 0)))[0], var(0))))
    assert "an index is read through another index" in refusal(drawn(make, 0))


def test_two_reductions_in_one_statement_are_refused():
    make = Maker()
    x = make.table((40,))
    accs = (Reduction("sum", read(x, var(0))), Reduction("max", read(x, var(0))))
    make.result(make.put(make.made(()), Piece((), (40,), (), fn("sub", Acc(0), Acc(1)), accs)))
    assert "several reductions" in refusal(drawn(make, 0))


def test_a_blocked_weight_read_across_a_block_is_refused():
    make = Maker()
    x, w = make.table((32,)), make.table((70, 96), role="weight")
    make.stored[make.tensors[w].name] = "q8_0"
    term = fn("mul", read(x, var(1)), read(w, var(0), var(1) + 8))
    make.result(make.put(make.made((70,)), Piece((70,), (32,), at(var(0)), Acc(0), (Reduction("sum", term),))))
    assert "across the edge of a block" in refusal(drawn(make, 0))


def test_a_product_of_wide_integers_falls_back_to_a_reduction():
    make = Maker()
    bounds = (-30000, 30000)
    x, w = make.table((3, 32), "int", "input", bounds), make.table((32, 3), "int", "input", bounds)
    term = fn("mul", read(x, var(0), var(2)), read(w, var(2), var(1)), kind="int")
    make.result(
        make.put(make.made((3, 3), "int"), Piece((3, 3), (32,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),)))
    )
    case = drawn(make, 0)
    assert template(case, 0, REFERENCE).kind == "product"
    assert template(case, 0, TF32).kind == "reduction"
