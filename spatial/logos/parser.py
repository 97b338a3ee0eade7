"""Tokens to programs: functions, natives, Main; `parse` and `parse_files`.

The parser runs nothing and knows no values.
"""

from __future__ import annotations

from collections.abc import Sequence

from spatial.errors import Problem
from spatial.logos.contracts import before_returns
from spatial.logos.lexer import lex
from spatial.logos.statements import StatementParser
from spatial.logos.syntax import Assert, Function, Native, Param, Program, Span, Stmt
from spatial.logos.tokens import Token


class Parser(StatementParser):
    """Reads a whole program."""

    def __init__(self, tokens: list[Token], problems: list[Problem]) -> None:
        super().__init__(tokens, problems)
        self.definitions: dict[str, Function | Native] = {}

    def program(self) -> Program:
        """Every block of the text; raises SourceError with all problems found."""
        main: list[Stmt] = []
        while self.token.kind != "end":
            if self.token.kind in ("indent", "dedent"):
                self.advance()  # at top level indentation means nothing
            elif self.token.kind == "header" and self.token.text == "main":
                self.advance()
            else:
                main += self.statement_or_skip()
        self.give_up()
        functions = tuple(d for d in self.definitions.values() if isinstance(d, Function))
        natives = tuple(d for d in self.definitions.values() if isinstance(d, Native))
        return Program(functions, natives, tuple(main))

    def function(self, start: Span) -> None:
        """What follows `To`: a function with its body, or a native."""
        native = self.take_word("native")
        name = self.name("a function").text
        if self.is_word("of") and self.ahead().text == "[":
            self.outside("a generic function")
        params = self._params()
        returns = self.type_() if self.take_symbol("->") else None
        if self.is_word("is") and self.ahead().low in ("native", "exported"):
            self.outside(f'"is {self.ahead().text}"')
        self.definitions.pop(name, None)  # of two definitions the later counts, at its own place
        if native:
            self.definitions[name] = Native(name, params, returns, self.since(start))
            return
        self.expect_symbol(":", "after the head of the function")
        outer, self.bound = self.bound, {p.name for p in params}
        try:
            body = self._body()
        finally:
            self.bound = outer
        self.definitions[name] = Function(name, params, returns, body, self.since(start))

    def _params(self) -> tuple[Param, ...]:
        """Groups of parameters in parentheses, with a connecting word between them."""
        params: list[Param] = []
        while self.take_symbol("("):
            while not self.is_symbol(")"):
                name = self.name("a parameter")
                if any(p.name == name.text for p in params):
                    self.fail(f'two parameters are named "{name.text}"', "", "", name.span)
                self.expect_symbol(":", f"and a type after the parameter {name.text}")
                mutable = self.take_word("mutable") or self.take_word("mut")
                params.append(Param(name.text, self.type_(), mutable, self.since(name.span)))
                if not self.take_symbol(","):
                    break
            self.expect_symbol(")", "after the parameters")
            if self.token.kind == "word" and self.ahead().text == "(":
                self.advance()
        return tuple(params)

    def _body(self) -> tuple[Stmt, ...]:
        """The block of a function; `Requires` and `Ensures` become asserts."""
        required: list[Stmt] = []
        ensured: list[Stmt] = []

        def clause(into: list[Stmt]) -> Sequence[Stmt]:
            start = self.advance().span
            into.append(Assert(self.expression(), self.since(start)))
            return ()

        outer = self.statement_readers
        clauses = {"requires": lambda: clause(required), "ensures": lambda: clause(ensured)}
        self.statement_readers = {**outer, **clauses}
        try:
            body = self.block("the head of the function")
        finally:
            self.statement_readers = outer
        return (*required, *before_returns(body, tuple(ensured)))


def parse_files(files: Sequence[tuple[str, str]]) -> Program:
    """The program of several sources, (name, text) each, read as one text.

    Raises SourceError with every problem found, each with its file, line and column.
    """
    tokens, problems = lex(files)
    return Parser(tokens, problems).program()


def parse(text: str, file: str = "<source>") -> Program:
    """The program of one source. Raises SourceError with every problem found."""
    return parse_files([(file, text)])
