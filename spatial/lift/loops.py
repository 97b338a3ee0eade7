"""Loops: their counters, what their bodies assign, and the choice between a nest and a block.

A `While` that counts is a `Repeat`; a loop that is no nest, outermost and of known length, is a block. An attempt
that fails is undone from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spatial.lift.bounds import bounds
from spatial.lift.machine import Machine
from spatial.lift.state import Cell, NotLifted, Scope, Seq, Value
from spatial.lift.values import Node, combine, int_constant, integer, plus
from spatial.logos import syntax
from spatial.logos.syntax import Span

if TYPE_CHECKING:
    from spatial.lift.execute import Executor


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


def run_repeat(ex: Executor, s: syntax.RepeatRange, scope: Scope) -> None:
    """`Repeat for i from first to last`."""
    first, last = ex.eval.index(s.first, scope), ex.eval.index(s.last, scope)
    run(ex, Loop(s.var, plus(combine(last, first, -1), 1), first, None, s.body, s.span), scope)


def run_repeat_in(ex: Executor, s: syntax.RepeatIn, scope: Scope) -> None:
    """`Repeat for x in xs`."""
    items = ex.m.settled(ex.eval.sequence(s.collection, scope), s.span)
    run(ex, Loop(s.var, ex.m.length(items, s.span), None, items, s.body, s.span), scope)


def run_while(ex: Executor, s: syntax.While, scope: Scope) -> None:
    """A `While` whose condition compares a counter that every iteration moves by a constant."""
    found = _counter(ex, s, scope)
    if found is None:
        raise NotLifted(
            "how often this While runs depends on values that are computed",
            "count with Repeat, or compare a counter that grows by a constant with a fixed bound",
            s.span,
        )
    run(ex, Loop("", found, None, None, s.body, s.span), scope)


def _counter(ex: Executor, s: syntax.While, scope: Scope) -> Node | None:
    """The trip count of a counting While."""
    c = s.condition
    if not isinstance(c, syntax.Binary) or c.op not in ("<", "<=", ">", ">="):
        return None
    assigned = assigned_names(s.body, ex.m)
    for name, bound, op in ((c.left, c.right, c.op), (c.right, c.left, _MIRROR[c.op])):
        if not isinstance(name, syntax.Name) or name.name not in assigned:
            continue
        if any(isinstance(n, syntax.Name) and n.name in assigned for n in syntax.walk(bound)):
            continue
        step = _step(ex, s.body, name.name, scope)
        if step is None or (step > 0) != (op in ("<", "<=")):
            continue
        start, end = ex.eval.index(name, scope), ex.eval.index(bound, scope)
        room = combine(end, start, -1) if step > 0 else combine(start, end, -1)
        if op in ("<", ">"):
            room = plus(room, -1)
        n = int_constant(room)
        if n is not None:
            return integer(max(n // abs(step) + 1, 0))
        if abs(step) == 1:
            return plus(room, 1)
    return None


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _step(ex: Executor, body: Sequence[syntax.Stmt], name: str, scope: Scope) -> int | None:
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


def inductions(ex: Executor, body: Sequence[syntax.Stmt], scope: Scope) -> dict[str, int]:
    """Counters the body moves by a constant, in one plain statement of its own, with the constant."""
    found: dict[str, int] = {}
    assigned = assigned_names(body, ex.m)
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
        step = _step(ex, body, s.name, scope)
        if step is not None:
            found[s.name] = step
    return found


# ---------------------------------------------------------------- what a body assigns


def assigned_names(body: Sequence[syntax.Stmt], m: Machine, seen: frozenset[str] = frozenset()) -> list[str]:
    """Names that the body, and the functions it calls, may assign or change in place; in the order of the text."""
    found: dict[str, None] = {}
    for s in syntax.statements(tuple(body)):
        match s:
            case syntax.Set(name):
                found[name] = None
            case syntax.SetItem(place):
                found[syntax.root_name(place) or ""] = None
            case syntax.Push(_, place) | syntax.Pop(place):
                found[syntax.root_name(place) or ""] = None
            case _:
                pass
        for call in _calls(s):
            found.update(dict.fromkeys(_changed_by(call, m, seen)))
    return list(found)


def pushed_names(body: Sequence[syntax.Stmt], m: Machine, seen: frozenset[str] = frozenset()) -> set[str]:
    """Names of sequences that the body, or a function it calls, may lengthen."""
    found: set[str] = set()
    for s in syntax.statements(tuple(body)):
        if isinstance(s, syntax.Push | syntax.Pop):
            found.add(syntax.root_name(s.place) or "")
        for call in _calls(s):
            function = m.program.function(call.function)
            if not isinstance(function, syntax.Function) or call.function in seen:
                continue
            inner = pushed_names(function.body, m, seen | {call.function})
            own = {p.name for p in function.params}
            found |= inner - own
            found |= {root for p, a in zip(function.params, call.args, strict=False)
                      if p.name in inner and (root := syntax.root_name(a))}  # fmt: skip
    return found


def _calls(s: syntax.Stmt) -> Iterator[syntax.Call]:
    for e in syntax.expressions(s):
        for node in syntax.walk(e):
            if isinstance(node, syntax.Call):
                yield node


def _changed_by(call: syntax.Call, m: Machine, seen: frozenset[str]) -> list[str]:
    function = m.program.function(call.function)
    if not isinstance(function, syntax.Function) or call.function in seen:
        return []
    inner = assigned_names(function.body, m, seen | {call.function})
    own = {p.name for p in function.params} | _bound(function.body)
    changed = [name for name in inner if name not in own]
    for p, a in zip(function.params, call.args, strict=False):
        if p.mutable and p.name in inner:
            changed.append(syntax.root_name(a) or "")
    return changed


def _bound(body: Sequence[syntax.Stmt]) -> set[str]:
    return {s.name for s in body if isinstance(s, syntax.Let)}


def assigned_cells(loop: Loop, ex: Executor, scope: Scope) -> list[Cell]:
    """The variables bound outside the loop that its body may assign, in a fixed order."""
    cells: list[Cell] = []
    for name in assigned_names(loop.body, ex.m):
        if not name or name == loop.name:
            continue
        cell = scope.find(name) or ex.m.globals.find(name)
        if cell is None and (name in ex.m.facts.tables):
            cell = ex.m.lookup(name, scope, loop.span)
        if cell is not None and cell not in cells:
            cells.append(cell)
    return cells


# ---------------------------------------------------------------- running


def run(ex: Executor, loop: Loop, scope: Scope) -> None:
    """Runs a loop as a nest, else as a block."""
    from spatial.lift.blocks import run_block
    from spatial.lift.nests import run_nest

    m = ex.m
    high = bounds(loop.trip)[1]
    if high is not None and high <= 0:
        return
    if high is None:
        if not m.discovering:
            raise NotLifted(
                "how often this loop runs has no known limit",
                "declare the range of the input its bound comes from",
                loop.span,
            )
        high = 1 << 20
    if m.nest_depth:
        run_nest(ex, loop, scope, high)
        return
    mark = m.mark()
    try:
        run_nest(ex, loop, scope, high)
    except NotLifted as problem:
        if problem.final or problem.silent:
            raise
        m.undo(mark)
        trip = int_constant(loop.trip)
        if trip is None or m.block_depth:
            raise
        try:
            run_block(ex, loop, scope, trip)
        except NotLifted as other:
            # Where the loop could be a block but for one statement of it, that statement is what to mend.
            raise (other if problem.carried and other.kind != "compose" else problem) from None


def item_value(ex: Executor, loop: Loop, v: Node) -> Value:
    """What the loop variable is in iteration `v`."""
    if loop.items is not None:
        return ex.m.step(loop.items, v, loop.span)
    return combine(loop.first or integer(0), v)
