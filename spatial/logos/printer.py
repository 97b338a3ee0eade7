"""Tree to text: a program or expression in its canonical spelling, which parses back to the same tree.

Spaces stand around operators, statements end with periods, every word is one the language's own parser takes. The
printer knows nothing of values or of the text a tree came from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from spatial.errors import UsageError
from spatial.logos.show import show_value
from spatial.logos.syntax import (
    Assert,
    Binary,
    BoolLiteral,
    Break,
    Call,
    CallStmt,
    Copy,
    Expr,
    FloatLiteral,
    Function,
    Hole,
    If,
    Index,
    Interpolation,
    IntLiteral,
    Length,
    Let,
    ListLiteral,
    Name,
    Native,
    NewSeq,
    Not,
    NothingLiteral,
    Param,
    Pop,
    Program,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Show,
    Slice,
    Stmt,
    TextLiteral,
    Type,
    While,
    walk,
)

# Levels of precedence, loosest first; a tree prints in parentheses where a tighter one is needed.
_OR, _AND, _COMPARISON, _BIT_OR, _BIT_XOR, _BIT_AND, _SUM, _SHIFT, _PRODUCT, _POWER, _PREFIX, _PRIMARY = range(1, 13)
_WHOLE = 0
_PARENTHESISED = 13

# Operator -> (its level, level of the left operand, of the right one, spelling).
_BINARY: dict[str, tuple[int, int, int, str]] = {
    "or": (_OR, _OR, _AND, "or"),
    "and": (_AND, _AND, _COMPARISON, "and"),
    **{op: (_COMPARISON, _BIT_OR, _BIT_OR, op) for op in ("==", "!=", "<", "<=", ">", ">=")},
    "~=": (_COMPARISON, _BIT_OR, _BIT_OR, "is approximately"),
    "|": (_BIT_OR, _BIT_OR, _BIT_XOR, "|"),
    "^": (_BIT_XOR, _BIT_XOR, _BIT_AND, "xor"),
    "&": (_BIT_AND, _BIT_AND, _SUM, "&"),
    "+": (_SUM, _SUM, _SHIFT, "+"),
    "-": (_SUM, _SUM, _SHIFT, "-"),
    "++": (_SUM, _SUM, _SHIFT, "combined with"),
    "in": (_SUM, _SUM, _SHIFT, "contains"),
    "<<": (_SHIFT, _SHIFT, _PRODUCT, "shifted left by"),
    ">>": (_SHIFT, _SHIFT, _PRODUCT, "shifted right by"),
    **{op: (_PRODUCT, _PRODUCT, _POWER, op) for op in ("*", "/", "//", "%")},
    "**": (_POWER, _PREFIX, _POWER, "**"),
}
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"})
_BRACES = str.maketrans({"{": "{{", "}": "}}"})


def print_expr(expr: Expr) -> str:
    """The text of an expression.

    Raises UsageError for a string whose hole holds what no hole can spell: `&`, `|`, or a Text with braces or colons.
    """
    return _expr(expr, _WHOLE)


def _expr(expr: Expr, needed: int) -> str:
    level, text = _spell(expr)
    return text if level >= needed else f"({text})"


def _spell(expr: Expr) -> tuple[int, str]:
    """The level of an expression's outermost form, and its text."""
    match expr:
        case IntLiteral(value):
            return (_PRIMARY if value >= 0 else _PREFIX), show_value(value)
        case FloatLiteral(value):
            return (_PREFIX if math.copysign(1, value) < 0 else _PRIMARY), _float(value)
        case BoolLiteral(value):
            return _PRIMARY, show_value(value)
        case TextLiteral(value):
            return _PRIMARY, f'"{value.translate(_BRACES).translate(_ESCAPES)}"'
        case NothingLiteral():
            return _PRIMARY, "nothing"
        case Name(name):
            return _PRIMARY, name
        case Not(operand):
            return _COMPARISON, f"not {_expr(operand, _COMPARISON)}"
        case Binary("in", item, collection):
            return _binary("in", collection, item)
        case Binary(op, left, right):
            return _binary(op, left, right)
        case Index(collection, IntLiteral(0)):
            bare = not isinstance(collection, (IntLiteral, FloatLiteral, Index, Length, NewSeq))
            return _PRIMARY, f"{_expr(collection, _PRIMARY if bare else _PARENTHESISED)}[0]"
        case Index(collection, index):
            return _PRIMARY, f"item {_short(index)} of {_expr(collection, _PRIMARY)}"
        case Slice(collection, first, last):
            return _WHOLE, f"items {_bound(first)} through {_bound(last)} of {_expr(collection, _WHOLE)}"
        case Length(collection):
            return _PRIMARY, f"length of {_expr(collection, _PRIMARY)}"
        case Copy(value):
            return _PRIMARY, f"copy({_expr(value, _WHOLE)})"
        case Call(function, args):
            return _PRIMARY, f"{function}({_list(args)})"
        case ListLiteral(items):
            return _PRIMARY, f"[{_list(items)}]"
        case NewSeq(element):
            return _PRIMARY, "[]" if element is None else f"a new Seq of {_element(element)}"
        case Interpolation(parts):
            return _PRIMARY, f'"{"".join(_part(part) for part in parts)}"'


