"""What a token is, and which words that arithmetic signs are part of come apart.

Gluing. In the language `i-j` is one word, and so are `N-1` and `N+M`. Where the program binds such a word, it stays
one; where it doesn't, reading it would be an error, so it is taken for the arithmetic it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spatial.logos.strings import Piece
from spatial.logos.syntax import Span

Kind = Literal[
    "word", "int", "float", "text", "template", "symbol", "stop", "indent", "dedent", "header", "end", "outside"
]


@dataclass(frozen=True)
class Token:
    """One token. `text` is as written (of a string: its content), `pieces` the literal and hole parts of a template."""

    kind: Kind
    text: str
    span: Span
    pieces: tuple[Piece, ...] = ()
    glued: bool = False

    @property
    def low(self) -> str:
        """The word in lower case, as keywords are matched; empty for other kinds."""
        return self.text.lower() if self.kind == "word" else ""


_BINDERS = frozenset({"let", "mutable", "mut", "for", "repeat", "into"})


def unglue(tokens: list[Token]) -> Iterator[Token]:
    """The tokens, with glued words the program never binds taken apart."""
    bound: set[str] = set()
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.glued and (
            (before is not None and before.low in _BINDERS)
            or (after is not None and after.kind == "symbol" and after.text in ("=", ":"))
            or (before is not None and before.text in ("to", "To") and after is not None and after.text == "(")
        ):
            bound.add(token.text)
    for token in tokens:
        if token.glued and token.text not in bound:
            yield from _take_apart(token)
        else:
            yield token


def _take_apart(token: Token) -> Iterator[Token]:
    """The words, numerals and signs a glued word is made of."""
    for found in re.finditer(r"[-+]|\d+(?!\w)|\w+", token.text):
        kind: Kind = "symbol" if found[0] in "-+" else "int" if found[0].isdigit() else "word"
        line, start = token.span.line, token.span.column + found.start()
        yield Token(kind, found[0], Span(token.span.file, line, start, line, start + len(found[0])))
