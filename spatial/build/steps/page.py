"""page: a constant fill as raw pages.

Expects: input `constant`, the graph tensor whose fill is its formula; how it is stored (`shape`, `prec`, `layout`); and
`figures`, what of the target a layout depends on. Aside: the target. Ensures: `pages`.
"""

from __future__ import annotations

from spatial.build.pack import pack_bytes
from spatial.build.steps.given import Given
from spatial.errors import Bug
from spatial.ir import wire
from spatial.ir.graph import GraphTensor
from spatial.lift.algebra.fills import fill_values


def run(given: Given) -> dict[str, bytes]:
    """The pages of one constant: evaluated in binary64, correctly rounded, then rounded once to storage."""
    tensor = wire.unpack(given.inputs["constant"], GraphTensor)
    if tensor.fill is None:
        raise Bug("a constant without a formula")
    values = fill_values(tensor.fill, tensor.dims)
    slices, rows, cols = given.params["shape"]
    pages = pack_bytes(
        values, (slices, rows, cols), given.params["prec"], given.params["layout"], given.aside["target"]
    )
    return {"pages": pages.tobytes()}
