"""Reading an artifact: a deployment's folder, or a single file in wire or text form.

Place: the read side for commands. Needs no store, spec or source. Stored pages stay where they are, mapped from disk;
records are read strictly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spatial.errors import Damaged, EnvironmentFault, Refused, UsageError, nearest

if TYPE_CHECKING:
    from spatial.build.layout import Layout
    from spatial.ir.bundle import Bundle
    from spatial.ir.certificate import Certificate
    from spatial.ir.program import Program

MAX_FILE = 1 << 28
"""Bytes of the largest single file that is read."""


class Pages(Mapping[str, memoryview]):
    """The stored pages of a deployment by digest, each verified when it is first asked for."""

    def __init__(self, layout: Layout | None) -> None:
        self._layout = layout
        found = () if layout is None else layout.layers
        self._known = {layer.digest.removeprefix("sha256:"): layer.digest for layer in found}

    def __getitem__(self, digest: str) -> memoryview:
        if self._layout is None:
            raise KeyError(digest)
        return self._layout.blob(self._known[digest])

    def __contains__(self, digest: object) -> bool:
        return digest in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@dataclass(frozen=True)
class Artifact:
    """What an artifact holds: a bundle, with its certificate if there is one, or (single files) one program alone.

    `digest`: of a published deployment, "" else.
    """

    bundle: Bundle | None
    program: Program | None
    certificate: Certificate | None
    pages: Pages
    digest: str = ""

    def whole(self) -> Bundle:
        """The bundle. Raises UsageError where the artifact is a program alone."""
        if self.bundle is None:
            raise UsageError("a program alone has no memory map and no entry points", "", "name a deployment")
        return self.bundle


def open_artifact(path: Path) -> Artifact:
    """Read the artifact at `path`. Raises EnvironmentFault, Damaged, or SourceError for a text that does not parse."""
    if path.is_dir():
        return _folder(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)  # a device or a pipe tells no size
        if len(data) > MAX_FILE:
            raise Refused(f"{path} has more than {MAX_FILE} bytes", "a single file holds records, not weights")
    except OSError as error:
        raise EnvironmentFault(f"there is no artifact at {path}: {error.strerror}", "", _hint(path)) from None
    return _wire(path, data) if data.startswith(b"spatial") else _text(path, data)


def _hint(path: Path) -> str:
    siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    return nearest(path.name, siblings)


def _folder(path: Path) -> Artifact:
    from spatial.build.image import CERTIFICATE_TITLE, Image, join
    from spatial.build.layout import open_layout, read_provenance
    from spatial.ir import wire
    from spatial.ir.certificate import Certificate

    layout = open_layout(path)
    read_provenance(path)  # for people, but what is listed is verified like all else
    image = wire.unpack(bytes(layout.blob(layout.config.digest)), Image)
    bundle = join(image, lambda digest: bytes(layout.blob(f"sha256:{digest}")))
    certificates = [layer for layer in layout.layers if layer.title == CERTIFICATE_TITLE]
    certificate = wire.unpack(bytes(layout.blob(certificates[0].digest)), Certificate) if certificates else None
    return Artifact(bundle, None, certificate, Pages(layout), layout.digest)


def _wire(path: Path, data: bytes) -> Artifact:
    from spatial.ir import wire
    from spatial.ir.bundle import Bundle
    from spatial.ir.program import Program

    head = data[:32]
    if b"Bundle" in head:
        return Artifact(wire.unpack(data, Bundle), None, None, Pages(None))
    if b"Program" in head:
        return Artifact(None, wire.unpack(data, Program), None, Pages(None))
    raise Damaged(f"{path} holds neither a bundle nor a program")


def _text(path: Path, data: bytes) -> Artifact:
    from spatial.ir.text import parse_program

    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Damaged(f"{path} is neither an artifact's wire form nor a text") from None
    return Artifact(None, parse_program(text, str(path)), None, Pages(None))
