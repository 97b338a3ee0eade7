"""The translator, whole units: functions and Main to Python functions, and a program to a Python module.

A compiled function takes the run's address, its parameters and the globals it touches; it gives its value, mutable
parameters that may have grown and globals it may have changed. Main gives the number of the exit it left by and every
global, so that the runner knows which of them were bound.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from spatial.logos.compiled.kinds import FLOAT, INT, NOTHING, TEXT, UNKNOWN, Kind
from spatial.logos.compiled.knowledge import Instance, Knowledge, Refusal
from spatial.logos.compiled.statements import Statements
from spatial.logos.compiled.unit import Value, clash, scalar, told
from spatial.logos.gen_statements import check_loops
from spatial.logos.pytree import assign, compare, const, function_def, load, locate
from spatial.logos.scopes import Slot, assigned_names
from spatial.logos.syntax import Binary, Break, Call, Expr, Name, Program, Return, walk
from spatial.logos.tailcalls import Fold, is_self_call
from spatial.logos.words import BUILTINS

_ACCUMULATOR = "accumulator"
_RESULT = "result"


class FunctionUnit(Statements):
    """A function for arguments of certain kinds."""

    def __init__(self, known: Knowledge, instance: Instance) -> None:
        super().__init__(known, instance)
        self.function = instance.function
        self.made = instance
        self.fold: Fold | None = known.folds[self.function.name]
        self.assigned = assigned_names(self.function.body)
        self.params: dict[str, Slot] = {}
        self.loops = 0
        self.jumps = self.jumps_from_loops = self.jumped = False

    def generate(self) -> ast.FunctionDef:
        """The Python function."""
        self.scopes.open()
        for param, kind in zip(self.function.params, self.made.params, strict=True):
            slot = self.params[param.name] = self.scopes.bind(param.name, "mutable" if param.mutable else "param")
            self.known.learn(self.name, slot.variable, kind)
        self.statements(self.known.bodies[self.function.name])
        self._fall_off()
        body: list[ast.stmt] = self.out
        if self.function.name in self.known.recursive:
            body = [self._never(), *body]
        if self.jumps:
            body = [ast.While(const(True), body, [])]
        if self.jumps_from_loops:
            body = [assign("again", const(False)), *body]
        if self.fold:
            start = 0 if self.fold.op == "+" else 1
            kind = self._accumulated()
            body = [assign(_ACCUMULATOR, const(float(start) if kind == FLOAT else start)), *body]
        for number, param in enumerate(self.function.params):
            self.made.params[number] = self._param_kind(param.name)
        touched = sorted(self.known.reaches[self.function.name].touched)
        names = ["rt", *(part for p in self.function.params for part in self._param_parts(p.name))]
        names += [part for name in touched for part in self.global_parts(name)]
        return function_def(self.name, names, body)

    def _never(self) -> ast.stmt:
        """A way out that is never taken: from it numba infers the result before it has seen the calls inside."""
        _, out = self.captured(lambda: self._leave(self.absent(self.made.returns)))
        return ast.If(compare(load("rt"), ast.Eq(), const(0)), out, [])

    def _param_kind(self, name: str) -> Kind:
        return self.known.kind(self.name, self.params[name].variable)

    def _param_parts(self, name: str) -> list[str]:
        return self.parts_of(self.params[name].variable, self._param_kind(name))

    # Ways out

    def way_out(self, statement: Break | Return) -> None:
        """Out of a loop, out of the function, or into the next turn of a tail call."""
        if isinstance(statement, Break):
            if self.loops:
                self.emit(ast.Break())
            else:
                self._fall_off()
            return
        value = statement.value
        if self.fold and statement is self.fold.recursive:
            self._accumulate(self.fold)
        elif isinstance(value, Call) and is_self_call(value, self.function) and value.function not in BUILTINS:
            self._jump(value)
        elif value is None and self.fold:
            what = "a Return without a value in a sum or product over calls"
            raise Refusal(statement.span, what, "", "give it 0 or 1")
        elif value is None:
            self._fall_off()
        else:
            self._give(value)

    def _fall_off(self) -> None:
        """Leave without a value: nothing, or in a function that gives values the end of the run."""
        if self.made.returns != NOTHING:
            self.emit(self.stopped(self.function.span, "NO_VALUE"))
        self._leave(self.absent(self.made.returns))

    def _give(self, expr: Expr) -> None:
        value = self.value(expr)
        slot = self.scopes.find(expr.name) if isinstance(expr, Name) else None
        if slot is None or slot.role != "local":
            value = self.kept(value)  # a local variable hands its array over, since nobody reads it again
        if value.kind == TEXT:
            raise Refusal(expr.span, f"{self.function.name} gives a Text", "compiled code has texts in Show alone")
        if self.fold:
            value = self._folded(expr, value)
        now = self.known.learn(self.name, _RESULT, value.kind)
        if now is None:
            raise clash(expr.span, f"the result of {self.function.name}", self.made.returns, value.kind)
        self.made.returns = now
        self._leave(self.coerced(value, now))

    def _leave(self, value: Value) -> None:
        parts = list(value.parts)
        reach = self.known.reaches[self.function.name]
        for number in sorted(reach.grown):
            if self.made.params[number].rank:
                parts += [load(part) for part in self._param_parts(self.function.params[number].name)]
        parts += [load(part) for name in sorted(reach.changed) for part in self.global_parts(name)]
        self.emit(ast.Return(parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()) if parts else None))

    # Tail calls

    def _jump(self, tail: Call) -> None:
        """Set the parameters at once and go back to the start of the function."""
        self.jumps = True
        named = [node.name for arg in tail.args for node in walk(arg) if isinstance(node, Name)]
        moved = {
            number
            for number, arg in enumerate(tail.args)
            if isinstance(arg, Name) and named.count(arg.name) == 1 and self._may_move(arg, number)
        }
        values = self.arguments(self.function, tail, frozenset(moved))
        taken: list[tuple[str, Kind, Value]] = []
        for param, arg, value in zip(self.function.params, tail.args, values, strict=True):
            slot = self.params[param.name]
            if param.mutable and value.kind.rank and not (isinstance(arg, Name) and self.scopes.find(arg.name) is slot):
                what = f"{self.function.name} calls itself with another {param.name}"
                why = "compiled code holds a mutable parameter under one name"
                raise Refusal(arg.span, what, why, "use a loop")
            kind = self.learn(param.name, slot, value.kind, arg.span)
            taken.append((slot.variable, kind, self.apart_parts(self.coerced(value, kind))))
        for variable, kind, value in taken:
            self.store(variable, kind, value)
        if not self.loops:
            self.emit(ast.Continue())
            return
        self.jumps_from_loops = self.jumped = True
        self.emit(assign("again", const(True)), ast.Break())

    def _may_move(self, arg: Name, number: int) -> bool:
        """Whether a variable can hand its own array to the next turn: it has one, or the next turn won't change it."""
        slot = self.scopes.find(arg.name)
        if slot is None:
            return False
        changed = self.known.effects[self.function.name].params
        own = [i for i, p in enumerate(self.function.params) if self.params[p.name].variable == slot.variable]
        return slot.role == "local" or (slot.role == "param" and (number not in changed or own[0] in changed))

    def _accumulate(self, fold: Fold) -> None:
        """The recursive Return of a fold: its contribution joins, and the next turn begins."""
        value = self.operand(fold.contribution)
        if not value.kind.is_number:
            raise Refusal(fold.contribution.span, f"{told(value.kind)} joins a sum or product", "it takes numbers")
        kind = self.known.learn(self.name, _ACCUMULATOR, value.kind)
        if kind is None:
            raise clash(fold.contribution.span, "what is joined", self._accumulated(), value.kind)
        self.emit(assign(_ACCUMULATOR, self._joined(fold, fold.contribution, value).parts[0]))
        self._jump(fold.call)

    def _accumulated(self) -> Kind:
        kind = self.known.kind(self.name, _ACCUMULATOR)
        return INT if kind == UNKNOWN else kind

    def _folded(self, expr: Expr, value: Value) -> Value:
        """What a fold gives in the end."""
        assert self.fold is not None
        if not value.kind.is_number or (value.kind == INT and self._accumulated() == FLOAT):
            raise clash(expr.span, f"the result of {self.function.name}", self._accumulated(), value.kind)
        return self._joined(self.fold, expr, value)

    def _joined(self, fold: Fold, expr: Expr, value: Value) -> Value:
        so_far = scalar(self._accumulated(), load(_ACCUMULATOR))
        return self.operated(Binary(fold.op, expr, expr, expr.span), so_far, value)


