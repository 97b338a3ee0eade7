"""Tokens to expressions, the operators: levels of precedence, comparisons and their English spellings.

Every spelling is folded into the canonical node of `syntax` here. The depth of the tree is bounded. Operands are
`expressions`' business.
"""

from __future__ import annotations

import math
from itertools import islice
from typing import Literal

from spatial.logos.cursor import Cursor, describe
from spatial.logos.syntax import Binary, BinaryOp, Call, Expr, FloatLiteral, IntLiteral, Not, Span, children, walk

MAX_DEPTH = 200
MAX_TWICE = 1000

_COMPARISONS: dict[str, BinaryOp] = {"==": "==", "=": "==", "!=": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_CHAINING = ("==", "!=", "<", ">", "<=", ">=")
_AFTER_IS = ("equal", "less", "greater", "more", "at", "even", "odd", "between", "divisible")

_Operator = BinaryOp | Literal["copies", "contains"]

# Binary operators by level, loosest first: symbols, and the words that open an English spelling.
_ADDITIVE_WORDS: dict[str, _Operator] = {
    "plus": "+",
    "minus": "-",
    "combined": "++",
    "followed": "+",
    "contains": "contains",
    "copies": "copies",
}
_LEVELS: tuple[dict[str, _Operator], ...] = (
    {"|": "|"},
    {"^": "^", "xor": "^"},
    {"&": "&"},
    {"+": "+", "-": "-", **_ADDITIVE_WORDS},
    {"shifted": "<<"},
    {"*": "*", "/": "/", "//": "//", "%": "%", "times": "*", "divided": "/", "modulo": "%", "mod": "%"},
)
_ADDITIVE = 3
_SECOND_WORD = {"combined": "with", "followed": "by", "divided": "by", "copies": "of"}
_YIELDING = frozenset({"plus", "minus", "times", "divided", "modulo", "mod", "copies"})


class Operators(Cursor):
    """Reads everything looser than a primary."""

    def primary(self) -> Expr:
        """An operand; the floor above knows how."""
        raise NotImplementedError

    def number(self, negative: bool, start: Span) -> Expr:
        """A numeral, its sign passed already; the floor above knows how."""
        raise NotImplementedError

    def additive(self) -> Expr:
        """An expression of the additive level, as `the sum of` takes two."""
        return self._level(_ADDITIVE)

    def expression(self) -> Expr:
        """A whole expression; refuses trees too deep to walk."""
        start = self.token.span
        found = self._or()
        if _deeper_than(found, MAX_DEPTH):
            self.fail(
                f"an expression more than {MAX_DEPTH} operators deep", "", "give a part of it a name with Let", start
            )
        return found

    def _or(self) -> Expr:
        left = self._and()
        while self.take_word("or"):
            left = self._binary("or", left, self._and())
        return left

    def _and(self) -> Expr:
        left = self.comparison()
        while self.take_word("and"):
            left = self._binary("and", left, self.comparison())
        return left

    def _binary(self, op: BinaryOp, left: Expr, right: Expr) -> Binary:
        return Binary(op, left, right, left.span.to(self.tokens[self.at - 1].span))

    def comparison(self) -> Expr:
        """`not`, a comparison, a predicate, or a chain of two comparisons."""
        start = self.token.span
        if self.is_word("not"):
            self.advance()
            return Not(self.nested(self.comparison), self.since(start))
        left = self._level(0)
        if self.is_word("in") and (self.ahead().kind == "text" or self.is_unit(self.ahead())):
            self.outside("a conversion of units or time zones")
        if self.take_word("in"):
            return self._binary("in", left, self._level(0))
        if self.take_word("not", "in"):
            inside = self._binary("in", left, self._level(0))
            return Not(inside, inside.span)
        if self.is_word("is"):
            predicate = self._predicate(left)
            if predicate is not None:
                return predicate
            op = self._is_comparison()
        elif self.take_word("equals"):
            op: BinaryOp = "=="
        elif self.is_symbol(*_COMPARISONS):
            op = _COMPARISONS[self.advance().text]
        else:
            return left
        right = self._level(0)
        found = self._binary(op, left, right)
        if self.is_symbol(*_CHAINING):
            op = _COMPARISONS[self.advance().text]
            self._check_twice(right)
            found = self._binary("and", found, self._binary(op, right, self._level(0)))
            if self.is_symbol(*_CHAINING):
                self.fail("a chain of more than two comparisons", "", 'join the third with "and"')
        return found

    def _predicate(self, left: Expr) -> Expr | None:
        """`is even`, `is odd`, `is divisible by n`, `is between a and b`; None (nothing passed) if it is none."""
        start = self.token.span
        if self.is_word("is", "even") or self.is_word("is", "odd"):
            self.advance()
            odd = self.advance().low == "odd"
            here = self.since(start)
            return self._binary("==", self._binary("%", left, IntLiteral(2, here)), IntLiteral(int(odd), here))
        if self.take_word("is", "divisible", "by"):
            divisor = self._level(0)
            return self._binary("==", self._binary("%", left, divisor), IntLiteral(0, self.since(start)))
        if self.take_word("is", "between"):
            self._check_twice(left)
            low = self._level(0)
            self.expect_word("and", 'between the bounds of "is between"')
            high = self._level(0)
            return self._binary("and", self._binary("<=", low, left), self._binary("<=", left, high))
        return None

    def _check_twice(self, expr: Expr) -> None:
        """Refuse a large operand where it comes to stand twice: nested, such operands would grow without bound."""
        if any(True for _ in islice(walk(expr), MAX_TWICE, None)):
            self.fail("the middle of a chain of comparisons is too large", "", "give it a name with Let", expr.span)

    def _is_comparison(self) -> BinaryOp:
        """Pass the words of a comparison that starts with `is`."""
        spellings: tuple[tuple[BinaryOp, tuple[str, ...]], ...] = (
            ("<", ("less", "than")),
            (">", ("greater", "than")),
            ("<=", ("at", "most")),
            (">=", ("at", "least")),
            ("<", ("before",)),
            (">", ("after",)),
            ("==", ("equal", "to")),
            ("==", ("identical", "to")),
            ("~=", ("approximately", "equal", "to")),
            ("~=", ("approximately",)),
        )
        start = self.advance().span
        for op, words in spellings:
            if self.take_word(*words):
                if self.is_word("or", "equal", "to") or self.is_word("or", words[0], "than"):
                    self.fail('"or equal to" is no comparison', "", 'write "is at most" or "is at least"')
                return op
        if self.take_word("not"):
            if self.token.low in _AFTER_IS and self.token.text not in self.bound:
                self.fail(f'"is not {self.token.text}" is no comparison', "", 'write "not a is ... b", or "a != b"')
            return "!="
        if self.token.kind in ("int", "float") or (self.is_symbol("-") and self.ahead().kind in ("int", "float")):
            return "=="
        found = describe(self.token)
        self.fail(f'"is" before {found} is no comparison', "", 'write "equals" or "==" between two values', start)

    def _level(self, level: int) -> Expr:
        """The binary operators of one level and all tighter ones, associating to the left."""
        left = self._power()
        return self._operators(level, left)

    def _operators(self, level: int, left: Expr) -> Expr:
        """Precedence climbing: join `left` with the operators from `level` on that follow it."""
        while (found := self._operator(level)) is not None:
            op, at = self._pass_operator(found)
            right = self._power()
            while self._operator(at + 1) is not None:
                right = self._operators(at + 1, right)
            span = left.span.to(right.span)
            match op:
                case "copies":
                    left = Call("repeatSeq", (right, left), span)
                case "contains":
                    left = Binary("in", right, left, span)
                case _:
                    left = Binary(op, left, right, span)
        return left

    def _operator(self, level: int) -> tuple[_Operator, int] | None:
        """The binary operator that stands here and its level, if that is `level` or tighter; nothing is passed."""
        token = self.token
        word = token.low or (token.text if token.kind == "symbol" else "")
        if token.text in self.bound and word in _YIELDING:
            return None  # a variable of that name wins
        for at in range(level, len(_LEVELS)):
            if word in _LEVELS[at]:
                complete = word not in _SECOND_WORD or self.ahead().low == _SECOND_WORD[word]
                return (_LEVELS[at][word], at) if complete else None
        if word in ("union", "intersection", "without") and level <= _ADDITIVE and token.text not in self.bound:
            self.outside("a set operation")
        return None

    def _pass_operator(self, found: tuple[_Operator, int]) -> tuple[_Operator, int]:
        """Pass the words of an operator; a shift says its direction only now."""
        op, at = found
        word = self.advance().low
        if word in _SECOND_WORD:
            self.advance()
        return (self._shift(), at) if word == "shifted" else (op, at)

    def _shift(self) -> BinaryOp:
        direction = self.token.low
        if direction not in ("left", "right"):
            self.fail(f'expected "left" or "right" after "shifted", found {describe(self.token)}')
        self.advance()
        self.expect_word("by", "after the direction of a shift")
        return "<<" if direction == "left" else ">>"

    def _power(self) -> Expr:
        base = self._prefix()
        if self.take_symbol("**") or self.take_word("to", "the", "power", "of"):
            return self._binary("**", base, self.nested(self._power))
        return base

    def _prefix(self) -> Expr:
        start = self.token.span
        if self.take_symbol("~"):
            operand = self.nested(self._prefix)
            here = self.since(start)
            return Binary("^", operand, IntLiteral(-1, here), here)
        if not self.is_symbol("-"):
            return self.primary()
        self.advance()
        if self.token.kind in ("int", "float"):
            return self.number(negative=True, start=start)
        if self.is_word("infinity") and self.token.text not in self.bound:
            self.advance()
            return FloatLiteral(-math.inf, self.since(start))
        operand = self.nested(self._prefix)
        return Binary("-", IntLiteral(0, start), operand, self.since(start))


def _deeper_than(expr: Expr, limit: int) -> bool:
    """Whether a tree has more than `limit` levels; a node that stands twice in a level is looked at once."""
    level = [expr]
    for _ in range(limit):
        level = list({id(child): child for node in level for child in children(node)}.values())
        if not level:
            return False
    return True
