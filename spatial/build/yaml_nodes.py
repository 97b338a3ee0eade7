"""A YAML text as a small tree of nodes that know their places, read by the rules of YAML 1.2's core schema.

Place: the bottom of `build`; `schema` reads fields from these nodes. It must never know what a spec means.

PyYAML supplies the events only. Its own constructors follow YAML 1.1 (where `on` is a boolean, `1e-5` a string and the
last of two equal keys wins in silence), and its composer recurses as deep as the text says; so scalars, keys, anchors
and depth are handled here. Refused by name: tags, merge keys, duplicate keys, keys that are no words, second documents,
aliases inside their own anchor, and texts past the limits below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from spatial.errors import Place, Problem, SpecError

MAX_BYTES = 1 << 20
"""Largest YAML file read; a spec of a hundred programs is some tens of kilobytes."""
MAX_DEPTH = 32
MAX_ALIASES = 256
MAX_NODES = 100_000
"""Nodes after every alias is counted in full, so that nested aliases cannot multiply without end."""
MAX_DIGITS = 40
"""Longest integer; what is longer stays the text it is (a digest may be all digits)."""

Value = None | bool | int | float | str

_FIRST = frozenset("~nNtTfF+-.0123456789")
"""What a scalar that is no text can begin with: most are text, and are told at a glance."""

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o([0-7]+)")
_HEX = re.compile(r"0x([0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"([-+]?)(\.inf|\.Inf|\.INF)")
_NAN = re.compile(r"\.nan|\.NaN|\.NAN")


@dataclass(frozen=True)
class Scalar:
    """One value; `text` is as written, for messages."""

    place: Place
    value: Value
    text: str


@dataclass(frozen=True)
class Sequence:
    """A list of nodes."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Mapping:
    """Key and value nodes in the order of the text; keys are words and distinct."""

    place: Place
    entries: tuple[tuple[Scalar, Node], ...]

    def get(self, key: str) -> Node | None:
        """The value under `key`, or None."""
        return next((value for name, value in self.entries if name.value == key), None)


Node = Scalar | Sequence | Mapping


