"""Reading targets: `targets/NAME.yaml` to a `Target`, or to every error of the file at once.

Place: beside `spec`. It reads one file and must never know what a compiler does with a figure. The shape of a target
file is the table `SECTIONS` of `target_fields`: a closed set of sections, each a closed set of figures. A figure is a
map `{value, source, kind}`; `source` names documents of the file's own table of sources, then, after a colon, gives the
arithmetic or the reason. Figures inform people, values make the record: two files that differ in sources, comments or
the order of keys give equal targets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spatial.build.schema import DEPLOYMENT_NAME, Reader
from spatial.build.target_agreements import clashes
from spatial.build.target_fields import (
    ALSO,
    CARRIES,
    ENGINE_NAME,
    MAPS,
    NEEDED_KINDS,
    NETWORK,
    OPTIONAL,
    SECTIONS,
    Read,
)
from spatial.build.yaml_nodes import Mapping, Node, Scalar, parse
from spatial.errors import Place, Problem, SpecError, one_of
from spatial.target import Engine, Host, Links, Matrix, Memory, Network, Numerics, Target, Vector

SCHEMA = 1
TRUST = ("measured", "stated", "derived", "assumed")
"""How a figure is known: measured or stated by its document, derived from such figures, or assumed here."""

_TAG = re.compile(r"[a-z][a-z0-9_-]*")


def load_target(path: Path) -> Target:
    """The chip that the file at `path` describes; its name is the file's stem.

    Raises `SpecError` with every problem of the file, each with line and column.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SpecError(Problem(f"the target cannot be read: {error.strerror}", place=Place(str(path)))) from None
    return read_target(data, str(path), path.stem)


def read_target(data: bytes, file: str, name: str) -> Target:
    """The chip called `name` that the YAML text `data` describes; messages call the text `file`. Raises `SpecError`."""
    if not DEPLOYMENT_NAME.fullmatch(name):
        raise SpecError(
            Problem(
                f'a target cannot be called "{name}"',
                "names are lower-case letters, digits, - and _, a letter first",
                "rename the file",
                Place(file),
            )
        )
    root = parse(data, file)
    if not isinstance(root, Mapping):
        raise SpecError(Problem("the target is no map", "its fields stand at the left margin", place=root.place))
    text = _TargetFile(root)
    parts = text.sections()
    if text.reader.problems:
        raise SpecError(sorted(text.reader.problems, key=lambda p: p.place or Place("")))
    return _made(name, parts)


def _made(name: str, parts: dict[str, dict[str, Any]]) -> Target:
    """The record of values that were all found good."""
    return Target(
        name=name,
        engines=parts["engines"]["engines"],
        matrix=Matrix(**parts["matrix"]),
        vector=Vector(**parts["vector"]),
        memory=Memory(**parts["memory"]),
        network=Network(**parts["network"]),
        links=Links(**parts["links"]) if "links" in parts else None,
        host=Host(**parts["host"]),
        numerics=Numerics(**parts["numerics"]),
        **parts["sites"],
        **parts["ports"],
        **parts["timing"],
        **parts["orders"],
    )


