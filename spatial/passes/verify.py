"""verify: prove that the section cannot starve, overflow or exceed its site, and mark it so.

Expects: persistent.  Ensures: verified.
Leaves alone: everything.

Proved with the compiler's own code: a complete run within the capacities with queues empty at the end; scratch, queues,
accumulators and engines within the target's; integers within their formats. The checker derives the same from the
artifact, sharing none of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from spatial.errors import Bug, DoesNotFit, Problem
from spatial.ir.body import Body
from spatial.ir.rewrite import accumulator_tiles, live_tiles
from spatial.numerics import precision
from spatial.passes.intervals import prove
from spatial.passes.schedule import one_turn, run
from spatial.target import Target


def verify(body: Body, target: Target) -> Body:
    """Return `body` as verified; raises `DoesNotFit`, `Refused` (integers) or `Bug` (a pass broke its contract)."""
    if body.phase == "verified":
        return body
    problems = list(resources(body, target))
    if problems:
        raise DoesNotFit(problems)
    prove(body, target)
    stuck = run(*one_turn(body))
    if stuck is not None:
        raise Bug("a scheduled section does not run to its end", str(stuck))
    return replace(body, phase="verified")


def scratch_bytes(body: Body) -> int:
    """Bytes of scratch a site needs: every queue and every accumulator."""
    queues = sum(q.cap * prod(q.page) * precision(q.prec).bytes for q in body.queues)
    cells = sum(prod(s.cells) * prod(s.shape) * precision(s.prec).bytes for stage in body.stages for s in stage.states)
    return queues + cells


def resources(body: Body, target: Target) -> Iterator[Problem]:
    """What the section needs and a site does not have."""
    need = scratch_bytes(body)
    if need > target.scratch:
        listing = ", ".join(f"{q.name}: {q.cap} x {prod(q.page) * precision(q.prec).bytes}" for q in body.queues)
        yield Problem(f"a section needs {need} bytes of scratch, a site has {target.scratch}", listing)
    if len(body.queues) > target.queues:
        yield Problem(f"a section needs {len(body.queues)} queues, a site has {target.queues}")
    for stage in body.stages:
        need = accumulator_tiles(stage, target) + live_tiles(stage)
        have = target.matrix.registers if stage.kind == "matmul" else target.vector.registers
        if need > have:
            yield Problem(f"stage {stage.name} takes {need} registers, the datapath has {have}")
    for queue in body.queues:
        if queue.cap >= 1 << (target.counter_bits - 1):
            yield Problem(f"queue {queue.name} of {queue.cap} pages overflows a counter of {target.counter_bits} bits")
    for engine in body.engines:
        if all(e.name != engine.name for e in target.engines):
            yield Problem(f"the target has no engine called {engine.name}")
