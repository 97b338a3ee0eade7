"""Section bodies: small dataflow machines with exact semantics, as frozen records.

A body names its operands by role and holds no tensor name, layer number, address or absolute site; two equal bodies
are one object wherever they occur. `docs/sections.md` is the long form of what follows; this file is the reference.

Sites. A body runs on a rectangle of `rect` = (width, height) sites with coordinates sx, sy from 0. Every site runs
every stage (a stage with `on` only on that subrectangle) `prod(items.trips)` times, in the lexicographic order of the
nest t0, t1, …; `items.coord` gives the item coordinates i0, i1, … of each turn. A turn whose coordinates leave
`items.grid` is idle. Over all sites and turns every point of the grid is met exactly once.

Stages. A stage is a loop nest: depth -1 is the call, 0 one turn, 1… its own `loops` (coordinates l1, l2, …). One
iteration at depth d:
  1. pops `count(pages)` pages from each in port of depth d, in listed order; the popped pages stay held;
  2. sets every state of depth d to its `init`;
  3. runs the iterations of depth d + 1, if there are any (turns below the call);
  4. applies the updates of the states with `at` = d, all reading the values before step 4;
  5. for each out port of depth d in listed order, for each page coordinate p0, p1, … of its `pages` (row-major):
     evaluates `value`, broadcasts it to the queue's page shape, and pushes the page;
  6. releases the held pages.
Ports block: a pop waits for a page, a push for room. No stage tests a queue. Depth -1 has neither turns nor item
coordinates: its forms may use sx, sy and p only.

Coordinates. t0, t1, … stand only in `items.coord`. A form of a stage at depth d may use sx and sy; i0, i1, … from
depth 0 on; l1 … ld; p0, p1, … in what a port moves, page by page; r and c in a `Coord`. Choices among pages and cells
stay in range on idle turns too. An expression at depth d reads pages popped at depth d or above.

Kinds.
  load       one out port, no value: each pushed page is read from the operand at `access`; lanes outside the binding's
             extent are zero; on an idle turn every lane is zero (a load of depth -1 is never idle).
  store      one in port (plus `index`, `mask` ports): page p of it is written at `access`; lanes outside the
             extent are not written; a mask page (rows x 1) suppresses the rows that are zero; idle turns write nothing.
  matmul     states and out ports; exactly one state per product; updates have the form add(state, matmul(a, b)).
  generic    states and out ports over any other expressions.
  permute    one in port, one out port, `perm`: lanes of each page rearranged.
  multicast  one in port, one out port; runs on senders (`on`); pushes each page to the out queue of every site of its
             `group` rectangle, whose upper left corner is the sender, once all have room.
  scatter    as multicast, but each member gets pages of its own: of n out pages, member m (row-major) gets in pages
             m * n … m * n + n - 1.
  send, receive, allreduce: record and text form only, until programs run over several chips.
A load's or store's place may add `scale` times one run-time index: element [0, 0] of a page held by `index.port`.

Queues belong to one site, have one producer and one consumer there, and hold `cap` pages. Pushing rounds to the
queue's precision.

Engines. Stages of one engine of a site form one sequential process whose order is the nest of `Loop`s and `Step`s;
`Step(stage, depth)` runs the stage up to the end of one iteration at `depth` (depth -1: the whole call), with the
beginnings and ends of enclosing iterations that fall due. A stage not carried by a site is skipped there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from spatial.ir.affine import Affine

# ---------------------------------------------------------------- expressions

DEEPEST = 100
"""Levels that an expression of a stage may have, leaves counted, and loops within loops: text and wire form hold no
more."""


@dataclass(frozen=True)
class Page:
    """A page held by in port `port` (by position); `at` chooses among the port's `pages`, one form per dimension."""

    port: int
    at: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Cell:
    """The value of state `state` (by position); `at` chooses among its `cells`."""

    state: int
    at: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Const:
    """A constant, broadcast; `kind` is "float" or "int"."""

    value: float | int
    kind: str


@dataclass(frozen=True)
class Coord:
    """An integer page of `shape`, whose lane [r, c] holds `value` with r and c (and any other coordinate) put in."""

    value: Affine
    shape: tuple[int, int]


