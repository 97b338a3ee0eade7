"""Engine orders as blocks of acts: what each step of an engine does, as acts on queues and stretches of time.

An order is unrolled to the iterations at which its stages move pages, one number each; equal ones share a block, so
that an order is short to hold and two stretches of it are compared as numbers. What a stage computes between two acts
on queues is one stretch. Every iteration that moves pages costs the target's step. Knows no data and no bank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from spatial.errors import Refused
from spatial.ir.body import Body, Engine, Loop, Stage, Step, count
from spatial.simulate.links import SPREADING
from spatial.simulate.process import turns_of
from spatial.simulate.twin.figures import ticks
from spatial.simulate.twin.places import moved_port
from spatial.simulate.twin.work import Work, work_of
from spatial.target import Target

LONGEST = 4_000_000
"""Steps of the longest order that is unrolled."""


WORK, TAKE, FREE, MAKE, READ, WRITE, SEND = range(7)
"""What an act does: wait for a stretch of time; take pages; free their slots; make pages; read pages from memory, write
them there; send them to a group of sites."""


class Act(NamedTuple):
    """An act of stage number `stage` on `pages` pages of queue number `queue`. `time`: of the stretch, or of making
    each page; `pack`: of packing it."""

    kind: int
    stage: int
    queue: int = 0
    pages: int = 0
    time: int = 0
    pack: int = 0


Acts = tuple[Act, ...]


@dataclass(frozen=True)
class Order:
    """The order of one engine on the sites that carry the same stages: `steps` are numbers of `blocks`."""

    engine: str
    steps: tuple[int, ...]
    blocks: tuple[Acts, ...]


class Orders:
    """The orders of a body's engines, made once for each set of stages a site carries."""

    def __init__(self, body: Body, target: Target) -> None:
        self.body = body
        self.stages = {s.name: n for n, s in enumerate(body.stages)}
        queues = {q.name: n for n, q in enumerate(body.queues)}
        self.works = tuple(work_of(body, s, target) for s in body.stages)
        deepest = [max((p.depth for p in (*s.ins, *s.outs)), default=0) for s in body.stages]
        for engine in body.engines:
            for name, depth in steps_of(engine.order):
                if not -1 <= depth <= body.stages[self.stages[name]].depth:
                    raise Refused(f"an engine steps {name} at depth {depth}", "its nest has no such depth")
                deepest[self.stages[name]] = max(deepest[self.stages[name]], depth)
        step = ticks(target.step_cycles)
        self._acts = tuple(_StageActs(s, n, self.works[n], queues, step, deepest[n]) for n, s in enumerate(body.stages))
        self._made: dict[tuple[str, frozenset[str]], Order] = {}

    def of(self, engine: Engine, carried: frozenset[str]) -> Order:
        """The order of `engine` on a site that carries these stages; steps of others are skipped there."""
        key = engine.name, carried
        if key not in self._made:
            self._made[key] = self._unrolled(engine, carried)
        return self._made[key]

    def _unrolled(self, engine: Engine, carried: frozenset[str]) -> Order:
        turns = turns_of(self.body)
        places = {name: _Place(self._acts[self.stages[name]], turns) for name in carried}
        steps: list[int] = []
        numbers: dict[tuple[str, int, int], int] = {}
        blocks: list[Acts] = []

        def run(nodes: tuple[Loop | Step, ...]) -> None:
            for node in nodes:
                match node:
                    case Loop():
                        for _ in range(node.count):
                            run(node.body)
                    case Step() if node.stage in places:
                        place = places[node.stage]
                        for _ in range(place.left(node.depth)):
                            key, acts = place.step()
                            number = numbers.setdefault((node.stage, *key), len(blocks))
                            if number == len(blocks):
                                blocks.append(acts)
                            steps.append(number)
                        if len(steps) > LONGEST:
                            raise Refused(f"engine {engine.name} takes more than {LONGEST} steps in a call")
                    case Step():
                        pass

        run(engine.order)
        for name, _ in steps_of(engine.order):
            if name in places and not places[name].ended:
                what = f"the order of engine {engine.name} leaves stage {name} unfinished"
                raise Refused(what, "", "balance its loops")
        return Order(engine.name, tuple(steps), tuple(blocks))


