"""What is known of an integer without running anything: at least 1, at least 0, an Int at all.

By this the code generators leave out what can't happen: a negative index, a divisor of zero.
"""

from __future__ import annotations

from collections.abc import Callable

from spatial.logos.scopes import Range
from spatial.logos.syntax import Binary, Call, Expr, IntLiteral, Length, Name


def range_of(expr: Expr, of_name: Callable[[str], Range]) -> Range:
    """What is known of an expression's value; `of_name` tells it of a variable."""
    match expr:
        case IntLiteral(value):
            return "pos" if value > 0 else "nat" if value == 0 else "int"
        case Length():
            return "nat"
        case Name(name):
            return of_name(name)
        case Binary(op, left, right):
            a, b = range_of(left, of_name), range_of(right, of_name)
            return _range_of_binary(op, a, b) if a and b else None
        case Call("floor" | "ceil" | "round", (_,)):
            return "int"
        case _:
            return None


def _range_of_binary(op: str, a: Range, b: Range) -> Range:
    """The range of an operation on two integers."""
    both_positive = a == "pos" and b == "pos"
    no_negative = a != "int" and b != "int"
    match op:
        case "+":
            return "pos" if no_negative and "pos" in (a, b) else "nat" if no_negative else "int"
        case "*":
            return "pos" if both_positive else "nat" if no_negative else "int"
        case "-":
            return "int"
        case "/" | "//" | "%":
            return ("nat" if no_negative else "int") if b == "pos" else None
        case _:
            return None
