"""A stage and an engine as sequential processes: which step follows which.

The order of a stage's acts is the nest that `ir.body` tells; an engine interleaves its stages as its order says. Both
the count run and the page executor drive these generators; what an act does is theirs. Knows no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from spatial.errors import Problem, Refused
from spatial.ir.body import Body, Engine, Loop, Stage, Step


@dataclass(frozen=True, slots=True)
class Act:
    """One act of a stage. `kind`: "begin" and "end" of iteration `number` at a depth; "pop" and "push" of port
    `number`; "update" of the states due at a depth."""

    kind: str
    depth: int
    number: int


def acts_of(stage: Stage, turns: int) -> Iterator[Act]:
    """The acts of one whole call of `stage` on one site."""
    extents = (turns, *stage.loops)
    pops = {d: [Act("pop", d, n) for n, p in enumerate(stage.ins) if p.depth == d] for d in range(-1, len(extents))}
    pushes = {d: [Act("push", d, n) for n, p in enumerate(stage.outs) if p.depth == d] for d in range(-1, len(extents))}

    def run(depth: int) -> Iterator[Act]:
        for i in range(extents[depth] if depth >= 0 else 1):
            yield Act("begin", depth, i)
            yield from pops[depth]
            if depth + 1 < len(extents):
                yield from run(depth + 1)
            yield Act("update", depth, i)
            yield from pushes[depth]
            yield Act("end", depth, i)

    return run(-1)


class StageProcess:
    """A stage on one site, advanced a step at a time."""

    def __init__(self, stage: Stage, turns: int) -> None:
        self.stage = stage
        self._acts = acts_of(stage, turns)
        self._next: Act | None = next(self._acts, None)

    @property
    def finished(self) -> bool:
        """Whether the call is over."""
        return self._next is None

    def step(self, depth: int) -> Iterator[Act]:
        """The acts up to the end of one iteration at `depth`, enclosing beginnings and ends that fall due included."""
        if not -1 <= depth <= self.stage.depth:
            raise Refused(
                f"an engine steps {self.stage.name} at depth {depth}", f"it has depths -1 to {self.stage.depth}"
            )
        if self._next is None:
            raise Refused(f"an engine's order steps {self.stage.name} beyond its end", "", "balance its loops")
        ended = False
        while (act := self._next) is not None:
            if ended and act.kind == "begin":
                return
            yield act
            self._next = next(self._acts, None)
            ended = ended or (act.kind == "end" and act.depth == depth)


def engine_acts(engine: Engine, stages: Mapping[str, StageProcess]) -> Iterator[tuple[Stage, Act]]:
    """The acts of `engine` on one site, in its order; stages the site does not carry are skipped.

    Raises `Refused` where the order leaves a stage of its own unfinished.
    """

    def run(nodes: tuple[Loop | Step, ...]) -> Iterator[tuple[Stage, Act]]:
        for node in nodes:
            match node:
                case Loop(count, body):
                    for _ in range(count):
                        yield from run(body)
                case Step(name, depth):
                    if name in stages:
                        process = stages[name]
                        for act in process.step(depth):
                            yield process.stage, act

    yield from run(engine.order)
    for name in sorted(stages_in(engine.order)):
        if name in stages and not stages[name].finished:
            raise Refused(f"the order of engine {engine.name} leaves stage {name} unfinished", "", "balance its loops")


def stages_in(nodes: tuple[Loop | Step, ...]) -> frozenset[str]:
    """Names of the stages an order steps."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case Loop(_, body):
                found |= stages_in(body)
            case Step(name, _):
                found.add(name)
    return frozenset(found)


def engines_of(body: Body) -> tuple[Engine, ...]:
    """The body's engines; before it is scheduled, one process per stage.

    Raises `Refused` where a scheduled body leaves a stage to no engine, or to two.
    """
    if not body.engines:
        return tuple(Engine(s.name, (Step(s.name, -1),)) for s in body.stages)
    for stage in body.stages:
        carriers = [e.name for e in body.engines if stage.name in stages_in(e.order)]
        if len(carriers) != 1:
            raise Refused(
                f"stage {stage.name} is carried by {len(carriers)} engines",
                " and ".join(carriers),
                "let exactly one order step it",
            )
    known = {s.name for s in body.stages}
    for engine in body.engines:
        for name in sorted(stages_in(engine.order) - known):
            raise Refused(f"engine {engine.name} steps {name}", "the body has no such stage")
    return body.engines


def turns_of(body: Body) -> int:
    """Turns of each site in one call."""
    return prod(body.items.trips)


def deadlock(process: str, stage: str, queue: str, what: str, pages: int, cap: int) -> Problem:
    """What is wrong with a process that waits for ever: `what` is "page" or "room"; `pages` now in the queue."""
    wanted = f"a page of queue {queue}" if what == "page" else f"room in queue {queue}"
    return Problem(
        f"deadlock: {process} waits in stage {stage} for {wanted}",
        f"it holds {pages} of {cap} pages" if cap else "it is not sized",
        "give the queue more room or change the engine's order",
    )


def leftover(queue: str, pages: int) -> Problem:
    """What is wrong with a queue that is not empty when everything has ended."""
    return Problem(f"queue {queue} ends with {pages} pages", "", "balance the rates of its ends")
