"""Page products: order, rounding and exactness, page by page and as folded streams."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.numerics import round_tf32
from spatial.simulate.product import accumulate, fold
from spatial.target import Target

BF16 = replace(REFERENCE, matrix=replace(REFERENCE.matrix, operand="bf16", float_accumulate="bf16"))


def test_k_ascends_and_every_product_is_rounded_before_it_is_added():
    a = np.array([[1e8, 1.0, -1e8, 3.1]], np.float32)
    b = np.array([[1.0], [1.0], [1.0], [1.7]], np.float32)
    total = np.float32(0)
    for k in range(4):
        total = np.float32(total + np.float32(a[0, k] * b[k, 0]))
    assert accumulate(np.zeros((1, 1), np.float32), a, b, REFERENCE)[0, 0] == total


def test_operands_are_rounded_on_entry():
    a, b = np.array([[1.0 + 2**-12]], np.float32), np.array([[3.0 + 2**-11]], np.float32)
    found = accumulate(np.zeros((1, 1), np.float32), a, b, TF32)
    assert found == round_tf32(a) * round_tf32(b) == 3.0
    assert accumulate(np.zeros((1, 1), np.float32), a, b, REFERENCE) > 3.0


def test_transposed_pages():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    zero = np.zeros((2, 4), np.float32)
    assert accumulate(zero, a, b.T, REFERENCE, True).tobytes() == accumulate(zero, a, b, REFERENCE).tobytes()


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from((REFERENCE, TF32, BF16)))
def test_a_folded_stream_is_its_pages_one_after_the_other(data: st.DataObject, target: Target):
    count = data.draw(st.integers(1, 4))
    whole = [data.draw(st.integers(1, 3)) for _ in range(count)]
    summed = sorted(data.draw(st.sets(st.integers(0, count - 1))))
    has = [[data.draw(st.booleans()) for _ in range(count)] for _ in range(2)]
    m, k, n = (data.draw(st.integers(1, 5)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a = rng.standard_normal((*(e if h else 1 for e, h in zip(whole, has[0], strict=True)), m, k)).astype(np.float32)
    b = rng.standard_normal((*(e if h else 1 for e, h in zip(whole, has[1], strict=True)), k, n)).astype(np.float32)
    found = fold(a, b, [(x, whole[x]) for x in summed], 0.25, target)
    wide_a, wide_b = np.broadcast_to(a, (*whole, m, k)), np.broadcast_to(b, (*whole, k, n))
    wide = np.broadcast_to(found, (*(1 if x in summed else e for x, e in enumerate(whole)), m, n))
    for at in np.ndindex(*(1 if x in summed else e for x, e in enumerate(whole))):
        total = np.full((m, n), 0.25, np.float32)
        for step in np.ndindex(*(whole[x] for x in summed)):
            page = list(at)
            for x, i in zip(summed, step, strict=True):
                page[x] = i
            total = accumulate(total, wide_a[tuple(page)], wide_b[tuple(page)], target)
        assert total.tobytes() == wide[at].tobytes()


def test_large_folds_are_cut_without_changing_a_bit():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((1, 3, 2, 32)).astype(np.float32)
    b = rng.standard_normal((40, 3, 32, 64)).astype(np.float32)
    whole = fold(a, b, [(1, 3)], 0.0, REFERENCE)
    parts = [fold(a, b[i : i + 1], [(1, 3)], 0.0, REFERENCE) for i in range(40)]
    assert whole.tobytes() == np.concatenate(parts).tobytes()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 20), st.sampled_from(("i8", "i16", "i32")))
def test_integer_products_are_exact(seed: int, prec: str):
    rng = np.random.default_rng(seed)
    bound = {"i8": 127, "i16": 32767, "i32": (1 << 31) - 1}[prec]
    a, b = rng.integers(-bound, bound + 1, (2, 3, 4)), rng.integers(-bound, bound + 1, (2, 4, 5))
    exact = sum(a.astype(object)[..., :, k : k + 1] * b.astype(object)[..., k : k + 1, :] for k in range(4))
    fits = all(abs(int(v)) < 1 << 61 for v in np.ravel(exact))
    if fits:
        assert (accumulate(np.zeros((2, 3, 5), np.int64), a, b, REFERENCE) == exact).all()
        assert (fold(a, b, [(0, 2)], 7, REFERENCE)[0] == exact.sum(0) + 7).all()


def test_a_partial_sum_that_leaves_the_accumulator_is_refused():
    a, b = np.array([[1 << 16, 1 << 16]]), np.array([[1 << 15], [-(1 << 15)]])
    assert accumulate(np.zeros((1, 1), np.int64), a, b, REFERENCE).tolist() == [[0]]
    with pytest.raises(Refused, match="accumulator leaves i32"):
        accumulate(np.zeros((1, 1), np.int64), a, b, TF32)
    with pytest.raises(Refused, match="accumulator leaves i32"):
        fold(a[None], b[None], [(0, 1)], 0, TF32)


def test_pages_of_two_kinds_are_refused():
    with pytest.raises(Refused, match="float page and an integer page"):
        accumulate(np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32), np.ones((1, 1), np.int64), REFERENCE)


def test_a_float_product_stays_near_the_exact_one():
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((3, 32)).astype(np.float32), rng.standard_normal((32, 4)).astype(np.float32)
    found = accumulate(np.zeros((3, 4), np.float32), a, b, REFERENCE)
    for i in range(3):
        for j in range(4):
            terms = [Fraction(float(a[i, k])) * Fraction(float(b[k, j])) for k in range(32)]
            bound = 33 * 2**-24 * sum(abs(t) for t in terms)
            assert abs(Fraction(float(found[i, j])) - sum(terms)) <= bound
