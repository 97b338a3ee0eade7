"""Which states of a stage hang together, and along which levels their steps must be taken in order.

States that read each other form a group; of the levels (turns, loops) a group runs through, those are *ordered* along
which a value is handed on, the rest are array axes. A level is no order where the state's cell differs with it. Knows
no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.ir.affine import Affine
from spatial.ir.body import Stage, State
from spatial.simulate.axes import Nest
from spatial.simulate.expression import cells_of


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
