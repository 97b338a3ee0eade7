"""No two items write into one granule of memory (part of obligation 9).

A write to memory covers a granule whole, so two items that own different bytes of one would undo each other's. Where
every cell of a cover is whole granules there is nothing to look at; else each stored element's granule is found.
Bindings lie at origins that are multiples of the granule (obligation 10), so an operand's own layout decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spatial.check.cover import Cover, Pages
from spatial.ir.body import Operand
from spatial.ir.layout import PlaneLayout, layout_of
from spatial.numerics import Array
from spatial.target import Target

MOST_ELEMENTS = 1 << 23
"""Elements whose granule is looked at one by one."""


def rows_apart(operand: Operand, target: Target) -> bool:
    """Whether different rows of the operand never share a granule, wherever the rows lie."""
    plane = layout_of(operand.layout, operand.prec, operand.extent, target).plane()
    return operand.layout == "flat" or plane.tile[1] * plane.itemsize % target.memory.granule == 0


def offsets_of(plane: PlaneLayout, slices: Array, rows: Array, cols: Array) -> Array:
    """Byte offsets of many elements of a plane whose tiles are row-major."""
    (th, tw), across = plane.tile, plane.tiles_across
    elements = (rows // th * across + cols // tw) * (th * tw) + rows % th * tw + cols % tw
    return slices * plane.slice_bytes + elements * plane.itemsize


def granules_apart(parts: Sequence[Pages], cover: Cover, operand: Operand, target: Target) -> str | None:
    """Nothing where items share no granule, the fault where they do, None where it can't be told.

    The pages of `parts` touch the cover's extent.
    """
    layout = layout_of(operand.layout, operand.prec, cover.extent, target)
    plane, granule = layout.plane(), target.memory.granule
    if rows_apart(operand, target) and cover.unit[1] * plane.itemsize % granule == 0:
        return ""
    items = np.concatenate([p.items for p in parts])
    if len(np.unique(items)) <= 1:
        return ""
    if sum(len(p.items) * p.page[0] * p.page[1] for p in parts) > MOST_ELEMENTS:
        return None
    pairs: list[Array] = []
    for p in parts:
        rows = (p.rows[:, None] + np.arange(p.page[0]))[:, :, None]
        cols = (p.cols[:, None] + np.arange(p.page[1]))[:, None, :]
        inside = (rows >= 0) & (rows < cover.extent[1]) & (cols >= 0) & (cols < cover.extent[2])
        offsets = offsets_of(plane, p.slices[:, None, None], rows, cols)
        owners = np.broadcast_to(p.items[:, None, None], offsets.shape)
        pairs.append(np.stack((offsets[inside] // granule, owners[inside]), axis=1))
    met = np.unique(np.concatenate(pairs), axis=0)
    shared = np.nonzero(met[1:, 0] == met[:-1, 0])[0]
    if not len(shared):
        return ""
    first = int(met[shared[0], 0])
    return f"two items write into the {granule} bytes at offset {first * granule} of {operand.name}"
