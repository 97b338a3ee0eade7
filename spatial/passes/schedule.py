"""A body run on counts: does a complete schedule exist within the capacities?

Engines of one site of each class (`alike`) as sequential processes over lists of operations; pages are counted, not
computed. Since the body is a Kahn network, one complete run proves every interleaving live; and since every turn starts
and ends with empty queues (what stays for the call apart), a run of one turn proves any number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod

from spatial.ir.body import Body, Engine, Loop, Stage, Step, count
from spatial.passes.alike import Alike, Site, alike


@dataclass(frozen=True)
class Blocked:
    """A run that cannot go on: (site, engine, stage, queue) of who waits; `full`: queues someone waits to push to."""

    waits: tuple[tuple[Site, str, str, str], ...]
    full: frozenset[str]
    left: tuple[tuple[Site, str, int], ...] = ()

    def __str__(self) -> str:
        parts = [f"{e} of site {s} in stage {g} waits for queue {q}" for s, e, g, q in self.waits]
        parts += [f"queue {q} of site {s} ends with {n} pages" for s, q, n in self.left]
        return "; ".join(parts)


@dataclass(frozen=True)
class Operation:
    """One blocking operation: "take" n pages, "free" their slots, or "put" n pages to the queue on `sites`."""

    kind: str
    stage: str
    queue: str
    pages: int
    sites: tuple[Site, ...]


@dataclass
class Cursor:
    """A stage's place in its nest, from which steps take the operations that fall due."""

    stage: Stage
    turns: int
    site: Site
    to: tuple[Site, ...]
    at: list[int] = field(default_factory=list[int])
    begun: int = -2

    def __post_init__(self) -> None:
        self.at = [0] * (len(self.stage.loops) + 1)

    def trips(self, depth: int) -> int:
        """Iterations at `depth` within one at depth - 1."""
        return 1 if depth < 0 else self.turns if depth == 0 else self.stage.loops[depth - 1]

    def step(self, depth: int) -> Iterator[Operation]:
        """The operations up to the end of one iteration at `depth`."""
        for d in range(self.begun + 1, depth + 1):
            yield from self.begin(d)
        deepest = max((p.depth for p in (*self.stage.ins, *self.stage.outs)), default=-1)
        if depth < deepest:
            for _ in range(self.trips(depth + 1)):
                yield from self.step(depth + 1)
            return
        yield from self.end(depth)

    def begin(self, depth: int) -> Iterator[Operation]:
        """Pops of an iteration at `depth`."""
        self.begun = depth
        for p in self.stage.ins:
            if p.depth == depth:
                yield Operation("take", self.stage.name, p.queue, count(p.pages), (self.site,))

    def end(self, depth: int) -> Iterator[Operation]:
        """Pushes and releases of an iteration at `depth`, and of those around it that end with it."""
        for p in self.stage.outs:
            if p.depth == depth:
                yield Operation("put", self.stage.name, p.queue, count(p.pages), self.to)
        for p in self.stage.ins:
            if p.depth == depth:
                yield Operation("free", self.stage.name, p.queue, count(p.pages), (self.site,))
        self.begun = depth - 1
        if depth < 0:
            return
        self.at[depth] += 1
        if self.at[depth] == self.trips(depth):
            self.at[depth] = 0
            yield from self.end(depth - 1)


def carries(stage: Stage, site: Site) -> bool:
    """Whether the stage runs on the site."""
    r = stage.on
    return r is None or (r.x <= site[0] < r.x + r.w and r.y <= site[1] < r.y + r.h)


def operations(body: Body, engine: Engine, site: Site, turns: int, classes: Alike) -> Iterator[Operation]:
    """The operations of one engine of one site over a call of `turns` turns; pushes go to one site of each class."""
    carried = [s for s in body.stages if carries(s, site)]
    cursors = {s.name: Cursor(s, turns, site, classes.reached(s, site)) for s in carried}

    def walk(nodes: tuple[Loop | Step, ...]) -> Iterator[Operation]:
        for node in nodes:
            match node:
                case Step():
                    if node.stage in cursors:
                        yield from cursors[node.stage].step(node.depth)
                case Loop():
                    for _ in range(node.count):
                        yield from walk(node.body)

    yield from walk(engine.order)


def run(body: Body, turns: int) -> Blocked | None:
    """Run the body for `turns` turns on counts; None where it completes with empty queues, else who waits for what."""
    classes = alike(body)
    cap = {q.name: q.cap for q in body.queues}
    there: dict[tuple[Site, str], int] = {}
    used: dict[tuple[Site, str], int] = {}
    processes = [(s, e.name, operations(body, e, s, turns, classes)) for s in classes.sites for e in body.engines]
    pending: dict[int, Operation] = {}
    for n, (_, _, ops) in enumerate(processes):
        first = next(ops, None)
        if first is not None:
            pending[n] = first
    moved = True
    while pending and moved:
        moved = False
        for n in list(pending):
            while n in pending and _apply(pending[n], cap, there, used):
                moved = True
                following = next(processes[n][2], None)
                if following is None:
                    del pending[n]
                else:
                    pending[n] = following
    if pending:
        waits = tuple((processes[n][0], processes[n][1], op.stage, op.queue) for n, op in pending.items())
        return Blocked(waits, frozenset(op.queue for op in pending.values() if op.kind == "put"))
    left = tuple((s, q, n) for (s, q), n in there.items() if n)
    return Blocked((), frozenset(), left) if left else None


def _apply(
    op: Operation, cap: dict[str, int], there: dict[tuple[Site, str], int], used: dict[tuple[Site, str], int]
) -> bool:
    """Do the operation if it need not wait."""
    keys = [(s, op.queue) for s in op.sites]
    match op.kind:
        case "take":
            if there.get(keys[0], 0) < op.pages:
                return False
            there[keys[0]] -= op.pages
        case "free":
            used[keys[0]] -= op.pages
        case _:
            if any(used.get(k, 0) + op.pages > cap[op.queue] for k in keys):
                return False
            for k in keys:
                used[k] = used.get(k, 0) + op.pages
                there[k] = there.get(k, 0) + op.pages
    return True


def one_turn(body: Body) -> tuple[Body, int]:
    """The body with one turn in place of all, and how many turns it then has.

    Where every engine is what stays and one loop over the turns; any other body is given back whole.
    """
    turns = prod(body.items.trips)
    engines: list[Engine] = []
    for e in body.engines:
        first = tuple(n for n in e.order if isinstance(n, Step) and n.depth < 0)
        rest = e.order[len(first) :]
        match rest:
            case (Loop(count=trips, body=inner),) if trips == turns and turns > 1:
                engines.append(Engine(e.name, (*first, Loop(1, inner))))
            case ():
                engines.append(e)
            case _:
                return body, turns
    return replace(body, engines=tuple(engines)), 1
