"""From a program to a tensor graph: executes Main symbolically, then brings what its roots need to canonical form.

The first execution learns the shapes of weights from their accesses, and which tables are indexed flat. Where something
turned on what was not known yet, a second one proves everything with it known. Statements of Main that are refused are
noted and stepped over, so that one run tells all it can.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from spatial.ir.graph import Lifted
from spatial.lift.algebra.arith import Undefined, nonneg
from spatial.lift.algebra.values import Node, combine, get, integer, plus
from spatial.lift.canonical.graph import canonical_graph
from spatial.lift.context.changes import Changes
from spatial.lift.context.facts import Facts
from spatial.lift.context.machine import Machine
from spatial.lift.context.spent import Exhausted
from spatial.lift.context.state import NotLifted, Seq, WrongKind
from spatial.lift.context.survey import Noted, Survey
from spatial.lift.execution.execute import Executor
from spatial.lift.execution.returns import Partly
from spatial.lift.outcome import liftable, numbered, refusal
from spatial.lift.roots import last_span, wanted_roots
from spatial.logos import syntax
from spatial.logos.syntax import NO_SPAN

_ROUNDS = 4
"""Executions after which implied shapes must have settled."""

_DEPTH = 12_000
"""Recursion of the walks over symbolic values: long chains of tensors and expressions are deep, not wide."""


@dataclass(frozen=True)
class Executed:
    """An execution of Main: the machine as it ended, and what was refused."""

    machine: Machine
    refused: tuple[NotLifted, ...]


def lift(program: syntax.Program, facts: Facts, results: Sequence[str] | None = None) -> Lifted:
    """The graph of `program`, or what stands in its way.

    `results`: top-level variables of Main that are read from outside; None: those that Main binds and never reads,
    if it shows nothing. Never raises for a source: refusals are in `Lifted.missing`.
    """
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, _DEPTH))
    gc.disable()  # nearly all values live to the end: a collector would look at them again and again
    try:
        return _lift(program, facts, results)
    except RecursionError:
        problem = NotLifted("an expression is nested too deep", "store parts of it in sequences", last_span(program))
        return refusal(program, (Noted(problem, last_span(program)),), None)
    except Exhausted as found:
        return refusal(program, (Noted(found.problem, found.problem.span or last_span(program)),), None)
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


def _lift(program: syntax.Program, facts: Facts, results: Sequence[str] | None) -> Lifted:
    ended = _run(program, facts)
    refused = ended.refused
    if not refused:
        try:
            roots = wanted_roots(ended.machine, results, program)
            return numbered(canonical_graph(roots, ended.machine), program)
        except NotLifted as problem:
            refused = (problem.at(last_span(program)),)
    return _survey(program, facts, results, refused)


def _survey(
    program: syntax.Program, facts: Facts, results: Sequence[str] | None, refused: Sequence[NotLifted]
) -> Lifted:
    """All that is refused, and the graph of the rest."""
    machine = _run(program, facts, surveying=True).machine
    survey = machine.survey
    assert survey is not None
    rest = liftable(machine, survey, results, program)
    if not any(n.root for n in survey.noted):
        for problem in refused:
            survey.note(problem, problem.span or last_span(program))
    return refusal(program, survey.noted, rest)


def _run(program: syntax.Program, facts: Facts, surveying: bool = False) -> Executed:
    """Executes Main until the shapes it implies are the shapes it was executed with."""
    integers: frozenset[str] = frozenset()
    shapes: dict[str, tuple[int, ...]] = {}
    flat: frozenset[str] = frozenset()
    changes = Changes(program)
    rounds = 0
    while True:
        try:
            started = _execute(program, facts, changes, shapes, integers, flat, True, surveying)
            first = started.machine
            learned = _merged(shapes, _learned(first))
            if not started.refused and not surveying and first.learn(learned, flat):
                return started
            flat |= first.flat_tables()
            ended = _execute(program, facts, changes, learned, integers, flat, False, surveying)
        except WrongKind as found:
            integers |= {found.name}
            continue
        shapes = _merged(learned, _learned(ended.machine))
        rounds += 1
        settled = ended.refused or shapes == learned or rounds >= _ROUNDS
        if settled and ended.machine.flat_tables() <= flat:
            return ended


def flat_tables(program: syntax.Program, facts: Facts) -> frozenset[str]:
    """Tables of several axes that the program indexes as one row-major sequence: so the interpreter is handed them."""
    machine = _run(program, facts).machine
    return machine.flat_tables()


def _execute(
    program: syntax.Program,
    facts: Facts,
    changes: Changes,
    shapes: dict[str, tuple[int, ...]],
    integers: frozenset[str],
    flat: frozenset[str],
    discovering: bool,
    surveying: bool,
) -> Executed:
    machine = Machine(program, facts, shapes, integers, changes, flat, discovering=discovering)
    machine.survey = Survey() if surveying else None
    executor = Executor(machine)
    machine.assumed = _assumptions(machine)
    refused: list[NotLifted] = []
    for n, statement in enumerate(program.main):
        mark = machine.mark()
        try:
            ended = executor.body((statement,), machine.globals)
            if isinstance(ended, Partly):
                rest = program.main[n + 1 :]
                if any(isinstance(s, syntax.Let) for s in rest):
                    raise NotLifted(
                        "Main returns in some cases here, and binds variables afterwards",
                        "bind them before, or write what follows under an Otherwise",
                        statement.span,
                    )
                executor.onward(ended, rest, machine.globals)
            if ended is not None:
                break
        except Exhausted as found:
            found.problem.at(statement.span)
            raise
        except NotLifted as problem:
            machine.undo(mark)
            if not problem.silent:
                refused.append(problem)
            executor.step_over(statement, machine.globals)
    return Executed(machine, tuple(refused))


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
