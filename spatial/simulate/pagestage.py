"""One stage on one site, a page at a time: the pages it holds, its states, its coordinates, what it pushes.

The plain meaning of a stage's acts, for the page executor. Knows no queue's fill and no other stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from spatial.errors import Refused
from spatial.ir.affine import Affine
from spatial.ir.body import Body, Cell, Coord, Page, Stage, State, count
from spatial.ir.program import Bind
from spatial.numerics import Array, precision
from spatial.simulate import product
from spatial.simulate.access import binding_of, check_base, data_port
from spatial.simulate.arithmetic import Arithmetic, fit
from spatial.simulate.expression import as_product, evaluate
from spatial.simulate.links import Site, members_of
from spatial.simulate.memory import Memory
from spatial.simulate.paging import read_page, write_page
from spatial.simulate.permute import permuted
from spatial.simulate.process import Act
from spatial.target import Target


@dataclass(frozen=True)
class CallRun:
    """What all stages of a call share."""

    body: Body
    binds: dict[str, Bind]
    memory: Memory
    target: Target
    arithmetic: Arithmetic


class StageRun:
    """One stage on one site: the pages it holds, its states, its coordinates."""

    def __init__(self, call: CallRun, stage: Stage, site: Site) -> None:
        self.call, self.stage, self.site = call, stage, site
        self.held: list[list[Array]] = [[] for _ in stage.ins]
        self.states: list[dict[tuple[int, ...], Array]] = [{} for _ in stage.states]
        self.at: dict[str, int] = {"sx": site[0], "sy": site[1]}
        self.idle = False
        self.queues = {q.name: q for q in call.body.queues}

    def begin(self, act: Act) -> None:
        """Enter an iteration: its coordinates, its states."""
        items = self.call.body.items
        if act.depth == 0:
            turn = np.unravel_index(act.number, items.trips) if items.trips else ()
            self.at |= {f"t{n}": int(t) for n, t in enumerate(turn)}
            place = [form.at(self.at) for form in items.coord]
            self.at |= {f"i{n}": i for n, i in enumerate(place)}
            self.idle = any(not 0 <= i < extent for i, extent in zip(place, items.grid, strict=True))
        elif act.depth > 0:
            self.at[f"l{act.depth}"] = act.number
        for number, state in enumerate(self.stage.states):
            if state.depth == act.depth:
                blank = np.full(state.shape, state.init, precision(state.prec).dtype)
                self.states[number] = dict.fromkeys(np.ndindex(*state.cells), blank)

    def end(self, depth: int) -> None:
        """Leave an iteration; a store writes what it holds."""
        if self.stage.kind == "store" and self.stage.access is not None:
            port = data_port(self.stage, self.stage.access)
            if self.stage.ins[port].depth == depth:
                self._store(port)
        if depth == 0:
            self.idle = False
            self.at = {"sx": self.site[0], "sy": self.site[1]}
        elif depth > 0:
            del self.at[f"l{depth}"]

    def update(self, depth: int) -> None:
        """Apply the updates due at `depth`, all of them to the values before any."""
        due = [(n, s) for n, s in enumerate(self.stage.states) if s.at == depth]
        fresh = [(n, self._cell(s, s.cell, self.at), self._updated(s)) for n, s in due]
        for number, cell, value in fresh:
            self.states[number][cell] = value

    def pushed(self, port: int, number: int) -> list[tuple[Site, Array]]:
        """Page `number` that out port `port` pushes, and onto which sites."""
        stage, out = self.stage, self.stage.outs[port]
        at = self.at | {f"p{n}": int(p) for n, p in enumerate(np.unravel_index(number, out.pages) if out.pages else ())}
        match stage.kind:
            case "load":
                return [(self.site, self._load(at))]
            case "permute":
                return [(self.site, permuted(self.held[0][number], stage.perm))]
            case "multicast":
                return [(m, self.held[0][number]) for m in members_of(stage, self.site)]
            case "scatter":
                each = count(out.pages)
                members = members_of(stage, self.site)
                return [(m, self.held[0][n * each + number]) for n, m in enumerate(members)]
            case _:
                queue = self.queues[out.queue]
                if out.value is None:
                    raise Refused(f"stage {stage.name} pushes to {out.queue} without a value")
                value = evaluate(out.value, lambda leaf: self._leaf(leaf, at), self.call.arithmetic)
                return [(self.site, np.broadcast_to(fit(queue.prec, value), queue.page))]

    def _updated(self, state: State) -> Array:
        item = as_product(state.update)
        if item is None:
            value = evaluate(state.update, lambda leaf: self._leaf(leaf, self.at), self.call.arithmetic)
        else:
            cell, mul = item
            acc, a, b = (self._leaf(leaf, self.at) for leaf in (cell, mul.a, mul.b))
            value = product.accumulate(acc, a, b, self.call.target, mul.transpose_b)
        return np.broadcast_to(fit(state.prec, value), state.shape)

    def _leaf(self, leaf: Page | Cell | Coord, at: dict[str, int]) -> Array:
        match leaf:
            case Page(port, forms):
                pages = self.stage.ins[port].pages
                chosen = self._within(pages, forms, at)
                if not self.held[port]:
                    raise Refused(f"stage {self.stage.name} reads a page of port {port}", "no page is held")
                return self.held[port][int(np.ravel_multi_index(chosen, pages)) if pages else 0]
            case Cell(number, forms):
                return self.states[number][self._cell(self.stage.states[number], forms, at)]
            case Coord(form, shape):
                lanes = Affine.of(form.const, {s: c for s, c in form.terms if s not in ("r", "c")}).at(at)
                rows, cols = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
                return np.broadcast_to(lanes + form.coef("r") * rows + form.coef("c") * cols, shape).astype(np.int64)

    def _cell(self, state: State, forms: tuple[Affine, ...], at: dict[str, int]) -> tuple[int, ...]:
        return self._within(state.cells, forms, at)

    def _within(self, dims: tuple[int, ...], forms: tuple[Affine, ...], at: dict[str, int]) -> tuple[int, ...]:
        chosen = tuple(form.at(at) for form in forms) or (0,) * len(dims)
        if len(chosen) != len(dims) or any(not 0 <= i < n for i, n in zip(chosen, dims, strict=True)):
            raise Refused(f"stage {self.stage.name} chooses {list(chosen)} among {list(dims)}", "there is no such page")
        return chosen

    def _place(self, at: dict[str, int], extent: tuple[int, int, int]) -> tuple[int, int, int]:
        access = self.stage.access
        if access is None:
            self._placeless()
        place = [form.at(at) for form in access.place]
        if access.index is not None and not self.idle:
            page = self.held[access.index.port][0]
            place[access.index.axis] += access.index.scale * int(page[0, 0])
            check_base(self.stage, np.array([place[access.index.axis]]), extent[access.index.axis])
        return place[0], place[1], place[2]

    def _load(self, at: dict[str, int]) -> Array:
        access = self.stage.access
        if access is None:
            self._placeless()
        queue = self.queues[self.stage.outs[0].queue]
        operand = self.call.body.operand(access.operand)
        plane, origin, extent = binding_of(self.call.memory, operand, self.call.binds[operand.name], access)
        if self.idle:
            return np.zeros(queue.page, precision(queue.prec).dtype)
        return fit(queue.prec, read_page(plane, queue.page, origin, extent, self._place(at, extent)))

    def _store(self, port: int) -> None:
        access = self.stage.access
        if access is None:
            self._placeless()
        if self.idle:
            return
        operand = self.call.body.operand(access.operand)
        plane, origin, extent = binding_of(self.call.memory, operand, self.call.binds[operand.name], access)
        pages = self.stage.ins[port].pages
        for number, at in enumerate(np.ndindex(*pages)):
            page = self.held[port][number]
            keep = np.ones(page.shape, np.bool_)
            if access.mask is not None:
                masks = self.held[access.mask]
                keep &= masks[number if len(masks) > 1 else 0] != 0
            place = self._place(self.at | {f"p{n}": p for n, p in enumerate(at)}, extent)
            write_page(plane, origin, extent, place, page, keep)

    def _placeless(self) -> NoReturn:
        raise Refused(f"stage {self.stage.name} is a {self.stage.kind} without a place")
