"""The parts of a spec that stand by themselves: sizes, tables, numerics, generate, assumptions, chips.

Place: called by `spec`, which knows files and how parts belong together. Each function takes the reader that gathers
problems and the node of its part (None: the part is absent) and returns records; what it could not read it leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from spatial.build.deployment import Chips, Collective, Generate, Kind, Manifest, ProgramSpec, Table
from spatial.build.expressions import MAX_VALUE, ExpressionError, Relation, evaluate, relation
from spatial.build.schema import (
    FLOAT_PRECISIONS,
    INT_PRECISIONS,
    NUMERICS,
    PRECISIONS,
    SOURCE_NAME,
    Reader,
)
from spatial.build.yaml_nodes import Node, Scalar, parse
from spatial.errors import SpecError, one_of

MAX_RANK = 8
MAX_CHIPS = 1024


def read_sizes(reader: Reader, node: Node | None) -> dict[str, int]:
    """`sizes: {name: integer}`."""
    found: dict[str, int] = {}
    for key, value in reader.entries(node, "sizes"):
        name = reader.word(key, "the name of a size", SOURCE_NAME)
        number = reader.integer(value, f"size {key.text}", -MAX_VALUE + 1, MAX_VALUE - 1)
        # A size that does not read is 1, so that what uses it is not reported again.
        found[name or key.text] = 1 if number is None else number
    return found


def read_integer(reader: Reader, node: Node, what: str, sizes: Mapping[str, int]) -> int | None:
    """An integer, or a sum, difference or product of integers and sizes."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        try:
            return evaluate(node.value, sizes)
        except ExpressionError as error:
            reader.problem(node, f"{what}: {error}")
            return None
    return reader.integer(node, what, -MAX_VALUE + 1, MAX_VALUE - 1)


def read_tables(reader: Reader, node: Node | None, sizes: Mapping[str, int]) -> dict[str, Table]:
    """`tables: {name: {shape, type, range, state, precision}}`, shapes and ranges evaluated over `sizes`."""
    found: dict[str, Table] = {}
    for key, value in reader.entries(node, "tables"):
        reader.word(key, "the name of a table", SOURCE_NAME)
        found[key.text] = _table(reader, key.text, value, sizes)
    return found


def _table(reader: Reader, name: str, node: Node, sizes: Mapping[str, int]) -> Table:
    what = f"table {name}"
    fields = reader.fields(node, what, ("shape", "type", "range", "state", "precision"), ("shape", "type"))
    kind: Kind = "Float"
    if "type" in fields and reader.choice(fields["type"], f"type of {what}", ("Int", "Float")) == "Int":
        kind = "Int"
    state = "state" in fields and reader.flag(fields["state"], f"state of {what}")
    shape = _shape(reader, fields["shape"], what, sizes) if "shape" in fields else (1,)
    bounds = _range(reader, fields["range"], what, kind, sizes) if "range" in fields else None
    if bounds is not None and state and not bounds[0] <= 0 <= bounds[1]:
        reader.problem(fields["range"], f"the range of {what} leaves out 0", "state starts as zeros", "widen it")
    precision = None
    if "precision" in fields:
        words = INT_PRECISIONS if kind == "Int" else FLOAT_PRECISIONS
        precision = reader.choice(fields["precision"], f"precision of {what}", PRECISIONS)
        if precision is not None and precision not in words:
            reader.problem(fields["precision"], f"{what} is {kind} and stored as {precision}", f"use {one_of(words)}")
        elif precision in INT_PRECISIONS and bounds is not None:
            limit = 1 << (int(precision[1:]) - 1)
            if bounds[0] < -limit or bounds[1] >= limit:
                reader.problem(fields["precision"], f"{precision} does not hold the range of {what}")
    return Table(name, shape, kind, bounds, state, precision)


