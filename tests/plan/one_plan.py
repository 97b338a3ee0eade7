"""One candidate of the plan search in plain numbers: the declared space, the limits, and what its stages cost.

Written apart from `spatial.plan`: of it only the numbers of a template (`model`) and the figures of one transfer or
access (`figures`) are used. Banks are counted page by page. `exhaustive` prices every one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import ceil, prod

from spatial.numerics import precision
from spatial.plan.figures import bank_cycles, message_cycles, sending_cycles, spreading_cycles, transfer_cycles
from spatial.plan.knobs import ANY, Knobs
from spatial.plan.model import Evaluated, Model, Moved, Stream, Work
from spatial.target import Target


@dataclass(frozen=True)
class One:
    """A candidate: `along` the axes put along x and y (-1: none; twice the same: one over the whole rectangle)."""

    model: Model
    target: Target
    factors: tuple[int, ...]
    along: tuple[int, int]
    rect: tuple[int, int]
    multicast: int
    resident: int
    buffers: int
    beside: int

    @cached_property
    def grid(self) -> list[int]:
        return [n // f for n, f in zip(self.model.body.items.grid, self.factors, strict=False)]

    @cached_property
    def spread(self) -> list[int]:
        sides = list(zip(self.along, self.rect, strict=True))
        return [prod(n for axis, n in sides if axis == a) for a in range(len(self.grid))]

    @cached_property
    def turns(self) -> int:
        return prod(ceil(g / s) for g, s in zip(self.grid, self.spread, strict=True))

    @cached_property
    def items(self) -> int:
        return prod(self.grid)

    @cached_property
    def sites(self) -> int:
        return self.rect[0] * self.rect[1]

    def blocked(self, coords: tuple[int, ...]) -> int:
        return prod(self.factors[k] for k in coords)

    def spills(self, work: Work) -> bool:
        return work.matrix and self.blocked(work.cells) * work.tiles > self.target.matrix.registers

    @cached_property
    def blocking(self) -> list[tuple[int, int]]:
        """(coordinate, factor) in the order they are blocked: as many sums as registers hold stand innermost."""
        loop, axes = self.model.loop, range(len(self.grid))
        inner = [1] * len(self.grid)
        products = [w for w in self.model.work if w.matrix]

        def fit(w: Work) -> bool:
            held = prod(inner[k] if k in axes else self.factors[k] for k in w.cells)
            return held * w.tiles <= self.target.matrix.registers

        for k in reversed(axes):
            celled = [w for w in products if k in w.cells]
            for size in divisors(self.factors[k]) if celled else ():
                before, inner[k] = inner[k], size
                if not all(fit(w) for w in celled):
                    inner[k] = before
        outer = [(k, self.factors[k] // inner[k]) for k in axes]
        middle = [] if loop is None else [(loop, self.factors[loop])]
        return [*outer, *middle, *((k, inner[k]) for k in axes)]

    def pages(self, stream: Stream) -> int:
        return self.blocked(stream.coords)

    def fires(self, stream: Stream) -> int:
        return stream.fires // self.factors[self.model.loop] if stream.loop else stream.fires

    def stays(self, load: Moved) -> bool:
        if load.axes or load.indexed or load.turned:
            return False
        if load.feeds_index and self.model.streams[load.stream].fires > 1:
            return False
        return bool(self.resident) and self.turns > 1

    def group(self, load: Moved) -> tuple[bool, bool]:
        if not self.multicast or load.indexed or load.feeds_index:
            return False, False
        if "rectangle" not in self.target.network.multicast:
            return False, False
        free = [axis not in load.axes for axis in self.along]
        if self.along[0] == self.along[1]:
            free = [all(free)] * 2
        return free[0] and self.rect[0] > 1, free[1] and self.rect[1] > 1

    def cast(self, load: Moved) -> bool:
        return any(self.group(load))

    def members(self, load: Moved) -> int:
        """Sites that a reader beside a bank reads for; 0 where the load has no such readers."""
        target, memory, (w, h) = self.target, self.target.memory, self.rect
        if not self.beside or not load.strip or not target.network.count or not target.engine_of("scatter"):
            return 0
        (axis,) = load.axes
        members, rest = divmod(load.strip, self.factors[axis])
        if rest or members < 2 or w != target.columns or w % members or self.along != (axis, axis):
            return 0
        readers = w // members * h
        if not {*range(0, w, members)} <= {*memory.beside} or readers > memory.banks:
            return 0
        return members if readers == memory.banks or self.grid[axis] <= w * h else 0

    def sends(self, load: Moved) -> bool:
        return self.cast(load) or self.members(load) > 0

    def readers(self, load: Moved) -> int:
        return prod(1 if free else n for free, n in zip(self.group(load), self.rect, strict=True))

    @cached_property
    def together(self) -> bool:
        return any(self.cast(x) and not self.stays(x) for x in self.model.loads)

    def has(self, want: Knobs) -> bool:
        """Whether loads and queues are as they are held."""
        loads = self.model.loads
        return (
            want.buffers in (None, self.buffers)
            and want.multicast in (None, {x.stage for x in loads if self.cast(x)})
            and want.scatter in (None, {x.stage for x in loads if self.members(x)})
            and want.resident in (None, {x.stage for x in loads if self.stays(x)})
        )

    # ------------------------------------------------------------ limits

    def queue_bytes(self, stream: Stream) -> int:
        once = self.pages(stream) * self.target.slot(stream.page_bytes)
        for load in self.model.loads:
            if load.stage == stream.producer:
                held = once * (self.fires(stream) if self.stays(load) else self.buffers)
                return held * (1 + (self.members(load) or int(self.cast(load))))
        return once * self.buffers

    def scratch(self) -> int:
        total = sum(self.queue_bytes(s) for s in self.model.streams)
        for work in self.model.work:
            states = next(s for s in self.model.body.stages if s.name == work.stage).states
            size = sum(self.target.slot(prod(s.shape) * precision(s.prec).bytes) for s in states)
            total += self.blocked(work.cells) * size
        return total

    def fits(self) -> bool:
        model, target = self.model, self.target
        casts = [x for x in model.loads if self.sends(x)]
        kinds = {s.name: s.kind for s in model.body.stages}
        loads = {x.stage: x for x in model.loads}
        descriptors = locks = 0
        for s in model.streams:
            ends = [kinds[s.producer], kinds[s.consumer]]
            moved = sum(k in ("load", "store") for k in ends)
            room = 1 if s.producer in loads and self.stays(loads[s.producer]) else self.buffers
            again, members = 0, self.members(loads[s.producer]) if s.producer in loads else 0
            if members:
                again = 3 * (self.rect[0] // members) - 1
            elif s.producer in loads and self.cast(loads[s.producer]):
                again = 2
            descriptors += (moved + again) * room
            locks += 2 if moved or len({target.engine_of(k)[0] for k in ends}) > 1 else 0
            held = self.fires(s) if s.producer in loads and self.stays(loads[s.producer]) else self.buffers
            if self.pages(s) * max(members, 1) * held > 2**target.counter_bits - 1:
                return False
        for work in model.work:
            tiles = work.tiles if self.spills(work) else self.blocked(work.cells) * work.tiles
            if tiles > target.matrix.registers if work.matrix else tiles + work.live > target.vector.registers:
                return False
        return (
            self.scratch() <= target.scratch
            and len(model.streams) + len(casts) <= target.queues
            and descriptors <= (target.descriptors or descriptors)
            and locks + 2 * len(casts) <= (target.locks or locks + 2 * len(casts))
        )


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def placements(
    model: Model, factors: tuple[int, ...], target: Target, rect: tuple[int, int] | None = None
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Of a rectangle that is held every placement, useful or not."""
    grid = [n // f for n, f in zip(model.body.items.grid, factors, strict=False)]
    if rect in (None, (1, 1)):
        yield (-1, -1), (1, 1)
    sides = list(product(range(1, target.columns + 1), range(1, target.rows + 1)))

    def useful(extent: int, width: int) -> bool:
        return width == 1 or ceil(extent / width) < ceil(extent / (width - 1))

    for a, b in product(range(len(grid)), repeat=2):
        for w, h in sides if grid[a] > 1 and grid[b] > 1 else ():
            if rect is not None:
                fits = (w, h) == rect
            elif a != b:
                fits = useful(grid[a], w) and useful(grid[b], h)
            else:
                alike = [s for s in sides if s[0] * s[1] == w * h]
                squarest = min(alike, key=lambda s: (s[0] + s[1], s[1]))
                fits = useful(ceil(grid[a] / h), w) and squarest == (w, h)
                strips = [x.strip // factors[a] for x in model.loads if x.strip and x.axes == {a}]
                fits = (fits or (w == target.columns and w * h in [target.memory.banks * s for s in strips])) and (
                    w * (h - 1) < grid[a]
                )
            if fits:
                yield (a, b), (w, h)


def space(model: Model, target: Target, want: Knobs = ANY) -> Iterator[One]:
    """Every legal candidate with the knobs `want`."""
    for factors in product(*(c.factors for c in model.coordinates)):
        held = dict(want.block)
        if any(held.get(c.name, f) != f for c, f in zip(model.coordinates, factors, strict=True)):
            continue
        for along, rect in placements(model, factors, target, want.rect):
            for flags in product((0, 1), (0, 1), (1, 2), (0, 1)):
                one = One(model, target, factors, along, rect, *flags)
                # A flag that changes nothing makes no plan of its own.
                if one.multicast and not any(one.cast(x) for x in model.loads):
                    continue
                if one.resident and not any(one.stays(x) for x in model.loads):
                    continue
                if one.beside and not any(one.members(x) for x in model.loads):
                    continue
                if one.fits() and one.has(want):
                    yield one


# ---------------------------------------------------------------- what stages cost


def fullest(one: One, moved: Moved, rounds: int, sites: int) -> float:
    """Pages on the fullest bank of `rounds` rounds of so many sites; of one site alone where `sites` is 0."""
    model, stream = one.model, one.model.streams[moved.stream]
    extents: list[tuple[int, int]] = []
    differing = 1
    for k, stride in enumerate(moved.strides):
        looped = k == model.loop
        if k in stream.coords:
            extents.append((stride, one.factors[k] * (rounds if looped else 1)))
        if k in moved.axes and sites:
            along = min(one.spread[k], one.grid[k])
            extents.append((stride * one.factors[k], along))
            differing *= along
    turned = 1 if model.loop is not None and model.loop in stream.coords else rounds
    dealt = on_banks(tuple(extents), moved.stretch, one.target.memory.banks)
    return dealt * (max(sites / differing, 1.0) if sites else 1.0) * turned


@cache
def on_banks(extents: tuple[tuple[int, int], ...], stretch: int, banks: int) -> int:
    """Pages of the fullest bank, counted one by one."""
    found = Counter(
        sum(n * stride for n, (stride, _) in zip(place, extents, strict=True)) // stretch % banks
        for place in product(*(range(extent) for _, extent in extents))
    )
    return max(found.values())


class Read:
    """A load of a candidate: its batches, and the cycles of one."""

    def __init__(self, one: One, moved: Moved) -> None:
        target, stream = one.target, one.model.streams[moved.stream]
        banks, unit = target.memory.banks, target.memory.align
        size, pages = ceil(moved.run_bytes / unit) * unit, one.pages(stream)
        self.stream, self.stays, self.cast = moved.stream, one.stays(moved), one.sends(moved)
        self.fires = one.fires(stream)
        self.times = self.fires if self.stays else 1
        self.steps = 1 if self.stays else self.fires * one.turns
        members = one.members(moved)
        self.apart, each = bool(one.beside), max(members, 1)
        self.serve = bank_cycles(target, size, placed=members > 0)
        sites = min(one.readers(moved), one.items)
        part = 1.0 if one.cast(moved) or self.stays else one.items / (sites * one.turns)
        ahead = max(sites * pages * min(one.buffers, self.fires), banks)
        loss = 0.5 * (banks - 1) / ahead * (1.0 - 1.0 / sites)
        access = moved.runs * self.serve
        self.even = fullest(one, moved, self.fires, sites) / self.fires * part * access * (1.0 + loss)
        if members:
            (axis,) = moved.axes
            turns = ceil(one.grid[axis] / one.sites)
            last = min(one.grid[axis] - (turns - 1) * one.sites, members)
            full = ((turns - 1) * members + last) / (turns * members)
            self.even = fullest(one, moved, self.fires, sites) / self.fires * access * full
        self.round = self.even
        if (one.buffers == 1 or one.cast(moved)) and not members:
            self.round = fullest(one, moved, self.times, 0) / self.times * access
        self.issue = pages * each * moved.runs * target.network.issue
        self.transfer = pages * each * moved.runs * transfer_cycles(target, size)
        sent = sending_cycles(target, stream.page_bytes)
        self.send = (pages * each - 1) * spreading_cycles(target, stream.page_bytes) + sent
        self.receive = pages * sent
        x, y = one.group(moved)
        hops = (one.rect[0] - 1 if x else 0) + (one.rect[1] - 1 if y else 0)
        self.way = message_cycles(target, hops + each - 1)

    @property
    def joint(self) -> bool:
        """Whether the mover that reads sends the pages on."""
        return self.cast and not self.apart

    @property
    def split(self) -> bool:
        """Whether another does."""
        return self.cast and self.apart


class Written:
    """A store of a candidate: its batches, and the cycles of one."""

    def __init__(self, one: One, moved: Moved) -> None:
        target, stream = one.target, one.model.streams[moved.stream]
        size = ceil(moved.run_bytes / target.memory.granule) * target.memory.granule
        self.stream, self.steps = moved.stream, one.fires(stream) * one.turns
        self.first, self.serve = sending_cycles(target, size), bank_cycles(target, size)
        self.send = one.pages(stream) * moved.runs * self.first
        self.round = fullest(one, moved, 1, min(one.sites, one.items)) * moved.runs * self.serve


class Computed:
    """A computing stage of a candidate, by depth: its step, its updates, and (stream, pages, cycles of evaluating one,
    of packing one) of what it makes."""

    def __init__(self, one: One, work: Work) -> None:
        stage, streams = one.model.body.stage(work.stage), one.model.streams
        held = {streams[x.stream].queue for x in one.model.loads if one.stays(x)}
        paying = {p.depth for p in stage.ins if p.queue not in held} | {p.depth for p in stage.outs}
        self.step = dict.fromkeys(paying, one.target.step_cycles)
        self.update: dict[int, float] = {}
        self.made: dict[int, list[tuple[int, int, float, float]]] = {}
        for e in work.evaluated:
            if e.out is None:
                pages_read = zip(e.pages, e.again, strict=True)
                alike = [updates_alike(one, e, s, n) for (_, s), n in pages_read]
                self.update[e.depth] = self.update.get(e.depth, 0.0) + updating(one, work, e, alike)
            else:
                pages = one.blocked(e.coords)
                alike = [pages if one.blocked(streams[s].coords) == 1 else 1 for _, s in e.pages]
                each = evaluation(one, e, alike if pages > 1 else list(e.again))
                pack = streams[e.out].page_bytes / one.target.pack
                self.made.setdefault(e.depth, []).append((e.out, pages, each, pack))

    def ends(self, depth: int) -> float:
        """Cycles at the end of an iteration at `depth`, nothing waited for."""
        made = sum(each + (pages - 1) * max(each, pack) for _, pages, each, pack in self.made.get(depth, []))
        return self.update.get(depth, 0.0) + made


def updates_alike(one: One, e: Evaluated, stream: int, again: int) -> int:
    """Updates in a row that read the same page: as many as the innermost blocked coordinate has it the same for."""
    blocked = [(k, f) for k, f in one.blocking if f > 1 and k in e.coords]
    if not blocked:
        return again
    innermost, factor = blocked[-1]
    return 1 if innermost in one.model.streams[stream].coords else factor


def updating(one: One, work: Work, e: Evaluated, alike: list[int]) -> float:
    """Cycles of the updates of one iteration, sums that do not fit the registers moved in between."""
    times, target = e.times * one.blocked(e.coords), one.target
    if not (e.cell and one.spills(work)):
        return evaluation(one, e, alike) * times
    visits = e.visits // one.factors[one.model.loop] if e.looped else e.visits
    moved = one.blocked(work.cells) * e.times * e.cell * (visits - 1) / visits
    if target.matrix.halves == 1:
        return evaluation(one, e, alike) * times + moved / target.unpack + moved / target.pack
    return max(e.cycles * times, getting(one, e, alike) * times + moved / target.unpack, moved / target.pack)


def evaluation(one: One, e: Evaluated, alike: list[int]) -> float:
    return max(getting(one, e, alike), e.cycles)


def getting(one: One, e: Evaluated, alike: list[int]) -> float:
    return sum(size / one.target.unpack / n for (size, _), n in zip(e.pages, alike, strict=True))
