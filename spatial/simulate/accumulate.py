"""Accumulators of a stage, for all sites and turns at once.

A state's steps must be taken in order; everything else is independent. States that read each other form a group; of
the levels (turns, loops) a group runs through, those are *ordered* along which a value is handed on, the rest are
array axes. A level is no order where the state's cell differs with it. Sums and products, the common updates, are
folded in one go; any other update is taken step by step. Knows no queue and no tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.body import Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage, State
from spatial.numerics import Array, precision
from spatial.simulate import product
from spatial.simulate.arithmetic import Arithmetic, fit
from spatial.simulate.axes import LOOPS, Along, Choice, Nest, choose, positions, stretched, windowed
from spatial.simulate.expression import as_product, cells_of, evaluate, walk
from spatial.target import Target

PageOf = Callable[[Page | Coord], Array]
"""The pages of a leaf over [sites, turns, loops…, R, C], whole along every axis it depends on."""


@dataclass(frozen=True)
class Group:
    """States (by position) that read each other, and the levels taken in order, outermost first (0: turns)."""

    members: tuple[int, ...]
    ordered: tuple[int, ...]


def groups_of(stage: Stage, nest: Nest) -> tuple[Group, ...]:
    """The groups of `stage`'s states."""
    parent = list(range(len(stage.states)))

    def root(s: int) -> int:
        return s if parent[s] == s else root(parent[s])

    for s, state in enumerate(stage.states):
        for cell in cells_of(state.update):
            parent[root(cell.state)] = root(s)
    found: list[Group] = []
    for first in dict.fromkeys(root(s) for s in range(len(parent))):
        members = tuple(s for s in range(len(parent)) if root(s) == first)
        levels = range(max(stage.states[s].at for s in members) + 1)
        ordered = tuple(v for v in levels if any(_hands_on(stage, nest, members, s, v) for s in members))
        found.append(Group(members, ordered))
    return tuple(found)


def _hands_on(stage: Stage, nest: Nest, members: tuple[int, ...], s: int, level: int) -> bool:
    """Whether state `s` carries a value from one iteration of `level` to the next."""
    state = stage.states[s]
    if not state.depth < level <= state.at:
        return False
    if level == 0:
        return True
    reads = [(m, c) for m in members for c in cells_of(stage.states[m].update) if c.state == s]
    if not all(_plain(nest, state, at) for at in (state.cell, *(c.at for _, c in reads))):
        return True
    symbol = Affine.sym(f"l{level}")
    if any(stage.states[m].at < level for m, _ in reads):
        return True
    return not any(form == symbol and all(c.at[q] == symbol for _, c in reads) for q, form in enumerate(state.cell))


def _plain(nest: Nest, state: State, at: tuple[Affine, ...]) -> bool:
    """Whether each form is a constant, or the coordinate of a loop inside the state's life, counted through whole.

    Each coordinate at most once.
    """
    inner = {Affine.sym(f"l{v}"): nest.loops[v - 1] for v in range(max(state.depth, 0) + 1, nest.depth + 1)}
    symbols = [form for form in at if not form.is_const]
    return len(set(symbols)) == len(symbols) and all(
        form.is_const or inner.get(form) == extent for form, extent in zip(at, state.cells, strict=True)
    )


