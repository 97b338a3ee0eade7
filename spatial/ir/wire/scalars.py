"""Numbers, strings and lengths on the wire, each with its one form; the faults that reading and writing may meet.

Knows msgpack's bytes and no record.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

MAX_STRING = 1 << 20
"""Bytes of the longest string."""

Encode = Callable[[Any, bytearray, int], None]
"""Appends the bytes of a value, which stands that many records deep."""

Decode = Callable[[bytes, int, int], tuple[Any, int]]
"""The value whose bytes begin at a position, and the position after them."""

_NAN = struct.pack(">d", float("nan"))


class Fault(Exception):
    """What is wrong with a value; gathers its path, innermost first, while it rises."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.path: list[str] = []

    def at(self, cls: type[Any]) -> str:
        """The path from the record of type `cls` down to the value."""
        return cls.__name__ + "".join(reversed(self.path))


def wrong(value: object, what: str) -> Fault:
    """The fault of a value that is not `what` its field wants."""
    return Fault(f"{type(value).__name__} where {what} should be")


def _encode_int(value: Any, out: bytearray, depth: int) -> None:
    if type(value) is not int:
        raise wrong(value, "an integer")
    if 0 <= value < 128:
        out.append(value)
    elif -32 <= value < 0:
        out.append(value + 256)
    else:
        for head, size, low, high in _INTS:
            if low <= value <= high:
                out.append(head)
                out += value.to_bytes(size, "big", signed=head >= 0xD0)
                return
        raise Fault("an integer of more than 64 bits")


_INTS = (
    (0xCC, 1, 1 << 7, (1 << 8) - 1), (0xCD, 2, 1 << 8, (1 << 16) - 1),
    (0xCE, 4, 1 << 16, (1 << 32) - 1), (0xCF, 8, 1 << 32, (1 << 64) - 1),
    (0xD0, 1, -(1 << 7), -33), (0xD1, 2, -(1 << 15), -(1 << 7) - 1),
    (0xD2, 4, -(1 << 31), -(1 << 15) - 1), (0xD3, 8, -(1 << 63), -(1 << 31) - 1),
)  # fmt: skip
"""Long forms of integers: first byte, bytes that follow, and the values that take this form and no shorter one."""

_INT_FORMS = {head: (size, low, high) for head, size, low, high in _INTS}


def _decode_int(data: bytes, at: int, depth: int) -> tuple[int, int]:
    head = data[at]
    if head < 0x80:
        return head, at + 1
    if head >= 0xE0:
        return head - 256, at + 1
    form = _INT_FORMS.get(head)
    if form is None:
        raise Fault(f"{found(head)} where an integer should be")
    size, low, high = form
    value = int.from_bytes(data[at + 1 : at + 1 + size], "big", signed=head >= 0xD0)
    if not low <= value <= high:
        raise Fault("an integer that is not in its shortest form")
    return value, at + 1 + size


def _encode_float(value: Any, out: bytearray, depth: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(value, "a number")
    out.append(0xCB)
    out += _NAN if value != value else struct.pack(">d", value)


def _decode_float(data: bytes, at: int, depth: int) -> tuple[float, int]:
    if data[at] != 0xCB:
        raise Fault(f"{found(data[at])} where a float should be")
    raw = data[at + 1 : at + 9]
    if len(raw) < 8:
        raise Fault("the bytes end too early")
    value = struct.unpack(">d", raw)[0]
    if value != value and raw != _NAN:
        raise Fault("a NaN that is not in its one form")
    return value, at + 9


def _encode_bool(value: Any, out: bytearray, depth: int) -> None:
    if not isinstance(value, bool):
        raise wrong(value, "a truth value")
    out.append(0xC3 if value else 0xC2)


def _decode_bool(data: bytes, at: int, depth: int) -> tuple[bool, int]:
    if data[at] not in (0xC2, 0xC3):
        raise Fault(f"{found(data[at])} where a truth value should be")
    return data[at] == 0xC3, at + 1


def encode_string(value: Any, out: bytearray, depth: int) -> None:
    """Append a string."""
    if not isinstance(value, str):
        raise wrong(value, "a string")
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise Fault("a string that is no Unicode text") from None
    if len(raw) > MAX_STRING:
        raise Fault(f"a string of {len(raw)} bytes, more than {MAX_STRING}")
    encode_head(len(raw), out, STRINGS)
    out += raw


def decode_string(data: bytes, at: int, depth: int) -> tuple[str, int]:
    """The string that begins at `at`, and the position after it."""
    size, at = decode_head(data, at, STRINGS)
    if size > MAX_STRING or at + size > len(data):
        raise Fault(f"a string of {size} bytes, more than there are or may be")
    try:
        return data[at : at + size].decode(), at + size
    except UnicodeDecodeError:
        raise Fault("a string that is no UTF-8") from None


SCALARS: dict[Any, tuple[Encode, Decode]] = {
    int: (_encode_int, _decode_int),
    float: (_encode_float, _decode_float),
    bool: (_encode_bool, _decode_bool),
    str: (encode_string, decode_string),
}


@dataclasses.dataclass(frozen=True)
class _Heads:
    """How lengths of one kind of thing begin: short ones in the first byte, others (first byte, bytes that follow)."""

    what: str
    short: int
    shortest: int
    long: tuple[tuple[int, int], ...]


STRINGS = _Heads("a string", 0xA0, 32, ((0xD9, 1), (0xDA, 2), (0xDB, 4)))
ARRAYS = _Heads("a list", 0x90, 16, ((0xDC, 2), (0xDD, 4)))
MAPS = _Heads("a record", 0x80, 16, ((0xDE, 2), (0xDF, 4)))


def encode_head(size: int, out: bytearray, heads: _Heads) -> None:
    """Append the length of something."""
    if size < heads.shortest:
        out.append(heads.short + size)
        return
    for head, width in heads.long:
        if size < 1 << 8 * width:
            out.append(head)
            out += size.to_bytes(width, "big")
            return
    raise Fault(f"{heads.what} of {size} parts")


def decode_head(data: bytes, at: int, heads: _Heads) -> tuple[int, int]:
    """The length that begins at `at`, and the position after it."""
    head = data[at]
    if heads.short <= head < heads.short + heads.shortest:
        return head - heads.short, at + 1
    least = heads.shortest
    for mark, width in heads.long:
        if head == mark:
            size = int.from_bytes(data[at + 1 : at + 1 + width], "big")
            if size < least:
                raise Fault("a length that is not in its shortest form")
            return size, at + 1 + width
        least = 1 << 8 * width
    raise Fault(f"{found(head)} where {heads.what} should be")


def found(head: int) -> str:
    """What a value beginning with the byte `head` is."""
    if head < 0x80 or head >= 0xE0 or head in _INT_FORMS:
        return "an integer"
    for heads in (STRINGS, ARRAYS, MAPS):
        if heads.short <= head < heads.short + heads.shortest or head in dict(heads.long):
            return heads.what
    return {0xC0: "nothing", 0xC2: "a truth value", 0xC3: "a truth value", 0xCB: "a float"}.get(head, "a foreign value")