def _binary(op: str, left: Expr, right: Expr) -> tuple[int, str]:
    level, of_left, of_right, spelling = _BINARY[op]
    return level, f"{_expr(left, of_left)} {spelling} {_expr(right, of_right)}"


def _float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    return repr(value).replace("inf", "infinity")


def _list(items: tuple[Expr, ...]) -> str:
    return ", ".join(_expr(item, _WHOLE) for item in items)


def _short(index: Expr) -> str:
    """An index as the English form takes it: a numeral, a name, or parentheses."""
    return _expr(index, _WHOLE) if isinstance(index, (IntLiteral, Name)) else f"({_expr(index, _WHOLE)})"


def _bound(bound: Expr) -> str:
    """A bound of a slice: a numeral other than 0, or parentheses."""
    if isinstance(bound, IntLiteral) and bound.value > 0:
        return show_value(bound.value)
    return f"({_expr(bound, _WHOLE)})"


def _part(part: str | Hole) -> str:
    if isinstance(part, str):
        return part.translate(_BRACES).translate(_ESCAPES)
    for node in walk(part.value):
        match node:
            case Binary("&" | "|"):
                raise UsageError("a hole of a string can't spell & or |", "", "give the value a name with Let")
            case TextLiteral(value) if any(c in value for c in "{}:="):
                raise UsageError("a hole of a string can't hold this Text", "", "give the Text a name with Let")
            case _:
                pass
    text = _expr(part.value, _WHOLE).translate(_ESCAPES)
    return f"{{{text}:{part.spec}}}" if part.spec else f"{{{text}}}"


def print_type(type_: Type) -> str:
    """The text of a type."""
    return type_.name if type_.element is None else f"{type_.name} of {_element(type_.element)}"


def _element(type_: Type) -> str:
    text = print_type(type_)
    return f"({text})" if type_.element is not None else text


def print_program(program: Program) -> str:
    """The text of a program: natives, functions, Main."""
    blocks = [_native(n) for n in program.natives]
    blocks += [f"{_head(f)}:\n{_block(f.body, 1)}" for f in program.functions]
    if program.main:
        blocks.append("\n".join(["## Main", *_statements(program.main, 0)]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _native(native: Native) -> str:
    returns = f" -> {print_type(native.returns)}" if native.returns else ""
    return f"## To native {native.name} {_params(native.params)}{returns}"


def _head(function: Function) -> str:
    returns = f" -> {print_type(function.returns)}" if function.returns else ""
    return f"## To {function.name} {_params(function.params)}{returns}"


def _params(params: tuple[Param, ...]) -> str:
    groups = [f"({p.name}: {'mutable ' if p.mutable else ''}{print_type(p.type)})" for p in params]
    return " and ".join(groups) or "()"


def _block(body: tuple[Stmt, ...], depth: int) -> str:
    return "\n".join(_statements(body, depth))


def _statements(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    """The lines of a block; a comment stands for an empty one, since its indentation counts."""
    indent = "    " * depth
    if not body and depth:
        yield f"{indent}# nothing"
    for statement in body:
        for line, inner in _lines(statement):
            yield indent + line
            if inner is not None:
                yield from _statements(inner, depth + 1)


def _lines(statement: Stmt) -> Iterator[tuple[str, tuple[Stmt, ...] | None]]:
    """The lines of a statement, each with the block below it, if it has one."""
    match statement:
        case Let(name, value, None, mutable):
            yield f"Let {'mutable ' if mutable else ''}{name} be {print_expr(value)}.", None
        case Let(name, value, type_, mutable) if type_ is not None:
            yield f"{'mut ' if mutable else ''}{name}: {print_type(type_)} = {print_expr(value)}.", None
        case Set(name, value):
            yield f"Set {name} to {print_expr(value)}.", None
        case SetItem(place, value):
            yield f"Set {print_expr(place)} to {print_expr(value)}.", None
        case Push(value, place):
            yield f"Push {print_expr(value)} to {print_expr(place)}.", None
        case Pop(place, into):
            yield f"Pop from {print_expr(place)}{f' into {into}' if into else ''}.", None
        case If(branches, otherwise):
            for number, (condition, body) in enumerate(branches):
                yield f"{'Otherwise If' if number else 'If'} {print_expr(condition)}:", body
            if otherwise:
                yield "Otherwise:", otherwise
        case While(BoolLiteral(True), body):
            yield "Repeat forever:", body
        case While(condition, body):
            yield f"While {print_expr(condition)}:", body
        case RepeatRange(var, first, last, body):
            yield f"Repeat for {var} from {print_expr(first)} to {print_expr(last)}:", body
        case RepeatIn(var, collection, body):
            yield f"Repeat for {var} in {print_expr(collection)}:", body
        case Break():
            yield "Break.", None
        case Return(None):
            yield "Return.", None
        case Return(value) if value is not None:
            yield f"Return {print_expr(value)}.", None
        case CallStmt(call):
            yield f"{print_expr(call)}.", None
        case Show(value):
            yield f"Show {print_expr(value)}.", None
        case Assert(condition):
            yield f"Assert that {print_expr(condition)}.", None
        case _:
            raise AssertionError(statement)
