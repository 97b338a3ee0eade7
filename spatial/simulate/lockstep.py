"""The fast executor: each stage of a call once, over all its sites, turns and loops, its queues as whole streams.

What depends on the body alone (order of stages, index arrays, whether its schedule runs within its capacities) is found
once and kept. Long calls are cut into windows of turns or sites that fit a cache. Agrees bit for bit with `pagewise`,
which takes a page at a time. Knows stages and queues, no operation of any model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spatial.errors import Refused
from spatial.ir.body import Body, OutPort, Stage, count
from spatial.ir.program import Bind, Call, Phase, Program
from spatial.numerics import Array, precision
from spatial.simulate.access import Reader, operand_binds
from spatial.simulate.accumulate import finals as final_cells
from spatial.simulate.arithmetic import Arithmetic, fit
from spatial.simulate.axes import nest_of
from spatial.simulate.counts import check_schedule
from spatial.simulate.expression import as_product, evaluate
from spatial.simulate.groups import Group, groups_of
from spatial.simulate.leaves import (
    CellLeaf,
    Value,
    Window,
    as_stream,
    cell_values,
    held_pages,
    leaf_values,
    per_turn,
    value_of,
)
from spatial.simulate.links import SPREADING, Links, links_of, members_of
from spatial.simulate.memory import Memory
from spatial.simulate.permute import permuted
from spatial.simulate.rounding import unrounded_queues
from spatial.simulate.steps import StateRun
from spatial.target import Target

STREAM_BYTES = 1 << 24
"""A window is cut so that no stream of it takes much more, where it can be cut."""


class Lockstep:
    """The executor for programs on one target; keeps what it finds out about bodies."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._plans: dict[int, _Plan] = {}

    def run_phase(self, program: Program, phase: Phase, memory: Memory, seed: int = 0) -> None:
        """Run the calls of `phase` one after the other. `seed` plays no part: there is one order."""
        for call in phase:
            self.plan(program.bodies[call.body]).run(call, memory)

    def plan(self, body: Body) -> _Plan:
        """The plan of `body`; raises `Refused` where its schedule does not run within its capacities."""
        found = self._plans.get(id(body))
        if found is None:
            found = _Plan(body, self.target)
            # The plan holds the body, so that its id stays its own.
            self._plans[id(body)] = found
        return found


class _Plan:
    """Everything about one body that no call changes."""

    def __init__(self, body: Body, target: Target) -> None:
        self.body, self.target = body, target
        self.arithmetic = Arithmetic.of(target)
        check_schedule(body)
        self.links = links_of(body)
        exact = unrounded_queues(body, self.links, target)
        self.stages = tuple(_StagePlan(body, stage, target, self.links, exact) for stage in self.links.order)
        self.windows = _windows(body, self.stages)

    def run(self, call: Call, memory: Memory) -> None:
        """Run one call."""
        binds = operand_binds(self.body, call)
        for window in self.windows:
            streams = _Streams(self.links)
            for stage in self.stages:
                stage.run(streams, binds, memory, window)


