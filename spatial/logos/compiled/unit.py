"""The ground of the translator: the code of one unit as it is written, its variables, values and places.

A unit is Main or a function for arguments of certain kinds. Code is collected statement by statement in `out`; an
expression may stay nested until what comes after it writes statements of its own, when it is put before them
(`ordered`), so that everything happens, and stops, in the order of the language.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spatial.logos.arithmetic import undefined
from spatial.logos.compiled.kinds import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    TEXT,
    UNKNOWN,
    Kind,
    leaf_word,
)
from spatial.logos.compiled.knowledge import DEEPEST, Instance, Knowledge, Refusal, Site
from spatial.logos.pytree import assign, call, const, load
from spatial.logos.scopes import Scopes, Slot
from spatial.logos.syntax import Call, Expr, Span, walk


@dataclass(frozen=True)
class Value:
    """A value in the making: its kind and Python expressions (see Note [How sequences are held] in `kinds`).

    `fresh`: a sequence that no variable has. `text`: of a Text, literal parts and values with their formats.
    """

    kind: Kind
    parts: tuple[ast.expr, ...] = ()
    fresh: bool = False
    text: tuple[str | tuple[Value, str], ...] = ()

    @property
    def array(self) -> ast.expr:
        """The array of a sequence."""
        return self.parts[0]

    @property
    def start(self) -> ast.expr:
        """Where its first item is."""
        return self.parts[1]

    @property
    def items(self) -> ast.expr:
        """How many items it has."""
        return self.parts[2]

    @property
    def inner(self) -> tuple[ast.expr, ...]:
        """How many items inner sequences have, outermost first."""
        return self.parts[3:]


def is_atom(tree: ast.expr) -> bool:
    """Whether a tree may be written twice."""
    return isinstance(tree, (ast.Name, ast.Constant))


def times(factors: Sequence[ast.expr]) -> ast.expr:
    """The product of sizes; they are those of arrays that exist, so it fits."""
    found: ast.expr = factors[0] if factors else const(1)
    for factor in factors[1:]:
        found = ast.BinOp(found, ast.Mult(), factor)
    return found


def add(a: ast.expr, b: ast.expr) -> ast.expr:
    """The sum of sizes or positions."""
    if isinstance(a, ast.Constant) and a.value == 0:
        return b
    if isinstance(b, ast.Constant) and b.value == 0:
        return a
    return ast.BinOp(a, ast.Add(), b)


def empty(kind: Kind, size: ast.expr) -> ast.expr:
    """A fresh array for a kind's scalars."""
    return call(f"empty_{leaf_word(kind)}", size)


def as_float(value: Value) -> ast.expr:
    """A number as a Float."""
    return value.parts[0] if value.kind == FLOAT else call("float", value.parts[0])


def scalar(kind: Kind, tree: ast.expr) -> Value:
    """A scalar."""
    return Value(kind, (tree,))


