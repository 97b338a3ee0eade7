"""What lowering and simulating cost on a graph of the real size, weights drawn: `doit bench` prints the figures.

Ratios are held to what they must not exceed; absolute times are printed only.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import Drawn, Shape, decoder
from running import layouts, lifted, lowered
from support import REFERENCE, TF32

from spatial.ir import wire
from spatial.lowering import Options, lower
from spatial.passes.fuse_generic import fuse_generic
from spatial.plan.search import choose
from spatial.simulate.lockstep import Lockstep
from spatial.simulate.memory import Memory
from spatial.simulate.run import run_program
from spatial.target import Target

pytestmark = pytest.mark.nightly

REAL = Shape(layers=30, heads=9, groups=3, head=64, ffn=1536, positions=256, vocabulary=49152)
"""SmolLM2-135M's sizes."""


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of a few runs."""
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


@pytest.fixture(scope="module")
def case() -> Drawn:
    return decoder(REAL, q8=True)


@pytest.fixture(autouse=True, scope="module")
def _said() -> Iterator[None]:
    print(f"\n{Path(__file__).name}: seconds are wall-clock, the shortest of three, one thread")
    yield


def test_lowering_by_layers():
    few, many = (decoder(replace(REAL, layers=n), q8=True) for n in (2, 40))
    costs = [seconds(lambda c=c: lowered(c, REFERENCE)) for c in (few, many)]
    print(f"lowering 2 layers {costs[0]:.3f} s, 40 layers {costs[1]:.3f} s, ratio {costs[1] / costs[0]:.2f}")
    assert costs[1] <= 2 * costs[0]


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_plan_search(case: Drawn, target: Target):
    templates: list = []
    tables = layouts(case, target)
    lower(lifted(case.graph), tables, target, Options(keep=lambda template, _: templates.append(template)))
    joined = [fuse_generic(t, target) for t in templates]
    took = sorted(seconds(lambda t=t: choose(t, target)) for t in joined)
    priced = [choose(t, target).priced for t in joined]
    print(
        f"{target.name}: plan search over {len(took)} sections: median {statistics.median(took) * 1e3:.1f} ms, "
        f"longest {took[-1] * 1e3:.1f} ms, candidates {min(priced)} to {max(priced)}"
    )
    assert took[-1] < 5.0


def test_bytes_of_a_program(case: Drawn):
    small = wire.pack(lowered(decoder(replace(REAL, layers=2), q8=True), REFERENCE).into_whole())
    large = wire.pack(lowered(case, REFERENCE).into_whole())
    print(f"program of 2 layers {len(small)} bytes, of 30 layers {len(large)} bytes")
    assert len(large) < 15 * len(small)


def drawn_memory(case: Drawn, target: Target, program) -> Memory:
    """Weights of the right size and no meaning, set as raw planes."""
    memory = Memory.of(program, target)
    rng = np.random.default_rng(0)
    for tensor in program.tensors:
        if tensor.role not in ("input", "weight"):
            continue
        s, r, c = tensor.shape
        if tensor.layout == "q8_0":
            memory.set(tensor.name, rng.integers(-127, 128, (s, r, c), np.int8), "values")
            memory.set(tensor.name, np.full((s, r // 32, c), 0.001, np.float16), "scales")
        elif tensor.prec.startswith("i"):
            memory.set(tensor.name, np.full((s, r, c), 200))
        else:
            memory.set(tensor.name, (rng.standard_normal((s, r, c)) * 0.1).astype(np.float32))
    return memory


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_simulated_token(case: Drawn, target: Target):
    program = lowered(case, target).into_whole()
    memory, executor = drawn_memory(case, target, program), Lockstep(target)
    first = seconds(lambda: run_program(program, target, memory, executor), 1)
    later = seconds(lambda: run_program(program, target, memory, executor))
    print(f"{target.name}: first simulated token {first:.2f} s, each later {later:.2f} s")
