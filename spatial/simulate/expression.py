"""Evaluation of the expressions of Generic and Matmul stages over pages.

Pages are arrays [..., rows, columns] with any leading axes, the same number of them in every leaf; the executors say
what a leaf (`Page`, `Cell`, `Coord`) stands for, everything else is here and in `arithmetic`. Knows no order of
execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from spatial.errors import Bug
from spatial.ir.body import Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page
from spatial.numerics import Array
from spatial.simulate.arithmetic import Arithmetic

Leaf = Callable[[Page | Cell | Coord], Array]
"""The stored array that a leaf stands for."""

_NOTHING: Mapping[int, Array] = {}


def evaluate(expr: Expr, leaf: Leaf, arithmetic: Arithmetic, ready: Mapping[int, Array] = _NOTHING) -> Array:
    """The value of `expr`; `ready` holds values already known of subexpressions, by their `id`."""
    if ready and id(expr) in ready:
        return ready[id(expr)]
    match expr:
        case Page() | Cell() | Coord():
            return arithmetic.enter(leaf(expr))
        case Op(op, args):
            return arithmetic.apply(op, tuple(evaluate(a, leaf, arithmetic, ready) for a in args))
        case Convert(prec, arg):
            return arithmetic.convert(prec, evaluate(arg, leaf, arithmetic, ready))
        case Const(value, kind):
            return arithmetic.constant(value, kind)
        case Lanes(op, axis, arg):
            return arithmetic.fold(op, axis, evaluate(arg, leaf, arithmetic, ready))
        case Matmul():
            raise Bug("a product stands outside the update of a product stage")


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything below it."""
    yield expr
    match expr:
        case Op(_, args):
            for a in args:
                yield from walk(a)
        case Convert(_, arg) | Lanes(_, _, arg):
            yield from walk(arg)
        case Matmul(a, b, _):
            yield a
            yield b
        case Page() | Cell() | Coord() | Const():
            pass


def cells_of(expr: Expr) -> list[Cell]:
    """The state reads in `expr`."""
    return [e for e in walk(expr) if isinstance(e, Cell)]


def as_product(update: Expr) -> tuple[Cell, Matmul] | None:
    """The accumulator and the product of an update `add(state, matmul(a, b))`, or None where it is another form."""
    match update:
        case Op("add", (Cell() as cell, Matmul() as product)):
            return cell, product
        case _:
            return None
