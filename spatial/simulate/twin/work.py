"""What the compute engine does in one iteration of a stage: cycles of its updates, of the pages it makes, of packing.

Read off the stage's expressions and the target alone. An evaluation takes the longer of its operations and of getting
its pages out of scratch; a page an evaluation shares with the one before (its choice does not turn with the innermost
loop) is got once. Accumulators of a product that do not all fit the registers move between these and scratch. An
operation takes as long as its lanes, in steps of the vector datapath's width; a page product as long as whole steps of
the matrix datapath's rows. Knows no queue and no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from spatial.ir.body import Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage, State, count
from spatial.numerics import precision
from spatial.target import Target

Shape = tuple[int, int]


@dataclass(frozen=True)
class Made:
    """One page an out port makes: cycles of evaluating it, of packing it, and of its operations alone."""

    evaluate: float
    pack: float
    math: float


@dataclass(frozen=True)
class Work:
    """A computing stage: `updates` by the depth they fall due at, cycles of one iteration (as long as it takes, and
    `math` as the datapath alone would), and what each out port makes."""

    updates: tuple[float, ...]
    math: tuple[float, ...]
    outs: tuple[Made, ...]

    def update(self, depth: int) -> float:
        """Cycles of the updates of one iteration at `depth`."""
        return self.updates[depth + 1]


def work_of(body: Body, stage: Stage, target: Target) -> Work:
    """The work of a stage of the compute engine; none of one that moves pages."""
    updates = [0.0] * (stage.depth + 2)
    math = [0.0] * (stage.depth + 2)
    resident = _resident(stage, target)
    for state in stage.states:
        found = _evaluation(body, stage, state.update, state.at, 1, target)
        math[state.at + 1] += found.math
        if stage.kind == "matmul" and resident > state.depth:
            updates[resident + 1] += _worked(stage, state, found, resident, target)
        else:
            updates[state.at + 1] += found.longest
    outs = tuple(_made(body, stage, n, target) for n in range(len(stage.outs)))
    return Work(tuple(updates), tuple(math), outs)


def full_rate(body: Body, stage: Stage, work: Work) -> float:
    """Cycles of a stage's operations in one turn, at the datapaths' full rate."""
    total = 0.0
    for depth in range(stage.depth + 1):
        times = prod(stage.loops[:depth])
        made = sum(m.math * count(p.pages) for m, p in zip(work.outs, stage.outs, strict=True) if p.depth == depth)
        total += times * (work.math[depth + 1] + made)
    return total


def page_bytes(body: Body, queue: str) -> int:
    """Bytes of a page of `queue`."""
    found = body.queue(queue)
    return prod(found.page) * precision(found.prec).bytes


def _made(body: Body, stage: Stage, number: int, target: Target) -> Made:
    port = stage.outs[number]
    size = page_bytes(body, port.queue)
    pack = size / target.pack
    if stage.kind == "permute":
        math = ceil(prod(body.queue(port.queue).page) / target.vector.results)
        return Made(max(math, size / target.unpack), pack, math)
    if port.value is None:
        return Made(0.0, 0.0, 0.0)
    found = _evaluation(body, stage, port.value, port.depth, count(port.pages), target)
    return Made(found.longest, pack, found.math)


def _resident(stage: Stage, target: Target) -> int:
    """The outermost depth at which the accumulators that one iteration works on fit the registers of page products."""
    lanes = prod(target.tile)
    for depth in range(-1, stage.depth):
        tiles = 0
        for state in stage.states:
            words = max(precision(state.prec).bits, 32) // 32
            tiles += _worked_on(stage, state, depth) * ceil(prod(state.shape) * words / lanes)
        if tiles <= target.matrix.registers:
            return depth
    return stage.depth


def _worked_on(stage: Stage, state: State, depth: int) -> int:
    """Cells of a state that one iteration at `depth` updates."""
    symbols = {s for form in state.cell for s in form.symbols}
    turns = [n for k, n in enumerate(stage.loops) if k >= max(depth, state.depth) and f"l{k + 1}" in symbols]
    return min(prod(turns), prod(state.cells))


def _worked(stage: Stage, state: State, update: Evaluation, depth: int, target: Target) -> float:
    """Cycles of the updates in one iteration at `depth`, in registers; where that is not a cell's only one, the cells
    come from scratch before and go back after, all but the first and the last time."""
    symbols = {s for form in state.cell for s in form.symbols}
    first = max(state.depth, 0)
    meetings = prod(n for k, n in enumerate(stage.loops[first:depth], first) if f"l{k + 1}" not in symbols)
    size = prod(state.shape) * precision(state.prec).bytes * (1 - 1 / meetings)
    moved = _worked_on(stage, state, depth) * size
    times = prod(stage.loops[depth : state.at])
    if target.matrix.halves == 1:
        return times * update.longest + moved / target.unpack + moved / target.pack
    # One half of the registers is filled and emptied while the other is worked on.
    return max(times * update.busy, times * update.unpacked + moved / target.unpack, moved / target.pack)


@dataclass(frozen=True)
class Evaluation:
    """Cycles of an evaluation: of its operations, of these and what a product costs beside, of getting its pages."""

    math: float
    busy: float
    unpacked: float

    @property
    def longest(self) -> float:
        """Cycles it takes by itself."""
        return max(self.busy, self.unpacked)


def _evaluation(body: Body, stage: Stage, value: Expr, depth: int, pages: int, target: Target) -> Evaluation:
    """One evaluation at `depth`, one of `pages` in a row."""
    overhead = sum(target.matrix.overhead for node in _nodes(value) if isinstance(node, Matmul))
    math = _math(body, stage, value, target)
    unpacked = 0.0
    for leaf in dict.fromkeys(node for node in _nodes(value) if isinstance(node, Page)):
        port = stage.ins[leaf.port]
        symbols = {s for form in leaf.at for s in form.symbols}
        shared = 1
        if pages > 1:
            shared = 1 if any(s.startswith("p") for s in symbols) else pages
        elif 0 < depth != port.depth and f"l{depth}" not in symbols:
            shared = stage.loops[depth - 1]
        unpacked += page_bytes(body, port.queue) / target.unpack / shared
    return Evaluation(math, math + overhead, unpacked)


def _nodes(value: Expr) -> Iterator[Expr]:
    yield value
    match value:
        case Op():
            for arg in value.args:
                yield from _nodes(arg)
        case Convert() | Lanes():
            yield from _nodes(value.arg)
        case Matmul():
            yield value.a
            yield value.b
        case _:
            pass


def _math(body: Body, stage: Stage, value: Expr, target: Target) -> float:
    """Cycles of the operations of an expression. The addition of a page product is the product's own."""
    dear = dict(target.vector.cost)

    def lanes(shape: Shape) -> int:
        return ceil(prod(shape) / target.vector.results)

    def walk(node: Expr) -> tuple[Shape, float]:
        match node:
            case Page():
                return body.queue(stage.ins[node.port].queue).page, 0.0
            case Cell():
                return stage.states[node.state].shape, 0.0
            case Coord():
                return node.shape, 0.0
            case Const():
                return (1, 1), 0.0
            case Convert():
                shape, cycles = walk(node.arg)
                return shape, cycles + lanes(shape)
            case Lanes():
                shape, cycles = walk(node.arg)
                rows, cols = shape
                return (1, cols) if node.axis == "rows" else (rows, 1), cycles + lanes(shape)
            case Matmul():
                return _product(body, stage, node, target)
            case Op("add", (Cell(), Matmul() as product)):
                return _product(body, stage, product, target)
            case Op():
                parts = [walk(arg) for arg in node.args]
                shape = max(p[0][0] for p in parts), max(p[0][1] for p in parts)
                return shape, sum(p[1] for p in parts) + dear.get(node.op, 1.0) * lanes(shape)

    return walk(value)[1]


def _product(body: Body, stage: Stage, node: Matmul, target: Target) -> tuple[Shape, float]:
    queues = [body.queue(stage.ins[page.port].queue) for page in (node.a, node.b)]
    (m, k), (p, n) = queues[0].page, queues[1].page
    n = p if node.transpose_b else n
    step = target.matrix.step_rows
    return (m, n), ceil(m / step) * step * k * n / target.matrix.rate(*(q.prec for q in queues))
