"""Other values for figures of a target's text: only these figures change, every other byte stays.

Place: beside `targets`, whose form of a file it knows. A figure is replaced where it stands, `{value, source, kind}` in
braces; its documents stay named, what it was and why it is otherwise is told with it. What comes out is read again, so
that no file is made which no command would read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spatial.build.targets import read_target
from spatial.build.yaml_nodes import Mapping as Map
from spatial.build.yaml_nodes import Node, Scalar, parse
from spatial.errors import Bug, Problem, SpecError


@dataclass(frozen=True)
class Figure:
    """A value, how it was found (after the colon of its source), and how far to trust it."""

    value: float
    how: str
    kind: str


def with_figures(data: bytes, file: str, figures: Mapping[str, Figure], tag: str, document: str) -> bytes:
    """The text of a target with other figures, named by section and field, and their source `tag`, a `document`.

    Raises SpecError where one does not stand in braces.
    """
    root = parse(data, file)
    text = data.decode("utf-8-sig")
    if not isinstance(root, Map):
        raise Bug("a target that was read is no map")
    changes: list[tuple[int, int, str]] = []
    problems: list[Problem] = []
    for name, figure in figures.items():
        node = _at(root, name)
        begin = _offset(text, node)
        if not text.startswith("{", begin):
            why, mend = "it is replaced where it stands", "write it as {value: …, source: …, kind: …}"
            problems.append(Problem(f"{name} does not stand in braces", why, mend, node.place))
            continue
        changes.append((begin, _end(text, begin), _told(node, figure, tag)))
    if problems:
        raise SpecError(problems)
    sources = root.get("sources")
    if not isinstance(sources, Map) or sources.get(tag) is not None:
        raise SpecError(Problem(f'the sources name "{tag}" already', "", "call the source otherwise", root.place))
    first = _offset(text, sources.entries[0][0])
    indent = text[text.rindex("\n", 0, first) + 1 : first]
    changes.append((first, first, f"{tag}: {_quoted(document)}\n{indent}"))
    for begin, end, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[end:]
    read_target(text.encode(), file, "refit")
    return text.encode()


def _at(root: Map, name: str) -> Map:
    node: Node | None = root
    for part in name.split("."):
        node = node.get(part) if isinstance(node, Map) else None
    if not isinstance(node, Map):
        raise Bug(f"a target that was read has no figure {name}")
    return node


def _offset(text: str, node: Node) -> int:
    """Where a node begins."""
    place, at = node.place, 0
    for _ in range(place.line - 1):
        at = text.index("\n", at) + 1
    return at + place.column - 1


def _end(text: str, begin: int) -> int:
    """Where the braces that open at `begin` end; braces inside quotes are text."""
    at, depth, quote = begin, 0, ""
    while True:
        c = text[at]
        if quote:
            if c == "\\" and quote == '"':
                at += 1
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1


def _told(node: Map, figure: Figure, tag: str) -> str:
    """The new figure; the documents of the old one stay named, for the file's table has no others."""
    old, source = node.get("value"), node.get("source")
    if not isinstance(old, Scalar) or not isinstance(source, Scalar):
        raise Bug("a figure that was read has no plain value and source")
    tags = [t.strip() for t in str(source.value).partition(":")[0].split(",")]
    told = f"{', '.join([tag, *(t for t in tags if t != tag)])}: {figure.how}; before {old.text}"
    return f"{{value: {figure.value:g}, source: {_quoted(told)}, kind: {figure.kind}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
