"""Knobs of a plan that a caller holds: what is held narrows the search, and replaces nothing.

What is not held is chosen as ever, and every constraint holds. In words, for commands and messages:

    rect=8x4                       the rectangle of sites
    i0=4 l2=8                      by how much a coordinate is blocked: an item axis, the innermost loop
    buffers=1                      batches that a streamed queue has room for
    multicast=load_x0+load_x1      the loads that are multicast, exactly these; or none
    scatter=load_w                 the same of loads whose readers stand beside the banks
    resident=none                  the same of loads that happen once a call
    packing=split                  stores on a mover that carries loads too; or apart

Filters over candidates as arrays, so that the search held to them is the search, with its ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from spatial.errors import Problem, Refused, UsageError, counted, nearest, one_of
from spatial.ir.body import Plan
from spatial.plan.candidates import VARIANTS, Ints, Truth
from spatial.plan.engines import engines_of
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Model, Moved
from spatial.target import Target

PACKINGS = ("apart", "split")
"""How stores share movers: on one that carries no load, or beside a load."""

WORDS = ("rect", "multicast", "scatter", "resident", "buffers", "packing")
"""Knobs that every section has; the others are its coordinates."""


@dataclass(frozen=True)
class Knobs:
    """One value of each knob that is held; None (of `block`: a coordinate that is not there) is any.

    `block`: factors by coordinate, those of item axes the block of a site, that of a loop the depth of its reduction;
    `rect`: width and height in sites; `multicast`, `scatter`, `resident`: loads, exactly these; `buffers`: batches
    that a queue has room for; `packing`: one of `PACKINGS`.
    """

    block: tuple[tuple[str, int], ...] = ()
    rect: tuple[int, int] | None = None
    multicast: frozenset[str] | None = None
    scatter: frozenset[str] | None = None
    resident: frozenset[str] | None = None
    buffers: int | None = None
    packing: str | None = None

    def __str__(self) -> str:
        told = [f"{name}={factor}" for name, factor in self.block]
        told += [f"rect={self.rect[0]}x{self.rect[1]}"] if self.rect else []
        of_loads = ("multicast", self.multicast), ("scatter", self.scatter), ("resident", self.resident)
        for name, loads in of_loads:
            told += [] if loads is None else [f"{name}={'+'.join(sorted(loads)) or 'none'}"]
        told += [] if self.buffers is None else [f"buffers={self.buffers}"]
        told += [] if self.packing is None else [f"packing={self.packing}"]
        return " ".join(told)

    def each(self) -> Iterator[Knobs]:
        """Every knob alone."""
        yield from (Knobs(block=(held,)) for held in self.block)
        for field in fields(self):
            if field.name != "block" and getattr(self, field.name) is not None:
                yield replace(ANY, **{field.name: getattr(self, field.name)})


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
        elif name[:1] in ("i", "l") and name[1:].isdecimal():
            block[name] = _number(name, value)
        else:
            known = (*WORDS, "a coordinate such as i0 or l1")
            raise UsageError(f"there is no knob {name}", "", nearest(name, WORDS) or f"known: {', '.join(known)}")
    return Knobs(
        tuple(sorted(block.items())),
        _rectangle(held["rect"]) if "rect" in held else None,
        _loads(held["multicast"]) if "multicast" in held else None,
        _loads(held["scatter"]) if "scatter" in held else None,
        _loads(held["resident"]) if "resident" in held else None,
        _number("buffers", held["buffers"]) if "buffers" in held else None,
        _packing(held["packing"]) if "packing" in held else None,
    )


def knobs_of_plan(plan: Plan) -> Knobs:
    """What holds the search to a plan, but for its packing."""
    buffers = max((n for _, n in plan.depth), default=None)
    held = frozenset(plan.multicast), frozenset(dict(plan.scatter)), frozenset(plan.resident)
    return Knobs(tuple(sorted(blocked(plan).items())), plan.rect, *held, buffers)


def blocked(plan: Plan) -> dict[str, int]:
    """The factors of a plan by coordinate; one may be blocked in several steps."""
    found: dict[str, int] = {}
    for name, factor in plan.block:
        found[name] = found.get(name, 1) * factor
    return found


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not int(text):
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


# ---------------------------------------------------------------- of a section


def unknown(model: Model, target: Target, want: Knobs) -> list[Problem]:
    """What is held that the section or the chip does not have, with what it has."""
    found: list[Problem] = []
    coordinates = {c.name: c for c in model.coordinates}
    for name, factor in want.block:
        known = coordinates.get(name)
        if known is None:
            found.append(Problem(f"{name}={factor} blocks nothing", f"the section has {one_of(list(coordinates))}"))
        elif factor not in known.factors:
            why = f"its {counted(known.trips, 'iteration')} can be blocked by {one_of([str(f) for f in known.factors])}"
            found.append(Problem(f"{name} cannot be blocked by {factor}", why))
    loads = [load.stage for load in model.loads]
    of_loads = ("multicast", want.multicast), ("scatter", want.scatter), ("resident", want.resident)
    for knob, held in of_loads:
        for name in sorted((held or frozenset()) - {*loads}):
            found.append(Problem(f"{knob}={name} names no load", f"the section has {one_of(loads)}"))
    if want.rect is not None and (want.rect[0] > target.columns or want.rect[1] > target.rows):
        what = f"rect={want.rect[0]}x{want.rect[1]} is larger than the chip"
        found.append(Problem(what, f"it has {target.columns} x {target.rows} sites"))
    most = int(VARIANTS[:, 2].max())
    if want.buffers is not None and want.buffers > most:
        found.append(Problem(f"buffers={want.buffers} is more than any plan has", f"queues hold up to {most} batches"))
    return found


def require_known(model: Model, target: Target, want: Knobs) -> None:
    """Raise `Refused` where something is held that the section or the chip does not have."""
    problems = unknown(model, target, want)
    if problems:
        raise Refused(problems)


def factors_of(model: Model, want: Knobs) -> list[tuple[int, ...]]:
    """Of each coordinate the factors it may be blocked by."""
    held = dict(want.block)
    return [(held[c.name],) if c.name in held else c.factors for c in model.coordinates]


# ---------------------------------------------------------------- over candidates


def allowed(m: Measures, want: Knobs) -> Truth:
    """Which candidates have what is held."""
    ok = np.ones(m.candidates.count, dtype=np.bool_)
    for knob in want.each():
        ok &= away(m, knob) == 0
    return ok


def away(m: Measures, want: Knobs) -> Floats:
    """How far each candidate is from what is held, 0 where it has it: of numbers in doublings, of loads how many."""
    c, off = m.candidates, np.zeros(m.candidates.count)
    names = [x.name for x in m.model.coordinates]
    for name, factor in want.block:
        off += np.abs(np.log2(c.factors[:, names.index(name)] / factor)) if name in names else np.inf
    for side, length in enumerate(want.rect or ()):
        off += np.abs(np.log2(c.rect[:, side] / length))
    for held, has in _of_loads(m, want):
        off += len(held - {load.stage for load in m.model.loads})
        for load in m.model.loads:
            off += has(load) != (load.stage in held)
    if want.buffers is not None:
        off += np.abs(c.buffers - want.buffers)
    if want.packing is not None:
        off += split(m) != (want.packing == "split")
    return off


def nearest_to(m: Measures, want: Knobs) -> Ints:
    """The candidates nearest to what is held: those that have most of it, and of them those that miss the rest by
    least."""
    apart = np.array([away(m, knob) for knob in want.each()]).reshape(-1, m.candidates.count)
    broken, missed = (apart > 0).sum(axis=0), apart.sum(axis=0)
    few = np.nonzero(broken == broken.min())[0]
    return few[missed[few] <= missed[few].min() + 1e-9].astype(np.int64)


def _of_loads(m: Measures, want: Knobs) -> list[tuple[frozenset[str], Callable[[Moved], Truth]]]:
    """What is held of loads, each with what tells which candidates do so with a load."""
    held = ((want.multicast, m.cast), (want.scatter, m.scattered), (want.resident, m.stays))
    return [(loads, has) for loads, has in held if loads is not None]


def split(m: Measures) -> Truth:
    """Where a store shares its mover with a load."""
    engines, out = engines_of(m), np.zeros(m.candidates.count, dtype=np.bool_)
    for store in m.model.stores:
        for load in m.model.loads:
            out |= engines[store.stage] == engines[load.stage]
    return out
