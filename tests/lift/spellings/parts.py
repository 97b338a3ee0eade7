"""What values and steps read; types and empty sequences as text."""

from __future__ import annotations

from collections.abc import Iterator

from lift.spellings.model import (
    At,
    Best,
    Bin,
    Choose,
    Def,
    Expr,
    Fn,
    Fold,
    Helper,
    Lookup,
    Poly,
    Quotient,
    Test,
    Update,
)


def reads(e: Expr) -> Iterator[At]:
    """Every read of a tensor, those in indices included."""
    match e:
        case At(_, at):
            yield e
            for a in at:
                yield from _looked_up(a)
        case Bin(_, left, right):
            yield from reads(left)
            yield from reads(right)
        case Fn(_, args):
            for a in args:
                yield from reads(a)
        case Helper(_, _, arg, body):
            yield from reads(arg)
            yield from reads(body)
        case Choose(tests, then, other):
            yield from _tested(tests)
            yield from reads(then)
            yield from reads(other)
        case Fold():
            yield from reads(e.term)
            yield from _tested(e.tests)
            yield from _looked_up(e.extent)
        case Best():
            yield from reads(e.term)
        case _:
            pass


def _tested(tests: tuple[Test, ...]) -> Iterator[At]:
    for t in tests:
        yield from reads(t.left)
        yield from reads(t.right)


def _looked_up(form: Poly) -> Iterator[At]:
    for monomial, _ in form.terms:
        for s in monomial:
            match s:
                case Lookup(table, at):
                    yield At(table, at)
                case Quotient(_, of, by):
                    yield from _looked_up(of)
                    yield from _looked_up(by)
                case _:
                    pass


def step_reads(step: Def | Update) -> list[At]:
    """Every read of a step."""
    values = step.values if isinstance(step, Def) else (step.value, *(v for t in step.tests for v in (t.left, t.right)))
    return [r for v in values for r in reads(v)]


def typed(depth: int, kind: str) -> str:
    """The type of a parameter."""
    return "Seq of " * depth + kind


def empty(layout: str, rank: int, kind: str) -> str:
    """A new sequence of that rank."""
    element = kind
    for _ in range((rank if layout == "nested" else 1) - 1):
        element = f"(Seq of {element})"
    return f"a new Seq of {element}"
