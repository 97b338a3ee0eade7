"""Whether a value is the record its type says: the first thing asked of an artifact.

Part of obligation 1. Everything after this file may rely on fields having their declared types, on tuples being
tuples, on integers below 2^62 and on nesting no deeper than `MOST_NESTED`. Knows no meaning of any field.
"""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

MOST_NESTED = 120
"""Records inside records; deeper expressions are refused before anything walks them."""

LARGEST = 1 << 62


def misfits(value: object, hint: Any, place: str) -> list[tuple[str, str]]:
    """The (place, witness) pairs at which `value` is not of type `hint`; a few suffice."""
    found: list[tuple[str, str]] = []
    _look(value, hint, place, 0, found)
    return found


def _look(value: object, hint: Any, place: str, depth: int, found: list[tuple[str, str]]) -> None:
    if len(found) >= 5:
        return
    if depth > MOST_NESTED:
        found.append((place, f"nested deeper than {MOST_NESTED} records"))
        return
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(hint)
        chosen = next((o for o in options if _is_of(value, o)), None)
        if chosen is None:
            found.append((place, f"a {type(value).__name__} stands where {_words(hint)} should"))
        else:
            _look(value, chosen, place, depth, found)
    elif origin is tuple:
        _look_tuple(value, typing.get_args(hint), place, depth, found)
    elif is_dataclass(hint):
        if type(value) is not hint:
            found.append((place, f"a {type(value).__name__} stands where {_words(hint)} should"))
            return
        for name, inner in field_types(typing.cast("type", hint)):
            _look(getattr(value, name), inner, f"{place}.{name}", depth + 1, found)
    elif not _is_of(value, hint):
        found.append((place, f"a {type(value).__name__} stands where {_words(hint)} should"))
    elif isinstance(value, int) and not -LARGEST < value < LARGEST:
        found.append((place, "an integer of more than 62 bits"))


def _look_tuple(value: object, args: tuple[Any, ...], place: str, depth: int, found: list[tuple[str, str]]) -> None:
    if type(value) is not tuple:
        found.append((place, f"a {type(value).__name__} stands where a tuple should"))
        return
    items = typing.cast("tuple[object, ...]", value)
    if len(args) == 2 and args[1] is ...:
        for i, item in enumerate(items):
            _look(item, args[0], f"{place}[{i}]", depth, found)
    elif len(items) != len(args):
        found.append((place, f"{len(items)} entries stand where {len(args)} should"))
    else:
        for i, (item, inner) in enumerate(zip(items, args, strict=True)):
            _look(item, inner, f"{place}[{i}]", depth, found)


def _is_of(value: object, hint: Any) -> bool:
    """Whether `value` is of the outermost type of `hint`."""
    if typing.get_origin(hint) is tuple:
        return type(value) is tuple
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (float, int)
    return type(value) is hint


def _words(hint: Any) -> str:
    names = [getattr(o, "__name__", str(o)) for o in typing.get_args(hint) or (hint,)]
    return " or ".join("nothing" if n == "NoneType" else n for n in names)


@cache
def field_types(record: type) -> tuple[tuple[str, Any], ...]:
    """Name and resolved type of each field of a record class, in order."""
    hints = typing.get_type_hints(record)
    return tuple((f.name, hints[f.name]) for f in fields(record))
