"""Obligation 3: what a body needs of each site, the site has.

Scratch holds the queues of a site and its accumulators, aligned; a site has so many queues, so many transfers its
movers may have described, and so many locks; a product's accumulators fit the destination registers; an elementwise
stage's states, with the values live at the best order of evaluation, fit the vector registers; the counters of pages
that a queue was pushed and has freed wrap, and tell apart as many pages in it as they count. Sites are judged by class.
Knows nothing of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from spatial.check.queues import SENDERS, moved
from spatial.check.site_classes import site_classes
from spatial.check.verdict import Log
from spatial.ir.body import Body, Cell, Const, Convert, Engine, Expr, Lanes, Loop, Op, Queue, Stage, Step
from spatial.numerics import precision
from spatial.target import Target


@dataclass(frozen=True)
class Needs:
    """What a body needs at most of one site: scratch bytes; per computing stage its registers; pushes per queue."""

    scratch: int
    registers: tuple[tuple[str, int], ...]
    pushes: tuple[tuple[str, int], ...]


MOVES = frozenset({"load", "store", "multicast", "scatter", "send", "receive", "allreduce"})


def queue_bytes(queue: Queue, align: int) -> int:
    """Scratch bytes of a queue on one site, every page at a multiple of `align`."""
    size = prod(queue.page) * precision(queue.prec).bytes
    return queue.cap * (size + -size % align)


def state_bytes(stage: Stage, align: int) -> int:
    """Scratch bytes of the accumulators of a stage on one site, every cell at a multiple of `align`."""
    sizes = [(prod(s.cells), prod(s.shape) * precision(s.prec).bytes) for s in stage.states]
    return sum(cells * (size + -size % align) for cells, size in sizes)


def described(body: Body, stages: frozenset[int]) -> int:
    """Transfers described at once on a site that carries `stages`: each slot of a queue, at every end a mover is at.

    A slot holds what one transfer moves. What a multicast or scatter pushes is written on every site it reaches.
    """
    caps = {q.name: q.cap for q in body.queues}
    here = [body.stages[n] for n in stages]
    held = {p.queue for s in here for p in s.ins}
    ports = [p for s in here if s.kind in MOVES for p in (*s.ins, *(s.outs if s.kind not in SENDERS else ()))]
    ports += [p for s in body.stages if s.kind in SENDERS for p in s.outs if p.queue in held]
    return sum(-(-caps[p.queue] // prod(p.pages)) for p in ports)


def locked(body: Body, stages: frozenset[int]) -> int:
    """Locks of a site that carries `stages`: two for every queue, but for one inside an engine that moves nothing."""
    owner = {name: engine.name for engine in body.engines for name in _carried(engine)}
    makers = {p.queue: s for s in body.stages for p in s.outs}
    taken = [(makers[p.queue], s) for s in (body.stages[n] for n in stages) for p in s.ins if p.queue in makers]
    return 2 * sum(a.kind in MOVES or b.kind in MOVES or owner.get(a.name) != owner.get(b.name) for a, b in taken)


def registers(stage: Stage, target: Target) -> int:
    """Registers a stage takes: tiles of 32-bit lanes of its accumulators, at least one a cell; and live values."""
    lanes = prod(target.tile)
    tiles = [-(-prod(s.shape) * max(precision(s.prec).bits, 32) // (32 * lanes)) for s in stage.states]
    if stage.kind == "matmul":
        return _at_once(stage, tiles, target.matrix.registers)
    values = [s.update for s in stage.states] + [p.value for p in stage.outs if p.value is not None]
    live = max((live_tiles(v) for v in values), default=0) if stage.kind == "generic" else 0
    return live + sum(prod(s.cells) * n for s, n in zip(stage.states, tiles, strict=True))


def _at_once(stage: Stage, tiles: Sequence[int], have: int) -> int:
    """Registers of a product's accumulators, `tiles` a cell: of those that the outermost iteration works on whose fit
    `have`. Of a form over loops that turn inside it, each combination may be another cell."""
    need = 0
    for depth in range(len(stage.loops) + 1):
        turning = {f"l{n}": trips for n, trips in enumerate(stage.loops, 1) if n > depth}
        need = 0
        for state, each in zip(stage.states, tiles, strict=True):
            chosen = {name for form in state.cell for name, _ in form.terms} & set(turning)
            cells = prod(turning[name] for name in chosen) if depth > state.depth else prod(state.cells)
            need += each * min(cells, prod(state.cells))
        if need <= have:
            break
    return need


def live_tiles(expr: Expr) -> int:
    """Values that are live at once when operands are evaluated in the best order, as Sethi and Ullman count them.

    A page takes a register once read; constants and accumulators take none of their own, results always one.
    """
    match expr:
        case Const() | Cell():
            return 0
        case Op(_, args):
            most = sorted((live_tiles(a) for a in args), reverse=True)
            return max(1, *(need + held for held, need in enumerate(n for n in most if n)), 0)
        case Convert(_, arg) | Lanes(_, _, arg):
            return max(1, live_tiles(arg))
        case _:
            return 1


def needs_of(body: Body, target: Target) -> Needs:
    """What `body` needs of its neediest site."""
    most = max((sum(_site_bytes(body, c.stages, target.align).values()) for c in site_classes(body)), default=0)
    held = tuple((s.name, registers(s, target)) for s in body.stages if s.kind in ("matmul", "generic"))
    return Needs(most, held, tuple((q.name, _pushes(body, q.name)) for q in body.queues))


def check_resources(body: Body, target: Target, place: str, log: Log) -> bool:
    """Whether every site has what the body needs."""
    before = log.findings
    for alike in site_classes(body):
        parts = _site_bytes(body, alike.stages, target.align)
        total = sum(parts.values())
        at = log.at("resources", f"{place}, site {alike.site}")
        at.require(
            total <= target.scratch,
            f"{_sum(parts)} = {total} bytes exceed the {target.scratch} bytes of scratch",
            f"free {total - target.scratch} bytes: lower a capacity or a page",
        )
        queues = sum(1 for name in parts if name.startswith("queue "))
        at.require(queues <= target.queues, f"{queues} queues are more than the {target.queues} of a site")
        for what, need, have in (
            ("described transfers", described(body, alike.stages), target.descriptors),
            ("locks", locked(body, alike.stages), target.locks),
        ):
            at.require(not have or need <= have, f"{need} {what} are more than the {have} of a site")
    for stage in body.stages:
        have = target.matrix.registers if stage.kind == "matmul" else target.vector.registers
        need = registers(stage, target)
        log.at("resources", f"{place}, stage {stage.name}").require(
            need <= have,
            f"its accumulators and live values take {need} registers of {have}",
            "hold fewer cells at a time, or cut the expression into stages",
        )
    for queue in body.queues:
        log.at("resources", f"{place}, queue {queue.name}").require(
            queue.cap < 1 << min(target.counter_bits, 62),
            f"room for {queue.cap} pages is more than counters of {target.counter_bits} bits tell apart",
        )
    return log.findings == before


def _carried(engine: Engine) -> list[str]:
    """The stages in the order of an engine."""
    nodes = list(engine.order)
    for node in nodes:
        if isinstance(node, Loop):
            nodes.extend(node.body)
    return [node.stage for node in nodes if isinstance(node, Step)]


def _pushes(body: Body, queue: str) -> int:
    return max((moved(body, s, p) for s in body.stages for p in s.outs if p.queue == queue), default=0)


def _site_bytes(body: Body, stages: frozenset[int], align: int) -> dict[str, int]:
    """Bytes of each queue and each stage's accumulators on a site that carries `stages`.

    Once both ends of every queue are proved, a queue is on a site exactly where its consumer is.
    """
    carried = [body.stages[n] for n in sorted(stages)]
    consumed = {p.queue for s in carried for p in s.ins}
    parts = {f"queue {q.name}": queue_bytes(q, align) for q in body.queues if q.name in consumed}
    return parts | {f"states of {s.name}": state_bytes(s, align) for s in carried if s.states}


def _sum(parts: Mapping[str, int]) -> str:
    return " + ".join(f"{name} {n}" for name, n in parts.items())
