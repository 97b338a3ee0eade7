"""Classes of sites that behave alike: what obligations 3 and 6 are judged on, one representative each.

Sites are alike when they carry the same stages, receive from senders that are alike and send to members that are
alike; the partition is refined from the first until the other two hold. Stepping all sites of a class together is then
a schedule of the whole body whenever stepping the representatives is one, for each queue instance sees the same pushes
and pops; and it blocks only where the whole body would, whose progress does not depend on the order of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.check.coords import sites_of
from spatial.check.queues import SENDERS
from spatial.ir.body import Body

Site = tuple[int, int]


@dataclass(frozen=True)
class SiteClass:
    """Sites that behave alike: the first of them, how many there are, and the stages they carry (by position).

    `targets`: for each multicast or scatter among the stages, the classes its group reaches.
    """

    site: Site
    size: int
    stages: frozenset[int]
    targets: dict[int, tuple[int, ...]]


def site_classes(body: Body) -> tuple[SiteClass, ...]:
    """The classes, in the order of their first sites; sites that carry nothing and receive nothing are left out."""
    carried = _carried(body)
    members = {
        (s, site): _members(body, s, site)
        for site, stages in carried.items()
        for s in stages
        if body.stages[s].kind in SENDERS
    }
    colour = _number({site: tuple(sorted(stages)) for site, stages in carried.items()})
    while True:
        marks: dict[Site, list[tuple[str, int, tuple[int, ...]]]] = {site: [] for site in carried}
        for (s, site), group in members.items():
            marks[site].append(("sends", s, tuple(sorted({colour[m] for m in group}))))
            for m in group:
                marks[m].append(("receives", s, (colour[site],)))
        finer = _number({site: (colour[site], tuple(sorted(marks[site]))) for site in carried})
        if len(set(finer.values())) == len(set(colour.values())):
            break
        colour = finer
    firsts: dict[int, Site] = {}
    for site, c in colour.items():
        firsts.setdefault(c, site)
    order = {c: n for n, c in enumerate(firsts)}
    sizes = list(colour.values())
    return tuple(
        SiteClass(
            site,
            sizes.count(c),
            frozenset(carried[site]),
            {
                s: tuple(sorted({order[colour[m]] for m in members[s, site]}))
                for s in sorted(carried[site])
                if (s, site) in members
            },
        )
        for c, site in firsts.items()
    )


def _carried(body: Body) -> dict[Site, set[int]]:
    w, h = body.rect
    out: dict[Site, set[int]] = {(x, y): set() for y in range(h) for x in range(w)}
    for n, stage in enumerate(body.stages):
        at = sites_of(body, stage)
        for x in range(at.x, at.x + at.w):
            for y in range(at.y, at.y + at.h):
                out[x, y].add(n)
    return out


def _members(body: Body, stage: int, site: Site) -> tuple[Site, ...]:
    w, h = body.stages[stage].group
    return tuple((site[0] + i, site[1] + j) for j in range(h) for i in range(w))


def _number(keys: dict[Site, tuple[object, ...]]) -> dict[Site, int]:
    numbers: dict[tuple[object, ...], int] = {}
    return {site: numbers.setdefault(key, len(numbers)) for site, key in keys.items()}
