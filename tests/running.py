"""From a drawn graph to its simulated results beside its evaluation. Goes through the front doors of every floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from evaluate import SLACK, Exactness, Held, evaluate
from graphs import Drawn
from support import MOVES, REFERENCE, TF32

from spatial.ir.graph import Graph, Lifted
from spatial.ir.program import Program
from spatial.lowering import Options, ProgramLowering, lower
from spatial.numerics import Array, round_to
from spatial.select.layouts import Request, TableLayout, agree, statements_of
from spatial.simulate.memory import Memory
from spatial.simulate.run import run_program
from spatial.target import Engine, Target

SMALL = replace(REFERENCE, name="small", columns=2, rows=3, scratch=65_536)
"""A chip so small that plans are pressed."""

LONE = replace(SMALL, name="lone", engines=(Engine("mover", MOVES, 0), REFERENCE.engines[-1]))
"""The same with one engine that moves pages, so that loads wait for stores."""

BESIDE = replace(
    TF32,
    name="beside",
    columns=4,
    rows=3,
    scratch=262_144,
    memory=replace(TF32.memory, banks=6, rate=48.0, unplaced=16.0, beside=(0, 2), strip=2),
)
"""A chip whose memory is three times as fast for readers beside its banks."""

EXACTNESS = {"f32": Exactness(2.0**-24), "tf32": Exactness(2.0**-24, 2.0**-11), "bf16": Exactness(2.0**-24, 2.0**-8)}


def lifted(graph: Graph) -> Lifted:
    """The graph as a lifter that lifted everything would hand it on."""
    return Lifted(graph, (), sum(1 for _ in statements_of(graph)), 0, 0, 0, ())


def layouts(case: Drawn, target: Target) -> dict[str, TableLayout]:
    return agree({"program": case.graph}, Request(dict(case.stored)), target)


def lowered(case: Drawn, target: Target, options: Options | None = None) -> ProgramLowering:
    return lower(lifted(case.graph), layouts(case, target), target, options)


def tables_of(case: Drawn) -> dict[str, Array]:
    """Seeded inputs, weights and state by name, in the tensors' dims; floats as storage rounds them."""
    rng = np.random.default_rng(case.seed)
    side = case.seed // 2 % 3 - 1  # below zero, around it, above it: a stray zero shows in an extremum
    out: dict[str, Array] = {}
    for tensor in case.graph.tensors:
        if tensor.role not in ("input", "weight", "state"):
            continue
        if tensor.kind == "int":
            low, high = tensor.range or (-9, 9)
            if side < 0 and low < 0:
                high = min(high, -1)
            if side > 0 and high > 0:
                low = max(low, 1)
            out[tensor.name] = rng.integers(low, high + 1, tensor.dims)
            continue
        values = rng.standard_normal(tensor.dims) + 4 * side
        if case.seed % 2:  # many equal values
            values = np.round(values * 2) / 2
        values = values * (0.3 if tensor.role == "weight" else 1.0)
        out[tensor.name] = np.asarray(values, np.float32)
    return out


def quantised(values: Array) -> tuple[Array, Array]:
    """Blocks of 32 along the last axis as integers and float16 scales (rounded as ggml does)."""
    blocks = values.reshape(*values.shape[:-1], -1, 32)
    scales = (np.abs(blocks).max(-1) / 127).astype(np.float16)
    steps = blocks / np.maximum(scales.astype(np.float64), 1e-30)[..., None]
    return np.clip(np.round(steps), -127, 127).astype(np.int8), scales


def fill(
    memory: Memory, program: Program, tables: Mapping[str, TableLayout], given: Mapping[str, Array]
) -> dict[str, Array]:
    """Set every table the program has; gives the values of all as stored."""
    known = {t.name for t in program.tensors}

    def put(name: str, values: Array, plane: str = "") -> None:
        if name in known:
            memory.set(name, values, plane)

    held: dict[str, Array] = {}
    for name, values in given.items():
        table = tables[name]
        s, r, c = table.view.shape
        if table.layout == "q8_0":
            ints, scales = quantised(values)
            held[name] = (ints * scales.astype(np.float64)[..., None]).reshape(values.shape)
            put(name, ints.reshape(s, c, r).transpose(0, 2, 1), "values")
            put(name, scales.reshape(s, c, r // 32).transpose(0, 2, 1), "scales")
            continue
        stored = round_to(table.prec, values) if values.dtype.kind == "f" else values
        held[name] = stored.astype(np.float64) if values.dtype.kind == "f" else values
        put(name, stored.reshape(table.view.shape))
    return held


def ran(
    case: Drawn,
    program: Program,
    target: Target,
    executor: str = "lockstep",
    fills: tuple[tuple[str, int], ...] = (),
    given: Mapping[str, Array] | None = None,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """(results and final state by name, in dims; the tables that went in, as stored).

    `fills`: of the lowering; `given`: tables in place of those drawn by the seed.
    """
    memory = Memory.of(program, target)
    held = fill(memory, program, layouts(case, target), {**tables_of(case), **(given or {})})
    constants = evaluate(replace(case.graph, nodes=()), held)
    for name, number in fills:
        memory.set(name, constants[number].value.reshape(program.tensor(name).shape))
    run_program(program, target, memory, executor, case.seed)
    dims = {n: case.graph.tensors[t].dims for n, t in case.graph.results}
    dims |= {n: case.graph.tensors[t].dims for n, _, t in case.graph.state}
    names = {n: t for n, t, _ in program.results} | {n: n for n, _ in program.state}
    return {n: memory.get(t).reshape(dims[n]) for n, t in names.items()}, held


def outcome(
    case: Drawn,
    program: Program,
    target: Target,
    executor: str = "lockstep",
    fills: tuple[tuple[str, int], ...] = (),
    given: Mapping[str, Array] | None = None,
) -> tuple[dict[str, Array], dict[int, Held]]:
    """(results and final state by name, in dims; the evaluation of every graph tensor), as of `ran`."""
    got, held = ran(case, program, target, executor, fills, given)
    return got, evaluate(case.graph, held, EXACTNESS[target.matrix.operand])


def differences(case: Drawn, got: Mapping[str, Array], want: Mapping[int, Held]) -> list[str]:
    """What lies further from the evaluation than its bound allows; integers differ at all."""
    numbers = dict(case.graph.results) | {n: t for n, _, t in case.graph.state}
    found: list[str] = []
    for name, values in got.items():
        held = want[numbers[name]]
        with np.errstate(all="ignore"):
            off = np.abs(values.astype(np.float64) - held.value)
        bad = ~(off <= SLACK * held.error + (2.0**-126 if values.dtype.kind != "i" else 0))
        bad &= ~((values == held.value) | (np.isnan(values.astype(np.float64)) & np.isnan(held.value)))
        if bad.any():
            where = tuple(int(v[0]) for v in np.nonzero(bad))
            found.append(
                f"{name}{list(where)} is {values[where]}, {held.value[where]} ± {held.error[where]:.3g} is meant "
                f"({int(bad.sum())} of {bad.size} differ)"
            )
    return found
