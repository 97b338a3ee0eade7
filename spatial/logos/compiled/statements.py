"""The translator, statements: blocks, branches, loops, Show.

Blocks become Python blocks. Loops that hold a tail call have a way on after them, as in the interpreter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from spatial.logos.arithmetic import fail_assertion
from spatial.logos.compiled.changes import Changes
from spatial.logos.compiled.kinds import INT, NOTHING, UNKNOWN, Kind, seq_of
from spatial.logos.compiled.knowledge import Line, Refusal
from spatial.logos.compiled.operators import const_rt, holds, texts
from spatial.logos.compiled.unit import Value, add, scalar, times, told
from spatial.logos.pytree import assign, call, const, load
from spatial.logos.scopes import Range
from spatial.logos.syntax import (
    Assert,
    Break,
    Call,
    CallStmt,
    Expr,
    If,
    Let,
    Pop,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Show,
    Span,
    Stmt,
    While,
    expressions,
    root_name,
    statements,
    walk,
)


class Statements(Changes):
    """Translates statements; ways out of the unit are left to `Units`."""

    loops: int
    jumped: bool

    # Blocks

    def block(self, body: tuple[Stmt, ...]) -> list[ast.stmt]:
        """The statements of an inner block, in a scope of their own."""
        self.scopes.open()
        _, written = self.captured(lambda: self.statements(body))
        self.scopes.close()
        return written or [ast.Pass()]

    def statements(self, body: tuple[Stmt, ...]) -> None:
        """Write the statements of a block; one that is refused is left out, and told."""
        depth = len(self.scopes.blocks)
        for statement in body:
            try:
                self.statement(statement)
            except Refusal as refusal:
                del self.scopes.blocks[depth:]
                self.known.problems.setdefault(refusal.problem)
                self._bind_anyway(statement)

    def _bind_anyway(self, statement: Stmt) -> None:
        """Later uses of a name whose Let was refused are not refused for that."""
        name = statement.name if isinstance(statement, Let) else statement.into if isinstance(statement, Pop) else None
        if name is not None and self.scopes.blocks:
            self.fresh(name)
        elif name is not None:
            self.bound.append(name)

    # Statements

    def statement(self, statement: Stmt) -> None:
        """Write one statement."""
        match statement:
            case Let(name, value):
                known = self.known_range(value)
                self.bind(name, self.kept(self.value(value)), statement.span, known)
            case Set(name, value):
                self.set(name, value, statement.span)
            case SetItem(place, value):
                self.set_item(place, value)
            case Push(value, place):
                self.push(value, place)
            case Pop(place, into):
                self.pop(place, into, statement.span)
            case If(branches, otherwise):
                self._if(branches, otherwise)
            case While(condition, body):
                self._while(condition, body)
            case RepeatRange():
                self._repeat_range(statement)
            case RepeatIn():
                self._repeat_in(statement)
            case CallStmt(made):
                self._effect(made)
            case Show(value):
                self._show(value, statement.span)
            case Assert(condition):
                test = self.test(condition)
                stopped = self.stopped(statement.span, "RULE", lambda _a, _b: fail_assertion())
                self.emit(ast.If(test, [ast.Pass()], [stopped]))
            case Break() | Return():
                self.way_out(statement)

    def way_out(self, statement: Break | Return) -> None:
        """A Break or Return."""
        raise NotImplementedError

    def _effect(self, made: Call) -> None:
        if made.function == "show" and len(made.args) == 1:
            self._show(made.args[0], made.span)
            return
        value = self.value(made)
        for part in value.parts:
            self.named(part)

    # Branches and loops

    def _if(self, branches: tuple[tuple[Expr, tuple[Stmt, ...]], ...], otherwise: tuple[Stmt, ...]) -> None:
        (condition, body), *rest = branches
        test = self.test(condition)
        then = self.block(body)
        if rest:
            _, other = self.captured(lambda: self._if(tuple(rest), otherwise))
        else:
            other = self.block(otherwise) if otherwise else []
        self.emit(ast.If(test, then, other))

    def _while(self, condition: Expr, body: tuple[Stmt, ...]) -> None:
        test, before = self.captured(lambda: self.test(condition))
        self.scopes.open()
        if before:
            before.append(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []))
            test = const(True)
        self.loop(body, lambda block: ast.While(test, [*before, *block], []))

    def _repeat_range(self, statement: RepeatRange) -> None:
        first, last = self.operands(statement.first, statement.last)
        if not holds(first.kind, INT) or not holds(last.kind, INT):
            what = f"counting from {told(first.kind)} to {told(last.kind)}"
            raise Refusal(statement.span, what, "the bounds of a loop are Ints")
        bounds = call("range", *first.parts, call("after", const_rt(), self.site(statement.span), *last.parts))
        known = self.known_range(statement.first)
        self.scopes.open()
        role_range: Range = None if statement.var in self.assigned else known if known in ("pos", "nat") else "int"
        variable = self.fresh(statement.var, "loop", role_range)
        self.known.learn(self.name, variable, INT)
        self.loop(statement.body, lambda block: _for(variable, bounds, block))

    def _repeat_in(self, statement: RepeatIn) -> None:
        seq = self.operand(statement.collection)
        if not seq.kind.rank and seq.kind != UNKNOWN:
            raise Refusal(statement.span, f"a loop over {told(seq.kind)}", "compiled code loops over Seqs")
        if not seq.kind.rank:
            seq = self.absent(seq_of(UNKNOWN))
        held = self.atoms(seq) if self._stays(statement) else self.apart_parts(self.kept(seq))
        self.scopes.open()
        variable = self.fresh(statement.var, "loop")
        slot = self.scopes.find(statement.var)
        assert slot is not None and held.kind.item is not None
        kind = self.learn(statement.var, slot, held.kind.item, statement.span)
        number = self.temporary()
        step = self.named(times(held.inner))
        at = add(held.start, ast.BinOp(load(number), ast.Mult(), step))

        def first() -> None:
            if held.kind.rank == 1:
                self.store(variable, kind, scalar(held.kind.leaf, call("get", held.array, at)))
            else:
                row = Value(held.kind.item or UNKNOWN, (held.array, self.named(at), *held.inner))
                self.store(variable, kind, self.kept(row))

        _, before = self.captured(first)
        self.loop(statement.body, lambda block: _for(number, call("range", held.items), [*before, *block]))

    def _stays(self, statement: RepeatIn) -> bool:
        """Whether nothing in a loop changes what it runs over, so that it needs no copy."""
        root = root_name(statement.collection)
        if root is None or self.scopes.find(root) is None:
            return False
        for inner in statements(statement.body):
            match inner:
                case Set(name) if name == root:
                    return False
                case SetItem(place) | Push(_, place) | Pop(place) if root_name(place) == root:
                    return False
                case _:
                    pass
            calls = (node for e in expressions(inner) for node in walk(e) if isinstance(node, Call))
            if any(self._may_change(made, root) for made in calls):
                return False
        return True

    def _may_change(self, made: Call, root: str) -> bool:
        function = self.known.functions.get(made.function)
        if function is None or len(function.params) != len(made.args):
            return False
        return any(p.mutable and root_name(a) == root for p, a in zip(function.params, made.args, strict=True))

    def loop(self, body: tuple[Stmt, ...], make: Callable[[list[ast.stmt]], ast.stmt]) -> None:
        """A loop over the scope just opened; if its body holds a tail call, the way on after it."""
        outer, self.jumped = self.jumped, False
        self.loops += 1
        _, block = self.captured(lambda: self.statements(body))
        self.loops -= 1
        self.scopes.close()
        self.emit(make(block or [ast.Pass()]))
        if self.jumped:
            onward: list[ast.stmt] = [ast.Break()] if self.loops else [assign("again", const(False)), ast.Continue()]
            self.emit(ast.If(load("again"), onward, []))
        self.jumped = self.jumped or outer

    # Show

    def _show(self, value: Expr, span: Span) -> None:
        """The words of a line: which it is, then of each value its sizes and scalars."""
        shown = self.atoms(self.value(value))
        parts = texts(shown)
        held: list[str | tuple[Kind, str]] = []
        for part in parts:
            if not isinstance(part, str) and part[0].kind == NOTHING:
                held.append("nothing")
            else:
                held.append(part if isinstance(part, str) else (part[0].kind, part[1]))
        self.do("say", const_rt(), const(self.known.line(Line(span, tuple(held)))))
        for part in parts:
            if isinstance(part, str) or part[0].kind == NOTHING:
                continue
            (found, _) = part
            if not found.kind.rank:
                self.do("say_scalar", const_rt(), *found.parts)
                continue
            for size in found.parts[2:]:
                self.do("say", const_rt(), size)
            self.do("say_all", const_rt(), found.array, found.start, times(found.parts[2:]))
        self.do("said", const_rt())


def _for(variable: str, items: ast.expr, block: list[ast.stmt]) -> ast.stmt:
    return ast.For(ast.Name(variable, ast.Store()), items, block, [], None)
