"""What numbers there are: precisions, their storage, their rounding, and the Q8_0 block format.

Ground floor: imports only `errors`. It knows numpy's types and nothing of chips, tensors or sections; which precision
a datapath has is the target's to say. Every rounding here is to nearest, ties to even, and saturates nowhere: an
integer that does not fit its width is an error of the prover, never wrapped in silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from spatial.errors import Bug

Array = npt.NDArray[Any]

Q8_BLOCK = 32
"""Values per Q8_0 block, along the reduced axis (ggml's QK8_0)."""


@dataclass(frozen=True)
class Precision:
    """A number format: `bits` stored, `kind` "float" or "int", and the numpy type that holds it in memory."""

    name: str
    kind: str
    bits: int
    dtype: Any

    @property
    def bytes(self) -> int:
        """Bytes one element takes in memory."""
        return self.bits // 8


PRECISIONS: dict[str, Precision] = {
    p.name: p
    for p in (
        Precision("f32", "float", 32, np.dtype(np.float32)),
        Precision("bf16", "float", 16, np.dtype(ml_dtypes.bfloat16)),
        Precision("f16", "float", 16, np.dtype(np.float16)),
        Precision("i8", "int", 8, np.dtype(np.int8)),
        Precision("i16", "int", 16, np.dtype(np.int16)),
        Precision("i32", "int", 32, np.dtype(np.int32)),
        Precision("i64", "int", 64, np.dtype(np.int64)),
    )
}
"""The storable element formats, by the words specs, targets and manifests use."""

INTEGERS = ("i8", "i16", "i32", "i64")
"""Integer formats, narrowest first."""


def precision(name: str) -> Precision:
    """The format called `name`; a name that is none is a bug of the caller (texts are checked where they are read)."""
    if name not in PRECISIONS:
        raise Bug(f"no precision is called {name!r}")
    return PRECISIONS[name]


def is_float(name: str) -> bool:
    """Whether the format called `name` is a floating one ("tf32", an operand rounding, is too)."""
    return name == "tf32" or precision(name).kind == "float"


def int_range(name: str) -> tuple[int, int]:
    """Least and greatest value of the integer format `name`."""
    bits = precision(name).bits
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def narrowest(interval: tuple[int, int], allowed: tuple[str, ...] = INTEGERS) -> str | None:
    """The narrowest of the integer formats `allowed` that holds every value of `interval`, or None."""
    for name in INTEGERS:
        low, high = int_range(name)
        if name in allowed and low <= interval[0] and interval[1] <= high:
            return name
    return None


def round_tf32(values: Array) -> Array:
    """float32 `values` rounded to TF32 (8 exponent bits, 10 explicit fraction bits), kept in float32.

    Works on the bit pattern: adds half a unit of the 13 dropped bits (ties to even) and clears them. Infinities and
    NaNs pass unchanged.
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    return np.where(special, bits, rounded).view(np.float32)


def round_to(name: str, values: Array) -> Array:
    """`values` rounded to the format `name`, in that format's memory type ("tf32": in float32)."""
    if name == "tf32":
        return round_tf32(values)
    if name in ("bf16", "f16") and values.dtype.kind in "iu":
        values = _int_sticky(values)
    if name == "bf16" and values.dtype == np.float64:
        values = _odd_f32(values)
    return values.astype(precision(name).dtype, copy=False)


def _odd_f32(values: Array) -> Array:
    """float64 `values` cut to float32, inexact ones to the odd neighbour: a later rounding to 16 bits is then exact.

    The conversion of the library to bfloat16 goes through float32 and would round twice.
    """
    wide = np.ascontiguousarray(values)
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.int32) - (np.abs(back) > np.abs(wide))
    inexact = (back != wide) & np.isfinite(wide) & np.isfinite(back)
    return np.where(inexact, (bits | 1).astype(np.int32), near.view(np.int32)).view(np.float32).reshape(values.shape)


def _int_sticky(values: Array) -> Array:
    """Integers as float64, those beyond 2^53 cut to the odd neighbour (see `_odd_f32`)."""
    wide = values.astype(np.int64)
    cut = (wide & ~0x7FF) | (((wide & 0x7FF) != 0).astype(np.int64) << 11)
    return np.where(np.abs(wide) >> 53 != 0, cut, wide).astype(np.float64)