@dataclass
class Accumulators:
    """One run of a stage's states. `lane`: pages of leaves; `exact`: which product operands need no rounding.

    `window`: the sites and turns in hand.
    """

    stage: Stage
    nest: Nest
    target: Target
    arithmetic: Arithmetic
    lane: PageOf
    exact: tuple[bool, bool]
    window: tuple[slice, ...]

    def finals(self, group: Group) -> dict[int, Array]:
        """Each member's cells as its iterations at its depth end: [sites, turns, loops…, cells…, R, C]."""
        if len(group.members) == 1:
            number = group.members[0]
            whole = self._folded(number, self.stage.states[number], group)
            if whole is not None:
                return {number: whole}
        return _Steps(self, group).run()

    def _folded(self, number: int, state: State, group: Group) -> Array | None:
        """The final cells where the update merely adds; None where it does something else."""
        own = Cell(number, state.cell)
        along = self._along(state, group)
        if along is None:
            return None
        steps = [(self.nest.axis(v), self.nest.shape[self.nest.axis(v)]) for v in group.ordered]
        match state.update:
            case Op("add", (Cell() as cell, Matmul() as item)) if cell == own:
                matrix = self.target.matrix
                a, b = self.lane(item.a), self.lane(item.b)
                if a.dtype.kind == "f" and state.prec != matrix.float_accumulate:
                    return None
                b = b.swapaxes(-1, -2) if item.transpose_b else b
                total = product.fold(a, b, steps, state.init, self.target, self.exact)
            case Op("add", (Cell() as cell, term)) if cell == own and not cells_of(term):
                if state.prec != "f32" or self.arithmetic.float != "f32":
                    return None
                values = evaluate(term, self._leaf, self.arithmetic)
                if values.dtype.kind != "f" or values.ndim < self.nest.ndim + 2:
                    return None
                total = _sum(values, steps, state)
            case _:
                return None
        return self._into_cells(fit(state.prec, total), state, along)

    def _leaf(self, leaf: Page | Cell | Coord) -> Array:
        if isinstance(leaf, Cell):
            raise Refused("a state is read where none can be")
        return self.lane(leaf)

    def _along(self, state: State, group: Group) -> tuple[int, ...] | None:
        """The axis each cell dimension runs along, or None where a cell is chosen in another way."""
        axes: list[int] = []
        for form, extent in zip(state.cell, state.cells, strict=True):
            level = next((v for v in range(max(state.depth, 0) + 1, state.at + 1) if form == Affine.sym(f"l{v}")), None)
            if level is None or level in group.ordered or self.nest.loops[level - 1] != extent:
                return None
            axes.append(self.nest.axis(level))
        return tuple(axes) if len(set(axes)) == len(axes) else None

    def _into_cells(self, values: Array, state: State, along: tuple[int, ...]) -> Array:
        axes, count = self.nest.ndim, len(along)
        shape = list(values.shape)
        for axis in along:
            shape[axis] = self.nest.shape[axis]
        values = stretched(values, (*shape[:axes], *state.shape))
        if not count:
            return values
        values = values.reshape(*shape[:axes], *(1,) * count, *state.shape)
        for q, axis in enumerate(along):
            values = values.swapaxes(axis, axes + q)
        return values


def _sum(values: Array, steps: list[tuple[int, int]], state: State) -> Array:
    """`values` added up one step after the other, in float32, from the state's initial value."""
    summed = [axis for axis, _ in steps]
    shape = [1 if x in summed else n for x, n in enumerate(values.shape)]
    shape[-2:] = state.shape
    total = np.full(shape, state.init, np.float32)
    for at in np.ndindex(*(extent for _, extent in steps)):
        cut: list[slice] = [slice(None)] * values.ndim
        for axis, i in zip(summed, at, strict=True):
            cut[axis] = slice(i, i + 1) if values.shape[axis] > 1 else slice(None)
        np.add(total, values[tuple(cut)], out=total)
    return total


