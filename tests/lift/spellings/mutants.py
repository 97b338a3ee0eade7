"""Programs with one thing changed: what still lifts must compute what the changed program computes.

Mutants are made of spelled programs, of the hand-written families and of the programs that are run from their sources
(online passes, places of maxima, blocks, writes in part and the like) in turn, the kinds of change seen least first.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from graphs import Drawn
from lift.families import corpus
from lift.spellings.mutate import mutants
from lift.spellings.outcome import draw, facts, given
from lifting import Array, Facts, agree, flat_tables, lifted, parse
from running import tables_of
from sources import Source, read_sources

from spatial.errors import SourceError, UsageError
from spatial.ir import wire
from spatial.logos.interpret import Seq, interpret
from spatial.logos.printer import print_program
from spatial.logos.syntax import Program

EACH = 5
"""Mutants of one program."""

PROGRAMS = Path(__file__).parents[2] / "lowering" / "programs"


@dataclass(frozen=True)
class Subject:
    """A program whose mutants are tried, with inputs to try them on."""

    family: str
    program: Program
    facts: Facts
    results: tuple[str, ...]
    inputs: Sequence[Mapping[str, Array]]

    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Inputs of one kind and shape."""
        groups: dict[object, list[str]] = {}
        for name, value in self.inputs[0].items():
            table = self.facts.tables.get(name)
            kind = (value.shape, table and (table.kind, table.range, table.state))
            groups.setdefault(kind, []).append(name)
        return tuple(tuple(g) for g in groups.values() if len(g) > 1)


@dataclass(frozen=True)
class Mutant:
    """`became`: "right" (lifted to what it means), "equivalent", "refused", "stops" or "wrong"."""

    family: str
    change: str
    became: str
    why: str = ""
    source: str = ""


def roomy(subject: Subject) -> Subject:
    """The program over tables one longer along every axis, so that an index off by one may stay inside."""
    small = [n for n, v in subject.inputs[0].items() if v.shape == (1,)]
    tables = {
        n: t if n in small else replace(t, dims=tuple(d + 1 for d in t.dims)) for n, t in subject.facts.tables.items()
    }
    inputs = [{n: v if n in small else np.pad(v, (0, 1), "wrap") for n, v in given.items()} for given in subject.inputs]
    return replace(subject, facts=replace(subject.facts, tables=tables), inputs=inputs)


def subjects(first: int) -> Iterator[Subject]:
    """Programs without end: a hand-written one, one run from its source, a drawn one, and so on."""
    rng = random.Random(first)
    seed = first
    run = read_sources(PROGRAMS)
    while True:
        written = list(corpus.every())
        rng.shuffle(written)
        rng.shuffle(run)
        for n, s in enumerate(written):
            subject = of_source(run[n % len(run)], seed)
            yield roomy(subject) if seed % 2 else subject
            subject = of_corpus(s, seed % 2)
            yield roomy(subject) if seed % 3 else subject
            seed += 1
            spelled = draw(random.Random(seed).randrange)
            known = facts(spelled.problem, seed % 2)
            program = parse(spelled.sources[seed % 2], "mutant.lg")
            results, inputs = spelled.problem.results, given(spelled.problem, known, seed)
            subject = Subject(spelled.problem.family, program, known, results, inputs)
            yield roomy(subject) if seed % 3 else subject


def of_corpus(s: corpus.Spelling, size: int = 0) -> Subject:
    known = corpus.facts(s.family, size)
    inputs = [known.inputs(way, 5 + way) for way in known.ways()]
    return Subject(s.family, parse(s.source, "mutant.lg"), known.facts, known.results, inputs)


def of_source(s: Source, seed: int) -> Subject:
    """A program that is run from its source, on seeded inputs of three kinds: low, around zero and high."""
    graph = s.lifted().graph
    assert graph is not None, s.name
    inputs = [tables_of(Drawn(graph, (), 2 * (3 * seed + way))) for way in range(3)]
    return Subject(s.name, parse(s.text, "mutant.lg"), s.facts, s.results, inputs)


