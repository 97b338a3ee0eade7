"""A template as the numbers plans are judged by: coordinates that can be blocked, streams between stages, work a
page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from spatial.errors import Bug
from spatial.ir.affine import Affine
from spatial.ir.body import Access, Body, Expr, OutPort, Page, Stage, State
from spatial.ir.layout import layout_of
from spatial.ir.registers import accumulator_tiles, live_tiles
from spatial.ir.rewrite import leaves
from spatial.numerics import Q8_BLOCK, precision
from spatial.plan.block import blockable, depends
from spatial.plan.figures import operation_cycles
from spatial.plan.turn import grain
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
    go through a permutation. `strides`: bytes of memory from a page to the next along each coordinate; `stretch`:
    bytes that lie together in one bank (of a table dealt by width, bytes along a row of tiles). `strip`: how many items
    of its one axis have their columns of such a table together in a bank; 0 where they lie otherwise.
    """

    stage: str
    stream: int
    axes: frozenset[int]
    runs: int
    run_bytes: int
    indexed: bool
    feeds_index: bool
    turned: bool
    strides: tuple[int, ...]
    stretch: int
    strip: int = 0


@dataclass(frozen=True)
class Evaluated:
    """What is evaluated at the end of iterations at `depth`: cycles of the operations of one evaluation, the (bytes,
    stream) of every page it reads, and how often before blocking.

    `coords`: the coordinates whose blocking multiplies the evaluations; `again`: where nothing is blocked, how many
    evaluations in a row read the same page. `out`: the stream its pages are pushed to; None of the update of an
    accumulator. Of one that need not all be in registers `cell` is the bytes of a part, `visits` in how many iterations
    it is worked on before blocking, `looped` whether the blocked loop makes those fewer.
    """

    depth: int
    cycles: float
    pages: tuple[tuple[int, int], ...]
    times: int
    coords: tuple[int, ...]
    again: tuple[int, ...]
    out: int | None
    cell: int = 0
    visits: int = 1
    looped: bool = False


@dataclass(frozen=True)
class Work:
    """A computing stage: what it evaluates, and the registers it takes.

    `tiles`: registers of its accumulators before blocking (`cells`: coordinates that multiply them); `live`: registers
    of its expressions; `matrix`: which datapath.
    """

    stage: str
    evaluated: tuple[Evaluated, ...]
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
    loads, stores = (
        tuple(_moved(body, s, numbers, names, special, target) for s in body.stages if s.kind == kind)
        for kind in ("load", "store")
    )
    computing = [s for s in body.stages if s.kind in ("matmul", "generic", "permute")]
    work = tuple(_work(body, s, names, deps, numbers, target) for s in computing)
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
    body: Body,
    stage: Stage,
    numbers: dict[str, int],
    names: list[str],
    special: frozenset[str],
    target: Target,
) -> Moved:
    access = stage.access
    if access is None:
        raise Bug(f"stage {stage.name} is a {stage.kind} without a place")
    queue = (stage.outs if stage.kind == "load" else stage.ins)[0].queue
    axes = frozenset(int(s[1:]) for f in access.place for s in f.symbols if s[0] == "i")
    runs, run_bytes = _runs(body, access, queue, target)
    operand = body.operand(access.operand)
    layout = layout_of(operand.layout, operand.prec, operand.extent, target)
    plane, first = layout.plane(access.plane), layout.planes[0][1]

    def stride(name: str) -> int:
        s, r, c = (dict(f.terms).get(name, 0) for f in access.place)
        return plane.offset(0, 0, c) if plane.strip else plane.offset(s, r, c) - plane.start

    return Moved(
        stage.name,
        numbers[queue],
        axes,
        runs,
        run_bytes,
        access.index is not None,
        queue in special,
        any(s.kind == "permute" and s.ins[0].queue == queue for s in body.stages),
        tuple(stride(n) for n in names),
        plane.strip * prod(plane.tile) * plane.itemsize if plane.strip else prod(target.tile) * first.itemsize,
        plane.strip
        if stage.kind == "load" and _by_width(access, axes, body.queue(queue).page[1], plane.tile[1])
        else 0,
    )


def _by_width(access: Access, axes: frozenset[int], page: int, tile: int) -> bool:
    """Whether items of one axis take a column of tiles each, the first from the first."""
    slices, rows, columns = access.place
    items = [Affine.sym(f"i{a}", tile) for a in axes]
    apart = not any(s[0] == "i" for f in (slices, rows) for s in f.symbols)
    return access.index is None and items == [columns] and apart and page == tile


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


def _work(
    body: Body, stage: Stage, names: list[str], deps: dict[str, frozenset[str]], numbers: dict[str, int], target: Target
) -> Work:
    ports = [p.queue for p in (*stage.ins, *stage.outs)]
    coords = tuple(k for k, n in enumerate(names) if n[0] == "i" and any(q in deps[n] for q in ports))
    cells = tuple(
        k
        for k, n in enumerate(names)
        if stage.states and (k in coords or (n[0] == "l" and any(s.depth >= int(n[1:]) for s in stage.states)))
    )
    deepest = grain(stage)
    inner = tuple(k for k, n in enumerate(names) if n[0] == "l" and int(n[1:]) <= deepest)

    def evaluated(value: Expr, depth: int, out: int | None, multiplied: tuple[int, ...]) -> Evaluated:
        read = dict.fromkeys(page.port for page in leaves(value) if isinstance(page, Page))
        again = tuple(stage.loops[depth - 1] if 0 < depth != stage.ins[port].depth else 1 for port in read)
        return Evaluated(
            min(depth, deepest),
            operation_cycles(body, stage, value, target),
            tuple((page_bytes(body, stage.ins[port].queue), numbers[stage.ins[port].queue]) for port in read),
            prod(stage.loops[deepest:depth]),
            multiplied,
            again,
            out,
        )

    def made(port: OutPort) -> Evaluated | None:
        number = numbers[port.queue]
        pages = tuple(k for k, n in enumerate(names) if port.queue in deps[n])
        if port.value is not None:
            return evaluated(port.value, port.depth, number, pages)
        if stage.kind != "permute":
            return None
        size, queue = page_bytes(body, port.queue), stage.ins[0].queue
        cycles = float(ceil(prod(body.queue(port.queue).page) / target.vector.results))
        return Evaluated(port.depth, cycles, ((size, numbers[queue]),), 1, pages, (1,), number)

    def updated(s: State) -> Evaluated:
        found = evaluated(s.update, s.at, None, (*coords, *(inner if s.at == stage.depth else ())))
        if stage.kind != "matmul":
            return found
        size, first = prod(s.shape) * precision(s.prec).bytes, max(s.depth, 0)
        looped = any(names[k][0] == "l" and first < int(names[k][1:]) <= s.at for k in inner)
        return replace(found, cell=size, visits=prod(stage.loops[first : s.at]), looped=looped)

    updates = [updated(s) for s in stage.states]
    outs = [e for e in map(made, stage.outs) if e is not None]
    tiles = accumulator_tiles(stage, target)
    return Work(stage.name, (*updates, *outs), tiles, cells, live_tiles(stage), stage.kind == "matmul")


def page_bytes(body: Body, queue: str) -> int:
    """Bytes of a page of a queue."""
    found = body.queue(queue)
    return prod(found.page) * precision(found.prec).bytes
