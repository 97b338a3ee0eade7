"""What an expression of the source is, symbolically. Knows the operators and builtins, no statement."""

from __future__ import annotations

from collections.abc import Callable

from spatial.lift.algebra import arith
from spatial.lift.algebra.arith import Undefined
from spatial.lift.algebra.bounds import at_least_zero, bounds
from spatial.lift.algebra.solve import element
from spatial.lift.algebra.values import (
    ZERO,
    Const,
    Get,
    Made,
    Node,
    Piece,
    Source,
    Sym,
    Tensor,
    combine,
    int_constant,
    integer,
    parts,
    plus,
    real,
    truth,
)
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Nothing, NotLifted, Poison, Scope, Seq, Text, Value, whole_of
from spatial.lift.context.writes import put, widened
from spatial.logos import syntax
from spatial.logos.syntax import Span
from spatial.logos.words import BUILTINS, NATIVES

Caller = Callable[[Machine, str, syntax.Call, Scope], Value]

_ARITHMETIC: dict[str, Callable[[Node, Node], Node]] = {
    "+": arith.add,
    "-": arith.sub,
    "*": arith.mul,
    "/": arith.div,
    "//": arith.floordiv,
    "%": arith.rem,
    "**": lambda a, b: arith.power(a, b, False),
}


_NO_PART = {
    "in": (
        "whether a sequence contains an item (`contains`, `in`)",
        "count the items that equal it, in a loop over them",
    ),
    "~=": ("`is approximately`", "compare the distance of the two, as in abs(a - b) < 0.000001"),
}
"""Operators that have no form on a chip, as they are spelled, and what to write instead."""

_PARTS = 4096
"""Texts and values that one shown line may be put together of."""

_POWERS = 63
"""Exponents of a known Int of which the powers are listed."""

_BITS = 1023
"""The length of Ints: longer ones have no Float beside them."""


