"""link: programs and packed weights to the config of a bundle.

Expects: inputs `program.NAME` and `graph.NAME` of each program, and `target`; `fills`, by program the digest of each
fill's pages by tensor; `weights`, the digest of each weight's pages; `assume` and `generate` as the host is to know
them. Ensures: `config`, the wire form of an `Image`. Raises Refused with every disagreement.
"""

from __future__ import annotations

from spatial.build.canonical import digest
from spatial.build.image import split
from spatial.build.link import Generate, Part, link
from spatial.build.steps.given import Given
from spatial.errors import Bug
from spatial.ir import wire
from spatial.ir.graph import Graph
from spatial.ir.program import Program
from spatial.target import Target


def run(given: Given) -> dict[str, bytes]:
    """The config of the linked bundle."""
    parts = [
        Part(
            name,
            wire.unpack(given.inputs[f"program.{name}"], Program),
            wire.unpack(given.inputs[f"graph.{name}"], Graph),
            fills,
        )
        for name, fills in sorted(given.params["fills"].items())
    ]
    target = wire.unpack(given.inputs["target"], Target)
    generate: Generate = tuple(
        (role, value if isinstance(value, str) else tuple(value)) for role, value in given.params["generate"]
    )
    image, blobs = split(link(parts, given.params["weights"], target, tuple(given.params["assume"]), generate))
    if not set(blobs) <= {digest(data) for data in given.inputs.values()}:
        raise Bug("a record of the bundle has another wire form than the one it was read from")
    return {"config": wire.pack(image)}
