"""Text to tokens: words, numerals, strings, symbols, statement ends, indentation and block headers.

Prose blocks and comments are dropped here. Indentation is that of the language: a space counts one, a tab four, and
comment lines take part; inside brackets and strings there is none. Newlines are no tokens. The lexer knows no
grammar: it neither pairs blocks nor tells keywords from names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from spatial.errors import Problem, SourceError, one_of
from spatial.logos.strings import Piece, decode, dedent
from spatial.logos.syntax import Span
from spatial.logos.tokens import Kind, Token, unglue
from spatial.logos.words import (
    CODE_BLOCKS,
    IMPLICIT_MAIN,
    NEAR_HEADERS,
    PRAGMA_WORDS,
    PROSE_BLOCKS,
    TYPE_BLOCKS,
)

_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"(?:{_LETTER}|_)\w*(?:(?<={_LETTER})-(?={_LETTER})\w+)*")
_PLAIN_WORD = re.compile(rf"(?:{_LETTER}|_)\w*")
_CODE_WORD = re.compile(r"[A-Z]+(?:-(?=\d)\w+|\+(?!\d)\w*)")
_CONTRACTION = re.compile(r"(is)n't\b", re.IGNORECASE)
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F_]+|[bB][01_]+|[oO][0-7_]+)")
_DIGITS = r"\d[\d_]*"
_THOUSANDS = rf"{_DIGITS}(?:,{_DIGITS})*"
_REST = rf"(?:\.{_DIGITS})?(?:[eE][+-]?{_DIGITS})?"
_NUMERAL = re.compile(_THOUSANDS + _REST, re.ASCII)
_NUMERAL_IN_LIST = re.compile(_DIGITS + _REST, re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_SYMBOL = re.compile(r"\*\*|//|==|!=|<=|>=|->|[-+*/%]=|[-+*/%()\[\]{}<>=,:|&^~]")
_OUTSIDE_LITERAL = re.compile(r"`(?:\\.|[^`\n])?`|[$€£¥]\d[\d.,]*")
_HEADER = re.compile(rf"##[ \t]*({_LETTER}*)")
_BLANKS = re.compile(r"[ \t\r\f\v]*")
_CLOSERS = {")": "(", "]": "[", "}": "{"}


@dataclass
class _Lexer:
    """The state of one pass over one text."""

    text: str
    file: str
    code: bool
    origin: tuple[int, int] = (1, 1)
    hole: bool = False
    tokens: list[Token] = field(default_factory=list[Token])
    problems: list[Problem] = field(default_factory=list[Problem])
    pos: int = 0
    brackets: list[str] = field(default_factory=list[str])
    indents: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        self.line, self.line_start = self.origin[0], 1 - self.origin[1]

    # Places

    def span(self, start: int, end: int) -> Span:
        """The span of text[start:end], `start` on the current line."""
        inner = self.text.count("\n", start, end)
        end_column = end - self.text.rfind("\n", 0, end) if inner else end - self.line_start + 1
        return Span(self.file, self.line, start - self.line_start + 1, self.line + inner, end_column)

    def complain(self, span: Span, what: str, why: str = "", mend: str = "") -> None:
        """Record a problem; lexing goes on."""
        self.problems.append(Problem(what, why, mend, span.place))

    def emit(self, kind: Kind, text: str, end: int, pieces: tuple[Piece, ...] = (), glued: bool = False) -> None:
        """Add the token text[pos:end] and move past it."""
        self.tokens.append(Token(kind, text, self.span(self.pos, end), pieces, glued))
        self.skip(end)

    def skip(self, end: int) -> None:
        """Move to `end`, counting the lines passed."""
        passed = self.text.count("\n", self.pos, end)
        if passed:
            self.line += passed
            self.line_start = self.text.rfind("\n", 0, end) + 1
        self.pos = end

    # Lines

    def run(self) -> None:
        """Lex the whole text."""
        while self.pos < len(self.text):
            if self.pos == self.line_start and not self.hole:
                self.start_line()
            else:
                self.skip(self.blank_end(self.pos))
            if self.pos >= len(self.text):
                break
            if self.text[self.pos] == "\n":
                self.skip(self.pos + 1)
            elif self.code:
                self.code_token()
            else:
                self.prose()

    def blank_end(self, pos: int) -> int:
        """The end of the blanks from `pos` on."""
        found = _BLANKS.match(self.text, pos)
        return found.end() if found else pos

    def start_line(self) -> None:
        """Skip the blanks at the start of a line; indent or dedent if it holds code."""
        start = self.pos
        self.skip(self.blank_end(start))
        if self.pos >= len(self.text) or self.text[self.pos] == "\n" or self.brackets:
            return
        if not self.code and not self.at_header():
            return
        width = sum({" ": 1, "\t": 4}.get(c, 0) for c in self.text[start : self.pos])
        here = self.span(self.pos, self.pos)
        if width > self.indents[-1]:
            self.indents.append(width)
            self.tokens.append(Token("indent", "", here))
        while width < self.indents[-1]:
            self.indents.pop()
            self.tokens.append(Token("dedent", "", here))

    def at_header(self) -> bool:
        """Whether a block header stands here."""
        return self.text.startswith("##", self.pos) and not self.text.startswith("###", self.pos)

    def line_end(self) -> int:
        """The end of the current line, its newline excluded."""
        end = self.text.find("\n", self.pos)
        return len(self.text) if end < 0 else end

    def prose(self) -> None:
        """Skip prose up to a header or the end of the line; a string on one line hides a header inside it."""
        end = self.line_end()
        while self.pos < end:
            if self.at_header():
                self.header()
                return
            if self.text[self.pos] == "#":
                self.pos = end
            elif self.text[self.pos] == '"':
                close = self.text.find('"', self.pos + 1, end)
                self.pos = close + 1 if close >= 0 else self.pos + 1
            else:
                self.pos += 1

    def header(self) -> None:
        """A block header: code blocks give a token, prose blocks switch to prose."""
        found = _HEADER.match(self.text, self.pos)
        assert found is not None
        word, end = found[1].lower(), found.end()
        here = self.span(self.pos, end)
        self.brackets.clear()
        if not word:
            self.skip(end)
            return
        if word in PRAGMA_WORDS:
            self.skip(end)
            for _ in range(PRAGMA_WORDS[word]):
                following = _PLAIN_WORD.match(self.text, self.blank_end(self.pos))
                self.skip(following.end() if following else self.pos)
            return
        if word in CODE_BLOCKS:
            self.code = True
            self.emit("header", word, end)
            return
        self.code = False
        self.skip(end)
        if word in TYPE_BLOCKS:
            self.complain(here, "a type definition is not part of a tensor program", "", "use numbers and Seqs of them")
        elif word not in PROSE_BLOCKS:
            near = [known for known in NEAR_HEADERS if _within_two_edits(word, known)]
            if near:
                self.complain(
                    here,
                    f'unknown block header "{found[1]}"',
                    f"it is too near to {one_of([w.capitalize() for w in near])} to be taken for prose",
                    'write "## Main", "## To name ...", or "## Note" for prose',
                )

    # Code

    def code_token(self) -> None:
        """Lex one token, comment or header of code."""
        text, pos = self.text, self.pos
        char = text[pos]
        if char == "#":
            if self.at_header() and not self.hole:
                self.header()
            else:
                self.pos = self.line_end()
        elif char == '"' or text.startswith('r"', pos):
            self.string()
        elif char.isdigit():
            self.numeral()
        elif found := _CONTRACTION.match(text, pos):
            self.emit("word", found[1], pos + 2)
            self.emit("word", "not", found.end())
        elif found := (_CODE_WORD.match(text, pos) or _WORD.match(text, pos)):
            self.word(found[0])
        elif char == ".":
            self.dot()
        elif char == "?":
            self.stop()
        elif char == ";" or (self.hole and char in "|^~"):
            self.pos += 1
        elif self.hole and char == "&":
            self.emit("word", "and", pos + 1)
        elif text.startswith("'s", pos):
            self.emit("outside", "a field of a structure", pos + 2)
        elif found := _OUTSIDE_LITERAL.match(text, pos):
            self.emit("outside", "a Char literal" if char == "`" else "an amount of money", found.end())
        elif found := _SYMBOL.match(text, pos):
            self.symbol(found[0])
        else:
            self.complain(self.span(pos, pos + 1), f"unexpected character {char!r}", "", _advice(text, pos))
            self.pos += 1

    def word(self, word: str) -> None:
        """A word; one that arithmetic signs are part of is marked as glued."""
        glued = not word.replace("_", "a").isalnum()
        end = self.pos + len(word)
        if word.endswith("+") and self.text.startswith("=", end):
            self.complain(
                self.span(self.pos, end + 1),
                f'"{word}=" is the word "{word}" and a "="',
                "after capital letters a plus is part of the word",
                f"put a space before the plus: {word[:-1]} +=",
            )
        self.emit("word", word, end, glued=glued)

    def symbol(self, symbol: str) -> None:
        """A symbol; brackets are counted, since there is no indentation inside them."""
        if symbol in "([{":
            self.brackets.append(symbol)
        elif symbol in _CLOSERS and self.brackets and self.brackets[-1] == _CLOSERS[symbol]:
            self.brackets.pop()
        self.emit("symbol", symbol, self.pos + len(symbol))

    def stop(self) -> None:
        """The end of a statement; several in a row are one."""
        if self.tokens and self.tokens[-1].kind == "stop":
            self.pos += 1
        else:
            self.emit("stop", ".", self.pos + 1)

    def dot(self) -> None:
        """A dot that is no decimal point: of a method between letters, else the end of a statement."""
        before = self.text[self.pos - 1] if self.pos else " "
        after = self.text[self.pos + 1 : self.pos + 2]
        if (before.isalpha() or before in "_)]") and (after.isalpha() or after == "_"):
            self.emit("symbol", ".", self.pos + 1)
        else:
            self.stop()

    def numeral(self) -> None:
        """An Int or Float as written, separators kept; a comma between digits separates thousands outside a list."""
        text, pos = self.text, self.pos
        if found := _DATE.match(text, pos):
            self.emit("outside", "a date", found.end())
            return
        in_list = any(bracket in "[{" for bracket in self.brackets)
        radix = _RADIX.match(text, pos)
        found = radix or (_NUMERAL_IN_LIST if in_list else _NUMERAL).match(text, pos)
        end = found.end() if found else pos + 1
        if tail := _PLAIN_WORD.match(text, end):
            self.emit("outside", f"the quantity {text[pos : tail.end()]}", tail.end())
            return
        digits = text[pos:end]
        is_float = radix is None and any(c in digits for c in ".eE")
        self.emit("float" if is_float else "int", digits, end)

    def string(self) -> None:
        """A string: plain, raw or of several lines; with holes it is a template."""
        text, start = self.text, self.pos
        raw = text[start] == "r"
        opening = start + raw
        triple = text.startswith('"""', opening)
        quote = '"""' if triple else '"'
        body = opening + len(quote)
        end = body
        while end < len(text) and not text.startswith(quote, end):
            end += 2 if text[end] == "\\" and not raw and not triple else 1
        if end >= len(text):
            self.complain(self.span(start, opening + 1), "a string without an end", "", f"close it with {quote}")
            self.skip(len(text))
            return
        content = text[body:end]
        pieces = decode(dedent(content) if triple else content, escapes=not (raw or triple))
        if all(isinstance(piece, str) for piece in pieces):
            self.emit("text", "".join(p for p in pieces if isinstance(p, str)), end + len(quote))
        else:
            self.emit("template", content, end + len(quote), pieces)


