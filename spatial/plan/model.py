"""A template as the numbers plans are judged by: coordinates that can be blocked, streams between stages, work a
page."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from spatial.ir.body import Access, Body, Convert, Expr, Lanes, Matmul, Op, Stage
from spatial.ir.rewrite import accumulator_tiles, expressions, live_tiles, operations
from spatial.numerics import Q8_BLOCK, precision
from spatial.plan.block import blockable, depends
from spatial.target import Target


@dataclass(frozen=True)
class Coordinate:
    """An item axis ("i0") or the innermost loop ("l1"): its trip count and the factors it may be blocked by."""

    name: str
    trips: int
    factors: tuple[int, ...]


@dataclass(frozen=True)
class Stream:
    """A queue: bytes of one page, the coordinates (by position) whose blocking multiplies its pages, its depth, ends.

    `fires`: pushes per turn before blocking; `loop`: whether the blocked loop divides them.
    """

    queue: str
    page_bytes: int
    coords: tuple[int, ...]
    fires: int
    loop: bool
    producer: str
    consumer: str


@dataclass(frozen=True)
class Moved:
    """A load or store: its stream, the item axes (by number) its place depends on, and contiguous bytes per run.

    `indexed`: it waits for a run-time index; `feeds_index`: what it loads is one, or a row mask; `turned`: its pages
    go through a permutation.
    """

    stage: str
    stream: int
    axes: frozenset[int]
    runs: int
    run_bytes: int
    indexed: bool
    feeds_index: bool
    turned: bool


@dataclass(frozen=True)
class Work:
    """A computing stage: cycles of one evaluation on one page, evaluations per turn before blocking, and what
    multiplies them.

    `tiles`: registers of its accumulators before blocking (`cells`: coordinates that multiply them); `live`: registers
    of its expressions; `matrix`: which datapath.
    """

    stage: str
    cycles: float
    evaluations: int
    coords: tuple[int, ...]
    tiles: int
    cells: tuple[int, ...]
    live: int
    matrix: bool


@dataclass(frozen=True)
class Model:
    """A template and its numbers. `loop`: position of the blocked loop among the coordinates, or None."""

    body: Body
    coordinates: tuple[Coordinate, ...]
    loop: int | None
    streams: tuple[Stream, ...]
    loads: tuple[Moved, ...]
    stores: tuple[Moved, ...]
    work: tuple[Work, ...]


def divisors(n: int) -> tuple[int, ...]:
    """The divisors of n, ascending."""
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))


def model_of(body: Body, target: Target) -> Model:
    """The numbers of a template."""
    deepest = max((len(s.loops) for s in body.stages), default=0)
    names = [f"i{a}" for a in range(len(body.items.grid))]
    trips = list(body.items.grid)
    if deepest:
        names.append(f"l{deepest}")
        trips.append(next(s.loops[-1] for s in body.stages if len(s.loops) == deepest))
    deps = {n: depends(body, n) for n in names}
    coordinates = tuple(
        Coordinate(n, t, divisors(t) if blockable(body, n) else (1,)) for n, t in zip(names, trips, strict=True)
    )
    loop = len(names) - 1 if deepest else None
    ends = _ends(body)
    streams = tuple(
        Stream(
            q.name,
            prod(q.page) * precision(q.prec).bytes,
            tuple(k for k, n in enumerate(names) if q.name in deps[n]),
            prod(ends[q.name][2]),
            bool(deepest) and len(ends[q.name][2]) == deepest,
            ends[q.name][0],
            ends[q.name][1],
        )
        for q in body.queues
    )
    numbers = {s.queue: n for n, s in enumerate(streams)}
    special = _special(body)
    loads = tuple(_moved(body, s, numbers, s.outs[0].queue, special, target) for s in body.stages if s.kind == "load")
    stores = tuple(_moved(body, s, numbers, s.ins[0].queue, special, target) for s in body.stages if s.kind == "store")
    work = tuple(_work(body, s, names, deps, target) for s in body.stages if s.kind in ("matmul", "generic", "permute"))
    return Model(body, coordinates, loop, streams, loads, stores, work)


def _ends(body: Body) -> dict[str, tuple[str, str, tuple[int, ...]]]:
    """Of each queue: producer, consumer, and the loops around a push."""
    producer = {o.queue: (s.name, s.loops[: max(o.depth, 0)]) for s in body.stages for o in s.outs}
    consumer = {i.queue: s.name for s in body.stages for i in s.ins}
    return {q: (name, consumer.get(q, ""), loops) for q, (name, loops) in producer.items()}


def _special(body: Body) -> frozenset[str]:
    """Queues that carry run-time indices or row masks."""
    found: set[str] = set()
    for s in body.stages:
        if s.access and s.access.index:
            found.add(s.ins[s.access.index.port].queue)
        if s.access and s.access.mask is not None:
            found.add(s.ins[s.access.mask].queue)
    return frozenset(found)


def _moved(
    body: Body, stage: Stage, numbers: dict[str, int], queue: str, special: frozenset[str], target: Target
) -> Moved:
    access = stage.access
    places = access.place if access else ()
    axes = frozenset(int(s[1:]) for f in places for s in f.symbols if s[0] == "i")
    runs, run_bytes = _runs(body, access, queue, target) if access else (1, 0)
    return Moved(
        stage.name,
        numbers[queue],
        axes,
        runs,
        run_bytes,
        bool(access and access.index),
        queue in special,
        any(s.kind == "permute" and s.ins[0].queue == queue for s in body.stages),
    )


def _runs(body: Body, access: Access, queue: str, target: Target) -> tuple[int, int]:
    """(contiguous runs of one page in memory, bytes of each): a whole tile's width is one run, else each row is."""
    (rows, cols), size = body.queue(queue).page, precision(body.queue(queue).prec).bytes
    layout, plane = body.operand(access.operand).layout, access.plane
    side, form = (rows, access.place[1]) if plane == "values" else (cols, access.place[2])
    unit = Q8_BLOCK if plane == "values" else target.tile[1]
    tiled = layout == "dense" or plane == "values"
    if tiled and side == unit and not any(c % unit for c in (form.const, *(c for _, c in form.terms))):
        return 1, rows * cols * size
    return rows, cols * size


