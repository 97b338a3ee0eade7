"""index: the tensors of a weight source, each with the digest of its bytes.

Expects: `format` and the digests of the `files`; their paths aside. Ensures: `index`, canonical (`weight_files`).
"""

from __future__ import annotations

from spatial.build.steps.given import Given
from spatial.build.weight_files import index_bytes, open_weights


def run(given: Given) -> dict[str, bytes]:
    """The index of a source. Raises Damaged, Refused or EnvironmentFault."""
    return {"index": index_bytes(open_weights(given.params["format"], given.aside["paths"]))}
