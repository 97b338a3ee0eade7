"""The interval of an expression or an accumulator of a stage (obligation 13), from the intervals of what it reads.

Every integer result is held to the format it is computed in; where it may leave it, the answer is the reason, as text.
Knows no queue's ends and no tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

from spatial.check.conditions import MOST_FACTS, Facts, facts_of, narrowed
from spatial.check.coords import coordinates
from spatial.check.spans import ANY_FLOAT, Span, apply, convert, hull, ints, is_int, lanes, rounded, within
from spatial.check.typing_rules import walk
from spatial.ir.body import Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Queue, Stage, State
from spatial.numerics import int_range
from spatial.target import Target

MOST_ROUNDS = 64
"""Updates of a state that are followed one by one before its interval counts as unbounded."""


@dataclass(frozen=True)
class Flow:
    """What a queue's pages hold: all lanes, and element [0, 0] alone (what an index reads; it never overhangs)."""

    lanes: Span
    first: Span


@dataclass(frozen=True)
class Scope:
    """Where an expression is evaluated: stage, queues and their flows, states, coordinates, the datapath's formats.

    `first`: only the value of lane [0, 0] is asked for.
    """

    stage: Stage
    queues: Mapping[str, Queue]
    flows: Mapping[str, Flow]
    states: tuple[Span, ...]
    ranges: Mapping[str, tuple[int, int]]
    int_format: str
    float_format: str
    first: bool = False


def span_of(expr: Expr, scope: Scope) -> Span | str:
    """The values `expr` may take, or why it may fail."""
    found = _lanes_of(expr, scope, ())
    return found if isinstance(found, str) else found.taken


@dataclass(frozen=True)
class _Lane:
    """What a lane may hold: wherever it is `computed`, and where it is `taken`, the facts at hand being true there."""

    computed: Span
    taken: Span


def _lanes_of(expr: Expr, scope: Scope, facts: Facts) -> _Lane | str:
    """The values of `expr`, each result rounded, or held, to the format it is computed in, taken or not."""
    match expr:
        case Page(port):
            flow = scope.flows[scope.stage.ins[port].queue]
            found: Span | str = flow.first if scope.first else flow.lanes
        case Cell(state):
            found = scope.states[state]
        case Const(value, kind):
            found = ints(int(value), int(value)) if kind == "int" else _constant(float(value))
            found = _held(found, scope.int_format, "the constant")
        case Coord(value, shape):
            rows, cols = (1, 1) if scope.first else shape
            lanes_of = dict(scope.ranges) | {"r": (0, rows - 1), "c": (0, cols - 1)}
            found = _held(ints(*value.bounds(lanes_of)), scope.int_format, f"the coordinate {value}")
        case Op():
            return _operation(expr, scope, facts)
        case Convert(prec, arg):
            inner = _lanes_of(arg, scope, facts)
            if isinstance(inner, str):
                return inner
            found = convert(inner.computed, prec)
            taken = convert(inner.taken, prec)
            return found if isinstance(found, str) else _lane(expr, found, taken, scope, facts)
        case Lanes(op, axis, arg):
            inner = span_of(arg, replace(scope, first=False))
            if isinstance(inner, str):
                return inner
            rows, cols = _shape(arg, scope)
            found = lanes(op, inner, rows if axis == "rows" else cols)
            found = _held(found, scope.int_format, f"the {op} of lanes")
        case Matmul(a, b):
            left, right = span_of(a, scope), span_of(b, scope)
            if isinstance(left, str):
                return left
            if isinstance(right, str):
                return right
            found = ANY_FLOAT
            if left.kind == "int":
                one = apply("mul", (left, right))
                found = lanes("sum", one, _terms(a, scope)) if isinstance(one, Span) else one
    return found if isinstance(found, str) else _lane(expr, found, found, scope, facts)


def _operation(expr: Op, scope: Scope, facts: Facts) -> _Lane | str:
    """An elementwise operation; a selection takes of each of its values what its condition leaves."""
    ways: tuple[Facts, ...] = (facts,) * len(expr.args)
    if expr.op == "select":
        told = (facts_of(expr.args[0], holds, _leaf(scope)) for holds in (True, False))
        ways = (facts, *((*new, *facts)[:MOST_FACTS] for new in told))
    parts: list[_Lane] = []
    for operand, known in zip(expr.args, ways, strict=True):
        got = _lanes_of(operand, scope, known)
        if isinstance(got, str):
            return got
        parts.append(got)
    taken = apply(expr.op, [p.taken for p in parts])
    found = taken if expr.op == "select" and not facts else apply(expr.op, [p.computed for p in parts])
    if not isinstance(found, str):
        found = _held(found, scope.int_format, expr.op)
    return found if isinstance(found, str) else _lane(expr, found, taken, scope, facts)


def _lane(expr: Expr, computed: Span, taken: Span | str, scope: Scope, facts: Facts) -> _Lane:
    """What is computed and taken of `expr`, floats as the datapath holds them."""
    computed = _entered(computed, scope)
    if not facts:
        return _Lane(computed, computed)
    return _Lane(computed, narrowed(expr, computed if isinstance(taken, str) else _entered(taken, scope), facts))


def _entered(span: Span, scope: Scope) -> Span:
    return rounded(span, scope.float_format) if span.kind == "float" and span != ANY_FLOAT else span


