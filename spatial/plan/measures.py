"""What every candidate plan uses: turns, pages, bytes of scratch, accumulator tiles; as arrays over candidates.

The constraints and the cost read these; a candidate that is applied has exactly these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, reduce, wraps
from operator import mul
from typing import TypeVar, TypeVarTuple

import numpy as np
import numpy.typing as npt

from spatial.numerics import precision
from spatial.plan.candidates import Candidates, Ints, Truth
from spatial.plan.model import Model, Moved, Stream, Work
from spatial.target import Target

Floats = npt.NDArray[np.float64]
S = TypeVar("S", Stream, Moved)
V = TypeVar("V")
A = TypeVarTuple("A")


def _known(under: str, measure: Callable[[Measures, S, *A], V]) -> Callable[[Measures, S, *A], V]:
    """The measure, taken once of each stream, load or store and kept `under` a name."""

    @wraps(measure)
    def known(m: Measures, of: S, *args: *A) -> V:
        found: dict[tuple[object, ...], V] = m.__dict__.setdefault(under, {})
        key = measure.__name__, of.queue if isinstance(of, Stream) else of.stage, *args
        if key not in found:
            found[key] = measure(m, of, *args)
        return found[key]

    return known


def once(measure: Callable[[Measures, S, *A], V]) -> Callable[[Measures, S, *A], V]:
    """A measure of a stream, a load or a store that is taken once of each."""
    return _known("_own", measure)


def placed(measure: Callable[[Measures, S, *A], V]) -> Callable[[Measures, S, *A], V]:
    """The same of one that hangs on a blocking and its place alone: its variants know it too."""
    return _known("_placed", measure)


PLACED = ("grid", "turns", "items", "sites")
"""What of no stream, load or store hangs on a blocking and its place alone."""


@dataclass(frozen=True)
class Measures:
    """The uses of `candidates` of `model` on `target`."""

    model: Model
    candidates: Candidates
    target: Target

    def take(self, rows: Truth | Ints) -> Measures:
        """The uses of some of the candidates; what is known of a place goes with it."""
        out, known = Measures(self.model, self.candidates.take(rows), self.target), self.__dict__
        out.__dict__.update({name: known[name][rows] for name in PLACED if name in known})
        out.__dict__["_placed"] = {key: found[rows] for key, found in known.get("_placed", {}).items()}
        return out

    def variant(self, **flags: Ints | int) -> Measures:
        """The uses of other variants of the same blockings at their places: those with `flags`."""
        ones = np.ones(self.candidates.count, dtype=np.int64)
        out = replace(self, candidates=replace(self.candidates, **{name: n * ones for name, n in flags.items()}))
        out.__dict__.update({name: self.__dict__[name] for name in (*PLACED, "_placed") if name in self.__dict__})
        return out

    @cached_property
    def grid(self) -> Ints:
        """[candidates, axes]: items along each axis after blocking."""
        base = np.array(self.model.body.items.grid, dtype=np.float64)
        # Quotients of numbers so small are exact where they are whole, and far faster than those of whole numbers.
        return (base / self.candidates.factors[:, : len(base)]).astype(np.int64)

    @cached_property
    def turns(self) -> Ints:
        """Turns of each site."""
        return _product(np.ceil(self.grid / self.candidates.spread).astype(np.int64))

    @cached_property
    def items(self) -> Ints:
        """Items in all."""
        return _product(self.grid)

    @cached_property
    def sites(self) -> Ints:
        """Sites of the rectangle."""
        return _product(self.candidates.rect)

    @cached_property
    def spots(self) -> tuple[Ints, Ints]:
        """One candidate of each blocking at its place; and of every candidate the number of its own among them."""
        return alike([self.candidates.spot], self.candidates.count)

    def blocked(self, coords: Iterable[int]) -> Ints:
        """The product of the factors of coordinates."""
        out = np.ones(self.candidates.count, dtype=np.int64)
        for k in coords:
            out = out * self.candidates.factors[:, k]
        return out

    @placed
    def pages(self, stream: Stream) -> Ints:
        """Pages a stream moves at once."""
        return self.blocked(stream.coords)

    @placed
    def fires(self, stream: Stream) -> Ints:
        """Times a stream moves per turn."""
        if self.model.loop is None or not stream.loop:
            return np.full(self.candidates.count, stream.fires, dtype=np.int64)
        return stream.fires // self.candidates.factors[:, self.model.loop]

    def can_stay(self, load: Moved) -> bool:
        """Whether what the load brings is the same in every turn."""
        once = self.model.streams[load.stream].fires == 1  # an index is one page, held where it is used
        return not load.axes and not load.indexed and not load.turned and (once or not load.feeds_index)

    @once
    def stays(self, load: Moved) -> npt.NDArray[np.bool_]:
        """Where the load happens once a call: its pages are the same in every turn, there are several, the plan
        says so."""
        return (self.candidates.resident == 1) & (self.turns > 1) & self.can_stay(load)

    @once
    def group(self, load: Moved) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Along x and along y: where one reader serves the sites of a line, because the place does not differ
        along it."""
        along, plan = self.candidates.along, self.candidates.multicast == 1
        if load.indexed or load.feeds_index or "rectangle" not in self.target.network.multicast:
            no = np.zeros(self.candidates.count, dtype=np.bool_)
            return no, no
        # The last place is that of no axis at all, -1.
        differs = np.array([a in load.axes for a in range(len(self.model.body.items.grid))] + [False])
        both = along[:, 0] == along[:, 1]
        free_x, free_y = ~differs[along[:, 0]], ~differs[along[:, 1]]
        rect = self.candidates.rect
        x = plan & (rect[:, 0] > 1) & free_x & (free_y | ~both)
        y = plan & (rect[:, 1] > 1) & free_y & (free_x | ~both)
        return x, y

    @once
    def readers(self, load: Moved) -> Ints:
        """Sites that read memory for the load."""
        x, y = self.group(load)
        rect = self.candidates.rect
        return np.where(x, 1, rect[:, 0]) * np.where(y, 1, rect[:, 1])

    @once
    def cast(self, load: Moved) -> npt.NDArray[np.bool_]:
        """Where the load is multicast."""
        x, y = self.group(load)
        return x | y

    @once
    def members(self, load: Moved) -> Ints:
        """Sites of a row that each reader of the load beside a bank reads for, itself the first; 0 where it has none.

        All columns of an item lie in one bank, those of a reader's sites too, in every turn; and no other reads there.
        """
        c, target = self.candidates, self.target
        none = np.zeros(c.count, dtype=np.int64)
        if not load.strip or not target.network.count or not target.engine_of("scatter"):
            return none
        axis, banks, (w, h) = min(load.axes), target.memory.banks, c.rect.T
        members = load.strip // c.factors[:, axis]
        whole = (members > 1) & (members * c.factors[:, axis] == load.strip)
        members = np.maximum(members, 1)
        readers = w // members * h
        alone = (readers <= banks) & ((self.grid[:, axis] <= w * h) | (readers == banks))
        # Of a narrower rectangle it is not known where on the chip it comes to lie.
        stand = [n > 0 and {*range(0, target.columns, n)} <= {*target.memory.beside} for n in range(target.columns + 1)]
        there = (w == target.columns) & (w % members == 0) & np.array(stand)[np.minimum(members, target.columns)]
        both = (c.along[:, 0] == axis) & (c.along[:, 1] == axis)
        return np.where((c.beside == 1) & whole & alone & there & both, members, none)

    def scattered(self, load: Moved) -> npt.NDArray[np.bool_]:
        """Where readers beside the banks scatter the load."""
        return np.asarray(self.members(load) > 0, dtype=np.bool_)

    @once
    def sends(self, load: Moved) -> npt.NDArray[np.bool_]:
        """Where pages of the load are sent on: multicast, or scattered by readers beside the banks."""
        return self.cast(load) | self.scattered(load)

    @cached_property
    def beside(self) -> npt.NDArray[np.bool_]:
        """Where readers stand beside the banks."""
        out = np.zeros(self.candidates.count, dtype=np.bool_)
        for load in self.model.loads:
            out |= self.scattered(load)
        return out

    @cached_property
    def together(self) -> npt.NDArray[np.bool_]:
        """Where a multicast makes sites wait for each other in every round."""
        out = np.zeros(self.candidates.count, dtype=np.bool_)
        for load in self.model.loads:
            out |= self.cast(load) & ~self.stays(load)
        return out

    @cached_property
    def scratch(self) -> Ints:
        """Bytes of scratch of the fullest site."""
        total = np.zeros(self.candidates.count, dtype=np.int64)
        by_stage = {load.stage: load for load in self.model.loads}
        for stream in self.model.streams:
            total = total + self.queue_bytes(stream, by_stage.get(stream.producer))
        for work in self.model.work:
            total = total + self.state_bytes(work)
        return total

    def room(self, stream: Stream, load: Moved | None) -> Ints:
        """Pages that a stream's queue has room for."""
        once, streamed = self.pages(stream), self.pages(stream) * self.candidates.buffers
        return streamed if load is None else np.where(self.stays(load), once * self.fires(stream), streamed)

    def queue_bytes(self, stream: Stream, load: Moved | None) -> Ints:
        """Bytes of a stream's queue, of a multicast's staging queue too; each page in its aligned slot."""
        held = self.room(stream, load) * self.target.slot(stream.page_bytes)
        return held if load is None else held * (1 + np.where(self.cast(load), 1, self.members(load)))

    def transfers(self, stream: Stream) -> Ints:
        """Transfers that a stream's queue has room for: those a mover at one of its ends keeps described."""
        for load in self.model.loads:
            if load.stage == stream.producer:
                return np.where(self.stays(load), 1, self.candidates.buffers)
        return self.candidates.buffers

    def state_bytes(self, work: Work) -> Ints:
        """Bytes of a stage's accumulators: whole tiles at the accumulators' 32 bits or more."""
        states = next(s for s in self.model.body.stages if s.name == work.stage).states
        size = sum(self.target.slot(s.shape[0] * s.shape[1] * precision(s.prec).bytes) for s in states)
        return self.cells(work) * size

    def cells(self, work: Work) -> Ints:
        """What blocking multiplies a stage's accumulators by."""
        return self.blocked(work.cells)

    def spills(self, work: Work) -> Truth:
        """Where the accumulators of a product are too many for the registers."""
        return np.asarray(work.matrix & (self.cells(work) * work.tiles > self.target.matrix.registers))

    def blocking(self, coords: Iterable[int]) -> list[tuple[int, Ints]]:
        """(coordinate, factors) in the order in which they are blocked, those of `coords`: what is outside the blocked
        loop, the loop, what is inside."""
        factors, innermost, loop = self.candidates.factors, self.candidates.inner, self.model.loop
        axes = sorted(k for k in coords if k != loop)
        outer = [(k, factors[:, k] // innermost[:, k]) for k in axes]
        middle = [(loop, factors[:, loop])] if loop is not None and loop in coords else []
        return [*outer, *middle, *((k, innermost[:, k]) for k in axes)]


def alike(columns: Iterable[Ints], count: int) -> tuple[Ints, Ints]:
    """One of `count` rows of each kind, where rows of the same numbers are of one; and of every row the number of its
    own among these."""
    number = np.zeros(count, dtype=np.int64)
    for column in columns:
        if (column != column[:1]).any():
            number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)[1]
    some = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    some[number] = np.arange(count)
    return some, number


def _product(columns: Ints) -> Ints:
    """The product of the columns, row by row."""
    return reduce(mul, columns.T, np.ones(len(columns), dtype=np.int64))
