"""Loads and stores of the stream executor: the places of a stage's pages, found once, and their movement.

A place is affine in the coordinates of the nest, relative to a binding's origin, plus at most one run-time index. Knows
queues only as the pages it is handed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spatial.errors import Refused
from spatial.ir.body import Access, Body, Operand, Stage, count
from spatial.ir.program import Bind, Call
from spatial.numerics import Q8_BLOCK, Array
from spatial.simulate.axes import Nest, windowed
from spatial.simulate.leaves import Window
from spatial.simulate.links import SPREADING
from spatial.simulate.memory import Memory, Plane
from spatial.simulate.paging import Places, gather, prepare, scatter

Triple = tuple[int, int, int]


def binding_of(memory: Memory, operand: Operand, bind: Bind, access: Access) -> tuple[Plane, Triple, Triple]:
    """The plane an access moves pages of, with the binding's origin and extent in the plane's rows and columns.

    Raises `Refused` where the tensor or the binding is not what the operand says.
    """
    stored = memory.stored(bind.tensor)
    tensor = stored.tensor
    if (tensor.prec, tensor.layout) != (operand.prec, operand.layout):
        raise Refused(
            f"operand {operand.name} is {operand.prec} {operand.layout}",
            f"and is bound to {tensor.name}, {tensor.prec} {tensor.layout}",
        )
    if bind.extent != operand.extent:
        raise Refused(
            f"operand {operand.name} has extent {list(operand.extent)}",
            f"and its binding to {tensor.name} {list(bind.extent)}",
        )
    if any(o < 0 or o + e > n for o, e, n in zip(bind.origin, bind.extent, tensor.shape, strict=True)):
        raise Refused(f"the binding of operand {operand.name} leaves {tensor.name}", f"of shape {list(tensor.shape)}")
    if access.plane not in stored.planes:
        raise Refused(f"operand {operand.name} has no plane {access.plane!r}", "", "name values or scales for q8_0")
    origin, extent = bind.origin, bind.extent
    if access.plane == "scales":
        origin = (origin[0], origin[1] // Q8_BLOCK, origin[2])
        extent = (extent[0], extent[1] // Q8_BLOCK, extent[2])
    return stored.planes[access.plane], origin, extent


def operand_binds(body: Body, call: Call) -> dict[str, Bind]:
    """The binding of each operand by name; raises `Refused` where there are more or fewer than operands."""
    if len(call.binds) != len(body.operands):
        raise Refused(f"a call binds {len(call.binds)} operands", f"its body has {len(body.operands)}")
    return {o.name: b for o, b in zip(body.operands, call.binds, strict=True)}


def data_port(stage: Stage, access: Access) -> int:
    """The in port of a store that holds the pages to be written."""
    index = access.index.port if access.index else -1
    rest = [n for n in range(len(stage.ins)) if n not in (index, access.mask)]
    if len(rest) != 1:
        raise Refused(f"store {stage.name} has {len(rest)} ports of pages to write", "it needs one")
    return rest[0]


def check_base(stage: Stage, base: Array, extent: int) -> None:
    """Raise `Refused` where a place with a run-time index, on that index's axis, lies outside the table."""
    if base.size and (base.min() < 0 or base.max() >= extent):
        bad = int(base.min() if base.min() < 0 else base.max())
        raise Refused(
            f"{stage.name} meets a run-time index of {bad}",
            f"its table has 0 to {extent - 1}",
            "give an input inside its range",
        )


