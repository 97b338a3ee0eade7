"""What every pass promises of any section, as one check: contract, validity, idempotence, purity, text.

`hold` takes a template through the pinned passes as `run_passes` does, so that a lowering can be watched whole
(`lowering.Options.run`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spatial.ir.body import Body, Stage
from spatial.ir.text import parse_body, print_body
from spatial.ir.validate import validate
from spatial.passes import PASS_ORDER
from spatial.target import Target

PHASES_AROUND = {
    "fuse_generic": ("template", "template"),
    "tile": ("template", "tiled"),
    "place": ("tiled", "placed"),
    "fuse_readers": ("placed", "placed"),
    "size_buffers": ("placed", "sized"),
    "synthesize_handshakes": ("sized", "scheduled"),
    "persist": ("scheduled", "persistent"),
    "verify": ("persistent", "verified"),
}
"""The phase that each pass expects, and the one it ensures."""


def hold(template: Body, target: Target) -> Body:
    """The template through all passes, each held to what it promises. Raises what a pass raises."""
    stations = [template]
    for name, run in PASS_ORDER:
        before = stations[-1]
        text = print_body(before)
        after = run(before, target)
        assert print_body(before) == text, f"{name} changed what it was given"
        assert (before.phase, after.phase) == PHASES_AROUND[name]
        assert validate(after, target) == [], name
        assert parse_body(print_body(after)) == after, f"the text of what {name} makes is another body"
        assert run(parse_body(text), target) == after, f"{name} gives another result for an equal body"
        alone = LEFT_ALONE[name]
        assert alone(before, after) == alone(after, before), f"{name} changes what it says it leaves alone"
        stations.append(after)
    for at, (name, run) in enumerate(PASS_ORDER, 1):
        for made in stations[at:]:
            assert run(made, target) == made, f"{name} changes what it made, {made.phase} by now"
    return stations[-1]


# ---------------------------------------------------------------- what is left alone

Seen = Callable[[Body, Body], object]
"""What a pass leaves alone of its first body; the second is the one on the other side of the pass."""


def _frame(body: Body) -> Body:
    """Operands, sites, items and plan."""
    return replace(body, queues=(), stages=(), engines=(), phase="")


def _shell(stage: Stage) -> tuple[object, ...]:
    """What blocking and staying leave of a stage."""
    operand = None if stage.access is None else (stage.access.operand, stage.access.plane, stage.access.mask)
    states = [(s.name, s.shape, s.prec, s.init) for s in stage.states]
    queues = [[p.queue for p in ports] for ports in (stage.ins, stage.outs)]
    return stage.name, stage.kind, operand, states, queues, stage.on, stage.perm, stage.group


def _joined(body: Body, other: Body) -> object:
    """All but Generic stages as they are; those Generic stages that are on both sides in their order."""
    there = {s.name for s in other.stages}
    kept = [s if s.kind != "generic" else s.name for s in body.stages if s.kind != "generic" or s.name in there]
    queues = {q.name for q in other.queues}
    return _frame(body), kept, [q for q in body.queues if q.name in queues], body.engines


def _tiled(body: Body, other: Body) -> object:
    return body.operands, body.rect, body.queues, body.engines, list(map(_shell, body.stages))


def _placed(body: Body, other: Body) -> object:
    return replace(body, rect=(), items=body.items.grid, phase="")


def _read(body: Body, other: Body) -> object:
    """All but the loads that are multicast or scattered, and what is added for them."""
    assert body.plan is not None
    there, sent = {s.name for s in other.stages}, {*body.plan.multicast, *dict(body.plan.scatter)}
    stages = [s.name if s.name in sent else s for s in body.stages if s.name in there]
    queues = {q.name for q in other.queues}
    return _frame(body), stages, [q for q in body.queues if q.name in queues], body.engines


def _sized(body: Body, other: Body) -> object:
    return replace(body, queues=tuple(replace(q, cap=0) for q in body.queues), phase="")


def _scheduled(body: Body, other: Body) -> object:
    return replace(body, engines=(), phase="")


def _persistent(body: Body, other: Body) -> object:
    """Stages and queues that no resident page passes as they are, the others in outline."""
    assert body.plan is not None
    touched, queues = set(body.plan.resident), set[str]()
    for stage in body.stages:
        if stage.name in touched or any(p.queue in queues for p in stage.ins):
            touched.add(stage.name)
            if stage.kind in ("load", "multicast", "permute"):
                queues |= {p.queue for p in stage.outs}
    stages = [_shell(s) if s.name in touched else s for s in body.stages]
    sized = [replace(q, cap=0) if q.name in queues else q for q in body.queues]
    return _frame(body), stages, sized, [e.name for e in body.engines]


def _verified(body: Body, other: Body) -> object:
    return replace(body, phase="")


LEFT_ALONE: dict[str, Seen] = {
    "fuse_generic": _joined,
    "tile": _tiled,
    "place": _placed,
    "fuse_readers": _read,
    "size_buffers": _sized,
    "synthesize_handshakes": _scheduled,
    "persist": _persistent,
    "verify": _verified,
}
"""What the docstring of each pass says that it leaves alone, as far as it can be compared."""
