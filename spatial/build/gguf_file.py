"""Where the tensors of a GGUF file lie, validated before anything is trusted.

Place: beside `array_files`, under `weight_files`. Walks the header in bounded steps and checks that every tensor lies
inside the file, aligned, overlapping no other; it reads no tensor. Versions 2 and 3, little-endian. Dequantising is
the `gguf` library's, its table of block sizes too.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from spatial.errors import Damaged, Unsupported

MAX_TENSORS = 100_000
MAX_PAIRS = 100_000
MAX_NAME = 65_535
MAX_RANK = 4
MAX_NESTING = 4

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True)
class TensorEntry:
    """One tensor of a file: `type` as its format calls it, `shape` outermost axis first, `offset` and `size` in bytes.

    `offset` counts from the start of file number `file` of the source; for an npz it is that of the archive's member.
    `columns_first` says that the first index runs fastest in the bytes.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    file: int
    offset: int
    size: int
    columns_first: bool = False


def gguf_entries(path: Path, file: int) -> list[TensorEntry]:
    """The tensors of the GGUF file at `path`, number `file` of its source, in the order of the header.

    Raises Damaged for a file that is not what it claims, Unsupported for a version or tensor type not read here.
    """
    with path.open("rb") as opened:
        try:
            data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise Damaged(f"{path} is empty") from None
        with data:
            return _Header(data, path).entries(file)


class _Header:
    """A cursor over the header; every read is checked against the end of the file."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data, self.path, self.at = data, path, 0

    def damaged(self, what: str) -> Damaged:
        return Damaged(f"{self.path} is no sound GGUF file: {what}", f"at byte {self.at}", "get the file again")

    def take(self, form: str) -> Any:
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise self.damaged("it ends inside its header")
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return value

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise self.damaged("it ends inside its header")
        self.at += size

    def name(self) -> str:
        size = self.take("Q")
        if size > MAX_NAME:
            raise self.damaged(f"a name of {size} bytes")
        begin = self.at
        self.skip(size)
        try:
            return self.data[begin : self.at].decode("utf-8")
        except UnicodeDecodeError:
            raise self.damaged("a name that is not UTF-8") from None

    def value(self, kind: int, depth: int = 0) -> object:
        """A metadata value; strings and arrays are stepped over and give None."""
        if kind in _SCALARS:
            return self.take(_SCALARS[kind])
        if kind == _STRING:
            self.skip(self.take("Q"))
            return None
        if kind != _ARRAY or depth == MAX_NESTING:
            raise self.damaged(f"a value of kind {kind}")
        inner, count = self.take("I"), self.take("Q")
        if inner in _SCALARS:
            self.skip(count * struct.calcsize("<" + _SCALARS[inner]))
            return None
        if count > len(self.data) - self.at:  # every element takes a byte at least
            raise self.damaged(f"an array of {count} elements")
        for _ in range(count):
            self.value(inner, depth + 1)
        return None

    def entries(self, file: int) -> list[TensorEntry]:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        if self.data[:4] != b"GGUF":
            raise self.damaged("it does not begin with GGUF")
        self.at = 4
        version, tensors, pairs = self.take("I"), self.take("Q"), self.take("Q")
        if version not in (2, 3):
            raise Unsupported(f"{self.path} is GGUF version {version}", "versions 2 and 3, little-endian, are read")
        if tensors > MAX_TENSORS or pairs > MAX_PAIRS:
            raise self.damaged(f"it claims {tensors} tensors and {pairs} pairs")
        alignment: object = 32
        for _ in range(pairs):
            key = self.name()
            value = self.value(self.take("I"))
            if key == "general.alignment":
                alignment = value
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20 or alignment & (alignment - 1):
            raise self.damaged(f"an alignment of {alignment}")
        found: list[tuple[str, tuple[int, ...], int, int]] = []
        for _ in range(tensors):
            name, rank = self.name(), self.take("I")
            if not 1 <= rank <= MAX_RANK:
                raise self.damaged(f"tensor {name} has {rank} axes")
            inner_first = [self.take("Q") for _ in range(rank)]
            found.append((name, tuple(reversed(inner_first)), self.take("I"), self.take("Q")))
        base = -(-self.at // alignment) * alignment
        made: list[TensorEntry] = []
        for name, shape, kind, offset in found:
            try:
                quantised = GGMLQuantizationType(kind)
                block, block_bytes = GGML_QUANT_SIZES[quantised]
            except (ValueError, KeyError):
                raise Unsupported(f"tensor {name} of {self.path} has the unknown type {kind}") from None
            if shape[-1] % block or offset % alignment or min(shape) < 1:
                raise self.damaged(f"tensor {name} has shape {list(shape)} at offset {offset}")
            elements = 1
            for extent in shape:
                elements *= extent
            size = elements // block * block_bytes
            if base + offset + size > len(self.data):
                raise self.damaged(f"tensor {name} reaches past the end of the file")
            made.append(TensorEntry(name, quantised.name, shape, file, base + offset, size))
        check_layout(made, self.path)
        return made


def check_layout(entries: list[TensorEntry], path: Path) -> None:
    """Raise Damaged if two tensors of one file have one name, or bytes in common."""
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            raise Damaged(f"{path} holds two tensors called {entry.name}", "", "get the file again")
        names.add(entry.name)
    ordered = sorted(entries, key=lambda e: (e.offset, e.size))
    for left, right in pairwise(ordered):
        if left.offset + left.size > right.offset:
            raise Damaged(f"in {path} the tensors {left.name} and {right.name} overlap", "", "get the file again")