class Reader:
    """The load or store of one stage: its places over [sites, turns, loops…, pages…]."""

    def __init__(self, body: Body, stage: Stage, nest: Nest) -> None:
        if stage.access is None:
            raise Refused(f"stage {stage.name} is a {stage.kind} without a place")
        self.stage, self.nest, self.access = stage, nest, stage.access
        self.operand = body.operand(self.access.operand)
        self.loading = stage.kind == "load"
        port = stage.outs[0] if self.loading else stage.ins[data_port(stage, self.access)]
        queue = body.queue(port.queue)
        self.page, self.pages, self.depth = queue.page, port.pages, port.depth
        expected = {"": self.operand.prec, "values": "i8", "scales": "f16"}.get(self.access.plane, "")
        if queue.prec != expected:
            raise Refused(
                f"stage {stage.name} moves {expected} pages of {self.operand.name}",
                f"through queue {queue.name} of {queue.prec}",
            )
        self.place = tuple(nest.values(form, self.pages) for form in self.access.place)
        # Without a multicast nobody sees what an idle turn reads, and pages equal on all turns stay one page.
        seen = any(s.kind in SPREADING for s in body.stages)
        self.idle = nest.idle if self.depth >= 0 and (seen or not self.loading) else None
        self.strict_idle = nest.idle if self.depth >= 0 else None
        self._kept: dict[tuple[int | None, ...], Places] = {}

    def load(self, memory: Memory, binds: dict[str, Bind], held: Sequence[Array], window: Window) -> Array:
        """The pages [sites, turns, loops…, pages…, R, C] of one window."""
        plane, origin, extent = binding_of(memory, self.operand, binds[self.operand.name], self.access)
        return gather(plane, self._places(plane, extent, held, window), origin)

    def store(self, memory: Memory, binds: dict[str, Bind], held: Sequence[Array], window: Window) -> None:
        """Write the pages of one window."""
        plane, origin, extent = binding_of(memory, self.operand, binds[self.operand.name], self.access)
        data = held[data_port(self.stage, self.access)]
        keep = None
        if self.access.mask is not None:
            mask = self.stage.ins[self.access.mask]
            rows = held[self.access.mask]
            if count(mask.pages) == 1:
                rows = rows.reshape(*rows.shape[: self.nest.ndim], *(1,) * len(self.pages), *rows.shape[-2:])
            elif count(mask.pages) == count(self.pages):
                rows = rows.reshape(*rows.shape[: self.nest.ndim], *self.pages, *rows.shape[-2:])
            else:
                raise Refused(f"store {self.stage.name} has {count(mask.pages)} masks for {count(self.pages)} pages")
            keep = rows != 0
        places = self._places(plane, extent, held, window, data, keep)
        scatter(plane, places, origin, data, keep)

    def _places(
        self,
        plane: Plane,
        extent: Triple,
        held: Sequence[Array],
        window: Window,
        data: Array | None = None,
        keep: Array | None = None,
    ) -> Places:
        index = self.access.index
        key = (window[0].start, window[0].stop, window[1].start, window[1].stop)
        if index is None and key in self._kept:
            return self._kept[key]
        place = [windowed(v, window) for v in self.place]
        alive = self._over(self.idle, window)
        if index is not None:
            base = place[index.axis] + self._index(index.port, index.scale, held, window)
            busy = self._over(self.strict_idle, window)
            check_base(self.stage, base if busy is None else np.where(busy, base, 0), extent[index.axis])
            place[index.axis] = base
        if not self.loading:
            # A store writes every page it is given: its places run through all turns and loops.
            place[0] = np.broadcast_to(place[0], self._whole(window)).copy()
        places = prepare(plane, self.page, extent, (place[0], place[1], place[2]), alive)
        if index is None:
            self._kept[key] = places
        return places

    def _index(self, port: int, scale: int, held: Sequence[Array], window: Window) -> Array:
        """`scale` times the run-time index, over [sites, turns, loops…, pages…]."""
        popped = self.stage.ins[port]
        if count(popped.pages) != 1 or popped.depth > self.depth:
            raise Refused(f"stage {self.stage.name} takes its index from port {port}", "it needs one page held")
        pages = held[port]
        values = pages.reshape(*pages.shape[: self.nest.ndim], *pages.shape[-2:])[..., 0, 0]
        if values.dtype.kind not in "iu":
            raise Refused(f"stage {self.stage.name} takes a {values.dtype} as an index", "it needs an integer")
        values = values.astype(np.int64)
        busy = self._over(self.strict_idle, window)
        if busy is not None:
            values = np.where(busy.reshape(busy.shape[: self.nest.ndim]), values, 0)
        return (values * scale).reshape(*values.shape, *(1,) * len(self.pages))

    def _over(self, idle: Array | None, window: Window) -> Array | None:
        if idle is None:
            return None
        busy = ~windowed(idle, window)
        return busy.reshape(*busy.shape, *(1,) * (self.nest.depth + len(self.pages)))

    def _whole(self, window: Window) -> tuple[int, ...]:
        sites = len(range(*window[0].indices(len(self.nest.sites))))
        turns = len(range(*window[1].indices(self.nest.turns))) if self.depth >= 0 else 1
        loops = self.nest.loops[: max(self.depth, 0)]
        ones = (1,) * (self.nest.depth - len(loops))
        return (sites, turns, *loops, *ones, *self.pages)
