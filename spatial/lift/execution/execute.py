"""Statements, executed once each for all iterations; loops are handed to `repeats`, writes of items to `stores`.

Functions are inlined. A branch whose condition is not known is executed both ways and merged: scalars by selection,
writes under a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from spatial.errors import Bug
from spatial.lift.algebra import arith
from spatial.lift.algebra.arith import Undefined
from spatial.lift.algebra.values import Made, Node, Piece, Sym, get
from spatial.lift.context.expressions import Evaluator
from spatial.lift.context.machine import Machine, Mark
from spatial.lift.context.spent import Spent
from spatial.lift.context.state import (
    Cell,
    Nothing,
    NotLifted,
    Poison,
    Scope,
    Seq,
    Value,
    cell_serial,
    follows,
    whole_of,
)
from spatial.lift.context.writes import guarded
from spatial.lift.execution.repeats import run_repeat, run_repeat_in, run_while
from spatial.lift.execution.returns import Outcome, Partly, cases, returns
from spatial.lift.execution.stores import push, set_item
from spatial.logos import syntax
from spatial.logos.syntax import Span

_CALL_DEPTH = 64

T = TypeVar("T")


class Executor:
    """Runs statements on a machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.eval = Evaluator(machine, self.call)
        self.spent = Spent.of(machine.program)

    # -- bodies

    def whole(self, body: Sequence[syntax.Stmt], scope: Scope) -> Value | None:
        """Runs all statements of a function; the value if they return one."""
        found = self.body(body, scope)
        if not isinstance(found, Partly):
            return found
        if all(isinstance(value, Nothing) for _, value in found.cases):
            return Nothing()  # where it does not return it ends, and gives nothing either
        raise NotLifted("a function returns on one branch only", "return from both, or after the branch", found.span)

    def body(self, body: Sequence[syntax.Stmt], scope: Scope) -> Outcome:
        """Runs statements in order, and tells whether they return."""
        run = self.plainly if self.m.survey is None else self.surveyed
        for n, statement in enumerate(body):
            found = run(statement, scope)
            if isinstance(found, Partly) and n + 1 < len(body):
                return self.onward(found, body[n + 1 :], scope)
            if found is not None:
                return found
        return None

    def plainly(self, statement: syntax.Stmt, scope: Scope) -> Outcome:
        """Runs one statement, and tells whether it returns. A refusal gets its place."""
        self.spent.one()
        try:
            return (
                self.branch(statement, scope) if isinstance(statement, syntax.If) else self.statement(statement, scope)
            )
        except Undefined as problem:
            refused = NotLifted(str(problem), problem.mend, statement.span)
            raise refused.at(statement.span, self.binder(statement)) from None
        except NotLifted as problem:
            raise problem.at(statement.span, self.binder(statement)) from None

    # -- surveys

    def surveyed(self, statement: syntax.Stmt, scope: Scope) -> Outcome:
        """Runs one statement, or notes why it is refused and steps over it."""
        m, survey = self.m, self.m.survey
        assert survey is not None
        mark, count = m.mark(), len(survey.noted)
        survey.around.append(self.binder(statement))
        try:
            return self.plainly(statement, scope)
        except NotLifted as problem:
            if survey.wanted(problem):
                raise
            m.undo(mark)
            survey.note(problem, statement.span)
            return self.step_over(statement, scope)
        finally:
            survey.around.pop()
            if len(survey.noted) > count and not m.nest_depth and not m.block_depth:
                self.keep_reads(statement, scope, mark)

    def step_over(self, statement: syntax.Stmt, scope: Scope) -> Outcome:
        """Takes from a refused statement's variables what it would have given them; where it returns, the body ends."""
        lost = Poison(at=statement.span)
        for cell in self.m.cells(self.m.changes.assigned((statement,)), scope, statement.span):
            self.m.assign(cell, lost)
        if isinstance(statement, syntax.Let):
            scope.names[statement.name] = Cell(statement.name, lost, top=scope is self.m.globals)
        if self.m.survey is not None and _leaves_loop(statement):
            self.m.survey.left += 1
        ends = any(isinstance(s, syntax.Return) for s in syntax.statements((statement,)))
        return lost if ends else None

    def keep_reads(self, statement: syntax.Stmt, scope: Scope, mark: Mark) -> None:
        """Notes what a statement that is not lifted, or not whole, reads: it is lifted for its sake."""
        before: dict[Cell, Value] = {}
        for cell, value in self.m.journal[mark.journal :]:
            before.setdefault(cell, value)
        for s in syntax.statements((statement,)):
            for name in (n.name for e in syntax.expressions(s) for n in syntax.walk(e) if isinstance(n, syntax.Name)):
                cell = scope.find(name) or self.m.globals.find(name)
                if cell is not None and self.m.survey is not None:
                    self.m.survey.read(name, before.get(cell, cell.value))

    # -- statements

    def binder(self, statement: syntax.Stmt) -> str:
        """What a statement binds or changes, for messages; of a loop or branch, the first that outlives it."""
        if isinstance(statement, syntax.Let):
            return statement.name
        own = [s.name for s in syntax.statements((statement,)) if isinstance(s, syntax.Let)]
        changed = self.m.changes.assigned_names((statement,))
        return next((name for name in changed if name not in own), own[0] if own else "")

    def statement(self, s: syntax.Stmt, scope: Scope) -> Value | None:
        """Runs one statement that is no branch."""
        match s:
            case syntax.Let(name, value):
                found = self.bound(value, scope, name, s.span)
                scope.names[name] = Cell(name, found, top=scope is self.m.globals)
            case syntax.Set(name, value):
                found = self.bound(value, scope, name, s.span)  # which may change what it is until now
                scope.unshare(name, self.m.around, s.span)
                cell = self.m.lookup(name, scope, s.span)
                self.m.writable(cell, s.span, whole=True)
                cell.span = s.span
                self.m.assign(cell, self.m.replaced(cell.table, found, s.span) if cell.table else found)
            case syntax.SetItem():
                set_item(self, s, scope)
            case syntax.Push(value, place):
                push(self, value, place, scope, s.span)
            case syntax.RepeatRange():
                run_repeat(self, s, scope)
            case syntax.RepeatIn():
                run_repeat_in(self, s, scope)
            case syntax.While():
                run_while(self, s, scope)
            case syntax.Return(value):
                return Nothing() if value is None else self.m.laid(self.eval.value(value, scope))
            case syntax.CallStmt(call):
                self.eval.value(call, scope)
            case syntax.Show(value):
                self.show(value, scope, s.span)
            case syntax.Assert(condition):
                self.check(condition, scope)
            case syntax.Break():
                raise NotLifted(
                    "Break leaves a loop early", "bound the loop instead, so that its iterations are known", s.span
                )
            case syntax.Pop():
                raise NotLifted("Pop shortens a sequence", "build the sequence at its final length", s.span)
            case syntax.If():
                raise Bug("a branch is run as one, by `branch`")
        return None

    def bound(self, expr: syntax.Expr, scope: Scope, name: str, span: Span) -> Value:
        """A value to bind: unfinished reads of tables become numbers or whole slices."""
        value = self.m.laid(self.m.kept(self.eval.value(expr, scope)))
        fresh = isinstance(expr, syntax.Call)
        made = value.tensor if isinstance(value, Seq) and value.whole else None
        if isinstance(made, Made) and (fresh or not made.name):
            made.name, made.origin = name, span  # what a function made is called what its caller calls it
        return value

    def show(self, expr: syntax.Expr, scope: Scope, span: Span) -> None:
        """Notes a line the program prints."""
        if self.m.nest_depth or self.m.block_depth:
            raise NotLifted("Show stands inside a loop", "show the whole sequence after the loop", span)
        if self.m.guards:
            raise NotLifted("Show stands under a condition that only a run knows", "show the value in every case", span)
        self.m.shows.append(self.m.laid(self.m.kept(self.eval.value(expr, scope))))

    def check(self, expr: syntax.Expr, scope: Scope) -> None:
        """An assertion that is known to hold is nothing; another cannot be checked on the chip."""
        condition = self.eval.condition(expr, scope)
        known = arith.decided(condition, self.m.known())
        if known is False:
            raise NotLifted(
                "an assertion does not hold: its condition is false whatever the inputs are",
                "mend the condition, or what it is about",
            )
        if known is None:
            raise NotLifted(
                "an assertion depends on run-time values, and a chip has nobody to tell",
                "leave it out, or declare ranges (or an `assume` of the spec) that prove it",
            )

    # -- branches

    def branch(self, s: syntax.If, scope: Scope, n: int = 0) -> Outcome:
        """Runs branch n of an If onward, and tells whether and where it returns."""
        if n == len(s.branches):
            return self.body(s.otherwise, Scope(outer=scope))
        test, taken = s.branches[n]
        condition = self.eval.condition(test, scope)
        known = arith.decided(condition, self.m.known())
        if known is True:
            return self.body(taken, Scope(outer=scope))
        if known is False:
            return self.branch(s, scope, n + 1)
        start, born = len(self.m.journal), next(cell_serial)
        first = self.under(condition, lambda: self.body(taken, Scope(outer=scope)))
        changed = self.rewind(start)
        second = self.under(arith.negate(condition), lambda: self.branch(s, scope, n + 1))
        other = self.rewind(start)
        self.join(
            condition, (first, changed), (second, other), s.span, lambda c: c.serial < born or scope.holds(c), scope
        )
        match first, second:
            case None, None:
                return None
            case None | Partly(), None | Partly():
                both = cases(first, condition), cases(second, arith.negate(condition))
                return Partly((*both[0], *both[1]), s.span)
            case _, None | Partly():
                return Partly(((condition, first), *cases(second)), s.span)
            case None | Partly(), _:
                return Partly(((arith.negate(condition), second), *cases(first)), s.span)
            case _:
                return self.merged(condition, first, second, None, s.span)

    def onward(self, found: Partly, rest: Sequence[syntax.Stmt], scope: Scope) -> Outcome:
        """Runs what comes after a statement that returned in some cases, where none of these holds."""
        condition = found.rest
        start, born = len(self.m.journal), next(cell_serial)
        value = self.under(condition, lambda: self.body(rest, Scope(outer=scope)))
        changed = self.rewind(start)
        returned = found.cases[0][1]
        self.join(
            condition, (value, changed), (returned, {}), found.span, lambda c: c.serial < born or scope.holds(c), scope
        )
        if value is None or isinstance(value, Partly):
            return Partly((*found.cases, *cases(value)), found.span)
        for case, earlier in reversed(found.cases):
            value = self.merged(case, earlier, value, None, found.span)
        return value

    def join(
        self,
        condition: Node,
        taken: tuple[Outcome, dict[Cell, Value]],
        otherwise: tuple[Outcome, dict[Cell, Value]],
        span: Span,
        seen: Callable[[Cell], bool],
        scope: Scope,
    ) -> None:
        """Leaves in every variable `seen` afterwards, and in those of Main, what the branch taken left there.

        The function's own variables end where it returns; what was passed to be changed does not.
        """
        (first, changed), (second, other) = taken, otherwise
        for cell in (*changed, *(c for c in other if c not in changed)):
            top = self.m.globals.holds(cell)
            if not top and not seen(cell):
                continue
            before = cell.value
            a, b = changed.get(cell, before), other.get(cell, before)
            ends = () if top or not scope.owns(cell) else (returns(first), returns(second))
            match ends:
                case (True, True):
                    pass
                case (True, False):
                    self.m.assign(cell, b)
                case (False, True):
                    self.m.assign(cell, a)
                case _:
                    self.m.assign(cell, self.merged(condition, a, b, before, span))

    def under(self, condition: Node, run: Callable[[], T]) -> T:
        """Runs under one more guard."""
        self.m.guards.append(condition)
        try:
            return run()
        finally:
            self.m.guards.pop()

    def rewind(self, start: int) -> dict[Cell, Value]:
        """Takes back the assignments since `start`; what they left."""
        changed: dict[Cell, Value] = {}
        journal = self.m.journal
        for cell, _ in journal[start:]:
            changed[cell] = cell.value
        for cell, value in reversed(journal[start:]):
            cell.value = value
        del journal[start:]
        return changed

    def merged(self, condition: Node, a: Value, b: Value, before: Value | None, span: Span) -> Value:
        """`a` where the condition holds, else `b`."""
        if a is b or (isinstance(a, Nothing) and isinstance(b, Nothing)):
            return a
        lost = [one for one in (a, b) if isinstance(one, Poison)]
        if lost:
            return min(lost, key=lambda one: bool(one.why))
        a, b = self.m.like(a, b, span), self.m.like(b, a, span)
        if isinstance(a, Seq) and isinstance(b, Seq) and isinstance(before, Seq):
            both = guarded(condition, a, b, before, self.m.tick(), span, self.m.known())
            if both is not None:
                return both
        if isinstance(a, Seq) and isinstance(b, Seq) and a.dims and a.dims == b.dims and None not in a.dims:
            x, y = (whole_of(v, self.m.tick(), span) for v in (a, b))
            if x.length is None and y.length is None:
                vars = tuple(Sym("k", d) for d in a.dims)
                value = arith.select(condition, get(x, vars), get(y, vars))
                made = Made("", a.dims, None, (Piece(vars, (), vars, value),), self.m.tick(), span)
                return Seq(made)
        if isinstance(a, Node) and isinstance(b, Node):
            return arith.select(condition, a, b)
        raise NotLifted(
            "the branches leave a sequence of different length or kind",
            "write every item on both branches, or select values instead",
            span,
        )

    # -- functions

    def call(self, m: Machine, name: str, expr: syntax.Call, scope: Scope) -> Value:
        """Inlines a function of the program."""
        found = m.program.function(name)
        assert isinstance(found, syntax.Function)
        if len(expr.args) != len(found.params):
            raise NotLifted(f"{name} takes {len(found.params)} values, not {len(expr.args)}", "pass as many", expr.span)
        if name in m.calls or len(m.calls) > _CALL_DEPTH:
            raise NotLifted(f'"{name}" calls itself', "write the recursion as a loop", expr.span)
        lent = len(m.lent)
        try:
            own = self.arguments(found, expr, scope)
            m.calls.append(name)
            try:
                result = self.whole(found.body, own)
            finally:
                m.calls.pop()
        finally:
            del m.lent[lent:]
        if isinstance(result, Poison):
            raise follows(f'it calls "{name}", which is not lifted whole')
        return Nothing() if result is None else result

    def arguments(self, function: syntax.Function, call: syntax.Call, scope: Scope) -> Scope:
        """The variables a function starts with; what is passed to be changed is its caller's."""
        m = self.m
        own = Scope(outer=None, depth=m.around)
        changed = m.changes.assigned_names(function.body)
        for param, arg in zip(function.params, call.args, strict=True):
            value = m.kept(self.eval.value(arg, scope))
            value = m.laid(value) if param.name in changed else value
            cell = m.lookup(arg.name, scope, arg.span) if isinstance(arg, syntax.Name) else None
            if param.mutable and isinstance(value, Seq) and cell is not None:
                own.names[param.name] = cell
                own.shared.add(param.name)
                m.lent.append(cell)
            elif param.mutable and isinstance(value, Seq) and isinstance(arg, syntax.Index):
                raise NotLifted(
                    "a row of a sequence is passed to be changed", "pass the whole sequence and the index", arg.span
                )
            else:
                own.names[param.name] = Cell(param.name, value)
        return own


def _leaves_loop(statement: syntax.Stmt) -> bool:
    """Whether a statement may leave the loop it stands in."""
    match statement:
        case syntax.Break():
            return True
        case syntax.If():
            return any(_leaves_loop(s) for body in syntax.bodies(statement) for s in body)
        case _:
            return False