def _advice(text: str, pos: int) -> str:
    if text[pos] == "!":
        return 'write "not", or "!=" between two values'
    return "remove it"


def _within_two_edits(a: str, b: str) -> bool:
    """Whether two words are at most two insertions, deletions or replacements apart."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, last = [i, *row[1:]], row
        for j, y in enumerate(b, 1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
    return row[-1] <= 2


def _starts_as_code(text: str) -> bool:
    """Whether a text without any header is Main: by its first word."""
    first = _PLAIN_WORD.match(text.lstrip())
    return first is not None and first[0] in IMPLICIT_MAIN


def lex(files: Sequence[tuple[str, str]]) -> tuple[list[Token], list[Problem]]:
    """The tokens of several (name, text) read as one text, and what was wrong on the way.

    Bounded: linear in the text. Ends with one `end` token; open blocks are closed before it.
    """
    tokens: list[Token] = []
    problems: list[Problem] = []
    headed = any("##" in text.replace("###", "") for _, text in files)
    code = bool(files) and not headed and _starts_as_code(files[0][1])
    indents = [0]
    last = Span(files[0][0] if files else "", 1, 1, 1, 1)
    for name, text in files:
        lexer = _Lexer(text, name, code, indents=indents)
        lexer.run()
        tokens += lexer.tokens
        problems += lexer.problems
        code, indents = lexer.code, lexer.indents
        last = lexer.span(lexer.pos, lexer.pos)
    tokens += [Token("dedent", "", last) for _ in indents[1:]]
    return [*unglue(tokens), Token("end", "", last)], problems


def lex_hole(text: str, place: Span) -> list[Token]:
    """The tokens of the expression in a hole of a string, as the language reads prose: `&` is `and`, `| ^ ~` vanish.

    Raises SourceError if a character or string in it has no meaning.
    """
    lexer = _Lexer(text, place.file, True, origin=(place.line, place.column), hole=True)
    lexer.run()
    if lexer.problems:
        raise SourceError(lexer.problems)
    return [*unglue(lexer.tokens), Token("end", "", lexer.span(lexer.pos, lexer.pos))]
