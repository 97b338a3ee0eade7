"""Statements, executed once each for all iterations; loops are handed to `repeats`.

Functions are inlined. A branch whose condition is not known is executed both ways and merged: scalars by selection,
writes under a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from spatial.lift import arith
from spatial.lift.arith import Undefined
from spatial.lift.expressions import Evaluator
from spatial.lift.machine import Machine
from spatial.lift.repeats import run_repeat, run_repeat_in, run_while
from spatial.lift.state import Cell, Nothing, NotLifted, Poison, Scope, Seq, Value, whole_of
from spatial.lift.values import Made, Node, Piece, Source, Start, Sym, Tensor, get, int_constant, plus
from spatial.lift.writes import guarded, put
from spatial.logos import syntax
from spatial.logos.syntax import Span

_CALL_DEPTH = 64

T = TypeVar("T")


class Executor:
    """Runs statements on a machine."""

    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.eval = Evaluator(machine, self.call)

    # -- bodies

    def body(self, body: Sequence[syntax.Stmt], scope: Scope) -> Value | None:
        """Runs statements in order; the value if they return one."""
        for n, statement in enumerate(body):
            try:
                if isinstance(statement, syntax.If):
                    done, value = self.branch(statement, body[n + 1 :], scope)
                    if done:
                        return value
                    continue
                value = self.statement(statement, scope)
            except Undefined as problem:
                raise NotLifted(str(problem), "", statement.span).at(statement.span, binder(statement)) from None
            except NotLifted as problem:
                raise problem.at(statement.span, binder(statement)) from None
            if value is not None:
                return value
        return None

    def statement(self, s: syntax.Stmt, scope: Scope) -> Value | None:
        """Runs one statement that is no branch."""
        match s:
            case syntax.Let(name, value):
                found = self.bound(value, scope, name, s.span)
                scope.names[name] = Cell(name, found, top=scope is self.m.globals)
            case syntax.Set(name, value):
                scope.unshare(name)
                cell = self.m.lookup(name, scope, s.span)
                cell.span = s.span
                self.m.assign(cell, self.bound(value, scope, name, s.span))
            case syntax.SetItem():
                self.set_item(s, scope)
            case syntax.Push(value, place):
                self.push(value, place, scope, s.span)
            case syntax.RepeatRange():
                run_repeat(self, s, scope)
            case syntax.RepeatIn():
                run_repeat_in(self, s, scope)
            case syntax.While():
                run_while(self, s, scope)
            case syntax.Return(value):
                return Nothing() if value is None else self.eval.value(value, scope)
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
                raise NotLifted("a branch in an unexpected place", "", s.span)
        return None

    def bound(self, expr: syntax.Expr, scope: Scope, name: str, span: Span) -> Value:
        """A value to bind: unfinished reads of tables become numbers or whole slices."""
        value = self.eval.value(expr, scope)
        fresh = isinstance(expr, syntax.Call) and not self.m.discovering
        made = value.tensor if isinstance(value, Seq) and value.whole else None
        if isinstance(made, Made) and (fresh or not made.name):
            made.name, made.origin = name, span  # what a function made is called what its caller calls it
        return value

    def show(self, expr: syntax.Expr, scope: Scope, span: Span) -> None:
        """Notes a line the program prints."""
        if self.m.nest_depth or self.m.block_depth:
            raise NotLifted("Show stands inside a loop", "show the whole sequence after the loop", span)
        self.m.shows.append(self.eval.value(expr, scope))

    def check(self, expr: syntax.Expr, scope: Scope) -> None:
        """An assertion that is known to hold is nothing; another cannot be checked on the chip."""
        condition = self.eval.condition(expr, scope)
        if condition is not arith.TRUE and arith.decided(condition, self.m.known()) is not True:
            raise NotLifted("an assertion depends on run-time values", "declare ranges, or an `assume` of the spec")

    # -- branches

    def branch(self, s: syntax.If, rest: Sequence[syntax.Stmt], scope: Scope, n: int = 0) -> tuple[bool, Value | None]:
        """Runs branch n of an If onward; whether the body is done (because a branch returned), and its value."""
        if n == len(s.branches):
            value = self.body(s.otherwise, Scope(outer=scope))
            return value is not None, value
        test, taken = s.branches[n]
        condition = self.eval.condition(test, scope)
        known = arith.decided(condition, self.m.known())
        if known is True:
            value = self.body(taken, Scope(outer=scope))
            return value is not None, value
        if known is False:
            return self.branch(s, rest, scope, n + 1)
        start = len(self.m.journal)
        first = self.under(condition, lambda: self.body(taken, Scope(outer=scope)))
        changed = self.rewind(start)
        if first is not None:
            return True, self.returned(condition, first, changed, s, rest, scope, n)
        if self.under(arith.negate(condition), lambda: self.branch(s, (), scope, n + 1))[0]:
            raise NotLifted("a function returns on one branch only", "return from both, or after the branch", s.span)
        other = self.rewind(start)
        for cell in (*changed, *(c for c in other if c not in changed)):
            before = cell.value
            a, b = changed.get(cell, before), other.get(cell, before)
            self.m.assign(cell, self.merged(condition, a, b, before, s.span))
        return False, None

    def returned(
        self,
        condition: Node,
        first: Value,
        changed: dict[Cell, Value],
        s: syntax.If,
        rest: Sequence[syntax.Stmt],
        scope: Scope,
        n: int,
    ) -> Value:
        """The value where one branch returns: that, or what the rest of the body returns."""
        start = len(self.m.journal)

        def onward() -> Value | None:
            done, value = self.branch(s, (), scope, n + 1)
            return value if done else self.body(rest, Scope(outer=scope))

        second = self.under(arith.negate(condition), onward)
        if changed or self.rewind(start):
            raise NotLifted("a branch changes variables and returns", "return after the branch", s.span)
        if second is None:
            raise NotLifted("a function returns on one branch only", "return from both", s.span)
        return self.merged(condition, first, second, None, s.span)

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
        if a is b:
            return a
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

    # -- sequences

    def root(self, place: syntax.Expr, scope: Scope) -> tuple[Cell, list[Node]]:
        """The variable a place belongs to, and the indices into it (from 0), outermost first; all proved."""
        chain: list[syntax.Index] = []
        node = place
        while isinstance(node, syntax.Index):
            chain.append(node)
            node = node.collection
        if not isinstance(node, syntax.Name):
            raise NotLifted("this is no place that can be changed", "", place.span)
        cell = self.m.lookup(node.name, scope, node.span)
        if isinstance(cell.value, Poison):
            self.eval.value(node, scope)
        if not isinstance(cell.value, Seq):
            raise NotLifted(f'"{node.name}" is no sequence', "", node.span)
        indices: list[Node] = []
        for link in reversed(chain):
            here = Seq(cell.value.tensor, (*cell.value.prefix, *indices))
            indices.append(self.eval.place(here, self.eval.index(link.index, scope), link.span))
        return cell, indices

    def set_item(self, s: syntax.SetItem, scope: Scope) -> None:
        """Writes one item, or one row."""
        cell, indices = self.root(s.place, scope)
        value = self.eval.value(s.value, scope)
        assert isinstance(cell.value, Seq)
        target = whole_of(cell.value, self.m.tick(), s.span)
        index = self.checked(target, indices, value, s.span)
        rank = len(target.dims) if target.dims is not None else len(index)
        vars: tuple[Sym, ...] = ()
        if len(index) < rank:
            if not isinstance(value, Seq):
                raise NotLifted("a number is stored where a row stands", "", s.span, "write")
            row = self.m.settled(value, s.span)
            inner = (target.dims or ())[len(index) :]
            if (row.dims is not None and row.dims != inner) or (row.whole and row.tensor.length is not None):
                raise NotLifted("the row stored has another length than the row it replaces", "", s.span, "write")
            if None in inner:
                raise NotLifted("the shape of the row is not known", "", s.span, "write")
            vars = tuple(Sym("k", d) for d in inner)
            stored = self.m.element(row.tensor, (*row.prefix, *vars))
        else:
            stored = self.m.scalar(value, s.span)
        piece = Piece(vars, (), (*index, *vars), stored)
        made = put(target, piece, self.m.tick(), s.span, cell.name, self.m.known())
        cell.span = s.span
        self.m.assign(cell, Seq(made))

    def checked(self, target: Tensor, indices: list[Node], value: Value, span: Span) -> tuple[Node, ...]:
        """The indices of a write, proved in range; a flat table's index split over its axes."""
        m = self.m
        root = target
        while isinstance(root, Made) and root.base is not None:
            root = root.base
        if isinstance(root, Source) and not root.state:
            raise NotLifted(
                f'"{root.name}" is written in place but is no state',
                "declare the table `state: true`" if root.name in m.facts.tables else "write into a copy of it",
                span,
                "write",
            )
        table = m.table(target)
        open_ = isinstance(value, Seq) and value.dims is None  # a weight of a shape not known yet: not told
        if table is not None and not open_:
            flat = len(indices) == 1 and not (isinstance(value, Seq) and value.dims != ())
            m.set_mode(table, "flat" if flat else "nested", span)
            if flat:
                return m.flat_index(target, tuple(indices), span)
        for axis, index in enumerate(indices):
            if target.dims is not None and axis >= len(target.dims):
                raise NotLifted(f'"{target.name}" is indexed deeper than it is nested', "", span, "write")
            m.demand(index, target, axis, span)
        return tuple(indices)

    def push(self, expr: syntax.Expr, place: syntax.Expr, scope: Scope, span: Span) -> None:
        """Appends an item or a row."""
        value = self.eval.value(expr, scope)
        cell, indices = self.root(place, scope)
        if indices:
            raise NotLifted("Push to a row of a sequence", "build the row first, then push it whole", span, "write")
        assert isinstance(cell.value, Seq)
        target = whole_of(cell.value, self.m.tick(), span)
        length = self.m.length(Seq(target), span)
        old = tuple(target.dims[1:]) if target.dims is not None and target.kind != "none" else None
        pos: tuple[Node, ...] = (length,)
        vars: tuple[Sym, ...] = ()
        inner: tuple[int | None, ...] | None = ()
        if isinstance(value, Seq) and value.dims != ():
            row = self.m.settled(value, span)
            inner = row.dims
            if row.whole and row.tensor.length is not None:
                raise NotLifted(
                    "a row whose length is known only at run time is pushed",
                    "push rows of a fixed length", span, "write",
                )  # fmt: skip
            if inner is None or None in inner:
                inner = None
                stored = get(row.tensor, row.prefix)
            else:
                vars = tuple(Sym("k", d) for d in inner)
                stored = self.m.element(row.tensor, (*row.prefix, *vars))
            pos = (length, *vars)
        else:
            stored = self.m.scalar(value, span)
        if old is not None and inner is not None and target.dims is not None and old != inner:
            raise NotLifted("rows of different lengths are pushed", "", span, "write")
        piece = Piece(vars, (), pos, stored)
        cell.span = span
        self.m.assign(cell, Seq(self.grown(target, piece, plus(length, 1), inner, cell.name, span)))

    def grown(
        self, target: Tensor, piece: Piece, length: Node, inner: tuple[int | None, ...] | None, name: str, span: Span
    ) -> Made:
        """The sequence with one more item."""
        n = int_constant(length)
        dims = (n, *inner) if inner is not None else None
        run_time = None if n is not None else length
        order = self.m.tick()
        match target:
            case Start():
                made = Made(name, dims or (), target, (piece,), order, span, run_time)
            case Made() if target.base is None or isinstance(target.base, Start):
                made = Made(name, dims or (), target.base, (*target.pieces, piece), order, span, run_time)
            case _:
                if target.dims is None or None in target.dims:
                    raise NotLifted("this sequence cannot grow", "build a new one", span, "write")
                vars = tuple(Sym("k", d) for d in target.dims)
                old = Piece(vars, (), vars, get(target, vars))
                made = Made(name, dims or (), None, (old, piece), order, span, run_time)
        if dims is None:
            made.dims = None
        return made

    # -- functions

    def call(self, m: Machine, name: str, expr: syntax.Call, scope: Scope) -> Value:
        """Inlines a function of the program."""
        found = m.program.function(name)
        assert isinstance(found, syntax.Function)
        if len(expr.args) != len(found.params):
            raise NotLifted(f"{name} takes {len(found.params)} values, not {len(expr.args)}", "", expr.span)
        if name in m.calls or len(m.calls) > _CALL_DEPTH:
            raise NotLifted(f'"{name}" calls itself', "write the recursion as a loop", expr.span)
        own = Scope(outer=None)
        for param, arg in zip(found.params, expr.args, strict=True):
            value = self.eval.value(arg, scope)
            cell = m.lookup(arg.name, scope, arg.span) if isinstance(arg, syntax.Name) else None
            if param.mutable and isinstance(value, Seq) and cell is not None:
                own.names[param.name] = cell
                own.shared.add(param.name)
            elif param.mutable and isinstance(value, Seq) and isinstance(arg, syntax.Index):
                raise NotLifted(
                    "a row of a sequence is passed to be changed", "pass the whole sequence and the index", arg.span
                )
            else:
                own.names[param.name] = Cell(param.name, value)
        m.calls.append(name)
        try:
            result = self.body(found.body, own)
        finally:
            m.calls.pop()
        return Nothing() if result is None else result


def binder(statement: syntax.Stmt) -> str:
    """What a statement binds or changes, for messages."""
    match statement:
        case syntax.Let(name) | syntax.Set(name):
            return name
        case syntax.SetItem(place):
            return syntax.root_name(place) or ""
        case syntax.Push(_, place):
            return syntax.root_name(place) or ""
        case _:
            names = [b for body in syntax.bodies(statement) for s in body if (b := binder(s))]
            return names[0] if names else ""
