"""pack: one weight as raw pages in its agreed layout.

Expects: `row`, its row of the agreement (dims, shape, prec, layout); `source`, what the index says of the tensors its
values come from, or the seeded fill; `figures`, what of the target a layout depends on. Aside: the deployment, the
weight's name, the target, and the paths of the files. Ensures: `pages`.
"""

from __future__ import annotations

from typing import Any

from spatial.build.deployment import Deployment, FileSource
from spatial.build.pack import pack_bytes
from spatial.build.steps.given import Given
from spatial.build.weight_files import open_weights
from spatial.build.weights import weight_values


def run(given: Given) -> dict[str, bytes]:
    """The pages of one weight. Raises Refused where the file's shape is not the programs'."""
    deployment: Deployment = given.aside["deployment"]
    row: dict[str, Any] = given.params["row"]
    source = deployment.weights.source
    files = open_weights(source.format, given.aside["paths"]) if isinstance(source, FileSource) else None
    values = weight_values(deployment, given.aside["table"], files, tuple(row["dims"]))
    slices, rows, cols = row["shape"]
    pages = pack_bytes(values, (slices, rows, cols), row["prec"], row["layout"], given.aside["target"])
    return {"pages": pages.tobytes()}
