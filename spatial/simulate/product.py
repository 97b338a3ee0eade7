"""Page products on a target's matrix datapath.

The meaning, in `accumulate`: operands are rounded to `matrix.operand` on entry (float pages), k ascends, each product
is rounded to the accumulator's format and then added, the sum rounded again. Integer products are exact; an accumulator
that leaves its format is refused. `fold` computes the same numbers for a whole stream of pages: it only arranges
independent lanes into long vectors, and the order in which each lane is summed stays. Knows no stage and no tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as tuples
from math import prod

import numpy as np

from spatial.errors import Refused
from spatial.numerics import Array, int_range, is_float, round_to
from spatial.simulate.arithmetic import fit
from spatial.target import Target

_LEAF = 1 << 15
"""Accumulator lanes worked on at once: sums, products and the operand's slab then stay in a second-level cache."""
_SLAB = 1 << 18
_TERMS = 1 << 16
"""Products made in one go before they are added: few enough not to leave the cache, where calls would cost more."""


def operand_rounding(target: Target) -> str:
    """What float operands are rounded to, "" where every page's float32 value passes as it is."""
    return "" if target.matrix.operand in ("f32", "none", "") else target.matrix.operand


def accumulate(acc: Array, a: Array, b: Array, target: Target, transpose_b: bool = False) -> Array:
    """`acc` [..., m, n] plus the product of `a` [..., m, k] and `b` [..., k, n] ([..., n, k] when `transpose_b`).

    Leading axes broadcast. Returns float32 holding values of the float accumulator's format, or int64.
    """
    if transpose_b:
        b = b.swapaxes(-1, -2)
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return _accumulate_ints(acc, a, b, target.matrix.int_accumulate)
    _same_kind(a, b)
    rounding, kept = operand_rounding(target), target.matrix.float_accumulate
    x, y = _operand(a, rounding), _operand(b, rounding)
    total = acc.astype(np.float32, copy=False)
    for k in range(a.shape[-1]):
        term = _kept(x[..., :, k : k + 1] * y[..., k : k + 1, :], kept)
        total = _kept(total + term, kept)
    return total


def fold(
    a: Array,
    b: Array,
    steps: Sequence[tuple[int, int]],
    init: float | int,
    target: Target,
    exact: tuple[bool, bool] = (False, False),
    stored: str = "i64",
) -> Array:
    """Accumulate a stream of products: `a` [axes…, m, k], `b` [axes…, k, n], an axis being whole or of size 1.

    `steps`: (axis, extent) of the axes summed over, outermost first; the others are independent. `stored`: the format
    an integer total must fit after every step. `exact`: which operand is known to pass the operand rounding unchanged.
    Returns [axes…, m, n] with the summed axes of size 1.
    """
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return _fold_ints(a, b, steps, int(init), target, stored)
    _same_kind(a, b)
    summed = {axis for axis, _ in steps}
    axes = [x for x in range(a.ndim - 2) if x not in summed]
    lead = [1 if x in summed else max(a.shape[x], b.shape[x]) for x in range(a.ndim - 2)]
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), np.float32)
    named = operand_rounding(target)
    rounding = ("" if exact[0] else named, "" if exact[1] else named)
    order = _Order(axes, tuple(steps), float(init), rounding, target.matrix.float_accumulate)
    order.solve(a, b, out)
    return out


