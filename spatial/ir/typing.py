"""Shapes, kinds and formats of the expressions of a stage, and the coordinates its forms may use.

What a pass asks before it moves an expression, and what `validate` asks of every one. Knows one stage at a time: no
flow between stages, no tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spatial.errors import Problem, Refused
from spatial.ir.affine import Affine
from spatial.ir.body import OPS, Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Queue, Rect, Stage
from spatial.numerics import PRECISIONS
from spatial.target import Target

Ranges = Mapping[str, tuple[int, int]]
"""Inclusive bounds of the coordinates in scope."""

_TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt", "reciprocal"), ("float",)),
    **dict.fromkeys(("floor", "ceil", "round", "div"), ("float",)),
    **dict.fromkeys(("floordiv", "mod", "truncdiv", "rem"), ("int",)),
    **dict.fromkeys(("neg", "abs", "add", "sub", "mul", "min", "max", "eq", "ne", "lt", "le"), ("float", "int")),
    **dict.fromkeys(("not", "and", "or"), ("bool",)),
}
"""Kinds of operands that each operation takes, all operands alike; `select` has a rule of its own."""

COMPARISONS = ("eq", "ne", "lt", "le")


@dataclass(frozen=True)
class PageType:
    """What an expression gives: `shape` = (rows, columns), `kind` "float", "int" or "bool", and the format `prec`.

    `prec` is the queue's or state's for a leaf, the datapath's for what is computed, "" for a truth value.
    """

    shape: tuple[int, int]
    kind: str
    prec: str


@dataclass(frozen=True)
class Scope:
    """Where an expression of `stage` stands: pages popped at most at `depth`, states of depths in `states`.

    `ranges`: the coordinates in scope; None leaves forms unjudged.
    """

    stage: Stage
    queues: Mapping[str, Queue]
    target: Target
    depth: int
    states: range
    ranges: Ranges | None = None


def expr_type(expr: Expr, stage: Stage, body: Body, target: Target) -> PageType:
    """The type of an expression of `stage`, wherever it stands; raises `Refused` where it has none."""
    queues = {q.name: q for q in body.queues}
    return type_of(expr, Scope(stage, queues, target, stage.depth, range(-1, stage.depth + 1)))


def sites_of(stage: Stage, body: Body) -> Rect:
    """The sites that carry `stage`."""
    return stage.on if stage.on is not None else Rect(0, 0, *body.rect)


def coordinates(stage: Stage, body: Body, depth: int, pages: tuple[int, ...] = ()) -> dict[str, tuple[int, int]]:
    """Bounds of the coordinates that a form of `stage` at `depth` may use, for each of a port's `pages`.

    sx and sy always; from depth 0 on the item coordinates (idle turns included), then l1, l2, … down to `depth`.
    """
    on = sites_of(stage, body)
    out = {"sx": (on.x, on.x + on.w - 1), "sy": (on.y, on.y + on.h - 1)}
    out |= {f"p{n}": (0, extent - 1) for n, extent in enumerate(pages)}
    if depth >= 0:
        turns = {f"t{n}": (0, trip - 1) for n, trip in enumerate(body.items.trips)} | out
        out |= {f"i{n}": form.bounds(turns) for n, form in enumerate(body.items.coord)}
        out |= {f"l{n + 1}": (0, trip - 1) for n, trip in enumerate(stage.loops[:depth])}
    return out


def broadcasts(shape: tuple[int, int], page: tuple[int, int]) -> bool:
    """Whether a value of `shape` fills a page."""
    return all(a in (1, b) for a, b in zip(shape, page, strict=True))


def stage_type(target: Target, kind: str) -> str:
    """The format in which the vector datapath computes values of `kind` ("" for truth values)."""
    return {"float": target.vector.float, "int": target.vector.int}.get(kind, "")


def check_form(form: Affine, ranges: Ranges, what: str) -> None:
    """Raise `Refused` unless every coordinate of `form` is in scope."""
    unknown = [s for s in form.symbols if s not in ranges]
    if unknown:
        why = f"in scope here: {', '.join(sorted(ranges))}"
        raise _refused(f"{what} {form} uses {unknown[0]}", why, "move it to the depth that has it")


def type_of(expr: Expr, scope: Scope) -> PageType:
    """The type of `expr` in `scope`; raises `Refused` with one problem where it has none."""
    match expr:
        case Page():
            return _page(expr, scope)
        case Cell():
            return _cell(expr, scope)
        case Const(value, kind):
            if kind not in ("float", "int") or isinstance(value, float) != (kind == "float"):
                raise _refused(f"the constant {value!r} is not of kind {kind!r}", "a float is a float, an int an int")
            return PageType((1, 1), kind, stage_type(scope.target, kind))
        case Coord(value, shape):
            if scope.ranges is not None:
                lanes = {"r": (0, shape[0] - 1), "c": (0, shape[1] - 1)}
                check_form(value, {**scope.ranges, **lanes}, "the coordinate")
            return PageType(shape, "int", scope.target.vector.int)
        case Op(op, args):
            return _op(op, [type_of(a, scope) for a in args], scope.target)
        case Convert(prec, arg):
            inner = type_of(arg, scope)
            if prec not in PRECISIONS:
                raise _refused(f"no precision is called {prec!r}")
            return PageType(inner.shape, PRECISIONS[prec].kind, prec)
        case Lanes(op, axis, arg):
            inner = type_of(arg, scope)
            if op not in ("sum", "max", "min") or axis not in ("rows", "cols"):
                raise _refused(f"no in-page reduction is called {op}_{axis}", "sum, max, min; over rows or cols")
            if inner.kind == "bool":
                raise _refused(f"{op}_{axis} of truth values", "it reduces numbers", "convert them first")
            shape = (1, inner.shape[1]) if axis == "rows" else (inner.shape[0], 1)
            return PageType(shape, inner.kind, stage_type(scope.target, inner.kind))
        case Matmul():
            return _product(expr, scope)


def _page(page: Page, scope: Scope) -> PageType:
    if not 0 <= page.port < len(scope.stage.ins):
        raise _refused(f"in port {page.port} of a stage that has {len(scope.stage.ins)}")
    port = scope.stage.ins[page.port]
    if port.depth > scope.depth:
        what = f"a page of {port.queue}, popped at depth {port.depth}, is used at depth {scope.depth}"
        raise _refused(what, "it is held only within an iteration at its own depth")
    _choice(page.at, port.pages, scope, f"the choice among the pages of {port.queue}")
    queue = scope.queues.get(port.queue)
    if queue is None or queue.prec not in PRECISIONS:
        raise _refused(f"the pages of {port.queue} have no format", "no such queue, or none of its precision")
    return PageType(queue.page, PRECISIONS[queue.prec].kind, queue.prec)


def _cell(cell: Cell, scope: Scope) -> PageType:
    if not 0 <= cell.state < len(scope.stage.states):
        raise _refused(f"state {cell.state} of a stage that has {len(scope.stage.states)}")
    state = scope.stage.states[cell.state]
    if state.depth not in scope.states:
        what = f"the state {state.name}, of depth {state.depth}, is read at depth {scope.depth}"
        raise _refused(what, "out ports of its own depth read it, and updates within it")
    _choice(cell.at, state.cells, scope, f"the choice among the cells of {state.name}")
    if state.prec not in PRECISIONS:
        raise _refused(f"no precision is called {state.prec!r}")
    return PageType(state.shape, PRECISIONS[state.prec].kind, state.prec)


def _choice(at: tuple[Affine, ...], counts: tuple[int, ...], scope: Scope, what: str) -> None:
    if len(at) != len(counts):
        raise _refused(f"{what} has {len(at)} coordinates", f"there are {len(counts)} dimensions")
    for form, extent in zip(at, counts, strict=True):
        if scope.ranges is None:
            continue
        check_form(form, scope.ranges, what)
        low, high = form.bounds(scope.ranges)
        if low < 0 or high >= extent:
            raise _refused(f"{what} runs from {low} to {high}", f"they are numbered 0 to {extent - 1}")


def _op(op: str, args: list[PageType], target: Target) -> PageType:
    if OPS.get(op) != len(args):
        raise _refused(f"no operation is called {op} and takes {len(args)} operands")
    rows, cols = max(a.shape[0] for a in args), max(a.shape[1] for a in args)
    if not all(broadcasts(a.shape, (rows, cols)) for a in args):
        sizes = " and ".join(f"{a.shape[0]}x{a.shape[1]}" for a in args)
        raise _refused(f"{op} of pages of {sizes}", "rows and columns agree, or are 1")
    kinds = [a.kind for a in args]
    if op == "select":
        if kinds[0] != "bool" or kinds[1] != kinds[2]:
            raise _refused(f"select of {', '.join(kinds)}", "it takes a truth value and two of one kind")
        same = args[1].prec == args[2].prec
        return PageType((rows, cols), kinds[1], args[1].prec if same else stage_type(target, kinds[1]))
    if len(set(kinds)) > 1 or kinds[0] not in _TAKES[op]:
        why = f"it takes {' or '.join(_TAKES[op])}, all operands alike"
        raise _refused(f"{op} of {', '.join(kinds)}", why, "convert one of them")
    kind = "bool" if op in COMPARISONS else kinds[0]
    return PageType((rows, cols), kind, stage_type(target, kind))


def _product(expr: Matmul, scope: Scope) -> PageType:
    a, b = _page(expr.a, scope), _page(expr.b, scope)
    k, n = (b.shape[1], b.shape[0]) if expr.transpose_b else b.shape
    if a.shape[1] != k:
        raise _refused(f"a product over {a.shape[1]} columns and {k} rows", "both run over the same k")
    if a.kind != b.kind:
        raise _refused(f"a product of {a.prec} with {b.prec}", "both are floats or both integers", "convert one before")
    matrix = scope.target.matrix
    prec = matrix.float_accumulate if a.kind == "float" else matrix.int_accumulate
    return PageType((a.shape[0], n), a.kind, prec)


def _refused(what: str, why: str = "", mend: str = "") -> Refused:
    return Refused(Problem(what, why, mend))
