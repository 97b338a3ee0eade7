"""Single operations by name, shape and formats: what a measurement says it is of, as the template it is planned from.

An operation is a small source, lifted and laid out as any program is, so that what is measured by itself is planned as
it is inside a program that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from spatial.calibration.sections import templates_of
from spatial.errors import Bug, Refused, UsageError, nearest
from spatial.ir.body import Body
from spatial.lift import Facts, Table, lift
from spatial.logos.parser import parse_files
from spatial.select.layouts import Request, agree
from spatial.target import Target

_TERMS = """Let total be 0.0.
        Repeat for l from 1 to k:
            Set total to total + item l of (item i of a) * item {} of (item {} of b)."""

_ROWS = """## Main
Let y be a new Seq of Seq of Float.
Repeat for i from 1 to m:
    Let row be a new Seq of Float.
    Repeat for j from 1 to n:
        {}
        Push total to row.
    Push row to y.
"""

_INTO_ROWS = """## Main
Repeat for i from 1 to m:
    Repeat for j from 1 to n:
        {}
        Set item j of (item i of y) to total.
"""

_SUM = """Let total be 0.0.
    Repeat for j from 1 to n:
        Set total to total + item j of (item i of a)."""

_ITEMS = f"""## Main
Let y be a new Seq of Float.
Repeat for i from 1 to m:
    {_SUM}
    Push total to y.
"""

_INTO_ITEMS = f"""## Main
Repeat for i from 1 to m:
    {_SUM}
    Set item i of y to total.
"""


@dataclass(frozen=True)
class Operation:
    """`made`: its source, making the result `y` anew, in the widest format; `written`: writing it into a table `y` of
    twice as many rows. `sizes`: what the numbers of a shape are, in order; `tables`: what the formats are of, in
    order; `result`: the sizes of the result."""

    made: str
    written: str
    sizes: tuple[str, ...]
    tables: tuple[str, ...]
    result: tuple[str, ...]


def _rows(total: str, sizes: tuple[str, ...]) -> Operation:
    """An operation that makes a matrix."""
    return Operation(_ROWS.format(total), _INTO_ROWS.format(total), sizes, ("a", "b"), ("m", "n"))


OPERATIONS: dict[str, Operation] = {
    "matmul": _rows(_TERMS.format("j", "l"), ("m", "k", "n")),
    "projection": _rows(_TERMS.format("l", "j"), ("m", "k", "n")),
    "add": _rows("Let total be item j of (item i of a) + item j of (item i of b).", ("m", "n")),
    "rowsum": Operation(_ITEMS, _INTO_ITEMS, ("m", "n"), ("a",), ("m",)),
}
"""`matmul`: [m, k] by [k, n]; `projection`: [m, k] by [n, k] turned; `add`: of two [m, n]; `rowsum`: of the rows of
[m, n]."""

FORMATS = ("f32", "bf16", "f16", "q8_0")
"""Formats that the tables of an operation may be stored in; the last is for weights alone."""


@dataclass(frozen=True, order=True)
class Operated:
    """An operation, its shape, the format of each of its tables, and that of its result: as wide as there is where
    it is empty."""

    name: str
    shape: tuple[int, ...]
    formats: tuple[str, ...]
    result: str = ""

    @property
    def precision(self) -> str:
        """The formats, as they are read."""
        of = self.formats[0] if len(set(self.formats)) == 1 else "*".join(self.formats)
        return f"{of}>{self.result}" if self.result else of

    def __str__(self) -> str:
        return f"{self.name} {'x'.join(map(str, self.shape))} {self.precision}"


def operated(name: str, shape: str, formats: str) -> Operated:
    """What words such as `matmul`, `32x576x1536`, `bf16*q8_0>bf16` say; one format stands for all tables, and what
    follows `>` is the result's. Raises UsageError."""
    if name not in OPERATIONS:
        known = f"known: {', '.join(OPERATIONS)}"
        raise UsageError(f'there is no operation "{name}"', "", nearest(name, OPERATIONS) or known)
    operation, numbers = OPERATIONS[name], shape.split("x")
    good = all(n.isdecimal() and len(n) <= 7 and int(n) > 0 for n in numbers)
    if not good or len(numbers) != len(operation.sizes):
        wanted = " x ".join(operation.sizes)
        raise UsageError(f'"{shape}" is no shape of {name}', f"it is {wanted}", "as in 32x576x1536")
    of, arrow, result = formats.partition(">")
    words = of.split("*")
    words = words * len(operation.tables) if len(words) == 1 else words
    known = all(w in FORMATS for w in words) and (result in FORMATS[:-1] if arrow else True)
    if len(words) != len(operation.tables) or not known:
        tables = f"it reads {' and '.join(operation.tables)}, each {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        raise UsageError(f'"{formats}" are no formats of {name}', tables, "as in bf16, or bf16*q8_0>bf16")
    return Operated(name, tuple(map(int, numbers)), tuple(words), result)


@lru_cache(maxsize=256)
def template_of(what: Operated, target: Target) -> Body:
    """The fused template of an operation. Raises Refused where the chip has none for these formats."""
    operation = OPERATIONS[what.name]
    sizes, formats = (
        dict(zip(operation.sizes, what.shape, strict=True)),
        dict(zip(operation.tables, what.formats, strict=True)),
    )
    source, results, tables = operation.made, ("y",), dict[str, Table]()
    if what.result:
        rows, *rest = (sizes[name] for name in operation.result)
        source, results = operation.written, None
        tables["y"], formats["y"] = Table((2 * rows, *rest), "float", None, True), what.result
    lifted = lift(parse_files([(what.name, source)]), Facts(sizes, tables, open_inputs=True), results)
    if lifted.graph is None:
        raise Bug(f"the operation {what.name} does not lift")
    found, refused = templates_of(lifted, agree({"program": lifted.graph}, Request(formats), target), target)
    if refused:
        raise Refused(refused)
    if len(found) > 1:
        raise Refused(f"{what} is {len(found)} sections", "a measurement is of one")
    return found[0]