class _Order:
    """One float `fold`: the axes, and how its lanes are split and summed."""

    def __init__(
        self, axes: list[int], steps: tuple[tuple[int, int], ...], init: float, rounding: tuple[str, str], kept: str
    ) -> None:
        self.axes, self.steps, self.init, self.rounding, self.kept = axes, steps, init, rounding, kept

    def solve(self, a: Array, b: Array, out: Array) -> None:
        """Fill `out`, in halves along its longest axis until a piece is small enough."""
        slab = prod(b.shape[x] for x in self.axes) * b.shape[-1] * b.shape[-2]
        if out.size > _LEAF or slab > _SLAB:
            axis = max(self.axes, key=lambda x: out.shape[x], default=-1)
            if axis >= 0 and out.shape[axis] > 1:
                half = out.shape[axis] // 2
                for part in (slice(0, half), slice(half, None)):
                    cut = (slice(None),) * axis + (part,)
                    self.solve(a[cut] if a.shape[axis] > 1 else a, b[cut] if b.shape[axis] > 1 else b, out[cut])
                return
        self._sum(a, b, out)

    def _sum(self, a: Array, b: Array, out: Array) -> None:
        # Axes both operands have stay apart (g); what only one has joins its own lanes, so that the innermost
        # vectors are long: out[g, m, n] += a[g, m, 1] * b[g, 1, n] for each k.
        both = [x for x in self.axes if a.shape[x] > 1 and b.shape[x] > 1]
        left = [x for x in self.axes if a.shape[x] > 1 and b.shape[x] == 1]
        right = [x for x in self.axes if a.shape[x] == 1 and b.shape[x] > 1]
        rest = [x for x in self.axes if a.shape[x] == 1 and b.shape[x] == 1]
        sums = [x for x, _ in self.steps]
        last = a.ndim - 1
        k_count = a.shape[-1]
        g, m, n = prod(a.shape[x] for x in both), a.shape[-2], b.shape[-1]
        m, n = m * prod(a.shape[x] for x in left), n * prod(b.shape[x] for x in right)
        a_view = a.transpose(*sums, last, *both, *left, last - 1, *right, *rest)
        b_view = b.transpose(*sums, last - 1, *both, *right, last, *left, *rest)
        total = np.full((g, m, n), self.init, np.float32)
        term = np.empty_like(total)
        native = self.kept == "f32"
        for at in tuples(*(range(extent) for _, extent in self.steps)):
            x = _slab(a_view, at, (k_count, g, m, 1), self.rounding[0])
            y = _slab(b_view, at, (k_count, g, 1, n), self.rounding[1])
            if native and k_count * total.size <= _TERMS:
                for terms in x * y:
                    np.add(total, terms, out=total)
                continue
            for k in range(k_count):
                np.multiply(x[k], y[k], out=term)
                if native:
                    np.add(total, term, out=total)
                else:
                    total = _kept(total + _kept(term, self.kept), self.kept)
        # out's axes in the order of `total`'s, so that the result lands in one strided copy.
        shape = [*(out.shape[x] for x in both), *(out.shape[x] for x in left), out.shape[-2]]
        shape += [*(out.shape[x] for x in right), out.shape[-1]]
        out.transpose(*both, *left, last - 1, *right, last, *rest, *sums)[...] = total.reshape(
            *shape, *([1] * (len(rest) + len(sums)))
        )


def _slab(view: Array, at: tuple[int, ...], shape: tuple[int, ...], rounding: str) -> Array:
    chosen = view[tuple(i if size > 1 else 0 for i, size in zip(at, view.shape, strict=False))]
    run = np.ascontiguousarray(chosen).reshape(shape)
    return _operand(run, rounding)


def _operand(page: Array, rounding: str) -> Array:
    wide = page.astype(np.float32, copy=False)
    return round_to(rounding, wide).astype(np.float32, copy=False) if rounding else wide


def _kept(values: Array, prec: str) -> Array:
    return values if prec == "f32" else round_to(prec, values).astype(np.float32)


def _same_kind(a: Array, b: Array) -> None:
    if a.dtype.kind in "iub" or b.dtype.kind in "iub":
        raise Refused(
            "a product of a float page and an integer page",
            "both enter the matrix datapath as one kind",
            "convert one of them first",
        )


def _fold_ints(a: Array, b: Array, steps: Sequence[tuple[int, int]], init: int, target: Target, stored: str) -> Array:
    total = np.full((1,) * a.ndim, init, np.int64)
    for at in tuples(*(range(extent) for _, extent in steps)):
        cut_a, cut_b = [slice(None)] * a.ndim, [slice(None)] * b.ndim
        for (axis, _), i in zip(steps, at, strict=True):
            cut_a[axis] = slice(i, i + 1) if a.shape[axis] > 1 else slice(None)
            cut_b[axis] = slice(i, i + 1) if b.shape[axis] > 1 else slice(None)
        total = _accumulate_ints(total, a[tuple(cut_a)], b[tuple(cut_b)], target.matrix.int_accumulate)
        fit(stored, total)
    return total


def _accumulate_ints(acc: Array, a: Array, b: Array, prec: str) -> Array:
    """Exact integer accumulation in int64; refused where any partial sum leaves `prec`."""
    if not is_float(prec):
        low, high = int_range(prec)
    else:
        raise Refused(f"integer products accumulate in {prec}", "which is no integer format")
    grown = _magnitude(a) * _magnitude(b) * a.shape[-1]
    reach = _magnitude(acc) + grown
    if reach <= high:
        # No partial sum can leave the format: any exact method serves.
        if grown < 1 << 53:
            return acc + np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
        return acc + np.matmul(a.astype(np.int64), b.astype(np.int64))
    total, x, y = acc.astype(object), a.astype(object), b.astype(object)
    for k in range(a.shape[-1]):
        total = total + x[..., :, k : k + 1] * y[..., k : k + 1, :]
        if bool(np.any((total < low) | (total > high))):
            raise Refused(
                f"an accumulator leaves {prec}, the matrix datapath's integer format",
                "partial sums count, not the last one alone",
            )
    return total.astype(np.int64)


def _magnitude(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
