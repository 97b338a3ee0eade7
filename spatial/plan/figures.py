"""What a target's figures say of one transfer, one access to memory, one message; and of one evaluation's operations.

Each is a figure of the target or the line between two of them; nothing is fitted here. Knows no candidate.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, prod

from spatial.ir.body import Body, Cell, Const, Convert, Coord, Expr, Lanes, Matmul, Op, Page, Stage
from spatial.target import Target

Shape = tuple[int, int]


def transfer_cycles(target: Target, size: int) -> float:
    """Cycles a transfer of `size` bytes keeps a port of a network: straight between the sizes whose rates are known,
    no shorter than the shortest of them, never faster than the port."""
    network = target.network
    points = [(float(n), n / rate) for n, rate in network.rates]
    own = size / network.rate
    if not points:
        return own
    if size <= points[0][0]:
        return max(own, points[0][1])
    for (a, cycles_a), (b, cycles_b) in pairwise(points):
        if size <= b:
            return max(own, cycles_a + (cycles_b - cycles_a) * (size - a) / (b - a))
    return max(own, size / network.rates[-1][1])


def sending_cycles(target: Target, size: int) -> float:
    """Cycles a mover is kept by a page it sends or writes: of its transfer, and it starts none sooner than `issue`."""
    return max(target.network.issue, transfer_cycles(target, size))


def spreading_cycles(target: Target, size: int) -> float:
    """Cycles from a page of a multicast to the next: of sending it, or of the lines it takes, which carry all of it."""
    link = target.network.link
    return max(sending_cycles(target, size), size / link if link else 0.0)


def bank_cycles(target: Target, size: int, placed: bool = False) -> float:
    """Cycles one access keeps a bank: of a reader beside it (`placed`), or of any other."""
    memory = target.memory
    return size * memory.banks / (memory.rate if placed else memory.unplaced)


def message_cycles(target: Target, hops: int) -> float:
    """Cycles a message takes over `hops` hops."""
    return target.network.message + hops * target.network.hop


def operation_cycles(body: Body, stage: Stage, value: Expr, target: Target) -> float:
    """Cycles of the operations of one evaluation: page products in whole steps of rows, and what each costs beside;
    any other operation on the lanes it has itself, in whole steps of the vector datapath. The addition that
    accumulates a page product is the product's own."""
    return _operations(body, stage, value, target)[1]


def _operations(body: Body, stage: Stage, value: Expr, target: Target) -> tuple[Shape, float]:
    """(shape, cycles) of an expression."""

    def whole(shape: Shape) -> int:
        return ceil(prod(shape) / target.vector.results)

    match value:
        case Page():
            return body.queue(stage.ins[value.port].queue).page, 0.0
        case Cell():
            return stage.states[value.state].shape, 0.0
        case Coord():
            return value.shape, 0.0
        case Const():
            return (1, 1), 0.0
        case Convert():
            shape, cycles = _operations(body, stage, value.arg, target)
            return shape, cycles + whole(shape)
        case Lanes():
            (rows, cols), cycles = _operations(body, stage, value.arg, target)
            return (1, cols) if value.axis == "rows" else (rows, 1), cycles + whole((rows, cols))
        case Matmul():
            return _product(body, stage, value, target)
        case Op("add", (Cell(), Matmul() as product)):
            return _product(body, stage, product, target)
        case Op():
            parts = [_operations(body, stage, arg, target) for arg in value.args]
            shape = max(s[0] for s, _ in parts), max(s[1] for s, _ in parts)
            each = dict(target.vector.cost).get(value.op, 1.0)
            return shape, sum(cycles for _, cycles in parts) + each * whole(shape)


def _product(body: Body, stage: Stage, value: Matmul, target: Target) -> tuple[Shape, float]:
    a, b = (body.queue(stage.ins[page.port].queue) for page in (value.a, value.b))
    (m, k), n = a.page, b.page[0] if value.transpose_b else b.page[1]
    step = target.matrix.step_rows
    cycles = ceil(m / step) * step * k * n / target.matrix.rate(a.prec, b.prec)
    return (m, n), cycles + target.matrix.overhead
