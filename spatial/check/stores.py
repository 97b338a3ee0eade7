"""Obligation 9: within a call no element is stored twice, and no two items write into one granule of memory.

Every store event of a call is laid onto the operand, exactly, and the hits are counted; the covered part comes out as
boxes, for the obligation on versions. Items that store at a run-time index do so at one value (the same element of one
tensor version, traced through queues): it then shifts everything alike and may be left out. Other run-time indices are
never taken to differ: such a store runs on one site, where it stores in order, as one item always does. A store at a
run-time index is the only one of its operand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spatial.check.accesses import AXES, reached
from spatial.check.coords import MOST_POINTS, inner_count, inner_points, outer_sum, sites_of, turn_count, turns_of
from spatial.check.cover import Box, Cover, Pages, boxes_of, lay
from spatial.check.expression_spans import Flow
from spatial.check.granules import granules_apart, rows_apart
from spatial.check.queues import ends_of
from spatial.check.stage_parts import access_of, moved_port
from spatial.check.verdict import Log, Spot
from spatial.ir.body import Body, Index, Operand, Stage
from spatial.target import Target

MOST_BOXES = 4096
"""Boxes one call may cover of an operand; stores more scattered are not judged."""


@dataclass(frozen=True)
class Written:
    """What a call stores of an operand: boxes; `indirect`: perhaps not all of them (an index or a mask decides)."""

    boxes: tuple[Box, ...]
    indirect: bool


def check_stores(body: Body, flows: Mapping[str, Flow], target: Target, place: str, log: Log) -> dict[str, Written]:
    """What the body stores through each "out" operand; what is stored twice is told to `log`."""
    out: dict[str, Written] = {}
    for operand in body.operands:
        if operand.mode != "out":
            continue
        at = log.at("store", f"{place}, operand {operand.name}")
        stages = [s for s in body.stages if s.kind == "store" and access_of(s).operand == operand.name]
        if not at.require(bool(stages), "no stage stores it", "store it, or leave the operand out"):
            continue
        indexed = [s for s in stages if access_of(s).index is not None]
        found = (
            _indexed(body, operand, stages, flows, target, at)
            if indexed
            else _direct(body, operand, stages, target, at)
        )
        if found is not None:
            out[operand.name] = found
    return out


def _direct(body: Body, operand: Operand, stages: Sequence[Stage], target: Target, at: Spot) -> Written | None:
    parts = _pages(body, stages, at)
    if parts is None:
        return None
    named = {s.name: p.touching(operand.extent) for s, p in zip(stages, parts, strict=True)}
    cover = _once(named, operand.extent, operand, target, at)
    if cover is None:
        return None
    boxes = boxes_of(cover, MOST_BOXES)
    if boxes is None:
        at.unsure(f"what is stored falls into more than {MOST_BOXES} boxes")
        return None
    return Written(boxes, any(access_of(s).mask is not None for s in stages))


def _indexed(
    body: Body, operand: Operand, stages: Sequence[Stage], flows: Mapping[str, Flow], target: Target, at: Spot
) -> Written | None:
    if not at.require(
        len(stages) == 1,
        f"{' and '.join(s.name for s in stages)} store it, one of them at a run-time index, so that they may meet",
        "let one stage store it",
    ):
        return None
    (stage,) = stages
    index = access_of(stage).index
    sites = sites_of(body, stage)
    if index is not None and one_index(body, stage):
        parts = _pages(body, stages, at)
        if parts is None:
            return None
        (page,) = parts
        if len(np.unique(page.items)) > 1 and not _shifted(stage, page, index, operand, target, at):
            return None
    else:
        at.require(
            sites.w * sites.h == 1,
            f"{stage.name} stores at run-time indices that may be equal, on {sites.w * sites.h} sites",
            "store in order on one site, or at one index plus affine places",
        )
    box = reached(body, stage, flows)
    return Written(() if box is None else (box,), True)


def _shifted(stage: Stage, page: Pages, index: Index, operand: Operand, target: Target, at: Spot) -> bool:
    """Whether items that store at one run-time index keep apart. It shifts all pages alike: they are laid where they
    are, with room for all."""
    axes, extent = [page.slices, page.rows, page.cols], list(operand.extent)
    axes[index.axis] = axes[index.axis] - axes[index.axis].min()
    extent[index.axis] = int(axes[index.axis].max()) + (1, *page.page)[index.axis]
    room = extent[0], extent[1], extent[2]
    moved = Pages(axes[0], axes[1], axes[2], page.items, page.page).touching(room)
    aligned = index.axis == 0 or (index.axis == 1 and rows_apart(operand, target))
    return _once({stage.name: moved}, room, operand, target, at) is not None and at.require(
        aligned,
        f"several items store at a run-time {AXES[index.axis]}, which may fall anywhere in a granule",
        "let one item store it",
    )


def one_index(body: Body, stage: Stage) -> bool:
    """Whether the run-time index of a store is the same element of one tensor version at every store.

    Its pages come, by multicasts at most, from one load at one place. A page of an idle turn is zero, so the load has
    no idle turn, or each turn's page stays in its turn on its site.
    """
    access = access_of(stage)
    if access.index is None:
        return False
    port = stage.ins[access.index.port]
    ends, moved = ends_of(body), False
    for _ in body.stages:
        producers = ends[port.queue].producers
        if len(producers) != 1:
            return False
        source = body.stages[producers[0][0]]
        if source.kind == "load":
            out, at = source.outs[0], access_of(source)
            live = out.depth < 0 or not turns_of(body, sites_of(body, source)).idle
            alone = not moved and port.depth >= 0
            return at.index is None and all(f.is_const for f in at.place) and (live or alone)
        if source.kind != "multicast":
            return False
        port, moved = source.ins[0], True
    return False


def _pages(body: Body, stages: Sequence[Stage], at: Spot) -> list[Pages] | None:
    """All pages each stage stores in turns that are not idle, wherever they lie."""
    out: list[Pages] = []
    for stage in stages:
        port, access, sites = moved_port(stage), access_of(stage), sites_of(body, stage)
        outer = turn_count(body, sites) if port.depth >= 0 else sites.w * sites.h
        m = inner_count(stage, port.depth, port.pages)
        if outer > MOST_POINTS or outer * m > MOST_POINTS:
            at.unsure(f"{stage.name} stores {outer * m} pages, more than the {MOST_POINTS} that are looked at")
            return None
        turns = turns_of(body, sites)
        # A stage of the whole call stores once a site: its first turn stands for the call.
        keep = turns.live.nonzero()[0] if port.depth >= 0 else np.arange(0, len(turns.live), len(turns.live) // outer)
        values = {name: v[keep] for name, v in turns.values.items()}
        inner = inner_points(stage, port.depth, port.pages)
        s, r, c = (outer_sum(form, values, len(keep), inner, m) for form in access.place)
        out.append(Pages(s, r, c, np.repeat(keep, m), body.queue(port.queue).page))
    return out


def _once(
    named: Mapping[str, Pages], extent: tuple[int, int, int], operand: Operand, target: Target, at: Spot
) -> Cover | None:
    """The cover by the pages of each stage, held to one store an element and one item a granule."""
    parts = list(named.values())
    cover = lay(parts, extent)
    if cover is None:
        at.unsure("its stores are too many and too small to be laid out")
        return None
    at.log.count("store", int(cover.hits.sum()))
    twice = cover.hits > 1
    if twice.any():
        cell = tuple(int(v[0]) for v in np.nonzero(twice))
        element = cover.element(cell)
        stages = " and ".join(name for name, p in named.items() if p.at(element))
        at.reject(
            f"element {element} is stored {int(cover.hits[cell])} times in one call, by {stages}",
            "let places differ between items, iterations and pages",
        )
        return None
    shared = granules_apart(parts, cover, operand, target)
    if shared is None:
        at.unsure("its pages are too many and too small to tell their granules apart")
        return None
    if not at.require(not shared, shared, f"give each item whole runs of {target.memory.granule} bytes"):
        return None
    return cover
