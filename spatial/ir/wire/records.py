"""Tuples, records and unions on the wire, made from the types' own hints.

Knows dataclasses and the scalar forms; which records there are is for those who ask.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, cast

from spatial.errors import Bug
from spatial.ir.wire.scalars import (
    ARRAYS,
    MAPS,
    SCALARS,
    Decode,
    Encode,
    Fault,
    decode_head,
    decode_string,
    encode_head,
    encode_string,
    found,
    wrong,
)

MAX_DEPTH = 120
"""Records within records."""


NONE = type(None)


class Codec:
    """How values of one type are written and read; an object first, so that types may contain themselves."""

    __slots__ = ("decode", "encode")

    encode: Encode
    decode: Decode


_CODECS: dict[Any, Codec] = {}


def codec_of(hint: Any) -> Codec:
    """The codec of a type hint, made on first use."""
    codec = _CODECS.get(hint)
    if codec is None:
        codec = _CODECS[hint] = Codec()
        codec.encode, codec.decode = _made(hint)
    return codec


def _made(hint: Any) -> tuple[Encode, Decode]:
    if hint in SCALARS:
        return SCALARS[hint]
    if dataclasses.is_dataclass(hint):
        return _record(cast("type[Any]", hint))
    args = typing.get_args(hint)
    if typing.get_origin(hint) is tuple:
        return _list(args[0]) if args[-1] is Ellipsis else _tuple(args)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return _union(args)
    raise Bug(f"the wire form has no way to write {hint!r}")


def _list(hint: Any) -> tuple[Encode, Decode]:
    """Tuples of any length of one type."""
    codec = codec_of(hint)

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if not isinstance(value, tuple):
            raise wrong(value, "a tuple")
        elements = cast("tuple[Any, ...]", value)
        encode_head(len(elements), out, ARRAYS)
        for n, element in enumerate(elements):
            try:
                codec.encode(element, out, depth)
            except Fault as f:
                f.path.append(f"[{n}]")
                raise

    def decode(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        size, at = decode_head(data, at, ARRAYS)
        if size > len(data) - at:
            raise Fault(f"a list of {size} parts, more than there are bytes")
        elements: list[Any] = []
        for n in range(size):
            try:
                element, at = codec.decode(data, at, depth)
            except Fault as f:
                f.path.append(f"[{n}]")
                raise
            elements.append(element)
        return tuple(elements), at

    return encode, decode


def _tuple(hints: tuple[Any, ...]) -> tuple[Encode, Decode]:
    """Tuples of one length, each part with its own type."""
    codecs = tuple(codec_of(hint) for hint in hints)
    head = ARRAYS.short + len(codecs)

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if not isinstance(value, tuple) or len(cast("tuple[Any, ...]", value)) != len(codecs):
            raise wrong(cast("object", value), f"a tuple of {len(codecs)}")
        out.append(head)
        for n, (codec, element) in enumerate(zip(codecs, cast("tuple[Any, ...]", value), strict=True)):
            try:
                codec.encode(element, out, depth)
            except Fault as f:
                f.path.append(f"[{n}]")
                raise

    def decode(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        if data[at] != head:
            raise Fault(f"{found(data[at])} where a list of {len(codecs)} should be")
        at += 1
        elements: list[Any] = []
        for codec in codecs:
            try:
                element, at = codec.decode(data, at, depth)
            except Fault as f:
                f.path.append(f"[{len(elements)}]")
                raise
            elements.append(element)
        return tuple(elements), at

    return encode, decode


def _record(cls: type[Any]) -> tuple[Encode, Decode]:
    """Instances of one frozen dataclass."""
    hints = typing.get_type_hints(cls)
    declared = [f.name for f in dataclasses.fields(cls)]
    names = sorted(declared)
    order = [names.index(name) for name in declared]
    start = bytearray()
    encode_head(len(names), start, MAPS)
    opening = bytes(start)
    parts: list[tuple[bytes, str, Codec]] = []
    for name in names:
        key = bytearray()
        encode_string(name, key, 0)
        parts.append((bytes(key), name, codec_of(hints[name])))

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if type(value) is not cls:
            raise wrong(value, f"a {cls.__name__}")
        if depth > MAX_DEPTH:
            raise Fault(f"records nested more than {MAX_DEPTH} deep")
        out += opening
        for key, name, codec in parts:
            out += key
            try:
                codec.encode(getattr(value, name), out, depth + 1)
            except Fault as f:
                f.path.append(f".{name}")
                raise

    def decode(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH:
            raise Fault(f"records nested more than {MAX_DEPTH} deep")
        if not data.startswith(opening, at):
            size, _ = decode_head(data, at, MAPS)
            raise Fault(f"{size} fields where a {cls.__name__} has {len(names)}")
        at += len(opening)
        values: list[Any] = []
        for key, name, codec in parts:
            if not data.startswith(key, at):
                other, _ = decode_string(data, at, 0)
                raise Fault(f"the field {other!r} where {name!r} should be")
            try:
                value, at = codec.decode(data, at + len(key), depth + 1)
            except Fault as f:
                f.path.append(f".{name}")
                raise
            values.append(value)
        return cls(*[values[n] for n in order]), at

    return encode, decode


def _union(hints: tuple[Any, ...]) -> tuple[Encode, Decode]:
    """One of several types: told apart by the first byte; records by their type's name, if there are several."""
    records = {cast("type[Any]", h).__name__: codec_of(h) for h in hints if dataclasses.is_dataclass(h)}
    plain = [h for h in hints if not dataclasses.is_dataclass(h) and h is not NONE]
    others = {typing.get_origin(h) or h: codec_of(h) for h in plain}
    tagged = len(records) > 1
    nothing = NONE in hints
    if len(others) + len(records) + nothing != len(hints) or (tagged and tuple in others):
        raise Bug(f"members of the union {hints!r} can't be told apart on the wire")
    kinds = {int: "an integer", float: "a float", bool: "a truth value", str: "a string", tuple: "a list"}
    by_kind = {kinds[k]: codec for k, codec in others.items()}
    if not tagged:
        by_kind |= dict.fromkeys(("a record",), *records.values()) if records else {}
    wanted = " or ".join([*records, *by_kind, *(["nothing"] if nothing else [])])

    def encode(value: Any, out: bytearray, depth: int) -> None:
        if value is None and nothing:
            out.append(0xC0)
            return
        cls = cast("type[Any]", type(value))
        codec = records.get(cls.__name__)
        if codec is not None and tagged:
            out.append(ARRAYS.short + 2)
            encode_string(cls.__name__, out, depth)
        codec = codec or others.get(cls)
        if codec is None:
            raise wrong(value, wanted)
        codec.encode(value, out, depth)

    def decode(data: bytes, at: int, depth: int) -> tuple[Any, int]:
        head = data[at]
        if head == 0xC0 and nothing:
            return None, at + 1
        if tagged and head == ARRAYS.short + 2:
            name, at = decode_string(data, at + 1, depth)
            if name not in records:
                raise Fault(f"a {name} where {wanted} should be")
            return records[name].decode(data, at, depth)
        codec = by_kind.get(found(head))
        if codec is None:
            raise Fault(f"{found(head)} where {wanted} should be")
        return codec.decode(data, at, depth)

    return encode, decode