class _TargetFile:
    """One target file being read: the reader that gathers problems, the sources named so far, and by "section.field"
    the values found good and the node of each figure."""

    def __init__(self, root: Mapping) -> None:
        self.root = root
        self.reader = Reader()
        self.sources: tuple[tuple[Scalar, Node], ...] = ()
        self.named: set[str] = set()
        self.good: dict[str, Any] = {}
        self.nodes: dict[str, Node] = {}

    def sections(self) -> dict[str, dict[str, Any]]:
        """The values of every section; complete only if the reader found no problem."""
        reader = self.reader
        needed = ("schema", *(s for s in SECTIONS if s not in OPTIONAL), "engines", "sources")
        fields = reader.fields(self.root, "the target", (*needed, *OPTIONAL, "also"), needed)
        if "schema" in fields:
            reader.integer(fields["schema"], "schema", SCHEMA, SCHEMA)
        self.sources = reader.entries(fields.get("sources"), "sources")
        for tag, document in self.sources:
            reader.word(document, f"the source {tag.text}")
        parts: dict[str, dict[str, Any]] = {}
        for section, shape in SECTIONS.items():
            if section in fields:
                parts[section] = self.figures(fields[section], section, shape, needed=True)
        if "engines" in fields:
            parts["engines"] = {"engines": self.keep("engines", fields["engines"], self.engines)}
        if "also" in fields:
            self.figures(fields["also"], "also", ALSO, needed=False)
        self.good["links"] = "links" in fields
        for tag, _ in self.sources:
            if tag.text not in self.named:
                reader.problem(tag, f'no figure names the source "{tag.text}"', "", "take it out")
        for clash in clashes(self.good):
            reader.problem(self.nodes[clash.at], clash.what, clash.why, clash.mend)
        return parts

    def figures(self, node: Node, section: str, shape: dict[str, Read], *, needed: bool) -> dict[str, Any]:
        """The values of one section, a map of figures among them; `needed`: all of them must be there."""
        known = (*shape, MAPS[section][0]) if section in MAPS else tuple(shape)
        fields = self.reader.fields(node, section, known, known if needed else ())
        values: dict[str, Any] = {}
        for name, read in shape.items():
            if name in fields:
                values[name] = self.figure(fields[name], f"{section}.{name}", read)
        if section in MAPS and MAPS[section][0] in fields:
            field = MAPS[section][0]
            values[field] = self.keep(f"{section}.{field}", fields[field], lambda node: self.mapped(node, section))
        return values

    def figure(self, node: Node, what: str, read: Read) -> Any:
        """The value of one figure; its source and kind are checked."""
        parts = self.reader.fields(node, what, ("value", "source", "kind"), ("value", "source", "kind"))
        kind = self.reader.choice(parts["kind"], f"the kind of {what}", TRUST) if "kind" in parts else None
        if "source" in parts:
            self.source(parts["source"], what, kind)
        if "value" not in parts:
            return None
        return self.keep(what, parts["value"], lambda node: read(self.reader, node, what))

    def keep(self, what: str, node: Node, read: Callable[[Node], Any]) -> Any:
        """What `read` makes of `node`; noted as good where it finds nothing wrong."""
        before, self.nodes[what] = len(self.reader.problems), node
        value = read(node)
        if len(self.reader.problems) == before:
            self.good[what] = value
        return value

    def source(self, node: Node, what: str, kind: str | None) -> None:
        """Note sources that the table lacks, and a derived figure that does not show how."""
        text = self.reader.word(node, f"the source of {what}")
        if text is None:
            return
        tags, _, remark = text.partition(":")
        known = [tag.text for tag, _ in self.sources]
        for tag in (part.strip() for part in tags.split(",")):
            if not _TAG.fullmatch(tag):
                why = "a source is names from the table of sources, then a colon and the rest"
                self.reader.problem(node, f'the source of {what} begins with "{tag}"', why)
            elif tag not in known:
                self.reader.unknown(node, "source", tag, known)
            self.named.add(tag)
        if kind == "derived" and not remark.strip():
            self.reader.problem(node, f"{what} is derived, but not shown how", "", "write the arithmetic after a colon")

    def mapped(self, node: Node, section: str) -> tuple[tuple[str, Any], ...]:
        """A figure for each of some words, sorted by word."""
        field, kind, known, read = MAPS[section]
        found: list[tuple[str, Any]] = []
        for key, value in self.reader.entries(node, f"{section}.{field}"):
            if key.text not in known:
                self.reader.unknown(key, kind, key.text, known)
            found.append((key.text, self.figure(value, f"{section}.{field}.{key.text}", read)))
        return tuple(sorted(found, key=lambda pair: pair[0]))

    def engines(self, node: Node) -> tuple[Engine, ...]:
        """The engines in the order of the file, which is the order in which they are preferred."""
        found: list[Engine] = []
        before = len(self.reader.problems)
        for item in self.reader.sequence(node, "engines"):
            fields = self.reader.fields(item, "an engine", ("name", "carries", "network"), ("name", "carries"))
            name = self.reader.word(fields["name"], "an engine's name", ENGINE_NAME) if "name" in fields else None
            if name in [engine.name for engine in found]:
                self.reader.problem(fields["name"], f'two engines are called "{name}"', "names tell engines apart")
            kinds = self.figure(fields["carries"], f"what {name} carries", CARRIES) if "carries" in fields else None
            network = -1
            if "network" in fields:
                network = self.figure(fields["network"], f"the network of {name}", NETWORK)
            found.append(Engine(name or "", kinds or (), network))
        carried = {kind for engine in found for kind in engine.kinds}
        missing = [kind for kind in NEEDED_KINDS if kind not in carried]
        if missing and len(self.reader.problems) == before:
            self.reader.problem(node, f"no engine carries {one_of(missing)}", "every program needs those stages")
        return tuple(found)