def steps_of(nodes: tuple[Loop | Step, ...]) -> Mapping[tuple[str, int], None]:
    """The (stage, depth) pairs an order steps."""
    found: dict[tuple[str, int], None] = {}
    for node in nodes:
        match node:
            case Loop(_, inner):
                found |= steps_of(inner)
            case Step(name, depth):
                found[name, depth] = None
    return found


class _StageActs:
    """The acts at the beginning and at the end of an iteration of one stage at each depth down to `deepest`."""

    def __init__(
        self, stage: Stage, number: int, work: Work, queues: Mapping[str, int], step: int, deepest: int
    ) -> None:
        self.stage, self.deepest = stage, deepest
        self._begin: dict[int, Acts] = {}
        self._end: dict[int, Acts] = {}
        for depth in range(-1, deepest + 1):
            ins = [p for p in stage.ins if p.depth == depth]
            outs = [n for n, p in enumerate(stage.outs) if p.depth == depth]
            taken = [Act(TAKE, number, queues[p.queue], count(p.pages)) for p in ins]
            freed = [Act(FREE, number, queues[p.queue], count(p.pages)) for p in ins]
            cost = [Act(WORK, number, time=step)] if ins or outs else []
            inner = range(depth, stage.depth + 1) if depth == deepest else (depth,)
            updates = ticks(sum(work.update(d) * prod(stage.loops[depth:d] if depth >= 0 else ()) for d in inner))
            moved = [self._moved(n, number, work, queues) for n in outs]
            if stage.kind == "store" and stage.access is not None:
                data = stage.ins[moved_port(stage, stage.access)]
                moved = [Act(WRITE, number, 0, count(data.pages))] if data.depth == depth else []
            self._begin[depth] = (*cost, *taken)
            self._end[depth] = (*([Act(WORK, number, time=updates)] if updates else []), *moved, *freed)

    def between(self, first: int, last: int) -> Acts:
        """The acts of beginning iterations from depth `first` down to the deepest, and ending them up to `last`."""
        found: list[Act] = []
        for depth in range(first, self.deepest + 1):
            found += self._begin[depth]
        for depth in range(self.deepest, last - 1, -1):
            found += self._end[depth]
        return tuple(found)

    def _moved(self, n: int, number: int, work: Work, queues: Mapping[str, int]) -> Act:
        port = self.stage.outs[n]
        pages, queue = count(port.pages), queues[port.queue]
        if self.stage.kind == "load":
            return Act(READ, number, queue, pages)
        if self.stage.kind in SPREADING:
            return Act(SEND, number, queue, pages)
        return Act(MAKE, number, queue, pages, ticks(work.outs[n].evaluate), ticks(work.outs[n].pack))


class _Place:
    """How far a stage has come in its nest: iterations done at each depth from -1 to the deepest that counts, and the
    deepest that is open."""

    def __init__(self, acts: _StageActs, turns: int) -> None:
        self.acts = acts
        self.extents = (1, turns, *acts.stage.loops)[: acts.deepest + 2]
        self.done = [0] * len(self.extents)
        self.open = -2

    @property
    def ended(self) -> bool:
        """Whether the call is over."""
        return self.done[0] == 1

    def left(self, depth: int) -> int:
        """How many iterations at the deepest depth are left of the iteration at `depth` that is open or comes next."""
        whole, done = 1, 0
        for extent, there in zip(self.extents[depth + 2 :], self.done[depth + 2 :], strict=True):
            whole, done = whole * extent, done * extent + there
        return whole - done

    def step(self) -> tuple[tuple[int, int], Acts]:
        """The acts of one iteration at the deepest depth, with the beginnings and ends around it that fall due; and
        what they hang on: how many of either."""
        if self.ended:
            raise Refused(f"an engine's order steps {self.acts.stage.name} beyond its end", "", "balance its loops")
        first, last, deepest = self.open + 1, self.acts.deepest, self.acts.deepest
        self.done[deepest + 1] += 1
        while last >= 0 and self.done[last + 1] == self.extents[last + 1]:
            self.done[last + 1] = 0
            last -= 1
            self.done[last + 1] += 1
        self.open = last - 1
        return (first, last), self.acts.between(first, last)
