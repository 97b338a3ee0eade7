"""From a source written for a test to its simulated results beside the interpreter of the source.

A program file (`tests/lowering/programs/*.lg`) says in comments at its head what a deployment's spec would say:

    # sizes n = 5, k = 33            one line a case; `sizes` of the first line hold for the others unless named again
    # table ids: Int [n] 0 .. k - 1  an input; `state` in place of `table`: one that the program writes
    # weights w q8_0, g              whose shapes its accesses imply
    # assume start + n <= k
    # results y, z                   `y` where the line is missing
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from evaluate import SLACK, Held
from graphs import Drawn
from lifting import Facts, Table, flat_tables, lifted
from running import lowered, outcome, tables_of

from spatial.build.expressions import evaluate as integer
from spatial.check import check_program
from spatial.check.graphs import check_graph
from spatial.check.verdict import Log
from spatial.ir.graph import Lifted
from spatial.ir.program import Program
from spatial.logos.interpret import Seq, interpret
from spatial.logos.parser import parse
from spatial.lowering import ProgramLowering
from spatial.numerics import Array
from spatial.target import Target

_TABLE = re.compile(r"(\w+): (Int|Float) \[([^]]*)\](?: (.+) \.\. (.+))?")


@dataclass(frozen=True)
class Source:
    """A source under one choice of its sizes."""

    name: str
    text: str
    facts: Facts
    results: tuple[str, ...]
    stored: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        sizes = " ".join(f"{n}={v}" for n, v in self.facts.sizes.items())
        return f"{self.name}: {sizes}"

    def lifted(self) -> Lifted:
        return lifted(self.text, self.facts, self.results)


@dataclass(frozen=True)
class Lowered:
    """A source lowered whole for a target, and accepted."""

    source: Source
    case: Drawn
    result: ProgramLowering
    target: Target

    @property
    def program(self) -> Program:
        return self.result.into_whole()


@dataclass
class _Head:
    sizes: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    tables: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    weights: list[str] = field(default_factory=list[str])
    stored: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    assume: list[str] = field(default_factory=list[str])
    results: tuple[str, ...] = ("y",)


def sources(name: str, text: str) -> Iterator[Source]:
    """The source under every choice of sizes its head names."""
    head = _Head()
    for line in text.splitlines():
        match line.removeprefix("#").strip().split(" ", 1) if line.startswith("# ") else [""]:
            case ["sizes", rest]:
                given = {k.strip(): int(v) for k, _, v in (part.partition("=") for part in rest.split(","))}
                head.sizes.append({**(head.sizes[0] if head.sizes else {}), **given})
            case ["table" | "state" as kind, rest]:
                head.tables.append((rest, kind == "state"))
            case ["weights", rest]:
                words = [w.split() for w in rest.split(",")]
                head.weights += [w[0] for w in words]
                head.stored += [(w[0], w[1]) for w in words if len(w) > 1]
            case ["assume", rest]:
                head.assume.append(rest)
            case ["results", rest]:
                head.results = tuple(w.strip() for w in rest.split(","))
            case _:
                pass
    for sizes in head.sizes or [{}]:
        tables = dict(_table(row, sizes, state) for row, state in head.tables)
        facts = Facts(sizes, tables, tuple(head.weights), tuple(head.assume))
        yield Source(name, text, facts, head.results, tuple(head.stored))


def _table(row: str, sizes: Mapping[str, int], state: bool) -> tuple[str, Table]:
    found = _TABLE.fullmatch(row)
    assert found is not None, row
    name, kind, dims, low, high = found.groups()
    shape = tuple(integer(d, sizes) for d in dims.split(","))
    held = None if low is None else (integer(low, sizes), integer(high, sizes))
    return name, Table(shape, kind.lower(), held, state)


def read_sources(folder: Path) -> list[Source]:
    """Every program of a folder, under all its sizes."""
    return [s for p in sorted(folder.glob("*.lg")) for s in sources(p.stem, p.read_text(encoding="utf-8"))]


def compiled(source: Source, target: Target, seed: int = 1) -> Lowered:
    """The source lowered whole and accepted by the checker."""
    found = source.lifted()
    assert found.graph is not None, found.missing
    log = Log()
    check_graph(found.graph, "graph", log)
    assert log.verdict().accepted, [str(f) for f in (*log.failures, *log.unsupported)]
    case = Drawn(found.graph, source.stored, seed)
    result = lowered(case, target)
    program = result.into_whole()
    verdict = check_program(program, target)
    assert verdict.accepted, [str(f) for f in (*verdict.failures, *verdict.unsupported)][:5]
    return Lowered(source, case, result, target)


def hold(work: Lowered, seed: int = 1, given: Mapping[str, Array] | None = None, pagewise: bool = False) -> None:
    """Run the program and hold results and state to the interpreter of its source: integers exactly, floats within
    the running error bound of what the graph computes. `given`: tables in place of drawn ones."""
    source, case = work.source, replace(work.case, seed=seed)
    # A table of one possible number may be left out of a graph; the interpreter still asks for it.
    ones = {n: t for n, t in source.facts.tables.items() if t.range is not None and t.range[0] == t.range[1]}
    drawn = tables_of(case)
    tables = {**drawn, **{n: v for n, v in (given or {}).items() if n in drawn or n not in ones}}
    got, bounds = outcome(case, work.program, work.target, fills=work.result.fills, given=tables)
    graph = case.graph
    held = {n: np.full(t.dims, t.range[0]) for n, t in ones.items() if t.range is not None}
    held |= {t.name: bounds[n].value for n, t in enumerate(graph.tensors) if t.role in ("input", "weight", "state")}
    program = parse(source.text, f"{source.name}.lg")
    flat = flat_tables(program, source.facts)
    lists = {n: (v.ravel() if n in flat else v).tolist() for n, v in held.items()}
    ran = interpret(program, {**source.facts.sizes, **lists}, output=lambda _: None).variables
    numbers = dict(graph.results) | {n: last for n, _, last in graph.state}
    assert set(source.results) <= set(got)
    for name, values in got.items():
        want = ran[name]
        array = want.to_array() if isinstance(want, Seq) else np.asarray(want)
        _held(name, values, array.reshape(values.shape), bounds[numbers[name]])
    if pagewise:
        judged, _ = outcome(case, work.program, work.target, "pagewise", work.result.fills, tables)
        assert {n: v.tobytes() for n, v in judged.items()} == {n: v.tobytes() for n, v in got.items()}


def _held(name: str, got: Array, want: Array, bound: Held) -> None:
    if got.dtype.kind == "i":
        assert want.dtype.kind == "i", name
        assert np.array_equal(got, want), (name, got, want)
        return
    assert want.dtype.kind == "f", name
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.float64) - want)
    tiny = 1e-12 * max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)))
    right = (off <= SLACK * bound.error + tiny) | (got == want) | (np.isnan(got) & np.isnan(want))
    assert right.all(), (name, np.argwhere(~right)[:4], got[~right][:4], want[~right][:4])
