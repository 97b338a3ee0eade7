"""Small rewrites of expressions and stages that several passes share; knows no pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from spatial.ir.affine import Affine
from spatial.ir.body import Cell, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage


def map_leaves(value: Expr, leaf: Callable[[Page | Cell | Coord], Expr]) -> Expr:
    """The expression with `leaf` applied to every page, cell and coordinate; `leaf` keeps the pages of a product
    pages."""
    match value:
        case Page() | Cell() | Coord():
            return leaf(value)
        case Op():
            return Op(value.op, tuple(map_leaves(a, leaf) for a in value.args))
        case Convert():
            return Convert(value.prec, map_leaves(value.arg, leaf))
        case Lanes():
            return replace(value, arg=map_leaves(value.arg, leaf))
        case Matmul():
            a, b = leaf(value.a), leaf(value.b)
            return Matmul(
                a if isinstance(a, Page) else value.a, b if isinstance(b, Page) else value.b, value.transpose_b
            )
        case _:
            return value


def leaves(value: Expr) -> Iterator[Page | Cell | Coord]:
    """Every page, cell and coordinate of an expression, in order of occurrence."""
    match value:
        case Page() | Cell() | Coord():
            yield value
        case Op():
            for a in value.args:
                yield from leaves(a)
        case Convert() | Lanes():
            yield from leaves(value.arg)
        case Matmul():
            yield value.a
            yield value.b
        case _:
            return


def operations(value: Expr) -> Iterator[Expr]:
    """Every inner node of an expression."""
    match value:
        case Op():
            yield value
            for a in value.args:
                yield from operations(a)
        case Convert() | Lanes():
            yield value
            yield from operations(value.arg)
        case Matmul():
            yield value
        case _:
            return


def levels(value: Expr) -> int:
    """Levels of an expression, leaves counted."""
    match value:
        case Op():
            return 1 + max(map(levels, value.args), default=0)
        case Convert() | Lanes():
            return 1 + levels(value.arg)
        case Matmul():
            return 2
        case _:
            return 1


def expressions(stage: Stage) -> Iterator[Expr]:
    """Every expression of a stage: its states' updates, then its out ports' values."""
    for state in stage.states:
        yield state.update
    for port in stage.outs:
        if port.value is not None:
            yield port.value


def map_stage_forms(stage: Stage, form: Callable[[Affine], Affine]) -> Stage:
    """The stage with every affine form over coordinates rewritten: places, choices, cells and coordinates."""

    def leaf(x: Page | Cell | Coord) -> Expr:
        match x:
            case Page():
                return Page(x.port, tuple(form(a) for a in x.at))
            case Cell():
                return Cell(x.state, tuple(form(a) for a in x.at))
            case Coord():
                return Coord(form(x.value), x.shape)

    states = tuple(
        replace(s, cell=tuple(form(a) for a in s.cell), update=map_leaves(s.update, leaf)) for s in stage.states
    )
    outs = tuple(o if o.value is None else replace(o, value=map_leaves(o.value, leaf)) for o in stage.outs)
    access = stage.access
    if access is not None:
        s, r, c = access.place
        access = replace(access, place=(form(s), form(r), form(c)))
    return replace(stage, states=states, outs=outs, access=access)


def rename(symbols: Mapping[str, str]) -> Callable[[Affine], Affine]:
    """A rewriting of forms that renames coordinates."""
    forms = {old: Affine.sym(new) for old, new in symbols.items()}
    return lambda a: a.subst(forms)
