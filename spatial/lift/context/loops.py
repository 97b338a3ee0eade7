"""Loops: their record, what runs their bodies, what these change, and the variables of theirs that count.

The ground of `nests` and `blocks`, which execute bodies through a `Runner` and know nothing of who that is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from spatial.lift.algebra.values import Node, combine, int_constant, integer
from spatial.lift.context.changes import Variable
from spatial.lift.context.expressions import Evaluator
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Cell, Nothing, NotLifted, Scope, Seq, Text, Value
from spatial.logos import syntax
from spatial.logos.syntax import Span

WRITTEN_OUT = 64
"""Iterations of loops within blocks, or around them, that are written out one after the other."""


STEPS = 64
"""Steps of recurrences of numbers, loops within loops counted together, that one iteration of a nest may take."""


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

    def body(self, body: Sequence[syntax.Stmt], scope: Scope) -> object:
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


@dataclass(frozen=True)
class Changed:
    """Names, as a body has them, and variables, whatever they are called there.

    A sequence passed to be changed has the name of its parameter, the one it is passed by, and as many as it is passed
    as: what changes it under one of them changes what all of them mean.
    """

    names: Set[str]
    cells: Set[Cell]

    def has(self, ex: Runner, name: str, scope: Scope) -> bool:
        """Whether what a name means is among them."""
        return name in self.names or (scope.find(name) or ex.m.globals.find(name)) in self.cells


@dataclass(frozen=True)
class Changing:
    """What the iterations of a loop change, and of which sequences they change the length."""

    values: Changed
    lengths: Changed

    def with_names(self, names: Set[str]) -> Changing:
        """That, and what some names mean."""
        values, lengths = self.values, self.lengths
        return Changing(Changed(values.names | names, values.cells), Changed(lengths.names | names, lengths.cells))

    def told_by(self, ex: Runner, e: syntax.Expr, scope: Scope, aside: Container[str] = ()) -> bool:
        """Whether what an expression is depends on any of that, the names `aside` left out, or it changes something."""
        if ex.m.changes.assigned_in(e):
            return True
        taken, measured = read_by(e)
        return (
            any(self.values.has(ex, name, scope) for name in taken if name not in aside)
            or any(self.lengths.has(ex, name, scope) for name in measured)
            or any(self.values.has(ex, name, ex.m.globals) for name in ex.m.changes.read_in(e))
        )


def read_by(e: syntax.Expr) -> tuple[list[str], list[str]]:
    """The names in an expression, once each: those taken for what they are, and those of which it takes the length."""
    taken: dict[str, None] = {}
    measured: dict[str, None] = {}
    pending = [e]
    while pending:
        match pending.pop():
            case syntax.Length(syntax.Name(name)) | syntax.Call("length", (syntax.Name(name),)):
                measured[name] = None
            case syntax.Name(name):
                taken[name] = None
            case n:
                pending.extend(reversed(syntax.children(n)))
    return list(taken), list(measured)


def changing(ex: Runner, body: Sequence[syntax.Stmt], scope: Scope, own: Iterable[str]) -> Changing:
    """What the iterations of a loop over `own` change; `scope` is what stands around it."""

    def those(variables: Sequence[Variable]) -> Changed:
        return Changed({*(name for name, _ in variables), *own}, {*ex.m.cells(variables, scope, Span())})

    return Changing(those(ex.m.changes.assigned(body)), those(ex.m.changes.resized(body)))


def item_value(ex: Runner, loop: Loop, v: Node) -> Value:
    """What the loop variable is in iteration `v`."""
    if loop.items is not None:
        return ex.m.step(loop.items, v, loop.span)
    return combine(loop.first or integer(0), v)


def write_out(ex: Runner, loop: Loop, scope: Scope, trip: int) -> None:
    """Runs the iterations of a loop one after the other, if they are few."""
    if trip > WRITTEN_OUT:
        raise NotLifted(
            f"a loop of {trip} iterations stands in another, and both hand sequences on from one iteration to the next",
            "write one loop over the iterations of both",
            loop.span,
        )
    _iterate(ex, loop, scope, trip)


def _iterate(ex: Runner, loop: Loop, scope: Scope, trip: int) -> None:
    for n in range(trip):
        inner = Scope(outer=scope)
        if loop.name:
            inner.names[loop.name] = Cell(loop.name, item_value(ex, loop, integer(n)))
        if ex.body(loop.body, inner) is not None:
            raise NotLifted("a function returns from inside a loop", "return after the loop", loop.span)


def steps_of(ex: Runner, loop: Loop, problem: NotLifted) -> int:
    """How many steps a loop in another one takes that `problem` keeps from being a nest: it hands numbers on, and its
    few steps make one expression. 0 if it is no such loop."""
    trip, inside = int_constant(loop.trip), ex.m.nest_depth or ex.m.single
    stepwise = problem.numbers and inside and trip is not None and trip * ex.m.steps <= STEPS
    return trip if stepwise and trip is not None else 0


def take_steps(ex: Runner, loop: Loop, scope: Scope, steps: int) -> None:
    """Runs the iterations of a recurrence of numbers one after the other."""
    m = ex.m
    before = m.steps
    m.steps = before * steps
    try:
        _iterate(ex, loop, scope, steps)
    finally:
        m.steps = before


def assigned_cells(loop: Loop, ex: Runner, scope: Scope) -> list[Cell]:
    """The variables bound outside the loop that its body may assign, in a fixed order; no two have one name."""
    outside = [v for v in ex.m.changes.assigned(loop.body) if v != (loop.name, False)]
    cells = ex.m.cells(outside, scope, loop.span)
    kept = next((c for c in cells if isinstance(c.value, Text | Nothing)), None)
    if kept is not None:
        what = "a text" if isinstance(kept.value, Text) else "no value"
        raise NotLifted(
            f'"{kept.name}" holds {what} before this loop, and the loop changes it',
            "loops hand on numbers and sequences: show the parts of a text where they are known",
            loop.span,
            binder=kept.name,
        )
    names = [c.name for c in cells]
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise NotLifted(
            f'the loop changes two variables called "{twice}", one of them Main\'s, by a function it calls',
            "give one of them another name",
            loop.span,
            binder=twice,
        )
    return cells


def inductions(ex: Runner, body: Sequence[syntax.Stmt], scope: Scope, own: str = "") -> dict[str, int]:
    """Counters the body of a loop over `own` moves by a constant, in one plain statement, with the constant."""
    found: dict[str, int] = {}
    moved: Changing | None = None
    for s in body:
        if not isinstance(s, syntax.Set) or s.name in found:
            continue
        cell = scope.find(s.name) or ex.m.globals.find(s.name)
        if cell is None or not isinstance(cell.value, Node) or cell.value.kind != "int":
            continue
        if sum(isinstance(c, syntax.Set) and c.name == s.name for c in syntax.statements(tuple(body))) != 1:
            continue
        if any(isinstance(n, syntax.Index | syntax.Call) for n in syntax.walk(s.value)):
            continue
        moved = moved or changing(ex, body, scope, {own})
        step = counter_step(ex, body, s.name, scope, moved)
        if step:
            found[s.name] = step
    return found


def restored(ex: Runner, body: Sequence[syntax.Stmt], scope: Scope, own: str) -> set[str]:
    """Int variables that the body's last word on them sets to what they are before the loop: so every iteration begins.

    Only names and numbers that the body leaves alone are looked at.
    """
    last: dict[str, syntax.Expr | None] = {}
    for s in body:
        if isinstance(s, syntax.Set):
            last[s.name] = s.value
        else:
            last.update(dict.fromkeys(ex.m.changes.assigned_names((s,))))
    bound = bound_names(body)
    local = bound | set(last) | {own}
    found: set[str] = set()
    for name, value in last.items():
        cell = scope.find(name) or ex.m.globals.find(name)
        if value is None or cell is None or not isinstance(cell.value, Node) or cell.value.kind != "int":
            continue
        parts = list(syntax.walk(value))
        plain = all(isinstance(n, syntax.Name | syntax.IntLiteral | syntax.Binary) for n in parts)
        if not plain or name in bound or any(isinstance(n, syntax.Name) and n.name in local for n in parts):
            continue
        if ex.eval.value(value, scope) is cell.value:
            found.add(name)
    return found


def bound_names(body: Sequence[syntax.Stmt]) -> set[str]:
    """Names that a body binds: what they mean is told in an iteration only."""
    found: set[str] = set()
    for s in syntax.statements(tuple(body)):
        match s:
            case syntax.Let(name) | syntax.RepeatRange(name) | syntax.RepeatIn(name):
                found.add(name)
            case _:
                pass
    return found


def counter_step(ex: Runner, body: Sequence[syntax.Stmt], name: str, scope: Scope, moved: Changing) -> int | None:
    """By how much each iteration of a loop, of which `moved` is told, moves a counter: plain statements, the same on
    every branch."""
    bound = bound_names(body)
    return None if name in bound else _moved(ex, body, name, scope, moved.with_names(bound))


def _moved(ex: Runner, body: Sequence[syntax.Stmt], name: str, scope: Scope, moved: Changing) -> int | None:
    total = 0
    for s in body:
        amount: int | None = 0
        match s:
            case syntax.Set(n, value) if n == name:
                amount = _amount(ex, value, name, scope, moved)
            case syntax.If(branches, otherwise) if name not in ex.m.changes.assigned_in(*syntax.expressions(s)):
                sides = {_moved(ex, side, name, scope, moved) for side in (*(b for _, b in branches), otherwise)}
                amount = sides.pop() if len(sides) == 1 else None
            case _ if name in ex.m.changes.assigned_names((s,)):
                amount = None
            case _:
                pass
        if amount is None:
            return None
        total += amount
    return total


def _amount(ex: Runner, value: syntax.Expr, name: str, scope: Scope, moved: Changing) -> int | None:
    match value:
        case syntax.Binary("+", syntax.Name(n), step) | syntax.Binary("+", step, syntax.Name(n)) if n == name:
            sign = 1
        case syntax.Binary("-", syntax.Name(n), step) if n == name:
            sign = -1
        case _:
            return None
    if moved.told_by(ex, step, scope):
        return None
    amount = ex.eval.number(step, scope)
    known = int_constant(amount)
    return sign * known if known is not None else None
