"""Tokens to blocks: statements one after the other, and how to go on after one that can't be read.

A problem is recorded and its statement skipped, so that one run tells every problem it can. What a statement is, the
floors above know.
"""

from __future__ import annotations

from collections.abc import Sequence

from spatial.errors import Problem, SourceError
from spatial.logos.cursor import ParseError, describe
from spatial.logos.expressions import ExpressionParser
from spatial.logos.syntax import Stmt
from spatial.logos.tokens import Token

MAX_PROBLEMS = 20


class BlockParser(ExpressionParser):
    """Reads blocks of statements, and collects problems."""

    def __init__(self, tokens: list[Token], problems: list[Problem]) -> None:
        super().__init__(tokens)
        self.problems = problems

    def statement(self) -> Sequence[Stmt]:
        """One statement (two or more where one line means several); the floor above knows how."""
        raise NotImplementedError

    def give_up(self) -> None:
        """Raise the problems found, in the order of the text, if there are any."""
        if self.problems:
            raise SourceError(sorted(self.problems, key=_position)[:MAX_PROBLEMS])

    def statement_or_skip(self) -> Sequence[Stmt]:
        """One statement and the stop after it; none, and a problem more, if it can't be read."""
        start = self.at
        try:
            found = self.statement()
        except ParseError as error:
            self.nesting = 0
            self.problems.append(error.problem)
            if len(self.problems) >= MAX_PROBLEMS:
                self.give_up()
            self._skip(start)
            return ()
        if self.token.kind == "stop":
            self.advance()
        return found

    def _skip(self, start: int) -> None:
        """After a problem in the statement that began at `start`: pass what is left of its lines, and its block."""
        if self.at == start:
            self.advance()
        while self.token.kind not in ("end", "header", "dedent"):
            if self.token.kind == "indent":
                self._skip_block()
                return
            if self.tokens[self.at - 1].kind == "stop" or self.token.span.line > self.tokens[self.at - 1].span.end_line:
                return
            self.advance()

    def _skip_block(self) -> None:
        depth = 0
        while self.token.kind not in ("end", "header"):
            depth += (self.token.kind == "indent") - (self.token.kind == "dedent")
            self.advance()
            if depth == 0:
                return

    def block(self, owner: str) -> tuple[Stmt, ...]:
        """An indented block."""
        if self.token.kind != "indent":
            self.fail(f"expected an indented block after {owner}, found {describe(self.token)}")
        self.advance()
        return self.nested(self._rest_of_block)

    def _rest_of_block(self) -> tuple[Stmt, ...]:
        nesting = self.nesting
        body: list[Stmt] = []
        while self.token.kind not in ("dedent", "end", "header"):
            if self.token.kind == "indent":
                why = "a statement, or a comment, is indented deeper than the block it is in"
                self.problems.append(Problem("unexpected indentation", why, "", self.token.span.place))
                self._skip_block()
                continue
            body += self.statement_or_skip()
            self.nesting = nesting
        if self.token.kind == "dedent":
            self.advance()
        return tuple(body)


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.place.line, problem.place.column) if problem.place else (0, 0)
