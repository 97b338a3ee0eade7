"""Tokens to expressions, the operands: literals, names, calls, lists, English forms, strings with holes.

With `operators` below it this reads every expression. Statements are `parser`'s business.
"""

from __future__ import annotations

import math

from spatial.errors import SourceError
from spatial.logos.cursor import ParseError, describe, is_reserved
from spatial.logos.lexer import lex_hole
from spatial.logos.operators import Operators
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
    NothingLiteral,
    Slice,
    Span,
    TextLiteral,
)
from spatial.logos.tokens import Token
from spatial.logos.words import INT64_MAX, INT64_MIN, SEQ_TYPES, TIMES

MAX_WIDTH = 4096

_PREFIX_NOUNS: dict[str, BinaryOp] = {"sum": "+", "product": "*", "difference": "-", "quotient": "/", "remainder": "%"}
_OUTSIDE_WORDS = {
    "some": "an optional value",
    "manifest": "a zone's manifest",
    "chunk": "a chunk of a zone",
    "escape": "foreign code",
}


class ExpressionParser(Operators):
    """Reads whole expressions."""

    def primary(self) -> Expr:
        """A literal, a name, a call, a list, an English form or a parenthesised expression, with its postfixes."""
        return self.nested(self._primary)

    def _primary(self) -> Expr:
        token = self.token
        start = token.span
        match token.kind:
            case "int" | "float":
                return self.number(negative=False, start=start)
            case "text":
                self.advance()
                return self._postfix(TextLiteral(token.text, start))
            case "template":
                self.advance()
                return self._postfix(self._template(token))
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

    def number(self, negative: bool, start: Span) -> Expr:
        """The Int or Float under the cursor; its sign, if it has one, is passed already."""
        token = self.advance()
        here = self.since(start)
        after = self.token
        if self.is_unit(after) and after.span.line == token.span.line:
            self.outside(f"the unit {after.text}")
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
        if token.text in TIMES and token.text not in self.bound:
            self.outside("a point in time", start)
        return Name(token.text, start)

    def _postfix(self, base: Expr) -> Expr:
        """`base` with the `[i]` and `.f(...)` that follow it."""
        while True:
            if self.take_symbol("["):
                index = self.expression()
                if self.is_symbol(":"):
                    self.fail('a slice is not written with ":"', "", 'write "items a through b of xs"')
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
        typed = self.token.kind == "word" and self.ahead().kind == "symbol" and self.ahead().text == ":"
        if typed or self.is_symbol(")"):
            self.outside("a closure or empty tuple", start)
        inner = self.expression()
        if self.is_symbol(","):
            self.outside("a tuple", start)
        self.expect_symbol(")", "to close the parenthesis")
        if self.is_symbol("->"):
            self.outside("a closure", start)
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
        found = self.bare_type()
        return NewSeq(found.element, self.since(start))

    def _item(self) -> Expr:
        start = self.advance().span
        if self.token.kind == "int" and not self.token.text.strip("0_"):
            self.fail("item 0 does not exist", "the first item is item 1")
        index = self._short_operand("the index")
        self.expect_word("of", "after the index (a computed index stands in parentheses)")
        collection = self.primary()
        return Index(collection, index, self.since(start))

    def _short_operand(self, role: str) -> Expr:
        """An index of an English form: a numeral, a name with its postfixes, or parentheses."""
        start = self.token.span
        if self.is_symbol("-") and self.ahead().kind in ("int", "float"):
            self.advance()
            return self.number(negative=True, start=start)
        if self.is_symbol("("):
            self.advance()
            inner = self.nested(self.expression)
            self.expect_symbol(")", f"to close {role}")
            return inner
        if self.token.kind == "text":
            self.outside("a map")
        if self.token.kind in ("int", "float") or (self.token.kind == "word" and not self.is_word("of")):
            return self.primary()
        self.fail(f"expected {role}, found {describe(self.token)}")

    def _is_slice(self) -> bool:
        following = self.ahead()
        if following.kind in ("int", "float") or (following.kind == "symbol" and following.text in ("(", "-")):
            return self.is_word("through", offset=2) or following.text != "-" or self.is_word("through", offset=3)
        return following.kind == "word" and self.is_word("through", offset=2)

    def _slice(self) -> Expr:
        start = self.advance().span
        first = self._short_operand("the first index")
        self.expect_word("through", "between the indices of a slice")
        last = self._short_operand("the last index")
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
        left = self.additive()
        self.expect_word("and", "between the two operands")
        right = self.additive()
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
            mend = f"use .N for decimals or N, <N, >N, ^N for a width, N at most {MAX_WIDTH}"
            self.fail(f'"{spec}" is no format', "", mend, span)
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
