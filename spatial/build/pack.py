"""Weights and constant fills as raw pages: the bytes a chip's memory starts with, in the agreed layout.

Place: between the values of a tensor (`weights`, fills) and the store; the inverse of what a load reads. Knows
`ir.layout` and number formats, nothing of names, files, programs or of how a layout came to be agreed.

A tensor's values come in the shape programs index. Grouped row-major they are [slices, rows, columns]; a Q8_0 tensor
comes as [.., N, K], its blocks along K, and lies as [slices, K, N].
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from spatial.build.weights import BLOCK, dequantise_q8_0, quantise_q8_0
from spatial.errors import Bug, Refused
from spatial.ir.layout import Layout, PlaneLayout, ceil_div, layout_of
from spatial.numerics import int_range, is_float, precision, round_to
from spatial.target import Target

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]

Shape = tuple[int, int, int]

CHUNK_ROWS = 512
"""Rows quantised at once, whole blocks: their temporaries then stay in the processor's cache."""


def pack_bytes(values: Array, shape: Shape, prec: str, layout: str, target: Target) -> Bytes:
    """`values` as the bytes of a tensor of `shape` = (slices, rows, columns), `prec` and `layout` on `target`.

    Floats are rounded once to `prec`, to nearest even; integers must fit it. Padding is zero. Raises Refused for a
    value that does not fit.
    """
    import numpy as np

    if values.size != prod(shape):
        raise Bug(f"{values.size} values for a tensor of shape {list(shape)}")
    placed = layout_of(layout, prec, shape, target)
    raw = np.zeros(placed.bytes, np.uint8)
    if layout == "q8_0":
        _pack_q8(values, shape, placed, raw)
        return raw
    rounded = round_to(prec, values) if is_float(prec) else _whole(values, prec)
    plane = plane_view(raw, placed.plane(), shape[0], rounded.dtype)
    _write(plane, rounded.reshape(shape))
    return raw


def unpack_bytes(raw: Bytes, shape: Shape, prec: str, layout: str, target: Target) -> Array:
    """The values [slices, rows, columns] that `pack_bytes` laid out; a Q8_0 tensor in float32, as [slices, K, N]."""
    import numpy as np

    placed = layout_of(layout, prec, shape, target)
    if raw.size != placed.bytes:
        raise Bug(f"{raw.size} bytes for a tensor of {placed.bytes}")
    slices, rows, cols = shape
    if layout == "q8_0":
        values = _read(plane_view(raw, placed.plane("values"), slices, np.dtype(np.int8)), rows, cols)
        scales = _read(plane_view(raw, placed.plane("scales"), slices, np.dtype(np.float16)), rows // BLOCK, cols)
        return dequantise_q8_0(values.swapaxes(1, 2), scales.swapaxes(1, 2)).swapaxes(1, 2)
    return _read(plane_view(raw, placed.plane(), slices, np.dtype(precision(prec).dtype)), rows, cols)


def plane_view(raw: Bytes, plane: PlaneLayout, slices: int, dtype: np.dtype[Any]) -> Array:
    """A window on `raw` whose element [s, i, r, j, c] is lane (r, c) of tile (i, j) of slice s of `plane`."""
    import numpy as np

    (th, tw), size = plane.tile, plane.itemsize
    lanes = (size, th * size) if plane.tile_transposed else (tw * size, size)
    tile = th * tw * size
    return np.ndarray(
        (slices, ceil_div(plane.rows, th), th, plane.tiles_across, tw),
        dtype,
        raw.data,
        plane.start,
        (plane.slice_bytes, plane.tiles_across * tile, lanes[0], tile, lanes[1]),
    )


def _write(plane: Array, values: Array) -> None:
    """Put `values` [slices, rows, columns] into the window `plane`, whose lanes past them stay as they are."""
    _, down, th, across, tw = plane.shape
    _, rows, cols = values.shape
    for i, r in _halves(rows, th, down):
        for j, c in _halves(cols, tw, across):
            part = values[:, i.start * th : i.stop * th, j.start * tw : j.stop * tw]
            shape = (len(values), i.stop - i.start, r, j.stop - j.start, c)
            plane[:, i, :r, j, :c] = part.reshape(shape)


def _halves(extent: int, tile: int, tiles: int) -> list[tuple[slice, int]]:
    """The whole tiles along an axis of `extent`, and the one that is not: slices of tiles, and the lanes used."""
    whole, rest = min(tiles, extent // tile), extent % tile
    found = [(slice(0, whole), tile)] if whole else []
    return [*found, (slice(whole, whole + 1), rest)] if rest else found


def _read(plane: Array, rows: int, cols: int) -> Array:
    slices, down, th, across, tw = plane.shape
    return plane.reshape(slices, down * th, across * tw)[:, :rows, :cols]


def _pack_q8(values: Array, shape: Shape, placed: Layout, raw: Bytes) -> None:
    """Quantise `values`, [slices * N, K] row-major, and lay out both planes, `CHUNK_ROWS` rows of N at a time."""
    import numpy as np

    slices, depth, cols = shape
    if depth % BLOCK:
        raise Bug(f"a Q8_0 tensor of depth {depth}")
    quants = plane_view(raw, placed.plane("values"), slices, np.dtype(np.int8))
    scales = plane_view(raw, placed.plane("scales"), slices, np.dtype(np.float16))
    rows = values.reshape(slices, cols, depth)
    for s in range(slices):
        for n in range(0, cols, CHUNK_ROWS):
            q, d = quantise_q8_0(rows[s, n : n + CHUNK_ROWS])
            _write(quants[s : s + 1, :, :, n // BLOCK :, :], q.T[None])
            scales[s, :, 0, 0, n : n + len(d)] = d.T


def _whole(values: Array, prec: str) -> Array:
    """Integer `values`, of machine words or of Python, in the format `prec`. Raises Refused where one does not fit."""
    low, high = int_range(prec)
    if values.dtype.kind not in "iubO":
        raise Bug(f"values of type {values.dtype} for integers {prec}")
    if values.size and not low <= int(values.min()) <= int(values.max()) <= high:
        raise Refused(f"an integer from {values.min()} to {values.max()} does not fit {prec}")
    return values.astype(precision(prec).dtype)