class Evaluator:
    """Evaluates expressions on a machine; `call` runs a function of the program."""

    def __init__(self, machine: Machine, call: Caller) -> None:
        self.m = machine
        self.call = call

    def value(self, expr: syntax.Expr, scope: Scope) -> Value:
        """The value of an expression; refusals get the place of the innermost expression."""
        try:
            return self._value(expr, scope)
        except Undefined as problem:
            raise NotLifted(str(problem), problem.mend, expr.span) from None
        except NotLifted as problem:
            raise problem.at(expr.span) from None

    def number(self, expr: syntax.Expr, scope: Scope) -> Node:
        """A number or truth value."""
        return self.m.scalar(self.value(expr, scope), expr.span)

    def index(self, expr: syntax.Expr, scope: Scope) -> Node:
        """An Int."""
        return self.m.as_index(self.number(expr, scope), expr.span)

    def condition(self, expr: syntax.Expr, scope: Scope) -> Node:
        """The truth of an expression."""
        value = self.value(expr, scope)
        return arith.truthy(self.m.scalar(value, expr.span))

    def sequence(self, expr: syntax.Expr, scope: Scope) -> Seq:
        """A sequence."""
        value = self.value(expr, scope)
        if isinstance(value, Get) and isinstance(value.tensor, Source) and value.tensor.name not in self.m.facts.tables:
            raise NotLifted(  # a weight has no more axes than its indices told
                f'how many items an item of "{value.tensor.name}" has is not known here',
                "bound the loop over them with a size of the spec",
                expr.span,
            )
        if not isinstance(value, Seq):
            raise NotLifted("a number stands where a sequence is wanted", "use the number itself", expr.span)
        return value

    def _value(self, expr: syntax.Expr, scope: Scope) -> Value:
        match expr:
            case syntax.IntLiteral(value):
                return integer(value)
            case syntax.FloatLiteral(value):
                return real(value)
            case syntax.BoolLiteral(value):
                return truth(value)
            case syntax.TextLiteral(value):
                return Text((value,))
            case syntax.NothingLiteral():
                return Nothing()
            case syntax.Name(name, span):
                value = self.m.lookup(name, scope, span).held
                if isinstance(value, Poison):
                    line = f" (line {value.at.line})" if value.at is not None else ""
                    problem = NotLifted(value.why or f'it reads "{name}", which is not lifted{line}', value.mend, span)
                    problem.silent = not value.why
                    raise problem
                return value
            case syntax.Not(operand):
                return arith.negate(self.condition(operand, scope))
            case syntax.Binary():
                return self.binary(expr, scope)
            case syntax.Index(collection, index):
                return self.item(self.sequence(collection, scope), index, scope, expr.span)
            case syntax.Slice():
                return self.slice(expr, scope)
            case syntax.Length(collection):
                return self.m.length(self.sequence(collection, scope), expr.span)
            case syntax.Copy(inner):
                return self.value(inner, scope)
            case syntax.Call():
                return self.called(expr, scope)
            case syntax.ListLiteral(items):
                return self.joined([self.value(i, scope) for i in items], expr.span)
            case syntax.NewSeq():
                return Seq(Made("", (0,), None, (), self.m.tick(), expr.span, kind="none"))
            case syntax.Interpolation(parts):
                return Text(
                    tuple(p if isinstance(p, str) else self.hole(p, scope) for p in parts),
                )

    def hole(self, hole: syntax.Hole, scope: Scope) -> str | Value:
        """A value inside a text."""
        if hole.spec:
            raise NotLifted("a format in a shown text is not part of a tensor program", "show the value plainly")
        return self.m.laid(self.m.kept(self.value(hole.value, scope)))

    def item(self, value: Seq, index: syntax.Expr, scope: Scope, span: Span) -> Value:
        """`item index of value`."""
        return self.m.step(value, self.place(value, self.index(index, scope), span), span)

    def place(self, value: Seq, index: Node, span: Span) -> Node:
        """An index of the language, from 1 or from the end, as one from 0."""
        high = bounds(index)[1]
        if high is not None and high < 0:
            return combine(index, self.m.length(value, span))
        return plus(index, -1)

    def slice(self, expr: syntax.Slice, scope: Scope) -> Value:
        """`items a through b of xs`, of a known number of items."""
        value = self.m.settled(self.sequence(expr.collection, scope), expr.span)
        first, last = self.index(expr.first, scope), self.index(expr.last, scope)
        if int_constant(first) == 0:
            first = integer(1)  # as the language has it
        count = int_constant(plus(combine(last, first, -1), 1))
        if count is not None and count < 1:
            return Seq(Made("", (0,), None, (), self.m.tick(), expr.span, kind="none"))
        if count is None:
            raise NotLifted(
                "how many items are taken must be known before the run",
                "take a fixed number of items, or loop over them",
                expr.span,
            )
        length = self.m.length(value, expr.span)
        known = self.m.known()
        if not at_least_zero(plus(first, -1), known) or not at_least_zero(combine(length, last, -1), known):
            raise NotLifted(
                "the items taken are not proved to lie in the sequence",
                "take items from 1 to its length at most",
                expr.span,
                "read",
            )
        inner = value.dims
        if inner is None or any(d is None for d in inner):
            raise NotLifted("the shape of the sequence is not known", "loop over its items, to known bounds", expr.span)
        vars = (Sym("k", count), *(Sym("k", d) for d in inner[1:]))
        index = (*value.prefix, plus(combine(vars[0], first), -1), *vars[1:])
        piece = Piece(vars, (), vars, element(value.tensor, index, known))
        return Seq(Made("", (count, *inner[1:]), None, (piece,), self.m.tick(), expr.span))

    def binary(self, expr: syntax.Binary, scope: Scope) -> Value:
        """An operator of two operands."""
        if expr.op in ("and", "or"):
            left = self.condition(expr.left, scope)
            if isinstance(left, Const) and bool(left.value) == (expr.op == "or"):
                return left
            # The right side is reached only where the left does not decide.
            if changed := self.m.changes.assigned_in(expr.right):
                raise NotLifted(
                    f'the right side of "{expr.op}" changes "{changed[0]}", and is reached in some cases only',
                    "call it in a statement before, or write one If within another",
                )
            self.m.guards.append(left if expr.op == "and" else arith.negate(left))
            try:
                right = self.condition(expr.right, scope)
            finally:
                self.m.guards.pop()
            return arith.both(left, right) if expr.op == "and" else arith.either(left, right)
        if expr.op in _NO_PART:
            name, mend = _NO_PART[expr.op]
            raise NotLifted(f"{name} is not part of a tensor program", mend, expr.span)
        left, right = self.value(expr.left, scope), self.value(expr.right, scope)
        if expr.op in ("+", "++") and (isinstance(left, Text) or isinstance(right, Text)):
            both = (*_text(left), *_text(right))
            if len(both) > _PARTS:
                raise NotLifted(f"a text of more than {_PARTS} parts is put together", "show it in several lines")
            return Text(both)
        if expr.op == "+" and isinstance(left, Seq) and isinstance(right, Seq) and not self.is_number(left, right):
            return self.appended(left, right, expr.span)
        if expr.op == "*":
            for one, other in ((left, right), (right, left)):
                if not isinstance(one, Seq) or not isinstance(other, Node) or other.kind != "int":
                    continue
                if one.dims and not self.m.undecided(one):  # else an item of a flat table
                    return self.repeated(one, other, expr.span, flat=True)
        a, b = self.m.scalar(left, expr.left.span), self.m.scalar(right, expr.right.span)
        powers = self.powers(a, b, expr.span) if expr.op == "**" else None
        if powers is not None:
            return powers
        if expr.op in _ARITHMETIC:
            return _held(_ARITHMETIC[expr.op](a, b))
        if expr.op in ("==", "!=", "<", "<=", ">", ">="):
            return arith.compare(expr.op, a, b)
        n, k = int_constant(a), int_constant(b)
        if n is not None and k is not None and expr.op in ("&", "|", "^"):
            return integer({"&": n & k, "|": n | k, "^": n ^ k}[expr.op])
        raise NotLifted(
            f"the operator {expr.op} is not part of a tensor program", "use arithmetic: + - * / // %", expr.span
        )

    def powers(self, base: Node, exponent: Node, span: Span) -> Node | None:
        """A power of a known Int that few exponents may have: an item of the list of them; None if it is another."""
        n = int_constant(base) if base.kind == exponent.kind == "int" else None
        low, high = bounds(exponent) if n is not None else (None, None)
        if n is None or low is None or high is None or low < 0 or high >= _POWERS or low == high:
            return None
        made = self.joined([integer(n**k) for k in range(high + 1)], span)
        assert isinstance(made, Seq)
        return element(made.tensor, (exponent,), self.m.known())

    def is_number(self, left: Seq, right: Seq) -> bool:
        """Whether two sequence values are really items of tables read flat."""
        return all(v.prefix and v.tensor.dims is None for v in (left, right))

    def appended(self, left: Seq, right: Seq, span: Span) -> Value:
        """Two sequences, one after the other: items of the second where the first ends, be that known before or not."""
        a, b = self.m.settled(left, span), self.m.settled(right, span)
        first, second = a.dims, b.dims
        for one, other in ((a, b), (b, a)):
            if _is_empty(one.tensor):
                return other
        if not first or not second or None in first or None in second or first[1:] != second[1:]:
            raise NotLifted(*_not_joined(a, b), span)
        ends, more = self.m.length(a, span), self.m.length(b, span)
        length = combine(ends, more)
        n, order = int_constant(length), self.m.tick()
        dims = (bounds(length)[1] if n is None else n, *first[1:])
        if None in dims:
            raise NotLifted(*_not_joined(a, b), span)
        run_time = length if n is None else None
        added = self._items(b, second, ends)
        if isinstance(a.tensor, Made) and a.whole and int_constant(ends) is None:
            if n is not None:  # the whole is full: no item may go past the end
                added = Piece(added.vars, (arith.compare("<", added.vars[0], more),), added.pos, added.value)
            return Seq(put(widened(a.tensor, dims, run_time), added, order, span, "", self.m.known()))
        pieces = (self._items(a, first, ZERO), added)
        return Seq(Made("", dims, None, pieces, order, span, run_time))

    def _items(self, value: Seq, dims: tuple[int | None, ...], offset: Node) -> Piece:
        """The items of a sequence, from a place on."""
        vars = tuple(Sym("k", d) for d in dims)
        found = element(value.tensor, (*value.prefix, *vars), self.m.known())
        return Piece(vars, (), (combine(vars[0], offset), *vars[1:]), found)

    def joined(self, items: list[Value], span: Span) -> Value:
        """A list literal."""
        pieces = list[Piece]()
        inner: tuple[int | None, ...] = ()
        for n, item in enumerate(items):
            if isinstance(item, Seq) and item.dims != ():
                item = self.m.settled(item, span)
                dims = item.dims
                _ends_known(item, "a row", "push rows of a fixed length", span)
                if dims is None or (n and dims != inner):
                    raise NotLifted(
                        "the rows of a list have no one shape that is known",
                        "push rows of known, equal length one by one",
                        span,
                    )
                inner = dims
                vars = tuple(Sym("k", d) for d in dims)
                value = element(item.tensor, (*item.prefix, *vars), self.m.known())
                pieces.append(Piece(vars, (), (integer(n), *vars), value))
            else:
                pieces.append(Piece((), (), (integer(n),), self.m.scalar(item, span)))
        return Seq(Made("", (len(items), *inner), None, tuple(pieces), self.m.tick(), span))

    def called(self, expr: syntax.Call, scope: Scope) -> Value:
        """A call: builtins first, then functions and natives of the program."""
        name = expr.function
        if name in BUILTINS:
            if len(expr.args) != BUILTINS[name]:
                raise NotLifted(f"{name} takes {BUILTINS[name]} values", "pass as many", expr.span)
            return self.builtin(expr, scope)
        found = self.m.program.function(name)
        match found:
            case syntax.Native() if name in NATIVES and len(expr.args) == 1:
                return arith.function(name, self.number(expr.args[0], scope))
            case syntax.Function():
                return self.call(self.m, name, expr, scope)
            case syntax.Native():
                raise NotLifted(f'the native "{name}" is none that is supplied', f"natives are {', '.join(NATIVES)}")
            case _:
                mend = f'declare it: "## To native {name} (x: Float) -> Float"' if name in NATIVES else ""
                raise NotLifted(f'there is no function "{name}"', mend)

    def builtin(self, expr: syntax.Call, scope: Scope) -> Value:
        """A function of the language."""
        name, args = expr.function, expr.args
        match name:
            case "length":
                return self.m.length(self.sequence(args[0], scope), expr.span)
            case "copy":
                return self.value(args[0], scope)
            case "repeatSeq":
                return self.repeated(self.value(args[0], scope), self.index(args[1], scope), expr.span)
            case "min" | "max":
                return arith.extreme(name, self.number(args[0], scope), self.number(args[1], scope))
            case "pow":
                return _held(arith.power(self.number(args[0], scope), self.number(args[1], scope), True))
            case "abs" | "sqrt" | "floor" | "ceil" | "round":
                return arith.function(name, self.number(args[0], scope))
            case _:
                raise NotLifted(f'"{name}" is not part of a tensor program', "compute with numbers alone")

    def repeated(self, value: Value, count: Node, span: Span, flat: bool = False) -> Value:
        """`count copies of value`: a sequence of them, or (`flat`) one after the other."""
        n = int_constant(count)
        if n is None:
            raise NotLifted("how many copies are made must be known before the run", "make a fixed number", span)
        v = Sym("k", max(n, 0))
        if isinstance(value, Seq):
            _ends_known(value, "what is repeated", "repeat a sequence of a fixed length, or push it in a loop", span)
            tensor = whole_of(self.m.settled(value, span), self.m.tick(), span)
            dims = tensor.dims
            if self.m.discovering and (not dims or None in dims):
                self.m.unsure = True  # an item of a weight: whether it is a row or a number is not told yet
                open_ = Made("", (), None, (), self.m.tick(), span, kind=tensor.kind)
                open_.dims = None
                return Seq(open_)
            if not dims or None in dims:
                raise NotLifted(
                    "the shape of the sequence is not known", "push its items in a loop of known bounds", span
                )
            vars = (v, *(Sym("k", d) for d in dims))
            row = (dims[0] or 0) if flat else 1
            pos = (combine(vars[1], v, row), *vars[2:]) if flat else vars
            extents = (max(n, 0) * row, *(dims[1:] if flat else dims))
            piece = Piece(vars, (), pos, element(tensor, vars[1:], self.m.known()))
            return Seq(Made("", extents, None, (piece,) if n > 0 else (), self.m.tick(), span, kind=tensor.kind))
        item = self.m.scalar(value, span)
        piece = Piece((v,), (), (v,), item)
        return Seq(Made("", (max(n, 0),), None, (piece,) if n > 0 else (), self.m.tick(), span, kind=item.kind))


