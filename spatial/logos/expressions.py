"""Tokens to expressions: the precedence table, comparisons, and the English forms of the language.

Every spelling is folded into the canonical node of `syntax` here. Depth is bounded, both of the recursion and of the
tree. Statements are `parser`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

from spatial.errors import Problem, SourceError, nearest
from spatial.logos.lexer import Token, lex_hole
from spatial.logos.strings import HoleText
from spatial.logos.syntax import (
    Binary,
    BinaryOp,
    BoolLiteral,
    Call,
    Copy,
    Expr,
    FloatLiteral,
    Hole,
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
    Type,
    children,
)
from spatial.logos.words import INT64_MAX, INT64_MIN, OUTSIDE_TYPES, RESERVED, SCALAR_TYPES, SEQ_TYPES

MAX_NESTING = 64
MAX_DEPTH = 200
MAX_WIDTH = 4096

COMPARISONS: dict[str, BinaryOp] = {"==": "==", "=": "==", "!=": "!=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_CHAINING = ("==", "!=", "<", ">", "<=", ">=")

# Binary operators by level, loosest first: symbols and the words that open an English spelling.
_LEVELS: tuple[dict[str, BinaryOp], ...] = (
    {"|": "|"},
    {"^": "^", "xor": "^"},
    {"&": "&"},
    {"+": "+", "-": "-", "plus": "+", "minus": "-", "combined": "++", "followed": "+", "contains": "in", "copies": "*"},
    {"shifted": "<<"},
    {"*": "*", "/": "/", "//": "//", "%": "%", "times": "*", "divided": "/", "modulo": "%", "mod": "%"},
)
_ADDITIVE = 3
_POWER = len(_LEVELS)
_PREFIX_NOUNS: dict[str, BinaryOp] = {"sum": "+", "product": "*", "difference": "-", "quotient": "/", "remainder": "%"}
_OPERATOR_WORDS = frozenset({"plus", "minus", "times", "divided", "modulo", "mod"})
_OUTSIDE_WORDS = {
    "union": "a set operation",
    "intersection": "a set operation",
    "some": "an optional value",
    "manifest": "a zone's manifest",
    "chunk": "a chunk of a zone",
}


class ParseError(Exception):
    """One problem, on its way to the statement that recovers from it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class ExpressionParser:
    """A cursor over tokens that reads types and expressions."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.nesting = 0
        # Names bound above in the current function (or Main) by Let, `=` or as a parameter: they win over words.
        self.bound: set[str] = set()

    # The cursor

    @property
    def token(self) -> Token:
        """The token under the cursor."""
        return self.tokens[self.at]

    def ahead(self, offset: int = 1) -> Token:
        """A token further on (the last one, `end`, if there are no more)."""
        return self.tokens[min(self.at + offset, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Move past the token under the cursor and return it."""
        token = self.token
        if token.kind != "end":
            self.at += 1
        return token

    def is_symbol(self, *symbols: str) -> bool:
        """Whether one of these symbols stands here."""
        return self.token.kind == "symbol" and self.token.text in symbols

    def is_word(self, *words: str, offset: int = 0) -> bool:
        """Whether these words follow one another from here (or from `offset` tokens on)."""
        return all(self.ahead(offset + i).low == word for i, word in enumerate(words))

    def take_symbol(self, *symbols: str) -> bool:
        """Pass one of these symbols if it stands here."""
        if self.is_symbol(*symbols):
            self.advance()
            return True
        return False

    def take_word(self, *words: str) -> bool:
        """Pass these words if they all stand here."""
        if self.is_word(*words):
            for _ in words:
                self.advance()
            return True
        return False

    def expect_symbol(self, symbol: str, context: str) -> Token:
        """Pass a symbol that must stand here."""
        if not self.is_symbol(symbol):
            self.fail(f'expected "{symbol}" {context}, found {describe(self.token)}')
        return self.advance()

    def expect_word(self, word: str, context: str) -> Token:
        """Pass a word that must stand here."""
        if not self.is_word(word):
            self.fail(f'expected "{word}" {context}, found {describe(self.token)}')
        return self.advance()

    def name(self, role: str) -> Token:
        """A name that can be bound: a word that is not part of the grammar."""
        token = self.token
        if token.kind != "word":
            self.fail(f"expected the name of {role}, found {describe(token)}")
        if is_reserved(token.text):
            self.fail(
                f'"{token.text}" can\'t name {role}', "the word is part of the grammar", f"try {token.text}_ or a longer name"
            )
        return self.advance()

    def fail(self, what: str, why: str = "", mend: str = "", span: Span | None = None) -> NoReturn:
        """Give up on the current statement."""
        raise ParseError(Problem(what, why, mend, (span or self.token.span).place))

    def outside(self, what: str, span: Span | None = None) -> NoReturn:
        """Refuse a construct of the language that the tensor subset leaves out."""
        self.fail(f"{what} is not part of a tensor program", "", "use numbers, Seqs, loops and functions", span)

    def since(self, start: Span) -> Span:
        """From `start` to the end of the token just passed."""
        return start.to(self.tokens[self.at - 1].span)

    def nested[T](self, read: Callable[[], T]) -> T:
        """Read something that nests, within the limit."""
        if self.nesting >= MAX_NESTING:
            self.fail(f"nested deeper than {MAX_NESTING} levels", "", "give a part of it a name with Let, or a function")
        self.nesting += 1
        try:
            return read()
        finally:
            self.nesting -= 1

    # Types

    def type_(self) -> Type:
        """A type: `Float`, `Seq of Int`, `Seq of (Seq of Float)`; a `where` clause is read and dropped."""
        found = self.nested(self._type)
        if self.take_word("where"):
            self.expression()
        return found

    def _type(self) -> Type:
        if self.take_symbol("("):
            inner = self.nested(self._type)
            self.expect_symbol(")", "after the type")
            return inner
        token = self.token
        if token.kind != "word":
            self.fail(f"expected a type, found {describe(token)}")
        self.advance()
        if token.text in SEQ_TYPES:
            return Type("Seq", self.nested(self._type) if self.take_word("of") else None)
        if token.text in SCALAR_TYPES:
            return Type(SCALAR_TYPES[token.text])
        if token.text in OUTSIDE_TYPES or token.low == "fn":
            self.outside(f"the type {token.text}", token.span)
        known = [*SCALAR_TYPES, *SEQ_TYPES]
        hint = nearest(token.text, known) or "the types are Int, Float, Bool, Text and Seq of these"
        self.fail(f'unknown type "{token.text}"', "", hint, token.span)

    # Expressions, loosest level first

    def expression(self) -> Expr:
        """A whole expression; refuses trees too deep to walk."""
        start = self.token.span
        found = self._or()
        if self.is_word("in") and (self.ahead().kind == "text"):
            self.outside("a conversion of units or time zones")
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
        elif self.is_symbol(*COMPARISONS):
            op = COMPARISONS[self.advance().text]
        else:
            return left
        right = self._level(0)
        found = self._binary(op, left, right)
        if self.is_symbol(*_CHAINING):
            op = COMPARISONS[self.advance().text]
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
            low = self._level(0)
            self.expect_word("and", 'between the bounds of "is between"')
            high = self._level(0)
            return self._binary("and", self._binary("<=", low, left), self._binary("<=", left, high))
        return None

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
            if self.token.low in ("equal", "less", "greater", "more", "at", "even", "odd", "between", "divisible"):
                if self.token.text not in self.bound:
                    self.fail(f'"is not {self.token.text}" is no comparison', "", 'write "not a ... b", or "is not b"')
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
        while True:
            found = self._operator(level)
            if found is None:
                return left
            op, at = found
            right = self._power()
            while self._operator(at + 1, peek=True) is not None:
                right = self._operators(at + 1, right)
            if op == "in":  # `xs contains x`
                left = Binary("in", right, left, left.span.to(right.span))
            elif op == "copies":
                left = Call("repeatSeq", (right, left), left.span.to(right.span))
            else:
                left = Binary(op, left, right, left.span.to(right.span))

    def _operator(self, level: int, peek: bool = False) -> tuple[BinaryOp | str, int] | None:
        """The binary operator here and its level, if that is `level` or tighter; passed unless `peek`."""
        token = self.token
        word = token.low or (token.text if token.kind == "symbol" else "")
        if token.text in self.bound and (word in _OPERATOR_WORDS or word == "copies"):
            return None  # a bound variable of that name wins
        for at in range(level, len(_LEVELS)):
            if word not in _LEVELS[at]:
                continue
            op: BinaryOp | str = _LEVELS[at][word]
            extra = {"combined": "with", "followed": "by", "divided": "by", "copies": "of"}.get(word)
            if extra is not None and self.ahead().low != extra:
                return None
            if peek:
                return op, at
            self.advance()
            if extra is not None:
                self.advance()
            if word == "copies":
                op = "copies"
            elif word == "shifted":
                op = self._shift()
            return op, at
        if word in ("union", "intersection", "without") and level <= _ADDITIVE and token.text not in self.bound:
            self.outside("a set operation")
        return None

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
            return self._number(negative=True, start=start)
        if self.is_word("infinity") and self.token.text not in self.bound:
            self.advance()
            return FloatLiteral(-math.inf, self.since(start))
        operand = self.nested(self._prefix)
        return Binary("-", IntLiteral(0, start), operand, self.since(start))

    # Primaries

    def primary(self) -> Expr:
        """A literal, a name, a call, a list, an English form or a parenthesised expression, with its postfixes."""
        return self.nested(self._primary)

    def _primary(self) -> Expr:
        token = self.token
        start = token.span
        match token.kind:
            case "int" | "float":
                return self._number(negative=False, start=start)
            case "text":
                self.advance()
                return self._postfix(TextLiteral(token.text, start))
            case "template":
                self.advance()
                return self._template(token)
            case "outside":
                self.outside(token.text)
            case "word":
                return self._postfix(self._word())
            case "symbol" if token.text == "(":
                return self._postfix(self._parenthesised())
            case "symbol" if token.text == "[":
                return self._postfix(self._list())
            case "symbol" if token.text == "{":
                self.outside("a map or set")
            case _:
                self.fail(f"expected an expression, found {describe(token)}")

    def _number(self, negative: bool, start: Span) -> Expr:
        token = self.advance()
        here = self.since(start)
        digits = token.text.replace("_", "").replace(",", "")
        if token.kind == "float":
            return FloatLiteral(-float(digits) if negative else float(digits), here)
        radix = digits[:2].lower() in ("0x", "0b", "0o")
        try:
            value = int(digits, 0) if radix else int(digits[:32])
        except ValueError:
            self.fail(f'"{token.text}" is no numeral', "", "", start)
        if radix and value < 1 << 64:
            value -= (value > INT64_MAX) << 64
        value = -value if negative else value
        if len(digits) > 32 or not INT64_MIN <= value <= INT64_MAX:
            self.fail(
                f"the numeral {token.text} does not fit 64 bits",
                "literals are 64-bit, though an Int has no bound",
                "compute it, or write a Float with .0",
                start,
            )
        return IntLiteral(value, here)

    def _word(self) -> Expr:
        """An expression that starts with a word."""
        token = self.token
        start = token.span
        match token.low:
            case "item":
                return self._item()
            case "items" if self._is_slice():
                return self._slice()
            case "length" | "copy":
                return self._length_or_copy()
            case "the" if self.is_word("length", offset=1) or self.is_word("copy", offset=1):
                self.advance()
                return self._length_or_copy()
            case "the" if self.ahead().low in _PREFIX_NOUNS and self.is_word("of", offset=2):
                return self._prefix_arithmetic()
            case "new":
                self.advance()
                return self._new(start)
            case "a" | "an" if self.is_word("new", offset=1):
                self.advance()
                self.advance()
                return self._new(start)
            case _:
                pass
        self.advance()
        match token.text:
            case "true" | "false":
                return BoolLiteral(token.text == "true", start)
            case "nothing" | "none" | "empty":
                return NothingLiteral(start)
            case "infinity" | "nan" if token.text not in self.bound:
                return FloatLiteral(math.inf if token.text == "infinity" else math.nan, start)
            case _:
                pass
        if self.is_symbol("("):
            return self._call(token, ())
        if token.low in _OUTSIDE_WORDS and token.text not in self.bound and self.token.kind in ("word", "int", "float"):
            self.outside(_OUTSIDE_WORDS[token.low], start)
        if is_reserved(token.text):
            self.fail(f'expected an expression, found "{token.text}"', "", "", start)
        return Name(token.text, start)

    def _postfix(self, base: Expr) -> Expr:
        """`base` with the `[i]` and `.f(...)` that follow it."""
        while True:
            if self.take_symbol("["):
                index = self.expression()
                self.expect_symbol("]", "after the index")
                base = Index(base, index, self.since(base.span))
            elif self.take_symbol("."):
                name = self.name("a function")
                if not self.is_symbol("("):
                    self.outside("a field of a structure", name.span)
                base = self._call(name, (base,))
            elif self.token.kind == "outside" and self.token.text.startswith("a field"):
                self.outside(self.token.text)
            else:
                return base

    def arguments(self) -> tuple[Expr, ...]:
        """The arguments of a call, parentheses included."""
        self.expect_symbol("(", "before the arguments")
        found: list[Expr] = []
        while not self.is_symbol(")"):
            found.append(self.expression())
            if not self.take_symbol(","):
                break
        self.expect_symbol(")", "after the arguments")
        return tuple(found)

    def _call(self, name: Token, receiver: tuple[Expr, ...]) -> Expr:
        args = (*receiver, *self.arguments())
        return call(name.text, args, self.since(receiver[0].span if receiver else name.span))

    def _parenthesised(self) -> Expr:
        start = self.advance().span
        if self.is_symbol(")") or (self.token.kind == "word" and self.ahead().kind == "symbol" and self.ahead().text == ":"):
            self.outside("a closure or empty tuple", start)
        inner = self.expression()
        if self.is_symbol(","):
            self.outside("a tuple", start)
        self.expect_symbol(")", "to close the parenthesis")
        return inner

    def _list(self) -> Expr:
        start = self.advance().span
        items: list[Expr] = []
        while not self.is_symbol("]"):
            items.append(self.expression())
            if not self.take_symbol(","):
                break
        self.expect_symbol("]", "to close the list")
        if items:
            return ListLiteral(tuple(items), self.since(start))
        element = self.type_() if self.take_word("of") else None
        return NewSeq(element, self.since(start))

    def _new(self, start: Span) -> Expr:
        name = self.token
        if name.text not in SEQ_TYPES:
            self.outside(f"a new {name.text}" if name.kind == "word" else "a structure", name.span)
        found = self._type()
        return NewSeq(found.element, self.since(start))

    def _item(self) -> Expr:
        start = self.advance().span
        index = self._short_operand("the index")
        if isinstance(index, IntLiteral) and index.value == 0:
            self.fail("item 0 does not exist", "the first item is item 1", "", index.span)
        if isinstance(index, TextLiteral):
            self.outside("a map", index.span)
        self.expect_word("of", "after the index (a computed index stands in parentheses)")
        collection = self.primary()
        return Index(collection, index, self.since(start))

    def _short_operand(self, role: str) -> Expr:
        """An index of an English form: a numeral, a Text, a name with its postfixes, or parentheses."""
        start = self.token.span
        if self.is_symbol("-") and self.ahead().kind in ("int", "float"):
            self.advance()
            return self._number(negative=True, start=start)
        if self.is_symbol("("):
            self.advance()
            inner = self.nested(self.expression)
            self.expect_symbol(")", f"to close {role}")
            return inner
        if self.token.kind in ("int", "float", "text") or (self.token.kind == "word" and not self.is_word("of")):
            return self.primary()
        self.fail(f"expected {role}, found {describe(self.token)}")

    def _is_slice(self) -> bool:
        following = self.ahead()
        if following.kind == "int" or (following.kind == "symbol" and following.text in ("(", "-")):
            return self.is_word("through", offset=2) or following.text != "-" or self.is_word("through", offset=3)
        return following.kind == "word" and self.is_word("through", offset=2)

    def _slice(self) -> Expr:
        start = self.advance().span
        first = self._short_operand("the first index")
        self.expect_word("through", "between the indices of a slice")
        last = self._short_operand("the last index")
        for bound in (first, last):
            if isinstance(bound, IntLiteral) and bound.value == 0:
                self.fail("item 0 does not exist", "the first item is item 1", "", bound.span)
        collection: Expr = self.nested(self.expression) if self.take_word("of") else Name("items", self.since(start))
        return Slice(collection, first, last, self.since(start))

    def _length_or_copy(self) -> Expr:
        token = self.advance()
        if self.is_symbol("("):
            return self._call(token, ())
        self.expect_word("of", f'after "{token.text}"')
        if token.low == "length":
            return Length(self.primary(), self.since(token.span))
        return Copy(self.nested(self.expression), self.since(token.span))

    def _prefix_arithmetic(self) -> Expr:
        start = self.advance().span
        op = _PREFIX_NOUNS[self.advance().low]
        self.advance()
        left = self._level(_ADDITIVE)
        self.expect_word("and", "between the two operands")
        right = self._level(_ADDITIVE)
        return Binary(op, left, right, self.since(start))

    # Strings with holes

    def _template(self, token: Token) -> Expr:
        parts: list[str | Hole] = []
        for piece in token.pieces:
            if isinstance(piece, str):
                _add_literal(parts, piece)
            else:
                self._hole(token, piece, parts)
        return Interpolation(tuple(parts), token.span)

    def _hole(self, token: Token, piece: HoleText, parts: list[str | Hole]) -> None:
        """Add the hole (and the label of `{name=}`) to the parts."""
        span = _inside(token, piece.offset)
        if not piece.closed:
            self.fail("a hole without an end", "", 'close it with "}", or double the brace', span)
        text, spec, label = _split_hole(piece.text)
        if spec and (spec[0] in ".<>^" or spec[0].isdigit()) and not _is_spec(spec):
            self.fail(
                f'"{spec}" is no format', "", f"use .N for decimals or N, <N, >N, ^N for a width, N at most {MAX_WIDTH}", span
            )
        if not text.strip():
            self.fail("an empty hole", "", "write an expression between the braces, or double them", span)
        if label:
            _add_literal(parts, label + "=")
        try:
            tokens = lex_hole(text, span)
        except SourceError as error:
            raise ParseError(error.problems[0]) from None
        inner = ExpressionParser(tokens)
        inner.nesting, inner.bound = self.nesting, self.bound
        value = inner.expression()
        parts.append(Hole(value, spec if _is_spec(spec) else "", span))


