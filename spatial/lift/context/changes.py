"""Which variables a body of statements may change, told from its text and that of the functions it calls.

What stands in the text is resolved where it stands; what a function assigns and has not bound is Main's, whatever its
caller calls by that name. What else the text of the whole program tells once and for all is told here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from spatial.logos import syntax

EXACT = 1 << 53
"""Ints up to this are Floats as they are."""

Variable = tuple[str, bool]
"""A name, and whether it is Main's: a function that is called assigns it."""


@dataclass(eq=False)
class _Effects:
    """What a function does to variables that it has not bound: its parameters, and Main's."""

    assigned: dict[Variable, None] = field(default_factory=dict[Variable, None])
    lengthened: dict[Variable, None] = field(default_factory=dict[Variable, None])
    resized: dict[Variable, None] = field(default_factory=dict[Variable, None])
    read: dict[str, None] = field(default_factory=dict[str, None])
    """Names of Main's."""

    @property
    def count(self) -> int:
        """How many there are of all."""
        return len(self.assigned) + len(self.lengthened) + len(self.resized) + len(self.read)


@dataclass(eq=False)
class Changes:
    """What each statement of a program may change, told once: loops ask for their bodies again and again."""

    program: syntax.Program
    known_assigned: dict[int, tuple[syntax.Stmt, list[Variable]]] = field(
        default_factory=dict[int, tuple[syntax.Stmt, list[Variable]]]
    )
    """By identity; the statement is kept, so that no other takes its place."""
    known_lengthened: dict[int, tuple[syntax.Stmt, list[Variable]]] = field(
        default_factory=dict[int, tuple[syntax.Stmt, list[Variable]]]
    )
    known_resized: dict[int, tuple[syntax.Stmt, list[Variable]]] = field(
        default_factory=dict[int, tuple[syntax.Stmt, list[Variable]]]
    )
    functions: dict[str, _Effects] = field(default_factory=dict[str, _Effects])
    """Of each function that was asked for: calls of calls are told once."""

    @cached_property
    def tells_kinds(self) -> bool:
        """Whether something in the program is another of Ints than of Floats: a quotient, a power, what is shown, what
        is counted with Ints that Floats do not have."""
        for body in (self.program.main, *(f.body for f in self.program.functions)):
            for s in syntax.statements(body):
                if isinstance(s, syntax.Show) or any(
                    _by_kind(n) for e in syntax.expressions(s) for n in syntax.walk(e)
                ):
                    return True
        return False

    # -- of bodies

    def assigned(self, body: Iterable[syntax.Stmt]) -> list[Variable]:
        """What the body, and the functions it calls, may assign or change in place; in the order of the text."""
        return _of_all(body, self.known_assigned, self._assigned_by)

    def lengthened(self, body: Iterable[syntax.Stmt]) -> list[Variable]:
        """The sequences that the body, or a function it calls, may lengthen or shorten."""
        return _of_all(body, self.known_lengthened, self._lengthened_by)

    def resized(self, body: Iterable[syntax.Stmt]) -> list[Variable]:
        """What the body, and the functions it calls, may leave with another length: all but what items are set of."""
        return _of_all(body, self.known_resized, self._resized_by)

    def assigned_names(self, body: Iterable[syntax.Stmt]) -> list[str]:
        """The names of what the body may assign or change in place."""
        return _names(self.assigned(body))

    def lengthened_names(self, body: Iterable[syntax.Stmt]) -> list[str]:
        """The names of sequences that the body may lengthen or shorten."""
        return _names(self.lengthened(body))

    def pushes(self, body: Sequence[syntax.Stmt], name: str) -> int:
        """How many items each run of the body appends to a sequence, where its own statements tell; else 0."""
        if any(isinstance(s, syntax.Let) and s.name == name for s in body):
            return 0
        own = [
            s for s in body if isinstance(s, syntax.Push) and isinstance(s.place, syntax.Name) and s.place.name == name
        ]
        rest = [s for s in body if not any(s is o for o in own)]
        return 0 if name in self.lengthened_names(rest) else len(own)

    # -- of expressions

    def assigned_in(self, *expressions: syntax.Expr) -> list[str]:
        """Names of what the calls in expressions may assign or change in place."""
        return _names([v for e in expressions for call in _calls(e) for v in self._assigned_by_call(call)])

    def read_in(self, expression: syntax.Expr) -> set[str]:
        """Names of Main's variables that the calls in an expression may read."""
        return {name for call in _calls(expression) for name in self._called(call)[1].read}

    # -- of single statements and calls, what stands inside statements aside

    def _assigned_by(self, s: syntax.Stmt) -> Iterator[Variable]:
        match s:
            case syntax.Set(name):
                yield name, False
            case syntax.SetItem(place) | syntax.Push(_, place) | syntax.Pop(place):
                yield syntax.root_name(place) or "", False
            case _:
                pass
        for e in syntax.expressions(s):
            for call in _calls(e):
                yield from self._assigned_by_call(call)

    def _resized_by(self, s: syntax.Stmt) -> Iterator[Variable]:
        match s:
            case syntax.Set(name):
                yield name, False
            case syntax.Push(_, place) | syntax.Pop(place):
                yield syntax.root_name(place) or "", False
            case _:
                pass
        for e in syntax.expressions(s):
            for call in _calls(e):
                function, told = self._called(call)
                yield from _beyond(function, call, told.resized, mutable=True)

    def _lengthened_by(self, s: syntax.Stmt) -> Iterator[Variable]:
        if isinstance(s, syntax.Push | syntax.Pop):
            yield syntax.root_name(s.place) or "", False
        for e in syntax.expressions(s):
            for call in _calls(e):
                function, told = self._called(call)
                yield from _beyond(function, call, told.lengthened, mutable=False)

    def _assigned_by_call(self, call: syntax.Call) -> Iterator[Variable]:
        function, told = self._called(call)
        return _beyond(function, call, told.assigned, mutable=True)

    # -- of functions

    def _called(self, call: syntax.Call) -> tuple[syntax.Function | None, _Effects]:
        """The function of the program that is called, if it is one, and what it does. Functions that call each other in
        a circle are told again until nothing is added."""
        function = self.program.function(call.function)
        if not isinstance(function, syntax.Function):
            return None, _Effects()
        if function.name not in self.functions:
            circle = _reached(self.program, function, self.functions.keys())
            self.functions.update((f.name, _Effects()) for f in circle)
            more = True
            while more:
                before = sum(self.functions[f.name].count for f in circle)
                for f in circle:
                    self._tell(f, self.functions[f.name])
                more = sum(self.functions[f.name].count for f in circle) > before
        return function, self.functions[function.name]

    def _tell(self, function: syntax.Function, told: _Effects) -> None:
        """Adds what a function does, as far as is known what those that it calls do."""
        params = {p.name for p in function.params}
        for s, bound in _scoped(function.body):
            for by, to in (
                (self._assigned_by, told.assigned),
                (self._lengthened_by, told.lengthened),
                (self._resized_by, told.resized),
            ):
                to.update(((name, top or name not in params), None) for name, top in by(s) if top or name not in bound)
            for e in syntax.expressions(s):
                names = [n.name for n in syntax.walk(e) if isinstance(n, syntax.Name)]
                told.read.update((name, None) for name in names if name not in bound and name not in params)
                told.read.update(dict.fromkeys(self.read_in(e)))