class _Streams:
    """The streams of one window: what each out port pushed, to be taken by the in port at the other end."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._pushed: dict[tuple[str, int], tuple[tuple[tuple[int, int], ...], Array]] = {}

    def push(self, stage: Stage, number: int, sites: tuple[tuple[int, int], ...], stream: Array) -> None:
        """Keep what out port `number` of `stage` pushed on `sites`."""
        self._pushed[stage.name, number] = sites, stream

    def take(self, queue: str, sites: tuple[tuple[int, int], ...]) -> Array:
        """The stream of `queue` on `sites`, whoever pushed it."""
        parts = [self._pushed[stage.name, n] for stage, n in self._links.producers[queue]]
        if len(self._links.consumers[queue]) == 1:
            # Nobody else takes it: let its memory go as soon as the taker is done.
            for stage, n in self._links.producers[queue]:
                del self._pushed[stage.name, n]
        if len(parts) == 1:
            owned, stream = parts[0]
            if owned == sites or stream.shape[0] == 1:
                return stream
            where = {site: i for i, site in enumerate(owned)}
            return stream[[where[site] for site in sites]]
        found = {site: (p, i) for p, (owned, _) in enumerate(parts) for i, site in enumerate(owned)}
        turns = max(stream.shape[1] for _, stream in parts)
        whole = [np.broadcast_to(s, (len(owned), turns, *s.shape[2:])) for owned, s in parts]
        return np.stack([whole[p][i] for p, i in (found[site] for site in sites)])


class _StagePlan:
    """One stage of a body: its nest, its expressions with resolved leaves, its places."""

    def __init__(self, body: Body, stage: Stage, target: Target, links: Links, exact: frozenset[str]) -> None:
        self.body, self.stage, self.target = body, stage, target
        self.arithmetic = Arithmetic.of(target)
        self.nest = nest_of(body, stage)
        self.queues = {q.name: q for q in body.queues}
        self.reader = Reader(body, stage, self.nest) if stage.kind in ("load", "store") else None
        computing = stage.kind in ("matmul", "generic")
        self.groups: tuple[Group, ...] = groups_of(stage, self.nest) if computing else ()
        self.updates = [value_of(stage, self.nest, s.update, s.at, (), update=True) for s in stage.states]
        self.leaves = {key: leaf for value in self.updates for key, leaf in value.leaves.items()}
        self.outs: list[Value] = []
        self.exact = (False, False)
        for port in stage.outs if computing else ():
            if port.value is None:
                raise Refused(f"stage {stage.name} pushes to {port.queue} without a value")
            self.outs.append(value_of(stage, self.nest, port.value, port.depth, port.pages, update=False))
        for state in stage.states:
            item = as_product(state.update)
            if item is not None:
                a, b = (stage.ins[p.port].queue in exact for p in (item[1].a, item[1].b))
                self.exact = (a, b)

    def run(self, streams: _Streams, binds: dict[str, Bind], memory: Memory, window: Window) -> None:
        """Take what the in ports pop, push what the out ports push."""
        stage, nest = self.stage, self.nest
        taken = [streams.take(p.queue, nest.sites) for p in stage.ins]
        if stage.kind in SPREADING:
            streams.push(stage, 0, self._members(), self._spread(taken[0]))
            return
        held = [held_pages(s, stage, nest, p) for s, p in zip(taken, stage.ins, strict=True)]
        match stage.kind:
            case "load":
                self._push(streams, 0, self._reader().load(memory, binds, held, window))
            case "store":
                self._reader().store(memory, binds, held, window)
            case "permute":
                self._push(streams, 0, permuted(held[0], stage.perm))
            case _:
                finals = self._finals(held, window)
                for number, value in enumerate(self.outs):
                    self._push(streams, number, self._evaluate(value, held, finals, window))

    def _reader(self) -> Reader:
        assert self.reader is not None
        return self.reader

    def _finals(self, held: Sequence[Array], window: Window) -> dict[int, Array]:
        finals: dict[int, Array] = {}
        if self.groups:

            def lane(leaf: object) -> Array:
                found = self.leaves[id(leaf)]
                assert not isinstance(found, CellLeaf)
                return leaf_values(found, held, self.nest, 0, window)

            run = StateRun(self.stage, self.nest, self.target, self.arithmetic, lane, self.exact, window)
            for group in self.groups:
                finals |= final_cells(run, group)
        return finals

    def _evaluate(self, value: Value, held: Sequence[Array], finals: dict[int, Array], window: Window) -> Array:
        def leaf(node: object) -> Array:
            found = value.leaves[id(node)]
            if isinstance(found, CellLeaf):
                return cell_values(found, finals, self.nest, len(value.pages), window)
            return leaf_values(found, held, self.nest, len(value.pages), window)

        return evaluate(value.expr, leaf, self.arithmetic)

    def _push(self, streams: _Streams, number: int, values: Array) -> None:
        port = self.stage.outs[number]
        queue = self.queues[port.queue]
        streams.push(
            self.stage, number, self.nest.sites, as_stream(fit(queue.prec, values), self.nest, port, queue.page)
        )

    def _members(self) -> tuple[tuple[int, int], ...]:
        return tuple(m for site in self.nest.sites for m in members_of(self.stage, site))

    def _spread(self, stream: Array) -> Array:
        """The stream on every member, sender by sender."""
        stage, ends = self.stage, (self.stage.ins[0], self.stage.outs[0])
        members = stage.group[0] * stage.group[1]
        senders = np.repeat(np.arange(len(self.nest.sites)), members)
        if stage.kind == "multicast":
            return stream if stream.shape[0] == 1 else stream[senders]
        each = count(ends[1].pages)
        sites, turns, pages, rows, cols = stream.shape
        parts = stream.reshape(sites, turns, pages // (members * each), members, each, rows, cols)
        which = np.tile(np.arange(members), len(self.nest.sites))
        if sites == 1:
            senders = np.zeros_like(senders)
        return parts[senders, :, :, which].reshape(len(senders), turns, -1, rows, cols)


def _windows(body: Body, stages: Sequence[_StagePlan]) -> tuple[Window, ...]:
    """Windows of sites and turns, in order, such that streams stay small where nothing forbids cutting."""
    whole: Window = (slice(None), slice(None))
    spreads = any(s.stage.kind in SPREADING for s in stages)
    cut_sites = not spreads and len({s.nest.sites for s in stages}) == 1
    resident: dict[str, set[bool]] = {}
    for s in stages:
        for port in (*s.stage.ins, *s.stage.outs):
            resident.setdefault(port.queue, set()).add(port.depth < 0)
    cut_turns = all(len(ends) == 1 for ends in resident.values())
    if any(state.depth < 0 for s in stages for state in s.stage.states):
        cut_turns = False
    sites, turns = len(stages[0].nest.sites), stages[0].nest.turns
    size = max((_stream_bytes(s, port, turns) for s in stages for port in s.stage.outs), default=0)
    per_window = max(1, -(-size // STREAM_BYTES))
    if per_window == 1:
        return (whole,)
    turn_parts = min(turns, per_window) if cut_turns else 1
    site_parts = min(sites, -(-per_window // turn_parts)) if cut_sites else 1
    return tuple((s, t) for s in _slices(sites, site_parts) for t in _slices(turns, turn_parts))


def _stream_bytes(stage: _StagePlan, port: OutPort, turns: int) -> int:
    queue = stage.queues[port.queue]
    pages = per_turn(stage.stage, port) * (turns if port.depth >= 0 else 1) * len(stage.nest.sites)
    return pages * queue.page[0] * queue.page[1] * max(4, precision(queue.prec).bytes)


def _slices(extent: int, parts: int) -> list[slice]:
    """The extent in equal parts; uncut it is everything, for stages carried by other numbers of sites too."""
    if parts == 1:
        return [slice(None)]
    step = -(-extent // parts)
    return [slice(start, min(extent, start + step)) for start in range(0, extent, step)]
