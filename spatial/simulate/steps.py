"""Accumulators under any updates: the ordered levels step by step, the others as array axes.

Subexpressions that read no state are evaluated once for all steps. Knows no queue and no tensor.
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
from spatial.simulate.axes import LOOPS, Along, Choice, Nest, choose, positions, windowed
from spatial.simulate.expression import as_product, evaluate, walk
from spatial.simulate.groups import Group
from spatial.target import Target

PageOf = Callable[[Page | Coord], Array]
"""The pages of a leaf over [sites, turns, loops…, R, C], whole along every axis it depends on."""


@dataclass(frozen=True)
class StateRun:
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

    def leaf(self, leaf: Page | Cell | Coord) -> Array:
        """The pages of a leaf where no state may be read."""
        if isinstance(leaf, Cell):
            raise Refused("a state is read where none can be")
        return self.lane(leaf)


class Steps:
    """Any updates, one ordered step at a time, the other levels as axes."""

    def __init__(self, run: StateRun, group: Group) -> None:
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
                ready[id(expr)] = evaluate(expr, self.own.leaf, self.own.arithmetic)
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
