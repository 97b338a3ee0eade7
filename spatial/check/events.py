"""What a stage does, as one row of events; what an engine does, as the events of its stages in the order it states.

Part of obligation 6. An event is the pop of one page, the push of one page, or the release of the pages a port holds;
its number says port and kind. Rows are built by tiling, so that 10^6 events cost milliseconds. Knows no capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from spatial.check.verdict import Spot
from spatial.ir.body import Body, Loop, Stage, Step, count
from spatial.numerics import Array

MOST_EVENTS = 1 << 22
"""Events of one stage, or steps of one engine, in one call on one site; longer ones are not judged."""

POP, PUSH, RELEASE = 0, 1, 2


@dataclass(frozen=True)
class Row:
    """All events of a stage in one call: `codes[k]` = 3 * port + kind of event.

    `after[k]`: events done once k innermost iterations are complete, with the ends that then fall due.
    """

    codes: Array
    after: Array


def iterations(body: Body, stage: Stage, depth: int) -> int:
    """Iterations at `depth` in one call on one site."""
    return 1 if depth < 0 else prod(body.items.trips) * prod(stage.loops[:depth])


def event_count(body: Body, stage: Stage) -> int:
    """Events of the stage in one call, or its innermost iterations where they are more."""
    ports = (*stage.ins, *stage.outs)
    moved = sum(iterations(body, stage, p.depth) * (count(p.pages) + 1) for p in ports)
    return max(moved, iterations(body, stage, stage.depth))


def row_of(body: Body, stage: Stage) -> Row:
    """The events of `stage`; the caller has held `event_count` within `MOST_EVENTS`."""
    trips = [prod(body.items.trips), *stage.loops]
    codes = np.zeros(0, dtype=np.int32)
    befores: list[int] = []
    lengths: list[int] = []
    for depth in range(stage.depth, -2, -1):
        before = [3 * n + POP for n, p in enumerate(stage.ins) if p.depth == depth for _ in range(count(p.pages))]
        later = [3 * n + PUSH for n, p in enumerate(stage.outs) if p.depth == depth for _ in range(count(p.pages))]
        later += [3 * n + RELEASE for n, p in enumerate(stage.ins) if p.depth == depth]
        times = trips[depth + 1] if depth < stage.depth else 0
        parts = (np.array(before, dtype=np.int32), np.tile(codes, times), np.array(later, dtype=np.int32))
        codes = np.concatenate(parts)
        befores.append(len(before))
        lengths.append(len(codes))
    befores.reverse()
    lengths.reverse()
    starts = np.zeros(1, dtype=np.int64)
    due = np.array([lengths[0]], dtype=np.int64)
    for level, n in enumerate(trips):
        inner = starts[:, None] + befores[level] + np.arange(n, dtype=np.int64)[None, :] * lengths[level + 1]
        ends = inner + lengths[level + 1]
        ends[:, -1] = due
        starts, due = inner.ravel(), ends.ravel()
    return Row(codes, np.concatenate((np.zeros(1, dtype=np.int64), due)))


def step_count(order: Sequence[Loop | Step]) -> int:
    """Steps of an order, its loops unrolled."""
    return sum(1 if isinstance(s, Step) else max(s.count, 0) * step_count(s.body) for s in order)


def unrolled(order: Sequence[Loop | Step], names: dict[str, int]) -> Array:
    """The steps of an order as rows (stage, depth); steps of stages not in `names` are left out."""
    parts: list[Array] = []
    for s in order:
        match s:
            case Step(stage, depth):
                if stage in names:
                    parts.append(np.array([[names[stage], depth]], dtype=np.int64))
            case Loop(times, body):
                inner = unrolled(body, names)
                parts.append(np.tile(inner, (times, 1)) if len(inner) else inner)
    return np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.int64)


def process_of(body: Body, rows: dict[int, Row], steps: Array, at: Spot) -> tuple[Array, Array] | None:
    """The events of an engine: codes and, for each, the stage it belongs to; None where iterations do not add up."""
    begins = np.zeros(len(steps), dtype=np.int64)
    ends = np.zeros(len(steps), dtype=np.int64)
    fine = True
    for s, row in rows.items():
        mine = np.nonzero(steps[:, 0] == s)[0]
        if not len(mine):
            continue
        places = _positions(body, body.stages[s], steps[mine, 1])
        total, reached = len(row.after) - 1, int(places[-1])
        fine &= at.require(
            reached == total,
            f"the order runs {reached} of the {total} innermost iterations of stage {body.stages[s].name}",
            "step through every iteration once",
        )
        if not fine:
            continue
        ends[mine] = row.after[places]
        begins[mine] = row.after[np.concatenate((np.zeros(1, dtype=np.int64), places[:-1]))]
    if not fine:
        return None
    lengths = ends - begins
    owners = np.repeat(steps[:, 0], lengths)
    offsets = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum()), dtype=np.int64) + np.repeat(begins - offsets, lengths)
    codes = np.zeros(len(owners), dtype=np.int32)
    for s, row in rows.items():
        mine = owners == s
        codes[mine] = row.codes[within[mine]]
    return codes, owners


def _positions(body: Body, stage: Stage, depths: Array) -> Array:
    """Innermost iterations done after each step: a step completes the iteration at its depth that is under way."""
    innermost = iterations(body, stage, stage.depth)
    sizes = [innermost // iterations(body, stage, d) for d in range(-1, stage.depth + 1)]
    first = int(depths[0])
    if bool((depths == first).all()):
        return sizes[first + 1] * np.arange(1, len(depths) + 1, dtype=np.int64)
    out, place = np.zeros(len(depths), dtype=np.int64), 0
    for n in range(len(depths)):
        size = sizes[int(depths[n]) + 1]
        place = (place // size + 1) * size
        out[n] = place
    return out
