"""Tensors as bytes: layouts, planes, ranges; pages gathered and scattered like their plain meaning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.errors import Bug, Refused
from spatial.ir.layout import layout_of
from spatial.ir.program import Tensor
from spatial.simulate.memory import Memory
from spatial.simulate.paging import gather, prepare, read_page, scatter, write_page


def memory_of(layout: str, shape: tuple[int, int, int], prec: str = "f32", role: str = "state") -> Memory:
    return Memory((Tensor("x", shape, prec, role, layout),), REFERENCE)


@pytest.mark.parametrize("layout", ("flat", "dense"))
@pytest.mark.parametrize("prec", ("f32", "bf16", "f16", "i8", "i64"))
def test_set_get_and_the_layouts_own_offsets_agree(layout: str, prec: str):
    shape = (2, 37, 45)
    memory = memory_of(layout, shape, prec)
    values = np.random.default_rng(0).integers(-100, 100, shape)
    memory.set("x", values)
    assert (memory.get("x").astype(np.int64) == values).all()
    plane = layout_of(layout, prec, shape, REFERENCE).plane()
    raw = memory.to_bytes("x")
    dtype = memory.get("x").dtype
    for at in ((0, 0, 0), (1, 36, 44), (0, 31, 32), (1, 32, 31)):
        start = plane.offset(*at)
        assert np.frombuffer(raw[start : start + plane.itemsize], dtype)[0] == values[at]


def test_bytes_serve_without_a_copy():
    memory = memory_of("dense", (1, 40, 40), role="weight")
    raw = np.arange(layout_of("dense", "f32", (1, 40, 40), REFERENCE).bytes, dtype=np.uint8)
    memory.from_bytes("x", raw)
    assert memory.share("x") is raw
    frozen = raw.tobytes()
    memory.from_bytes("x", frozen)
    assert memory.to_bytes("x") == frozen
    assert np.shares_memory(memory.share("x"), np.frombuffer(frozen, np.uint8))
    with pytest.raises(Refused, match="bytes"):
        memory.from_bytes("x", frozen[:-1])


def test_q8_planes_and_their_product():
    memory = memory_of("q8_0", (2, 64, 40), "q8_0", "weight")
    rng = np.random.default_rng(1)
    values, scales = rng.integers(-127, 128, (2, 64, 40)), rng.random((2, 2, 40)).astype(np.float16)
    memory.set("x", values, "values")
    memory.set("x", scales, "scales")
    assert (memory.get("x", "values") == values).all()
    expected = values.astype(np.float32) * np.repeat(scales, 32, axis=1).astype(np.float32)
    assert memory.get("x").tobytes() == expected.tobytes()
    plane = layout_of("q8_0", "q8_0", (2, 64, 40), REFERENCE).plane("values")
    block = np.frombuffer(memory.to_bytes("x"), np.int8)[plane.offset(1, 32, 5) :][:32]
    assert (block == values[1, 32:64, 5]).all(), "the 32 values of a block are contiguous"
    with pytest.raises(Bug):
        memory.set("x", values)


def test_what_nobody_stored_is_poison_and_state_is_zero():
    assert math.isnan(memory_of("flat", (1, 1, 3), role="intermediate").get("x")[0, 0, 0])
    assert memory_of("flat", (1, 1, 3)).get("x").tolist() == [[[0, 0, 0]]]
    with pytest.raises(Refused, match="x was not given"):
        memory_of("flat", (1, 1, 3), role="weight").get("x")


def test_a_value_outside_its_range_is_named():
    memory = Memory((Tensor("token", (1, 1, 2), "i32", "input", "flat", (0, 9)),), REFERENCE)
    with pytest.raises(Refused, match=r"token holds 12; its range is 0 to 9"):
        memory.set("token", np.array([[[3, 12]]]))
    with pytest.raises(Refused, match="shape"):
        memory.set("token", np.array([[3, 1]]))
    wide = Memory((Tensor("n", (1, 1, 1), "i8", "input", "flat"),), REFERENCE)
    with pytest.raises(Refused, match="300 does not fit i8"):
        wide.set("n", np.array([[[300]]]))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_many_pages_at_once_are_the_pages_one_by_one(data: st.DataObject):
    layout = data.draw(st.sampled_from(("flat", "dense", "q8_0")))
    rows, cols = data.draw(st.integers(1, 3)) * 32, data.draw(st.integers(1, 100))
    if layout != "q8_0":
        rows = data.draw(st.integers(1, 80))
    memory = memory_of(layout, (3, rows, cols), "q8_0" if layout == "q8_0" else "f32")
    name = data.draw(st.sampled_from(("values", "scales"))) if layout == "q8_0" else ""
    plane = memory.stored("x").planes[name]
    shape = memory.get("x", name).shape
    memory.set("x", np.random.default_rng(3).integers(-99, 99, shape), name)
    page = data.draw(st.sampled_from(((32, 32), (1, 32), (32, 1), (2, 8), (1, 1), (8, 32))))
    step_r, step_c = data.draw(st.sampled_from((1, page[0], 32))), data.draw(st.sampled_from((1, page[1])))
    origin = (data.draw(st.integers(0, 1)), data.draw(st.sampled_from((0, 32))) if shape[1] > 32 else 0, 0)
    extent = (2, shape[1] - origin[1] - data.draw(st.integers(0, 3)), shape[2] - data.draw(st.integers(0, 3)))
    one = data.draw(st.booleans())
    s = np.zeros((1, 1), np.int64) if one else np.array([[0], [1], [2]])
    r = np.arange(-1, 2)[:, None] * step_r if not one else np.zeros((1, 1), np.int64)
    c = np.arange(4)[None, :] * step_c
    alive = data.draw(st.sampled_from((None, np.array([[True, False, True, True]]))))
    at = prepare(plane, page, extent, (s, r, c), alive)
    found = gather(plane, at, origin)
    blank = np.zeros(page, found.dtype)
    where = [np.broadcast_to(x, at.shape) for x in (s, r, c, True if alive is None else alive)]
    for i in np.ndindex(at.shape):
        place = (int(where[0][i]), int(where[1][i]), int(where[2][i]))
        expected = read_page(plane, page, origin, extent, place) if where[3][i] else blank
        assert found[i].tobytes() == expected.tobytes()
    fresh = np.random.default_rng(4).integers(-9, 9, (*at.shape, *page)).astype(found.dtype)
    keep = data.draw(st.sampled_from((None, np.arange(page[0])[:, None] % 2 == 0)))
    before = memory.share("x").copy()
    for i in np.ndindex(at.shape):
        if where[3][i]:
            place = (int(where[0][i]), int(where[1][i]), int(where[2][i]))
            lanes = np.broadcast_to(np.bool_(True) if keep is None else keep, page)
            write_page(plane, origin, extent, place, fresh[i], lanes)
    expected = memory.to_bytes("x")
    memory.share("x")[:] = before
    scatter(plane, at, origin, fresh, keep)
    assert memory.to_bytes("x") == expected


def test_a_dense_binding_starts_at_a_tile():
    memory = memory_of("dense", (1, 64, 64))
    plane = memory.stored("x").planes[""]
    zero = np.zeros((1, 1), np.int64)
    at = prepare(plane, (32, 32), (1, 32, 32), (zero, zero, zero), None)
    with pytest.raises(Refused, match="whole tiles"):
        gather(plane, at, (0, 5, 0))


def test_a_finite_number_that_would_become_infinite_is_refused():
    tensor = Tensor("x", (1, 1, 2), "f32", "input", "flat")
    memory = Memory([tensor], REFERENCE)
    with pytest.raises(Refused, match="beyond f32"):
        memory.set("x", np.array([[[1.0, 1e300]]]))
    memory.set("x", np.array([[[np.inf, 1e38]]]))
    assert np.isinf(memory.get("x")[0, 0, 0])
