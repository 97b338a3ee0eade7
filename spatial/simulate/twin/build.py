"""From the calls of a phase to the machine that runs them.

Sites keep their place on the chip; queues, processes and ports are made for each. Ports and lines are shared between
calls, as the banks are. Knows how a machine is put together and nothing of how it runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from spatial.errors import Refused
from spatial.ir.body import Body, Stage
from spatial.ir.program import Call, Program
from spatial.numerics import precision
from spatial.simulate.access import operand_binds
from spatial.simulate.axes import sites_of
from spatial.simulate.links import SPREADING, links_of, members_of, pages_moved
from spatial.simulate.process import engines_of, turns_of
from spatial.simulate.structure import check_structure
from spatial.simulate.twin.figures import Figures, Site
from spatial.simulate.twin.machine import Machine
from spatial.simulate.twin.orders import Orders, steps_of
from spatial.simulate.twin.parts import Group, Member, Pages, Part, Process, Queue, Server, Shared
from spatial.simulate.twin.places import Moves, Runs, moves_of
from spatial.target import Target

Link = tuple[str, int, int]

LONGEST = 4_000_000
"""Pages a site may move in a call that is timed."""


class Sections:
    """The bodies of a program as the machine needs them: each checked, and its orders made, once."""

    def __init__(self, program: Program, target: Target) -> None:
        self.program, self.target = program, target
        self.figures = Figures(target)
        self._orders: dict[int, Orders] = {}

    def orders(self, number: int) -> Orders:
        """The orders of body `number`. Raises `Refused` where it can not be timed."""
        if number not in self._orders:
            body = self.program.bodies[number]
            _check(body, self.target)
            self._orders[number] = Orders(body, self.target)
        return self._orders[number]


def _check(body: Body, target: Target) -> None:
    check_structure(body)
    links_of(body)
    engines_of(body)
    if not body.engines or any(not q.cap for q in body.queues):
        raise Refused("a section is timed before it is scheduled", "its engines or queues are not there yet")
    known = {e.name for e in target.engines}
    unknown = sorted({e.name for e in body.engines} - known)
    if unknown:
        raise Refused(f"{target.name} has no engine {unknown[0]}", f"it has {', '.join(sorted(known))}")
    turns = turns_of(body)
    moved = sum(pages_moved(p.depth, p.pages, s.loops, turns) for s in body.stages for p in (*s.ins, *s.outs))
    if moved > LONGEST:
        raise Refused(f"a site moves {moved} pages in a call", f"calls of up to {LONGEST} are timed")


def machine_of(calls: tuple[Call, ...], sections: Sections) -> Machine:
    """The machine of a phase: `calls` at once."""
    return _Builder(sections).machine(calls)


class _Builder:
    def __init__(self, sections: Sections) -> None:
        self.sections, self.target, self.figures = sections, sections.target, sections.figures
        self.banks = tuple(Server() for _ in range(sections.target.memory.banks))
        self.ports: dict[tuple[int, Site], Server] = {}
        self.lines: dict[tuple[int, Link], Server] = {}

    def machine(self, calls: tuple[Call, ...]) -> Machine:
        """The machine of `calls`."""
        processes: list[Process] = []
        queues: list[Queue] = []
        self.lines = self._lines(calls)
        for number, call in enumerate(calls):
            queues += self._call(number, call, processes)
        ports, lines = tuple(self.ports.values()), tuple(dict.fromkeys(self.lines.values()))
        shared = Shared(self.banks, ports, lines, self.figures.latency, self.figures.message)
        return Machine(processes, queues, shared, len(calls))

    def _lines(self, calls: tuple[Call, ...]) -> dict[tuple[int, Link], Server]:
        """The lines of the phase by their links: links that the same transfers keep are one line."""
        networks = {e.name: max(e.network, 0) for e in self.target.engines}
        keeps: dict[tuple[int, Link], list[int]] = {}
        transfers = 0
        for call in calls:
            body = self.sections.program.bodies[call.body]
            self.sections.orders(call.body)  # what can not be timed is told before anything else is asked of it
            carries = {stage: networks[e.name] for e in engines_of(body) for stage, _ in steps_of(e.order)}
            for stage in (s for s in body.stages if s.kind in SPREADING):
                for site in sites_of(body, stage.on):
                    members = members_of(stage, site)
                    for some in (members,) if stage.kind == "multicast" else ((m,) for m in members):
                        for link in _links(call.place, site, some):
                            keeps.setdefault((carries[stage.name], link), []).append(transfers)
                        transfers += 1
        servers: dict[tuple[int, ...], Server] = {}
        return {link: servers.setdefault(tuple(kept), Server()) for link, kept in keeps.items()}

    def _call(self, number: int, call: Call, processes: list[Process]) -> list[Queue]:
        """Add the processes of a call; its queues."""
        body = self.sections.program.bodies[call.body]
        orders = self.sections.orders(call.body)
        binds = operand_binds(body, call)
        tensors = {o.name: self.sections.program.tensor(binds[o.name].tensor) for o in body.operands}
        pages = {
            n: self._pages(moves_of(body, s, tensors[a.operand], binds[a.operand], self.figures, call.place[0]))
            for n, s in enumerate(body.stages)
            if (a := s.access) is not None
        }
        networks = {e.name: max(e.network, 0) for e in self.target.engines}
        queues = self._queues(body)
        own = {
            site: [queues.get((site, q.name)) or Queue(q.name, 0) for q in body.queues] for site in sites_of(body, None)
        }
        for site, mine in own.items():
            carried = frozenset(s.name for s in body.stages if site in sites_of(body, s.on))
            there = site[0] + call.place[0], site[1] + call.place[1]
            for engine in engines_of(body):
                order = orders.of(engine, carried)
                network = networks[engine.name]
                stages = {act.stage for block in order.blocks for act in block}
                if not order.steps:
                    continue
                groups = {
                    n: self._group(body, body.stages[n], site, call.place, network, queues)
                    for n in stages
                    if body.stages[n].kind in SPREADING
                }
                processes.append(
                    Process(
                        number=len(processes),
                        call=number,
                        site=there,
                        engine=engine.name,
                        steps=order.steps,
                        blocks=order.blocks,
                        acts=order.blocks[order.steps[0]],
                        queues=mine,
                        pages={n: pages[n][site] for n in stages if n in pages},
                        groups=groups,
                        port=self._port(network, there),
                        moved=[0] * len(body.stages),
                    )
                )
        return list(queues.values())

    def _pages(self, moves: Moves) -> dict[Site, Pages]:
        """What a stage moves on each of its sites."""
        parts = tuple(tuple(self._part(runs, moves.placed) for runs in found) for found in moves.runs)
        return {site: (kinds.tolist(), parts) for site, kinds in moves.kinds.items()}

    def _part(self, runs: Runs, placed: bool) -> Part:
        serve = [self.figures.served(size, placed) for size in runs.sizes]
        transfer = sum(self.figures.transfer(size) for size in runs.sizes)
        issue = self.figures.issue * len(runs.sizes)
        return Part(
            self.banks[runs.bank],
            sum(runs.sizes),
            issue,
            max(issue, transfer),
            transfer,
            sum(serve),
            issue - self.figures.issue + serve[-1],
        )

    def _queues(self, body: Body) -> dict[tuple[Site, str], Queue]:
        """The queues of every site that has them, their slots free."""
        found: dict[tuple[Site, str], Queue] = {}
        for stage in body.stages:
            for port in stage.outs:
                cap = body.queue(port.queue).cap
                for site in sites_of(body, stage.on):
                    for member in members_of(stage, site) if stage.kind in SPREADING else (site,):
                        way = self.figures.way(member, site)
                        found[member, port.queue] = Queue(port.queue, cap, way, deque([0] * cap))
        return found

    def _group(
        self, body: Body, stage: Stage, site: Site, place: Site, network: int, queues: dict[tuple[Site, str], Queue]
    ) -> Group:
        """What spreading stage `stage` at `site` reaches, and over which lines."""
        queue = body.queue(stage.outs[0].queue)
        size = queue.page[0] * queue.page[1] * precision(queue.prec).bytes
        sites = members_of(stage, site)
        members = tuple(
            Member(
                queues[m, queue.name],
                self._port(network, (m[0] + place[0], m[1] + place[1])),
                self.figures.way(site, m),
            )
            for m in sites
        )
        turns = (
            ((members, self._tree(network, place, site, sites)),)
            if stage.kind == "multicast"
            else tuple(((m,), self._tree(network, place, site, (s,))) for m, s in zip(members, sites, strict=True))
        )
        send = max(self.figures.issue, self.figures.transfer(size))
        return Group(turns, send, self.figures.on_link(size), size)

    def _tree(self, network: int, place: Site, site: Site, members: tuple[Site, ...]) -> tuple[Server, ...]:
        """The lines a transfer keeps."""
        return tuple(dict.fromkeys(self.lines[network, link] for link in _links(place, site, members)))

    def _port(self, network: int, site: Site) -> Server:
        return self.ports.setdefault((network, site), Server())


def _links(place: Site, site: Site, members: tuple[Site, ...]) -> Iterator[Link]:
    """The links between neighbours that a transfer keeps: along the sender's row to the columns of all members, then
    along the column of every member off that row. A link is that to the next site, by the first of the two."""
    (x, y), (left, top) = site, place
    columns = [m[0] for m in members] + [x]
    for n in range(min(columns), max(columns)):
        yield "row", n + left, y + top
    for column in dict.fromkeys(columns):
        rows = [m[1] for m in members if m[0] == column] + [y]
        for n in range(min(rows), max(rows)):
            yield "column", column + left, n + top
