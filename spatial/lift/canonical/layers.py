"""Folding: layers written out one after the other become the block that a loop over them would be.

Layers are stretches of statements that repeat, each handing tensors on to the next. What they compute may differ in
integers that grow by a constant from layer to layer (which slice of a weight, which row of a table) and in nothing
else. Statements that repeat without handing anything on are no layers: a loop over them would be a nest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spatial.lift.algebra.values import (
    BlockValue,
    Final,
    Get,
    Inner,
    Instance,
    Made,
    Node,
    Source,
    Tensor,
    free_of,
    get,
)
from spatial.lift.algebra.walk import children, tensor_nodes
from spatial.lift.canonical.alike import Shapes, Stretch, stretches, written
from spatial.lift.canonical.lockstep import Differ, Fit, Lockstep, slice_of
from spatial.lift.carried.reductions import match
from spatial.lift.context.state import Seq, whole_of
from spatial.lift.context.writes import copy_of
from spatial.logos.syntax import NO_SPAN, Span

_TRIES = 8
"""Places in one stretch at which a first layer is tried."""


@dataclass(eq=False)
class Folded:
    """What folding found: `instead`, by tensors the layers make, what stands for them now."""

    instead: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    members: set[Tensor] = field(default_factory=set[Tensor])
    """The statements of all layers."""


@dataclass(frozen=True)
class Slot:
    """A tensor handed on: statement `place` of a layer; the first layer reads a slice of another in its place."""

    place: int
    before: Tensor
    prefix: tuple[Node, ...]


def fold_layers(roots: Iterable[Tensor | Node]) -> Folded:
    """Folds the layers among the statements that the roots need."""
    program = _Program(list(roots))
    folded = Folded()
    if len(program.statements) < 2:
        return folded
    taken = [False] * len(program.statements)
    pending = program.stretches()
    while pending:
        stretch = pending.pop()
        if any(taken[n] for n in range(stretch.start, stretch.end)):
            pending += _free(stretch, taken)
            continue
        for _ in range(_TRIES):
            if stretch.covered < 2 * stretch.period:
                break
            layers = _layers(program, stretch)
            if layers.trip >= 2:
                end = layers.start + layers.trip * stretch.period
                taken[layers.start : end] = [True] * (end - layers.start)
                layers.fold(folded)
                stretch = Stretch(end, stretch.end, stretch.period)
            elif layers.stopped is None:
                break
            else:
                stretch = Stretch(layers.stopped + 1, stretch.end, stretch.period)
    program.restate(folded)
    return folded


def _layers(program: _Program, stretch: Stretch) -> _Layers:
    """The layers at the likeliest place of a stretch; what is proved of an instance number holds for all there are."""
    start, trip = program.first_layer(stretch), stretch.covered // stretch.period
    while True:
        layers = _Layers(program, start, stretch.period, trip)
        found = layers.fitting()
        if found == trip or found < 2:
            layers.trip = found
            return layers
        trip = found


def _free(stretch: Stretch, taken: Sequence[bool]) -> list[Stretch]:
    """What others left of a stretch, where that still repeats."""
    found: list[Stretch] = []
    at = stretch.start
    for n in range(stretch.start, stretch.end + 1):
        if n == stretch.end or taken[n]:
            if n - at >= 2 * stretch.period:
                found.append(Stretch(at, n, stretch.period))
            at = n + 1
    return found


class _Program:
    """The statements that are needed, in the order in which the source completes them, and who reads each last."""

    def __init__(self, roots: list[Tensor | Node]) -> None:
        self.shapes = Shapes()
        reads: dict[Made, list[Tensor]] = {}
        outside = _reads(roots)
        blocks: set[BlockValue] = set()
        pending = list(outside)
        while pending:
            t = pending.pop()
            found: list[Tensor] = []
            if isinstance(t, Made) and t not in reads:
                base, pieces = written(t)
                parts = [n for p in pieces for n in (*p.guards, *p.pos, p.value)]
                parts += [] if t.length is None else [t.length]
                found = reads[t] = _reads([*parts, *([] if base is None else [base])])
            elif isinstance(t, Final) and t.block not in blocks:
                blocks.add(t.block)
                found = _reads([*t.block.initial, *t.block.made])
                outside += found
            pending += found
        self.statements: list[Made] = sorted(reads, key=lambda t: (t.order, t.serial))
        self.place: dict[Tensor, int] = {t: n for n, t in enumerate(self.statements)}
        self.last: list[int] = [-1] * len(self.statements)
        """The last statement that reads each; their number, where something else does."""
        for n, t in enumerate(self.statements):
            for r in reads[t]:
                if r in self.place:
                    self.last[self.place[r]] = max(self.last[self.place[r]], n)
        for t in outside:
            if t in self.place:
                self.last[self.place[t]] = len(self.statements)

    def stretches(self) -> list[Stretch]:
        """Where statements repeat; last, those of the period that folding would leave the fewest statements of."""
        found: set[Stretch] = set()
        for shapes in (self.shapes, Shapes(named=True)):
            found |= set(stretches([shapes.tensor(t) for t in self.statements]))
        spared: Counter[int] = Counter()
        for s in found:
            spared[s.period] += s.covered - s.period
        return sorted(found, key=lambda s: (spared[s.period], s.covered, -s.period, -s.start))

    def first_layer(self, stretch: Stretch) -> int:
        """Where layers begin so that there are most of them, and the least is handed from one to the next."""
        period = stretch.period
        places = stretch.end - stretch.start - stretch.covered + 1
        crossing = [0] * (places + period + 1)
        for n in range(places + period - 1):
            until = min(self.last[stretch.start + n] - stretch.start, n + period)
            if until > n:
                crossing[n + 1] += 1
                crossing[min(until, places + period - 1) + 1] -= 1
        for n in range(1, len(crossing)):
            crossing[n] += crossing[n - 1]
        return stretch.start + min(range(places), key=lambda n: (crossing[n + period], n))

    def restate(self, folded: Folded) -> None:
        """Later versions of tables that layers write: each over the version before, which is what a block leaves."""
        for t in self.statements if folded.instead else ():
            if t.step is not None and t not in folded.members and t.step[0] in folded.instead:
                before, piece = t.step
                folded.instead[t] = Made(t.name, t.dims or (), before, (piece,), t.order, t.origin, t.length, t.kind)


def _reads(roots: Sequence[Tensor | Node]) -> list[Tensor]:
    """The statements and tables read below, through what is part of a loop."""
    found: dict[Tensor, None] = {}
    seen: set[Tensor | Node] = set()
    pending = list(roots)
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        match at:
            case Get():
                pending += [at.tensor, *at.index]
            case Node():
                pending += children(at)
            case Tensor() if not at.free:
                found[at] = None
            case _:
                pending += tensor_nodes(at)
                if isinstance(at, Made) and at.base is not None:
                    pending.append(at.base)
    return list(found)


class _Layers:
    """Layers from a first statement on: what each of them is an instance of, and how many there are."""

    def __init__(self, program: _Program, start: int, period: int, trip: int) -> None:
        self.program, self.start, self.period, self.trip = program, start, period, trip
        self.stopped: int | None = None
        """The statement in which the first two layers differ."""
        self.b = Instance(trip)
        self.block = BlockValue(trip, self.b, 0, None)
        self.slots: dict[Slot, Inner] = {}
        self.body: list[Tensor] = []

    def layer(self, turn: int) -> list[Made]:
        """The statements of one layer."""
        at = self.start + turn * self.period
        return self.program.statements[at : at + self.period]

    def fitting(self) -> int:
        """How many layers there are; 0 if these are no layers."""
        walk = Lockstep(self.program.shapes, self.b, _First(self))
        try:
            for a, b in zip(self.layer(0), self.layer(1), strict=True):
                self.body.append(walk.statement(a, b))
        except Differ:
            self.stopped = self.start + len(self.body)
            return 0
        if not any(map(self._advances, self.slots)) or not all(map(self._handed, self.slots)):
            return 0
        trip = next((k for k in range(2, self.trip) if not self._fits(k)), self.trip)
        return self._apart(trip)

    def inner(self, slot: Slot, like: Tensor) -> Inner:
        """What an instance begins with in place of a tensor handed on."""
        if slot not in self.slots:
            name = slot.before.name or like.name
            self.slots[slot] = Inner(name, like.dims, like.kind, self.block, len(self.slots))
        return self.slots[slot]

    def _advances(self, slot: Slot) -> bool:
        """Whether layers compute with what is handed on, other than to add to it: that a loop does at once."""
        inner, made = self.slots[slot], self.body[slot.place]
        for other in self.slots:
            if other.place != slot.place and inner in self.body[other.place].free:
                return True
        for p in made.pieces if isinstance(made, Made) else ():
            if inner in p.free:
                term = match(p.value, get(inner, p.pos))
                if term is None or inner in free_of((term.value, *term.guards, *p.pos, *p.guards)):
                    return True
        return False

    def _handed(self, slot: Slot) -> bool:
        """Whether what a layer hands on can stand for what the first begins with; in part only if it is state."""
        made, before = self.body[slot.place], slot.before
        dims = None if before.dims is None else before.dims[len(slot.prefix) :]
        if made.dims is None or None in made.dims or made.dims != dims or made.kind != before.kind:
            return False
        if made.length is not None or before.length is not None:
            return False
        while isinstance(made, Made) and made.base is not None:
            made = made.base
        return not isinstance(made, Inner) or (made is not self.body[slot.place] and _is_state(slot.before))

    # -- the other layers

    def _fits(self, turn: int) -> bool:
        """Whether a later layer is an instance of the body."""
        mine = self.layer(turn)
        walk = Fit(self.program.shapes, self.b, _Later(self, turn), turn=turn)
        try:
            for a, b in zip(self.body, mine, strict=True):
                walk.statement(a, b)
        except Differ:
            return False
        return True

    def _apart(self, trip: int) -> int:
        """How many layers there are of which the statements after them need only what the last hands on."""
        last, period = self.program.last, self.period
        for turn in range(trip - 1):
            end = self.start + (turn + 2) * period
            if any(n >= end for n in last[end - 2 * period : end - period]):
                trip = turn + 1
                break
        end = self.start + trip * period
        handed = {slot.place for slot in self.slots}
        kept = [last[end - period + n] >= end and n not in handed and bool(t.free) for n, t in enumerate(self.body)]
        return trip - any(kept)

    # -- the block

    def fold(self, folded: Folded) -> None:
        """Makes the block, and notes what stands for the statements of its layers."""
        first, last = self.layer(0), self.layer(self.trip - 1)
        block, span = self.block, _span(first[0])
        block.order, block.origin = last[-1].order, span
        slots = sorted(self.slots, key=lambda s: self.body[s.place].serial)
        for turn in range(self.trip):
            layer = self.layer(turn)
            folded.members.update(layer)
            folded.instead.update((t, made) for t, made in zip(layer, self.body, strict=True) if not made.free)
        for n, slot in enumerate(slots):
            inner, made = self.slots[slot], self.body[slot.place]
            inner.slot = n
            block.inner.append(inner)
            block.initial.append(whole_of(Seq(slot.before, slot.prefix), first[0].order, span))
            block.made.append(made if made.free else copy_of(made, block.order, span))
            final = Final(inner.name, made.dims, made.kind, block, n)
            folded.instead.setdefault(last[slot.place], final)


class _First:
    """The tensors of layers 0 and 1, whose body is in the making."""

    def __init__(self, layers: _Layers) -> None:
        self.layers = layers
        self.first, self.second = ({t: n for n, t in enumerate(layers.layer(turn))} for turn in (0, 1))

    def _place(self, a: Tensor, b: Tensor) -> int | None:
        """Which statement of both layers the tensors are; -1: of neither, but one and the same; else None."""
        place = self.second.get(b, -1) if isinstance(b, Made) else -1
        if place >= 0:
            right = place < len(self.layers.body) and isinstance(a, Made) and self.first.get(a) == place
        else:
            right = a is b and a not in self.first
        return place if right else None

    def _slot(self, a: Get, b: Get) -> Slot | None:
        place = self.first.get(b.tensor) if isinstance(b.tensor, Made) else None
        prefix = slice_of(a, b)
        if place is None or prefix is None or self.layers.program.place.get(a.tensor, -1) >= self.layers.start:
            return None
        return Slot(place, a.tensor, prefix)

    def closed(self, a: Tensor, b: Tensor) -> Tensor:
        """A statement of the body, or a tensor from outside."""
        place = self._place(a, b)
        if place is None:
            raise Differ
        return a if place < 0 else self.layers.body[place]

    def carried(self, a: Get, b: Get) -> Tensor | None:
        """What an instance begins with."""
        slot = self._slot(a, b)
        return None if slot is None else self.layers.inner(slot, b.tensor)

    def may(self, a: Get, b: Get) -> bool:
        """Whether they are of one statement, or carried."""
        return self._slot(a, b) is not None or self._place(a.tensor, b.tensor) is not None


class _Later:
    """The tensors of the body and of a later layer."""

    def __init__(self, layers: _Layers, turn: int) -> None:
        self.stands: dict[Tensor, Tensor] = dict(zip(layers.body, layers.layer(turn), strict=True))
        before = layers.layer(turn - 1)
        self.begins: dict[Tensor, Tensor] = {inner: before[slot.place] for slot, inner in layers.slots.items()}

    def closed(self, a: Tensor, b: Tensor) -> Tensor:
        """Nothing to find but that they correspond."""
        if self.stands.get(a, a) is not b:
            raise Differ
        return a

    def carried(self, a: Get, b: Get) -> Tensor | None:
        """Nothing to find but that they correspond."""
        if a.tensor not in self.begins:
            return None
        if self.begins[a.tensor] is not b.tensor:
            raise Differ
        return a.tensor

    def may(self, a: Get, b: Get) -> bool:
        """Whether they correspond."""
        return self.begins.get(a.tensor, self.stands.get(a.tensor, a.tensor)) is b.tensor


def _is_state(tensor: Tensor) -> bool:
    """Whether a tensor is a version of a table that is state."""
    while not isinstance(tensor, Source):
        match tensor:
            case Final(block=block, slot=slot):
                tensor = block.initial[slot]
            case Made() if (base := written(tensor)[0]) is not None:
                tensor = base
            case _:
                return False
    return tensor.state


def _span(made: Made) -> Span:
    return made.origin if isinstance(made.origin, Span) else NO_SPAN
