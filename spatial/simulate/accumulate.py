"""Accumulators of a stage, for all sites and turns at once.

Sums and products, the common updates, are folded in one go, each lane in its order; any other update is taken step by
step (`steps`). Knows no queue and no tensor.
"""

from __future__ import annotations

import numpy as np

from spatial.ir.affine import Affine
from spatial.ir.body import Cell, Matmul, Op, State
from spatial.numerics import Array
from spatial.simulate import product
from spatial.simulate.arithmetic import Arithmetic, fit
from spatial.simulate.axes import stretched
from spatial.simulate.expression import cells_of, evaluate
from spatial.simulate.groups import Group
from spatial.simulate.steps import StateRun, Steps


def finals(run: StateRun, group: Group) -> dict[int, Array]:
    """Each member's cells as its iterations at its depth end: [sites, turns, loops…, cells…, R, C]."""
    if len(group.members) == 1:
        number = group.members[0]
        whole = _folded(run, number, run.stage.states[number], group)
        if whole is not None:
            return {number: whole}
    return Steps(run, group).run()


def _folded(run: StateRun, number: int, state: State, group: Group) -> Array | None:
    """The final cells where the update adds, or keeps the greatest or least; None where it does something else."""
    own = Cell(number, state.cell)
    along = _along(run, state, group)
    if along is None:
        return None
    steps = [(run.nest.axis(v), run.nest.shape[run.nest.axis(v)]) for v in group.ordered]
    match state.update:
        case Op("add", (Cell() as cell, Matmul() as item)) if cell == own:
            matrix = run.target.matrix
            a, b = run.lane(item.a), run.lane(item.b)
            if a.dtype.kind == "f" and state.prec != matrix.float_accumulate:
                return None
            b = b.swapaxes(-1, -2) if item.transpose_b else b
            total = product.fold(a, b, steps, state.init, run.target, run.exact, state.prec)
        case Op("add" | "max" | "min" as op, (Cell() as cell, term)) if cell == own and not cells_of(term):
            if state.prec != "f32" or run.arithmetic.float != "f32":
                return None
            values = evaluate(term, run.leaf, run.arithmetic)
            if values.dtype.kind != "f" or values.ndim < run.nest.ndim + 2:
                return None
            total = _combined(op, values, steps, state, run.arithmetic)
        case _:
            return None
    return _into_cells(run, fit(state.prec, total), state, along)


def _along(run: StateRun, state: State, group: Group) -> tuple[int, ...] | None:
    """The axis each cell dimension runs along, or None where a cell is chosen in another way."""
    axes: list[int] = []
    for form, extent in zip(state.cell, state.cells, strict=True):
        level = next((v for v in range(max(state.depth, 0) + 1, state.at + 1) if form == Affine.sym(f"l{v}")), None)
        if level is None or level in group.ordered or run.nest.loops[level - 1] != extent:
            return None
        axes.append(run.nest.axis(level))
    return tuple(axes) if len(set(axes)) == len(axes) else None


def _into_cells(run: StateRun, values: Array, state: State, along: tuple[int, ...]) -> Array:
    axes, count = run.nest.ndim, len(along)
    shape = list(values.shape)
    for axis in along:
        shape[axis] = run.nest.shape[axis]
    values = stretched(values, (*shape[:axes], *state.shape))
    if not count:
        return values
    values = values.reshape(*shape[:axes], *(1,) * count, *state.shape)
    for q, axis in enumerate(along):
        values = values.swapaxes(axis, axes + q)
    return values


def _combined(op: str, values: Array, steps: list[tuple[int, int]], state: State, arithmetic: Arithmetic) -> Array:
    """`values` joined by `op` one step after the other, in float32, from the state's initial value."""
    summed = [axis for axis, _ in steps]
    shape = [1 if x in summed else n for x, n in enumerate(values.shape)]
    shape[-2:] = state.shape
    total = np.full(shape, state.init, np.float32)
    for at in np.ndindex(*(extent for _, extent in steps)):
        cut: list[slice] = [slice(None)] * values.ndim
        for axis, i in zip(summed, at, strict=True):
            cut[axis] = slice(i, i + 1) if values.shape[axis] > 1 else slice(None)
        if op == "add":
            np.add(total, values[tuple(cut)], out=total)
        else:
            total = arithmetic.apply(op, (total, values[tuple(cut)]))
    return total
