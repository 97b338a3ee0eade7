"""The wire form: records as canonical msgpack, one byte string for each value and no other.

    b"spatial", schema version (1 byte), name of the record's type (string), the record

A record is a map of all its fields, keys sorted. A union of records is [name of the type, record]; of a record and
nothing, the record or nil. Tuples are arrays, integers and lengths take their shortest form, floats are binary64 (NaN
has one form). The types' own hints are the schema, and it is closed.

Reading is strict and canonical by construction: it accepts exactly the bytes that `pack` writes, so nothing can be said
in two ways and no digest depends on who wrote it. It never allocates more than the bytes at hand account for, nests
only so deep, and runs no code of the data's choosing. Anything else is `Damaged`, with the path of the field.

Knows types and bytes; no meaning, no file.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar, cast

from spatial.errors import Bug, Damaged, Problem
from spatial.ir.wire.records import codec_of
from spatial.ir.wire.scalars import Fault, decode_string, encode_string

SCHEMA = 2
"""Version of the records' shapes; bytes of another version are not read, but rebuilt."""

MAGIC = b"spatial"
MAX_BYTES = 1 << 28
"""Bytes that are read at most, where the caller names no bound."""

T = TypeVar("T")


def pack(record: Any) -> bytes:
    """The bytes of `record`, a frozen dataclass of the ir or a target; a field of a wrong type is a `Bug`."""
    cls = cast("type[Any]", type(record))
    out = bytearray(MAGIC + bytes((SCHEMA,)))
    try:
        encode_string(cls.__name__, out, 0)
        codec_of(cls).encode(record, out, 0)
    except Fault as f:
        raise Bug(f"a record has no wire form: {f.at(cls)}: {f.what}") from None
    return bytes(out)


def unpack(data: bytes, cls: type[T], *, max_bytes: int = MAX_BYTES) -> T:
    """The record of type `cls` whose bytes `data` are; raises `Damaged` on any other bytes."""
    if len(data) > max_bytes:
        raise _damaged(f"a {cls.__name__} of {len(data)} bytes", f"at most {max_bytes} are read")
    if data[: len(MAGIC)] != MAGIC:
        raise _damaged(f"not a {cls.__name__}", "the bytes do not begin with this project's mark")
    if len(data) == len(MAGIC) or data[len(MAGIC)] != SCHEMA:
        raise _damaged(f"a {cls.__name__} of another schema version", f"version {SCHEMA} is read")
    try:
        name, at = decode_string(data, len(MAGIC) + 1, 0)
        if name != cls.__name__:
            raise Fault(f"the record is a {name}")
        record, at = codec_of(cls).decode(data, at, 0)
        if at > len(data):
            raise Fault("the bytes end too early")
        if at < len(data):
            raise Fault(f"{len(data) - at} bytes follow its end")
    except Fault as f:
        raise _damaged(f"a damaged {cls.__name__}", f"{f.at(cls)}: {f.what}") from None
    except IndexError:
        raise _damaged(f"a damaged {cls.__name__}", "the bytes end too early") from None
    return cast("T", record)


def digest(record: Any) -> str:
    """SHA-256 (hex) of the record's bytes."""
    return hashlib.sha256(pack(record)).hexdigest()


def _damaged(what: str, why: str) -> Damaged:
    return Damaged(Problem(what, why, "build it anew"))
