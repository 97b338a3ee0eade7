"""verify: prove that the section cannot starve, overflow or exceed its site, and mark it so.

Expects: persistent.  Ensures: verified.
Leaves alone: everything but the mark.

Proved with the compiler's own code: a complete run within the capacities with queues empty at the end; scratch, queues,
descriptors, locks, accumulators and engines within the target's; integers within their formats. The checker derives the
same from the artifact, sharing none of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from spatial.errors import Bug, DoesNotFit, Problem
from spatial.ir.body import Body, Loop, Step, count
from spatial.ir.registers import held_tiles, live_tiles
from spatial.numerics import precision
from spatial.passes.due import due
from spatial.passes.intervals import prove
from spatial.passes.schedule import one_turn, run
from spatial.target import Target


def verify(body: Body, target: Target) -> Body:
    """Return `body` as verified; raises `DoesNotFit`, `Refused` (integers) or `Bug` (a pass broke its contract)."""
    if not due("verify", "persistent", body):
        return body
    problems = list(resources(body, target))
    if problems:
        raise DoesNotFit(problems)
    prove(body, target)
    stuck = run(*one_turn(body))
    if stuck is not None:
        raise Bug("a scheduled section does not run to its end", str(stuck))
    return replace(body, phase="verified")


def scratch_bytes(body: Body, target: Target) -> int:
    """Bytes of scratch a site needs: every queue and every accumulator, each page and cell in its aligned slot."""
    queues = sum(q.cap * target.slot(prod(q.page) * precision(q.prec).bytes) for q in body.queues)
    states = [s for stage in body.stages for s in stage.states]
    return queues + sum(prod(s.cells) * target.slot(prod(s.shape) * precision(s.prec).bytes) for s in states)


MOST_STEPS = 1 << 32
"""Iterations of a stage that no call of an artifact has."""

MOVERS = ("load", "store", "multicast", "scatter", "send", "receive", "allreduce")


def descriptors(body: Body) -> int:
    """Transfers that a site's movers keep described: of each queue one for every slot, at each end that moves pages.

    What a multicast or scatter pushes arrives at a site too; it counts as the pushing end.
    """
    caps = {q.name: q.cap for q in body.queues}
    ports = [p for s in body.stages if s.kind in MOVERS for p in (*s.ins, *s.outs)]
    return sum(-(-caps[p.queue] // count(p.pages)) for p in ports)


def locks(body: Body) -> int:
    """Semaphores of a site: two for every queue, but for those inside one engine that moves nothing."""
    owner = {step: e.name for e in body.engines for step in _steps(e.order)}
    producer = {p.queue: s for s in body.stages for p in s.outs}
    consumer = {p.queue: s for s in body.stages for p in s.ins}
    ends = [(producer[q.name], consumer[q.name]) for q in body.queues]
    return 2 * sum(a.kind in MOVERS or b.kind in MOVERS or owner[a.name] != owner[b.name] for a, b in ends)


def _steps(order: tuple[Loop | Step, ...]) -> Iterator[str]:
    for node in order:
        if isinstance(node, Step):
            yield node.stage
        else:
            yield from _steps(node.body)


def resources(body: Body, target: Target) -> Iterator[Problem]:
    """What the section needs and a site does not have."""
    need = scratch_bytes(body, target)
    if need > target.scratch:
        listing = ", ".join(
            f"{q.name}: {q.cap} x {target.slot(prod(q.page) * precision(q.prec).bytes)}" for q in body.queues
        )
        yield Problem(f"a section needs {need} bytes of scratch, a site has {target.scratch}", listing)
    if len(body.queues) > target.queues:
        yield Problem(f"a section needs {len(body.queues)} queues, a site has {target.queues}")
    if target.descriptors and (need := descriptors(body)) > target.descriptors:
        yield Problem(f"a section needs {need} transfers described, a site has room for {target.descriptors}")
    if target.locks and (need := locks(body)) > target.locks:
        yield Problem(f"a section needs {need} locks, a site has {target.locks}")
    for stage in body.stages:
        steps = prod(stage.loops) * prod(body.items.trips)
        if steps >= MOST_STEPS:
            yield Problem(
                f"a site would do {steps} iterations of one stage in a call",
                f"an artifact counts up to {MOST_STEPS - 1}",
                "let the statement's loops have fewer iterations",
            )
        need = held_tiles(stage, target) + live_tiles(stage)
        have = target.matrix.registers if stage.kind == "matmul" else target.vector.registers
        if need > have:
            yield Problem(f"stage {stage.name} takes {need} registers, the datapath has {have}")
    for queue in body.queues:
        if queue.cap >= 1 << target.counter_bits:
            what = f"queue {queue.name} has room for {queue.cap} pages"
            yield Problem(f"{what}, more than counters of {target.counter_bits} bits tell apart")
    for engine in body.engines:
        if all(e.name != engine.name for e in target.engines):
            yield Problem(f"the target has no engine called {engine.name}")
