"""Canonical msgpack: one encoding for each value, so that equal values have equal bytes and equal digests.

Place: under `store`. Holds None, booleans, integers of 64 bits, finite floats, text, bytes, lists and maps with text
keys. Keys are sorted, integers take their shortest form, floats are always binary64, tuples are lists. Reading refuses
any other form of the same value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from spatial.errors import Bug, Damaged

MAX_DEPTH = 64


def encode(value: object) -> bytes:
    """The canonical bytes of `value`. Raises Bug for what has no canonical form."""
    import msgpack  # pyright: ignore[reportMissingTypeStubs]

    packer: Any = msgpack
    try:
        return packer.packb(_ordered(value, MAX_DEPTH), use_bin_type=True)
    except OverflowError:
        raise Bug("an integer past 64 bits has no canonical form") from None


def decode(data: bytes, what: str) -> Any:
    """The value of canonical bytes. Raises Damaged, naming `what`, for bytes that are not exactly those of a value."""
    import msgpack  # pyright: ignore[reportMissingTypeStubs]

    packer: Any = msgpack
    try:
        value = packer.unpackb(data, raw=False, strict_map_key=True)
        same = encode(value) == data
    except (ValueError, TypeError, RecursionError, packer.exceptions.UnpackException, Bug):
        same, value = False, None
    if not same:
        raise Damaged(f"{what} is not canonical msgpack")
    return value


def digest(data: bytes) -> str:
    """SHA-256 of `data`, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _ordered(value: object, depth: int) -> object:
    if depth == 0:
        raise Bug(f"a value more than {MAX_DEPTH} deep has no canonical form")
    match value:
        case None | bool() | int() | str() | bytes():
            return value
        case float():
            if not math.isfinite(value):
                raise Bug(f"{value} has no canonical form")
            return value
        case Mapping():
            items = cast("Mapping[object, object]", value)
            if not all(isinstance(key, str) for key in items):
                raise Bug("a map with keys that are not text has no canonical form")
            return {key: _ordered(items[key], depth - 1) for key in sorted(cast("Mapping[str, object]", value))}
        case Sequence():
            return [_ordered(item, depth - 1) for item in cast("Sequence[object]", value)]
        case _:
            raise Bug(f"a {type(value).__name__} has no canonical form")
