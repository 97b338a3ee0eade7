"""The registers that a computing stage takes: values that are live at once, and the accumulators it works on.

The accumulators of a stage lie in the scratch of its site; those it works on are in registers. A stage of the
elementwise datapath has all of its own there. A product has as many as fit: those that one iteration at some depth of
its nest works on, the shallowest where they fit; they are got from scratch when that iteration begins and put back at
its end (`resident`). So a block may be larger than the registers, at the price of moving its partial sums.
"""

from __future__ import annotations

from math import prod

from spatial.ir.body import Cell, Const, Convert, Expr, Lanes, Op, Stage, State
from spatial.ir.rewrite import expressions
from spatial.numerics import precision
from spatial.target import Target


def needs(value: Expr) -> int:
    """Values a best-order evaluation keeps live at most (Sethi and Ullman's number, for any arity).

    Constants and accumulators take no register of their own, a page one once read, a result one.
    """
    match value:
        case Const() | Cell():
            return 0
        case Op():
            parts = sorted((n for n in map(needs, value.args) if n), reverse=True)
            return max((n + k for k, n in enumerate(parts)), default=1)
        case Convert() | Lanes():
            return max(1, needs(value.arg))
        case _:
            return 1


def live_tiles(stage: Stage) -> int:
    """Registers the expressions of a Generic stage take beside its accumulators."""
    return max((needs(e) for e in expressions(stage)), default=0) if stage.kind == "generic" else 0


def cell_tiles(state: State, target: Target) -> int:
    """Registers one cell of an accumulator takes: tiles of 32-bit lanes, wider ones counted so."""
    lanes = 32 * prod(target.tile)
    return -(-prod(state.shape) * max(8 * precision(state.prec).bytes, 32) // lanes)


def accumulator_tiles(stage: Stage, target: Target) -> int:
    """Registers that all accumulators of a stage take."""
    return sum(prod(s.cells) * cell_tiles(s, target) for s in stage.states)


def touched(stage: Stage, state: State, depth: int) -> int:
    """Cells of an accumulator that one iteration at `depth` works on."""
    named = {symbol for form in state.cell for symbol in form.symbols}
    within = prod(n for k, n in enumerate(stage.loops, 1) if k > max(depth, state.depth) and f"l{k}" in named)
    return min(prod(state.cells), within)


def resident(stage: Stage, target: Target) -> tuple[int, int]:
    """(depth, registers): the shallowest depth at which what one iteration works on fits the registers, or the deepest
    where none does; and how many that takes."""
    for depth in range(-1, stage.depth + 1):
        tiles = sum(touched(stage, s, depth) * cell_tiles(s, target) for s in stage.states)
        if tiles <= target.matrix.registers or depth == stage.depth:
            return depth, tiles
    return stage.depth, 0


def held_tiles(stage: Stage, target: Target) -> int:
    """Registers of the accumulators a stage has there at once."""
    return resident(stage, target)[1] if stage.kind == "matmul" else accumulator_tiles(stage, target)
