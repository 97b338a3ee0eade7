"""Figures of a target file, each good by itself, that cannot all be true.

Place: under `targets`, which reads the figures. An agreement names the figures it needs and is looked at where all of
them are good, so that one mistake hides no other. It must never know how a figure was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spatial.build.target_fields import LINK_KINDS, MOVING_KINDS
from spatial.errors import one_of
from spatial.target import Engine


@dataclass(frozen=True)
class Clash:
    """What cannot be, told at figure (or section) `at`; why, and what would mend it."""

    at: str
    what: str
    why: str = ""
    mend: str = ""


def clashes(values: Mapping[str, Any]) -> Iterator[Clash]:
    """Every clash among `values`, by "section.field"; what the file lacks is not among them."""
    for needs, agreement in AGREEMENTS:
        if all(name in values for name in needs):
            yield from agreement(*(values[name] for name in needs))


def _square(tile: tuple[int, int]) -> Iterator[Clash]:
    if tile[0] != tile[1]:
        yield Clash("sites.tile", f"sites.tile is {tile[0]} x {tile[1]}", "pages are turned over, so tiles are square")


def _sums(float_sum: str, int_sum: str, holds: tuple[str, ...]) -> Iterator[Clash]:
    for name, form in (("matrix.float_accumulate", float_sum), ("matrix.int_accumulate", int_sum)):
        if form not in holds:
            why = "sums leave the accumulator through the vector datapath"
            yield Clash(name, f"{name} is {form}, which vector.holds lacks", why)


def _computes(floats: str, ints: str, holds: tuple[str, ...]) -> Iterator[Clash]:
    for name, form in (("vector.float", floats), ("vector.int", ints)):
        if form not in holds:
            yield Clash(name, f"{name} is {form}, which vector.holds lacks")


def _enters(floats: tuple[str, ...], ints: tuple[str, ...], holds: tuple[str, ...]) -> Iterator[Clash]:
    for name, forms in (("matrix.floats", floats), ("matrix.ints", ints)):
        if all(form not in holds for form in forms):
            why = "what is multiplied leaves the vector datapath first"
            yield Clash(name, f"{name} has no format that vector.holds has", why)


def _passes(floats: tuple[str, ...], ints: tuple[str, ...], passes: tuple[tuple[str, int], ...]) -> Iterator[Clash]:
    entering, given = {*floats, *ints}, {form for form, _ in passes}
    for form in sorted(entering - given):
        yield Clash("matrix.passes", f"matrix.passes has no {form}", "every format that enters takes some passes")
    for form in sorted(given - entering):
        yield Clash("matrix.passes", f"matrix.passes has {form}, which is no format that enters")


def _powers(align: int, granule: int, scratch_align: int) -> Iterator[Clash]:
    for name, size in (("memory.align", align), ("memory.granule", granule), ("sites.align", scratch_align)):
        if size & (size - 1):
            yield Clash(name, f"{name} is {size}", "alignments are powers of two")
    if align % granule:
        yield Clash("memory.align", "memory.align is no multiple of memory.granule", "tensors share no granule")


def _rates(peak: float, rate: float, unplaced: float) -> Iterator[Clash]:
    if unplaced > rate:
        yield Clash("memory.unplaced", "memory.unplaced is above memory.rate", "placing readers well cannot cost")
    if rate > peak:
        yield Clash("memory.rate", "memory.rate is above memory.peak", "no more is reached than there is")


def _beside(columns: int, beside: tuple[int, ...], strip: int) -> Iterator[Clash]:
    if beside and beside[-1] >= columns:
        yield Clash("memory.beside", f"memory.beside has column {beside[-1]}", f"there are {columns}, from 0 on")
    if strip and not beside:
        why = "tables are dealt by width to readers beside the banks"
        yield Clash("memory.strip", f"memory.strip is {strip}, and memory.beside is empty", why, "make it 0")


def _casts(count: int, shapes: tuple[str, ...]) -> Iterator[Clash]:
    if shapes and not count:
        yield Clash("network.multicast", "a multicast, and network.count is 0", "it goes over a network")


def _on_networks(engines: tuple[Engine, ...], count: int) -> Iterator[Clash]:
    for engine in engines:
        moves = any(kind in MOVING_KINDS for kind in engine.kinds)
        between = [kind for kind in engine.kinds if kind in ("multicast", "scatter")]
        what = f"the engine {engine.name}"
        if between and not count:
            yield Clash("engines", f"{what} carries {one_of(between)}", "there is no network between sites")
        if engine.network >= count:
            yield Clash("engines", f"{what} is on network {engine.network}", f"network.count is {count}, from 0 on")
        elif engine.network >= 0 and not moves:
            yield Clash("engines", f"{what} is on a network and moves nothing", "", "take network: out")
        elif engine.network < 0 and moves and count:
            yield Clash("engines", f"{what} moves pages and is on no network", "", "add network:")


def _over_links(engines: tuple[Engine, ...], linked: bool) -> Iterator[Clash]:
    for engine in engines:
        over = [kind for kind in engine.kinds if kind in LINK_KINDS]
        if over and not linked:
            yield Clash(
                "engines", f"the engine {engine.name} carries {one_of(over)}", "the chip has no links", "add links:"
            )


def _several_chips(chips: int, linked: bool) -> Iterator[Clash]:
    if chips > 1 and not linked:
        yield Clash("sites.chips", f"sites.chips is {chips}", "the chip has no links to others", "add links:")


def _link_rates(rated: float, rate: float) -> Iterator[Clash]:
    if rate > rated:
        yield Clash("links.rate", "links.rate is above links.rated", "no more is reached than there is")


def _left(scratch: int, whole: int, reserved: int, headroom: int) -> Iterator[Clash]:
    left = whole - reserved - headroom
    if scratch != left:
        terms = "scratch_bytes - scratch_reserved - scratch_headroom"
        yield Clash("sites.scratch", f"sites.scratch is {scratch}", f"{terms} is {left}")


AGREEMENTS: tuple[tuple[tuple[str, ...], Callable[..., Iterator[Clash]]], ...] = (
    (("sites.tile",), _square),
    (("matrix.float_accumulate", "matrix.int_accumulate", "vector.holds"), _sums),
    (("vector.float", "vector.int", "vector.holds"), _computes),
    (("matrix.floats", "matrix.ints", "vector.holds"), _enters),
    (("matrix.floats", "matrix.ints", "matrix.passes"), _passes),
    (("memory.align", "memory.granule", "sites.align"), _powers),
    (("memory.peak", "memory.rate", "memory.unplaced"), _rates),
    (("sites.columns", "memory.beside", "memory.strip"), _beside),
    (("network.count", "network.multicast"), _casts),
    (("engines", "network.count"), _on_networks),
    (("engines", "links"), _over_links),
    (("sites.chips", "links"), _several_chips),
    (("links.rated", "links.rate"), _link_rates),
    (("sites.scratch", "also.scratch_bytes", "also.scratch_reserved", "also.scratch_headroom"), _left),
)
"""Names of figures, and the agreement of their values; "links": whether the file has that section."""
