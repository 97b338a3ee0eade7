"""The `weights` part of a spec: where they come from, what programs call them, how each is stored.

Place: called by `spec`, like `spec_parts`. Opens no weight file: names are compared with a file's when it is indexed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

from spatial.build.deployment import FileSource, FillSource, Part, Span, WeightName, WeightSpec
from spatial.build.schema import SOURCE_NAME, WEIGHT_PRECISIONS, Reader
from spatial.build.yaml_nodes import Mapping, Node, Scalar
from spatial.build.yaml_nodes import Sequence as List
from spatial.errors import nearest

FORMATS: tuple[Literal["gguf", "safetensors", "npz"], ...] = ("gguf", "safetensors", "npz")
MAX_SEED = (1 << 63) - 1
MAX_EXTENT = (1 << 62) - 1
MAX_FLOAT32 = 3.4e38
"""A little less than the largest float32."""

_REQUIREMENT = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9][A-Za-z0-9.+!_-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{1,9})")
_BRACES = re.compile(r"\{([^{}]*)\}|[{}]")


def read_weights(reader: Reader, node: Node | None, chips: int | None) -> WeightSpec:
    """`weights: {source, names, stored}`; "{chip}" in names is put in for each of `chips` chips."""
    if node is None:
        return WeightSpec()
    fields = reader.fields(node, "weights", ("source", "names", "stored"), ("source", "names"))
    names: dict[str, WeightName] = {}
    for key, value in reader.entries(fields.get("names"), "weights.names"):
        for made in _names(reader, key, value, chips):
            if made.table in names:
                reader.problem(key, f'"{made.table}" is named twice', "", "keep one")
            names[made.table] = made
    stored: dict[str, str] = {}
    for table, value in match_patterns(reader, fields.get("stored"), "weights.stored", names).items():
        stored[table] = reader.choice(value, f"stored.{table}", WEIGHT_PRECISIONS) or WEIGHT_PRECISIONS[0]
    source = _source(reader, fields["source"], names) if "source" in fields else None
    return WeightSpec(source, names, stored)


def match_patterns(reader: Reader, node: Node | None, what: str, names: Iterable[str]) -> dict[str, Node]:
    """The value each of `names` gets from a map of patterns (`fnmatch`, case counts); order as the names.

    A name that two patterns match, or a pattern that matches none, is a problem.
    """
    names = list(names)
    found: dict[str, tuple[Scalar, Node]] = {}
    for pattern, value in reader.entries(node, what):
        matched = [name for name in names if fnmatchcase(name, pattern.text)]
        if not matched:
            reader.problem(pattern, f'{what}: "{pattern.text}" matches no name', "", nearest(pattern.text, names))
        for name in matched:
            if name in found:
                first = found[name][0]
                reader.problem(
                    pattern,
                    f'{what}: "{name}" is matched twice',
                    f'by "{first.text}" in line {first.place.line} and by "{pattern.text}"',
                    "let one pattern match it",
                )
            found.setdefault(name, (pattern, value))
    return {name: found[name][1] for name in names if name in found}


def _names(reader: Reader, key: Scalar, node: Node, chips: int | None) -> list[WeightName]:
    """The weights one entry of `names` stands for: one, or one a chip."""
    what = f"weight {key.text}"
    rows: Node | None = None
    axis: Literal["rows", "cols"] = "rows"
    tensor: str | None = None
    if isinstance(node, Mapping):
        fields = reader.fields(node, what, ("from", "rows", "cols"), ("from",))
        if "rows" in fields and "cols" in fields:
            reader.problem(fields["cols"], f"{what} is cut by rows and by cols", "one cut a weight", "keep one")
        axis = "cols" if "cols" in fields else "rows"
        rows = fields.get("rows", fields.get("cols"))
        tensor = reader.word(fields["from"], f"{what}: from") if "from" in fields else None
    else:
        tensor = reader.word(node, what)
    if tensor is None:
        return []
    for text in (key.text, tensor):
        for brace in _BRACES.finditer(text):
            known = ("chip",) if text is key.text else ("chip", "layer")
            if brace[1] not in known:
                reader.problem(key, f'{what}: "{brace[0]}" in "{text}"', "braces hold layer or, over chips, chip")
    if tensor.count("{layer}") > 1:
        reader.problem(node, f"{what} has {{layer}} twice", "layers are stacked along one axis")
    per_chip = "{chip}" in key.text
    if not per_chip and any("{chip}" in text for text in (tensor, *_texts(rows))):
        reader.problem(node, f"{what} uses {{chip}}", "its own name does not", f'call it "{key.text}_{{chip}}"')
    if per_chip and chips is None:
        reader.problem(key, f"{what} uses {{chip}}", "the deployment has no chips", "add chips:")
    made: list[WeightName] = []
    for chip in range(chips or 1) if per_chip else (None,):
        table = key.text if chip is None else key.text.replace("{chip}", str(chip))
        if not SOURCE_NAME.fullmatch(table):
            reader.problem(key, f'a weight cannot be called "{table}"', f"its form is {SOURCE_NAME.pattern}")
        name = tensor if chip is None else tensor.replace("{chip}", str(chip))
        made.append(WeightName(table, name, _slice(reader, rows, axis, what, chip)))
    return made


def _texts(node: Node | None) -> list[str]:
    """The texts of a scalar, or of the scalars in a list."""
    items = node.items if isinstance(node, List) else (node,)
    return [item.text for item in items if isinstance(item, Scalar)]


def _slice(
    reader: Reader, node: Node | None, axis: Literal["rows", "cols"], what: str, chip: int | None
) -> Part | Span | None:
    if node is None:
        return None
    if isinstance(node, List):
        ends = [reader.integer(item, f"{what}: {axis}", 0, MAX_EXTENT) for item in node.items]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None and ends[0] < ends[1]:
            return Span(axis, ends[0], ends[1])
        reader.problem(node, f"{what}: {axis}", "a slice is [from, to], from 0, its end not included")
        return None
    text = reader.word(node, f"{what}: {axis}")
    if text is None:
        return None
    found = _PART.fullmatch(text if chip is None else text.replace("{chip}", str(chip)))
    if not found or int(found[1]) >= int(found[2]):
        reader.problem(node, f'{what}: {axis} is "{text}"', "a slice is i/n with i from 0 to n - 1, or [from, to]")
        return None
    return Part(axis, int(found[1]), int(found[2]))


def _source(reader: Reader, node: Node, names: Iterable[str]) -> FileSource | FillSource | None:
    """One of the file formats, or `fill`."""
    fields = reader.fields(node, "weights.source", (*FORMATS, "fill", "from", "sha256"))
    kinds = [name for name in (*FORMATS, "fill") if name in fields]
    if len(kinds) != 1:
        reader.problem(node, f"weights.source names {len(kinds)} kinds of source", "it has one of gguf, safetensors, "
                       "npz and fill")  # fmt: skip
        return None
    if kinds[0] == "fill":
        for name in ("from", "sha256"):
            if name in fields:
                reader.problem(fields[name], f"{name} beside fill", "a seeded fill has no file", "remove it")
        return _fill(reader, fields["fill"], names)
    form: Literal["gguf", "safetensors", "npz"] = next(f for f in FORMATS if f == kinds[0])
    files = tuple(word.text for word in reader.words(fields[form], f"weights.source.{form}"))
    requirement = digest = None
    if "from" in fields and (requirement := reader.word(fields["from"], "weights.source.from")) is not None:
        if not _REQUIREMENT.fullmatch(requirement):
            reader.problem(fields["from"], f'from is "{requirement}"', "a version is pinned", "write PACKAGE==VERSION")
        if len(files) != 1 or not _FILE_NAME.fullmatch(files[0]):
            reader.problem(fields[form], "from a package comes one file", "it is named without folders")
        if "sha256" not in fields:
            reader.problem(node, "a downloaded file without sha256", "its digest pins it", "add sha256:")
    if "sha256" in fields:
        pin = fields["sha256"]
        digest = pin.text if isinstance(pin, Scalar) else ""  # as written: a digest may look like a number
        if not _DIGEST.fullmatch(digest):
            reader.problem(pin, "sha256 is no digest", "it has 64 digits of 0-9 and a-f")
        if len(files) != 1:
            reader.problem(pin, "one sha256 for several files", "it pins one file", "remove it")
    return FileSource(form, files, requirement, digest)


def _fill(reader: Reader, node: Node, names: Iterable[str]) -> FillSource:
    fields = reader.fields(node, "fill", ("seed", "scale", "around"), ("seed", "scale"))
    seed = reader.integer(fields["seed"], "fill.seed", 0, MAX_SEED) if "seed" in fields else None
    scale = reader.number(fields["scale"], "fill.scale") if "scale" in fields else None
    centres: dict[str, float] = {}
    for name, value in match_patterns(reader, fields.get("around"), "fill.around", names).items():
        centres[name] = reader.number(value, f"around.{name}") or 0.0
    if abs(scale or 0.0) + max(map(abs, centres.values()), default=0.0) > MAX_FLOAT32:
        reader.problem(node, "values of the fill do not fit float32", "they would be infinite", "make scale smaller")
    return FillSource(seed or 0, scale or 0.0, centres)
