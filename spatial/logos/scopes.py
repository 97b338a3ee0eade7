"""Which binding a name means, decided before anything runs; and the names a program takes from outside.

Blocks nest, a Let binds from where it stands to the end of its block, and no statement is jumped over into: so
whether a name is bound at a point of the text never depends on the run. What no block binds is a top-level variable
of Main: there at run time, or an error when reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spatial.logos.syntax import (
    Call,
    Expr,
    Function,
    Let,
    Name,
    Pop,
    Program,
    Push,
    RepeatIn,
    RepeatRange,
    Set,
    SetItem,
    Span,
    Stmt,
    expressions,
    root_name,
    statements,
    walk,
)

# What is known of an integer: at least 1, at least 0, an Int; None of any value.
Range = Literal["pos", "nat", "int"] | None
Role = Literal["local", "param", "mutable", "loop"]


@dataclass(frozen=True)
class Slot:
    """One binding inside a block: its own variable of the generated code."""

    variable: str
    role: Role
    range: Range = None


class Scopes:
    """The blocks open at a point of the text, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Slot]] = []
        self.count = 0

    def open(self) -> None:
        """Enter a block."""
        self.blocks.append({})

    def close(self) -> None:
        """Leave the innermost block."""
        self.blocks.pop()

    def bind(self, name: str, role: Role, known: Range = None) -> Slot:
        """Bind a name in the innermost block; again in one block, it is the same variable."""
        before = self.blocks[-1].get(name)
        if before is None:
            self.count += 1
        variable = before.variable if before else f"v{self.count}_{name}"
        slot = self.blocks[-1][name] = Slot(variable, role, known)
        return slot

    def find(self, name: str) -> Slot | None:
        """The innermost binding of a name; None if only a top-level variable of Main can be meant."""
        return next((block[name] for block in reversed(self.blocks) if name in block), None)


def binds(statement: Stmt) -> str | None:
    """The name a statement binds: of a loop, for its body."""
    match statement:
        case Let(name) | RepeatRange(name) | RepeatIn(name):
            return name
        case Pop(_, into):
            return into
        case _:
            return None


def assigned_names(body: tuple[Stmt, ...]) -> frozenset[str]:
    """The names that some Set in a body gives a new value."""
    return frozenset(s.name for s in statements(body) if isinstance(s, Set))


def free_names(program: Program) -> dict[str, Span]:
    """The inputs of a program: names read, or changed in place, and never bound; each with its first place.

    Names bound anywhere in Main are no inputs, nor are those bound in the function that reads them.
    """
    bound_in_main = _bound(program.main)
    found: dict[str, Span] = {}
    for function in program.functions:
        bound = bound_in_main | _bound(function.body) | {p.name for p in function.params}
        _collect(function.body, bound, found)
    _collect(program.main, bound_in_main, found)
    return found


def _bound(body: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(name for s in statements(body) if (name := binds(s)) is not None)


def _collect(body: tuple[Stmt, ...], bound: frozenset[str], found: dict[str, Span]) -> None:
    for statement in statements(body):
        for expr in expressions(statement):
            for node in walk(expr):
                if isinstance(node, Name) and node.name not in bound:
                    found.setdefault(node.name, node.span)


@dataclass(frozen=True)
class Effects:
    """What a function changes in place: which parameters, and whether a variable outside it."""

    params: frozenset[int]
    outside: bool


def effects(program: Program, outside: frozenset[str]) -> dict[str, Effects]:
    """The effects of each function, those of the functions it calls included: the least fixed point.

    `outside` are the names of Main's top-level variables and inputs.
    """
    found = {f.name: Effects(frozenset(), False) for f in program.functions}
    functions = {f.name: f for f in program.functions}
    changed = True
    while changed:
        changed = False
        for name, function in functions.items():
            now = _effects(function, functions, found, outside)
            if now != found[name]:
                found[name], changed = now, True
    return found


def _effects(
    function: Function, functions: dict[str, Function], known: dict[str, Effects], outside: frozenset[str]
) -> Effects:
    """By name alone, and careful: a name that is a local in one block may be a variable of Main's in another."""
    names = [p.name for p in function.params]
    surely_local = (_bound(function.body) - outside) | set(names)
    roots = set(_changed_roots(function.body))
    reaches_out = False
    for callee, args in _calls(function.body):
        if callee in functions and len(args) == len(functions[callee].params):
            reaches_out = reaches_out or known[callee].outside
            changed = (a for a, p in zip(args, functions[callee].params, strict=True) if p.mutable)
            roots.update(root for a in changed if (root := root_name(a)) is not None)
    changed_params = frozenset(i for i, name in enumerate(names) if name in roots)
    return Effects(changed_params, reaches_out or any(root not in surely_local for root in roots))


def _changed_roots(body: tuple[Stmt, ...]) -> Iterator[str]:
    for statement in statements(body):
        place: Expr | None = None
        match statement:
            case SetItem(where) | Push(_, where) | Pop(where):
                place = where
            case _:
                continue
        root = root_name(place)
        if root is not None:
            yield root


def _calls(body: tuple[Stmt, ...]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    for statement in statements(body):
        for expr in expressions(statement):
            for node in walk(expr):
                if isinstance(node, Call):
                    yield node.function, node.args
