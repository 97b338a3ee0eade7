"""Where the tensors of safetensors and npz files lie, validated before anything is trusted; nothing is unpickled.

Place: beside `gguf_file`, under `weight_files`. Only element types that float32 holds exactly are read: a wider one
would be rounded in silence.
"""

from __future__ import annotations

import ast
import json
import math
import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from spatial.build.gguf_file import MAX_TENSORS, TensorEntry, check_layout
from spatial.errors import Damaged, Unsupported

MAX_HEADER = 64 << 20
"""Largest safetensors header read."""
MAX_NPY_HEADER = 4096
MAX_RANK = 8
MAX_BYTES = 1 << 46
"""Largest tensor an npz may claim, in bytes."""

SAFETENSORS_TYPES = {"F32": 4, "F16": 2, "BF16": 2}
"""Type to bytes an element."""
NPY_TYPES = {"<f4": 4, "<f2": 2}

_NPY_DESCR = re.compile(r"[<>|=]?[a-zA-Z][0-9]*")


def safetensors_entries(path: Path, file: int) -> list[TensorEntry]:
    """The tensors of the safetensors file at `path`, number `file` of its source, sorted by name.

    Raises Damaged or Unsupported.
    """

    def damaged(what: str) -> Damaged:
        return Damaged(f"{path} is no sound safetensors file: {what}", "", "get the file again")

    total = path.stat().st_size
    with path.open("rb") as opened:
        head = opened.read(8)
        (size,) = struct.unpack("<Q", head) if len(head) == 8 else (MAX_HEADER + 1,)
        if size > min(MAX_HEADER, total - 8):
            raise damaged("its header reaches past its end")
        raw = opened.read(size)

    def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)

    try:
        header: object = json.loads(raw, object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise damaged(f"its header is no JSON ({str(error)[:80]})") from None
    if not isinstance(header, dict) or len(cast("dict[str, object]", header)) > MAX_TENSORS:
        raise damaged("its header is no map of tensors")
    made: list[TensorEntry] = []
    for name, entry in sorted(cast("dict[str, object]", header).items()):
        if name == "__metadata__":
            continue
        fields = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        extents = fields.get("shape")
        shape = _shape(extents)
        match fields.get("dtype"), fields.get("data_offsets"):
            case str(kind), [int(begin), int(end)] if "shape" in fields:
                pass
            case _:
                raise damaged(f"tensor {name} is not described by dtype, shape and data_offsets")
        if kind not in SAFETENSORS_TYPES:
            raise Unsupported(
                f"tensor {name} of {path} has type {kind}", f"{', '.join(SAFETENSORS_TYPES)} are read", "convert it"
            )
        if shape is None:
            raise damaged(f"tensor {name} has shape {extents}")
        if not 0 <= begin <= end <= total - 8 - size or end - begin != math.prod(shape) * SAFETENSORS_TYPES[kind]:
            raise damaged(f"tensor {name} does not fit its place")
        made.append(TensorEntry(name, kind, shape, file, 8 + size + begin, end - begin))
    check_layout(made, path)
    return made


def npz_entries(path: Path, file: int) -> list[TensorEntry]:
    """The arrays of the npz file at `path`, number `file` of its source, sorted by name.

    Raises Damaged or Unsupported.
    """
    made: list[TensorEntry] = []
    with _archive(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_TENSORS:
            raise Damaged(f"{path} holds {len(members)} arrays")
        for member in sorted(members, key=lambda m: m.filename):
            name = member.filename.removesuffix(".npy")
            kind, shape, columns_first, begin = _npy_header(archive, member, path)
            size = math.prod(shape) * NPY_TYPES[kind]
            if size > MAX_BYTES or begin + size != member.file_size:
                raise Damaged(f"array {name} of {path} does not fill its place", "", "get the file again")
            made.append(TensorEntry(name, kind, shape, file, member.header_offset, size, columns_first))
    names = [entry.name for entry in made]
    if len(set(names)) != len(names):
        raise Damaged(f"{path} holds two arrays of one name")
    return made


def npz_bytes(path: Path, entry: TensorEntry) -> bytes:
    """The elements of an array of an npz, as bytes in the order they lie in."""
    with _archive(path) as archive:
        member = next(m for m in archive.infolist() if m.filename.removesuffix(".npy") == entry.name)
        *_, begin = _npy_header(archive, member, path)
        try:
            with archive.open(member) as opened:
                data = opened.read(begin + entry.size + 1)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, OSError) as error:
            raise Damaged(f"array {entry.name} of {path} is damaged: {error}", "", "get the file again") from None
    if len(data) != begin + entry.size:
        raise Damaged(f"array {entry.name} of {path} does not fill its place", "", "get the file again")
    return data[begin:]


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise Damaged(f"{path} is no npz file: {error}", "", "get the file again") from None


def _npy_header(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path
) -> tuple[str, tuple[int, ...], bool, int]:
    """Type, shape, whether columns lie first, and length of the header of one array (numpy's NEP 1 format)."""

    def damaged(what: str) -> Damaged:
        return Damaged(f"array {member.filename} of {path}: {what}", "", "get the file again")

    try:
        with archive.open(member) as opened:
            head = opened.read(12 + MAX_NPY_HEADER)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, OSError) as error:
        raise damaged(str(error)) from None
    if head[:6] != b"\x93NUMPY" or len(head) < 12 or head[6] not in (1, 2, 3):
        raise damaged("it is no array")
    wide = head[6] > 1
    begin = 12 if wide else 10
    (length,) = struct.unpack_from("<I" if wide else "<H", head, 8)
    if length > min(MAX_NPY_HEADER, len(head) - begin):
        raise damaged("its header is too long")
    try:
        header: Any = ast.literal_eval(head[begin : begin + length].decode("utf-8").strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise damaged("its header does not read") from None
    match header:
        case {"descr": kind, "fortran_order": bool(columns_first), "shape": extents, **rest} if not rest:
            shape = _shape(extents)
        case _:
            raise damaged("its header does not read")
    if not isinstance(kind, str) or not _NPY_DESCR.fullmatch(kind):
        raise damaged("its elements are no numbers")
    if kind not in NPY_TYPES:
        raise Unsupported(
            f"array {member.filename} of {path} has type {kind}", f"{', '.join(NPY_TYPES)} are read", "store float32"
        )
    if shape is None:
        raise damaged(f"it has shape {extents}")
    return kind, shape, columns_first, begin + length


def _shape(value: object) -> tuple[int, ...] | None:
    """`value` as a shape of 1 to `MAX_RANK` positive extents, or None if it is none."""
    extents = tuple(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else ()
    whole = tuple(n for n in extents if isinstance(n, int) and not isinstance(n, bool) and n > 0)
    return whole if whole == extents and 1 <= len(whole) <= MAX_RANK else None
