"""Items met once: found for all sites at once, as a walk over every site and turn finds it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from check.mutants import read
from hypothesis import given, settings
from hypothesis import strategies as st
from support import REFERENCE

from spatial.ir.affine import Affine
from spatial.ir.body import Body, Items
from spatial.ir.validate.sites import covered

BODY = replace(read("product").bodies[0], stages=(), queues=(), engines=())


def walked(body: Body) -> str:
    """What is wrong, by a walk."""
    w, h = body.rect
    grid, trips = body.items.grid, body.items.trips
    if w * h * prod(trips) < prod(grid):
        return "turns of all sites"
    seen: set[tuple[int, ...]] = set()
    for x, y, *turn in product(range(w), range(h), *map(range, trips)):
        values = {"sx": x, "sy": y, **{f"t{n}": t for n, t in enumerate(turn)}}
        item = tuple(form.at(values) for form in body.items.coord)
        if all(0 <= i < n for i, n in zip(item, grid, strict=True)):
            if item in seen:
                return f"item {item} is met twice"
            seen.add(item)
    missing = next((i for i in product(*map(range, grid)) if i not in seen), None)
    return "" if missing is None else f"item {missing} is met by no site"


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    axes = draw(st.integers(1, 2))
    few = st.lists(st.integers(1, 4), min_size=axes, max_size=axes).map(tuple)
    names = ("sx", "sy", *(f"t{n}" for n in range(axes)))
    coef = st.sampled_from((0, 0, 1, 1, 2, 3, 4, -1))
    forms = [
        Affine.of(draw(st.sampled_from((0, 0, 0, 1, -1))), {name: draw(coef) for name in names}) for _ in range(axes)
    ]
    rect = draw(st.tuples(st.integers(1, 4), st.integers(1, 3)))
    return replace(BODY, rect=rect, items=Items(draw(few), draw(few), tuple(forms)))


@settings(max_examples=400, deadline=None)
@given(bodies())
def test_the_first_fault_is_the_one_a_walk_finds(body: Body):
    found = [str(p) for p in covered(body, REFERENCE)]
    said = walked(body)
    assert len(found) == bool(said)
    assert all(said in text for text in found)


@pytest.mark.parametrize("wide", (1 << 70, -(1 << 70)))
def test_places_beyond_64_bits_are_no_items(wide: int):
    form = Affine.of(0, {"sx": 1, "t0": wide})
    found = replace(BODY, rect=(4, 1), items=Items((4,), (2,), (form,)))
    assert list(covered(found, REFERENCE)) == []
