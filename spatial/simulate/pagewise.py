"""The judge: a phase a page at a time, engines as sequential processes, queues that block, any fair interleaving.

Slow and plain, for small sizes. Which runnable process goes on is a strategy's choice ("random" by the seed, or one
that tries to provoke trouble); by the theory of such networks results must not depend on it, and they must equal those
of `lockstep` bit for bit. Shares with it the meaning of operations, page products and memory, and nothing of how pages
are brought together.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from spatial.errors import Refused
from spatial.ir.body import Body, Stage, count
from spatial.ir.program import Call, Phase, Program
from spatial.numerics import Array
from spatial.simulate.access import operand_binds
from spatial.simulate.arithmetic import Arithmetic
from spatial.simulate.axes import sites_of
from spatial.simulate.links import links_of
from spatial.simulate.memory import Memory
from spatial.simulate.pagestage import CallRun, StageRun
from spatial.simulate.process import Act, StageProcess, deadlock, engine_acts, engines_of, leftover, turns_of
from spatial.simulate.structure import check_structure
from spatial.target import Target

STRATEGIES = ("random", "depth", "robin", "latest")
"""How the next process is chosen: at random; the same one while it can; the longest waiting; the last woken."""


@dataclass(eq=False)
class _Channel:
    """A queue of one site. `held`: pages popped whose slots are not free yet."""

    name: str
    cap: int
    pages: deque[Array] = field(default_factory=deque[Array])
    held: int = 0
    waiting: list[_Process] = field(default_factory=list["_Process"])

    @property
    def room(self) -> bool:
        return self.cap == 0 or len(self.pages) + self.held < self.cap


@dataclass(eq=False)
class _Process:
    """One engine of one site. Its run yields what it waits for, or None after something was done."""

    label: str
    run: Iterator[tuple[_Channel, str] | None]
    stage: str = ""
    wait: tuple[_Channel, str] | None = None


class Pagewise:
    """The executor for programs on one target."""

    def __init__(self, target: Target, strategy: str = "random") -> None:
        if strategy not in STRATEGIES:
            raise Refused(f"no strategy is called {strategy!r}", "", ", ".join(STRATEGIES))
        self.target, self.strategy = target, strategy

    def run_phase(self, program: Program, phase: Phase, memory: Memory, seed: int = 0) -> None:
        """Run all calls of `phase` at once; raises `Refused` on a deadlock or a queue that does not end empty."""
        calls = [_Call(program.bodies[call.body], call, memory, self.target) for call in phase]
        pool = _Pool(self.strategy, seed)
        for call in calls:
            pool.start(call.processes(pool))
        pool.complete()
        left = [leftover(c.name, len(c.pages)) for call in calls for c in call.channels.values() if c.pages]
        if left:
            raise Refused(left)


class _Pool:
    """Processes that can go on, and the choice among them."""

    def __init__(self, strategy: str, seed: int) -> None:
        self._strategy, self._random = strategy, random.Random(seed)
        self._ready: list[_Process] = []
        self._all: list[_Process] = []

    def start(self, processes: list[_Process]) -> None:
        """Let `processes` begin."""
        self._all += processes
        self._ready += processes

    def wake(self, channel: _Channel) -> None:
        """Let those go on who waited for `channel`."""
        self._ready += channel.waiting
        channel.waiting.clear()

    def complete(self) -> None:
        """Run everything to its end; raises `Refused` naming who waits for what where that does not come."""
        while self._ready:
            process = self._ready.pop(self._choose())
            try:
                process.wait = next(process.run)
            except StopIteration:
                process.wait = None
                continue
            if process.wait is not None:
                process.wait[0].waiting.append(process)
            elif self._strategy == "depth":
                self._ready.insert(0, process)
            else:
                self._ready.append(process)
        stuck = [
            deadlock(p.label, p.stage, channel.name, what, len(channel.pages) + channel.held, channel.cap)
            for p in self._all
            if p.wait is not None
            for channel, what in (p.wait,)
        ]
        if stuck:
            raise Refused(stuck)

    def _choose(self) -> int:
        match self._strategy:
            case "random":
                return self._random.randrange(len(self._ready))
            case "latest":
                return len(self._ready) - 1
            case _:
                return 0


class _Call:
    """A call under way: its channels and, per site and stage, what the stage holds."""

    def __init__(self, body: Body, call: Call, memory: Memory, target: Target) -> None:
        check_structure(body)
        links_of(body)
        self.body, self.place = body, call.place
        self.run = CallRun(body, operand_binds(body, call), memory, target, Arithmetic.of(target))
        self.channels = {(site, q.name): _Channel(q.name, q.cap) for site in sites_of(body, None) for q in body.queues}

    def processes(self, pool: _Pool) -> list[_Process]:
        """One process for each engine of each site."""
        found: list[_Process] = []
        for site in sites_of(self.body, None):
            carried = {
                s.name: StageProcess(s, turns_of(self.body))
                for s in self.body.stages
                if site in sites_of(self.body, s.on)
            }
            runs = {name: StageRun(self.run, process.stage, site) for name, process in carried.items()}
            where = (site[0] + self.place[0], site[1] + self.place[1])
            for engine in engines_of(self.body):
                process = _Process(f"engine {engine.name} at site {where}", iter(()))
                process.run = self._drive(engine_acts(engine, carried), runs, process, pool)
                found.append(process)
        return found

    def _drive(
        self, acts: Iterator[tuple[Stage, Act]], runs: dict[str, StageRun], process: _Process, pool: _Pool
    ) -> Iterator[tuple[_Channel, str] | None]:
        for stage, act in acts:
            process.stage = stage.name
            run = runs[stage.name]
            match act.kind:
                case "begin":
                    run.begin(act)
                case "pop":
                    channel = self.channels[run.site, stage.ins[act.number].queue]
                    for _ in range(count(stage.ins[act.number].pages)):
                        while not channel.pages:
                            yield channel, "page"
                        run.held[act.number].append(channel.pages.popleft())
                        channel.held += 1
                        yield None
                case "update":
                    run.update(act.depth)
                case "push":
                    for number in range(count(stage.outs[act.number].pages)):
                        pushed = run.pushed(act.number, number)
                        for site, _ in pushed:
                            channel = self.channels[site, stage.outs[act.number].queue]
                            while not channel.room:
                                yield channel, "room"
                        for site, page in pushed:
                            channel = self.channels[site, stage.outs[act.number].queue]
                            channel.pages.append(page)
                            pool.wake(channel)
                        yield None
                case _:
                    run.end(act.depth)
                    for number, port in enumerate(stage.ins):
                        if port.depth == act.depth:
                            channel = self.channels[run.site, port.queue]
                            channel.held -= len(run.held[number])
                            run.held[number].clear()
                            pool.wake(channel)
                    yield None
