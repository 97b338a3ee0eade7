"""The code generator, statements: functions and Main to Python functions.

Blocks become Python blocks, bindings become Python variables of their own (see `scopes`), Main's top-level variables
are globals of the generated module, so that functions see them as they are. Tail calls become jumps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from spatial.errors import Problem, SourceError
from spatial.logos.gen_expressions import Context, ExpressionGenerator, is_atom, position_of
from spatial.logos.pytree import Site, assign, attribute, call, const, function_def, load, locate, plus
from spatial.logos.scopes import Range, Slot, assigned_names, effects
from spatial.logos.syntax import (
    Assert,
    Break,
    Call,
    CallStmt,
    Expr,
    Function,
    If,
    Index,
    Let,
    Name,
    Pop,
    Program,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Show,
    Stmt,
    While,
    bodies,
    walk,
)
from spatial.logos.tailcalls import Fold, direct, find_fold, is_self_call
from spatial.logos.words import BUILTINS

# Python allows twenty nested blocks in a function; a tail call takes one.
MAX_LOOPS = 18

_ACCUMULATOR = "accumulator"
_AGAIN = "again"


class UnitGenerator(ExpressionGenerator):
    """Generates one function, or Main if `function` is None."""

    def __init__(self, context: Context, function: Function | None, body: tuple[Stmt, ...]) -> None:
        super().__init__(context)
        self.function = function
        self.fold: Fold | None = find_fold(function) if function else None
        self.body = direct(body, function) if function and not self.fold else body
        self.assigned = assigned_names(body)
        self.params: dict[str, Slot] = {}
        self.globals: set[str] = set()
        self.loops = 0
        self.jumps = False
        self.jumps_from_loops = False
        self.jumped = False  # whether the loop being generated holds a jump

    # Whole units

    def generate(self) -> ast.FunctionDef:
        """The Python function."""
        self.scopes.open()
        for p in self.function.params if self.function else ():
            self.params[p.name] = self.scopes.bind(p.name, "mutable" if p.mutable else "param")
        if self.function is None:
            self.scopes.close()  # at top level Main binds globals
        body: list[ast.stmt] = self.statements(self.body)
        if self.jumps:
            body = [ast.While(const(True), [*body, ast.Return(const(None))], [])]
        if self.jumps_from_loops:
            body = [assign(_AGAIN, const(False)), *body]
        if self.fold:
            body = [assign(_ACCUMULATOR, const(0 if self.fold.op == "+" else 1)), *body]
        if self.globals:
            body = [ast.Global(sorted(self.globals)), *body]
        name = f"f_{self.function.name}" if self.function else "main"
        return function_def(name, [slot.variable for slot in self.params.values()], body or [ast.Pass()])

    # Blocks and bindings

    def statements(self, body: tuple[Stmt, ...]) -> list[ast.stmt]:
        """The statements of a block, in the scope that is open."""
        return [tree for statement in body for tree in self.statement(statement)]

    def block(self, body: tuple[Stmt, ...]) -> list[ast.stmt]:
        """The statements of an inner block, in a scope of their own."""
        self.scopes.open()
        found = self.statements(body)
        self.scopes.close()
        return found or [ast.Pass()]

    def bind(self, name: str, value: ast.expr, known: Expr | None = None) -> ast.stmt:
        """Bind a name in the innermost block: a global at the top level of Main."""
        if self.scopes.blocks:
            settled = known is not None and name not in self.assigned
            slot = self.scopes.bind(name, "local", self.range_of(known) if settled and known else None)
            return assign(slot.variable, value)
        self.globals.add(f"g_{name}")
        return assign(f"g_{name}", value)

    # Statements

    def statement(self, statement: Stmt) -> list[ast.stmt]:
        """The Python statements of one statement; their faults are reported at it, or at a node inside it."""
        found = self._statement(statement)
        for tree in found:
            self.context.sites.mark(tree, Site(statement.span, statement))
        return found

    def _statement(self, statement: Stmt) -> list[ast.stmt]:
        match statement:
            case Let(name, value):
                kept = self.kept(value)
                return [self.bind(name, kept, value)]
            case Set(name, value):
                return self._set(name, self.kept(value), statement)
            case SetItem(place, value):
                return self._set_item(place, value, statement)
            case Push(value, place):
                return self._push(value, place)
            case Pop(place, into):
                popped = call("pop", self.place(place))
                return [ast.Expr(popped) if into is None else self.bind(into, popped)]
            case If(branches, otherwise):
                tree: list[ast.stmt] = self.block(otherwise) if otherwise else []
                for condition, body in reversed(branches):
                    tree = [ast.If(self.test(condition), self.block(body), tree)]
                return tree
            case While(condition, body):
                return self._while(condition, body)
            case RepeatRange():
                return self._repeat_range(statement)
            case RepeatIn():
                return self._repeat_in(statement)
            case Break():
                return [ast.Break() if self.loops else ast.Return(const(None))]
            case Return():
                return self._return(statement)
            case CallStmt(call_):
                return [ast.Expr(self.value(call_))]
            case Show(value):
                return [ast.Expr(call("b_show", self.value(value)))]
            case Assert(condition):
                return [ast.If(self.test(condition), [ast.Pass()], [ast.Expr(call("fail_assertion"))])]

    def _set(self, name: str, value: ast.expr, statement: Stmt) -> list[ast.stmt]:
        slot = self.scopes.find(name)
        if slot is not None:
            return [assign(slot.variable, value)]
        # A variable of Main's can only be set once it is bound: reading it first says so.
        self.globals.add(f"g_{name}")
        return [ast.Expr(self.marked(load(f"g_{name}"), Name(name, statement.span))), assign(f"g_{name}", value)]

    def _settled(self, tree: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """The tree, evaluated now: into a temporary unless nothing can change it later."""
        if isinstance(tree, ast.Constant) or (isinstance(tree, ast.Name) and not tree.id.startswith("g_")):
            return tree
        name = self.temporary()
        before.append(assign(name, tree))
        return load(name)

    def _set_item(self, place: Index, value: Expr, statement: Stmt) -> list[ast.stmt]:
        """Index, value, then collection; the item is stored at once if the buffer is owned."""
        before: list[ast.stmt] = []
        known = self.range_of(place.index)
        index = self.value(place.index)
        if known is None or not is_atom(index):
            index = self._settled(index, before)
        kept = self._settled(self.kept(value), before)
        handle = self._settled(self.place(place.collection), before)
        if known == "pos":
            position = plus(index, -1)
        elif isinstance(index, ast.Constant) and type(index.value) is int and index.value < 0:
            position = index
        else:
            position = position_of(index, index)
        target = ast.Subscript(attribute(handle, "items"), position, ast.Store())
        careful = ast.Expr(call("set_item", handle, index, kept))
        store = ast.If(attribute(handle, "owned"), [ast.Assign([target], kept)], [careful])
        again = handle if isinstance(handle, ast.Name) else None
        site = Site(place.span, statement, index, again)
        for tree in (store.test, target, careful):
            self.context.sites.mark(tree, site)
        return [*before, store]

    def _push(self, value: Expr, place: Expr) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        kept = self._settled(self.kept(value), before)
        handle = self._settled(self.place(place), before)
        append = ast.Expr(ast.Call(attribute(attribute(handle, "items"), "append"), [kept], []))
        return [*before, ast.If(attribute(handle, "owned"), [append], [ast.Expr(call("push", handle, kept))])]

    # Loops and jumps

    def _while(self, condition: Expr, body: tuple[Stmt, ...]) -> list[ast.stmt]:
        test = self.test(condition)
        self.scopes.open()
        return self._loop(body, lambda block: ast.While(test, block, []))

    def _repeat_range(self, statement: RepeatRange) -> list[ast.stmt]:
        bounds = call("counting", self.value(statement.first), self.value(statement.last))
        known: Range = None
        if statement.var not in self.assigned:
            first = self.range_of(statement.first)
            known = first if first in ("pos", "nat") else "int"
        self.scopes.open()
        variable = self.scopes.bind(statement.var, "loop", known).variable
        return self._loop(statement.body, lambda block: _for(variable, bounds, block))

    def _repeat_in(self, statement: RepeatIn) -> list[ast.stmt]:
        items = call("snapshot", self.value(statement.collection))
        self.scopes.open()
        variable = self.scopes.bind(statement.var, "loop").variable
        return self._loop(statement.body, lambda block: _for(variable, items, block))

    def _loop(self, body: tuple[Stmt, ...], make: Callable[[list[ast.stmt]], ast.stmt]) -> list[ast.stmt]:
        """A loop over the scope just opened; if its body holds a tail call, the way on after it."""
        outer, self.jumped = self.jumped, False
        self.loops += 1
        block = self.statements(body)
        self.loops -= 1
        self.scopes.close()
        found = [make(block or [ast.Pass()])]
        if self.jumped:
            onward: list[ast.stmt] = [ast.Break()] if self.loops else [assign(_AGAIN, const(False)), ast.Continue()]
            found.append(ast.If(load(_AGAIN), onward, []))
        self.jumped = self.jumped or outer
        return found

    def _return(self, statement: Return) -> list[ast.stmt]:
        """A way out: of Main, of the function, or into the next turn of a tail call."""
        value = statement.value
        function = self.function
        if function is None:
            return [ast.Return(const(None))]
        if self.fold and statement is self.fold.recursive:
            contribution = self.value(self.fold.contribution)
            joined = self.marked(self._folded(contribution), self.fold.call)
            return [assign(_ACCUMULATOR, joined), *self._jump(self.fold.call, function)]
        if isinstance(value, Call) and is_self_call(value, function) and value.function not in BUILTINS:
            return self._jump(value, function)
        if self.fold:
            found = load(_ACCUMULATOR) if value is None else self._folded(self.value(value))
            return [ast.Return(found)]
        return [ast.Return(const(None) if value is None else self._given_up(value))]

    def _folded(self, contribution: ast.expr) -> ast.expr:
        assert self.fold is not None
        return ast.BinOp(load(_ACCUMULATOR), ast.Add() if self.fold.op == "+" else ast.Mult(), contribution)

    def _given_up(self, value: Expr) -> ast.expr:
        """A value returned: a local variable hands its handle over, since nobody reads it again."""
        if isinstance(value, Name):
            slot = self.scopes.find(value.name)
            if slot is not None and slot.role == "local":
                return self.value(value)
        return self.kept(value)

    def _jump(self, tail: Call, function: Function) -> list[ast.stmt]:
        """Set the parameters at once and go back to the start of the function."""
        self.jumps = True
        named = [node.name for arg in tail.args for node in walk(arg) if isinstance(node, Name)]
        taken = self.arguments(function, tail)
        for number, arg in enumerate(tail.args):
            if isinstance(arg, Name) and named.count(arg.name) == 1 and self._may_move(arg, number, function):
                taken[number] = self.value(arg)
        names = [self.temporary() for _ in taken]
        params = [slot.variable for p in function.params if (slot := self.params.get(p.name))]
        found: list[ast.stmt] = [assign(name, tree) for name, tree in zip(names, taken, strict=True)]
        found += [assign(param, load(name)) for param, name in zip(params, names, strict=True)]
        if not self.loops:
            return [*found, ast.Continue()]
        self.jumps_from_loops = self.jumped = True
        return [*found, assign(_AGAIN, const(True)), ast.Break()]

    def _may_move(self, arg: Name, number: int, function: Function) -> bool:
        """Whether a variable can hand its own handle to the next turn: it has one, or the next turn won't change it."""
        slot = self.scopes.find(arg.name)
        if slot is None:
            return False
        changed = self.context.effects[function.name].params
        own = [i for i, p in enumerate(function.params) if self.params[p.name].variable == slot.variable]
        return slot.role == "local" or (slot.role == "param" and (number not in changed or own[0] in changed))


