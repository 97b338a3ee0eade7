"""A cursor over tokens: looking ahead, insisting, giving up; names and types.

The ground of the parser. It knows that expressions exist (a `where` clause has one), not what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from spatial.errors import Problem, nearest
from spatial.logos.syntax import Expr, Span, Type
from spatial.logos.tokens import Token
from spatial.logos.words import LOWER_CASE_ONLY, OUTSIDE_TYPES, RESERVED, SCALAR_TYPES, SEQ_TYPES, UNITS

MAX_NESTING = 64

_T = TypeVar("_T")


class ParseError(Exception):
    """One problem, on its way to the statement that recovers from it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Cursor:
    """A position in a list of tokens, what is bound so far, and how deep we are."""

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

    def is_unit(self, token: Token) -> bool:
        """Whether a token is a unit of measure, and no variable of the program."""
        return token.low in UNITS and token.text not in self.bound

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
            mend = f"try {token.text}_ or a longer name"
            self.fail(f'"{token.text}" can\'t name {role}', "the word is part of the grammar", mend)
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

    def nested(self, read: Callable[[], _T]) -> _T:
        """Read something that nests, within the limit."""
        if self.nesting >= MAX_NESTING:
            self.fail(
                f"nested deeper than {MAX_NESTING} levels", "", "give a part of it a name with Let, or a function"
            )
        self.nesting += 1
        try:
            return read()
        finally:
            self.nesting -= 1

    # Types (they stand here because both statements and expressions need them)

    def type_(self) -> Type:
        """A type: `Float`, `Seq of Int`, `Seq of (Seq of Float)`; a `where` clause is read and dropped."""
        found = self.nested(self.bare_type)
        if self.take_word("where"):
            self.expression()
        return found

    def expression(self) -> Expr:
        """A whole expression; the floors above know how."""
        raise NotImplementedError

    def bare_type(self) -> Type:
        """A type without a `where` clause."""
        if self.take_symbol("("):
            inner = self.nested(self.bare_type)
            self.expect_symbol(")", "after the type")
            return inner
        token = self.token
        if token.kind != "word":
            self.fail(f"expected a type, found {describe(token)}")
        self.advance()
        if token.text in SEQ_TYPES:
            return Type("Seq", self.nested(self.bare_type) if self.take_word("of") else None)
        if token.text in SCALAR_TYPES:
            return Type(SCALAR_TYPES[token.text])
        if token.text in OUTSIDE_TYPES or token.low == "fn":
            self.outside(f"the type {token.text}", token.span)
        known = [*SCALAR_TYPES, *SEQ_TYPES]
        hint = nearest(token.text, known) or "the types are Int, Float, Bool, Text and Seq of these"
        self.fail(f'unknown type "{token.text}"', "", hint, token.span)


def is_reserved(word: str) -> bool:
    """Whether the grammar needs this word."""
    return word in RESERVED or word.lower() in RESERVED - LOWER_CASE_ONLY


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
