"""Integer expressions over named sizes: `vocab - 1`, `positions - rows`, `2 * (kv + 1)`, and relations between them.

Place: below `spec`. Knows neither YAML nor what the names stand for. An expression is read into a linear form, a sum of
named inputs times integers plus an integer, with the sizes already put in; a shape or a range is one without inputs.
Nothing is ever evaluated as Python.

    expression = term (("+" | "-") term)*       term = factor ("*" factor)*
    factor     = "-" factor | "(" expression ")" | integer | name
    relation   = expression ("<=" | "<" | ">=" | ">" | "==") expression
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from spatial.errors import nearest

MAX_TEXT = 200
"""Longest expression read, in characters; it also bounds the recursion of the reader."""
MAX_VALUE = 1 << 62
"""No part of an expression may reach this magnitude: sizes, shapes and ranges fit 64 bits with room."""

_TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z_][A-Za-z0-9_]*)|(<=|>=|==|[-+*()<>]))")
_RELATIONS = ("<=", "<", ">=", ">", "==")


class ExpressionError(ValueError):
    """What is wrong with an expression; the text of the exception says it."""


@dataclass(frozen=True)
class Linear:
    """`constant + sum of coefficient * input`; `terms` sorted by name, no coefficient zero."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def value(self, inputs: Mapping[str, int]) -> int:
        """The number it stands for under `inputs`, which has every name of `terms`."""
        return self.constant + sum(factor * inputs[name] for name, factor in self.terms)

    def __str__(self) -> str:
        parts = [(f, name if abs(f) == 1 else f"{abs(f)} * {name}") for name, f in self.terms]
        if self.constant or not parts:
            parts.append((self.constant, str(abs(self.constant))))
        text = "".join(f" {'-' if sign < 0 else '+'} {part}" for sign, part in parts)
        return f"-{text[3:]}" if text.startswith(" - ") else text[3:]


@dataclass(frozen=True)
class Relation:
    """`left relation right`, as the author wrote it in `text`."""

    text: str
    left: Linear
    relation: str
    right: Linear

    @property
    def plain(self) -> str:
        """The relation with the sizes put in, in one spelling."""
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, inputs: Mapping[str, int]) -> bool:
        """Whether it is true under `inputs`."""
        left, right = self.left.value(inputs), self.right.value(inputs)
        match self.relation:
            case "<=":
                return left <= right
            case "<":
                return left < right
            case ">=":
                return left >= right
            case ">":
                return left > right
            case _:
                return left == right


def evaluate(text: str, sizes: Mapping[str, int]) -> int:
    """The integer `text` stands for, names looked up in `sizes`. Raises ExpressionError."""
    return _whole(_Reader(text, sizes, frozenset())).constant


def relation(text: str, sizes: Mapping[str, int], inputs: frozenset[str]) -> Relation:
    """The relation `text` states between `inputs` and `sizes`. Raises ExpressionError."""
    reader = _Reader(text, sizes, inputs)
    left = reader.expression()
    sign = reader.take(*_RELATIONS)
    if not sign:
        raise ExpressionError(f'"{text}" states no relation; write one of {" ".join(_RELATIONS)}')
    return Relation(text, left, sign, _whole(reader))


def _whole(reader: _Reader) -> Linear:
    made = reader.expression()
    if reader.tokens[reader.at :]:
        raise ExpressionError(f'"{reader.text}" goes on after its end, at "{reader.tokens[reader.at]}"')
    return made


class _Reader:
    """A recursive-descent reader over the tokens of one text."""

    def __init__(self, text: str, sizes: Mapping[str, int], inputs: frozenset[str]) -> None:
        self.text, self.sizes, self.inputs, self.at = text, sizes, inputs, 0
        if len(text) > MAX_TEXT:
            raise ExpressionError(f"an expression of {len(text)} characters; at most {MAX_TEXT} are read")
        self.tokens: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if not found:
                raise ExpressionError(
                    f'"{text[at:].strip()[0]}" in "{text}"; only sums, differences and products of integers and sizes'
                )
            self.tokens.append(found[0].strip())
            at = found.end()

    def take(self, *wanted: str) -> str:
        """The next token if it is one of `wanted`, consumed; else an empty string."""
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def expression(self) -> Linear:
        total = self.term()
        while sign := self.take("+", "-"):
            total = _sum(total, self.term(), 1 if sign == "+" else -1)
        return total

    def term(self) -> Linear:
        product = self.factor()
        while self.take("*"):
            product = self._product(product, self.factor())
        return product

    def factor(self) -> Linear:
        if self.take("-"):
            return _sum(Linear(0), self.factor(), -1)
        if self.take("("):
            inner = self.expression()
            if not self.take(")"):
                raise ExpressionError(f'a "(" without its ")" in "{self.text}"')
            return inner
        if self.at == len(self.tokens):
            raise ExpressionError(f'"{self.text}" ends where an integer or a size should stand')
        token = self.tokens[self.at]
        self.at += 1
        if token.isdigit():
            return _bounded(Linear(int(token)))
        if token in self.sizes:
            return Linear(self.sizes[token])
        if token in self.inputs:
            return Linear(0, ((token, 1),))
        if not (token[0].isalpha() or token[0] == "_"):
            raise ExpressionError(f'"{token}" in "{self.text}" where an integer or a size should stand')
        hint = nearest(token, [*self.sizes, *self.inputs])
        raise ExpressionError(f'no size is called "{token}"' + (f"; {hint}" if hint else ""))

    def _product(self, left: Linear, right: Linear) -> Linear:
        if left.terms and right.terms:
            raise ExpressionError(f'"{self.text}" multiplies two inputs; only sums of inputs times integers are read')
        scaled, factor = (left, right.constant) if left.terms else (right, left.constant)
        terms = tuple((name, c * factor) for name, c in scaled.terms if c * factor)
        return _bounded(Linear(scaled.constant * factor, terms))


def _sum(left: Linear, right: Linear, sign: int) -> Linear:
    terms = dict(left.terms)
    for name, factor in right.terms:
        terms[name] = terms.get(name, 0) + sign * factor
    kept = tuple(sorted((name, factor) for name, factor in terms.items() if factor))
    return _bounded(Linear(left.constant + sign * right.constant, kept))


def _bounded(made: Linear) -> Linear:
    if any(abs(n) >= MAX_VALUE for n in (made.constant, *(factor for _, factor in made.terms))):
        raise ExpressionError("a value past 2^62")
    return made
