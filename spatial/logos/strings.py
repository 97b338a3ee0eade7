"""What stands between the quotes of a string: escapes, doubled braces, holes, common indentation.

Works on the content alone; knows no tokens and no grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"'}
_UNICODE = re.compile(r"u\{([0-9a-fA-F]+)\}")


@dataclass(frozen=True)
class HoleText:
    """The text between the braces of a hole, and how many characters of the content stand before it."""

    text: str
    offset: int
    closed: bool = True


Piece = str | HoleText


def decode(content: str, escapes: bool) -> tuple[Piece, ...]:
    """The literal parts and holes of a string's content, in order; `{{` and `}}` are braces.

    An escape that isn't known keeps its backslash.
    """
    chars, offsets = _unescape(content) if escapes else (list(content), list(range(len(content))))
    pieces: list[Piece] = []
    literal: list[str] = []
    i = 0
    while i < len(chars):
        pair = "".join(chars[i : i + 2])
        if pair in ("{{", "}}"):
            literal.append(pair[0])
            i += 2
        elif chars[i] == "{":
            if literal:
                pieces.append("".join(literal))
                literal = []
            end = _closing(chars, i + 1)
            offset = offsets[i] + 1
            pieces.append(HoleText("".join(chars[i + 1 : end]), offset, closed=end < len(chars)))
            i = end + 1
        else:
            literal.append(chars[i])
            i += 1
    if literal or not pieces:
        pieces.append("".join(literal))
    return tuple(pieces)


def _closing(chars: list[str], start: int) -> int:
    depth = 1
    for i in range(start, len(chars)):
        depth += (chars[i] == "{") - (chars[i] == "}")
        if depth == 0:
            return i
    return len(chars)


def _unescape(content: str) -> tuple[list[str], list[int]]:
    """The characters meant, and where each starts in the content."""
    chars: list[str] = []
    offsets: list[int] = []
    i = 0
    while i < len(content):
        start, char = i, content[i]
        i += 1
        if char == "\\" and i < len(content):
            if content[i] in _SIMPLE:
                char = _SIMPLE[content[i]]
                i += 1
            elif (found := _UNICODE.match(content, i)) and _is_scalar(int(found[1], 16)):
                char = chr(int(found[1], 16))
                i = found.end()
        chars.append(char)
        offsets.append(start)
    return chars, offsets


def _is_scalar(code: int) -> bool:
    return code < 0xD800 or 0xE000 <= code < 0x110000


def dedent(content: str) -> str:
    """The content of a string of several lines: first and last line break and the common indentation removed."""
    content = content.replace("\r\n", "\n").removeprefix("\n").removesuffix("\n")
    lines = content.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] if len(line) >= indent else line.strip() for line in lines)
