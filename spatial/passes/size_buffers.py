"""size_buffers: how many pages each queue holds.

Expects: placed.  Ensures: sized; every queue has room for as many of its transfers as the plan's buffer depth says, and
the body runs to its end within these capacities.
Leaves alone: stages, items.

    queue q 32x32 f32                          ->    queue q 32x32 f32 cap 8        (4 pages a transfer, 2 buffers)

Paths that part and meet again may need more than that: the run on counts names the queue that blocks, which then grows
until the body is live.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug, DoesNotFit
from spatial.ir.body import Body, Queue, count
from spatial.passes.orders import turn_orders
from spatial.passes.schedule import Blocked, run
from spatial.target import Target

ROUNDS = 64
"""Times a body may grow before it is given up as one that no capacity makes live."""


def size_buffers(body: Body, target: Target) -> Body:
    """Return `body` with its capacities; raises `DoesNotFit` where none makes it live."""
    if body.plan is None:
        raise Bug("buffers are sized before a plan is chosen")
    if body.phase != "placed":
        return body
    depth = dict(body.plan.depth)
    transfer: dict[str, int] = {}
    for stage in body.stages:
        for port in (*stage.ins, *stage.outs):
            transfer[port.queue] = max(transfer.get(port.queue, 0), count(port.pages))

    def buffers(q: Queue) -> int:
        return depth.get(q.name, depth.get(q.name.removesuffix("_sent"), 2))

    queues = tuple(replace(q, cap=transfer[q.name] * buffers(q)) for q in body.queues)
    body = replace(body, queues=queues, phase="sized")
    orders = turn_orders(body)
    for _ in range(ROUNDS):
        stuck = run(replace(body, engines=orders), 1)
        if stuck is None:
            return body
        body = _grow(body, stuck, transfer)
    raise DoesNotFit("a section stays blocked however large its queues are", str(run(replace(body, engines=orders), 1)))


def _grow(body: Body, stuck: Blocked, transfer: dict[str, int]) -> Body:
    if not stuck.full:
        raise DoesNotFit("a section waits for pages nothing pushes", str(stuck))
    queues = tuple(replace(q, cap=q.cap + transfer[q.name]) if q.name in stuck.full else q for q in body.queues)
    return replace(body, queues=queues)
