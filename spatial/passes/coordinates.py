"""Bounds of the coordinates that occur in the forms of a stage, idle turns and pages that hang over counted too."""

from __future__ import annotations

from spatial.ir.affine import Affine
from spatial.ir.body import Body, Stage

Interval = tuple[int, int]


def _last_item(body: Body, axis: int) -> int:
    """The greatest item coordinate an idle turn may show too: what is computed there must fit as well.

    Of a template, under any placement: an axis is spread over less than twice as many sites as it has items, and its
    last turn is not all idle.
    """
    if body.phase == "template":
        return 3 * body.items.grid[axis] - 1
    ranges = {"sx": (0, body.rect[0] - 1), "sy": (0, body.rect[1] - 1)}
    ranges |= {f"t{n}": (0, trips - 1) for n, trips in enumerate(body.items.trips)}
    return body.items.coord[axis].bounds(ranges)[1]


def bounds_of(body: Body, stage: Stage, form: Affine, shape: tuple[int, int]) -> dict[str, Interval]:
    """Bounds of every coordinate that occurs in a form of the stage."""
    out: dict[str, Interval] = {}
    for s in form.symbols:
        match s[0]:
            case "i":
                out[s] = (0, _last_item(body, int(s[1:])))
            case "l":
                out[s] = (0, stage.loops[int(s[1:]) - 1] - 1)
            case "p":
                out[s] = (0, max((p.pages[int(s[1:])] for p in stage.outs if len(p.pages) > int(s[1:])), default=1) - 1)
            case "r":
                out[s] = (0, shape[0] - 1)
            case "c":
                out[s] = (0, shape[1] - 1)
            case _:
                out[s] = (0, body.rect[0 if s == "sx" else 1] - 1)
    return out