def _leaf(scope: Scope) -> Callable[[Expr], Span | None]:
    def values(expr: Expr) -> Span | None:
        found = span_of(expr, scope)
        return None if isinstance(found, str) else found

    return values


def _terms(page: Page, scope: Scope) -> int:
    return scope.queues[scope.stage.ins[page.port].queue].page[1]


def state_spans(
    body: Body, stage: Stage, queues: Mapping[str, Queue], flows: Mapping[str, Flow], target: Target
) -> list[Span | str]:
    """For each state of `stage` the values its cells take at any time, or why they may leave its format."""
    known = [_initial(s) for s in stage.states]
    longest = max((updates(body, stage, s) for s in stage.states), default=0)
    # Where states read each other, a value may have come through more updates than any one of them has.
    followed = longest if all(_is_alone(s, n) for n, s in enumerate(stage.states)) else MOST_ROUNDS + 1
    for turn in range(MOST_ROUNDS + 1):
        if turn == followed:
            return list(known)
        scopes = [
            Scope(
                stage,
                queues,
                flows,
                tuple(known),
                coordinates(body, stage, s.at),
                _format(stage, target),
                target.vector.float,
            )
            for s in stage.states
        ]
        made = [_updated(body, stage, n, scope) for n, scope in enumerate(scopes)]
        faults = [isinstance(m, str) for m in made]
        if any(faults):
            return [m if isinstance(m, str) else known[n] for n, m in enumerate(made)]
        grown = [hull(k, m) for k, m in zip(known, made, strict=True) if not isinstance(m, str)]
        if grown == known:
            return list(known)
        known = grown
    return [
        k if not is_int(s.prec) and k == ANY_FLOAT else _endless(s, k) for s, k in zip(stage.states, known, strict=True)
    ]


def updates(body: Body, stage: Stage, state: State) -> int:
    """How often one cell of `state` is updated at most between two settings.

    A loop that alone makes one dimension of the choice of cells reaches each cell in one of its iterations only.
    """
    trips = [prod(body.items.trips), *stage.loops]
    names = ["", *(f"l{k + 1}" for k in range(stage.depth))]
    choosing = {form.terms[0][0] for form in state.cell if len(form.terms) == 1}
    return prod(
        n for n, name in list(zip(trips, names, strict=True))[state.depth + 1 : state.at + 1] if name not in choosing
    )


def _updated(body: Body, stage: Stage, n: int, scope: Scope) -> Span | str:
    """The values of state `n` after any number of updates, as far as `scope.states` covers what they read."""
    state = stage.states[n]
    start, times = _initial(state), updates(body, stage, state)
    match state.update:
        case Op("add", (Cell(index, at), added)) if (
            index == n and at == state.cell and is_int(state.prec) and not _reads(added, n)
        ):
            step = span_of(added, scope)
            if isinstance(step, str):
                return step
            low, high = int(min(0, times * step.low)), int(max(0, times * step.high))
            found: Span | str = ints(int(start.low) + low, int(start.high) + high)
        case update:
            found = span_of(update, scope)
    if isinstance(found, str):
        return found
    if not is_int(state.prec):
        return rounded(found, state.prec)
    words = f"after {times} updates state {state.name}"
    found = _held(found, state.prec, words)
    return found if isinstance(found, str) or stage.kind == "matmul" else _held(found, scope.int_format, words)


def _is_alone(state: State, number: int) -> bool:
    return not any(isinstance(e, Cell) and e.state != number for e in walk(state.update))


def _reads(expr: Expr, state: int) -> bool:
    return any(isinstance(e, Cell) and e.state == state for e in walk(expr))


def _format(stage: Stage, target: Target) -> str:
    return target.matrix.int_accumulate if stage.kind == "matmul" else target.vector.int


def _initial(state: State) -> Span:
    return ints(int(state.init), int(state.init)) if is_int(state.prec) else _constant(float(state.init))


def _constant(value: float) -> Span:
    return ANY_FLOAT if value != value else Span("float", value, value)


def _endless(state: State, reached: Span) -> Span | str:
    if not is_int(state.prec):
        return ANY_FLOAT
    return f"no bound of state {state.name} was found; after {MOST_ROUNDS} updates it takes values {reached}"


def _held(span: Span, prec: str, what: str) -> Span | str:
    """`span`, or why an integer of these values does not fit `prec`."""
    if span.kind != "int" or within(span, int_range(prec)):
        return span
    return f"{what} takes values {span}, which do not fit {prec}"


def _shape(expr: Expr, scope: Scope) -> tuple[int, int]:
    """The shape of a well-typed expression."""
    match expr:
        case Page(port):
            return scope.queues[scope.stage.ins[port].queue].page
        case Cell(state):
            return scope.stage.states[state].shape
        case Coord(_, shape):
            return shape
        case Op(_, args):
            shapes = [_shape(a, scope) for a in args]
            return max(r for r, _ in shapes), max(c for _, c in shapes)
        case Convert(_, arg):
            return _shape(arg, scope)
        case Lanes(_, axis, arg):
            rows, cols = _shape(arg, scope)
            return (1, cols) if axis == "rows" else (rows, 1)
        case _:
            return 1, 1
