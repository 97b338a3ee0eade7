"""The translator, operators: two values and what a Binary makes of them, by their kinds.

Operands are evaluated and in order; what is left is to choose the helper (`arithmetic`, `sequences`) for their kinds,
or to refuse kinds that the language has no such operator for.
"""

from __future__ import annotations

import ast

from spatial.logos import arithmetic
from spatial.logos.compiled.kinds import BOOL, FLOAT, INT, TEXT, UNKNOWN, Kind, join
from spatial.logos.compiled.knowledge import Refusal
from spatial.logos.compiled.unit import Unit, Value, add, as_float, joined_or, scalar, times, told
from spatial.logos.pytree import call, compare, const
from spatial.logos.stop import MAX_ITEMS, check_items
from spatial.logos.syntax import Binary, Span

_FLOAT_OPERATORS: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult}
_CHECKED = {"+": "add_int", "-": "subtract_int", "*": "multiply_int"}
_BITS: dict[str, type[ast.operator]] = {"&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor}
_SHIFTS = {"<<": "shift_left_int", ">>": "shift_right_int"}
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}


def holds(kind: Kind, *others: Kind) -> bool:
    """Whether a kind is one of these, or not known yet."""
    return kind == UNKNOWN or kind in others


class Operators(Unit):
    """Translates what a Binary does, its operands evaluated."""

    def operated(self, expr: Binary, a: Value, b: Value) -> Value:
        """The value of an operator that is no comparison and no `and` or `or`."""
        kinds = (a.kind, b.kind)
        match expr.op:
            case "+" if TEXT in kinds:
                return Value(TEXT, text=(*texts(a), *texts(b)))
            case "++":
                return Value(TEXT, text=(*texts(a), *texts(b)))
            case "+" if a.kind.rank and b.kind.rank:
                return self._concatenated(expr, a, b)
            case "*" if a.kind.rank and holds(b.kind, INT):
                return self._repeated(expr, a, b)
            case "*" if b.kind.rank and holds(a.kind, INT):
                return self._repeated(expr, b, a)
            case "+" | "-" | "*" | "/" | "//" | "**" if a.kind.is_number and b.kind.is_number:
                return self._arithmetic(expr, a, b)
            case "%" if holds(a.kind, INT) and holds(b.kind, INT):
                site = self.site(expr.span, arithmetic.remainder, INT)
                return scalar(INT, call("remainder_int", const_rt(), site, *a.parts, *b.parts))
            case "&" | "|" | "^" if holds(a.kind, INT) and holds(b.kind, INT):
                return scalar(INT, ast.BinOp(a.parts[0], _BITS[expr.op](), b.parts[0]))
            case "&" | "|" | "^" if holds(a.kind, BOOL) and holds(b.kind, BOOL):
                return self._of_bools(expr, a, b)
            case "<<" | ">>" if holds(a.kind, INT) and holds(b.kind, INT):
                return scalar(INT, call(_SHIFTS[expr.op], *a.parts, *b.parts))
            case "~=" if a.kind.is_number and b.kind.is_number:
                return scalar(BOOL, call("near", as_float(a), as_float(b)))
            case "in":
                return self._contained(expr, a, b)
            case op:
                what = f"{op} of {told(a.kind)} and {told(b.kind)}"
                raise Refusal(expr.span, what, "the language has no such operation")

    def _arithmetic(self, expr: Binary, a: Value, b: Value) -> Value:
        op = expr.op
        if FLOAT in (a.kind, b.kind):
            x, y = as_float(a), as_float(b)
            if op in _FLOAT_OPERATORS:
                return scalar(FLOAT, ast.BinOp(x, _FLOAT_OPERATORS[op](), y))
            if op == "**":
                return scalar(FLOAT, call("power_float", x, y))
            rule, helper = (
                (arithmetic.divide, "divide_float") if op == "/" else (arithmetic.floor_divide, "floor_divide_float")
            )
            return scalar(FLOAT, call(helper, const_rt(), self.site(expr.span, rule, FLOAT), x, y))
        kind = joined_or(a.kind, b.kind)
        if op in _CHECKED:
            return scalar(kind, call(_CHECKED[op], const_rt(), self.site(expr.span), *a.parts, *b.parts))
        rule, helper = {
            "/": (arithmetic.divide, "divide_int"),
            "//": (arithmetic.floor_divide, "floor_divide_int"),
            "**": (arithmetic.power, "power_int"),
        }[op]
        return scalar(kind, call(helper, const_rt(), self.site(expr.span, rule, INT), *a.parts, *b.parts))

    def _of_bools(self, expr: Binary, a: Value, b: Value) -> Value:
        x, y = self.named(a.parts[0]), self.named(b.parts[0])
        if expr.op == "^":
            return scalar(BOOL, compare(x, ast.NotEq(), y))
        return scalar(BOOL, ast.BoolOp(ast.And() if expr.op == "&" else ast.Or(), [x, y]))

    # Sequences

    def _concatenated(self, expr: Binary, a: Value, b: Value) -> Value:
        kind = join(a.kind, b.kind)
        if kind is None:
            what = f"{told(a.kind)} followed by {told(b.kind)}"
            raise Refusal(expr.span, what, "compiled code holds items of one kind")
        a, b = self.atoms(self.coerced(a, kind)), self.atoms(self.coerced(b, kind))
        items = self.counted(expr.span, self.named(add(a.items, b.items)), const(1))
        inner = self.common_inner(expr.span, a, b)
        sizes = (times((a.items, *inner)), times((b.items, *inner)))
        array = self.named(call("joined", a.array, a.start, sizes[0], b.array, b.start, sizes[1]))
        return Value(kind, (array, const(0), items, *inner), True)

    def common_inner(self, span: Span, a: Value, b: Value) -> tuple[ast.expr, ...]:
        """What the items of two sequences measure; stops the run if they differ and both have items."""
        found: list[ast.expr] = []
        for x, y in zip(a.inner, b.inner, strict=True):
            both = ast.BoolOp(ast.And(), [_some(a.items), _some(b.items), compare(x, ast.NotEq(), y)])
            self.emit(ast.If(both, [self.stopped(span, "RAGGED")], []))
            found.append(self.named(ast.IfExp(_some(a.items), x, y)))
        return tuple(found)

    def _repeated(self, expr: Binary, seq: Value, count: Value) -> Value:
        seq = self.atoms(seq)
        number = self.named(call("max", *count.parts, const(0)))
        items = self.counted(expr.span, seq.items, number)
        size = self.named(times(seq.parts[2:]))
        total = self.named(call("room_for", const_rt(), self.site(expr.span), size, number))
        array = self.named(call("repeated", seq.array, seq.start, size, total))
        return Value(seq.kind, (array, const(0), items, *seq.inner), True)

    def counted(self, span: Span, items: ast.expr, number: ast.expr) -> ast.expr:
        """How many items so many copies of so many are; stops the run if the language has no such sequence."""
        site = self.site(span, lambda _a, _b: check_items(MAX_ITEMS + 1), INT)
        return self.named(call("items_for", const_rt(), site, items, number))

    def _contained(self, expr: Binary, item: Value, seq: Value) -> Value:
        if seq.kind.rank != 1 or item.kind.rank:
            what = f"looking for {told(item.kind)} in {told(seq.kind)}"
            raise Refusal(expr.span, what, "compiled code looks for scalars in a Seq of them")
        item, seq = self.atoms(item), self.atoms(seq)
        if item.kind != seq.kind.leaf:
            return scalar(BOOL, const(False))
        helper = "holds_float" if item.kind == FLOAT else "holds"
        return scalar(BOOL, call(helper, *item.parts, *seq.parts))

    # Comparisons

    def compared(self, expr: Binary, a: Value, b: Value) -> ast.expr:
        """The truth of a comparison."""
        op = expr.op
        if a.kind.is_number and b.kind.is_number:
            return _numbers_compared(op, a, b)
        if op not in ("==", "!="):
            raise Refusal(expr.span, f"{op} of {told(a.kind)} and {told(b.kind)}", "the language compares numbers")
        if TEXT in (a.kind, b.kind):
            raise Refusal(expr.span, "texts are compared", "compiled code has texts in Show alone")
        a, b = self.atoms(a), self.atoms(b)
        if a.kind.rank and b.kind.rank:
            equal = self._sequences_equal(expr, a, b)
        elif holds(a.kind, BOOL) and holds(b.kind, BOOL):
            equal = compare(a.parts[0], ast.Eq(), b.parts[0])
        else:
            equal = const(False)
        return equal if op == "==" else ast.UnaryOp(ast.Not(), equal)

    def _sequences_equal(self, expr: Binary, a: Value, b: Value) -> ast.expr:
        leaves = {a.kind.leaf, b.kind.leaf} - {UNKNOWN}
        if a.kind.rank != b.kind.rank or (len(leaves) == 2 and leaves != {INT, FLOAT}):
            what = f"{told(a.kind)} is compared with {told(b.kind)}"
            raise Refusal(expr.span, what, "compiled code compares sequences of one depth, of numbers or of Bools")
        tests: list[ast.expr] = [compare(a.items, ast.Eq(), b.items)]
        above: list[ast.expr] = []  # where an outer axis is empty, inner ones don't count
        for x, y in zip(a.inner, b.inner, strict=True):
            above.append(a.items if not above else a.inner[len(above) - 1])
            empty_above = [compare(axis, ast.Eq(), const(0)) for axis in above]
            tests.append(ast.BoolOp(ast.Or(), [*empty_above, compare(x, ast.Eq(), y)]))
        if leaves == {INT, FLOAT}:
            first, second = (a, b) if a.kind.leaf == INT else (b, a)
            tests.append(_equal_items("same_across", first, second))
        else:
            tests.append(_equal_items("same", a, b))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)

    def truth(self, value: Value) -> ast.expr:
        """Whether a value is truthy."""
        if value.kind.rank:
            return compare(self.atoms(value).items, ast.Gt(), const(0))
        if value.kind == BOOL:
            return value.parts[0]
        return compare(value.parts[0], ast.NotEq(), const(0.0 if value.kind == FLOAT else 0))


