"""From a program to a tensor graph: executes Main symbolically, then brings what its roots need to canonical form.

The first execution learns the shapes of weights from their accesses, and which tables are indexed flat; a second one
proves everything with these known. Statements of Main that are refused are noted and stepped over, so that one run
tells all it can.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from spatial.errors import nearest
from spatial.ir.graph import Lifted, Missing
from spatial.lift.arith import Undefined, nonneg
from spatial.lift.canonical import Roots, canonical_graph
from spatial.lift.changes import assigned_names
from spatial.lift.execute import Executor
from spatial.lift.facts import Facts
from spatial.lift.machine import Machine
from spatial.lift.state import Cell, NotLifted, Poison, Seq, WrongKind
from spatial.lift.values import Node, Source, combine, get, integer, plus
from spatial.logos import syntax
from spatial.logos.syntax import NO_SPAN, Span

_ROUNDS = 4
"""Executions after which implied shapes must have settled."""

_DEPTH = 12_000
"""Recursion of the walks over symbolic values: long chains of tensors and expressions are deep, not wide."""


@dataclass(frozen=True)
class Executed:
    """An execution of Main: the machine as it ended, and what was refused."""

    machine: Machine
    refused: tuple[NotLifted, ...]
    statements: int


def lift(program: syntax.Program, facts: Facts, results: Sequence[str] | None = None) -> Lifted:
    """The graph of `program`, or what stands in its way.

    `results`: top-level variables of Main that are read from outside; None: those that Main binds and never reads,
    if it shows nothing. Never raises for a source: refusals are in `Lifted.missing`.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return _lift(program, facts, results)
    except RecursionError:
        problem = NotLifted("an expression is nested too deep", "store parts of it in sequences", _end(program))
        return _refusal((problem,), 1)
    finally:
        sys.setrecursionlimit(limit)


def _lift(program: syntax.Program, facts: Facts, results: Sequence[str] | None) -> Lifted:
    ended = _run(program, facts)
    if ended.refused:
        return _refusal(ended.refused, ended.statements)
    try:
        roots = _roots(ended.machine, results, program)
        return canonical_graph(roots, ended.machine)
    except NotLifted as problem:
        return _refusal((problem.at(_end(program)),), ended.statements)


def _run(program: syntax.Program, facts: Facts) -> Executed:
    """Executes Main until the shapes it implies are the shapes it was executed with."""
    integers: frozenset[str] = frozenset()
    shapes: dict[str, tuple[int, ...]] = {}
    flat: frozenset[str] = frozenset()
    rounds = 0
    while True:
        try:
            first = _execute(program, facts, shapes, integers, flat, discovering=True).machine
            learned = _merged(shapes, _learned(first))
            flat |= first.flat_tables()
            ended = _execute(program, facts, learned, integers, flat, discovering=False)
        except WrongKind as found:
            integers |= {found.name}
            continue
        shapes = _merged(learned, _learned(ended.machine))
        rounds += 1
        if ended.refused or shapes == learned or rounds == _ROUNDS:
            return ended


def flat_tables(program: syntax.Program, facts: Facts) -> frozenset[str]:
    """Tables of several axes that the program indexes as one row-major sequence: so the interpreter is handed them."""
    machine = _run(program, facts).machine
    return machine.flat_tables()


def _execute(
    program: syntax.Program,
    facts: Facts,
    shapes: dict[str, tuple[int, ...]],
    integers: frozenset[str],
    flat: frozenset[str],
    discovering: bool,
) -> Executed:
    machine = Machine(program, facts, shapes, integers, flat, discovering=discovering)
    executor = Executor(machine)
    machine.assumed = _assumptions(machine)
    refused: list[NotLifted] = []
    for statement in program.main:
        mark = machine.mark()
        try:
            value = executor.body((statement,), machine.globals)
            if value is not None:
                break
        except NotLifted as problem:
            machine.undo(mark)
            machine.nest_depth = machine.block_depth = 0
            machine.calls.clear()
            if not problem.silent:
                refused.append(problem)
            _poison(machine, statement)
    return Executed(machine, tuple(refused), machine.order)


def _poison(machine: Machine, statement: syntax.Stmt) -> None:
    """What a refused statement would have bound is not to be read."""
    names = assigned_names((statement,), machine.program)
    if isinstance(statement, syntax.Let):
        machine.globals.names[statement.name] = Cell(statement.name, Poison(), top=True)
    for name in names:
        cell = machine.globals.names.get(name)
        if cell is not None:
            machine.assign(cell, Poison())


def _learned(machine: Machine) -> dict[str, tuple[int, ...]]:
    """Shapes that the accesses imply."""
    found: dict[str, tuple[int, ...]] = {}
    for name, source in sorted(machine.sources.items()):
        if name not in machine.facts.tables and source.needs:
            rank = max(source.needs) + 1
            found[name] = tuple(source.needs.get(axis, 1) for axis in range(rank))
    return found


