"""Which plans are looked at: the knobs that a measurement varies one at a time; what is not held is the compiler's.

A filter over candidates as arrays, so that the search held to it is the compiler's search, with its ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from spatial.errors import UsageError, nearest
from spatial.ir.body import Plan
from spatial.plan.candidates import Truth
from spatial.plan.engines import engines_of
from spatial.plan.measures import Measures
from spatial.plan.model import Model, Moved

PACKINGS = ("apart", "split")
"""How stores share movers: on one that carries no load, or beside a load."""

WORDS = ("rect", "multicast", "resident", "buffers", "packing")
"""Knobs that every section has; the others are its coordinates."""


@dataclass(frozen=True)
class Knobs:
    """One value of each knob that is held; None (of `block`: a coordinate that is not there) is any.

    `block`: factors by coordinate, those of item axes the block of a site, that of a loop the depth of its reduction;
    `rect`: width and height in sites; `multicast`, `resident`: loads, exactly these; `buffers`: batches that a queue
    has room for; `packing`: one of `PACKINGS`.
    """

    block: tuple[tuple[str, int], ...] = ()
    rect: tuple[int, int] | None = None
    multicast: frozenset[str] | None = None
    resident: frozenset[str] | None = None
    buffers: int | None = None
    packing: str | None = None

    def __str__(self) -> str:
        told = [f"{name}={factor}" for name, factor in self.block]
        told += [f"rect={self.rect[0]}x{self.rect[1]}"] if self.rect else []
        for name, loads in (("multicast", self.multicast), ("resident", self.resident)):
            told += [] if loads is None else [f"{name}={'+'.join(sorted(loads)) or 'none'}"]
        told += [] if self.buffers is None else [f"buffers={self.buffers}"]
        told += [] if self.packing is None else [f"packing={self.packing}"]
        return " ".join(told)


ANY = Knobs()


def knobs_of(words: Iterable[str]) -> Knobs:
    """The knobs that words such as `i0=2`, `rect=8x8`, `multicast=load_a+load_b` hold. Raises UsageError."""
    block: dict[str, int] = {}
    held: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value:
            raise UsageError(f'"{word}" holds no knob', "a knob is held by name=value", "as in i0=2 or rect=8x8")
        if name in held or name in block:
            raise UsageError(f"the knob {name} is held twice", "", "keep one")
        if name in WORDS:
            held[name] = value
        elif name[0] in "il" and name[1:].isdecimal():
            block[name] = _number(name, value)
        else:
            known = (*WORDS, "a coordinate such as i0 or l1")
            raise UsageError(f"there is no knob {name}", "", nearest(name, WORDS) or f"known: {', '.join(known)}")
    return Knobs(
        tuple(sorted(block.items())),
        _rectangle(held["rect"]) if "rect" in held else None,
        _loads(held["multicast"]) if "multicast" in held else None,
        _loads(held["resident"]) if "resident" in held else None,
        _number("buffers", held["buffers"]) if "buffers" in held else None,
        _packing(held["packing"]) if "packing" in held else None,
    )


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or int(text[:9]) == 0 or len(text) > 9:
        raise UsageError(f"{name} is held at {text}", "it is a number from 1 on")
    return int(text)


def _rectangle(text: str) -> tuple[int, int]:
    sides = text.split("x")
    if len(sides) != 2:
        raise UsageError(f"rect is held at {text}", "it is a width and a height in sites", "as in 8x4")
    return _number("rect", sides[0]), _number("rect", sides[1])


def _loads(text: str) -> frozenset[str]:
    return frozenset() if text == "none" else frozenset(text.split("+"))


def _packing(text: str) -> str:
    if text not in PACKINGS:
        raise UsageError(f"packing is held at {text}", f"it is {' or '.join(PACKINGS)}", nearest(text, PACKINGS))
    return text


# ---------------------------------------------------------------- over candidates


def unknown(model: Model, want: Knobs) -> list[str]:
    """What is held that a section does not have: coordinates that are not blocked, loads that are not there."""
    loads = [x.stage for x in model.loads]
    found = [name for name, _ in want.block if name not in [c.name for c in model.coordinates]]
    named = sorted((want.multicast or frozenset()) | (want.resident or frozenset()))
    return [*found, *(name for name in named if name not in loads)]


def allowed(m: Measures, want: Knobs) -> Truth:
    """Which candidates have what is held."""
    c, names = m.candidates, [x.name for x in m.model.coordinates]
    ok = np.full(c.count, not unknown(m.model, want))
    for name, factor in want.block:
        if name in names:
            ok &= c.factors[:, names.index(name)] == factor
    if want.rect is not None:
        ok &= (c.rect == want.rect).all(axis=1)
    for load in m.model.loads:
        for held, has in _of_loads(m, want):
            ok &= has(load) == (load.stage in held)
    if want.buffers is not None:
        ok &= c.buffers == want.buffers
    if want.packing is not None:
        ok &= split(m) == (want.packing == "split")
    return ok


def _of_loads(m: Measures, want: Knobs) -> list[tuple[frozenset[str], Callable[[Moved], Truth]]]:
    """What is held of loads, each with what tells which candidates do so with a load."""
    held = ((want.multicast, m.cast), (want.resident, m.stays))
    return [(loads, has) for loads, has in held if loads is not None]


def blocked(plan: Plan) -> dict[str, int]:
    """The factors of a plan by coordinate; one may be blocked in several steps."""
    found: dict[str, int] = {}
    for name, factor in plan.block:
        found[name] = found.get(name, 1) * factor
    return found


def has(plan: Plan, packing: str, want: Knobs) -> bool:
    """Whether a plan, its stores packed so, has what is held."""
    block = blocked(plan)
    return (
        all(block.get(name, 1) == factor for name, factor in want.block)
        and want.rect in (None, plan.rect)
        and want.multicast in (None, frozenset(plan.multicast))
        and want.resident in (None, frozenset(plan.resident))
        and want.buffers in (None, *(n for _, n in plan.depth[:1]))
        and want.packing in (None, packing)
    )


def split(m: Measures) -> Truth:
    """Where a store shares its mover with a load."""
    engines, out = engines_of(m), np.zeros(m.candidates.count, dtype=np.bool_)
    for store in m.model.stores:
        for load in m.model.loads:
            out |= engines[store.stage] == engines[load.stage]
    return out
