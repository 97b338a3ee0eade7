"""Raw pages: every element lies where the layout says, padding is zero, and reading gives back what was packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.build.pack import pack_bytes, unpack_bytes
from spatial.build.weights import dequantise_q8_0, quantise_q8_0
from spatial.errors import Bug, Refused
from spatial.ir.layout import layout_of
from spatial.numerics import precision, round_to

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 70), st.integers(1, 70))


def values_of(shape: tuple[int, int, int], prec: str, seed: int) -> npt.NDArray[Any]:
    draw = np.random.default_rng(seed)
    if prec.startswith("i"):
        return draw.integers(-100, 100, shape)
    return draw.standard_normal(shape).astype(np.float32)


def element(raw: npt.NDArray[np.uint8], offset: int, dtype: Any) -> Any:
    return raw[offset : offset + np.dtype(dtype).itemsize].view(dtype)[0]


@settings(max_examples=25, deadline=None)
@given(SHAPES, st.sampled_from(["f32", "bf16", "f16", "i8", "i32"]), st.sampled_from(["flat", "dense"]), st.data())
def test_every_element_lies_where_the_layout_says(
    shape: tuple[int, int, int], prec: str, layout: str, data: st.DataObject
) -> None:
    values = values_of(shape, prec, 1)
    raw = pack_bytes(values, shape, prec, layout, REFERENCE)
    placed = layout_of(layout, prec, shape, REFERENCE)
    assert raw.size == placed.bytes
    stored = round_to(prec, values)
    for _ in range(20):
        s, r, c = (data.draw(st.integers(0, extent - 1)) for extent in shape)
        assert element(raw, placed.plane().offset(s, r, c), precision(prec).dtype) == stored[s, r, c]
    assert np.array_equal(unpack_bytes(raw, shape, prec, layout, REFERENCE), stored)
    assert np.count_nonzero(raw.view(precision(prec).dtype)) == np.count_nonzero(stored), "padding is zero"


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 70), st.data())
def test_q8_planes_lie_where_the_layout_says(slices: int, blocks: int, cols: int, data: st.DataObject) -> None:
    depth = 32 * blocks
    shape = (slices, depth, cols)
    values = values_of((slices, cols, depth), "f32", 2)
    raw = pack_bytes(values, shape, "q8_0", "q8_0", REFERENCE)
    placed = layout_of("q8_0", "q8_0", shape, REFERENCE)
    quants, scales = quantise_q8_0(values)
    for _ in range(20):
        s, k, n = (data.draw(st.integers(0, extent - 1)) for extent in shape)
        assert element(raw, placed.plane("values").offset(s, k, n), np.int8) == quants[s, n, k]
        assert element(raw, placed.plane("scales").offset(s, k // 32, n), np.float16) == scales[s, n, k // 32]
    back = unpack_bytes(raw, shape, "q8_0", "q8_0", REFERENCE)
    assert np.array_equal(back, dequantise_q8_0(quants, scales).swapaxes(1, 2))


def test_q8_rows_beyond_one_chunk_lie_like_the_others() -> None:
    values = values_of((1, 1100, 64), "f32", 3)
    back = unpack_bytes(
        pack_bytes(values, (1, 64, 1100), "q8_0", "q8_0", REFERENCE), (1, 64, 1100), "q8_0", "q8_0", REFERENCE
    )
    assert np.array_equal(back, dequantise_q8_0(*quantise_q8_0(values)).swapaxes(1, 2))


def test_floats_are_rounded_once() -> None:
    # 1 + 2^-8 + 2^-40 lies above the middle of two bfloat16 values; by way of float32 it would seem to lie on it.
    value = np.array([1 + 2.0**-8 + 2.0**-40])
    raw = pack_bytes(value, (1, 1, 1), "bf16", "flat", REFERENCE)
    assert float(unpack_bytes(raw, (1, 1, 1), "bf16", "flat", REFERENCE)[0, 0, 0]) == 1 + 2.0**-7


def test_an_integer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(Refused, match="does not fit i8"):
        pack_bytes(np.array([128]), (1, 1, 1), "i8", "flat", REFERENCE)
    with pytest.raises(Refused, match="to 36893488147419103232 does not fit i64"):
        pack_bytes(np.array([1, 2**65], object), (1, 1, 2), "i64", "flat", REFERENCE)


def test_integers_of_any_length_are_packed_where_they_fit() -> None:
    raw = pack_bytes(np.array([-(2**63), 2**63 - 1], object), (1, 1, 2), "i64", "flat", REFERENCE)
    assert unpack_bytes(raw, (1, 1, 2), "i64", "flat", REFERENCE).tolist() == [[[-(2**63), 2**63 - 1]]]


def test_values_of_another_number_than_the_shape_are_a_bug() -> None:
    with pytest.raises(Bug, match="6 values"):
        pack_bytes(np.zeros(6), (1, 1, 7), "f32", "flat", REFERENCE)
