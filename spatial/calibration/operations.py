"""Single operations by name, shape and formats: what a measurement says it is of, as the template it is planned from.

An operation is a small source, lifted and laid out as any program is, so that what is measured by itself is planned as
it is inside a program that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from spatial.calibration.candidates import fused
from spatial.errors import Bug, Refused, UsageError, nearest
from spatial.ir.body import Body
from spatial.lift import Facts, lift
from spatial.logos.parser import parse_files
from spatial.select.layouts import Request, agree, statements_of, store_all
from spatial.select.section import select
from spatial.target import Target

_MATMUL = """## Main
Let y be a new Seq of Seq of Float.
Repeat for i from 1 to m:
    Let row be a new Seq of Float.
    Repeat for j from 1 to n:
        Let total be 0.0.
        Repeat for l from 1 to k:
            Set total to total + item l of (item i of a) * item {} of (item {} of b).
        Push total to row.
    Push row to y.
"""

_ADD = """## Main
Let y be a new Seq of Seq of Float.
Repeat for i from 1 to m:
    Let row be a new Seq of Float.
    Repeat for j from 1 to n:
        Push item j of (item i of a) + item j of (item i of b) to row.
    Push row to y.
"""

_ROWSUM = """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to m:
    Let total be 0.0.
    Repeat for j from 1 to n:
        Set total to total + item j of (item i of a).
    Push total to y.
"""


@dataclass(frozen=True)
class Operation:
    """`sizes`: what the numbers of a shape are, in order; `tables`: what the formats are of, in order."""

    source: str
    sizes: tuple[str, ...]
    tables: tuple[str, ...]


OPERATIONS: dict[str, Operation] = {
    "matmul": Operation(_MATMUL.format("j", "l"), ("m", "k", "n"), ("a", "b")),
    "projection": Operation(_MATMUL.format("l", "j"), ("m", "k", "n"), ("a", "b")),
    "add": Operation(_ADD, ("m", "n"), ("a", "b")),
    "rowsum": Operation(_ROWSUM, ("m", "n"), ("a",)),
}
"""`matmul`: [m, k] by [k, n]; `projection`: [m, k] by [n, k] turned; `add`: of two [m, n]; `rowsum`: of the rows of
[m, n]."""

FORMATS = ("f32", "bf16", "f16", "q8_0")
"""Formats that the tables of an operation may be stored in."""


@dataclass(frozen=True, order=True)
class Operated:
    """An operation, its shape, and the format of each of its tables."""

    name: str
    shape: tuple[int, ...]
    formats: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape))} {'*'.join(self.formats)}"


def operated(name: str, shape: str, formats: str) -> Operated:
    """What words such as `matmul`, `32x576x1536`, `bf16*q8_0` say; one format stands for all tables. Raises
    UsageError."""
    if name not in OPERATIONS:
        known = f"known: {', '.join(OPERATIONS)}"
        raise UsageError(f'there is no operation "{name}"', "", nearest(name, OPERATIONS) or known)
    operation, numbers = OPERATIONS[name], shape.split("x")
    good = all(n.isdecimal() and len(n) <= 7 and int(n) > 0 for n in numbers)
    if not good or len(numbers) != len(operation.sizes):
        wanted = " x ".join(operation.sizes)
        raise UsageError(f'"{shape}" is no shape of {name}', f"it is {wanted}", "as in 32x576x1536")
    words = formats.split("*")
    words = words * len(operation.tables) if len(words) == 1 else words
    if len(words) != len(operation.tables) or any(w not in FORMATS for w in words):
        raise UsageError(
            f'"{formats}" are no formats of {name}',
            f"it reads {' and '.join(operation.tables)}, each {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
            "as in bf16, or bf16*q8_0",
        )
    return Operated(name, tuple(map(int, numbers)), tuple(words))


@lru_cache(maxsize=256)
def template_of(what: Operated, target: Target) -> Body:
    """The fused template of an operation. Raises Refused where the chip has none for these formats."""
    operation = OPERATIONS[what.name]
    facts = Facts(dict(zip(operation.sizes, what.shape, strict=True)), open_inputs=True)
    lifted = lift(parse_files([(what.name, operation.source)]), facts, ("y",))
    if lifted.graph is None:
        raise Bug(f"the operation {what.name} does not lift")
    request = Request(dict(zip(operation.tables, what.formats, strict=True)))
    tables = agree({"program": lifted.graph}, request, target)
    stored = store_all(lifted.graph, tables, target)
    (statement, *more) = statements_of(lifted.graph)
    if more:
        raise Refused(f"{what} is {1 + len(more)} sections", "a measurement is of one")
    return fused(select(statement, stored, target).body, target)
