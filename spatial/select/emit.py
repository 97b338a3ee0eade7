"""A builder of template bodies: operands, loads with their permutations, computing stages, stores.

A template runs on one site; its items are a page of the result each, its loops the pages of a reduction. Names of
operands, queues and stages are roles, numbered in order of emission, so that equal sections get equal bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spatial.errors import Refused
from spatial.ir.affine import ZERO, Affine
from spatial.ir.body import (
    Access,
    Body,
    Const,
    Convert,
    Expr,
    Index,
    InPort,
    Items,
    Op,
    Operand,
    OutPort,
    Page,
    Queue,
    Stage,
    State,
)
from spatial.ir.graph import Read
from spatial.numerics import Q8_BLOCK, int_range
from spatial.select.lanes import Lane, PageRead, Places, page_read
from spatial.select.pieces import Stored
from spatial.target import Target

Place3 = tuple[Affine, Affine, Affine]


@dataclass(frozen=True)
class OperandBind:
    """What an operand position is bound to: graph tensor `tensor`, `slices` slices from slice `origin` (affine in
    b) on."""

    tensor: int
    origin: Affine
    slices: int
    mode: str


@dataclass(frozen=True)
class Template:
    """A section before any plan: the body, what its operands are bound to, and what kind of section it is."""

    body: Body
    binds: tuple[OperandBind, ...]
    kind: str


class Misfit(Refused):
    """A statement that no template takes, with the reason in the user's terms."""


