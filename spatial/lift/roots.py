"""What of an executed program is read from outside: results, state, lines shown. What these need makes the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spatial.errors import nearest
from spatial.lift.algebra.values import Node, Source
from spatial.lift.canonical.graph import Roots
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Cell, NotLifted, Poison, Seq, follows
from spatial.logos import syntax
from spatial.logos.syntax import NO_SPAN, Span

Refuse = Callable[[NotLifted], None]
"""What is done with a refusal: raised, or noted."""


def wanted_roots(
    machine: Machine, results: Sequence[str] | None, program: syntax.Program, refuse: Refuse | None = None
) -> Roots:
    """What is read from outside: what the caller names, or what Main binds and never reads; state; lines shown.

    Raises `NotLifted` where something has no value, or hands that to `refuse` and leaves it out.
    """
    refuse = refuse or _raise
    if results is None:
        results = [] if machine.shows else _unread(program)
    found: list[tuple[str, Seq | Node]] = []
    lost = False
    for name in results:
        cell = machine.globals.names.get(name)
        source = machine.sources.get(name)
        if source is not None and not source.state:
            lost = True
            refuse(
                NotLifted(
                    f'the result "{name}" has the name of an input',
                    "bind the result to a name of its own",
                    last_span(program),
                    "read",
                    name,
                )
            )
            continue
        if cell is not None and isinstance(cell.value, Seq | Node):
            found.append((name, cell.value))
            continue
        lost = True
        refuse(_no_result(machine, name, cell, program))
    state: list[tuple[str, Source, Seq]] = []
    for name, source in sorted(machine.sources.items()):
        cell = machine.globals.names.get(name)
        if not source.state or cell is None:
            continue
        if isinstance(cell.value, Poison):
            lost = True
            continue
        try:
            state.append((name, source, _kept(name, source, cell)))
        except NotLifted as problem:
            lost = True
            refuse(problem)
    if not lost and not found and not machine.shows and all(v.tensor is s for _, s, v in state):
        refuse(
            NotLifted(
                "nothing of this program is read from outside",
                "name its results, show a value, or write a state table",
                last_span(program),
                "read",
            )
        )
    return Roots(tuple(found), tuple(state), tuple(machine.shows))


def last_span(program: syntax.Program) -> Span:
    """The last statement of Main."""
    return program.main[-1].span if program.main else NO_SPAN


def _raise(problem: NotLifted) -> None:
    raise problem


def _no_result(machine: Machine, name: str, cell: Cell | None, program: syntax.Program) -> NotLifted:
    """Why there is nothing to read of a result."""
    if cell is not None and isinstance(cell.value, Poison):
        if not cell.value.why:
            problem = follows(f'the result "{name}" is not lifted')
            problem.binder = name
            return problem.at(cell.value.at or last_span(program))
        return NotLifted(cell.value.why, cell.value.mend, cell.span or last_span(program), "read", name)
    if cell is not None:
        why = f'the result "{name}" is a text, or nothing, and no tensor'
        return NotLifted(why, "show the text, or give a number or a sequence of them", last_span(program), "read", name)
    known = [n for n, c in machine.globals.names.items() if isinstance(c.value, Seq | Node)]
    why = f'the result "{name}" is no top-level variable of Main'
    return NotLifted(why, nearest(name, known), last_span(program), "read")


def _kept(name: str, source: Source, cell: Cell) -> Seq:
    """What a state table holds at the end: as many numbers, of the same kind, as it is declared with."""
    value = cell.value
    if isinstance(value, Seq) and value.dims == source.dims and value.tensor.kind == source.kind:
        return value
    kind = "Float" if source.kind == "float" else "Int"
    extents = " x ".join(map(str, source.dims or ()))
    if isinstance(value, Seq) and value.dims == source.dims and {value.tensor.kind, source.kind} == {"int", "float"}:
        other, mend = ("Int", "add 0.0 to them") if kind == "Float" else ("Float", "take floor, ceil or round of them")
        why = f'"{name}" is state of {kind}s, and {other}s are written into it'
        raise NotLifted(why, mend, cell.span, "write", name)
    raise NotLifted(
        f'"{name}" is state of {extents} {kind}s, and is set to something else',
        "write items or rows of it, or set it to a sequence of the same shape and kind",
        cell.span,
        "write",
        name,
    )


def _unread(program: syntax.Program) -> list[str]:
    """Variables Main binds at its top level and reads at most to change them."""
    bound = [s.name for s in program.main if isinstance(s, syntax.Let)]
    read: set[str] = set()
    for body in (program.main, *(f.body for f in program.functions)):
        for s in syntax.statements(body):
            names = {n.name for e in syntax.expressions(s) for n in syntax.walk(e) if isinstance(n, syntax.Name)}
            read |= names - {_changed(s)}
    return [name for name in dict.fromkeys(bound) if name not in read]


def _changed(s: syntax.Stmt) -> str:
    """The variable a statement changes."""
    match s:
        case syntax.Set(name):
            return name
        case syntax.SetItem(place) | syntax.Push(_, place):
            return syntax.root_name(place) or ""
        case _:
            return ""
