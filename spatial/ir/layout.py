"""Where each element of a tensor lies in memory: sizes, strides and the injective map from elements to bytes.

Layouts. "flat": rows one after the other, each padded to the memory's granule. "dense": tiles of the target's shape in
row-major order, each tile row-major, edges padded. "q8_0": two planes, int8 values [K, N] then float16 scales
[K/32, N]; values lie in 32 x 32 tiles, each tile N-major (the 32 values of a block are contiguous); scales lie in rows
of N padded to the alignment. Slices follow each other, each padded to the alignment.

Which bank of the memory an element lies in: a plane is dealt to the banks in stretches of its bytes, or by width:
`strip` columns of tiles from top to bottom in one bank, as many in the next, so that a reader beside a bank has columns
of its own (`docs/timing.md`). Q8_0 values, the tables of decode, are dealt by width where the target has strips and
readers beside the banks then read the fullest bank sooner than readers anywhere would read the table. That hangs on the
shape alone, so it is the same for all programs that share a table.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.errors import Bug
from spatial.numerics import Q8_BLOCK, precision
from spatial.target import Target


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up, of non-negative integers."""
    return -(-a // b)


def round_up(a: int, unit: int) -> int:
    """The least multiple of `unit` that is not below a."""
    return ceil_div(a, unit) * unit


@dataclass(frozen=True)
class PlaneLayout:
    """One plane of elements of `itemsize` bytes: element (slice, row, col) at byte `offset(…)`.

    A dense plane has `tile` = (rows, columns) and `tile_transposed` (elements of a tile column-major); a flat one has
    tile (1, pitch): a row is one run of `pitch` elements. `start` is the plane's first byte in a slice,
    `slice_bytes` the distance of slices. `strip`: columns of tiles that lie together in a bank, of every slice from
    bank 0 on; 0 where stretches of bytes do.
    """

    rows: int
    cols: int
    itemsize: int
    tile: tuple[int, int]
    tile_transposed: bool
    tiles_across: int
    start: int
    slice_bytes: int
    strip: int = 0

    def offset(self, s: int, r: int, c: int) -> int:
        """Byte offset in the tensor of element (s, r, c)."""
        th, tw = self.tile
        tr, ir = divmod(r, th)
        tc, ic = divmod(c, tw)
        inner = ic * th + ir if self.tile_transposed else ir * tw + ic
        return s * self.slice_bytes + self.start + ((tr * self.tiles_across + tc) * th * tw + inner) * self.itemsize

    def run(self) -> int:
        """Elements of a row that are contiguous in memory at most (1 where a tile is column-major)."""
        return 1 if self.tile_transposed else self.tile[1]


@dataclass(frozen=True)
class Layout:
    """The planes of a tensor by name ("" for the one plane of flat and dense) and its size in bytes."""

    planes: tuple[tuple[str, PlaneLayout], ...]
    bytes: int

    def plane(self, name: str = "") -> PlaneLayout:
        """The plane of that name."""
        return dict(self.planes)[name]


def layout_of(layout: str, prec: str, shape: tuple[int, int, int], target: Target) -> Layout:
    """The layout of a tensor of `shape` = (slices, rows, columns) on `target`."""
    slices, rows, cols = shape
    th, tw = target.tile
    align = target.memory.align
    match layout:
        case "flat":
            size = precision(prec).bytes
            pitch = round_up(cols * size, target.memory.granule) // size
            slice_bytes = round_up(rows * pitch * size, align)
            plane = PlaneLayout(rows, cols, size, (1, pitch), False, 1, 0, slice_bytes)
            return Layout((("", plane),), slices * slice_bytes)
        case "dense":
            size = precision(prec).bytes
            across = ceil_div(cols, tw)
            slice_bytes = round_up(ceil_div(rows, th) * across * th * tw * size, align)
            plane = PlaneLayout(rows, cols, size, (th, tw), False, across, 0, slice_bytes)
            return Layout((("", plane),), slices * slice_bytes)
        case "q8_0":
            across = ceil_div(cols, Q8_BLOCK)
            value_bytes = round_up(ceil_div(rows, Q8_BLOCK) * across * Q8_BLOCK * Q8_BLOCK, align)
            pitch = round_up(cols * 2, align) // 2
            slice_bytes = value_bytes + round_up(ceil_div(rows, Q8_BLOCK) * pitch * 2, align)
            strip = _strip(across, target)
            values = PlaneLayout(rows, cols, 1, (Q8_BLOCK, Q8_BLOCK), True, across, 0, slice_bytes, strip)
            scales = PlaneLayout(rows // Q8_BLOCK, cols, 2, (1, pitch), False, 1, value_bytes, slice_bytes)
            return Layout((("values", values), ("scales", scales)), slices * slice_bytes)
        case _:
            raise Bug(f"no layout is called {layout!r}")


def _strip(across: int, target: Target) -> int:
    """Columns of tiles that lie together in a bank, of a plane of `across`; 0 where it is not dealt by width."""
    memory = target.memory
    rounds, rest = divmod(across, max(memory.strip * memory.banks, 1))
    fullest = rounds * memory.strip + min(rest, memory.strip)
    sooner = fullest * memory.banks * memory.unplaced < across * memory.rate
    return memory.strip if sooner and across >= memory.banks else 0
