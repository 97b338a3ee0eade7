"""Which variables a body of statements may change, told from its text and that of the functions it calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spatial.logos import syntax


@dataclass(eq=False)
class Changes:
    """What each statement of a program may change, told once: loops ask for their bodies again and again."""

    program: syntax.Program
    assigned: dict[int, tuple[syntax.Stmt, list[str]]] = field(default_factory=dict[int, tuple[syntax.Stmt, list[str]]])
    """By identity; the statement is kept, so that no other takes its place."""
    pushed: dict[int, tuple[syntax.Stmt, set[str]]] = field(default_factory=dict[int, tuple[syntax.Stmt, set[str]]])

    def assigned_names(self, body: Sequence[syntax.Stmt]) -> list[str]:
        """Names that the body, and the functions it calls, may assign or change in place; in the order of the text."""
        found: dict[str, None] = {}
        for s in body:
            if id(s) not in self.assigned:
                self.assigned[id(s)] = s, _assigned((s,), self.program, frozenset())
            found.update(dict.fromkeys(self.assigned[id(s)][1]))
        return list(found)

    def pushed_names(self, body: Sequence[syntax.Stmt]) -> set[str]:
        """Names of sequences that the body, or a function it calls, may lengthen."""
        found: set[str] = set()
        for s in body:
            if id(s) not in self.pushed:
                self.pushed[id(s)] = s, _pushed((s,), self.program, frozenset())
            found |= self.pushed[id(s)][1]
        return found

    def pushes(self, body: Sequence[syntax.Stmt], name: str) -> int:
        """How many items each run of the body appends to a sequence, where its own statements tell; else 0."""
        own = [
            s for s in body if isinstance(s, syntax.Push) and isinstance(s.place, syntax.Name) and s.place.name == name
        ]
        rest = [s for s in body if not any(s is o for o in own)]
        return 0 if name in self.pushed_names(rest) else len(own)


def _assigned(body: Sequence[syntax.Stmt], program: syntax.Program, seen: frozenset[str]) -> list[str]:
    """The names assigned, functions `seen` left out."""
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
            found.update(dict.fromkeys(_changed_by(call, program, seen)))
    return list(found)


def _pushed(body: Sequence[syntax.Stmt], program: syntax.Program, seen: frozenset[str]) -> set[str]:
    """The names of sequences lengthened, functions `seen` left out."""
    found: set[str] = set()
    for s in syntax.statements(tuple(body)):
        if isinstance(s, syntax.Push | syntax.Pop):
            found.add(syntax.root_name(s.place) or "")
        for call in _calls(s):
            function = program.function(call.function)
            if not isinstance(function, syntax.Function) or call.function in seen:
                continue
            inner = _pushed(function.body, program, seen | {call.function})
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


def _changed_by(call: syntax.Call, program: syntax.Program, seen: frozenset[str]) -> list[str]:
    function = program.function(call.function)
    if not isinstance(function, syntax.Function) or call.function in seen:
        return []
    inner = _assigned(function.body, program, seen | {call.function})
    own = {p.name for p in function.params} | _bound(function.body)
    changed = [name for name in inner if name not in own]
    for p, a in zip(function.params, call.args, strict=False):
        if p.mutable and p.name in inner:
            changed.append(syntax.root_name(a) or "")
    return changed


def _bound(body: Sequence[syntax.Stmt]) -> set[str]:
    return {s.name for s in body if isinstance(s, syntax.Let)}