def _ends_known(value: Seq, what: str, mend: str, span: Span) -> None:
    """Refuses a sequence whose length only a run knows where it would be taken for as long as it can get."""
    if value.whole and value.tensor.length is not None:
        raise NotLifted(f"the length of {what} is known only at run time", mend, span)


def _not_joined(a: Seq, b: Seq) -> tuple[str, str]:
    """Why `a + b` is no sequence, and what would be."""
    unknown = [v.tensor.name or "a sequence" for v in (a, b) if not v.dims or None in v.dims]
    mend = "to add item by item, or to join in another way, loop over the items and push them to a new Seq"
    if unknown:
        names = " and ".join(f'"{name}"' for name in unknown)
        return f"+ puts sequences one after the other, and the shape of {names} is not known here", mend
    items = [" x ".join(map(str, v.dims[1:])) if v.dims and v.dims[1:] else "numbers" for v in (a, b)]
    said = " and ".join(i if i == "numbers" else f"rows of {i}" for i in items)
    return f"+ puts sequences one after the other, and these have items of different shape: {said}", mend


def _held(number: Node) -> Node:
    """A number, if it is no Int that grows without end."""
    if number.kind == "int" and parts(number)[0].bit_length() > _BITS:
        raise NotLifted(f"an Int of more than {_BITS} bits is computed", "compute with Floats: start from 1.0")
    return number


def _is_empty(tensor: Tensor) -> bool:
    """Whether a tensor is made without any item, and is not what a loop found empty as it began."""
    return isinstance(tensor, Made) and tensor.dims == (0,) and not tensor.pieces and tensor.base is None


def _text(value: Value) -> tuple[str | Value, ...]:
    return value.parts if isinstance(value, Text) else (value,)
