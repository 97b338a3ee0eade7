"""The points of the published sweep: operation, sizes, format, target; and pins, or another room of scratch.

Every product of SmolLM2-135M, Llama-3.1-8B and Llama-3.1-70B in decode and prefill on every target; the other
operations of such models at a few of their sizes; and products of theirs with knobs pinned, operands that stay, or
64 KB of scratch. A declared list: nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

TARGETS = ("blackhole-p150", "h100", "reference", "wormhole-n150", "wormhole-n300", "xdna2")

ROWS = (1, 8, 32, 128, 512, 2048)
"""Of decode, and of prefill."""

TABLES = {
    "SmolLM2-135M": ((576, 576), (576, 192), (576, 1536), (1536, 576), (576, 49152)),
    "Llama-3.1-8B": ((4096, 4096), (4096, 1024), (4096, 14336), (14336, 4096), (4096, 128256)),
    "Llama-3.1-70B": ((8192, 8192), (8192, 1024), (8192, 28672), (28672, 8192), (8192, 128256)),
}
"""[K, N] of queries and outputs; keys and values; gate and up; down; the vocabulary."""

ATTENTION = {"SmolLM2-135M": (3, 3, 64), "Llama-3.1-8B": (8, 4, 128), "Llama-3.1-70B": (8, 8, 128)}
"""Groups, heads of one, width of a head."""

FLOATS = ("bf16", "f32")

SCRATCH = 64 << 10
"""Scratch of a point that is pressed."""

BESIDE: tuple[tuple[str, tuple[str, ...], tuple[tuple[int, ...], ...]], ...] = (
    ("add", FLOATS, ((1, 576), (32, 4096), (512, 4096), (2048, 8192))),
    ("swiglu", FLOATS, ((1, 1536), (32, 14336), (512, 1536), (512, 14336), (2048, 28672))),
    ("rotary", ("f32",), ((1, 9, 64), (32, 32, 128), (128, 9, 64), (2048, 64, 128))),
    ("row_max", FLOATS, ((9, 2048), (32, 2048), (1152, 128), (4096, 2048))),
    ("exponentials", ("f32",), ((9, 2048), (32, 2048), (1152, 128), (4096, 2048))),
    ("row_sum", ("f32",), ((9, 2048), (32, 2048), (1152, 128), (4096, 2048))),
    ("shares", ("f32",), ((9, 2048), (32, 2048), (1152, 128), (4096, 2048))),
    ("root_mean_square", FLOATS, ((1, 576), (32, 4096), (128, 576), (2048, 8192))),
    ("normalised", FLOATS, ((1, 576), (32, 4096), (128, 576), (2048, 8192))),
    ("gather", (*FLOATS, "q8_0"), ((8, 2048, 576), (1, 49152, 576), (128, 49152, 576), (512, 128256, 4096))),
    ("int_product", ("i8",), ((1, 576, 576), (32, 576, 1536), (128, 4096, 4096), (512, 8192, 1024))),
    ("argmax", FLOATS, ((49152,), (128256,))),
)
"""Operations beside products of floats: formats, sizes."""

PINNED = ((1, 576, 1536), (32, 1536, 576), (32, 4096, 14336), (128, 576, 576), (512, 4096, 1024))
PINS = (
    "resident=load_x0",
    "rect=4x4 buffers=1",
    "rect=8x8 multicast=none",
    "i1=6",
    "i0=1 l1=2 buffers=2",
    "multicast=load_x0 resident=none",
)


@dataclass(frozen=True, order=True)
class Point:
    """A point; `scratch`: bytes in place of the target's, 0 where they are its own."""

    op: str
    sizes: tuple[int, ...]
    stored: str
    target: str
    scratch: int = 0
    pins: str = ""

    @property
    def knobs(self) -> str:
        """What is pinned and pressed, in words."""
        return " ".join(filter(None, (f"scratch={self.scratch}" if self.scratch else "", self.pins)))


def points() -> list[Point]:
    """All of them, sorted."""
    return sorted({*_products(), *_beside(), *_attention(), *_pinned()})


def _products() -> Iterator[Point]:
    tables = [kn for found in TABLES.values() for kn in found]
    for target, rows, (k, n), stored in product(TARGETS, ROWS, tables, ("bf16", "f32", "q8_0")):
        yield Point("matmul", (rows, k, n), stored, target)


def _beside() -> Iterator[Point]:
    for op, formats, shapes in BESIDE:
        for target, sizes, stored in product(TARGETS, shapes, formats):
            yield Point(op, sizes, stored, target)


def _attention() -> Iterator[Point]:
    for target, op, model, rows in product(TARGETS, ("scores", "mix"), ATTENTION.values(), (1, 32, 128)):
        yield Point(op, (rows, *model, 2048), "bf16", target)


def _pinned() -> Iterator[Point]:
    for target, sizes, stored in product(TARGETS, PINNED, ("bf16", "q8_0")):
        yield Point("matmul", sizes, stored, target, SCRATCH)
        yield Point("matmul", sizes, stored, target, SCRATCH, "resident=load_x0")
    for target, sizes, pins in product(TARGETS, PINNED, PINS):
        yield Point("matmul", sizes, "bf16", target, 0, pins)
