"""Spellings written by hand: those that mean the same are one graph, those that round differently one family."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from lift.families.corpus import Spelling, every, facts, kinds, names, places
from lift.families.known import APART, REFUSED, REFUSED_AT_OTHER_SIZES, SECTIONS, UNLIKE
from lifting import Array, agree, flat_tables, lifted, parse
from support import REFERENCE

from spatial.ir import wire
from spatial.ir.graph import Graph
from spatial.logos.interpret import Seq, interpret
from spatial.lowering import lower
from spatial.select import layouts

ALL = list(every())
ROUNDS = [s for s in ALL if s.kind == "rounds"]
SEEDS = 150
"""Inputs that are drawn until a spelling rounds otherwise than the plain one: ties and rare last bits need many."""


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


@pytest.mark.parametrize("s", [pytest.param(s, id=s.name) for s in ROUNDS])
def test_what_rounds_differently_comes_near_and_not_always_to_the_same_bits(s: Spelling) -> None:
    differs = False
    for seed in range(SEEDS):
        own, plain = outcome(s.family, s.source, seed), outcome(s.family, s.plain, seed)
        differs = any(not np.array_equal(a, b) for a, b in zip(own, plain, strict=True))
        for a, b in zip(own, plain, strict=True):
            assert a.dtype == b.dtype
            assert a.dtype.kind == "i" or np.allclose(a, b, rtol=1e-9, atol=1e-11)
        if differs:
            break
    assert differs


@functools.cache
def outcome(family: str, source: str, seed: int) -> tuple[Array, ...]:
    """What the interpreter has at the end of a program: results, and tables of state."""
    known, program = facts(family), parse(source, "spelled.lg")
    flat = flat_tables(program, known.facts)
    given = {n: (v.ravel() if n in flat else v).tolist() for n, v in known.inputs(0, seed).items()}
    ran = interpret(program, {**known.facts.sizes, **given}, output=lambda _: None)
    state = tuple(name for name, table in known.facts.tables.items() if table.state)
    values = (ran.variables[name] for name in (*known.results, *state))
    return tuple((v.to_array() if isinstance(v, Seq) else np.asarray(v)).ravel() for v in values)


@pytest.mark.parametrize("family", names())
def test_what_rounds_differently_is_a_graph_of_its_own(family: str) -> None:
    mine = [s for s in ROUNDS if s.family == family]
    titles: dict[str, str] = {wire.digest(graph_of(family, plain)): "plain" for plain in {s.plain for s in mine}}
    for s in mine:
        digest = wire.digest(graph_of(family, s.source))
        assert digest not in titles, f"{s.title}: as {titles[digest]}"
        titles[digest] = s.title


@pytest.mark.parametrize("s", parameters(ROUNDS, APART, AssertionError))
def test_what_rounds_differently_is_of_the_same_family(s: Spelling) -> None:
    own, plain = graph_of(s.family, s.source), graph_of(s.family, s.plain)
    assert kinds(own) == kinds(plain)
    if not kinds(own):  # Of maps alone the family is where they read what is as wide as they are.
        assert places(own) == places(plain)


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
@pytest.mark.parametrize("s", parameters(ROUNDS, SECTIONS, AssertionError))
def test_what_rounds_differently_is_lowered_to_sections_of_the_same_kinds(s: Spelling) -> None:
    assert sections(s.family, s.source) == sections(s.family, s.plain)


@pytest.mark.parametrize("family", names())
def test_every_family_has_many_spellings(family: str) -> None:
    """Twenty of one problem that are one graph, and ten that round differently; known gaps do not count."""
    gaps = {*UNLIKE, *REFUSED, *REFUSED_AT_OTHER_SIZES, *APART}
    mine = [s for s in ALL if s.family == family and s.name not in gaps]
    equal = Counter(s.plain for s in mine if s.kind != "rounds")
    assert max(equal.values()) >= 20
    assert sum(s.kind == "rounds" for s in mine) >= 10


@pytest.mark.parametrize("family", names())
def test_no_spelling_is_another_one_with_other_names(family: str) -> None:
    seen: dict[str, str] = {}
    for s in (s for s in ALL if s.family == family):
        other = seen.setdefault(renamed(s.source), s.title)
        assert other == s.title, f"{s.title}: as {other}"


def renamed(source: str) -> str:
    """A source whose own names stand for their order of appearance; its layout and comments are left out."""
    own = {a or b for a, b in re.findall(r"\b(?:Let|for|To) (\w+)|\((\w+): ", source)} - {"y"}
    order: dict[str, str] = {}
    words = re.findall(r"\w+|[^\w\s]", source)
    return " ".join(order.setdefault(w, f"own{len(order)}") if w in own else w for w in words)


def test_what_is_known_to_fail_is_a_spelling() -> None:
    assert {*UNLIKE, *REFUSED, *REFUSED_AT_OTHER_SIZES, *APART, *SECTIONS} <= {s.name for s in ALL}
