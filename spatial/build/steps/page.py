"""page: a constant fill as raw pages.

Expects: input `constant`, the graph tensor whose fill is its formula; how it is stored (`shape`, `prec`, `layout`); and
`figures`, what of the target a layout depends on. Aside: the target. Ensures: `pages`.
"""

from __future__ import annotations

from spatial.build.pack import pack_bytes
from spatial.build.steps.given import Given
from spatial.graph.fills import evaluate_fill
from spatial.ir import wire
from spatial.ir.graph import GraphTensor


def run(given: Given) -> dict[str, bytes]:
    """The pages of one constant: evaluated in binary64, correctly rounded, then rounded once to storage."""
    values = evaluate_fill(wire.unpack(given.inputs["constant"], GraphTensor))
    slices, rows, cols = given.params["shape"]
    pages = pack_bytes(
        values, (slices, rows, cols), given.params["prec"], given.params["layout"], given.aside["target"]
    )
    return {"pages": pages.tobytes()}
