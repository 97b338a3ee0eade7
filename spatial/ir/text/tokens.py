"""Cutting a text of the IR into tokens, each with its place. Knows no statement and no record."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass

from spatial.errors import Place, Problem, SourceError, nearest, one_of

_HARMLESS = {"int": "0", "dims": "0x0", "float": "0.0", "string": '""'}
"""What is read on in place of a token that was refused."""

LONGEST_INT = 20
"""Digits of the longest integer literal: enough for 64 bits, far from what integers cost to read."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\#[^\n]*)
      | (?P<dims>[0-9]+x[0-9]+)(?![A-Za-z0-9_])
      | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)(?![A-Za-z0-9_])
      | (?P<int>[0-9]+)(?![A-Za-z0-9_])
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<mark>\.\.|==|!=|<=|>=|[{}\[\]():,=@+\-*/<>.])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """One token: `kind` is "dims", "float", "int", "word", "string", "mark" or "end"; `text` as written."""

    kind: str
    text: str
    place: Place

    def __str__(self) -> str:
        return "the end of the text" if self.kind == "end" else f"`{self.text}`"

    @property
    def string(self) -> str:
        """What a string token spells."""
        return str(json.loads(self.text, strict=False))


def tokens_of(text: str, file: str) -> tuple[list[Token], list[Problem]]:
    """The tokens of `text`, an end token last, and what could not be read as one (skipped)."""
    starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def place(at: int) -> Place:
        line = bisect_right(starts, at)
        return Place(file, line, at - starts[line - 1] + 1)

    tokens: list[Token] = []
    problems: list[Problem] = []
    at = 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if m is None:
            bad = re.compile(r'"[^\n]*|[A-Za-z0-9_]+|.', re.DOTALL).match(text, at)
            word = bad.group() if bad else text[at]
            if word.startswith('"'):
                problem = Problem("a string without its closing quote", mend='write `"` before the line ends')
            else:
                problem = Problem(f"`{word}` is no word, number or sign of this notation")
            problems.append(Problem(problem.what, problem.why, problem.mend, place(at)))
            at += len(word)
            continue
        token = Token(str(m.lastgroup), m.group(), place(at))
        if token.kind != "space":
            fault = _fault(token)
            if fault is not None:
                problems.append(fault)
                token = Token(token.kind, _HARMLESS[token.kind], token.place)
            tokens.append(token)
        at = m.end()
    tokens.append(Token("end", "", place(len(text))))
    return tokens, problems


def _fault(token: Token) -> Problem | None:
    """What is wrong with a token of a known shape."""
    match token.kind:
        case "int" | "dims" if max(map(len, token.text.split("x"))) > LONGEST_INT:
            return Problem("an integer of more than 20 digits", "no format holds it", place=token.place)
        case "float" if math.isinf(float(token.text)):
            return Problem(f"{token.text} is larger than any float", mend="write inf", place=token.place)
        case "string":
            try:
                token.string.encode()
            except (json.JSONDecodeError, UnicodeEncodeError):
                mend = 'use \\n, \\t, \\", \\\\ or \\uXXXX'
                return Problem(f"{token} has an escape that is none", mend=mend, place=token.place)
        case _:
            pass
    return None


class Cursor:
    """A position in a token list, with the small readings every statement is made of; problems end in `SourceError`."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    @property
    def after(self) -> Token:
        """The token after the next."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def next(self) -> Token:
        """The next token, taken (the end is never passed)."""
        token = self.token
        if token.kind != "end":
            self._at += 1
        return token

    def fail(self, what: str, why: str = "", mend: str = "", token: Token | None = None) -> SourceError:
        """The error to raise: `what` at `token` (the next one, if none is given)."""
        return SourceError(Problem(what, why, mend, (token or self.token).place))

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of these signs or words (unquoted)."""
        return self.token.kind in ("mark", "word") and self.token.text in texts

    def take(self, text: str) -> bool:
        """Take the sign or word `text` if it comes next."""
        if self.sees(text):
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take `text`, or fail."""
        if not self.sees(text):
            raise self.fail(f"{self.token} where `{text}` should be")
        return self.next()

    def name(self, what: str) -> str:
        """A name, plain or quoted; `what` says of what."""
        token = self.token
        if token.kind not in ("word", "string"):
            raise self.fail(f"{token} where {what} should be")
        self.next()
        return token.text if token.kind == "word" else token.string

    def integer(self) -> int:
        """An integer with its sign."""
        minus = self.take("-")
        if self.token.kind != "int":
            raise self.fail(f"{self.token} where an integer should be")
        value = int(self.next().text)
        return -value if minus else value

    def number(self) -> int | float:
        """An integer, a float, inf or nan, with its sign."""
        minus = self.take("-")
        token = self.token
        match token.kind, token.text:
            case "int", text:
                value: int | float = int(text)
            case "float", text:
                value = float(text)
            case "word", "inf":
                value = math.inf
            case "word", "nan":
                value = math.nan
            case _:
                raise self.fail(f"{token} where a number should be")
        self.next()
        return -value if minus and value == value else value

    def dims(self) -> tuple[int, int]:
        """A pair such as `2x32`."""
        if self.token.kind != "dims":
            raise self.fail(f"{self.token} where a size such as 2x32 should be")
        first, second = self.next().text.split("x")
        return int(first), int(second)

    def word_of(self, words: Collection[str], what: str) -> str:
        """A word of a closed list; `what` says of what."""
        token = self.token
        word = self.name(what)
        if word not in words:
            known = nearest(word, words) or f"{what} is {one_of(tuple(words))}"
            raise self.fail(f"{token} is not {what}", mend=known, token=token)
        return word

    def triple(self) -> tuple[int, int, int]:
        """`[slices, rows, columns]`."""
        token = self.token
        values = self.integers()
        if len(values) != 3:
            raise self.fail(f"{len(values)} numbers where [slices, rows, columns] should be", token=token)
        return values[0], values[1], values[2]

    def integers(self) -> tuple[int, ...]:
        """`[1, 2, …]`, or `[]`."""
        self.expect("[")
        values: list[int] = []
        while not self.sees("]"):
            values.append(self.integer())
            if not self.take(","):
                break
        self.expect("]")
        return tuple(values)

    def pair(self) -> tuple[int, int]:
        """`(1, 2)`."""
        self.expect("(")
        first = self.integer()
        self.expect(",")
        second = self.integer()
        self.expect(")")
        return first, second

    def skip_statement(self, keywords: frozenset[str]) -> None:
        """Go to the next statement of this block (a keyword that starts a line) or to the brace that closes it."""
        depth = 0
        while self.token.kind != "end":
            starts_line = self.token.place.line > self._tokens[self._at - 1].place.line
            if self.sees("{"):
                depth += 1
            elif self.sees("}"):
                if depth == 0:
                    return
                depth -= 1
            elif depth == 0 and starts_line and self.sees(*keywords):
                return
            self._at += 1
