"""pack: independent sections run at once, on disjoint rectangles of sites, in phases with barriers between.

Each section goes to the earliest phase after those it depends on in which its rectangle finds room; the parts of one
statement go there together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from spatial.errors import Refused
from spatial.target import Target

Grid = list[list[bool]]
"""Which sites of a phase are taken, by row and column."""


@dataclass(frozen=True)
class Packed:
    """For each section its phase and the site of its upper left corner; `phases`: how many there are."""

    phase: tuple[int, ...]
    place: tuple[tuple[int, int], ...]
    phases: int


def pack(
    rects: Sequence[tuple[int, int]], after: Sequence[frozenset[int]], target: Target, groups: Sequence[int]
) -> Packed:
    """Pack sections of sizes `rects`, in order, each strictly after the sections `after` it, which come earlier.

    Sections that stand side by side with one number in `groups` go to one phase. Raises `Refused` where such a group
    does not fit on the chip at once.
    """
    grids: list[Grid] = []
    phase: list[int] = []
    place: list[tuple[int, int]] = []
    for _, members in groupby(range(len(rects)), key=lambda n: groups[n]):
        group = list(members)
        at = max((phase[d] + 1 for n in group for d in after[n]), default=0)
        while True:
            fresh = at >= len(grids)
            grid = [[False] * target.columns for _ in range(target.rows)] if fresh else [r[:] for r in grids[at]]
            spots = fill(grid, [rects[n] for n in group])
            if spots is not None:
                break
            if fresh:
                raise Refused(
                    "the parts of a tensor do not fit on the chip at once",
                    "all stores of one version stand in one phase",
                    "write each part to a tensor of its own",
                )
            at += 1
        grids[at:] = [grid, *grids[at + 1 :]]
        phase += [at] * len(group)
        place += spots
    return Packed(tuple(phase), tuple(place), len(grids))


def fill(grid: Grid, rects: Sequence[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """The spots of rectangles put one after the other, marked as taken; None where one finds no room."""
    spots: list[tuple[int, int]] = []
    for rect in rects:
        spot = room(grid, rect)
        if spot is None:
            return None
        occupy(grid, rect, spot)
        spots.append(spot)
    return spots


def room(grid: Sequence[Sequence[bool]], rect: tuple[int, int]) -> tuple[int, int] | None:
    """The first free spot for a rectangle, row by row; None where there is none."""
    w, h = rect
    for y in range(len(grid) - h + 1):
        for x in range(len(grid[0]) - w + 1):
            if not any(grid[y + dy][x + dx] for dy in range(h) for dx in range(w)):
                return x, y
    return None


def occupy(grid: Grid, rect: tuple[int, int], spot: tuple[int, int]) -> None:
    """Mark the rectangle's sites as taken."""
    for dy in range(rect[1]):
        for dx in range(rect[0]):
            grid[spot[1] + dy][spot[0] + dx] = True
