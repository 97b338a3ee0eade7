"""Which variables a body of statements may change, told from its text and that of the functions it calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from spatial.logos import syntax


@dataclass(eq=False)
class Changes:
    """What each statement of a program may change, told once: loops ask for their bodies again and again."""

    program: syntax.Program
    assigned: dict[int, tuple[syntax.Stmt, list[str]]] = field(default_factory=dict[int, tuple[syntax.Stmt, list[str]]])
    """By identity; the statement is kept, so that no other takes its place."""
    pushed: dict[int, tuple[syntax.Stmt, set[str]]] = field(default_factory=dict[int, tuple[syntax.Stmt, set[str]]])

    functions: dict[tuple[str, bool], list[str]] = field(default_factory=dict[tuple[str, bool], list[str]])
    """What the body of each function assigns, or (True) lengthens: calls of calls are told once."""

    def assigned_names(self, body: Sequence[syntax.Stmt]) -> list[str]:
        """Names that the body, and the functions it calls, may assign or change in place; in the order of the text."""
        found: dict[str, None] = {}
        for s in body:
            if id(s) not in self.assigned:
                self.assigned[id(s)] = s, self._assigned((s,))
            found.update(dict.fromkeys(self.assigned[id(s)][1]))
        return list(found)

    def pushed_names(self, body: Sequence[syntax.Stmt]) -> set[str]:
        """Names of sequences that the body, or a function it calls, may lengthen."""
        found: set[str] = set()
        for s in body:
            if id(s) not in self.pushed:
                self.pushed[id(s)] = s, set(self._pushed((s,)))
            found |= self.pushed[id(s)][1]
        return found

    def pushes(self, body: Sequence[syntax.Stmt], name: str) -> int:
        """How many items each run of the body appends to a sequence, where its own statements tell; else 0."""
        own = [
            s for s in body if isinstance(s, syntax.Push) and isinstance(s.place, syntax.Name) and s.place.name == name
        ]
        rest = [s for s in body if not any(s is o for o in own)]
        return 0 if name in self.pushed_names(rest) else len(own)

    def _assigned(self, body: Sequence[syntax.Stmt]) -> list[str]:
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
                found.update(dict.fromkeys(self._changed_by(call)))
        return list(found)

    def _changed_by(self, call: syntax.Call) -> list[str]:
        """What a call assigns of its caller's variables, and of Main's."""
        function = self.program.function(call.function)
        if not isinstance(function, syntax.Function):
            return []
        inner = self._of(function, False)
        own = {p.name for p in function.params} | _bound(function.body)
        changed = [name for name in inner if name not in own]
        for p, a in zip(function.params, call.args, strict=False):
            if p.mutable and p.name in inner:
                changed.append(syntax.root_name(a) or "")
        return changed

    def _pushed(self, body: Sequence[syntax.Stmt]) -> list[str]:
        found: dict[str, None] = {}
        for s in syntax.statements(tuple(body)):
            if isinstance(s, syntax.Push | syntax.Pop):
                found[syntax.root_name(s.place) or ""] = None
            for call in _calls(s):
                function = self.program.function(call.function)
                if not isinstance(function, syntax.Function):
                    continue
                inner = self._of(function, True)
                own = {p.name for p in function.params}
                found.update((name, None) for name in inner if name not in own)
                found.update((root, None) for p, a in zip(function.params, call.args, strict=False)
                             if p.name in inner and (root := syntax.root_name(a)))  # fmt: skip
        return list(found)

    def _of(self, function: syntax.Function, lengthened: bool) -> list[str]:
        """What a function changes. Those that call each other in a circle are told again until nothing is added."""
        key = function.name, lengthened
        if key not in self.functions:
            circle = _reached(self.program, function, {name for name, kind in self.functions if kind == lengthened})
            told = self._pushed if lengthened else self._assigned
            for f in circle:
                self.functions.setdefault((f.name, lengthened), [])
            more = True
            while more:
                more = False
                for f in circle:
                    found = told(f.body)
                    more = more or len(found) > len(self.functions[f.name, lengthened])
                    self.functions[f.name, lengthened] = found
        return self.functions[key]


def _reached(program: syntax.Program, function: syntax.Function, known: Set[str]) -> list[syntax.Function]:
    """The functions that calls of one lead to, itself too, callees before callers; those `known` are left out."""
    found: dict[str, syntax.Function] = {}
    entered = {function.name, *known}
    pending = [(function, _called(program, function))]
    while pending:
        at, callees = pending[-1]
        callee = next((c for c in callees if c.name not in entered), None)
        if callee is None:
            found[at.name] = at
            pending.pop()
        else:
            entered.add(callee.name)
            pending.append((callee, _called(program, callee)))
    return list(found.values())


def _called(program: syntax.Program, function: syntax.Function) -> Iterator[syntax.Function]:
    for s in syntax.statements(function.body):
        for call in _calls(s):
            callee = program.function(call.function)
            if isinstance(callee, syntax.Function):
                yield callee


def _calls(s: syntax.Stmt) -> Iterator[syntax.Call]:
    for e in syntax.expressions(s):
        for node in syntax.walk(e):
            if isinstance(node, syntax.Call):
                yield node


def _bound(body: Sequence[syntax.Stmt]) -> set[str]:
    return {s.name for s in body if isinstance(s, syntax.Let)}
