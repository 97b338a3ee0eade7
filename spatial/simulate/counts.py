"""Does a body's schedule run within its capacities? One run on page counts alone, once per body.

Capacities depend on no data, and a body is a Kahn network: one complete run that leaves every queue empty proves every
interleaving. Sites that carry the same stages and stand in the same relation to multicasts behave alike, so one site
of each such class is run. Knows no tensor and no value.

A queue of capacity 0 is not sized yet and has room without end; a body without engines runs each stage by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spatial.errors import Refused
from spatial.ir.body import Body, Stage, count
from spatial.simulate.axes import sites_of
from spatial.simulate.links import SPREADING, Site, links_of, members_of
from spatial.simulate.process import Act, StageProcess, deadlock, engine_acts, engines_of, leftover, turns_of
from spatial.simulate.structure import check_structure


@dataclass(eq=False)
class _Level:
    """How full a queue of one class of sites is: pages `filled`, and popped ones that keep their slot (`held`)."""

    name: str
    cap: int
    filled: int = 0
    held: int = 0
    waiting: list[_Process] = field(default_factory=list["_Process"])

    @property
    def room(self) -> bool:
        """Whether one more page fits."""
        return self.cap == 0 or self.filled + self.held < self.cap


@dataclass(eq=False)
class _Process:
    """One engine of one class of sites; `wait` is the queue it waits for and "page" or "room"."""

    label: str
    run: Iterator[tuple[_Level, str]]
    stage: str = ""
    wait: tuple[_Level, str] | None = None


def check_schedule(body: Body) -> None:
    """Raise `Refused` where the body deadlocks, or ends with pages in a queue; every such queue is named."""
    check_structure(body)
    links_of(body)
    _Run(body).complete()


class _Run:
    def __init__(self, body: Body) -> None:
        self.classes = site_classes(body)
        self.body = body
        self.levels = {(c, q.name): _Level(q.name, q.cap) for c in set(self.classes.values()) for q in body.queues}
        self.ready: deque[_Process] = deque()
        self.processes: list[_Process] = []
        seen: set[int] = set()
        turns = turns_of(body)
        for site, c in self.classes.items():
            if c in seen:
                continue
            seen.add(c)
            carried = {s.name: StageProcess(s, turns) for s in body.stages if site in sites_of(body, s.on)}
            for engine in engines_of(body):
                process = _Process(f"engine {engine.name} at site {site}", iter(()))
                process.run = self._drive(site, engine_acts(engine, carried), process)
                self.processes.append(process)

    def complete(self) -> None:
        """Run every process to its end; raises `Refused` where one is left waiting or a queue is not empty."""
        self.ready.extend(self.processes)
        while self.ready:
            process = self.ready.popleft()
            process.wait = next(process.run, None)
            if process.wait is not None:
                process.wait[0].waiting.append(process)
        stuck = [
            deadlock(p.label, p.stage, level.name, what, level.filled + level.held, level.cap)
            for p in self.processes
            if p.wait is not None
            for level, what in (p.wait,)
        ]
        left = [leftover(level.name, level.filled) for level in self.levels.values() if level.filled]
        if stuck or left:
            raise Refused(stuck or left)

    def _drive(self, site: Site, acts: Iterator[tuple[Stage, Act]], process: _Process) -> Iterator[tuple[_Level, str]]:
        """Carry the acts out on counts; yields a queue and what is missing in it whenever there is none."""
        own = self.classes[site]
        held: dict[tuple[str, int], list[tuple[_Level, int]]] = {}
        for stage, act in acts:
            process.stage = stage.name
            if act.kind == "pop":
                port = stage.ins[act.number]
                level, n = self.levels[own, port.queue], count(port.pages)
                # Popped pages keep their slots, so that taking them one by one or all at once is the same to others.
                while level.filled < n:
                    yield level, "page"
                level.filled -= n
                level.held += n
                held.setdefault((stage.name, act.depth), []).append((level, n))
            elif act.kind == "push":
                for level_group in self._pushes(stage, act.number, site):
                    for level in level_group:
                        while not level.room:
                            yield level, "room"
                    for level in level_group:
                        level.filled += 1
                        self._wake(level)
            elif act.kind == "end":
                for level, n in held.pop((stage.name, act.depth), []):
                    level.held -= n
                    self._wake(level)

    def _pushes(self, stage: Stage, number: int, site: Site) -> list[list[_Level]]:
        """The queues each page pushed goes into, page by page."""
        port = stage.outs[number]
        if stage.kind not in SPREADING:
            return [[self.levels[self.classes[site], port.queue]]] * count(port.pages)
        members = dict.fromkeys(self.classes[m] for m in members_of(stage, site))
        return [[self.levels[c, port.queue] for c in members]] * count(port.pages)

    def _wake(self, level: _Level) -> None:
        self.ready.extend(level.waiting)
        level.waiting.clear()


def site_classes(body: Body) -> dict[Site, int]:
    """A class for each site, such that sites of one class behave alike in every run.

    Classes start from the stages a site carries and are split until, for each spreading stage, sites of one class have
    senders of one class and, as senders, members of the same classes.
    """
    spreading = [s for s in body.stages if s.kind in SPREADING]
    sites = sites_of(body, None)
    colour = _numbered({site: tuple(site in sites_of(body, s.on) for s in body.stages) for site in sites})
    senders = {
        (s.name, member): site for s in spreading for site in sites_of(body, s.on) for member in members_of(s, site)
    }
    while True:
        keys = {
            site: (
                colour[site],
                *(colour[senders[s.name, site]] if (s.name, site) in senders else -1 for s in spreading),
                *(
                    tuple(sorted({colour[m] for m in members_of(s, site)})) if site in sites_of(body, s.on) else ()
                    for s in spreading
                ),
            )
            for site in sites
        }
        finer = _numbered(keys)
        if len(set(finer.values())) == len(set(colour.values())):
            return colour
        colour = finer


def _numbered(keys: Mapping[Site, tuple[object, ...]]) -> dict[Site, int]:
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys.values()))}
    return {site: numbers[key] for site, key in keys.items()}
