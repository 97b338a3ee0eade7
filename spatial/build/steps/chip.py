"""chip: a target's file to its record.

Expects: the name, the digest of the file; its path aside. Ensures: `target`, the wire form of a `Target`, in which
sources, comments and order of the file do not show. Raises SpecError.
"""

from __future__ import annotations

from pathlib import Path

from spatial.build.canonical import digest
from spatial.build.steps.given import Given
from spatial.build.targets import read_target
from spatial.errors import EnvironmentFault
from spatial.ir import wire


def run(given: Given) -> dict[str, bytes]:
    """The record of a chip."""
    path = Path(given.aside["path"])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EnvironmentFault(f"the target {path} cannot be read: {error.strerror}") from None
    if digest(data) != given.params["file"]:
        raise EnvironmentFault(f"the target {path} was changed while it was being built", "", "build again")
    return {"target": wire.pack(read_target(data, str(path), given.params["name"]))}