def _merged(old: dict[str, tuple[int, ...]], new: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Both shapes of each name in one: what one execution reads directly, another may read through a copy."""
    found = {**old, **new}
    for name in old.keys() & new.keys():
        if len(old[name]) == len(new[name]):
            found[name] = tuple(map(max, old[name], new[name]))
    return found


def _refusal(refused: Sequence[NotLifted], statements: int) -> Lifted:
    missing: list[Missing] = []
    for n, problem in enumerate(refused):
        span = problem.span or NO_SPAN
        missing.append(
            Missing(n, problem.binder, problem.kind, problem.why, problem.mend, span.file, span.line, span.column)
        )
    return Lifted(None, (), max(statements, len(missing)), 0, 0, 0, tuple(missing))


# ---------------------------------------------------------------- what is read from outside


def _roots(machine: Machine, results: Sequence[str] | None, program: syntax.Program) -> Roots:
    if results is None:
        results = [] if machine.shows else _unread(program)
    found: list[tuple[str, Seq | Node]] = []
    for name in results:
        cell = machine.globals.names.get(name)
        if cell is None or not isinstance(cell.value, Seq | Node):
            known = [n for n, c in machine.globals.names.items() if isinstance(c.value, Seq | Node)]
            raise NotLifted(
                f'the result "{name}" is no top-level variable of Main',
                nearest(name, known),
                _end(program),
                "read",
            )
        found.append((name, cell.value))
    state: list[tuple[str, Source, Seq]] = []
    for name, source in sorted(machine.sources.items()):
        cell = machine.globals.names.get(name)
        if source.state and cell is not None and not isinstance(cell.value, Poison):
            state.append((name, source, _kept(name, source, cell)))
    if not found and not machine.shows and all(v.tensor is s for _, s, v in state):
        raise NotLifted(
            "nothing of this program is read from outside",
            "name its results, show a value, or write a state table",
            _end(program),
            "read",
        )
    return Roots(tuple(found), tuple(state), tuple(machine.shows))


def _kept(name: str, source: Source, cell: Cell) -> Seq:
    """What a state table holds at the end: as many numbers, of the same kind, as it is declared with."""
    value = cell.value
    if isinstance(value, Seq) and value.dims == source.dims and value.tensor.kind == source.kind:
        return value
    kind = "Float" if source.kind == "float" else "Int"
    extents = " x ".join(map(str, source.dims or ()))
    raise NotLifted(
        f'"{name}" is state of {extents} {kind}s, and is set to something else',
        "write items or rows of it, or set it to a sequence of the same shape and kind",
        cell.span,
        "write",
        name,
    )


def _unread(program: syntax.Program) -> list[str]:
    """Variables Main binds at its top level and never reads."""
    bound = [s.name for s in program.main if isinstance(s, syntax.Let)]
    bodies = (program.main, *(f.body for f in program.functions))
    read = {
        n.name
        for body in bodies
        for s in syntax.statements(body)
        for e in syntax.expressions(s)
        if not isinstance(s, syntax.Push | syntax.SetItem)
        for n in syntax.walk(e)
        if isinstance(n, syntax.Name)
    }
    read |= {
        n.name
        for body in bodies
        for s in syntax.statements(body)
        if isinstance(s, syntax.Push | syntax.SetItem)
        for n in syntax.walk(s.value)
        if isinstance(n, syntax.Name)
    }
    return [name for name in dict.fromkeys(bound) if name not in read]


def _end(program: syntax.Program) -> Span:
    return program.main[-1].span if program.main else NO_SPAN


# ---------------------------------------------------------------- relations between inputs

_RELATION = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*(.+?)\s*$")
_PART = re.compile(r"\s*([+-]?)\s*(?:(\d+)|([A-Za-z_]\w*))")


def _assumptions(machine: Machine) -> tuple[Node, ...]:
    """The declared relations as conditions on elements of the inputs."""
    found: list[Node] = []
    for relation in machine.facts.assume:
        m = _RELATION.match(relation)
        if m is None:
            continue
        left, right = _sum(machine, m.group(1)), _sum(machine, m.group(3))
        if left is None or right is None:
            continue
        gap = combine(right, left, -1) if m.group(2) in ("<=", "<") else combine(left, right, -1)
        if m.group(2) in ("<", ">"):
            gap = plus(gap, -1)
        try:
            found.append(nonneg(gap))
        except Undefined:
            continue
    return tuple(found)


def _sum(machine: Machine, text: str) -> Node | None:
    """A sum of sizes, integers and one-element inputs; None if it is something else."""
    total: Node = integer(0)
    at = 0
    while at < len(text.rstrip()):
        m = _PART.match(text, at)
        if m is None:
            return None
        sign = -1 if m.group(1) == "-" else 1
        if m.group(2):
            total = plus(total, sign * int(m.group(2)))
        else:
            name = m.group(3)
            table = machine.facts.tables.get(name)
            if name in machine.facts.sizes:
                total = plus(total, sign * machine.facts.sizes[name])
            elif table is not None and table.kind == "int" and table.dims == (1,):
                cell = machine.lookup(name, machine.globals, NO_SPAN)
                if not isinstance(cell.value, Seq):
                    return None
                total = combine(total, get(cell.value.tensor, (integer(0),)), sign)
            else:
                return None
        at = m.end()
    return total
