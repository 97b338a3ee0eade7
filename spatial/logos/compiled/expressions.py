"""The translator, expressions: a node of the program to Python that numba compiles, and the kind of its value.

Items are reached by position in flat arrays; a row of a table is the table's array at another position. Sequences that
are handed on without a variable of their own are lent, not copied, by the same rules as in the interpreter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from spatial.logos import arithmetic
from spatial.logos.compiled.kinds import BOOL, FLOAT, INT, NOTHING, TEXT, UNKNOWN, Kind, join, seq_of
from spatial.logos.compiled.knowledge import Refusal
from spatial.logos.compiled.operators import Operators, const_rt, holds
from spatial.logos.compiled.unit import Value, add, as_float, clash, empty, scalar, times, told
from spatial.logos.gen_expressions import unknown_function
from spatial.logos.pytree import assign, call, compare, const, load
from spatial.logos.ranges import range_of
from spatial.logos.scopes import Range
from spatial.logos.stop import Stop
from spatial.logos.syntax import (
    Binary,
    BoolLiteral,
    Call,
    Copy,
    Expr,
    FloatLiteral,
    Index,
    Interpolation,
    IntLiteral,
    Length,
    ListLiteral,
    Name,
    NewSeq,
    Not,
    NothingLiteral,
    Slice,
    Span,
    TextLiteral,
)
from spatial.logos.words import BUILTINS, INT64_MAX, INT64_MIN, NATIVES

_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_ROUNDED = ("floor", "ceil", "round")


class Expressions(Operators):
    """Translates the expressions of one unit; calls of the program's functions are left to `Calls`."""

    # Values

    def value(self, expr: Expr) -> Value:
        """The value of an expression."""
        match expr:
            case IntLiteral(value):
                if not INT64_MIN <= value <= INT64_MAX:
                    raise Refusal(expr.span, "an Int beyond 64 bits", "compiled code has Ints of 64 bits")
                return scalar(INT, const(value))
            case FloatLiteral(value):
                return scalar(FLOAT, const(value))
            case BoolLiteral(value):
                return scalar(BOOL, const(value))
            case TextLiteral(value):
                return Value(TEXT, text=(value,))
            case NothingLiteral():
                return Value(NOTHING)
            case Name(name):
                return self.read(name, expr.span)
            case Not() | Binary("and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">="):
                return scalar(BOOL, self.test(expr))
            case Binary(_, left, right):
                return self.operated(expr, *self.operands(left, right))
            case Index(collection, index):
                return self.item(expr, *self.operands(collection, index))
            case Slice():
                return self._slice(expr)
            case Length(collection):
                return self._length(expr, collection)
            case Copy(inner):
                return self.kept(self.value(inner))
            case Call():
                return self._call(expr)
            case ListLiteral(items):
                return self._list(expr, items)
            case NewSeq():
                return self.absent(seq_of(UNKNOWN))
            case Interpolation():
                return self._interpolation(expr)

    def operands(self, *exprs: Expr) -> list[Value]:
        """The values of expressions, evaluated in order."""
        return self.ordered(*((lambda e=e: self.operand(e), e) for e in exprs))

    def operand(self, expr: Expr) -> Value:
        """The value of an expression that something is done with: it has one."""
        value = self.value(expr)
        if value.kind == NOTHING:
            raise Refusal(expr.span, "nothing is no value to compute with")
        return value

    def test(self, expr: Expr) -> ast.expr:
        """The truth of an expression."""
        match expr:
            case Not(inner):
                return ast.UnaryOp(ast.Not(), self.test(inner))
            case Binary("and" | "or" as op, left, right):
                return self._short(op, left, right)
            case Binary(op, left, right) if op in _COMPARED:
                return self.compared(expr, *self.operands(left, right))
            case _:
                value = self.value(expr)
                if value.kind == TEXT:
                    raise Refusal(expr.span, "the truth of a Text", "compiled code has texts in Show alone")
                return const(False) if value.kind == NOTHING else self.truth(value)

    def _short(self, op: str, left: Expr, right: Expr) -> ast.expr:
        """`and` and `or`: the right operand is evaluated if it counts."""
        first = self.test(left)
        second, written = self.captured(lambda: self.test(right))
        both = op == "and"
        if not written:
            return ast.BoolOp(ast.And() if both else ast.Or(), [_bool(first), _bool(second)])
        name = self.temporary()
        asked = load(name) if both else ast.UnaryOp(ast.Not(), load(name))
        self.emit(assign(name, _bool(first)), ast.If(asked, [*written, assign(name, _bool(second))], []))
        return load(name)

    # Items

    def known_range(self, expr: Expr) -> Range:
        """What is known of an Int expression without running it."""
        return range_of(expr, self._range_of_name)

    def _range_of_name(self, name: str) -> Range:
        slot = self.scopes.find(name)
        return slot.range if slot else None

    def item(self, expr: Index, seq: Value, index: Value) -> Value:
        """One item of a sequence; of a table, a row where it stands."""
        self.indexable(expr.span, seq, index)
        if seq.kind == UNKNOWN:
            return seq
        if seq.kind.rank == 1:
            seq = self._lasting(seq)
            return scalar(seq.kind.leaf, call("get", seq.array, add(seq.start, self.position(expr, seq, index))))
        seq = self._lasting(seq)
        assert seq.kind.item is not None
        step = ast.BinOp(self.position(expr, seq, index), ast.Mult(), times(seq.inner))
        return Value(seq.kind.item, (seq.array, add(seq.start, step), *seq.inner), seq.fresh)

    def _lasting(self, seq: Value) -> Value:
        """A sequence whose array is in a variable; where it starts may still be an expression, used once."""
        array = self.named(seq.array)
        return Value(seq.kind, (array, seq.start, *(self.named(part) for part in seq.parts[2:])), seq.fresh)

    def indexable(self, span: Span, seq: Value, index: Value) -> None:
        """Refuse what has no items, and what is no index."""
        if not seq.kind.rank and seq.kind != UNKNOWN:
            raise Refusal(span, f"an item of {told(seq.kind)}", "compiled code has items of Seqs alone")
        if not holds(index.kind, INT):
            raise Refusal(span, f"{told(index.kind)} as an index", "an index is an Int")

    def position(self, expr: Index, seq: Value, index: Value, told_items: bool = False) -> ast.expr:
        """Where an index points, from 0, once it is known to be inside."""
        helper = "position_from_one" if self.known_range(expr.index) == "pos" else "position"
        named = isinstance(expr.collection, Name)  # how many items there are is told of variables
        rule = arithmetic.out_of_range if named or told_items else _out_of_range
        site = self.site(expr.span, rule, INT)
        return call(helper, const_rt(), site, index.parts[0], seq.items)

    def _slice(self, expr: Slice) -> Value:
        seq, first, last = (self.atoms(v) for v in self.operands(expr.collection, expr.first, expr.last))
        if not seq.kind.rank or not holds(first.kind, INT) or not holds(last.kind, INT):
            raise Refusal(expr.span, f"items of {told(seq.kind)}", "a slice takes a Seq and two Ints")
        count = self.named(call("part_items", *first.parts, *last.parts, seq.items))
        begin = ast.BinOp(call("part_start", *first.parts), ast.Mult(), times(seq.inner))
        part = Value(seq.kind, (seq.array, self.named(add(seq.start, begin)), count, *seq.inner))
        return self.kept(part)

    def _length(self, expr: Expr, collection: Expr) -> Value:
        seq = self.operand(collection)
        if not seq.kind.rank and seq.kind != UNKNOWN:
            raise Refusal(expr.span, f"the length of {told(seq.kind)}", "compiled code has lengths of Seqs alone")
        if seq.kind == UNKNOWN:
            return seq
        return scalar(INT, self.atoms(seq).items)

    def _list(self, expr: ListLiteral, items: tuple[Expr, ...]) -> Value:
        values = [self.atoms(value) for value in self.operands(*items)]
        kind: Kind | None = UNKNOWN
        for value, item in zip(values, items, strict=True):
            before = kind
            kind = None if value.kind == TEXT else join(before, value.kind)
            if kind is None:
                raise clash(item.span, "the list", before, value.kind)
        assert kind is not None
        values = [self.atoms(self.coerced(value, kind)) for value in values]
        inner = values[0].parts[2:]
        size = self.named(times(inner))
        array = self.named(empty(kind, times((const(len(items)), size))))
        for number, (value, item) in enumerate(zip(values, items, strict=True)):
            if kind.rank:
                self.fits(item.span, value, inner)
                self.do("move", array, times((const(number), size)), value.array, value.start, size)
            else:
                self.do("put", array, const(number), *value.parts)
        return Value(seq_of(kind), (array, const(0), const(len(items)), *inner), True)

    def fits(self, span: Span, row: Value, inner: tuple[ast.expr, ...]) -> None:
        """Stop the run if a row does not measure what the others do."""
        for have, want in zip(row.parts[2:], inner, strict=True):
            if have is not want:
                self.emit(ast.If(compare(have, ast.NotEq(), want), [self.stopped(span, "RAGGED")], []))

    def _interpolation(self, expr: Interpolation) -> Value:
        holes = [part for part in expr.parts if not isinstance(part, str)]
        values = iter(self.ordered(*((lambda e=h.value: self.value(e), h.value) for h in holes)))
        found: list[str | tuple[Value, str]] = []
        for part in expr.parts:
            if isinstance(part, str):
                found.append(part)
                continue
            value = next(values)
            if value.kind == TEXT and part.spec:
                raise Refusal(part.span, "a format of a Text", "compiled code formats numbers, Bools and Seqs")
            found += value.text if value.kind == TEXT else [(value, part.spec)]
        return Value(TEXT, text=tuple(found))

    # Calls of what is always there

    def _call(self, expr: Call) -> Value:
        """Builtins come first, then functions of the program, then natives."""
        name, args = expr.function, expr.args
        takes = self.takes(name)
        if takes is None:
            known = [*self.known.functions, *self.known.natives]
            return self._misuse(expr, lambda _a, _b: arithmetic.unknown_function(*unknown_function(name, known)))
        if len(args) != takes:
            return self._misuse(expr, lambda _a, _b: arithmetic.wrong_count(name, takes, len(args)))
        if name in BUILTINS:
            return self._builtin(expr, self.operands(*args))
        if name in self.known.functions:
            return self.called(expr)
        if name not in NATIVES or takes != 1:
            raise Refusal(expr.span, f"the native {name} gives nothing", "nobody supplies it")
        (x,) = self.operands(*args)
        self._number(expr, x)
        return scalar(FLOAT, call(f"native_{name}", as_float(x)))

    def _misuse(self, expr: Call, rule: Callable[[object, object], object]) -> Value:
        """A call that stops the run when it is reached."""
        self.emit(self.stopped(expr.span, "RULE", rule))
        return scalar(UNKNOWN, const(0))

    def takes(self, name: str) -> int | None:
        """How many arguments a function takes; None if nobody defines it."""
        if name in BUILTINS:
            return BUILTINS[name]
        found = self.known.functions.get(name) or self.known.natives.get(name)
        return len(found.params) if found else None

    def called(self, expr: Call) -> Value:
        """A call of one of the program's functions."""
        raise NotImplementedError

    def _number(self, expr: Call, *values: Value) -> None:
        for value in values:
            if not value.kind.is_number:
                raise Refusal(expr.span, f"{expr.function} of {told(value.kind)}", "it takes a number")

    def _builtin(self, expr: Call, values: list[Value]) -> Value:
        name = expr.function
        match name, values:
            case "copy", [x]:
                return self.kept(x)
            case "format", [x]:
                return Value(TEXT, text=x.text if x.kind == TEXT else ((x, ""),))
            case "length", _:
                return self._length(expr, expr.args[0])
            case "repeatSeq", [x, n] if holds(n.kind, INT):
                return self._copies(expr, x, n)
            case (("abs" | "floor" | "ceil" | "round" | "sqrt"), [x]):
                self._number(expr, x)
                return self._of_one(expr, x)
            case (("min" | "max"), [x, y]):
                self._number(expr, x, y)
                return self._extreme("minimum" if name == "min" else "maximum", x, y)
            case "pow", [x, y]:
                self._number(expr, x, y)
                return self._power(expr, x, y)
            case "count_ones", [x] if holds(x.kind, INT):
                return scalar(INT, call("count_ones_int", *x.parts))
            case _:
                raise Refusal(expr.span, f"{name} has no compiled form")

    def _of_one(self, expr: Call, x: Value) -> Value:
        name = expr.function
        if name == "sqrt":
            return scalar(FLOAT, call("square_root", as_float(x)))
        if name == "abs":
            if x.kind == FLOAT:
                return scalar(FLOAT, call("absolute_float", *x.parts))
            return scalar(x.kind, call("absolute_int", const_rt(), self.site(expr.span), *x.parts))
        return x if x.kind != FLOAT else scalar(INT, call(f"{name}_float", *x.parts))

    def _extreme(self, helper: str, x: Value, y: Value) -> Value:
        if FLOAT in (x.kind, y.kind):
            return scalar(FLOAT, call(f"{helper}_float", as_float(x), as_float(y)))
        kind = UNKNOWN if UNKNOWN in (x.kind, y.kind) else INT
        return scalar(kind, call(f"{helper}_int", *x.parts, *y.parts))

    def _power(self, expr: Call, x: Value, y: Value) -> Value:
        if FLOAT in (x.kind, y.kind):
            return scalar(FLOAT, call("power_float", as_float(x), as_float(y)))
        if self.known_range(expr.args[1]) in ("pos", "nat"):
            site = self.site(expr.span, arithmetic.power, INT)
            return scalar(INT, call("power_int", const_rt(), site, *x.parts, *y.parts))
        match expr.args[1]:
            case IntLiteral():
                return scalar(FLOAT, call("power_float", as_float(x), as_float(y)))
            case _:
                why = "of two Ints it is an Int or a Float by the sign of the exponent"
                raise Refusal(expr.span, "pow of two Ints", why, "write x ** y, or pow(x + 0.0, y)")

    def _copies(self, expr: Call, x: Value, n: Value) -> Value:
        if x.kind in (TEXT, NOTHING):
            raise Refusal(expr.span, f"copies of {told(x.kind)}", "compiled code has no such Seq")
        x, number = self.atoms(x), self.named(call("max", *n.parts, const(0)))
        self.counted(expr.span, const(1), number)
        size = self.named(times(x.parts[2:]))
        total = self.named(call("room_for", const_rt(), self.site(expr.span), size, number))
        if x.kind.rank:
            array = self.named(call("repeated", x.array, x.start, size, total))
        else:
            array = self.named(call("filled", empty(x.kind, total), *x.parts))
        return Value(seq_of(x.kind), (array, const(0), number, *x.parts[2:]), True)


def _out_of_range(index: int, _items: int) -> Stop:
    return arithmetic.out_of_range(index)


def _bool(tree: ast.expr) -> ast.expr:
    return call("bool", tree)
