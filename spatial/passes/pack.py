"""pack: independent sections run at once, on disjoint rectangles of sites, in phases with barriers between.

Each section goes to the earliest phase after those it depends on in which its rectangle finds room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spatial.target import Target


@dataclass(frozen=True)
class Packed:
    """For each section its phase and the site of its upper left corner; `phases`: how many there are."""

    phase: tuple[int, ...]
    place: tuple[tuple[int, int], ...]
    phases: int


def pack(rects: Sequence[tuple[int, int]], after: Sequence[frozenset[int]], target: Target) -> Packed:
    """Pack sections of sizes `rects`, in order, each strictly after the sections `after` it, which come earlier."""
    grids: list[list[list[bool]]] = []
    phase: list[int] = []
    place: list[tuple[int, int]] = []
    for n, rect in enumerate(rects):
        at = max((phase[d] + 1 for d in after[n]), default=0)
        while True:
            if at == len(grids):
                grids.append([[False] * target.columns for _ in range(target.rows)])
            spot = room(grids[at], rect)
            if spot is not None:
                break
            at += 1
        occupy(grids[at], rect, spot)
        phase.append(at)
        place.append(spot)
    return Packed(tuple(phase), tuple(place), len(grids))


def room(grid: Sequence[Sequence[bool]], rect: tuple[int, int]) -> tuple[int, int] | None:
    """The first free spot for a rectangle, row by row; None where there is none."""
    w, h = rect
    for y in range(len(grid) - h + 1):
        for x in range(len(grid[0]) - w + 1):
            if not any(grid[y + dy][x + dx] for dy in range(h) for dx in range(w)):
                return x, y
    return None


def occupy(grid: list[list[bool]], rect: tuple[int, int], spot: tuple[int, int]) -> None:
    """Mark the rectangle's sites as taken."""
    for dy in range(rect[1]):
        for dx in range(rect[0]):
            grid[spot[1] + dy][spot[0] + dx] = True
