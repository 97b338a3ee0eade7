"""Tokens to programs: statements, blocks, functions; `parse` and `parse_files`.

A statement that can't be read is recorded and skipped up to the next one, so that one run tells every problem it can.
`x = e` becomes Let or Set here, by what the text above binds. The parser runs nothing and knows no values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from spatial.errors import Problem, SourceError, nearest
from spatial.logos.contracts import before_returns
from spatial.logos.cursor import ParseError, describe
from spatial.logos.expressions import ExpressionParser, call
from spatial.logos.lexer import Token, lex
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
    Function,
    If,
    Index,
    IntLiteral,
    Let,
    Name,
    Native,
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
    Span,
    Stmt,
    TextLiteral,
    Type,
    While,
)
from spatial.logos.words import OUTSIDE_STATEMENTS

MAX_PROBLEMS = 20

_COMPOUND: dict[str, BinaryOp] = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%"}
_STATEMENT_WORDS = ("Let", "Set", "Push", "Pop", "If", "While", "Repeat", "Break", "Return", "Call", "Show", "Assert")


class Parser(ExpressionParser):
    """Reads a whole program."""

    def __init__(self, tokens: list[Token], problems: list[Problem]) -> None:
        super().__init__(tokens)
        self.problems = problems
        self.definitions: dict[str, Function | Native] = {}
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

    # Programs and recovery

    def program(self) -> Program:
        """Every block of the text; raises SourceError with all problems found."""
        main: list[Stmt] = []
        while self.token.kind != "end":
            if self.token.kind in ("indent", "dedent"):
                self.advance()  # at top level indentation means nothing
            elif self.token.kind == "header" and self.token.text == "main":
                self.advance()
            else:
                main += self._statement_or_skip()
        if self.problems:
            raise SourceError(sorted(self.problems, key=_position)[:MAX_PROBLEMS])
        functions = tuple(d for d in self.definitions.values() if isinstance(d, Function))
        natives = tuple(d for d in self.definitions.values() if isinstance(d, Native))
        return Program(functions, natives, tuple(main))

    def _statement_or_skip(self) -> Sequence[Stmt]:
        start = self.at
        try:
            found = self._statement()
        except ParseError as error:
            self.nesting = 0
            self.problems.append(error.problem)
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

    def _block(self, owner: str) -> tuple[Stmt, ...]:
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
            body += self._statement_or_skip()
            self.nesting = nesting
        if self.token.kind == "dedent":
            self.advance()
        return tuple(body)

    # Statements

    def _statement(self) -> Sequence[Stmt]:
        """One statement (two or more where one line means several)."""
        token = self.token
        if token.kind == "header" or self.is_word("to"):
            self.advance()
            self._function(token.span)
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
            return self._block("the condition")
        found = tuple(self.nested(self._statement))
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
        return [While(condition, self._block('"While"'), self.since(start))]

    def _repeat(self) -> Sequence[Stmt]:
        start = self.advance().span
        if self.take_word("forever"):
            here = self.since(start)
            self.expect_symbol(":", 'after "forever"')
            return [While(BoolLiteral(True, here), self._block('"Repeat"'), self.since(start))]
        self.take_word("for")
        if self.is_symbol("("):
            self.outside("a tuple of loop variables")
        name = self.name("a loop variable").text
        if self.take_word("in"):
            collection = self.expression()
            self.expect_symbol(":", "after the collection")
            return [RepeatIn(name, collection, self._block('"Repeat"'), self.since(start))]
        self.expect_word("from", 'or "in" after the loop variable')
        first = self.expression()
        self.expect_word("to", "after the first bound")
        last = self.expression()
        self.expect_symbol(":", "after the bounds")
        return [RepeatRange(name, first, last, self._block('"Repeat"'), self.since(start))]

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

    # Functions

    def _function(self, start: Span) -> None:
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
            body = self._block("the head of the function")
        finally:
            self.statement_readers = outer
        return (*required, *before_returns(body, tuple(ensured)))


def _position(problem: Problem) -> tuple[int, int]:
    return (problem.place.line, problem.place.column) if problem.place else (0, 0)


def parse_files(files: Sequence[tuple[str, str]]) -> Program:
    """The program of several sources, (name, text) each, read as one text.

    Raises SourceError with every problem found, each with its file, line and column.
    """
    tokens, problems = lex(files)
    return Parser(tokens, problems).program()


def parse(text: str, file: str = "<source>") -> Program:
    """The program of one source. Raises SourceError with every problem found."""
    return parse_files([(file, text)])