def _for(variable: str, items: ast.expr, block: list[ast.stmt]) -> ast.stmt:
    return ast.For(ast.Name(variable, ast.Store()), items, block, [], None)


def check_loops(body: tuple[Stmt, ...], depth: int = 0) -> None:
    """Refuse loops nested deeper than Python can nest them."""
    for statement in body:
        inner = depth + isinstance(statement, (While, RepeatRange, RepeatIn))
        if inner > MAX_LOOPS:
            what = f"loops nested deeper than {MAX_LOOPS}"
            mend = "move the inner ones into a function"
            raise SourceError(Problem(what, "the interpreter does not nest them deeper", mend, statement.span.place))
        for block in bodies(statement):
            check_loops(block, inner)


def generate(program: Program, inputs: frozenset[str]) -> tuple[ast.Module, Context]:
    """The Python module of a program: one function each, and `main`.

    `inputs` are the names bound before Main starts. Raises SourceError for loops nested too deep.
    """
    top = {s.name for s in program.main if isinstance(s, Let)} | {s.into for s in program.main if isinstance(s, Pop)}
    outside = frozenset(name for name in top if name is not None) | inputs
    context = Context(
        {f.name: f for f in program.functions}, {n.name: n for n in program.natives}, effects(program, outside)
    )
    for body in (program.main, *(f.body for f in program.functions)):
        check_loops(body)
    units = [UnitGenerator(context, f, f.body) for f in program.functions]
    units.append(UnitGenerator(context, None, program.main))
    return locate(ast.Module([unit.generate() for unit in units], [])), context
