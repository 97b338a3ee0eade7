"""Programs that numba really compiles: the same bits, the same errors, nothing fused, nothing printed by the way.

Compiling takes seconds, so the programs here do much at once, and take the case to run as an input.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from compiling import as_array, compiled, held_equal, plainly, run
from drawn_programs import drawn
from sources import read_sources

from spatial.errors import SourceError, Unsupported
from spatial.logos.compiled import Compiled
from spatial.logos.interpret import interpret
from spatial.logos.parser import parse

ROOT = Path(__file__).parents[3]

NUMBERS = parse(
    """## To native exp (x: Float) -> Float
## To native log (x: Float) -> Float
## To native sin (x: Float) -> Float
## To native cos (x: Float) -> Float
## To native tanh (x: Float) -> Float
## To native erf (x: Float) -> Float
## Main
Let y be a new Seq of (Seq of Float).
Let z be a new Seq of (Seq of Int).
Repeat for i from 1 to length of a:
    Let p be item i of a.
    Let q be item i of b.
    Push [exp(p), log(p), sin(p), cos(p), tanh(p), erf(p), pow(p, q), sqrt(p), abs(p), min(p, q), max(p, q)] to y.
    Push [p * q + p, p * q - p * p, p - q * q, 0.0 - p, p + q, p * 3, 2 - p, p / 3.0, p // 3.0, 0.0, 0.0] to y.
    Push [floor(p), ceil(p), round(p)] to z.
"""
)
LIMITS = parse(
    """## To native exp (x: Float) -> Float
## To deep (n: Int) -> Int:
    Return 1 - deep(n + 1).
## To grown (xs: mutable Seq of Int, n: Int) -> Int:
    Repeat for i from 1 to n:
        Push i * i to xs.
    Return length of xs.
## Main
Let xs be [1, 2, 3].
Show "case {case}".
If case equals 1:
    Show item n of xs.
Otherwise If case equals 2:
    Show n + 1.
Otherwise If case equals 3:
    Show 7 / n.
Otherwise If case equals 4:
    Show 1.5 / (n + 0.0).
Otherwise If case equals 5:
    Show deep(1).
Otherwise If case equals 6:
    Show grown(xs, 3000).
    Show xs.
    Set item 5 of xs to n.
Otherwise If case equals 7:
    Show n * n.
Otherwise If case equals 8:
    Set item n of xs to 7 % n.
Otherwise:
    Assert that case equals 0.
Show [n == 9007199254740992.0, n < 2.5, n >= 2.5].
Show xs.
"""
)


def floats(count: int) -> list[float]:
    rng = np.random.default_rng(3)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 1e300, -1e300, 1e-310, np.inf, -np.inf, np.nan, 2.0**53, 9.3e18]
    drawn = np.concatenate([rng.normal(size=count) * 10, rng.normal(size=count) * 700, rng.uniform(size=count)])
    return [float(x) for x in (*special, *drawn)]


def test_floats_to_the_last_bit() -> None:
    a = floats(400)
    b = a[7:] + a[:7]
    plain = interpret(NUMBERS, {"a": a, "b": b}).variables
    found = Compiled(NUMBERS).run({"a": a, "b": b}).variables
    assert np.array_equal(plain["z"].to_array(), found["z"])
    x, y = plain["y"].to_array(), as_array(found["y"])
    told = ~np.isnan(x)
    assert np.array_equal(told, ~np.isnan(y))
    assert np.array_equal(x[told].view(np.int64), y[told].view(np.int64))


def test_nothing_is_fused() -> None:
    """What a fused multiply-add would round once is rounded twice."""
    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30
    found = Compiled(parse("Let y be p * q - 1.0.")).run({"p": a, "q": b}).variables["y"]
    assert found == 0.0  # and not -(2.0 ** -60)


CASES = [
    (1, 2),
    (1, 4),
    (1, 0),
    (1, -3),
    (1, -4),
    (2, 5),
    (3, 2),
    (3, 0),
    (4, 0),
    (5, 1),
    (6, 8),
    (7, 3),
    (8, 2),
    (8, 0),
    (9, 1),
]


@pytest.fixture(scope="module")
def limits() -> Compiled:
    return Compiled(LIMITS)


@pytest.mark.parametrize(("case", "n"), CASES)
def test_lines_and_errors(limits: Compiled, case: int, n: int) -> None:
    inputs = {"case": case, "n": n}
    plain = run(LIMITS, inputs, plainly)
    found = run(LIMITS, inputs, lambda _, given, output: limits.run(given, output).variables)
    held_equal(plain, found)


@pytest.mark.parametrize(("case", "n"), [(2, (1 << 63) - 1), (7, 1 << 40)])
def test_an_int_that_needs_more_bits_ends_the_run(limits: Compiled, case: int, n: int) -> None:
    lines: list[str] = []
    with pytest.raises(Unsupported, match="an Int beyond 64 bits"):
        limits.run({"case": case, "n": n}, lines.append)
    assert lines == [f"case {case}"]


def test_what_the_output_raises_ends_the_run(limits: Compiled) -> None:
    class Closed(Exception):
        pass

    def output(_line: str) -> None:
        raise Closed

    with pytest.raises(Closed):
        limits.run({"case": 1, "n": 1}, output)


def test_numba_is_quiet(limits: Compiled, capfd: pytest.CaptureFixture[str]) -> None:
    limits.run({"case": 0, "n": 1}, lambda _: None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.nightly
def test_every_written_program() -> None:
    from logos.compiled.test_compiled_translation import EXAMPLES, PROGRAMS

    taken = 0
    for text in (*PROGRAMS.values(), *EXAMPLES):
        program = parse(text, "written.lg")
        found = run(program, {}, compiled)
        taken += not found.refused
        if not found.refused:
            held_equal(run(program, {}, plainly), found)
    assert taken >= len(PROGRAMS) + len(EXAMPLES) - 3


@pytest.mark.nightly
def test_every_program_of_the_lowering() -> None:
    from lifting import flat_tables
    from running import Drawn, tables_of

    for source in {s.name: s for s in read_sources(ROOT / "tests/lowering/programs")}.values():
        program, graph = parse(source.text, f"{source.name}.lg"), source.lifted().graph
        assert graph is not None
        flat = flat_tables(program, source.facts)
        tables = {n: v.ravel() if n in flat else v for n, v in tables_of(Drawn(graph, source.stored, 2)).items()}
        wide = {n: v.astype(np.float64) if v.dtype.kind == "f" else v for n, v in tables.items()}
        inputs = {**source.facts.sizes, **wide}
        held_equal(run(program, inputs, plainly), run(program, inputs, compiled))


@pytest.mark.nightly
def test_drawn_programs_compiled() -> None:
    taken = 0
    for number in range(40):
        program = parse(drawn(random.Random(number).randrange), "drawn.lg")
        plain, found = run(program, {}, plainly), run(program, {}, compiled)
        if not found.refused:
            taken += 1
            held_equal(plain, found)
    assert taken >= 20


def test_a_misuse_is_a_refusal_of_the_source() -> None:
    with pytest.raises(SourceError, match="undefined variable"):
        Compiled(LIMITS).run({"n": 1}, lambda _: None)