class Unit:
    """The code of one unit: variables, temporaries, order."""

    def __init__(self, known: Knowledge, instance: Instance | None) -> None:
        self.known = known
        self.instance = instance
        self.name = instance.name if instance else "main"
        self.scopes = Scopes()
        self.out: list[ast.stmt] = []
        self.temporaries = 0
        self.bound: list[str] = []  # of Main: globals that are bound so far

    # Code

    def emit(self, *trees: ast.stmt) -> None:
        """Write statements."""
        self.out.extend(trees)

    def do(self, function: str, *args: ast.expr) -> None:
        """Write a call for its effect."""
        self.emit(ast.Expr(call(function, *args)))

    def temporary(self) -> str:
        """A fresh Python variable."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def named(self, tree: ast.expr) -> ast.expr:
        """The tree, evaluated here if it is more than an atom."""
        if is_atom(tree):
            return tree
        name = self.temporary()
        self.emit(assign(name, tree))
        return load(name)

    def captured(self, write: Callable[[], Any]) -> tuple[Any, list[ast.stmt]]:
        """What `write` gives, and the statements it wrote, set apart."""
        before, self.out = self.out, []
        try:
            return write(), self.out
        finally:
            self.out = before

    def site(self, span: Span, rule: Callable[[Any, Any], object] | None = None, *kinds: Kind) -> ast.expr:
        """The number of a place that may stop the run, as compiled code knows it."""
        pair = (kinds[0], kinds[-1]) if kinds else None
        return const(self.known.site(Site(span, rule, pair)))

    # Order

    def ordered(self, *operands: tuple[Callable[[], Value], Expr]) -> list[Value]:
        """Operands one after the other: what was said of one holds when the last has been evaluated."""
        found: list[Value] = []
        for number, (write, _) in enumerate(operands):
            mark = len(self.out)
            value = write()
            if len(self.out) > mark:
                self._spill(found, mark)
            if not all(self.is_quiet(later) for _, later in operands[number + 1 :]):
                value = self.apart(value)
            found.append(value)
        return found

    def _spill(self, values: list[Value], mark: int) -> None:
        """Evaluate what is still nested in `values` at an earlier point of the code."""
        late, self.out = self.out[mark:], self.out[:mark]
        values[:] = [self.atoms(value) for value in values]
        self.out += late

    def atoms(self, value: Value) -> Value:
        """The value, all parts of it evaluated here."""
        if value.kind == TEXT:
            text = tuple(p if isinstance(p, str) else (self.atoms(p[0]), p[1]) for p in value.text)
            return Value(TEXT, (), text=text)
        return Value(value.kind, tuple(self.named(part) for part in value.parts), value.fresh)

    def apart(self, value: Value) -> Value:
        """The value, out of reach of whatever changes variables."""
        if value.kind == TEXT:
            text = tuple(p if isinstance(p, str) else (self.apart(p[0]), p[1]) for p in value.text)
            return Value(TEXT, (), text=text)
        if value.kind.rank:
            return self.kept(value)
        parts: list[ast.expr] = []
        for part in value.parts:
            if isinstance(part, ast.Constant):
                parts.append(part)
                continue
            name = self.temporary()
            self.emit(assign(name, part))
            parts.append(load(name))
        return Value(value.kind, tuple(parts))

    def kept(self, value: Value) -> Value:
        """The value, to be bound or stored: of a sequence a copy, unless it is fresh."""
        if not value.kind.rank or value.fresh:
            return value
        value = self.atoms(value)
        array = self.named(call("copied", value.array, value.start, times(value.parts[2:])))
        rest = [self.apart(scalar(INT, part)).parts[0] for part in value.parts[2:]]
        return Value(value.kind, (array, const(0), *rest), True)

    def is_quiet(self, expr: Expr) -> bool:
        """Whether evaluating an expression changes no variable."""
        for node in walk(expr):
            if isinstance(node, Call) and node.function in self.known.functions:
                function = self.known.functions[node.function]
                reach = self.known.reaches[node.function]
                outside = reach.changed or self.known.effects[node.function].outside
                if outside or any(p.mutable for p in function.params):
                    return False
        return True

    # Variables

    def key(self, name: str, slot: Slot | None) -> tuple[str, str]:
        """Under which key a variable's kind is known."""
        return (self.name, slot.variable) if slot else ("", name)

    def parts_of(self, variable: str, kind: Kind) -> list[str]:
        """The Python variables that hold a variable of a kind."""
        if not kind.rank:
            return [variable]
        inner = [f"{variable}_d{n}" for n in range(1, kind.rank)]
        return [variable, f"{variable}_at", f"{variable}_n", *inner]

    def variable(self, name: str, span: Span, change: bool = False) -> tuple[str, Kind] | None:
        """The Python variable a name means here, and its kind; `change` if it gets another value or item.

        None if nothing has bound it: the run stops here.
        """
        slot = self.scopes.find(name)
        if slot is not None:
            return slot.variable, self.known.kind(self.name, slot.variable)
        if name not in self.known.globals or (self.instance is None and name not in self.bound):
            self.emit(self.stopped(span, "RULE", lambda _a, _b: undefined(name)))
            return None
        self.touch(name, span, change)
        return self.known.globals[name], self.known.kind("", name)

    def touch(self, name: str, span: Span, change: bool = False) -> None:
        """A global is used."""
        if self.instance is not None:
            self.known.reach(self.instance.function.name, [name], [name] if change else [])
        elif name not in self.bound:
            raise Refusal(span, f"{name} is used by what is called here, and bound later", "", f"bind {name} before")

    def read(self, name: str, span: Span) -> Value:
        """The value of a variable."""
        found = self.variable(name, span)
        if found is None:
            return scalar(UNKNOWN, const(0))
        return Value(found[1], tuple(load(part) for part in self.parts_of(*found)))

    def stopped(self, span: Span, why: str, rule: Callable[[Any, Any], object] | None = None) -> ast.stmt:
        """A statement that stops the run."""
        site = self.site(span, rule, INT)
        return ast.Expr(call("stop", load("rt"), site, load(why), const(0), const(0)))

    def learn(self, name: str, slot: Slot | None, kind: Kind, span: Span) -> Kind:
        """A variable holds a value of this kind; what it is known to be."""
        if kind == NOTHING:
            raise Refusal(span, f"{name} would be nothing", "the call gives no value", "let the function Return one")
        if kind == TEXT:
            raise Refusal(span, f"{name} would be a Text", "compiled code has texts in Show alone")
        if kind.rank > DEEPEST:
            raise Refusal(span, f"{name} is nested deeper than {DEEPEST}", "compiled code stops there")
        unit, variable = self.key(name, slot)
        before = self.known.kind(unit, variable)
        now = self.known.learn(unit, variable, kind)
        if now is None:
            raise clash(span, name, before, kind)
        return now

    def store(self, variable: str, kind: Kind, value: Value) -> None:
        """Give a Python variable of a kind a value."""
        value = self.coerced(value, kind)
        for name, part in zip(self.parts_of(variable, kind), value.parts, strict=True):
            if not (isinstance(part, ast.Name) and part.id == name):
                self.emit(assign(name, part))

    def coerced(self, value: Value, kind: Kind) -> Value:
        """A value of a better known kind: where its kind was unknown there are no items, or the run has stopped."""
        if value.kind == kind:
            return value
        if value.kind.rank:
            value = self.atoms(value)
            missing = kind.rank - value.kind.rank
            return Value(kind, (empty(kind, const(0)), const(0), *value.parts[2:], *[const(0)] * missing), True)
        for part in value.parts:
            self.named(part)
        return self.absent(kind)

    def absent(self, kind: Kind) -> Value:
        """Some value of a kind, which nobody reads."""
        if kind == NOTHING:
            return Value(NOTHING)
        if kind.rank:
            return Value(kind, (empty(kind, const(0)), *[const(0)] * (1 + kind.rank)), True)
        return scalar(kind, const(0.0 if kind == FLOAT else False if kind == BOOL else 0))


def clash(span: Span, name: str, before: Kind, now: Kind) -> Refusal:
    """A variable holds values of two kinds."""
    mend = ""
    if {before.leaf, now.leaf} == {INT, FLOAT} and before.rank == now.rank:
        mend = "write Floats with a point (0.0, not 0), or add 0.0, so that it is one kind throughout"
    what = f"{name} holds {told(before)} and, here, {told(now)}"
    return Refusal(span, what, "compiled code gives each variable, parameter and result one kind", mend)


def told(kind: Kind) -> str:
    """A kind with its article."""
    return f"an {kind}" if kind == INT else "nothing" if kind == NOTHING else f"a {kind}"


def joined_or(a: Kind, b: Kind) -> Kind:
    """The better known of two kinds of numbers: Float if one is."""
    if FLOAT in (a, b):
        return FLOAT
    return UNKNOWN if UNKNOWN in (a, b) else INT
