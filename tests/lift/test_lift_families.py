"""Spellings written by hand: those that mean the same are one graph, those that round differently one family."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable

import pytest
from lift.families.corpus import Spelling, every, facts, kinds, names
from lift.families.known import APART, REFUSED, REFUSED_AT_OTHER_SIZES, SECTIONS, UNLIKE
from lifting import agree, flat_tables, lifted, parse
from support import REFERENCE

from spatial.ir import wire
from spatial.ir.graph import Graph
from spatial.lowering import lower
from spatial.select import layouts

ALL = list(every())
COPIES = ("argmax", "gather", "matmul_integer", "prefix_masks", "scatter", "transposes", "updates")
"""Families of copies, comparisons and integers: nothing in them rounds."""


class Refused(Exception):
    """A program did not lift."""


@functools.cache
def graph_of(family: str, source: str, size: int = 0) -> Graph:
    known = facts(family, size)
    found = lifted(parse(source, "spelled.lg"), known.facts, known.results)
    if found.graph is None:
        raise Refused("; ".join(m.why for m in found.missing))
    return found.graph


def parameters(spellings: Iterable[Spelling], known: dict[str, str], raises: type[Exception]) -> list[object]:
    def marked(s: Spelling) -> object:
        mark = [pytest.mark.xfail(strict=True, raises=raises, reason=known[s.name])] if s.name in known else []
        return pytest.param(s, id=s.name, marks=mark)

    return [marked(s) for s in spellings]


@pytest.mark.parametrize("s", parameters(ALL, REFUSED, Refused))
def test_a_spelling_lifts_to_what_it_means(s: Spelling) -> None:
    held(s, 0)


@pytest.mark.nightly
@pytest.mark.parametrize("s", parameters(ALL, {**REFUSED, **REFUSED_AT_OTHER_SIZES}, Refused))
def test_a_spelling_lifts_to_what_it_means_at_other_sizes(s: Spelling) -> None:
    held(s, 1)
    if s.kind == "same" and s.name not in UNLIKE:
        assert wire.digest(graph_of(s.family, s.source, 1)) == wire.digest(graph_of(s.family, s.plain, 1))


def held(s: Spelling, size: int) -> None:
    known = facts(s.family, size)
    graph, program = graph_of(s.family, s.source, size), parse(s.source, "spelled.lg")
    flat = flat_tables(program, known.facts)
    for way in known.ways():
        agree(program, known.facts, known.inputs(way), known.results, graph, flat=flat)


@pytest.mark.parametrize(
    "s", parameters([s for s in ALL if s.kind == "same" and s.name not in REFUSED], UNLIKE, AssertionError)
)
def test_spellings_that_mean_the_same_are_one_graph(s: Spelling) -> None:
    assert wire.digest(graph_of(s.family, s.source)) == wire.digest(graph_of(s.family, s.plain))


@pytest.mark.parametrize("s", [pytest.param(s, id=s.name) for s in ALL if s.kind == "rounds"])
def test_what_rounds_differently_is_another_graph(s: Spelling) -> None:
    assert wire.digest(graph_of(s.family, s.source)) != wire.digest(graph_of(s.family, s.plain))


@pytest.mark.parametrize("s", parameters([s for s in ALL if s.kind == "rounds"], APART, AssertionError))
def test_what_rounds_differently_is_of_the_same_family(s: Spelling) -> None:
    assert kinds(graph_of(s.family, s.source)) == kinds(graph_of(s.family, s.plain))


@functools.cache
def sections(family: str, source: str) -> frozenset[str]:
    """The kinds of sections that a program is lowered to, maps apart; all of it."""
    known = facts(family)
    found = lifted(parse(source, "spelled.lg"), known.facts, known.results)
    assert found.graph is not None
    tables = layouts.agree({family: found.graph}, layouts.Request({}), REFERENCE)
    lowering = lower(found, tables, REFERENCE)
    assert not lowering.missing, lowering.missing
    return frozenset(kind for kind, _ in lowering.kinds if kind != "map")


@pytest.mark.nightly
@pytest.mark.parametrize("s", parameters([s for s in ALL if s.kind == "rounds"], SECTIONS, AssertionError))
def test_what_rounds_differently_is_lowered_to_sections_of_the_same_kinds(s: Spelling) -> None:
    assert sections(s.family, s.source) == sections(s.family, s.plain)


@pytest.mark.parametrize("family", names())
def test_every_family_has_many_spellings(family: str) -> None:
    count = Counter(s.kind for s in ALL if s.family == family)
    assert count["same"] + count["also"] >= 20
    assert count["rounds"] >= 10 or family in COPIES


def test_what_is_known_to_fail_is_a_spelling() -> None:
    assert {*UNLIKE, *REFUSED, *REFUSED_AT_OTHER_SIZES, *APART, *SECTIONS} <= {s.name for s in ALL}