@dataclass(frozen=True)
class Op:
    """An elementwise operation of `OPS` over pages; (rows, 1), (1, columns) and (1, 1) broadcast."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Convert:
    """`arg` converted to precision `prec` (rounded to nearest even; truth becomes 1 and 0)."""

    prec: str
    arg: Expr


@dataclass(frozen=True)
class Lanes:
    """In-page reduction (`op`: sum, max or min) along `axis` ("rows" or "cols"), in the target's lane order.

    Reducing the columns of (R, C) gives (R, 1); reducing the rows gives (1, C).
    """

    op: str
    axis: str
    arg: Expr


@dataclass(frozen=True)
class Matmul:
    """Product of page `a` (m, k) and page `b` (k, n), or (n, k) when `transpose_b`; order, rounding: the target's.

    Only as the second operand of `add` in an update of a matmul stage: each of the k products is added to the running
    accumulator in turn.
    """

    a: Page
    b: Page
    transpose_b: bool


Expr = Page | Cell | Const | Coord | Op | Convert | Lanes | Matmul

OPS: dict[str, int] = {
    **dict.fromkeys(("neg", "abs", "exp", "log", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt", "reciprocal"), 1),
    **dict.fromkeys(("not", "floor", "ceil", "round"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "min", "max", "eq", "ne", "lt", "le", "and", "or"), 2),
    **dict.fromkeys(("floordiv", "mod", "truncdiv", "rem"), 2),
    "select": 3,
}
"""Elementwise operations and their arity.

Arithmetic takes two floats (computed in the vector datapath's float format, each result rounded) or two ints (exact in
its int format; leaving it is an error). `div` is float only. `floordiv`/`mod` round toward minus infinity and
`truncdiv`/`rem` toward zero, int only. `floor`, `ceil`, `round` (halves away from zero) take a float to a float.
Comparisons give truth, which only `and`, `or`, `not`, `select` and `Convert` take. select(c, x, y) reads both and
returns one: a NaN not chosen does not show. `min` and `max` return the other operand where one is NaN. sqrt, div and
the arithmetic are correctly rounded; the transcendental functions are evaluated in binary64 and rounded once.
"""

# ---------------------------------------------------------------- stages


@dataclass(frozen=True)
class InPort:
    """Pops `count(pages)` pages of `queue` at the start of each iteration at `depth`."""

    queue: str
    depth: int
    pages: tuple[int, ...] = ()


@dataclass(frozen=True)
class OutPort:
    """Pushes `count(pages)` pages to `queue` at the end of each iteration at `depth`; `value`: computing kinds only."""

    queue: str
    depth: int
    pages: tuple[int, ...] = ()
    value: Expr | None = None


@dataclass(frozen=True)
class State:
    """An accumulator: `cells` pages of `shape` and `prec`, set to `init` at each iteration at `depth`.

    `update` is applied at depth `at` (>= depth) to the one cell that `cell` chooses. Only out ports of the same depth
    read it, and updates. `depth` -1 only where no site of the stage has an idle turn.
    """

    name: str
    shape: tuple[int, int]
    prec: str
    depth: int
    init: float | int
    at: int
    update: Expr
    cells: tuple[int, ...] = ()
    cell: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Index:
    """A run-time index: `scale` times element [0, 0] of the page that in port `port` holds is added on `axis`.

    `axis` is 0 (slice), 1 (row) or 2 (column).
    """

    port: int
    axis: int
    scale: int = 1


@dataclass(frozen=True)
class Access:
    """Where page lanes lie in an operand: lane [r, c] at (slice, row + r, column + c), each affine in item, loop, page

    and site coordinates, plus at most one run-time index. `plane` ("values" or "scales") for a Q8_0 operand. `mask`: in
    port of a store whose (rows, 1) page switches rows off.
    """

    operand: str
    place: tuple[Affine, Affine, Affine]
    plane: str = ""
    index: Index | None = None
    mask: int | None = None


@dataclass(frozen=True)
class Rect:
    """Sites (x … x + w - 1, y … y + h - 1) of a body's rectangle."""

    x: int
    y: int
    w: int
    h: int


KINDS = ("load", "store", "matmul", "generic", "permute", "multicast", "scatter", "allreduce", "send", "receive")


