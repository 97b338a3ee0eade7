"""What a graph computes, evaluated in binary64 and integers from the records' own definition, with error bounds.

Knows no page, layout or section. Beside each float stands a bound of what a chip may be off by that computes the same
expression with every operation rounded to `unit` (relative) and the factors of a sum of products rounded to `factor`
first: the usual running error analysis, first order, which `SLACK` covers beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spatial.ir.affine import Affine
from spatial.ir.graph import Acc, At, Block, Fn, Graph, Num, Piece, Read, Reduction, Statement, Value, Var

Array = npt.NDArray[Any]
SLACK = 2.0
"""Factor by which a bound may be exceeded: second order terms, and orders of summation that nest."""


@dataclass(frozen=True)
class Exactness:
    """Relative roundings: `unit` of every operation and of storage, `factor` of the factors of a product of tables."""

    unit: float = 2.0**-24
    factor: float = 0.0


@dataclass(frozen=True)
class Held:
    """Values and, of floats, the bound of their error."""

    value: Array
    error: Array

    @staticmethod
    def exact(value: Any) -> Held:
        array = np.asarray(value)
        return Held(array, np.zeros(array.shape))


def evaluate(graph: Graph, inputs: Mapping[str, Array], exactness: Exactness | None = None) -> dict[int, Held]:
    """Every tensor of the graph by number; inputs, weights and state by name, in their dims."""
    run = _Run(graph, exactness or Exactness())
    with np.errstate(all="ignore"):
        run.whole(inputs)
    return run.held


class _Run:
    def __init__(self, graph: Graph, exactness: Exactness) -> None:
        self.graph, self.exactness, self.held = graph, exactness, dict[int, Held]()

    def whole(self, inputs: Mapping[str, Array]) -> None:
        for number, tensor in enumerate(self.graph.tensors):
            if tensor.role in ("input", "weight", "state"):
                given = np.asarray(inputs[tensor.name]).reshape(tensor.dims)
                self.held[number] = Held.exact(given.astype(np.float64 if tensor.kind == "float" else np.int64))
            elif tensor.fill is not None:
                self.statement(Statement(number, (tensor.fill,)), 0)
        for node in self.graph.nodes:
            match node:
                case Statement():
                    self.statement(node, 0)
                case Block():
                    self.block(node)

    def block(self, block: Block) -> None:
        for b in range(block.trip):
            before = {c.inner: self.held[c.initial if b == 0 else c.made] for c in block.carried}
            self.held.update(before)
            for statement in block.body:
                self.statement(statement, b)
        for c in block.carried:
            self.held[c.final] = self.held[c.made]

    def statement(self, statement: Statement, b: int) -> None:
        tensor = self.graph.tensors[statement.out]
        if statement.over is not None:
            old = self.held[statement.over]
            value, error = old.value.copy(), old.error.copy()
            written = np.ones(tensor.dims, bool)
        else:
            value = np.zeros(tensor.dims, np.float64 if tensor.kind == "float" else np.int64)
            error, written = np.zeros(tensor.dims), np.zeros(tensor.dims, bool)
        for piece in statement.pieces:
            where, what = _Points(self, piece, b).results()
            assert statement.over is not None or not written[where].any(), "pieces overlap"
            value[where], error[where], written[where] = what.value, what.error, True
        assert written.all(), "pieces do not cover their tensor"
        self.held[statement.out] = Held(value, error)


class _Points:
    """One piece at all points of its box: arrays with one axis a variable, reduced ones last."""

    def __init__(self, run: _Run, piece: Piece, b: int) -> None:
        self.run, self.piece, self.b = run, piece, b
        self.box = piece.par + piece.red
        self.grid = np.indices(self.box) if self.box else np.zeros((0,))
        self.unit = run.exactness.unit
        self.accs: list[Held] = []

    def results(self) -> tuple[tuple[Array, ...], Held]:
        """Where the piece writes, as index arrays, and what."""
        reduced = tuple(range(len(self.piece.par), len(self.box)))
        self.accs = [self.reduce(acc, reduced) for acc in self.piece.accs]
        value = self.value(self.piece.value)
        live = np.ones(self.piece.par, bool)
        for guard in self.piece.guards:
            live &= self.first(self.value(guard).value)
        where = tuple(self.first(self.index(at))[live] for at in self.piece.pos)
        error = self.first(value.error) + self.unit * np.abs(self.first(value.value).astype(np.float64))
        return where or (...,), _shaped(where, Held(self.first(value.value)[live], error[live]))

    def first(self, array: Array) -> Array:
        """The array over the variables that are not reduced."""
        whole = np.broadcast_to(array, self.box)
        return whole[(..., *[0] * len(self.piece.red))]

    def form(self, form: Affine) -> Array:
        total = np.asarray(form.const, np.int64)
        for symbol, coef in form.terms:
            total = total + coef * (self.b if symbol == "b" else self.grid[int(symbol[1:])])
        return total

    def index(self, at: At) -> Array:
        base = self.form(at.base)
        return base if at.via is None else base + at.scale * self.value(at.via).value

    def value(self, value: Value) -> Held:
        match value:
            case Num(float() as number, "float"):
                rounded = math.isfinite(number) and float(np.float32(number)) != number
                return Held(np.asarray(number), np.asarray(self.unit * abs(number) if rounded else 0.0))
            case Num(truth, "bool"):
                return Held.exact(bool(truth))
            case Num():
                return Held.exact(value.value)
            case Var():
                return Held.exact(self.form(value.value))
            case Read():
                held = self.run.held[value.tensor]
                # What lies outside the table is read only where a guard leaves it out.
                places = [np.clip(self.index(a), 0, n - 1) for a, n in zip(value.at, held.value.shape, strict=True)]
                return Held(held.value[tuple(places)], held.error[tuple(places)])
            case Acc():
                return self.accs[value.red]
            case Fn():
                return apply(value.fn, [self.value(a) for a in value.args], value.kind, self.unit)

    def reduce(self, acc: Reduction, axes: tuple[int, ...]) -> Held:
        held = self.term(acc)
        value, error = np.broadcast_to(held.value, self.box), np.broadcast_to(held.error, self.box)
        live = np.ones(self.box, bool)
        for guard in acc.guards:
            live &= self.value(guard).value
        if acc.arg is not None:
            assert acc.init is None
            return self.argument(acc, value, live, axes)
        out = _fold(acc.op, value, error, live, axes, self.unit)
        if acc.init is None:
            return out
        name = {"sum": "add", "product": "mul"}.get(acc.op, acc.op)
        return apply(name, [self.value(acc.init), out], "float" if value.dtype.kind == "f" else "int", self.unit)

    def term(self, acc: Reduction) -> Held:
        """The terms of a reduction; the factors of a product of tables are rounded on their way in."""
        factor = self.run.exactness.factor
        match acc.value:
            case Fn(fn="mul", args=(Read() as x, Read() as y), kind="float") if acc.op == "sum" and factor:
                a, b = (self.value(v) for v in (x, y))
                a = Held(a.value, a.error + factor * np.abs(a.value))
                b = Held(b.value, b.error + factor * np.abs(b.value))
                return apply("mul", [a, b], "float", self.unit)
            case _:
                return self.value(acc.value)

    def argument(self, acc: Reduction, value: Array, live: Array, axes: tuple[int, ...]) -> Held:
        assert acc.arg is not None
        least, last = acc.op.startswith("argmin"), acc.op.endswith("last")
        flat = (-value if least else value).reshape(*self.piece.par, -1).astype(np.float64)
        keep = live.reshape(*self.piece.par, -1)
        assert keep.any(-1).all(), "an arg-max over no terms"
        best = np.where(keep, flat, -np.inf).max(-1, keepdims=True)
        hits = keep & (flat == best)
        n = hits.shape[-1]
        place = n - 1 - np.argmax(hits[..., ::-1], -1) if last else np.argmax(hits, -1)
        args = np.broadcast_to(self.value(acc.arg).value, self.box).reshape(*self.piece.par, -1)
        found = np.take_along_axis(args, place[..., None], -1)
        return Held.exact(found.reshape(*self.piece.par, *[1] * len(axes)))


def _shaped(where: tuple[Array, ...], held: Held) -> Held:
    return held if where else Held(held.value.reshape(()), held.error.reshape(()))


def _fold(op: str, value: Array, error: Array, live: Array, axes: tuple[int, ...], unit: float) -> Held:
    terms = live.sum(axes, keepdims=True)
    off: Any = {"sum": 0, "product": 1, "max": -math.inf, "min": math.inf}[op]
    if value.dtype.kind == "i" and op in ("max", "min"):
        off = np.iinfo(np.int64).min if op == "max" else np.iinfo(np.int64).max
    kept = np.where(live, value, off)
    wrong = np.where(live, error, 0.0)
    match op:
        case "sum":
            total = kept.sum(axes, keepdims=True)
            bound = wrong.sum(axes, keepdims=True)
            return Held(total, bound + terms * unit * np.abs(kept).sum(axes, keepdims=True))
        case "product":
            total = kept.prod(axes, keepdims=True)
            relative = np.where(live & (kept != 0), wrong / np.maximum(np.abs(kept), 1e-300), 0.0)
            return Held(total, np.abs(total) * (relative.sum(axes, keepdims=True) + terms * unit))
        case _:
            best = _CHOICES[op].reduce(kept, axes, keepdims=True)
            return Held(best, wrong.max(axes, keepdims=True))


def _away(x: Array) -> Array:
    """Rounded to whole numbers, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


