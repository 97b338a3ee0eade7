"""Kinds and shapes of expressions (obligation 1): what an expression of a stage may be, before its values matter.

An expression has a kind (float, int or truth) and a shape (rows, columns). Pages and cells must be in reach: held at
the depth of evaluation, chosen inside what the port pops or the state has. Knows no precision of any datapath.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spatial.check.coords import MOST_VALUE, Ranges
from spatial.ir.affine import Affine
from spatial.ir.body import OPS, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Queue, Stage
from spatial.numerics import PRECISIONS

FLOAT_OPS = frozenset(
    ("exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt", "reciprocal", "floor", "ceil", "round", "div")
)
INT_OPS = frozenset(("floordiv", "mod", "truncdiv", "rem"))
NUMBER_OPS = frozenset(("neg", "abs", "add", "sub", "mul", "min", "max"))
COMPARISONS = frozenset(("eq", "ne", "lt", "le"))
TRUTH_OPS = frozenset(("and", "or", "not"))

_TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(FLOAT_OPS, ("float",)),
    **dict.fromkeys(INT_OPS, ("int",)),
    **dict.fromkeys(NUMBER_OPS | COMPARISONS, ("float", "int")),
    **dict.fromkeys(TRUTH_OPS, ("truth",)),
}
"""Kinds each operation takes; `select` has a rule of its own."""


@dataclass(frozen=True)
class Typed:
    """Kind ("float", "int", "truth") and shape of an expression's value."""

    kind: str
    rows: int
    cols: int


@dataclass(frozen=True)
class Reach:
    """What an expression of `stage` may see: queues by name, evaluation depth, coordinates, and which states.

    `cells`: the least and greatest depth a state may have to be read here.
    """

    stage: Stage
    queues: Mapping[str, Queue]
    depth: int
    ranges: Ranges
    cells: tuple[int, int]


def fits(shape: tuple[int, int], page: tuple[int, int]) -> bool:
    """Whether a value of `shape` broadcasts to `page`."""
    return all(a in (1, b) for a, b in zip(shape, page, strict=True))


def form_fault(form: Affine, ranges: Ranges) -> str:
    """Why `form` can't be evaluated over `ranges`, or nothing."""
    unknown = [s for s in form.symbols if s not in ranges]
    if unknown:
        return f"the form {form} uses {unknown[0]}, which is no coordinate here"
    if form != Affine.of(form.const, dict(form.terms)) or len(dict(form.terms)) != len(form.terms):
        return f"the form {form} is not canonical"
    low, high = form.bounds(ranges)
    if low <= -MOST_VALUE or high >= MOST_VALUE:
        return f"the form {form} leaves the range of exact places"
    return ""


def choice_fault(at: tuple[Affine, ...], counts: tuple[int, ...], ranges: Ranges) -> str:
    """Why `at` does not choose one among `counts` everywhere in `ranges`, or nothing."""
    if len(at) != len(counts):
        return f"{len(at)} choices are made among {len(counts)} page dimensions"
    for form, n in zip(at, counts, strict=True):
        fault = form_fault(form, ranges)
        if fault:
            return fault
        low, high = form.bounds(ranges)
        if low < 0 or high >= n:
            return f"the choice {form} takes values {low} to {high} among {n}"
    return ""


def typed(expr: Expr, reach: Reach) -> Typed | str:
    """Kind and shape of `expr`, or why it has none."""
    match expr:
        case Page():
            return _page(expr, reach)
        case Cell():
            return _cell(expr, reach)
        case Const(value, kind):
            if kind not in ("float", "int") or (kind == "int" and not isinstance(value, int)):
                return f"the constant {value!r} is no {kind}"
            return Typed(kind, 1, 1)
        case Coord(value, shape):
            if min(shape) < 1:
                return f"a coordinate page has shape {shape}"
            lanes = dict(reach.ranges) | {"r": (0, shape[0] - 1), "c": (0, shape[1] - 1)}
            return form_fault(value, lanes) or Typed("int", *shape)
        case Op(op, operands):
            args: list[Typed] = []
            for operand in operands:
                got = typed(operand, reach)
                if isinstance(got, str):
                    return got
                args.append(got)
            return _op(op, args)
        case Convert(prec, arg):
            inner = typed(arg, reach)
            if isinstance(inner, str):
                return inner
            return Typed(PRECISIONS[prec].kind, inner.rows, inner.cols) if prec in PRECISIONS else no_precision(prec)
        case Lanes(op, axis, arg):
            inner = typed(arg, reach)
            if isinstance(inner, str):
                return inner
            if op not in ("sum", "max", "min") or axis not in ("rows", "cols") or inner.kind == "truth":
                return f"there is no reduction {op!r} along {axis!r} of a {inner.kind}"
            return Typed(inner.kind, 1, inner.cols) if axis == "rows" else Typed(inner.kind, inner.rows, 1)
        case Matmul():
            return "a page product stands outside the update of a matmul stage"


def _page(page: Page, reach: Reach) -> Typed | str:
    ports = reach.stage.ins
    if not 0 <= page.port < len(ports):
        return f"there is no in port {page.port}"
    port = ports[page.port]
    if port.depth > reach.depth:
        return f"a page popped at depth {port.depth} is read at depth {reach.depth}, where it is not held"
    queue = reach.queues[port.queue]
    return choice_fault(page.at, port.pages, reach.ranges) or Typed(PRECISIONS[queue.prec].kind, *queue.page)


def _cell(cell: Cell, reach: Reach) -> Typed | str:
    states = reach.stage.states
    if not 0 <= cell.state < len(states):
        return f"there is no state {cell.state}"
    state = states[cell.state]
    if not reach.cells[0] <= state.depth <= reach.cells[1]:
        return f"state {state.name} of depth {state.depth} is read at depth {reach.depth}"
    return choice_fault(cell.at, state.cells, reach.ranges) or Typed(PRECISIONS[state.prec].kind, *state.shape)


def product(expr: Matmul, reach: Reach) -> tuple[Typed, int] | str:
    """The type of a page product and its number of terms, or why it has none."""
    a, b = _page(expr.a, reach), _page(expr.b, reach)
    if isinstance(a, str):
        return a
    if isinstance(b, str):
        return b
    k, n = (b.cols, b.rows) if expr.transpose_b else (b.rows, b.cols)
    if a.cols != k:
        return f"a page of {a.cols} columns meets one of {k} in a product"
    if a.kind != b.kind:
        return f"a {a.kind} page meets a {b.kind} one in a product"
    return Typed(a.kind, a.rows, n), k


def _op(op: str, args: Sequence[Typed]) -> Typed | str:
    if op not in OPS or OPS[op] != len(args):
        return f"there is no operation {op!r} of {len(args)} operands"
    kinds = [a.kind for a in args]
    rows, cols = max(a.rows for a in args), max(a.cols for a in args)
    if any(not fits((a.rows, a.cols), (rows, cols)) for a in args):
        return f"{op} joins pages of {' and '.join(f'{a.rows}x{a.cols}' for a in args)} lanes"
    if op == "select":
        if kinds[0] != "truth" or kinds[1] != kinds[2]:
            return f"select takes a truth and two alike, not {', '.join(kinds)}"
        return Typed(kinds[1], rows, cols)
    kind = kinds[0]
    if len(set(kinds)) != 1 or kind not in _TAKES[op]:
        return f"{op} does not take {' and '.join(kinds)}"
    return Typed("truth" if op in COMPARISONS else kind, rows, cols)


def no_precision(name: str) -> str:
    """The words for a precision that does not exist."""
    return f"no precision is called {name!r}"


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything inside it."""
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
        case _:
            pass