@dataclass
class Nest:
    """The coordinates of a template: item axes i0, i1, … and loops l1, l2, …, and the form of every piece variable.

    `bases`: piece variable to its coordinate form without the lane. `whole`: variables an item runs along as a loop
    of its own (see `select.granules`); `done`: the depth at which a page of the result is finished, below those loops.
    """

    row: Lane
    col: Lane
    grid: list[int] = field(default_factory=list[int])
    loops: list[int] = field(default_factory=list[int])
    bases: dict[str, Affine] = field(default_factory=dict[str, Affine])
    whole: frozenset[int] = frozenset()
    done: int = 0

    def axis(self, var: int, extent: int, stride: int = 1) -> None:
        """Let the next item coordinate, or a loop of each item, run `extent` times and move `var` by `stride`."""
        if var in self.whole:
            self.loop(var, extent, stride)
            self.done = len(self.loops)
        elif extent == 1:
            self.bases[f"v{var}"] = ZERO
        else:
            self.bases[f"v{var}"] = Affine.sym(f"i{len(self.grid)}", stride)
            self.grid.append(extent)

    def loop(self, var: int, extent: int, stride: int = 1) -> None:
        """Let a loop of `extent` iterations move variable `var` by `stride`."""
        if extent == 1:
            self.bases[f"v{var}"] = ZERO
        else:
            self.loops.append(extent)
            self.bases[f"v{var}"] = Affine.sym(f"l{len(self.loops)}", stride)

    def side(self, lane: Lane, reduced: bool) -> None:
        """Let a lane variable run: its pages along an item axis, or along a loop where it is reduced."""
        if lane.var is None:
            return
        (self.loop if reduced else self.axis)(lane.var, lane.pages, lane.tile // lane.step)

    def form(self, form: Affine) -> Affine:
        """A form over piece variables as one over item and loop coordinates, lanes left out."""
        return form.subst(self.bases)

    def ranges(self) -> dict[str, tuple[int, int]]:
        """What each coordinate runs through."""
        items = {f"i{n}": (0, extent - 1) for n, extent in enumerate(self.grid)}
        return items | {f"l{n + 1}": (0, trips - 1) for n, trips in enumerate(self.loops)}

    def depth(self, *forms: Affine) -> int:
        """The least depth at which all the forms (over coordinates) are known."""
        return max((int(s[1:]) for f in forms for s in f.symbols if s[0] == "l"), default=0)


@dataclass
class Emitter:
    """Collects one template. `tensors`: how each graph tensor is stored; `bounded`: see `select.section`."""

    target: Target
    tensors: Mapping[int, Stored]
    nest: Nest
    bounded: bool = False
    operands: list[Operand] = field(default_factory=list[Operand])
    binds: list[OperandBind] = field(default_factory=list[OperandBind])
    queues: list[Queue] = field(default_factory=list[Queue])
    stages: list[Stage] = field(default_factory=list[Stage])

    # ------------------------------------------------------------ names

    def operand(self, tensor: int, origin: Affine, slices: int, mode: str) -> str:
        """The operand for `slices` slices of a graph tensor from slice `origin` (affine in b) on; one per tensor,
        part, mode."""
        stored = self.tensors[tensor]
        bind = OperandBind(tensor, origin, slices, mode)
        if bind in self.binds:
            return self.operands[self.binds.index(bind)].name
        name = "out" if mode == "out" else f"x{sum(o.mode == 'in' for o in self.operands)}"
        _, rows, cols = stored.view.shape
        extent = (slices, rows, cols)
        self.operands.append(Operand(name, stored.prec, stored.layout, extent, mode, stored.range))
        self.binds.append(bind)
        return name

    def queue(self, hint: str, page: tuple[int, int], prec: str) -> str:
        """A new queue named after `hint`."""
        name = f"{hint}{sum(q.name.startswith(hint) and q.name[len(hint) :].isdigit() for q in self.queues)}"
        self.queues.append(Queue(name, page, prec))
        return name

    def page_of(self, queue: str) -> Queue:
        """The queue of that name."""
        return next(q for q in self.queues if q.name == queue)

    # ------------------------------------------------------------ loads and stores

    def place(self, tensor: int, places: Places, offset: int = 0) -> tuple[Place3, tuple[Affine, int]]:
        """The place of an access over coordinates within its operand, and the operand's part of the tensor: its first
        slice (affine in b) and how many. Where no instance number stands in the slice, that is all of them."""
        s, r, c = places
        turn = s.base.coef("b")
        slice_ = self.nest.form(s.base - Affine.sym("b", turn))
        first, slices = Affine(), self.tensors[tensor].view.shape[0]
        if turn:
            low, high = slice_.bounds(self.nest.ranges())
            if s.via is not None:
                via = self.tensors[s.via.tensor]
                steps = [s.scale * v for v in via.range or int_range(via.prec)]
                low, high = low + min(steps), high + max(steps)
            start = low // turn * turn if turn > 0 else low
            # All that an iteration advances by, where that never passes the end: on a diagonal, the last one's would.
            even = turn > 0 and slices % turn == 0 and high < start + turn
            slices = turn if even else high - start + 1
            first, slice_ = Affine.of(start, {"b": turn}), slice_ - start
        return (slice_, self.nest.form(r.base), self.nest.form(c.base) - offset), (first, slices)

    def index(self, places: Places) -> tuple[Index | None, tuple[InPort, ...]]:
        """The run-time index of an access: a load of one element feeding port 0, or nothing."""
        for axis, p in enumerate(places):
            if p.via is None:
                continue
            stored = self.tensors[p.via.tensor]
            if not stored.is_int or any(at.via is not None for at in p.via.at):
                raise Misfit("an index is read through another index", "a section adds one run-time index to a place")
            inner = stored.view.place(p.via.at)
            queue, depth = self.load(p.via.tensor, inner, (1, 1), "idx")
            return Index(0, axis, p.scale), (InPort(queue, depth),)
        return None, ()

    def load(
        self, tensor: int, places: Places, page: tuple[int, int], hint: str, plane: str = "", offset: int = 0
    ) -> tuple[str, int]:
        """A load of one page per iteration at the least depth its place allows; gives (queue, depth)."""
        stored = self.tensors[tensor]
        index, ins = self.index(places)
        place, part = self.place(tensor, places, offset)
        depth = max([self.nest.depth(*place), *(p.depth for p in ins)])
        if plane == "scales":
            place = (place[0], _over_block(place[1]), place[2])
            index = index and _index_over_block(index)
        name = self.operand(tensor, *part, "in")
        prec = {"values": "i8", "scales": "f16"}.get(plane, stored.prec)
        queue = self.queue(hint, page, prec)
        access = Access(name, place, plane, index)
        self.stages.append(
            Stage(f"load_{queue}", "load", tuple(self.nest.loops[:depth]), ins, (OutPort(queue, depth),), access=access)
        )
        return queue, depth

    def turned(self, queue: str, depth: int, read: PageRead) -> str:
        """The queue's pages turned to face the lanes; the queue itself where nothing has to turn."""
        perm = "transpose" if read.transposed and read.page != (1, 1) else read.spread
        if not perm:
            return queue
        page = self.page_of(queue)
        rows, cols = page.page
        shape = (cols, rows) if perm == "transpose" else (rows, len(perm))
        out = self.queue(f"{queue}t", shape, page.prec)
        loops = tuple(self.nest.loops[:depth])
        self.stages.append(
            Stage(f"turn_{queue}", "permute", loops, (InPort(queue, depth),), (OutPort(out, depth),), perm=perm)
        )
        return out

    def store(self, tensor: int, places: Places, queue: str, mask: str | None, offset: int = 0) -> None:
        """A store of every finished page at the access; `mask`: a queue of (rows, 1) pages that switches rows off."""
        index, index_ports = self.index(places)
        place, part = self.place(tensor, places, offset)
        done = self.nest.done
        ins = [InPort(queue, done)]
        if index is not None:
            index = Index(1, index.axis, index.scale)
            ins += [InPort(p.queue, p.depth) for p in index_ports]
        masked = None
        if mask is not None:
            masked = len(ins)
            ins.append(InPort(mask, done))
        name = self.operand(tensor, *part, "out")
        access = Access(name, place, "", index, masked)
        self.stages.append(Stage("store", "store", tuple(self.nest.loops[:done]), tuple(ins), access=access))

    # ------------------------------------------------------------ the whole

    def finish(self, kind: str) -> Template:
        """The template, operands in order of first use with the result last."""
        order = sorted(range(len(self.operands)), key=lambda k: self.operands[k].mode == "out")
        grid = tuple(self.nest.grid) or (1,)
        coord = tuple(Affine.sym(f"t{a}") for a in range(len(grid)))
        body = Body(
            operands=tuple(self.operands[k] for k in order),
            rect=(1, 1),
            items=Items(grid, grid, coord),
            queues=tuple(self.queues),
            stages=tuple(self.stages),
        )
        return Template(body, tuple(self.binds[k] for k in order), kind)


def _over_block(row: Affine) -> Affine:
    """A row place of the values plane as one of the scales plane; refuses a place that is no whole block."""
    if row.const % Q8_BLOCK or any(c % Q8_BLOCK for _, c in row.terms):
        raise Misfit(
            "a weight stored Q8_0 is read across the edge of a block",
            f"blocks run {Q8_BLOCK} values along the reduced axis",
            "store the weight unquantised, or make the axis' parts multiples of 32",
        )
    return Affine(row.const // Q8_BLOCK, tuple((s, c // Q8_BLOCK) for s, c in row.terms))


def _index_over_block(index: Index) -> Index:
    if index.axis == 1:
        raise Misfit("a weight stored Q8_0 is read at a run-time position of its blocked axis")
    return index


# ---------------------------------------------------------------- ports of one computing stage


@dataclass
class Ports:
    """The in ports of one computing stage under way; one port per queue."""

    emitter: Emitter
    ins: list[InPort] = field(default_factory=list[InPort])
    made: dict[tuple[Read, Lane, Lane], Expr] = field(default_factory=dict[tuple[Read, Lane, Lane], Expr])

    def port(self, queue: str, depth: int) -> Page:
        """The page of a new in port on `queue`."""
        self.ins.append(InPort(queue, depth))
        return Page(len(self.ins) - 1)

    def read(self, read: Read, places: Places, row: Lane, col: Lane) -> Expr:
        """The page of an access facing the lanes `row` x `col`, loaded, dequantised and turned as it needs."""
        key = (read, row, col)
        if key not in self.made:
            self.made[key] = self._read(read, places, row, col)
        return self.made[key]

    def _read(self, read: Read, places: Places, row: Lane, col: Lane) -> Expr:
        e = self.emitter
        stored = e.tensors[read.tensor]
        page = page_read(places, row, col)
        if page is None:
            raise Misfit("an access cannot be moved page by page", "a page's lanes have stride 1 in its table")
        if stored.layout != "q8_0":
            queue, depth = e.load(read.tensor, places, page.page, "x", offset=page.offset)
            return self.port(e.turned(queue, depth, page), depth)
        values, depth = e.load(read.tensor, places, page.page, "q", "values", page.offset)
        scales, _ = e.load(read.tensor, places, (1, page.page[1]), "s", "scales", page.offset)
        v = Page(self.port(e.turned(values, depth, page), depth).port)
        s = Page(self.port(e.turned(scales, depth, PageRead((1, page.page[1]), page.transposed)), depth).port)
        width = e.target.vector.float
        return Op("mul", (Convert(width, v), s))


def compute(
    e: Emitter,
    name: str,
    kind: str,
    depth: int,
    ports: Ports,
    outs: tuple[OutPort, ...],
    states: tuple[State, ...] = (),
) -> None:
    """Append a computing stage with the ports collected, its nest `depth` loops deep."""
    e.stages.append(Stage(name, kind, tuple(e.nest.loops[:depth]), tuple(ports.ins), outs, states))


def constant(value: float | int, kind: str) -> Const:
    """A constant page."""
    return Const(float(value) if kind == "float" else value, kind)