def _shape(reader: Reader, node: Node, what: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    items = reader.sequence(node, f"shape of {what}")
    if not 1 <= len(items) <= MAX_RANK:
        reader.problem(node, f"shape of {what} has {len(items)} axes", f"it has 1 to {MAX_RANK}")
    shape: list[int] = []
    for item in items:
        extent = read_integer(reader, item, f"shape of {what}", sizes)
        if extent is not None and extent < 1:
            reader.problem(item, f"an axis of {what} has extent {extent}", "it is at least 1")
        shape.append(max(1, extent or 1))
    if math.prod(shape) >= MAX_VALUE:
        reader.problem(node, f"{what} has 2^62 elements or more")
    return tuple(shape)


def _range(
    reader: Reader, node: Node, what: str, kind: Kind, sizes: Mapping[str, int]
) -> tuple[int, int] | tuple[float, float] | None:
    items = reader.sequence(node, f"range of {what}")
    if len(items) != 2:
        reader.problem(node, f"range of {what} has {len(items)} ends", "it has two, both included", "write [low, high]")
        return None
    ends: list[float | None] = []
    for item in items:
        if kind == "Float" and isinstance(item, Scalar) and isinstance(item.value, float):
            ends.append(reader.number(item, f"range of {what}"))
        else:
            ends.append(read_integer(reader, item, f"range of {what}", sizes))
    low, high = ends
    if low is None or high is None:
        return None
    if low > high:
        reader.problem(node, f"range of {what} is empty: {low} is above {high}", "", "exchange its ends")
        return None
    return (float(low), float(high)) if kind == "Float" else (int(low), int(high))


def read_numerics(reader: Reader, node: Node | None, defaults: Mapping[str, str]) -> dict[str, str]:
    """`numerics: {integers, floats}`; what is not said is as in `defaults`, else the first word of `NUMERICS`."""
    made = {name: defaults.get(name, words[0]) for name, words in NUMERICS.items()}
    if node is not None:
        for name, value in reader.fields(node, "numerics", tuple(NUMERICS)).items():
            made[name] = reader.choice(value, f"numerics.{name}", NUMERICS[name]) or made[name]
    return made


def read_generate(
    reader: Reader, node: Node | None, programs: Mapping[str, ProgramSpec], tables: Mapping[str, Table]
) -> Generate | None:
    """`generate:`, its programs, tables and results looked up."""
    if node is None:
        return None
    roles = ("tokens", "start", "count", "token", "position")
    needed = ("prefill", "decode", *roles, "logits")
    fields = reader.fields(node, "generate", (*needed, "stop"), needed)
    named: dict[str, str] = {}
    for field, known, what in (
        *((p, programs, "program") for p in ("prefill", "decode")),
        *((role, tables, "table") for role in roles),
    ):
        if field in fields and (word := reader.word(fields[field], f"generate.{field}")) is not None:
            named[field] = word
            if word not in known:
                reader.unknown(fields[field], what, word, known)
    logits = reader.words(fields.get("logits"), "generate.logits")
    for field in ("prefill", "decode"):
        program = programs.get(named.get(field, ""))
        for word in logits if program is not None else ():
            if program is not None and word.text not in program.results:
                reader.unknown(word, f"result of program {program.name}", word.text, program.results)
    stop = [reader.integer(item, "generate.stop", 0, MAX_VALUE) for item in reader.sequence(fields.get("stop"), "stop")]
    if set(named) != {"prefill", "decode", *roles}:
        return None
    return Generate(**named, logits=tuple(w.text for w in logits), stop=tuple(n for n in stop if n is not None))


def read_assumptions(
    reader: Reader, node: Node | None, sizes: Mapping[str, int], tables: Mapping[str, Table]
) -> tuple[Relation, ...]:
    """`assume: [relation, …]` between tables of one integer and sizes."""
    inputs = frozenset(t.name for t in tables.values() if t.kind == "Int" and math.prod(t.shape) == 1)
    found: list[Relation] = []
    for item in reader.sequence(node, "assume"):
        text = reader.word(item, "an assumption")
        if text is None:
            continue
        try:
            found.append(relation(text, sizes, inputs))
        except ExpressionError as error:
            reader.problem(item, f"assumption: {error}", "it relates sizes and tables of one integer")
    return tuple(found)


def read_chips(reader: Reader, node: Node | None, find: Callable[[Node], Path | None]) -> Chips | None:
    """`chips: {count, fabric, manifest}`; `find` gives the path a node names, having noted what is wrong with it."""
    if node is None:
        return None
    fields = reader.fields(node, "chips", ("count", "fabric", "manifest"), ("count", "fabric"))
    count = reader.integer(fields["count"], "chips.count", 1, MAX_CHIPS) if "count" in fields else None
    fabric = reader.choice(fields["fabric"], "chips.fabric", ("shared", "links")) if "fabric" in fields else None
    path = find(fields["manifest"]) if "manifest" in fields else None
    manifest = _manifest(reader, path) if path is not None else None
    if manifest is not None and count is not None and manifest.chips != count:
        reader.problem(fields["manifest"], f"the manifest is for {manifest.chips} chips", f"chips.count is {count}")
    return Chips(count or 1, "shared" if fabric == "shared" else "links", manifest)


def _manifest(reader: Reader, path: Path) -> Manifest | None:
    try:
        root = parse(path.read_bytes(), str(path))
    except SpecError as error:
        reader.problems += error.problems
        return None
    fields = reader.fields(root, "the manifest", ("chips", "chip_of", "collectives"), ("chips",))
    chips = (reader.integer(fields["chips"], "chips", 1, MAX_CHIPS) if "chips" in fields else None) or 1
    homes: list[tuple[str, int]] = []
    for key, value in reader.entries(fields.get("chip_of"), "chip_of"):
        chip = reader.integer(value, f"the chip of {key.text}", 0, chips - 1)
        homes.append((key.text, chip or 0))
    sums: list[Collective] = []
    for item in reader.sequence(fields.get("collectives"), "collectives"):
        parts = reader.fields(item, "a collective", ("out", "partials"), ("out", "partials"))
        out = reader.word(parts["out"], "out", SOURCE_NAME) if "out" in parts else None
        partials = reader.words(parts.get("partials"), "partials", SOURCE_NAME)
        sums.append(Collective(out or "", tuple(w.text for w in partials)))
    return Manifest(chips, tuple(homes), tuple(sums))