class _Steps:
    """Any updates, one ordered step at a time, the other levels as axes."""

    def __init__(self, run: Accumulators, group: Group) -> None:
        self.own = run
        self.states = {s: run.stage.states[s] for s in group.members}
        self.ordered = group.ordered
        self.last = max(state.at for state in self.states.values())
        self.now: dict[int, Array] = {}
        self.found: dict[int, Array] = {}
        self.fixed: dict[int, int] = {}
        self.ready = self._hoist()

    def run(self) -> dict[int, Array]:
        """The final cells of every member."""
        self._iteration(-1)
        return self.found

    def _iteration(self, depth: int) -> None:
        nest = self.own.nest
        for s, state in self.states.items():
            if state.depth == depth:
                shape = (*(1,) * nest.ndim, *state.cells, *state.shape)
                self.now[s] = np.full(shape, state.init, precision(state.prec).dtype)
        if depth < self.last:
            axis = nest.axis(depth + 1)
            if depth + 1 in self.ordered:
                for i in range(nest.shape[axis]):
                    self.fixed[axis] = i
                    self._iteration(depth + 1)
                del self.fixed[axis]
            else:
                self._iteration(depth + 1)
        due = [(s, state) for s, state in self.states.items() if state.at == depth]
        fresh = [(s, fit(state.prec, self._update(state))) for s, state in due]
        for s, value in fresh:
            self._write(s, value)
        for s, state in self.states.items():
            if state.depth == depth:
                self._record(s)

    def _update(self, state: State) -> Array:
        own = self.own
        ready = {key: self._cut(value) for key, value in self.ready.items()}
        item = as_product(state.update)
        if item is None:
            return evaluate(state.update, self._leaf, own.arithmetic, ready)
        cell, mul = item
        a, b = self._leaf(mul.a), self._leaf(mul.b)
        return product.accumulate(self._leaf(cell), a, b, own.target, mul.transpose_b)

    def _leaf(self, leaf: Page | Cell | Coord) -> Array:
        if isinstance(leaf, Cell):
            return choose(self.now[leaf.state], self.own.nest.ndim, self._chosen(leaf.state, leaf.at))
        return self._cut(self.own.lane(leaf))

    def _cut(self, values: Array) -> Array:
        if values.ndim < self.own.nest.ndim + 2:
            return values
        cut: list[slice] = [slice(None)] * values.ndim
        for axis, i in self.fixed.items():
            if values.shape[axis] > 1:
                cut[axis] = slice(i, i + 1)
        return values[tuple(cut)]

    def _chosen(self, s: int, at: tuple[Affine, ...]) -> Choice:
        """How `at` chooses a cell at this step: numbers, whole axes, or index arrays."""
        nest, state = self.own.nest, self.states[s]
        if not state.cells:
            return Choice(())
        arrays = [self._cut_choice(windowed(nest.values(form), self.own.window)) for form in at]
        picks: list[int | Along] = []
        for form, values, extent in zip(at, arrays, state.cells, strict=True):
            if values.size and (values.min() < 0 or values.max() >= extent):
                raise Refused(f"a cell choice {form} of {state.name} leaves 0 to {extent - 1}")
            whole = [x for x, size in enumerate(values.shape) if size > 1]
            if not whole:
                picks.append(int(values.flat[0]))
            elif len(whole) == 1 and whole[0] >= LOOPS and bool(np.array_equal(values.ravel(), np.arange(extent))):
                level = whole[0] - nest.axis(0)
                if state.depth < level:
                    picks.append(Along(whole[0]))
        used = [p.axis for p in picks if isinstance(p, Along)]
        if len(picks) == len(arrays) and len(set(used)) == len(used):
            return Choice(tuple(picks))
        return Choice((), tuple(arrays))

    def _cut_choice(self, values: Array) -> Array:
        cut: list[slice] = [slice(None)] * values.ndim
        for axis, i in self.fixed.items():
            if values.shape[axis] > 1:
                cut[axis] = slice(i, i + 1)
        return values[tuple(cut)]

    def _write(self, s: int, value: Array) -> None:
        state, axes = self.states[s], self.own.nest.ndim
        how = self._chosen(s, state.cell)
        value = np.broadcast_to(value, (*((1,) * axes + value.shape)[-axes - 2 : -2], *state.shape))
        lead = list(np.broadcast_shapes(value.shape[:axes], *(a.shape for a in how.arrays)))
        along = [p.axis for p in how.picks if isinstance(p, Along)]
        for axis in along:
            lead[axis] = 1
        held = self.now[s]
        grown = tuple(max(x, y) for x, y in zip(held.shape[:axes], lead, strict=True))
        if grown != held.shape[:axes]:
            held = np.broadcast_to(held, (*grown, *held.shape[axes:])).copy()
            self.now[s] = held
        if how.arrays:
            held[(*positions(grown), *how.arrays)] = value
            return
        value = value.reshape(*value.shape[:axes], *(1,) * len(along), *state.shape)
        for n, axis in enumerate(along):
            value = value.swapaxes(axis, axes + n)
        where = tuple(slice(None) if isinstance(p, Along) else p for p in how.picks)
        held[(*(slice(None),) * axes, *where)] = value

    def _record(self, s: int) -> None:
        nest, value = self.own.nest, self.now[s]
        fixed = {axis: i for axis, i in self.fixed.items() if axis <= nest.axis(self.states[s].depth)}
        if not fixed:
            self.found[s] = value
            return
        if s not in self.found:
            shape = list(value.shape)
            for axis in fixed:
                shape[axis] = nest.shape[axis]
            self.found[s] = np.empty(shape, value.dtype)
        cut: list[slice] = [slice(None)] * value.ndim
        for axis, i in fixed.items():
            cut[axis] = slice(i, i + 1)
        self.found[s][tuple(cut)] = value

    def _hoist(self) -> Mapping[int, Array]:
        """Values of the largest subexpressions that read no state, over all steps at once."""
        ready: dict[int, Array] = {}

        def visit(expr: Expr) -> None:
            if isinstance(expr, Page | Cell | Coord | Const | Matmul):
                return
            if not any(isinstance(e, Cell | Matmul) for e in walk(expr)):
                ready[id(expr)] = evaluate(expr, self._whole, self.own.arithmetic)
                return
            match expr:
                case Op(_, args):
                    for arg in args:
                        visit(arg)
                case Convert(_, arg) | Lanes(_, _, arg):
                    visit(arg)

        for state in self.states.values():
            visit(state.update)
        return ready

    def _whole(self, leaf: Page | Cell | Coord) -> Array:
        if isinstance(leaf, Cell):
            raise Refused("a state is read where none can be")
        return self.own.lane(leaf)
