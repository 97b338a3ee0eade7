"""Which queues hold values that pass the product datapath's operand rounding unchanged.

Rounding again what is exact already costs time and changes nothing: 8-bit integers and 16-bit floats made float32 fit
TF32's 11 significant bits. A small forward analysis over the stages of a body; it knows formats, no data.
"""

from __future__ import annotations

from spatial.ir.body import Body, Convert, Expr, Page, Stage
from spatial.simulate.links import MOVING, Links
from spatial.target import Target

_FIT = {"tf32": ("i8", "f16", "bf16"), "bf16": ("i8", "bf16")}


def unrounded_queues(body: Body, links: Links, target: Target) -> frozenset[str]:
    """Queues of `body` whose pages, as float32, the operand rounding of `target` leaves as they are."""
    fitting = _FIT.get(target.matrix.operand, ())
    found = {q.name for q in body.queues if q.prec in fitting}
    for stage in links.order:
        for port in stage.outs:
            made = [p for p, _ in links.producers[port.queue]]
            if len(made) == 1 and _keeps(stage, port.value, found):
                found.add(port.queue)
    return frozenset(found)


def _keeps(stage: Stage, value: Expr | None, known: set[str]) -> bool:
    if stage.kind in MOVING:
        return stage.ins[0].queue in known
    match value:
        case Convert("f32", Page(port, _)) | Page(port, _):
            return stage.ins[port].queue in known
        case _:
            return False