def tried(subject: Subject, seen: dict[str, float], seed: int, each: int = EACH) -> Iterator[Mutant]:
    """Some mutants of a program that lifts, of the changes that lifted least so far."""
    graph = lifted(subject.program, subject.facts, subject.results).graph
    if graph is None:
        return
    flat = flat_tables(subject.program, subject.facts)
    plain = _ran(subject, subject.program, flat)
    if plain is None:
        return
    changed = list(mutants(subject.program, subject.alike()))
    random.Random(seed).shuffle(changed)
    for _ in range(min(each, len(changed))):
        at = min(range(len(changed)), key=lambda n: seen.get(changed[n][0], 0.0))
        name, program = changed.pop(at)
        found = _judged(subject, name, program, flat, plain, wire.digest(graph))
        seen[name] = seen.get(name, 0.0) + (1.0 if found.became == "right" else 0.25)
        yield found


def _judged(
    subject: Subject, name: str, program: Program, flat: frozenset[str], plain: list[list[Array]], digest: str
) -> Mutant:
    ran = _ran(subject, program, flat)
    if ran is None:
        return Mutant(subject.family, name, "stops")
    found = lifted(program, subject.facts, subject.results)
    same = all(
        a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b)
        for one, other in zip(plain, ran, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    graph = found.graph
    source = print_program(program)
    if graph is None:
        return Mutant(subject.family, name, "equivalent" if same else "refused", found.missing[0].why, source)
    if wire.digest(graph) == digest and not same and not _near(plain, ran):
        return Mutant(subject.family, name, "wrong", "the graph of the unchanged program", source)
    dims = {t.name: t.dims for t in graph.tensors if t.role == "weight"}  # a weight is as large as it may be read
    if any(d > e for n, ds in dims.items() for d, e in zip(ds, subject.inputs[0][n].shape, strict=True)):
        return Mutant(subject.family, name, "stops", "a weight is read past what is given", source)
    for whole in subject.inputs:
        tables = {n: v[tuple(slice(0, d) for d in dims[n])] if n in dims else v for n, v in whole.items()}
        try:
            agree(program, subject.facts, tables, subject.results, graph, 1e-9, flat)
        except (AssertionError, ValueError, IndexError, KeyError) as error:
            return Mutant(subject.family, name, "wrong", f"{type(error).__name__} {error}", source)
    return Mutant(subject.family, name, "equivalent" if same else "right", "", source)


def _near(plain: list[list[Array]], ran: list[list[Array]]) -> bool:
    """Equal but for rounding: sums in another order are no change of meaning."""
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=1e-12)
        for one, other in zip(plain, ran, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def _ran(subject: Subject, program: Program, flat: frozenset[str]) -> list[list[Array]] | None:
    """Results and state on every input; None where the program stops, or gives no finite number."""
    names = (*subject.results, *(n for n, t in subject.facts.tables.items() if t.state))
    found: list[list[Array]] = []
    for tables in subject.inputs:
        lists = {n: (v.ravel() if n in flat else v).tolist() for n, v in tables.items()}
        try:
            ran = interpret(program, {**subject.facts.sizes, **lists}, output=lambda _: None).variables
            held = [v.to_array() if isinstance(v := ran[n], Seq) else np.asarray(v) for n in names]
        except (SourceError, UsageError, AttributeError, KeyError, ValueError):
            return None
        if not all(h.dtype.kind in "fi" and np.isfinite(h).all() for h in held):
            return None
        found.append(held)
    return found


def lifted_mutants(wanted: int, first: int = 0, each: int = EACH) -> list[Mutant]:
    """Mutants until so many were lifted to something else than their program."""
    found: list[Mutant] = []
    seen: dict[str, float] = {}
    count = 0
    for n, subject in enumerate(subjects(first)):
        for mutant in tried(subject, seen, first + n, each):
            found.append(mutant)
            count += mutant.became == "right"
        if count >= wanted:
            return found
    raise AssertionError("subjects have no end")


def report(found: Sequence[Mutant]) -> Iterable[str]:
    """Counts by change and by family, then by both; whatever is wrong, whole."""
    ways = ("right", "equivalent", "refused", "stops", "wrong")
    for label in (lambda m: m.change, lambda m: m.family, lambda m: f"{m.change}, {m.family}"):
        count = Counter((label(m), m.became) for m in found)
        yield " ".join(f"{w:>10}" for w in ways)
        for name in sorted({label(m) for m in found}):
            yield " ".join(f"{count[name, w]:10}" for w in ways) + f"  {name}"
        whole = Counter(m.became for m in found)
        yield " ".join(f"{whole[w]:10}" for w in ways) + "  in all\n"
    for m in found:
        if m.became == "wrong":
            yield f"==== WRONG {m.family}, {m.change}: {m.why}\n{m.source}"
