"""size_buffers: how many pages each queue holds.

Expects: placed.  Ensures: sized; every queue has room for as many of its transfers as the plan's buffer depth says, and
the body runs to its end within these capacities.
Leaves alone: everything but capacities.

    queue q 32x32 f32                          ->    queue q 32x32 f32 cap 8        (4 pages a transfer, 2 buffers)

Paths that part and meet again may need more than that: the run on counts names the queues that block, which then grow
until the body is live, or no longer fits a site.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.errors import Bug, DoesNotFit
from spatial.ir.body import Body, Queue, count
from spatial.passes.due import due
from spatial.passes.orders import engine_names, turn_orders
from spatial.passes.schedule import Blocked, run
from spatial.passes.verify import scratch_bytes
from spatial.target import Target

ROUNDS = 64
"""Times a body may grow before it is given up."""


def size_buffers(body: Body, target: Target) -> Body:
    """Return `body` with its capacities; raises `DoesNotFit` where none makes it live."""
    if not due("size_buffers", "placed", body):
        return body
    if body.plan is None:
        raise Bug("a placed body has no plan to be sized by")
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
    grown = 0
    while (stuck := run(replace(body, engines=orders), 1)) is not None:
        if grown == ROUNDS:
            raise DoesNotFit(f"a section stays blocked after its queues grew {ROUNDS} times", str(stuck))
        causes = _causes(body, stuck)
        body = _grow(body, causes, transfer)
        if (need := scratch_bytes(body, target)) > target.scratch:
            raise DoesNotFit(
                f"a section runs only with {need} bytes of queues and accumulators, a site has {target.scratch}",
                f"pages wait in {', '.join(sorted(causes))} until what they meet is there",
                "split the statement, or use a target with more",
            )
        grown += 1
    return body


def _causes(body: Body, stuck: Blocked) -> frozenset[str]:
    """The full queues that keep the body from going on: not those that only fill up behind another full one."""
    if not stuck.full:
        raise DoesNotFit("a section waits for pages nothing pushes", str(stuck))
    names = engine_names(body)
    consumer = {p.queue: names[s.name] for s in body.stages for p in s.ins}

    def holds(queue: str) -> bool:
        waited = [q for _, engine, _, q in stuck.waits if engine == consumer[queue]]
        return any(q == queue or q not in stuck.full for q in waited)

    return frozenset(filter(holds, stuck.full)) or stuck.full


def _grow(body: Body, full: frozenset[str], transfer: dict[str, int]) -> Body:
    queues = tuple(replace(q, cap=q.cap + transfer[q.name]) if q.name in full else q for q in body.queues)
    return replace(body, queues=queues)
