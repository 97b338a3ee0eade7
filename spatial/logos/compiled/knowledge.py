"""What is known of a whole program while it is translated: kinds of variables, functions by the kinds of arguments.

The translator walks the program again and again until nothing new is learnt; the last walk's code is right. Kinds only
ever become better known (`kinds.join`), so that ends. What can't be held in compiled code is refused, by place and with
what would mend it; a walk goes on past a refusal, and all are told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spatial.errors import Problem, Unsupported
from spatial.logos.compiled.kinds import NOTHING, UNKNOWN, Kind, join
from spatial.logos.scopes import Effects, binds, effects
from spatial.logos.syntax import (
    Call,
    Function,
    Let,
    Native,
    Pop,
    Program,
    Return,
    Span,
    expressions,
    statements,
    walk,
)
from spatial.logos.tailcalls import Fold, direct, find_fold

PLAIN = "the plain interpreter runs it: leave --compiled out"
DEEPEST = 6
"""How deep sequences may be nested; a function that calls itself with ever deeper ones has to end somewhere."""


class Refusal(Exception):
    """Something that compiled code does not hold."""

    def __init__(self, span: Span, what: str, why: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.problem = Problem(what, why, f"{mend}; or {PLAIN}" if mend else PLAIN, span.place)


@dataclass(frozen=True)
class Site:
    """A place that may stop the run: `rule` tells the language's error again from operands of these kinds."""

    span: Span
    rule: Callable[[Any, Any], object] | None = None
    kinds: tuple[Kind, Kind] | None = None


@dataclass(frozen=True)
class Line:
    """A place that shows a line: its texts, and the kinds and formats of the values between them."""

    span: Span
    parts: tuple[str | tuple[Kind, str], ...]


@dataclass
class Instance:
    """A function for arguments of certain kinds, and what its code is called."""

    function: Function
    name: str
    params: list[Kind]
    returns: Kind


@dataclass
class Reach:
    """What calls of a function touch outside it: globals read and changed; parameters that grow in the caller."""

    touched: set[str] = field(default_factory=set[str])
    changed: set[str] = field(default_factory=set[str])
    grown: set[int] = field(default_factory=set[int])

    def size(self) -> int:
        """How much is known."""
        return len(self.touched) + len(self.changed) + len(self.grown)


class Knowledge:
    """All that the walks have learnt; `sites`, `lines`, `reached` and `problems` are of the last."""

    def __init__(self, program: Program, given: Mapping[str, Kind]) -> None:
        self.program = program
        self.functions: dict[str, Function] = {f.name: f for f in program.functions}
        self.natives: dict[str, Native] = {n.name: n for n in program.natives}
        bound = (binds(s) for s in program.main if isinstance(s, (Let, Pop)))
        names = dict.fromkeys([*sorted(given), *(name for name in bound if name is not None)])
        self.globals = {name: f"g{number}_{clean(name)}" for number, name in enumerate(names)}
        self.kinds: dict[tuple[str, str], Kind] = {("", name): given.get(name, UNKNOWN) for name in names}
        self.effects: dict[str, Effects] = effects(program, frozenset(names))
        self.folds: dict[str, Fold | None] = {f.name: find_fold(f) for f in program.functions}
        self.bodies = {f.name: f.body if self.folds[f.name] else direct(f.body, f) for f in program.functions}
        self.gives = frozenset(f.name for f in program.functions if _gives(f))
        self.recursive = _recursive(self.functions)
        self.instances: dict[tuple[str, tuple[Kind, ...]], Instance] = {}
        self.reaches: dict[str, Reach] = {f.name: Reach() for f in program.functions}
        self.reached: list[Instance] = []
        self.problems: dict[Problem, None] = {}
        self.sites: list[Site] = []
        self.lines: list[Line] = []
        self.written: set[str] = set()  # globals that are changed in place
        self.learnt = False

    def begin(self) -> None:
        """A new walk begins."""
        self.sites, self.lines, self.reached = [], [], []
        self.problems, self.learnt = {}, False

    def settle(self) -> None:
        """The last walk is over: everything that was refused, if anything was."""
        if self.problems:
            raise Unsupported(sorted(self.problems, key=lambda p: (p.place is not None, p.place)))

    def site(self, site: Site) -> int:
        """The number of a place, from 1."""
        self.sites.append(site)
        return len(self.sites)

    def line(self, line: Line) -> int:
        """The number of a line, from 0."""
        self.lines.append(line)
        return len(self.lines) - 1

    def kind(self, unit: str, variable: str) -> Kind:
        """What is known of a variable of a unit (of the unit "": a global)."""
        return self.kinds.get((unit, variable), UNKNOWN)

    def learn(self, unit: str, variable: str, kind: Kind) -> Kind | None:
        """A variable also holds values of this kind: what it is then known to be, None if that is no one kind."""
        before = self.kind(unit, variable)
        now = join(before, kind)
        if now is not None and now != before:
            self.kinds[unit, variable] = now
            self.learnt = True
        return now

    def instance(self, function: Function, kinds: tuple[Kind, ...]) -> Instance:
        """The function for arguments of these kinds."""
        found = self.instances.get((function.name, kinds))
        if found is None:
            name = f"f{len(self.instances)}_{clean(function.name)}"
            found = Instance(function, name, list(kinds), UNKNOWN if function.name in self.gives else NOTHING)
            self.instances[function.name, kinds] = found
            self.learnt = True
        if all(found is not other for other in self.reached):
            self.reached.append(found)
        return found

    def reach(
        self, function: str, touched: Iterable[str] = (), changed: Iterable[str] = (), grown: Iterable[int] = ()
    ) -> None:
        """Calls of a function touch these too."""
        reach = self.reaches[function]
        before = reach.size()
        reach.touched.update(touched)
        reach.changed.update(changed)
        reach.grown.update(grown)
        self.learnt = self.learnt or reach.size() > before


def clean(name: str) -> str:
    """A name of the program as a part of Python's names."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def _gives(function: Function) -> bool:
    """Whether some Return of a function gives a value."""
    return any(isinstance(s, Return) and s.value is not None for s in statements(function.body))


def _recursive(functions: Mapping[str, Function]) -> frozenset[str]:
    """The functions that can come to call themselves."""
    calls = {name: {c for c in _called(f) if c in functions} for name, f in functions.items()}
    found = {name: set(callees) for name, callees in calls.items()}
    changed = True
    while changed:
        changed = False
        for reached in found.values():
            more = {further for name in reached for further in found[name]} - reached
            if more:
                reached |= more
                changed = True
    return frozenset(name for name, reached in found.items() if name in reached)


def _called(function: Function) -> Iterable[str]:
    for statement in statements(function.body):
        for expr in expressions(statement):
            yield from (node.function for node in walk(expr) if isinstance(node, Call))
