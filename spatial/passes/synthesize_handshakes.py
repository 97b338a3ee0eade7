"""synthesize_handshakes: the engine orders of one turn.

Expects: sized.  Ensures: scheduled; every stage stands in the order of exactly one engine, and one turn runs to its end
within the capacities (credits are the queues' free slots).
Leaves alone: everything but the engines.

    engine compute                             ->    engine compute: loop 18 { dequant@1 product@1 } epilogue@0
"""

from __future__ import annotations

from dataclasses import replace

from spatial.ir.body import Body
from spatial.passes.due import due
from spatial.passes.orders import turn_orders
from spatial.target import Target


def synthesize_handshakes(body: Body, target: Target) -> Body:
    """Return `body` with its engines' orders for one turn."""
    if not due("synthesize_handshakes", "sized", body):
        return body
    return replace(body, engines=turn_orders(body), phase="scheduled")
