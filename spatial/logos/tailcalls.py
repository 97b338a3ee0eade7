"""Recursion that takes no depth: calls in tail position, and sums and products over a recursion.

The language runs such calls as loops. Here they are recognised; the code generator turns them into jumps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from spatial.logos.syntax import (
    Binary,
    BinaryOp,
    Call,
    Expr,
    Function,
    If,
    Let,
    Name,
    Return,
    Set,
    Stmt,
    bodies,
    expressions,
    statements,
    walk,
)


@dataclass(frozen=True)
class Fold:
    """A function that returns `contribution op itself(...)` in one place, and something else in the others.

    It runs as a loop over an accumulator that starts as the Int 0 (for +) or 1 (for *) and takes the contributions in
    the order of the calls.
    """

    op: BinaryOp
    recursive: Return
    contribution: Expr
    call: Call


def is_self_call(expr: Expr | None, function: Function) -> bool:
    """Whether an expression is a call of the function itself with the right number of arguments."""
    return isinstance(expr, Call) and expr.function == function.name and len(expr.args) == len(function.params)


def find_fold(function: Function) -> Fold | None:
    """The fold a function is, if it is one: no other call of itself, the recursive Return in no loop."""
    returns = [s for s in statements(function.body) if isinstance(s, Return)]
    recursive = [s for s in returns if s.value is not None and _calls(s.value, function.name)]
    if len(recursive) != 1 or len(returns) < 2 or not _outside_loops(recursive[0], function.body):
        return None
    others = (e for s in statements(function.body) if s is not recursive[0] for e in expressions(s))
    if any(_calls(e, function.name) for e in others):
        return None
    match recursive[0].value:
        case Binary(("+" | "*") as op, left, Call() as call):
            contribution = left
        case Binary(("+" | "*") as op, Call() as call, right):
            contribution = right
        case _:
            return None
    if not is_self_call(call, function) or _calls(contribution, function.name):
        return _mirrored(recursive[0], function)
    return Fold(op, recursive[0], contribution, call)


def _mirrored(recursive: Return, function: Function) -> Fold | None:
    """The fold whose recursive call stands on the left, a call of another function on the right."""
    match recursive.value:
        case Binary(("+" | "*") as op, Call() as call, right) if is_self_call(call, function) and not _calls(
            right, function.name
        ):
            return Fold(op, recursive, right, call)
        case _:
            return None


def direct(body: tuple[Stmt, ...], function: Function) -> tuple[Stmt, ...]:
    """The body with what returns by way of a variable made direct.

    Let r be f(x). Return r.   ->   Return f(x).
    """
    found: list[Stmt] = []
    skip = False
    for statement, following in pairwise((*body, None)):
        if skip or statement is None:
            skip = False
            continue
        match statement, following:
            case ((Let(name, value) | Set(name, value)), Return(Name(returned))) if name == returned and is_self_call(
                value, function
            ):
                found.append(replace(following, value=value))
                skip = True
            case If(branches, otherwise), _:
                kept = tuple((condition, direct(inner, function)) for condition, inner in branches)
                found.append(replace(statement, branches=kept, otherwise=direct(otherwise, function)))
            case _ if bodies(statement):
                found.append(replace(statement, body=direct(bodies(statement)[0], function)))
            case _:
                found.append(statement)
    return tuple(found)


def _calls(expr: Expr, name: str) -> bool:
    return any(isinstance(node, Call) and node.function == name for node in walk(expr))


def _outside_loops(wanted: Stmt, body: tuple[Stmt, ...]) -> bool:
    return any(
        s is wanted or (isinstance(s, If) and any(_outside_loops(wanted, inner) for inner in bodies(s))) for s in body
    )