@dataclass(frozen=True)
class Stage:
    """One process, replicated over its sites; which fields a kind uses is told in the file's docstring.

    `perm`: "transpose", or for each out lane of a row the in lane it takes. `group`: (width, height) of a multicast.
    """

    name: str
    kind: str
    loops: tuple[int, ...] = ()
    ins: tuple[InPort, ...] = ()
    outs: tuple[OutPort, ...] = ()
    states: tuple[State, ...] = ()
    access: Access | None = None
    on: Rect | None = None
    perm: str | tuple[int, ...] = ()
    group: tuple[int, int] = (1, 1)

    @property
    def depth(self) -> int:
        """The deepest depth of the nest."""
        return len(self.loops)


@dataclass(frozen=True)
class Queue:
    """Pages of `page` = (rows, columns) and `prec` in a site's scratch; `cap` pages of room (0: not sized yet)."""

    name: str
    page: tuple[int, int]
    prec: str
    cap: int = 0


@dataclass(frozen=True)
class Operand:
    """A tensor position of a body: its format, layout, extent (slices, rows, columns), mode and proven range.

    `layout`: "flat", "dense" or "q8_0" (then `prec` is "q8_0", extent [slices, K, N]); `mode`: "in" or "out"; `range`:
    of an integer operand, the values it is proved or declared to hold. `finite`: a float operand proved to hold no
    infinity and no NaN.
    """

    name: str
    prec: str
    layout: str
    extent: tuple[int, int, int]
    mode: str
    range: tuple[int, int] | None = None
    finite: bool = False


@dataclass(frozen=True)
class Items:
    """The grid of items and the map of sites and turns onto it: `coord[a]` affine in sx, sy, t0, t1, …"""

    grid: tuple[int, ...]
    trips: tuple[int, ...]
    coord: tuple[Affine, ...]


@dataclass(frozen=True)
class Step:
    """Advance `stage` to the end of one iteration at `depth`."""

    stage: str
    depth: int


@dataclass(frozen=True)
class Loop:
    """`count` times the body."""

    count: int
    body: tuple[Loop | Step, ...]


@dataclass(frozen=True)
class Engine:
    """One sequential process of each site: an engine of the target, and the order of its steps in one call."""

    name: str
    order: tuple[Loop | Step, ...]


@dataclass(frozen=True)
class Plan:
    """What the search chose, and what it thought of it; no semantics.

    `block`: (coordinate, factor) pairs in the order they were applied; `spread`: how item axes meet the site axes, as
    (axis, site coordinate) pairs; `multicast`: stages whose page is read once for several sites; `scatter`: (load,
    members) pairs, of loads whose readers stand beside the banks and give each member its pages; `resident`: loads that
    stay for the call; `depth`: (stage, buffers) pairs; `engines`: (stage, engine) pairs; `label`: streamed, multicast,
    blocked…; `cycles`, `traffic`: the price.
    """

    block: tuple[tuple[str, int], ...] = ()
    rect: tuple[int, int] = (1, 1)
    spread: tuple[tuple[int, str], ...] = ()
    multicast: tuple[str, ...] = ()
    scatter: tuple[tuple[str, int], ...] = ()
    resident: tuple[str, ...] = ()
    depth: tuple[tuple[str, int], ...] = ()
    engines: tuple[tuple[str, str], ...] = ()
    label: str = ""
    cycles: float = 0.0
    traffic: int = 0


PHASES = ("template", "tiled", "placed", "sized", "scheduled", "persistent", "verified")
"""How far a body is lowered; `ir.validate` says what holds in each."""


@dataclass(frozen=True)
class Body:
    """A section body. `phase` is one of `PHASES`."""

    operands: tuple[Operand, ...]
    rect: tuple[int, int]
    items: Items
    queues: tuple[Queue, ...]
    stages: tuple[Stage, ...]
    engines: tuple[Engine, ...] = ()
    plan: Plan | None = None
    phase: str = "template"

    def operand(self, name: str) -> Operand:
        """The operand of that role."""
        return next(o for o in self.operands if o.name == name)

    def queue(self, name: str) -> Queue:
        """The queue of that name."""
        return next(q for q in self.queues if q.name == name)

    def stage(self, name: str) -> Stage:
        """The stage of that name."""
        return next(s for s in self.stages if s.name == name)


def count(pages: tuple[int, ...]) -> int:
    """How many pages a port moves per iteration."""
    return prod(pages)
