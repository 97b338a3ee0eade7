"""Programs with loops of Main written out: each iteration a copy of the body, the loop's variable its number.

What the body binds gets a name of its own in every copy, as a person would write it; the text is the printer's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from spatial.logos import syntax
from spatial.logos.printer import print_program


def unrolled(program: syntax.Program, sizes: Mapping[str, int], variable: str = "") -> str:
    """The text of the program, its outermost loops over `variable` (any that counts, if "") written out."""
    body: list[syntax.Stmt] = []
    for s in program.main:
        wanted = isinstance(s, syntax.RepeatRange) and variable in ("", s.var)
        first, last = (_number(s.first, sizes), _number(s.last, sizes)) if isinstance(s, syntax.RepeatRange) else (1, 0)
        if not isinstance(s, syntax.RepeatRange) or not wanted or first is None or last is None:
            body.append(s)
            continue
        for n in range(first, last + 1):
            bound = {t.name: syntax.Name(f"{t.name}_{n}") for t in s.body if isinstance(t, syntax.Let)}
            body += [_put(t, {s.var: syntax.IntLiteral(n), **bound}) for t in s.body]
    return print_program(dataclasses.replace(program, main=tuple(body)))


def _number(expr: syntax.Expr, sizes: Mapping[str, int]) -> int | None:
    match expr:
        case syntax.IntLiteral(value):
            return value
        case syntax.Name(name):
            return sizes.get(name)
        case syntax.Binary("+", a, b):
            x, y = _number(a, sizes), _number(b, sizes)
            return None if x is None or y is None else x + y
        case syntax.Binary("-", a, b):
            x, y = _number(a, sizes), _number(b, sizes)
            return None if x is None or y is None else x - y
        case _:
            return None


def _put(node: Any, change: Mapping[str, syntax.IntLiteral | syntax.Name]) -> Any:
    """A tree with names replaced, those that a statement of the tree binds or sets as well."""
    if isinstance(node, tuple):
        return tuple(_put(n, change) for n in node)
    if isinstance(node, syntax.Name):
        return change.get(node.name, node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    changed: dict[str, Any] = {f.name: _put(getattr(node, f.name), change) for f in dataclasses.fields(node) if f.init}
    if isinstance(node, syntax.Let | syntax.Set) and isinstance(new := change.get(node.name), syntax.Name):
        changed["name"] = new.name
    return dataclasses.replace(node, **changed)
