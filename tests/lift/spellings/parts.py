"""What values and steps read and make; types and empty sequences as text."""

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
    Join,
    Lookup,
    Poly,
    Quotient,
    Scan,
    Step,
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


def step_reads(step: Step) -> list[At]:
    """Every read of a step."""
    return [r for v in step_values(step) for r in reads(v)]


def step_values(step: Step) -> list[Expr]:
    """Every value of a step, those compared included."""
    match step:
        case Def() | Join():
            return list(step.values)
        case Update():
            return [step.value, *_sides(step.tests)]
        case Scan():
            changed = [v for r in step.running for v in (r.start, r.term, *_sides(r.tests))]
            return [*changed, *(k.value for k in step.kept)]


def _sides(tests: tuple[Test, ...]) -> list[Expr]:
    return [v for t in tests for v in (t.left, t.right)]


def tensors_of(step: Step) -> list[Def | Join]:
    """The tensors that a step makes."""
    match step:
        case Def() | Join():
            return [step]
        case Update():
            return []
        case Scan():
            return [Def(k.name, step.loops[: k.level], (k.value,), k.kind) for k in step.kept]


def typed(depth: int, kind: str) -> str:
    """The type of a parameter."""
    return "Seq of " * depth + kind


def empty(layout: str, rank: int, kind: str) -> str:
    """A new sequence of that rank."""
    element = kind
    for _ in range((rank if layout == "nested" else 1) - 1):
        element = f"(Seq of {element})"
    return f"a new Seq of {element}"