def _trunc(a: Array, b: Array) -> Array:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.maximum(np.abs(b), 1))


_EXACT: dict[str, Callable[..., Any]] = {
    "not": np.logical_not,
    "and": np.logical_and,
    "or": np.logical_or,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "floor": lambda x: np.floor(x).astype(np.int64),
    "ceil": lambda x: np.ceil(x).astype(np.int64),
    "round": lambda x: _away(x).astype(np.int64),
    "truncdiv": _trunc,
    "rem": lambda a, b: a - b * _trunc(a, b),
    "floordiv": np.floor_divide,
}
_SLOPES: dict[str, tuple[Callable[..., Any], Callable[..., list[Any]]]] = {
    "neg": (np.negative, lambda x: [1.0]),
    "abs": (np.abs, lambda x: [1.0]),
    "exp": (np.exp, lambda x: [np.exp(x)]),
    "log": (np.log, lambda x: [1 / x]),
    "sin": (np.sin, lambda x: [1.0]),
    "cos": (np.cos, lambda x: [1.0]),
    "tanh": (np.tanh, lambda x: [1.0]),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), lambda x: [1.13]),
    "sqrt": (np.sqrt, lambda x: [0.5 / np.sqrt(np.maximum(x, 1e-300))]),
    "add": (np.add, lambda x, y: [1.0, 1.0]),
    "sub": (np.subtract, lambda x, y: [1.0, 1.0]),
    "mul": (np.multiply, lambda x, y: [np.abs(y), np.abs(x)]),
    "div": (np.divide, lambda x, y: [1 / np.abs(y), np.abs(x) / (y * y)]),
    "pow": (np.power, lambda x, y: [np.abs(y * np.power(x, y - 1)), np.abs(np.power(x, y) * np.log(np.abs(x)))]),
}
_CHOICES: dict[str, Any] = {"min": np.fmin, "max": np.fmax}
"""An operand that is no number is not chosen."""


def apply(fn: str, args: list[Held], kind: str, unit: float) -> Held:
    """An operation of graphs on held values; a comparison is taken to be of values told apart by more than errors."""
    values = [a.value for a in args]
    with np.errstate(all="ignore"):
        if fn == "select":
            c, x, y = args
            return Held(np.where(c.value, x.value, y.value), np.where(c.value, x.error, y.error))
        if fn == "float":
            return Held(values[0].astype(np.float64), unit * np.abs(values[0]).astype(np.float64))
        if fn == "floordiv" and kind == "float":
            return Held.exact(np.floor(values[0] / values[1]))
        if fn in _EXACT:
            return Held.exact(_EXACT[fn](*values))
        if fn in _CHOICES:
            return Held(_CHOICES[fn](*values), np.maximum(args[0].error, args[1].error))
        function, slopes = _SLOPES[fn]
        out = np.asarray(function(*values))
        if kind == "int":
            return Held.exact(out)
        error = unit * np.abs(out)
        for arg, slope in zip(args, slopes(*values), strict=True):
            error = error + np.abs(slope) * arg.error
        return Held(out, error)
