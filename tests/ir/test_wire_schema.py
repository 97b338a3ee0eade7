"""The schema version goes with the shapes of the records: bytes of other shapes must say that they are of another."""

from __future__ import annotations

import dataclasses
import hashlib
import typing
from typing import Any

from spatial.build.image import Image
from spatial.ir.bundle import Bundle
from spatial.ir.certificate import Certificate
from spatial.ir.graph import Lifted
from spatial.ir.wire import SCHEMA

STORED = (Bundle, Certificate, Image, Lifted)
"""Records that are kept or published; programs, graphs and targets are parts of these."""

SHAPES = {2: "51d897a91c12fe4b9000af0adad8dcb1ac2af489203956dc4115f4e627bc0b47"}
"""By schema version, the digest of all shapes. A change of shapes takes the next version, and its digest."""


def shapes(*roots: Any) -> str:
    """Every record reached, by name, with its fields and their types."""
    found: dict[Any, str] = {}
    pending = list(roots)
    while pending:
        kind = pending.pop()
        if not dataclasses.is_dataclass(kind):
            pending += typing.get_args(kind)
        elif kind not in found:
            hints = typing.get_type_hints(kind)
            fields = [(f.name, hints[f.name]) for f in dataclasses.fields(kind)]
            found[kind] = f"{told(kind)}: " + ", ".join(f"{name}: {told(hint)}" for name, hint in fields)
            pending += [hint for _, hint in fields]
    return "\n".join(sorted(found.values()))


def told(hint: Any) -> str:
    """A type by the names of what it is made of."""
    args = typing.get_args(hint)
    if not args:
        return "..." if hint is Ellipsis else hint.__name__
    return f"{'tuple' if typing.get_origin(hint) is tuple else 'union'}[{', '.join(told(a) for a in args)}]"


def test_other_shapes_are_another_schema_version() -> None:
    text = shapes(*STORED)
    assert hashlib.sha256(text.encode()).hexdigest() == SHAPES[SCHEMA], f"raise SCHEMA, for records are now\n{text}"