def _of_all(
    body: Iterable[syntax.Stmt],
    known: dict[int, tuple[syntax.Stmt, list[Variable]]],
    by: Callable[[syntax.Stmt], Iterator[Variable]],
) -> list[Variable]:
    found: dict[Variable, None] = {}
    for s in body:
        if id(s) not in known:
            known[id(s)] = s, list(dict.fromkeys(v for inner in syntax.statements((s,)) for v in by(inner)))
        found.update(dict.fromkeys(known[id(s)][1]))
    return list(found)


def _names(variables: Sequence[Variable]) -> list[str]:
    return list(dict.fromkeys(name for name, _ in variables))


def _beyond(
    function: syntax.Function | None, call: syntax.Call, inside: Iterable[Variable], mutable: bool
) -> Iterator[Variable]:
    """What a call does to variables of its caller, passed to it (`mutable`: to be changed), and to Main's."""
    if function is None:
        return
    yield from (v for v in inside if v[1])
    for p, a in zip(function.params, call.args, strict=False):
        if (p.name, False) in inside and (p.mutable or not mutable):
            yield syntax.root_name(a) or "", False


def _scoped(body: Sequence[syntax.Stmt]) -> Iterator[tuple[syntax.Stmt, Set[str]]]:
    """Every statement of a body with the names that are bound where it stands, by the body or around it."""
    pending = [(iter(body), set[str]())]
    while pending:
        statements, bound = pending[-1]
        s = next(statements, None)
        if s is None:
            pending.pop()
            continue
        yield s, bound
        if isinstance(s, syntax.Let):
            bound.add(s.name)
        own = {s.var} if isinstance(s, syntax.RepeatRange | syntax.RepeatIn) else set[str]()
        pending += [(iter(inner), bound | own) for inner in reversed(syntax.bodies(s))]


def _reached(program: syntax.Program, function: syntax.Function, known: Set[str]) -> list[syntax.Function]:
    """The functions that calls of one lead to, itself too, callees before callers; those `known` are left out."""
    found: dict[str, syntax.Function] = {}
    entered = {function.name, *known}
    pending = [(function, _callees(program, function))]
    while pending:
        at, callees = pending[-1]
        callee = next((c for c in callees if c.name not in entered), None)
        if callee is None:
            found[at.name] = at
            pending.pop()
        else:
            entered.add(callee.name)
            pending.append((callee, _callees(program, callee)))
    return list(found.values())


def _callees(program: syntax.Program, function: syntax.Function) -> Iterator[syntax.Function]:
    for s in syntax.statements(function.body):
        for e in syntax.expressions(s):
            for call in _calls(e):
                callee = program.function(call.function)
                if isinstance(callee, syntax.Function):
                    yield callee


def _by_kind(e: syntax.Expr) -> bool:
    """Whether an operation is another one of Ints than of Floats."""
    match e:
        case syntax.Binary("/" | "//" | "**"):
            return True
        case syntax.Call("pow"):
            return True
        case syntax.IntLiteral(value=value):
            return abs(value) > EXACT
        case _:
            return False


def _calls(e: syntax.Expr) -> Iterator[syntax.Call]:
    return (node for node in syntax.walk(e) if isinstance(node, syntax.Call))