def plain_value(text: str) -> Value:
    """The value of an unquoted scalar under YAML 1.2's core schema (chapter 10.3)."""
    if text and text[0] not in _FIRST:
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if len(text) > MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if found := _OCTAL.fullmatch(text):
        return int(found[1], 8)
    if found := _HEX.fullmatch(text):
        return int(found[1], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if found := _INFINITY.fullmatch(text):
        return float("-inf" if found[1] == "-" else "inf")
    return float("nan") if _NAN.fullmatch(text) else text


def parse(data: bytes, file: str) -> Node:
    """The node tree of the one document in `data`; places name `file`. Equal bytes are parsed once a process.

    Raises `SpecError` with every problem found (a syntax error ends the reading, so it comes last).
    """
    return _parse(data, file)


@lru_cache(maxsize=1024)
def _parse(data: bytes, file: str) -> Node:
    if len(data) > MAX_BYTES:
        raise SpecError(Problem(f"the file has {len(data)} bytes", f"at most {MAX_BYTES} are read", "", Place(file)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(
            Problem("bytes that are not UTF-8", "a spec is UTF-8 text", "save the file as UTF-8", Place(file, line))
        ) from None
    return _Composer(file).document(text)


def _events(text: str) -> Iterator[Any]:
    import yaml

    # PyYAML declares no types; libyaml's parser is some ten times faster where it is built in.
    untyped: Any = yaml
    yield from untyped.parse(text, Loader=getattr(untyped, "CSafeLoader", untyped.SafeLoader))


class _Composer:
    """Builds nodes from events. Holds what one document accumulates: problems, anchors, counts."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.anchors: dict[str, tuple[Node, int] | None] = {}
        self.aliases = 0
        self.nodes = 0

    def document(self, text: str) -> Node:
        """The tree of the document in `text`, or every problem at once."""
        import yaml

        events = _events(text)
        root: Node | None = None
        try:
            for event in events:
                match type(event).__name__:
                    case "DocumentStartEvent" if root is not None:
                        raise self.stop(event, "a second document", "a file holds one", "move it to its own file")
                    case "ScalarEvent" | "SequenceStartEvent" | "MappingStartEvent" | "AliasEvent":
                        root = self.node(event, events, 0)
                    case _:
                        pass
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(self.file, mark.line + 1, mark.column + 1) if mark else Place(self.file)
            self.problems.append(Problem(f"not YAML: {error.problem or error.context}", place=place))
        except yaml.YAMLError as error:
            line = getattr(error, "position", None)
            where = Place(self.file, text.count("\n", 0, line) + 1) if isinstance(line, int) else Place(self.file)
            reason = getattr(error, "reason", "unreadable characters")
            self.problems.append(Problem(f"not YAML: {reason}", place=where))
        if self.problems:
            raise SpecError(self.problems)
        return root if root is not None else Scalar(Place(self.file, 1, 1), None, "")

    def stop(self, event: Any, what: str, why: str, mend: str = "") -> SpecError:
        """The error that ends the reading, together with what was found before."""
        self.problems.append(Problem(what, why, mend, self.place(event)))
        found, self.problems = self.problems, []
        return SpecError(found)

    def place(self, event: Any) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def problem(self, event: Any, what: str, why: str, mend: str = "") -> None:
        self.problems.append(Problem(what, why, mend, self.place(event)))

    def node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        """The node that `event` begins, its inner events consumed."""
        before = self.nodes
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.stop(event, "too many values", f"aliases counted in full, at most {MAX_NODES} are read")
        if depth > MAX_DEPTH:
            raise self.stop(event, f"values nested more than {MAX_DEPTH} deep", "nothing in a spec is that deep")
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self.alias(event)
        anchor: str | None = event.anchor
        if event.tag is not None:
            self.problem(event, f"the tag {event.tag}", "tags are not used here", "write the plain value")
        if anchor is not None:
            self.anchors[anchor] = None
        place = self.place(event)
        match kind:
            case "ScalarEvent":
                made: Node = self.scalar(event, place)
            case "SequenceStartEvent":
                made = Sequence(place, tuple(self.children(events, "SequenceEndEvent", depth)))
            case _:
                made = Mapping(place, self.entries(list(self.children(events, "MappingEndEvent", depth))))
        if anchor is not None:
            self.anchors[anchor] = (made, self.nodes - before)
        return made

    def children(self, events: Iterator[Any], end: str, depth: int) -> Iterator[Node]:
        for event in events:
            if type(event).__name__ == end:
                return
            yield self.node(event, events, depth + 1)

    def scalar(self, event: Any, place: Place) -> Scalar:
        text: str = event.value
        if not event.implicit[0]:
            return Scalar(place, text, text)
        return Scalar(place, plain_value(text), text)

    def alias(self, event: Any) -> Node:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            raise self.stop(event, "too many aliases", f"at most {MAX_ALIASES} are read")
        if event.anchor not in self.anchors:
            raise self.stop(event, f"the alias *{event.anchor}", "no anchor of that name stands before it")
        known = self.anchors[event.anchor]
        if known is None:
            raise self.stop(event, f"the alias *{event.anchor}", "it stands inside its own anchor")
        node, size = known
        self.nodes += size - 1
        return node

    def entries(self, flat: list[Node]) -> tuple[tuple[Scalar, Node], ...]:
        """Keys and values paired; keys that are no words, merge keys and duplicates become problems."""
        kept: dict[str, tuple[Scalar, Node]] = {}
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if not isinstance(key, Scalar) or not isinstance(key.value, str):
                shown = key.text if isinstance(key, Scalar) else "a list or map"
                self.problems.append(Problem(f"the key {shown}", "keys are words", "quote it", key.place))
            elif key.text == "<<":
                self.problems.append(
                    Problem("a merge key <<", "maps are not merged inside a file", "use `extends`", key.place)
                )
            elif key.value in kept:
                first = kept[key.value][0].place
                self.problems.append(
                    Problem(f'"{key.text}" twice', f"it stands in line {first.line} already", "keep one", key.place)
                )
            else:
                kept[key.value] = (key, value)
        return tuple(kept.values())