def _add_literal(parts: list[str | Hole], text: str) -> None:
    if parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _inside(token: Token, offset: int) -> Span:
    """The place `offset` characters into the content of a string token."""
    before = token.text[:offset]
    lines = before.count("\n")
    if lines:
        return Span(token.span.file, token.span.line + lines, len(before) - before.rfind("\n"))
    return Span(token.span.file, token.span.line, token.span.column + 1 + offset)


def _split_hole(text: str) -> tuple[str, str, str]:
    """Expression, format and label of a hole: `{x=:.2}` is ("x", ".2", "x")."""
    label = ""
    before, equals, after = text.rpartition("=")
    name = before.strip()
    if equals and name and name.replace("_", "a").isalnum():
        text, label = before + after, name
    expr, colon, spec = text.rpartition(":")
    if colon and spec and (spec[0] in ".<>^" or spec[0].isdigit() or spec == "$"):
        return expr, spec, label
    if colon and expr.strip() and spec.strip().isalpha() and not spec.strip().isupper():
        return expr, "", label  # a format of another kind is ignored
    return (expr, "", label) if colon and spec.strip() in ("+", "-", "e", "E", "#") else (text, "", label)


def _is_spec(spec: str) -> bool:
    digits = spec[1:] if spec[:1] in (".", "<", ">", "^") else spec
    return spec == "$" or (digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) <= MAX_WIDTH)


def call(name: str, args: tuple[Expr, ...], span: Span) -> Expr:
    """A call, in canonical form: `length(x)` and `copy(x)` have nodes of their own."""
    match name, args:
        case "length", (inner,):
            return Length(inner, span)
        case "copy", (inner,):
            return Copy(inner, span)
        case _:
            return Call(name, args, span)


def is_reserved(word: str) -> bool:
    """Whether the grammar needs this word."""
    return word in RESERVED or (word.lower() in RESERVED and word.lower() not in ("true", "false", "nothing", "none"))


def describe(token: Token) -> str:
    """A token as an error names it."""
    match token.kind:
        case "end":
            return "the end of the text"
        case "indent":
            return "a deeper indentation"
        case "dedent":
            return "the end of the block"
        case "header":
            return f'the header "## {token.text.capitalize()}"'
        case "stop":
            return "the end of the statement"
        case "text" | "template":
            return "a Text"
        case "outside":
            return token.text
        case _:
            return f'"{token.text}"'


def _deeper_than(expr: Expr, limit: int) -> bool:
    """Whether a tree has more than `limit` levels; looks at each node once, level by level."""
    level = [expr]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True
