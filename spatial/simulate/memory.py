"""The chip's shared memory in simulation: every tensor of a program as the bytes its layout makes of it.

A tensor is one run of raw bytes (a memory-mapped weight file serves as it is); planes are typed views of it. `set` and
`get` speak in logical arrays, pages go through `paging`. Knows no body and no call.

What nobody has stored yet is poisoned (all bits one: a NaN, or -1), so that a read too early shows; state is zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spatial.errors import Bug, Refused
from spatial.ir.layout import Layout, PlaneLayout, layout_of
from spatial.ir.program import Program, Tensor
from spatial.numerics import Q8_BLOCK, Array, precision
from spatial.simulate.arithmetic import fit
from spatial.target import Target

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Plane:
    """One plane of a stored tensor: its layout, its element format `prec`, and the tensor's raw bytes."""

    layout: PlaneLayout
    prec: str
    raw: Bytes
    slices: int

    def units(self, size: int) -> Array:
        """The plane as [slices, units, size]: runs of `size` elements, counted from the start of each slice."""
        dtype = precision(self.prec).dtype
        plane = self.layout
        whole = self.elements // size
        return np.ndarray(
            (self.slices, whole, size),
            dtype,
            self.raw.data,
            plane.start,
            (plane.slice_bytes, size * plane.itemsize, plane.itemsize),
        )

    @property
    def elements(self) -> int:
        """Elements of one slice, padding included."""
        th, tw = self.layout.tile
        return -(-self.layout.rows // th) * th * self.layout.tiles_across * tw

    def row_offset(self, rows: Array) -> Array:
        """What row numbers add to an element's number within its slice."""
        th, tw = self.layout.tile
        across = th * tw * self.layout.tiles_across
        return rows // th * across + rows % th * (1 if self.layout.tile_transposed else tw)

    def col_offset(self, cols: Array) -> Array:
        """What column numbers add to an element's number within its slice."""
        th, tw = self.layout.tile
        return cols // tw * (th * tw) + cols % tw * (th if self.layout.tile_transposed else 1)

    def logical(self) -> Array:
        """[rows, columns] element numbers within a slice, in logical order."""
        rows, cols = np.arange(self.layout.rows), np.arange(self.layout.cols)
        return self.row_offset(rows)[:, None] + self.col_offset(cols)[None, :]


@dataclass(frozen=True)
class Stored:
    """A tensor in memory: its record, its layout, its bytes and planes."""

    tensor: Tensor
    layout: Layout
    raw: Bytes
    planes: Mapping[str, Plane]


class Memory:
    """The tensors of one program, held physically. Tensors of equal bytes may be shared between memories (`adopt`)."""

    def __init__(self, tensors: Iterable[Tensor], target: Target) -> None:
        self.target = target
        self._tensors = {t.name: t for t in tensors}
        self._stored: dict[str, Stored] = {}

    @staticmethod
    def of(program: Program, target: Target) -> Memory:
        """A fresh memory for `program`."""
        return Memory(program.tensors, target)

    def stored(self, name: str) -> Stored:
        """The tensor `name`; made on first use. Raises `Refused` for an input or weight that was not given."""
        if name in self._stored:
            return self._stored[name]
        tensor = self._tensor(name)
        if tensor.role in ("input", "weight"):
            raise Refused(f"the {tensor.role} {name} was not given", "", "set it before the program runs")
        return self._fresh(tensor)

    def from_bytes(self, name: str, raw: bytes | Bytes | memoryview) -> None:
        """Hold `name` as these bytes, without copying them; read-only bytes serve what is never stored."""
        tensor = self._tensor(name)
        layout = self._layout(tensor)
        held = raw if isinstance(raw, np.ndarray) else np.frombuffer(raw, np.uint8)
        if held.dtype != np.uint8 or held.ndim != 1 or held.size != layout.bytes or not held.flags.c_contiguous:
            raise Refused(
                f"{name} is {layout.bytes} bytes", f"and {held.size} were given", "pack it as its layout says"
            )
        self._stored[name] = Stored(tensor, layout, held, _planes(tensor, layout, held))

    def to_bytes(self, name: str) -> bytes:
        """The bytes of `name` as they lie in memory, padding included."""
        return self.stored(name).raw.tobytes()

    def share(self, name: str) -> Bytes:
        """The live bytes of `name`, for another memory's `from_bytes`."""
        return self.stored(name).raw

    def set(self, name: str, values: npt.ArrayLike, plane: str = "") -> None:
        """Store the logical array `values` [slices, rows, columns] into a plane ("" but for Q8_0 tensors).

        Integers are checked against the tensor's range and format, floats rounded to its format; raises `Refused`.
        """
        tensor = self._tensor(name)
        stored = self._stored.get(name) or self._fresh(tensor)
        held = self._plane(stored, plane)
        given = np.asarray(values)
        shape = (held.slices, held.layout.rows, held.layout.cols)
        if given.shape != shape:
            raise Refused(f"{name} takes an array of shape {list(shape)}", f"and was given {list(given.shape)}")
        check_range(name, given, tensor.range)
        if precision(held.prec).kind == "float" and given.dtype.kind in "iu":
            given = given.astype(np.float64)
        with np.errstate(over="ignore"):
            rounded = fit(held.prec, given)
        if rounded.dtype.kind not in "iu" and bool(np.any(np.isinf(rounded) & ~np.isinf(given))):
            raise Refused(
                f"{name} is given a number beyond {held.prec}",
                "it would become infinite",
                "give numbers the format holds",
            )
        held.units(1)[:, held.logical(), 0] = rounded

    def get(self, name: str, plane: str = "") -> Array:
        """The logical array [slices, rows, columns]; of a Q8_0 tensor a plane, or ("") float32 value times scale."""
        stored = self.stored(name)
        if stored.tensor.layout == "q8_0" and not plane:
            scales = np.repeat(self.get(name, "scales").astype(np.float32), Q8_BLOCK, axis=1)
            return self.get(name, "values").astype(np.float32) * scales
        held = self._plane(stored, plane)
        return held.units(1)[:, held.logical(), 0]

    def _tensor(self, name: str) -> Tensor:
        if name not in self._tensors:
            raise Bug(f"the program has no tensor {name}")
        return self._tensors[name]

    def _layout(self, tensor: Tensor) -> Layout:
        return layout_of(tensor.layout, tensor.prec, tensor.shape, self.target)

    def _fresh(self, tensor: Tensor) -> Stored:
        layout = self._layout(tensor)
        poisoned = tensor.role in ("result", "intermediate")
        raw: Bytes = np.full(layout.bytes, 0xFF if poisoned else 0, np.uint8)
        stored = Stored(tensor, layout, raw, _planes(tensor, layout, raw))
        self._stored[tensor.name] = stored
        return stored

    def _plane(self, stored: Stored, plane: str) -> Plane:
        if plane not in stored.planes:
            raise Bug(f"{stored.tensor.name} has no plane {plane!r}")
        return stored.planes[plane]


def check_range(name: str, values: Array, bounds: tuple[int, int] | None) -> None:
    """Refuse integer `values` of table `name` outside the inclusive `bounds` (None: any)."""
    if bounds is None or values.dtype.kind not in "iu" or not values.size:
        return
    low, high = bounds
    outside = values[(values < low) | (values > high)]
    if outside.size:
        raise Refused(f"{name} holds {int(outside.flat[0])}", f"its range is {low} to {high}", "give a value inside it")


def _planes(tensor: Tensor, layout: Layout, raw: Bytes) -> dict[str, Plane]:
    def prec(plane: str) -> str:
        return {"": tensor.prec, "values": "i8", "scales": "f16"}[plane]

    return {name: Plane(plane, prec(name), raw, tensor.shape[0]) for name, plane in layout.planes}
