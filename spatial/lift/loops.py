"""Loops: their record, what runs their bodies, and the variables of their bodies that count.

The ground of `nests` and `blocks`, which execute bodies through a `Runner` and know nothing of who that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from spatial.lift.changes import assigned_names
from spatial.lift.expressions import Evaluator
from spatial.lift.machine import Machine
from spatial.lift.state import Cell, Scope, Seq, Value
from spatial.lift.values import Node, combine, int_constant, integer
from spatial.logos import syntax
from spatial.logos.syntax import Span


class Runner(Protocol):
    """Who executes statements, as far as loops need one."""

    @property
    def m(self) -> Machine:
        """The machine."""
        ...

    @property
    def eval(self) -> Evaluator:
        """The evaluator of its expressions."""
        ...

    def body(self, body: Sequence[syntax.Stmt], scope: Scope) -> Value | None:
        """Runs statements in order; the value if they return one."""
        ...


@dataclass(frozen=True)
class Loop:
    """A counted loop: `trip` times `body`; `items`: what the loop variable is, by the iteration number.

    `parts`: the loop is run as two nested ones, the inner of so many iterations (0: as it stands).
    """

    name: str
    trip: Node
    first: Node | None
    items: Seq | None
    body: Sequence[syntax.Stmt]
    span: Span
    parts: int = 0


def item_value(ex: Runner, loop: Loop, v: Node) -> Value:
    """What the loop variable is in iteration `v`."""
    if loop.items is not None:
        return ex.m.step(loop.items, v, loop.span)
    return combine(loop.first or integer(0), v)


def assigned_cells(loop: Loop, ex: Runner, scope: Scope) -> list[Cell]:
    """The variables bound outside the loop that its body may assign, in a fixed order."""
    cells: list[Cell] = []
    for name in assigned_names(loop.body, ex.m.program):
        if not name or name == loop.name:
            continue
        cell = scope.find(name) or ex.m.globals.find(name)
        if cell is None and (name in ex.m.facts.tables):
            cell = ex.m.lookup(name, scope, loop.span)
        if cell is not None and cell not in cells:
            cells.append(cell)
    return cells


def inductions(ex: Runner, body: Sequence[syntax.Stmt], scope: Scope) -> dict[str, int]:
    """Counters the body moves by a constant, in one plain statement of its own, with the constant."""
    found: dict[str, int] = {}
    assigned = assigned_names(body, ex.m.program)
    for s in body:
        if not isinstance(s, syntax.Set) or s.name in found:
            continue
        inside = [n.name for n in syntax.walk(s.value) if isinstance(n, syntax.Name)]
        if inside.count(s.name) != 1 or any(n in assigned for n in inside if n != s.name):
            continue
        if any(isinstance(n, syntax.Index | syntax.Call) for n in syntax.walk(s.value)):
            continue
        cell = scope.find(s.name) or ex.m.globals.find(s.name)
        if cell is None or not isinstance(cell.value, Node) or cell.value.kind != "int":
            continue
        if any(isinstance(x, syntax.Let | syntax.Set) and x.name in inside and x is not s for x in body):
            continue
        step = counter_step(ex, body, s.name, scope)
        if step is not None:
            found[s.name] = step
    return found


def counter_step(ex: Runner, body: Sequence[syntax.Stmt], name: str, scope: Scope) -> int | None:
    """By how much each iteration moves a counter that one plain statement of the body changes."""
    changes = [s for s in syntax.statements(tuple(body)) if isinstance(s, syntax.Set) and s.name == name]
    if len(changes) != 1 or changes[0] not in body:
        return None
    match changes[0].value:
        case syntax.Binary("+", syntax.Name(n), step) | syntax.Binary("+", step, syntax.Name(n)) if n == name:
            sign = 1
        case syntax.Binary("-", syntax.Name(n), step) if n == name:
            sign = -1
        case _:
            return None
    amount = int_constant(ex.eval.index(step, scope))
    return sign * amount if amount else None