def _work(body: Body, stage: Stage, names: list[str], deps: dict[str, frozenset[str]], target: Target) -> Work:
    ports = [p.queue for p in (*stage.ins, *stage.outs)]
    coords = tuple(k for k, n in enumerate(names) if n[0] == "i" and any(q in deps[n] for q in ports))
    matrix = stage.kind == "matmul"
    cells = tuple(
        k
        for k, n in enumerate(names)
        if stage.states and (k in coords or (n[0] == "l" and any(s.depth >= int(n[1:]) for s in stage.states)))
    )
    if stage.kind == "permute":
        page = body.queue(stage.outs[0].queue).page
        return Work(stage.name, prod(page) / target.vector.results, prod(stage.loops), coords, 0, (), 0, False)
    lanes = max(prod(body.queue(q).page) for q in ports)
    cycles = sum(expression_cycles(body, stage, e, lanes, target) for e in expressions(stage))
    tiles = accumulator_tiles(stage, target)
    return Work(stage.name, cycles, prod(stage.loops), coords, tiles, cells, live_tiles(stage), matrix)


def expression_cycles(body: Body, stage: Stage, value: Expr, lanes: int, target: Target) -> float:
    """Cycles one evaluation of an expression takes: a page product on the matrix datapath, the rest lane by lane."""
    cost = dict(target.vector.cost)
    total = 0.0
    for node in operations(value):
        match node:
            case Matmul():
                (m, k), (p, q) = (body.queue(stage.ins[x.port].queue).page for x in (node.a, node.b))
                n = p if node.transpose_b else q
                step = target.matrix.step_rows
                formats = (body.queue(stage.ins[x.port].queue).prec for x in (node.a, node.b))
                total += -(-m // step) * step * k * n / target.matrix.rate(*formats) + target.matrix.overhead
            case Op() if stage.kind != "matmul":
                total += cost.get(node.op, 1.0) * lanes / target.vector.results
            case Convert() | Lanes():
                total += lanes / target.vector.results
            case _:
                pass
    return total