def texts(value: Value) -> tuple[str | tuple[Value, str], ...]:
    """The parts of a Text, or the one of a value that is joined to one."""
    return value.text if value.kind == TEXT else ((value, ""),)


def const_rt() -> ast.expr:
    """The run's address."""
    return ast.Name("rt", ast.Load())


def _some(count: ast.expr) -> ast.expr:
    return compare(count, ast.Gt(), const(0))


def _equal_items(helper: str, a: Value, b: Value) -> ast.expr:
    return call(helper, a.array, a.start, b.array, b.start, times(a.parts[2:]))


def _numbers_compared(op: str, a: Value, b: Value) -> ast.expr:
    """Numbers of one kind as Python does; an Int and a Float as the numbers they are."""
    if {a.kind, b.kind} != {INT, FLOAT}:
        return compare(a.parts[0], _COMPARISONS[op](), b.parts[0])
    swapped = a.kind == FLOAT
    order = call("order_float" if swapped else "order", *a.parts, *b.parts)
    if swapped:
        op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
    match op:
        case ">=":  # 0 or 1, not 2
            return ast.Compare(const(0), [ast.LtE(), ast.LtE()], [order, const(1)])
        case ">":
            return compare(order, ast.Eq(), const(1))
        case _:
            return compare(order, _COMPARISONS[op](), const(0))
