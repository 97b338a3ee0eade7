"""Postconditions as plain statements: an assert before every way out of a function.

A rewriting of the tree and nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from spatial.logos.syntax import If, RepeatIn, RepeatRange, Return, Stmt, While


def before_returns(body: tuple[Stmt, ...], asserts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The body of a function with `asserts` before each Return, and at its end if that can be reached.

    Ensures x > 0.
    Return x.        ->      Assert that x > 0. Return x.
    """
    if not asserts:
        return body
    found = _insert(body, asserts)
    return found if body and isinstance(body[-1], Return) else (*found, *asserts)


def _insert(body: tuple[Stmt, ...], asserts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for statement in body:
        match statement:
            case Return():
                found += (*asserts, statement)
            case If(branches, otherwise):
                kept = tuple((condition, _insert(inner, asserts)) for condition, inner in branches)
                found.append(replace(statement, branches=kept, otherwise=_insert(otherwise, asserts)))
            case While() | RepeatRange() | RepeatIn():
                found.append(replace(statement, body=_insert(statement.body, asserts)))
            case _:
                found.append(statement)
    return tuple(found)
