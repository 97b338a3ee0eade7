"""Tokens to statements: every spelling, folded into the canonical records of `syntax`.

`x = e` becomes Let or Set here, by what the text above binds. Functions are `parser`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from spatial.errors import Problem, nearest
from spatial.logos.blocks import BlockParser
from spatial.logos.cursor import describe
from spatial.logos.expressions import call
from spatial.logos.syntax import (
    Assert,
    Binary,
    BinaryOp,
    BoolLiteral,
    Break,
    Call,
    CallStmt,
    Expr,
    FloatLiteral,
    If,
    Index,
    IntLiteral,
    Let,
    Name,
    Pop,
    Push,
    RepeatIn,
    RepeatRange,
    Return,
    Set,
    SetItem,
    Show,
    Span,
    Stmt,
    TextLiteral,
    Type,
    While,
)
from spatial.logos.tokens import Token
from spatial.logos.words import OUTSIDE_STATEMENTS, OUTSIDE_TAILS

_COMPOUND: dict[str, BinaryOp] = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}
_STATEMENT_WORDS = ("Let", "Set", "Push", "Pop", "If", "While", "Repeat", "Break", "Return", "Call", "Show", "Assert")


class StatementParser(BlockParser):
    """Reads statements."""

    def __init__(self, tokens: list[Token], problems: list[Problem]) -> None:
        super().__init__(tokens, problems)
        self.statement_readers: dict[str, Callable[[], Sequence[Stmt]]] = {
            "let": self._let,
            "set": self._set,
            "push": self._push,
            "pop": self._pop,
            "if": self._if,
            "while": self._while,
            "repeat": self._repeat,
            "for": self._repeat,
            "break": self._break,
            "return": self._return,
            "call": self._call_with,
            "show": self._show,
            "assert": self._assert,
            "require": self._assert,
            "mut": self._mut,
        }

    def function(self, start: Span) -> None:
        """What follows the word `To`; the floor above knows how."""
        raise NotImplementedError

    def statement(self) -> Sequence[Stmt]:
        """One statement (two or more where one line means several)."""
        token = self.token
        if token.kind == "header" or self.is_word("to"):
            self.advance()
            self.function(token.span)
            return ()
        if token.kind != "word":
            self._no_statement()
        following = self.ahead()
        symbol = following.text if following.kind == "symbol" else ""
        reader = self.statement_readers.get(token.low)
        if reader is not None and (token.low != "mut" or following.kind == "word"):
            return reader()
        if symbol == "=" or (symbol == ":" and self._is_typed_assignment()):
            return self._assign(mutable=False)
        if symbol in ("(", "[", ".") or symbol in _COMPOUND or token.low == "item":
            return self._expression_statement()
        self._no_statement()

    def _no_statement(self) -> NoReturn:
        token = self.token
        if token.low == "continue":
            self.fail('there is no "Continue"', "", "put what it would pass over under an If")
        if token.low in OUTSIDE_TAILS:
            self.outside(OUTSIDE_TAILS[token.low])
        if token.low in OUTSIDE_STATEMENTS:
            self.outside(f'the statement "{token.text.capitalize()}"')
        if token.kind == "word" and self.is_word("is", offset=1):
            self.fail(
                f'expected a statement, found "{token.text} is"', "", f'"Let {token.text} be" binds, "If" compares'
            )
        hint = nearest(token.text.capitalize(), _STATEMENT_WORDS) if token.kind == "word" else ""
        self.fail(
            f"expected a statement, found {describe(token)}", "", hint or 'statements start with "Let", "Set", ...'
        )

    def _is_typed_assignment(self) -> bool:
        """Whether an `=` follows the `:` here before the statement ends."""
        offset = 2
        while (token := self.ahead(offset)).kind not in ("stop", "end", "indent", "dedent", "header"):
            if token.kind == "symbol" and token.text == "=":
                return True
            offset += 1
        return False

    def _let(self) -> Sequence[Stmt]:
        start = self.advance().span
        mutable = self.take_word("mutable") or self.take_word("mut")
        if self.is_symbol("("):
            self.outside("a tuple of variables")
        name = self.name("a variable")
        annotation = self.type_span() if self.take_symbol(":") else None
        if not (self.take_word("be") or self.take_symbol("=")):
            self.fail(f'expected "be" after "Let {name.text}", found {describe(self.token)}')
        value = self.expression()
        if annotation is not None:
            self._check_annotation(annotation, value)
        self._capacity()
        self.bound.add(name.text)
        return [Let(name.text, value, annotation[0] if annotation else None, mutable, self.since(start))]

    def type_span(self) -> tuple[Type, str]:
        """A type and its first word as written."""
        word = self.token.text
        return self.type_(), word

    def _check_annotation(self, annotation: tuple[Type, str], value: Expr) -> None:
        """The one check the language makes of types: the literal of an annotated Let."""
        found, accepted, mend = "", frozenset[str](), ""
        match value:
            case IntLiteral():
                found, accepted, mend = (
                    "Int",
                    frozenset({"int", "nat", "byte"}),
                    "write a numeral with .0, or drop the type",
                )
            case FloatLiteral():
                found, accepted, mend = "Real", frozenset({"real"}), 'write "Real", or "x: Float = ..." without Let'
            case BoolLiteral():
                found, accepted = "Bool", frozenset({"bool", "boolean"})
            case TextLiteral():
                found, accepted = "Text", frozenset({"text", "string"})
            case _:
                return
        if annotation[1].lower() not in accepted:
            what = f"the literal is a {found}, the type says {annotation[1]}"
            self.fail(what, "a literal after an annotated Let must have just that type", mend, value.span)

    def _capacity(self) -> None:
        """`with capacity e`: read, and of no effect."""
        if self.take_word("with", "capacity"):
            self.expression()

    def _mut(self) -> Sequence[Stmt]:
        self.advance()
        return self._assign(mutable=True)

    def _assign(self, mutable: bool) -> Sequence[Stmt]:
        """`x = e`, `x: T = e`, `mut x = e`."""
        name = self.name("a variable")
        annotation = self.type_() if self.take_symbol(":") else None
        self.expect_symbol("=", f"after {name.text}")
        value = self.expression()
        self._capacity()
        here = self.since(name.span)
        if not mutable and annotation is None and name.text in self.bound:
            return [Set(name.text, value, here)]
        self.bound.add(name.text)
        return [Let(name.text, value, annotation, mutable, here)]

    def _expression_statement(self) -> Sequence[Stmt]:
        """A call, or `place op= value`."""
        target = self.primary()
        if self.is_symbol(*_COMPOUND):
            op = _COMPOUND[self.advance().text]
            value = self.expression()
            return [self._assignment(target, Binary(op, target, value, self.since(target.span)), target.span)]
        if isinstance(target, Call):
            return [CallStmt(target, target.span)]
        mend = "use Set to change an item, Show to print a value"
        self.fail(f"expected a statement, found an expression and {describe(self.token)}", "", mend, target.span)

    def _assignment(self, target: Expr, value: Expr, start: Span) -> Stmt:
        match target:
            case Name(name):
                return Set(name, value, self.since(start))
            case Index():
                self._check_place(target)
                return SetItem(target, value, self.since(start))
            case _:
                self.fail("this can't be set", "only a variable or an item of one can", "", target.span)

    def _check_place(self, place: Expr) -> None:
        inner = place
        while isinstance(inner, Index):
            inner = inner.collection
        if not isinstance(inner, Name):
            self.fail("this can't be changed in place", "it is no variable, nor an item of one", "", place.span)

    def _set(self) -> Sequence[Stmt]:
        start = self.advance().span
        target = self.primary()
        if self.take_word("at"):
            target = Index(target, self.expression(), self.since(target.span))
        self.expect_word("to", "after what is set")
        return [self._assignment(target, self.expression(), start)]

    def _push(self) -> Sequence[Stmt]:
        start = self.advance().span
        values = [self.expression()]
        while self.take_symbol(","):
            values.append(self.expression())
        self.expect_word("to", "after what is pushed")
        place = self.primary()
        self._check_place(place)
        return [Push(value, place, self.since(start)) for value in values]

    def _pop(self) -> Sequence[Stmt]:
        start = self.advance().span
        self.expect_word("from", 'after "Pop"')
        place = self.primary()
        self._check_place(place)
        into = self.name("a variable").text if self.take_word("into") else None
        return [Pop(place, into, self.since(start))]

    def _if(self) -> Sequence[Stmt]:
        start = self.advance().span
        branches: list[tuple[Expr, tuple[Stmt, ...]]] = []
        otherwise: tuple[Stmt, ...] = ()
        while True:
            condition = self.expression()
            self.take_word("then")
            self.expect_symbol(":", "after the condition")
            branches.append((condition, self._branch()))
            if self.take_word("elif"):
                continue
            if not (self.take_word("otherwise") or self.take_word("else")):
                break
            if not self.take_word("if"):
                self.expect_symbol(":", 'after "Otherwise"')
                otherwise = self._branch()
                break
        return [If(tuple(branches), otherwise, self.since(start))]

    def _branch(self) -> tuple[Stmt, ...]:
        """An indented block, or exactly one statement."""
        if self.token.kind == "indent":
            return self.block("the condition")
        found = tuple(self.nested(self.statement))
        if self.token.kind == "stop":
            self.advance()
        return found

    def _while(self) -> Sequence[Stmt]:
        start = self.advance().span
        condition = self.expression()
        if self.is_symbol("(") and self.is_word("decreasing", offset=1):
            self.advance()
            self.advance()
            self.expression()
            self.expect_symbol(")", "after the measure")
        self.expect_symbol(":", "after the condition")
        return [While(condition, self.block('"While"'), self.since(start))]

    def _repeat(self) -> Sequence[Stmt]:
        start = self.advance().span
        if self.take_word("forever"):
            here = self.since(start)
            self.expect_symbol(":", 'after "forever"')
            return [While(BoolLiteral(True, here), self.block('"Repeat"'), self.since(start))]
        self.take_word("for")
        if self.is_symbol("("):
            self.outside("a tuple of loop variables")
        name = self.name("a loop variable").text
        if self.take_word("in"):
            collection = self.expression()
            self.expect_symbol(":", "after the collection")
            return [RepeatIn(name, collection, self.block('"Repeat"'), self.since(start))]
        self.expect_word("from", 'or "in" after the loop variable')
        first = self.expression()
        self.expect_word("to", "after the first bound")
        last = self.expression()
        self.expect_symbol(":", "after the bounds")
        return [RepeatRange(name, first, last, self.block('"Repeat"'), self.since(start))]

    def _break(self) -> Sequence[Stmt]:
        return [Break(self.advance().span)]

    def _return(self) -> Sequence[Stmt]:
        start = self.advance().span
        if self.token.kind in ("stop", "end", "dedent", "header"):
            return [Return(None, start)]
        value = self.expression()
        here = Return(value, self.since(start))
        if self.take_word("if"):
            return [If(((self.expression(), (here,)),), (), self.since(start))]
        return [here]

    def _call_with(self) -> Sequence[Stmt]:
        start = self.advance().span
        name = self.name("a function")
        args: list[Expr] = []
        if self.take_word("with"):
            args.append(self._given())
            while self.take_word("and") or self.take_symbol(","):
                args.append(self._given())
        elif self.is_symbol("("):
            args += self.arguments()
        found = call(name.text, tuple(args), self.since(start))
        return [CallStmt(found, found.span)] if isinstance(found, Call) else []

    def _given(self) -> Expr:
        """An argument of `Call f with`; that it is given away changes nothing for a value."""
        self.take_word("give")
        return self.comparison()

    def _show(self) -> Sequence[Stmt]:
        start = self.advance().span
        value = self.expression()
        if not self.take_word("to"):
            return [Show(value, self.since(start))]
        self.take_word("the")
        if self.take_word("console"):
            return [Show(value, self.since(start))]
        name = self.name("a function")
        here = self.since(start)
        return [CallStmt(Call(name.text, (value,), here), here)]

    def _assert(self) -> Sequence[Stmt]:
        start = self.advance().span
        self.take_word("that")
        return [Assert(self.expression(), self.since(start))]
