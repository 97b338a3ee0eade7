"""Sites that do the same: of a body's rectangle the few columns and rows that stand for all.

Neighbouring columns are alike where the same stages are carried on them, and the same senders send to them. A sender
that sends beyond its own column is alike with none. Rows go the same way; both together make the classes of sites, for
every stage stands on a rectangle and every group is one. What a run on counts finds of one site it would find of all of
its class: they are handed equal pages at equal times, and what must wait for one waits for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spatial.ir.body import Body, Rect, Stage

Site = tuple[int, int]

SPREADING = ("multicast", "scatter")


@dataclass(frozen=True)
class Alike:
    """The first column and the first row of each run of those that are alike."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def sites(self) -> list[Site]:
        """A site of each class, row by row."""
        return [(x, y) for y in self.rows for x in self.columns]

    def reached(self, stage: Stage, site: Site) -> tuple[Site, ...]:
        """A site of each class that a stage at `site` pushes to: its own where it does not spread."""
        if stage.kind not in SPREADING:
            return (site,)
        (x, y), (w, h) = site, stage.group
        return tuple((c, r) for r in self.rows if y <= r < y + h for c in self.columns if x <= c < x + w)


def alike(body: Body) -> Alike:
    """The columns and rows of a body that stand for all."""
    w, h = body.rect
    return Alike(tuple(sorted(_cuts(body, 0, w))), tuple(sorted(_cuts(body, 1, h))))


def _cuts(body: Body, side: int, extent: int) -> set[int]:
    """Where, along a side, lines begin that are not alike with the one before."""
    found = {0}
    for stage in body.stages:
        first, count = _lines(stage.on or Rect(0, 0, *body.rect), side)
        found |= {first, first + count}
        if stage.kind in SPREADING and stage.group[side] > 1:
            found |= set(_ends(first, count, stage.group[side]))
    return {n for n in found if n < extent}


def _lines(on: Rect, side: int) -> tuple[int, int]:
    return ((on.x, on.w), (on.y, on.h))[side]


def _ends(first: int, count: int, reach: int) -> Iterator[int]:
    for sender in range(first, first + count):
        yield from (sender, sender + 1, sender + reach)