class MainUnit(Statements):
    """Main, which takes inputs and gives every global."""

    def __init__(self, known: Knowledge, given: Mapping[str, Kind]) -> None:
        super().__init__(known, None)
        self.given = given
        self.bound = sorted(given)
        self.assigned = assigned_names(known.program.main)
        self.exits: list[tuple[str, ...]] = []
        self.loops = 0
        self.jumped = False

    def generate(self) -> ast.FunctionDef:
        """The Python function."""
        self.statements(self.known.program.main)
        self._exit()
        body, self.out = self.out, []
        for name, variable in self.known.globals.items():
            if name not in self.given:
                kind = self.known.kind("", name)
                self.store(variable, kind, self.absent(kind))
        names = ["rt", *(part for name in sorted(self.given) for part in self.global_parts(name))]
        return function_def("main", names, [*self.out, *body])

    def way_out(self, statement: Break | Return) -> None:
        """Out of a loop, or the end of the program."""
        if isinstance(statement, Break) and self.loops:
            self.emit(ast.Break())
        else:
            self._exit()

    def _exit(self) -> None:
        self.exits.append(tuple(self.bound))
        parts = [load(part) for name in self.known.globals for part in self.global_parts(name)]
        self.emit(ast.Return(ast.Tuple([const(len(self.exits) - 1), *parts], ast.Load())))


@dataclass(frozen=True)
class Translation:
    """A program as Python for numba; `exits`: which globals are bound where Main may end."""

    module: ast.Module
    known: Knowledge
    exits: tuple[tuple[str, ...], ...]


def translate(program: Program, given: Mapping[str, Kind]) -> Translation:
    """The Python module of a program, given inputs of these kinds.

    Raises Unsupported, with every reason, for a program that compiled code can't hold, and SourceError for loops nested
    too deep.
    """
    for body in (program.main, *(f.body for f in program.functions)):
        check_loops(body)
    known = Knowledge(program, given)
    while True:
        known.begin()
        main = MainUnit(known, given)
        units: list[ast.stmt] = [main.generate()]
        for instance in known.reached:  # grows while functions are generated
            units.append(FunctionUnit(known, instance).generate())
        if not known.learnt:
            break
    known.settle()
    return Translation(locate(ast.Module(units, [])), known, tuple(main.exits))
