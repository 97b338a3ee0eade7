"""A bundle as blobs: the config that a published deployment begins with, and the records it names by digest.

Place: between `link`, which makes a `Bundle`, and `publish`/`layout`, which know blobs and no records. What is large or
shared between deployments (programs, graphs, the target) is a blob of its own and occurs once; the config holds the
rest: the memory map, the tables and the entry points. Stored weights and fills are blobs already, raw pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spatial.errors import Damaged
from spatial.ir import wire
from spatial.ir.bundle import Bundle, Entry, Placement, Table
from spatial.ir.graph import Graph
from spatial.ir.program import Program
from spatial.target import Target

CONFIG_TYPE = "application/vnd.spatial.config.v1+msgpack"
PROGRAM_TYPE = "application/vnd.spatial.program.v1+msgpack"
GRAPH_TYPE = "application/vnd.spatial.graph.v1+msgpack"
TARGET_TYPE = "application/vnd.spatial.target.v1+msgpack"
CERTIFICATE_TYPE = "application/vnd.spatial.certificate.v1+msgpack"
PAGES_TYPE = "application/vnd.spatial.pages.v1"

CERTIFICATE_TITLE = "certificate"
"""The title of the layer that holds the certificate."""


@dataclass(frozen=True)
class ImageEntry:
    """An `Entry` whose program and graph are named by the SHA-256 of their wire form ("" for no graph)."""

    name: str
    program: str
    graph: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class Image:
    """A `Bundle` whose target, programs and graphs are named by digest."""

    target: str
    entries: tuple[ImageEntry, ...]
    tables: tuple[Table, ...]
    memory: tuple[Placement, ...]
    assume: tuple[str, ...]
    generate: tuple[tuple[str, str | tuple[int, ...]], ...]


@dataclass(frozen=True)
class Layer:
    """A blob a deployment is published with: its media type, its name there, its digest."""

    media_type: str
    title: str
    digest: str


def split(bundle: Bundle) -> tuple[Image, dict[str, bytes]]:
    """The config of `bundle`, and the bytes of every record it names, by digest."""
    blobs: dict[str, bytes] = {}

    def named(record: Target | Program | Graph | None) -> str:
        if record is None:
            return ""
        data = wire.pack(record)
        name = hashlib.sha256(data).hexdigest()
        blobs[name] = data
        return name

    entries = tuple(
        ImageEntry(e.name, named(e.program), named(e.graph), e.inputs, e.results, e.state) for e in bundle.entries
    )
    image = Image(named(bundle.target), entries, bundle.tables, bundle.memory, bundle.assume, bundle.generate)
    return image, blobs


def join(image: Image, blob: Callable[[str], bytes]) -> Bundle:
    """The bundle that `image` is the config of; `blob` gives the verified bytes of a digest. Raises Damaged."""
    programs: dict[str, Program] = {}
    entries: list[Entry] = []
    for e in image.entries:
        if e.program not in programs:
            programs[e.program] = wire.unpack(blob(e.program), Program)
        graph = wire.unpack(blob(e.graph), Graph) if e.graph else None
        entries.append(Entry(e.name, programs[e.program], e.inputs, e.results, e.state, graph))
    target = wire.unpack(blob(image.target), Target)
    return Bundle(target, tuple(entries), image.tables, image.memory, image.assume, image.generate)


def layers(image: Image, certificate: str) -> tuple[Layer, ...]:
    """Every blob a deployment is published with besides its config, each once, in a fixed order."""
    found: dict[str, Layer] = {}
    for layer in _layers(image, certificate):
        found.setdefault(layer.digest, layer)
    return tuple(found.values())


def _layers(image: Image, certificate: str) -> Iterator[Layer]:
    yield Layer(TARGET_TYPE, "target", image.target)
    for entry in image.entries:
        yield Layer(PROGRAM_TYPE, f"programs/{entry.name}", entry.program)
    for entry in image.entries:
        if entry.graph:
            yield Layer(GRAPH_TYPE, f"graphs/{entry.name}", entry.graph)
    for placement in image.memory:
        if placement.data:
            owner = f"fills/{placement.program}/" if placement.program else "weights/"
            yield Layer(PAGES_TYPE, owner + placement.tensor, placement.data)
    yield Layer(CERTIFICATE_TYPE, CERTIFICATE_TITLE, certificate)


def data_digests(image: Image) -> tuple[str, ...]:
    """The digests of the raw pages memory starts with, each once, sorted."""
    found = {p.data for p in image.memory if p.data}
    if not all(len(name) == 64 for name in found):
        raise Damaged("a placement names data by something that is no digest")
    return tuple(sorted(found))
