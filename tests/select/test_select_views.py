"""How tensors lie: views are what reshaping and transposing make, choices cover most lanes, programs must agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import Drawn, Index, Maker, Piece, Reduction, Shape, at, decoder, drawn, fn, num, read, var, via
from hypothesis import given, settings
from hypothesis import strategies as st
from running import layouts
from support import REFERENCE

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, GraphTensor, Num, Shown
from spatial.select.granules import shared_along
from spatial.select.lanes import Lane, page_read
from spatial.select.layouts import Request, agree, classes, dense_tables, number_format, statements_of, store_all
from spatial.select.pieces import Stored, fusable, place_piece
from spatial.select.section import select
from spatial.select.views import Use, View, choose_view, divisor_tile


@st.composite
def views(draw: st.DrawFn) -> View:
    dims = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=4)))
    a = draw(st.integers(0, len(dims)))
    b = draw(st.integers(a, len(dims)))
    perm = tuple(draw(st.permutations(range(len(dims)))))
    return View(dims, (a, b), draw(st.booleans()), perm)


@settings(max_examples=200, deadline=None)
@given(views())
def test_a_view_is_a_transposition_and_a_reshape(view: View):
    numbers = np.arange(int(np.prod(view.dims)), dtype=np.int64).reshape(view.dims)
    s, r, c = view.shape
    lying = numbers.transpose(view.order)
    lying = lying.reshape((s, c, r)).transpose(0, 2, 1) if view.swap else lying.reshape((s, r, c))
    for index in np.ndindex(*view.dims):
        place = tuple(p.base.const for p in view.place(at(*index)))
        assert lying[place] == numbers[index]


def test_a_run_time_index_keeps_its_stride():
    view = View((5, 6, 7), (0, 1))
    _, rows, cols = view.place(at(via(0, scale=2), 3, var(0)))
    assert (rows.scale, rows.via is not None) == (2, True)
    assert (cols.base, cols.via) == (var(0) + 21, None)


def use(indices: list, extents: tuple[int, ...], par: int, **more) -> Use:
    return Use(at(*indices), extents, par, **more)


def test_the_view_covers_most_lanes():
    matrix = choose_view((64, 96), [use([var(0), var(1)], (64, 96), 2)], 0, False, False, (32, 32))
    assert matrix.shape == (1, 64, 96)
    heads = use([var(0), var(1), var(2)], (4, 8, 64), 3, fusable=frozenset({(0, 1)}))
    assert choose_view((4, 8, 64), [heads], 0, False, False, (32, 32)).shape == (1, 32, 64)
    layered = use([Affine.sym("b"), var(0), var(1)], (50, 48), 2)
    assert choose_view((3, 50, 48), [layered], 1, False, False, (32, 32)).shape == (3, 50, 48)
    row_values = use([var(0)], (40, 80), 1)
    assert choose_view((40,), [row_values], 0, True, False, (32, 32)).shape == (1, 40, 1)


def test_pieces_that_interleave_cover_what_lies_between():
    """Pairs of neighbours, turned, lie as they are read: not with what stands on other heads side by side."""
    read_whole = use([var(0), var(1), var(2)], (40, 32, 128), 2)
    for step, perm in ((1, (0, 2, 1)), (2, ())):
        turned = [use([var(0), var(1), var(2, 2) + j], (40, 32, 64), 3, step=step) for j in (0, 1)]
        assert choose_view((40, 32, 128), [*turned, read_whole], 0, False, True, (32, 32)).perm == perm


@pytest.mark.parametrize("heads", (9, 32))
def test_scores_of_turned_queries_are_a_product(heads: int):
    make = Maker()
    q, k = make.table((40, heads * 128)), make.table((300, 128))
    cos, sin = (read(make.table((40, 64)), var(0), var(2)) for _ in range(2))
    low, high = (read(q, var(0), var(1, 128) + var(2, 2) + j) for j in (0, 1))
    pairs = (
        fn("sub", fn("mul", low, cos), fn("mul", high, sin)),
        fn("add", fn("mul", low, sin), fn("mul", high, cos)),
    )
    pieces = [Piece((40, heads, 64), (), at(var(0), var(1), var(2, 2) + j), v) for j, v in enumerate(pairs)]
    turned = make.put(make.made((40, heads, 128)), *pieces)
    term = fn("mul", read(turned, var(0), var(1), var(3)), read(k, var(2), var(3)))
    score = Piece((40, heads, 300), (128,), at(var(0), var(1), var(2)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((40, heads, 300)), score))
    case = drawn(make, 0)
    stored = store_all(case.graph, layouts(case, REFERENCE), REFERENCE)
    templates = [select(s, stored, REFERENCE) for s in statements_of(case.graph)]
    assert [t.kind for t in templates] == ["rotary", "product"]
    assert all(not s.loops for s in templates[0].body.stages)


def test_only_intermediates_change_the_order_of_their_dimensions():
    turned = [use([var(1), var(2), var(0)], (4, 40, 64), 3)]
    assert choose_view((40, 64, 4), turned, 0, False, False, (32, 32)).perm == ()
    middle = [use([var(0), var(1), var(2)], (40, 2, 2), 3), use([var(0), 0, var(1)], (40, 2), 2)] * 2
    assert choose_view((40, 2, 2), middle, 0, False, False, (32, 32)).perm == ()


def test_columns_a_guard_switches_become_rows():
    plain = use([var(0), 0], (33,), 1)
    assert choose_view((33, 1), [plain], 0, False, False, (32, 32)).shape == (1, 1, 33)
    assert choose_view((33, 1), [replace(plain, upright=frozenset({0}))], 0, False, False, (32, 32)).shape == (
        1,
        33,
        1,
    )


@given(st.integers(1, 500), st.integers(1, 64))
def test_divisor_tile(extent: int, most: int):
    tile = divisor_tile(extent, most)
    assert tile <= most and extent % tile == 0
    assert not any(extent % t == 0 for t in range(tile + 1, min(extent, most) + 1))


# ---------------------------------------------------------------- lanes and granules


def places(*indices, dims: tuple[int, ...] = (64, 64, 64)):
    return View(dims, (1, 2)).place(at(*indices))


def test_pages_face_the_lanes():
    row, col = Lane(0, 32, 64), Lane(1, 32, 64)
    whole, turned = page_read(places(0, var(0), var(1)), row, col), page_read(places(0, var(1), var(0)), row, col)
    assert whole is not None and whole.page == (32, 32) and not whole.transposed
    assert turned is not None and turned.page == (32, 32) and turned.transposed
    across, down = page_read(places(0, 3, var(1)), row, col), page_read(places(0, var(0), 3), row, col)
    assert across is not None and across.page == (1, 32)
    assert down is not None and down.page == (32, 1)
    assert page_read(places(0, var(0) + var(1), 0), row, col) is None
    assert page_read(places(0, var(0, 2), var(1)), row, col) is None
    assert page_read(places(0, via(9, var(0)), var(1)), row, col) is None


def test_interleaved_lanes_are_spread():
    row, col = Lane(), Lane(0, 8, 4, 2)
    odd = page_read(places(0, 0, var(0, 2) + 1), row, col)
    assert odd is not None and odd.page == (1, 8)
    assert odd.spread == (1, 1, 3, 3, 5, 5, 7, 7) and odd.offset == 1
    each = page_read(places(0, 0, var(0)), row, col)
    assert each is not None and each.page == (1, 4) and each.spread == (0, 0, 1, 1, 2, 2, 3, 3)


def stored(prec: str = "f32", *dims: int) -> Stored:
    return Stored("t", View(dims, (0, len(dims) - 1)), prec, "flat")


def shared(out: Stored, *place: Index, extents: tuple[int, ...] = (3, 7, 10)) -> frozenset[int]:
    """The variables along which one item must run by itself, columns running along variable 1."""
    piece = Piece(extents, (), at(*place), Num(0.0, "float"))
    indices = {9: Stored("r", View((16,), (0, 0)), "i32", "flat", (0, 1))}
    return shared_along(place_piece(piece, out, indices), Lane(1, extents[1], extents[1]), out, REFERENCE)


def test_items_along_ragged_columns_stay_together():
    out = stored("f32", 3, 90)
    assert shared(out, var(0), var(2, 9) + var(1)) == {2}
    assert shared(replace(out, prec="i8"), var(0), var(2, 9) + var(1)) == {2}
    assert shared(out, var(0), var(2, 8) + var(1)) == frozenset()
    assert shared(replace(out, prec="i8"), var(0), var(2, 8) + var(1)) == {2}
    assert shared(out, var(0), var(2, 8) + var(1) + 1) == {2}


def test_items_that_may_meet_at_a_run_time_place_stay_together():
    out = stored("f32", 20, 90)
    assert shared(out, var(0), via(9, 0, base=var(2, 8) + var(1))) == {0, 1, 2}
    assert shared(out, via(9, var(0)), var(2, 8) + var(1)) == {0, 1, 2}
    assert shared(out, via(9, 0, base=var(0)), var(2, 8) + var(1)) == frozenset(), "one index moves all rows alike"
    assert shared(out, via(9, 0, base=var(0) + var(2)), var(1)) == {0, 1, 2}


def test_items_that_come_back_to_a_row_stay_together_where_columns_are_ragged():
    out = stored("f32", 20, 90)
    assert shared(out, var(0) + var(2), var(2, 9) + var(1)) == {0, 2}
    assert shared(out, var(0, 10) + var(2), var(2, 9) + var(1)) == {2}
    assert shared(out, var(0) + var(2), var(2, 8) + var(1)) == frozenset()


def test_variables_that_always_go_together_are_one():
    def pairs(par: Shape, red: Shape, *forms: Affine) -> list[tuple[int, int]]:
        return fusable(Piece(par, red, at(var(0)), num(1.0)), par + red, forms)

    assert pairs((4, 8, 64), (), var(0, 8) + var(1), var(2)) == [(0, 1)]
    assert pairs((4,), (8,), var(0, 8) + var(1)) == []
    assert pairs((8, 4), (), var(1, 8) + var(0)) == [(1, 0)]
    out = stored("f32", 32, 64)
    piece = Piece((4, 8, 64), (), at(var(0, 8) + var(1), var(2)), num(1.0))
    placed = place_piece(piece, out, {})
    assert placed.extents == (1, 32, 64) and placed.par_vars() == [1, 2]


def test_variables_are_one_only_in_the_order_of_the_loops_where_that_shows():
    def written(par: Shape, *forms: Affine) -> list[tuple[int, int]]:
        return fusable(Piece(par, (), at(via(0)), num(1.0)), par, forms)

    assert written((4, 8), var(0, 8) + var(1)) == [(0, 1)]
    assert written((8, 4), var(1, 8) + var(0)) == []
    assert written((4, 5, 8), var(0, 8) + var(2), var(1)) == []
    assert written((4, 1, 8), var(0, 8) + var(2)) == [(0, 2)]

    def best(op: str, *forms: Affine) -> list[tuple[int, int]]:
        found = Reduction(op, num(1.0), arg=None if op == "max" else num(1.0))
        return fusable(Piece((4, 8), (5, 3), at(var(1)), num(1.0), (found,)), (4, 8, 5, 3), forms)

    assert best("max", var(0, 8) + var(1), var(3, 5) + var(2)) == [(0, 1), (3, 2)]
    assert best("argmax_first", var(0, 8) + var(1), var(3, 5) + var(2)) == [(0, 1)]
    assert best("argmax_first", var(1, 4) + var(0), var(2, 3) + var(3)) == [(1, 0), (2, 3)]


# ---------------------------------------------------------------- agreement


def matmul_of(rows: int, name: str = "w", dims: tuple[int, int] = (96, 64), role: str = "weight") -> Drawn:
    """x [rows, k] times the table `name` [n, k]."""
    make = Maker()
    n, k = dims
    x = make.tensor((rows, k), "float", "input", f"x{rows}")
    w = make.tensor(dims, "float", role, name)
    term = fn("mul", read(x, var(0), var(2)), read(w, var(1), var(2)))
    piece = Piece((rows, n), (k,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((rows, n)), piece))
    return drawn(make, 0)


def test_programs_agree_on_shared_tables():
    graphs = {"prefill": matmul_of(32).graph, "decode": matmul_of(1).graph}
    both = agree(graphs, Request(), REFERENCE)
    assert set(both) == {"w", "x1", "x32"}
    assert both["w"].layout == "dense" and both["w"].view.shape == (1, 96, 64)
    assert agree(dict(reversed(graphs.items())), Request(), REFERENCE) == both


@pytest.mark.parametrize(
    ("other", "what"),
    (
        (matmul_of(2, dims=(96, 32)), r"dims of table `w`: \(96, 64\) and \(96, 32\)"),
        (matmul_of(2, role="input"), "role of table `w`: weight and input"),
    ),
)
def test_a_conflict_names_both_programs_and_the_table(other: Drawn, what: str):
    with pytest.raises(Refused, match=f"programs `prefill` and `decode` disagree on the {what}"):
        agree({"prefill": matmul_of(1).graph, "decode": other.graph}, Request(), REFERENCE)


def test_all_conflicts_come_at_once():
    with pytest.raises(Refused) as caught:
        agree({"a": matmul_of(1).graph, "b": matmul_of(2, dims=(1, 32), role="input").graph}, Request(), REFERENCE)
    assert len(caught.value.problems) == 2


def test_a_quantised_weight_is_blocked_along_its_last_axis():
    found = agree({"p": matmul_of(1).graph}, Request({"w": "q8_0"}), REFERENCE)["w"]
    assert (found.layout, found.prec) == ("q8_0", "q8_0")
    assert found.view.shape == (1, 64, 96)
    with pytest.raises(Refused, match="weight `w` of shape \\[96, 50\\] cannot be stored q8_0"):
        agree({"p": matmul_of(1, dims=(96, 50)).graph}, Request({"w": "q8_0"}), REFERENCE)


def test_a_deployment_may_say_which_tables_are_dense():
    case = matmul_of(32)
    assert dense_tables(case.graph, REFERENCE) == {"w", "x32"}
    found = agree({"p": case.graph}, Request(dense=frozenset()), REFERENCE)
    assert found["x32"].layout == "flat" and found["w"].layout == "dense"


def test_a_cache_is_sliced_by_layer():
    found = layouts(decoder(Shape(layers=3, positions=50)), REFERENCE)
    assert found["k_cache"].view.shape == (3, 50, 48)
    assert found["norm0"].view.shape == (3, 1, 96)


def test_integers_take_the_narrowest_format_of_their_range():
    def format_of(kind: str, bounds: tuple[int, int] | None, asked: str | None = None) -> str:
        return number_format(GraphTensor((3,), kind, "input", "x", bounds), asked, REFERENCE)

    assert format_of("int", (0, 127)) == "i8"
    assert format_of("int", (0, 128)) == "i16"
    assert format_of("int", (-(1 << 31), 0)) == "i32"
    assert format_of("int", None) == "i64"
    assert format_of("float", None) == "f32"
    assert format_of("float", None, "bf16") == "bf16"


def test_what_is_read_from_outside_keeps_its_order_and_the_rest_shares_memory():
    make = Maker()
    x = make.table((40, 2, 64))
    y = make.map((2, 64, 40), read(x, var(2), var(0), var(1)))
    z = make.map((40, 2, 64), fn("neg", read(y, var(1), var(2), var(0))))
    make.result(z)
    case = drawn(make, 0)
    stored_as = store_all(case.graph, layouts(case, REFERENCE), REFERENCE)
    assert stored_as[z].view.perm == ()
    shown = replace(case.graph, results=(), shows=(Shown((y,)),))
    assert store_all(shown, layouts(case, REFERENCE), REFERENCE)[y].view.perm == ()


def test_tensors_handed_on_are_one_class():
    graph = decoder(Shape()).graph
    cls = classes(graph)
    for _, first, last in graph.state:
        assert cls[first] == cls[last] == first
