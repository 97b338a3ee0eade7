"""Small programs drawn at random for the interpreter: sequences changed, lent, copied and grown in every way at hand.

Most run to their end; errors of the language are as welcome, since both modes have to tell the same one. Each kind of
value has a few variables, so that statements meet in them.
"""

from __future__ import annotations

from collections.abc import Callable

INTS, FLOATS, SEQS, REALS, TABLES = ("i", "j"), ("x", "y"), ("as", "bs"), ("us", "vs"), ("g", "h")
START = """Let i be 2.
Let j be 3.
Let x be 1.5.
Let y be -0.25.
Let as be [1, 2, 3].
Let bs be [4, 5, 6, 7].
Let us be [0.5, 2.0].
Let vs be 3 copies of 1.25.
Let g be [[1, 2], [3, 4]].
Let h be 2 copies of [5, 6].
"""
END = 'Show "{i} {j} {x} {y} {as} {bs} {us} {vs} {g} {h}".\n'
NATIVE = "## To native exp (x: Float) -> Float\n"


class Drawer:
    """Draws a program with `number(n)`, a number below n."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self.number = number
        self.functions = 0
        self.depth = 0
        self.extra_ints: list[str] = []
        self.extra_seqs: list[str] = []
        self.mutables: list[str] = []

    def one(self, *options: Callable[[], str]) -> str:
        return options[self.number(len(options))]()

    def name(self, names: tuple[str, ...] | list[str]) -> str:
        own = [name for name in names if name in ("n", "xs", "ms")]
        if own and self.number(8):  # a function looks at what it was given, as a rule
            return own[self.number(len(own))]
        return names[self.number(len(names))]

    # Expressions

    def integer(self, depth: int = 2) -> str:
        if depth == 0:
            return self.one(lambda: str(self.number(7) - 2), lambda: self.name([*INTS, *self.extra_ints]))
        a, b = lambda: self.integer(depth - 1), lambda: self.integer(depth - 1)
        return self.one(
            lambda: self.integer(0),
            lambda: f"({a()} {self.name(('+', '-', '*', '/', '//', '%'))} {b()})",
            lambda: f"(length of {self.name([*SEQS, *REALS, *TABLES])})",
            lambda: f"item {self.index(depth)} of {self.sequence(0)}",
            lambda: f"item {self.index(depth)} of item {self.index(0)} of {self.name(TABLES)}",
            lambda: f"{self.name(('min', 'max'))}({a()}, {b()})",
            lambda: f"{self.name(('floor', 'ceil', 'round'))}({self.real(depth - 1)})",
            lambda: self.call() or self.integer(0),
        )

    def index(self, depth: int) -> str:
        return self.one(
            lambda: str(1 + self.number(2)),
            lambda: str(1 + self.number(2)),
            lambda: f"({self.integer(depth - 1 if depth else 0)})",
        )

    def real(self, depth: int = 2) -> str:
        if depth == 0:
            return self.one(lambda: f"{self.number(5)}.5", lambda: self.name(FLOATS))
        a, b = lambda: self.real(depth - 1), lambda: self.real(depth - 1)
        return self.one(
            lambda: self.real(0),
            lambda: f"({a()} {self.name(('+', '-', '*', '/'))} {b()})",
            lambda: f"({self.integer(depth - 1)} + {a()})",
            lambda: f"item {self.index(depth)} of {self.name(REALS)}",
            lambda: f"exp({a()})",
            lambda: f"{self.name(('min', 'max'))}({a()}, {self.integer(depth - 1)})",
        )

    def truth(self) -> str:
        compared = self.name(("==", "!=", "<", "<=", ">", ">="))
        return self.one(
            lambda: f"{self.integer()} {compared} {self.integer()}",
            lambda: f"{self.real()} {compared} {self.integer(1)}",
            lambda: f"({self.truth()}) {self.name(('and', 'or'))} not ({self.truth()})",
            lambda: f"{self.sequence(1)} == {self.sequence(1)}",
            lambda: f"{self.integer(1)} in {self.sequence(0)}",
            lambda: self.integer(1),
        )

    def sequence(self, depth: int = 1) -> str:
        """An expression of Ints in a row."""
        if depth == 0:
            return self.name([*SEQS, *self.extra_seqs])
        return self.one(
            lambda: self.sequence(0),
            lambda: f"[{self.integer(1)}, {self.integer(1)}]",
            lambda: f"(item {self.index(1)} of {self.name(TABLES)})",
            lambda: f"({self.sequence(0)} + [{self.integer(1)}])",
            lambda: f"(items {1 + self.number(2)} through ({self.integer(1)}) of {self.sequence(0)})",
            lambda: f"({self.number(3)} copies of {self.integer(1)})",
        )

    def row(self) -> str:
        """An expression of two Ints, as a rule."""
        return self.one(
            lambda: f"[{self.integer(1)}, {self.integer(1)}]",
            lambda: f"item {self.index(1)} of {self.name(TABLES)}",
            lambda: f"2 copies of {self.integer(1)}",
        )

    def call(self) -> str:
        if not self.functions or self.depth > 1:
            return ""
        number = self.number(self.functions)
        return f"f{number}({self.integer(0)}, {self.sequence(1)}, {self.place()})"

    def place(self) -> str:
        """What a mutable parameter is given."""
        return self.one(
            lambda: self.name([*SEQS, *self.mutables]),
            lambda: self.name([*SEQS, *self.mutables]),
            lambda: self.name([*SEQS, *self.mutables]),
            lambda: f"item {self.index(0)} of {self.name(TABLES)}",
        )

    # Statements

    def statements(self, count: int, indent: str = "") -> str:
        self.depth += 1
        found = "".join(self.statement(indent) for _ in range(count))
        self.depth -= 1
        return found

    def statement(self, indent: str) -> str:
        inner, seq, table = indent + "    ", self.name([*SEQS, *self.extra_seqs]), self.name(TABLES)
        block = lambda: self.statements(1 + self.number(2), inner)  # noqa: E731 - drawn where it stands
        if self.depth > 3:
            return f"{indent}Set {self.name(INTS)} to {self.integer(1)}.\n"
        return self.one(*self._statements(indent, inner, seq, table, block)) or f"{indent}Show {self.integer(1)}.\n"

    def _statements(
        self, indent: str, inner: str, seq: str, table: str, block: Callable[[], str]
    ) -> tuple[Callable[[], str], ...]:
        return (
            lambda: f"{indent}Set {self.name([*INTS, *self.extra_ints])} to {self.integer()}.\n",
            lambda: f"{indent}Set {self.name(FLOATS)} to {self.real()}.\n",
            lambda: f"{indent}Set {self.name(SEQS)} to {self.sequence()}.\n",
            lambda: f"{indent}Let {seq} be {self.sequence()}.\n" if indent else f"{indent}Show {self.sequence()}.\n",
            lambda: f"{indent}Push {self.integer()} to {seq}.\n",
            lambda: f"{indent}Push {self.real()} to {self.name(REALS)}.\n",
            lambda: f"{indent}Push {self.row()} to {table}.\n",
            lambda: f"{indent}Set item {self.index(1)} of {seq} to {self.integer()}.\n",
            lambda: f"{indent}Set item {self.index(1)} of {table} to {self.row()}.\n",
            lambda: f"{indent}Set item {self.index(1)} of item {self.index(0)} of {table} to {self.integer()}.\n",
            lambda: f"{indent}Pop from {seq}.\n",
            lambda: f"{indent}Set {table} to {table}.\n",
            lambda: f'{indent}Show "{{{self.integer()}}} {{{self.name([*SEQS, *TABLES])}}}".\n',
            lambda: f"{indent}If {self.truth()}:\n{block()}{indent}Otherwise:\n{block()}",
            lambda: (
                f"{indent}Repeat for k from {self.number(3)} to {self.number(4)}:\n{inner}Set i to i + k.\n{block()}"
            ),
            lambda: f"{indent}Repeat for k in items 1 through 2 of {seq}:\n{inner}Set j to j - k.\n{block()}",
            lambda: f"{indent}Repeat for r in items 1 through 2 of {table}:\n{inner}Push length of r to r.\n{block()}",
            lambda: (
                f"{indent}Let t be 0.\n{indent}While t < 3 and ({self.truth()}):\n{inner}Set t to t + 1.\n{block()}"
            ),
            lambda: (made := self.call()) and f"{indent}Show {made}.\n",
            lambda: (made := self.call()) and f"{indent}{made}.\n",
        )

    def function(self) -> str:
        """A function of an Int, a sequence and one that reaches the caller; it sees and changes globals too."""
        self.extra_ints, self.extra_seqs, self.mutables = ["n"], ["xs", "ms"], ["ms"]
        body = self.statements(1 + self.number(3), "    ")
        given = self.integer(1)
        self.extra_ints, self.extra_seqs, self.mutables = [], [], []
        head = f"## To f{self.functions} (n: Int, xs: Seq of Int, ms: mutable Seq of Int) -> Int:\n"
        self.functions += 1
        return f"{head}{body}    Return {given}.\n\n"

    def program(self) -> str:
        functions = "".join(self.function() for _ in range(self.number(3)))
        return f"{NATIVE}\n{functions}## Main\n{START}{self.statements(3 + self.number(7))}{END}"


def drawn(number: Callable[[int], int]) -> str:
    """A program."""
    return Drawer(number).program()
