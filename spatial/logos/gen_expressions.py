"""The code generator, expressions: a node of the program to a Python expression with the same meaning.

Numbers use Python's operators; whatever Python does differently calls `arithmetic`. What is known of an integer's
range (see `scopes`) decides where the plain operator is right. A value about to be bound or stored goes through
`kept`, which gives sequences a handle of their own (see Note [Handles and buffers] in `values`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from spatial.errors import nearest
from spatial.logos.pytree import (
    Site,
    Sites,
    attribute,
    call,
    choose,
    compare,
    const,
    item,
    load,
    method,
    plus,
    walrus,
)
from spatial.logos.ranges import range_of
from spatial.logos.scopes import Effects, Range, Scopes
from spatial.logos.syntax import (
    Binary,
    BoolLiteral,
    Call,
    Copy,
    Expr,
    FloatLiteral,
    Function,
    Hole,
    Index,
    Interpolation,
    IntLiteral,
    Length,
    ListLiteral,
    Name,
    Native,
    NewSeq,
    Not,
    NothingLiteral,
    Slice,
    TextLiteral,
    root_name,
    walk,
)
from spatial.logos.values import Text
from spatial.logos.words import BUILTINS, NATIVES

_NATIVE_OPERATORS: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult}
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_HELPERS = {
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "power",
    "~=": "approximately",
    "in": "contains",
    "&": "bit_and",
    "|": "bit_or",
    "^": "bit_xor",
    "<<": "shift_left",
    ">>": "shift_right",
    "++": "combine",
}


@dataclass
class Context:
    """What all units of one program share."""

    functions: dict[str, Function]
    natives: dict[str, Native]
    effects: dict[str, Effects]
    sites: Sites = field(default_factory=Sites)
    texts: dict[str, Text] = field(default_factory=dict[str, Text])

    def text(self, value: str) -> str:
        """The Python name of a Text constant."""
        name = f"c{len(self.texts)}"
        self.texts[name] = Text(value)
        return name


def is_atom(tree: ast.expr) -> bool:
    """Whether a tree may be written twice: a variable or constant."""
    return isinstance(tree, (ast.Name, ast.Constant))


class ExpressionGenerator:
    """Generates the expressions of one function, or of Main."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.scopes = Scopes()
        self.temporaries = 0

    def temporary(self) -> str:
        """A fresh Python variable."""
        self.temporaries += 1
        return f"t{self.temporaries}"

    def marked(self, tree: ast.expr, node: Expr) -> ast.expr:
        """The tree, its faults reported at the node."""
        self.context.sites.mark(tree, Site(node.span, node))
        return tree

    # What is known of an integer

    def range_of(self, expr: Expr) -> Range:
        """What is known of an expression's value without running it."""
        return range_of(expr, self._range_of_name)

    def _range_of_name(self, name: str) -> Range:
        slot = self.scopes.find(name)
        return slot.range if slot else None

    # Values

    def value(self, expr: Expr) -> ast.expr:
        """The value of an expression."""
        match expr:
            case IntLiteral(value) | FloatLiteral(value):
                return const(value)
            case BoolLiteral(value):
                return load("TRUE" if value else "FALSE")
            case TextLiteral(value):
                return load(self.context.text(value))
            case NothingLiteral():
                return const(None)
            case Name(name):
                return self.marked(load(self.variable(name)), expr)
            case Not() | Binary("and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">="):
                return choose(self.test(expr), load("TRUE"), load("FALSE"))
            case Binary():
                return self.marked(self._binary(expr), expr)
            case Index(collection, index):
                return self.item(expr, self.held(collection, index), index)
            case Slice(collection, first, last):
                operands = (self.held(collection, first, last), self.value(first), self.value(last))
                return self.marked(call("take_slice", *operands), expr)
            case Length(collection):
                name = self.temporary()
                is_seq = _is_seq(walrus(name, self.value(collection)))
                fast = call("len", attribute(load(name), "items"))
                return self.marked(choose(is_seq, fast, call("length", load(name))), expr)
            case Copy(value):
                return call("b_copy", self.value(value))
            case Call():
                return self.marked(self._call(expr), expr)
            case ListLiteral(items):
                return call("Seq", ast.List([self.kept(i) for i in items], ast.Load()))
            case NewSeq():
                return call("Seq", ast.List([], ast.Load()))
            case Interpolation(parts):
                return call("join", *(self._part(part, parts[n + 1 :]) for n, part in enumerate(parts)))

    def test(self, expr: Expr) -> ast.expr:
        """The truth of an expression, as Python sees it."""
        match expr:
            case Not(operand):
                return ast.UnaryOp(ast.Not(), self.test(operand))
            case Binary("and", left, right):
                return ast.BoolOp(ast.And(), [self.test(left), self.test(right)])
            case Binary("or", left, right):
                return ast.BoolOp(ast.Or(), [self.test(left), self.test(right)])
            case Binary(op, left, right) if op in _COMPARISONS:
                return self.marked(compare(self.held(left, right), _COMPARISONS[op](), self.value(right)), expr)
            case BoolLiteral(value):
                return const(value)
            case _:
                return self.value(expr)

    def kept(self, expr: Expr) -> ast.expr:
        """The value of an expression, to be bound or stored: a sequence behind a handle of its own."""
        value = self.value(expr)
        if not isinstance(expr, (Name, Index)) or self.range_of(expr) is not None:
            return value
        name = self.temporary()
        return choose(_is_seq(walrus(name, value)), method(load(name), "alias"), load(name))

    def held(self, expr: Expr, *later: Expr) -> ast.expr:
        """The value of an operand that must not change while later operands are evaluated."""
        return self.value(expr) if all(self._is_quiet(e) for e in later) else self.kept(expr)

    def _is_quiet(self, expr: Expr) -> bool:
        """Whether evaluating an expression changes no sequence in place that it does not own."""
        for node in walk(expr):
            if isinstance(node, Call) and node.function in self.context.functions:
                function = self.context.functions[node.function]
                if self.context.effects[node.function].outside or any(p.mutable for p in function.params):
                    return False
        return True

    def variable(self, name: str) -> str:
        """The Python variable a name means here."""
        slot = self.scopes.find(name)
        return slot.variable if slot else f"g_{name}"

    # Items and places

    def item(self, node: Index, collection: ast.expr, index: Expr) -> ast.expr:
        """One item of a collection."""
        position, shown = self.position(index)
        found = item(attribute(collection, "items"), position)
        again = load(self.variable(node.collection.name)) if isinstance(node.collection, Name) else None
        site = Site(node.span, node, shown, again)
        self.context.sites.mark(found, site)
        self.context.sites.mark(found.value, site)
        return found

    def position(self, index: Expr) -> tuple[ast.expr, ast.expr]:
        """Where an index points in a Python list, and a Python expression that gives the index again."""
        known = self.range_of(index)
        match index:
            case IntLiteral(value) if value != 0:
                return const(value - 1 if value > 0 else value), const(value)
            case Binary("+", left, IntLiteral(amount)) if known == "pos":
                return plus(self.value(left), amount - 1), self.value(index)
            case _ if known == "pos":
                return plus(self.value(index), -1), self.value(index)
            case _:
                pass
        value = self.value(index)
        if is_atom(value):
            return position_of(value, self.value(index)), self.value(index)
        name = self.temporary()
        return position_of(walrus(name, value), load(name)), load(name)

    def place(self, expr: Expr) -> ast.expr:
        """The handle to change where an expression stands: of an item, everything on the way to it owned."""
        match expr:
            case Index(collection, index):
                return self.item(expr, self.owned(collection), index)
            case _:
                return self.value(expr)

    def owned(self, expr: Expr) -> ast.expr:
        """The handle of a place, its buffer its own."""
        handle = self.place(expr)
        if isinstance(handle, ast.Name):
            owned = choose(attribute(load(handle.id), "owned"), handle, method(load(handle.id), "own"))
        else:
            owned = method(handle, "own")
        return self.marked(owned, expr)

    # Operators and calls

    def _binary(self, expr: Binary) -> ast.expr:
        left, right = self.held(expr.left, expr.right), self.value(expr.right)
        if expr.op in _NATIVE_OPERATORS:
            return ast.BinOp(left, _NATIVE_OPERATORS[expr.op](), right)
        a, b = self.range_of(expr.left), self.range_of(expr.right)
        if b == "pos" and a in ("pos", "nat"):
            if expr.op in ("/", "//"):
                return ast.BinOp(left, ast.FloorDiv(), right)
            if expr.op == "%":
                return ast.BinOp(left, ast.Mod(), right)
        return call(_HELPERS[expr.op], left, right)

    def _part(self, part: str | Hole, later: tuple[str | Hole, ...]) -> ast.expr:
        if isinstance(part, str):
            return const(part)
        value = self.held(part.value, *(p.value for p in later if isinstance(p, Hole)))
        return ast.Tuple([value, const(part.spec)], ast.Load())

    def _call(self, expr: Call) -> ast.expr:
        """Builtins come first, then functions of the program, then natives."""
        name, args = expr.function, expr.args
        if name in BUILTINS:
            takes = BUILTINS[name]
            return self._plain_call(f"b_{name}", expr) if len(args) == takes else _wrong_count(expr, takes)
        function = self.context.functions.get(name)
        if function is not None:
            if len(args) != len(function.params):
                return _wrong_count(expr, len(function.params))
            return call(f"f_{name}", *self.arguments(function, expr))
        native = self.context.natives.get(name)
        if native is not None:
            if len(args) != len(native.params):
                return _wrong_count(expr, len(native.params))
            return self._plain_call(f"n_{name}" if name in NATIVES and len(args) == 1 else "nothing", expr)
        known = [*self.context.functions, *self.context.natives]
        return call("unknown_function", *(const(part) for part in unknown_function(name, known)))

    def _plain_call(self, function: str, expr: Call) -> ast.expr:
        return call(function, *(self.held(a, *expr.args[n + 1 :]) for n, a in enumerate(expr.args)))

    def arguments(self, function: Function, expr: Call) -> list[ast.expr]:
        """The arguments of a call, each as its parameter takes it."""
        changed = {root_name(a) for a, p in zip(expr.args, function.params, strict=True) if p.mutable}
        effects = self.context.effects[function.name]
        found: list[ast.expr] = []
        for number, (arg, param) in enumerate(zip(expr.args, function.params, strict=True)):
            if param.mutable and isinstance(arg, (Name, Index)):
                found.append(self.place(arg))
            elif number not in effects.params and self._may_lend(arg, changed, effects):
                found.append(self.held(arg, *expr.args[number + 1 :]))
            else:
                found.append(self.kept(arg))
        return found

    def _may_lend(self, arg: Expr, changed: set[str | None], effects: Effects) -> bool:
        """Whether a callee that does not change a parameter may use the caller's own handle for it.

        It may if nothing else can change that handle meanwhile: no mutable argument is of the same variable, and the
        variable is local or the callee changes none outside itself.
        """
        root = root_name(arg)
        if root is None or root in changed:
            return False
        slot = self.scopes.find(root)
        return not effects.outside or (slot is not None and slot.role != "mutable")


def position_of(value: ast.expr, again: ast.expr) -> ast.expr:
    """The position in a Python list an index of unknown sign points to; `again` reads the value a second time."""
    test = compare(value, ast.Gt(), const(0))
    return choose(test, plus(again, -1), call("from_end", again))


def _is_seq(tree: ast.expr) -> ast.expr:
    return compare(call("type", tree), ast.Is(), load("Seq"))


def unknown_function(name: str, known: Sequence[str]) -> tuple[str, str, str]:
    """The name of a function nobody defines, why that may be, and what would mend it; `known`: those there are."""
    if name in NATIVES:
        why, mend = "a native has to be declared before it can be called", f"## To native {name} (x: Float) -> Float"
        return name, why, mend
    return name, "", nearest(name, [*BUILTINS, *known])


def _wrong_count(expr: Call, takes: int) -> ast.expr:
    return call("wrong_count", const(expr.function), const(takes), const(len(expr.args)))
