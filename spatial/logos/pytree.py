"""Short names for the Python trees the code generator builds, and the marks by which a fault finds its place.

The generated code is never text. Each of its instructions carries, where a line number would stand, the number of a
`Site`: when Python raises, the traceback's line says which node of the program it was.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TypeVar

from spatial.logos.syntax import Expr, Span, Stmt


@dataclass(frozen=True)
class Site:
    """A place of the source that may fail; `operands` are Python expressions that give the operands again."""

    span: Span
    node: Expr | Stmt | None = None
    index: ast.expr | None = None
    collection: ast.expr | None = None


@dataclass
class Sites:
    """All sites of one compiled program; a site's number is its position, from 1."""

    found: list[Site] = field(default_factory=list[Site])

    def mark(self, tree: ast.expr | ast.stmt, site: Site) -> None:
        """Give a tree (and what it holds without a mark of its own) the number of a site."""
        self.found.append(site)
        tree.lineno = len(self.found)

    def at(self, number: int) -> Site | None:
        """The site with this number."""
        return self.found[number - 1] if 0 < number <= len(self.found) else None


_Tree = TypeVar("_Tree", ast.Module, ast.Expression)


def locate(module: _Tree) -> _Tree:
    """Fill in the places Python demands: what has no mark takes that of what it stands in."""
    pending: list[tuple[ast.AST, int]] = [(module, 0)]
    while pending:
        node, line = pending.pop()
        if "lineno" in node._attributes:
            line = getattr(node, "lineno", line)
            for name, value in (("lineno", line), ("end_lineno", line), ("col_offset", 0), ("end_col_offset", 0)):
                setattr(node, name, value)
        pending.extend((child, line) for child in ast.iter_child_nodes(node))
    return module


def load(name: str) -> ast.Name:
    """Read a Python variable."""
    return ast.Name(name, ast.Load())


def assign(name: str, value: ast.expr) -> ast.Assign:
    """Set a Python variable."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def walrus(name: str, value: ast.expr) -> ast.NamedExpr:
    """Set a Python variable within an expression."""
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


def const(value: str | float | bool | None) -> ast.Constant:
    """A Python constant."""
    return ast.Constant(value)


def call(function: str, *args: ast.expr) -> ast.Call:
    """Call a Python function by name."""
    return ast.Call(load(function), list(args), [])


def method(of: ast.expr, name: str) -> ast.Call:
    """Call a method without arguments."""
    return ast.Call(attribute(of, name), [], [])


def attribute(of: ast.expr, name: str) -> ast.Attribute:
    """Read an attribute."""
    return ast.Attribute(of, name, ast.Load())


def item(of: ast.expr, position: ast.expr) -> ast.Subscript:
    """Read an item of a Python list."""
    return ast.Subscript(of, position, ast.Load())


def choose(test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.IfExp:
    """A conditional expression."""
    return ast.IfExp(test, then, otherwise)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    """One comparison."""
    return ast.Compare(left, [op], [right])


def plus(left: ast.expr, amount: int) -> ast.expr:
    """`left + amount`, folded where it can be."""
    if isinstance(left, ast.Constant) and type(left.value) is int:
        return const(left.value + amount)
    if amount == 0:
        return left
    return ast.BinOp(left, ast.Add() if amount > 0 else ast.Sub(), const(abs(amount)))


def function_def(name: str, params: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """Define a Python function of positional parameters."""
    args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
    return ast.FunctionDef(name, args, body, [], None, None)
