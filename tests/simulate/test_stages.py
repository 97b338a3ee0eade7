"""Stage kinds one by one, on bodies written by hand: products, multicast, scatter, indices, masks; their mutants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sections.cases import CASES
from simulate.bodies import add, at, forms, product, q8_prefill, q8_product
from simulate.test_agreement import program_of
from simulate.test_corpus import loaded, outcome
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.ir.body import (
    Body,
    Const,
    Index,
    InPort,
    Items,
    Operand,
    OutPort,
    Page,
    Queue,
    Rect,
    Stage,
)
from spatial.simulate import lockstep
from spatial.simulate import product as products
from spatial.simulate.access import Reader
from spatial.simulate.memory import Memory
from spatial.simulate.pagewise import Pagewise
from spatial.simulate.run import run_program
from spatial.target import Target

Tables = dict[str, np.ndarray[Any, Any]]


def run(body: Body, tables: Tables, target: Target = REFERENCE, executor: Any = "lockstep", seed: int = 0) -> Tables:
    program = program_of(body)
    memory = loaded(program, tables, target)
    run_program(program, target, memory, executor, seed)
    return {o.name: memory.get(o.name) for o in body.operands if o.mode == "out"}


def both(body: Body, tables: Tables, target: Target = REFERENCE) -> Tables:
    """What the stream executor gives, the page executor agreeing in some interleavings."""
    found = run(body, tables, target)
    for seed in range(4):
        other = run(body, tables, target, Pagewise(target), seed)
        assert all(other[name].tobytes() == found[name].tobytes() for name in found)
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70), st.sampled_from((1, 8, 32)), st.integers(1, 3))
def test_products_of_any_shape(m: int, k: int, n: int, rows: int, sites: int):
    rng = np.random.default_rng(m + 100 * k)
    m = min(m, 2 * rows)
    a, b = rng.standard_normal((1, m, k)).astype(np.float32), rng.standard_normal((1, k, n)).astype(np.float32)
    body = product(m, k, n, rows, sites)
    found = both(body, {"a": a, "b": b})["out"]
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.astype(np.float64), 1e-4, 1e-4)
    total = np.zeros((m, n), np.float32)
    for i in range(k):
        total = total + a[0, :, i : i + 1] * b[0, i : i + 1, :]
    assert found[0].tobytes() == total.tobytes(), "k ascends over pages"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 70))
def test_integer_products_are_exact(seed: int, k: int, n: int):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-128, 128, (1, 3, k)), rng.integers(-128, 128, (1, k, n))
    assert (both(product(3, k, n, 32, 2, "i8"), {"a": a, "b": b})["out"] == a @ b).all()


@pytest.mark.parametrize("target", (REFERENCE, TF32), ids=lambda t: t.name)
def test_quantised_products_both_ways(target: Target):
    rng = np.random.default_rng(0)
    tables = {
        "x": rng.standard_normal((1, 33, 64)).astype(np.float32),
        "w.values": rng.integers(-127, 128, (1, 64, 70)),
        "w.scales": rng.random((1, 2, 70)).astype(np.float16),
    }
    w = tables["w.values"] * np.repeat(tables["w.scales"].astype(np.float64), 32, axis=1)
    scale = np.abs(tables["x"].astype(np.float64)) @ np.abs(w)
    for body in (q8_product(33, 64, 70, 1, 3), q8_prefill(33, 64, 70, 3)):
        found = run(body, tables, target)["out"]
        assert (np.abs(found - tables["x"] @ w) <= scale * (2**-10 if target is TF32 else 2**-20)).all()
    tables = {n: t[:, :2] if n == "x" else t for n, t in tables.items()}
    both(q8_product(2, 64, 70, 1, 3), tables, target)
    both(q8_prefill(2, 64, 70, 3), tables, target)


def spread(kind: str, sites: int, rows: int) -> Body:
    """One reader at the left of each row of sites hands pages to all of it; each site adds its own number."""
    each = sites if kind == "scatter" else 1
    pages = (each,) if each > 1 else ()
    place = at("x", 0, f"{each}*i1" if kind == "multicast" else f"{each}*i1 + p0", 0)
    return Body(
        (
            Operand("x", "f32", "flat", (1, 3 * each, 8), "in"),
            Operand("y", "f32", "flat", (sites, 3, 8), "out"),
        ),
        (sites, rows),
        Items((sites, 3), (2,), forms("sx", "2*sy + t0")),
        (Queue("q", (1, 8), "f32", each), Queue("r", (1, 8), "f32", 1), Queue("o", (1, 8), "f32", 1)),
        (
            Stage("ld", "load", outs=(OutPort("q", 0, pages),), access=place, on=Rect(0, 0, 1, rows)),
            Stage(
                "hand", kind, (), (InPort("q", 0, pages),), (OutPort("r", 0),),
                on=Rect(0, 0, 1, rows), group=(sites, 1),
            ),
            Stage("g", "generic", (), (InPort("r", 0),), (OutPort("o", 0, (), add(Page(0), Const(0.5, "float"))),)),
            Stage("st", "store", (), (InPort("o", 0),), access=at("y", "i0", "i1", 0)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ("multicast", "scatter"))
def test_pages_handed_to_every_member(kind: str):
    body = spread(kind, 3, 2)
    x = np.random.default_rng(1).standard_normal(body.operands[0].extent).astype(np.float32)
    found = both(body, {"x": x})["y"]
    rows = np.broadcast_to(x, (3, 3, 8)) if kind == "multicast" else x.reshape(3, 3, 8).transpose(1, 0, 2)
    assert (found == rows + np.float32(0.5)).all()


def row_copy(scale: int = 1, extent: int = 6, low: bool = False) -> Body:
    """Stores rows of x into y at a run-time row, but for the rows a mask switches off."""
    return Body(
        (
            Operand("at", "i32", "flat", (1, 1, 1), "in"),
            Operand("keep", "i32", "flat", (1, 4, 1), "in"),
            Operand("x", "f32", "flat", (1, 4, 8), "in"),
            Operand("y", "f32", "flat", (1, extent, 8), "out"),
        ),
        (1, 1),
        Items((1,), (1,), forms("t0")),
        (
            Queue("i", (1, 1), "i32", 1), Queue("m", (4, 1), "i32", 1), Queue("q", (4, 8), "f32", 1),
        ),
        (
            Stage("li", "load", outs=(OutPort("i", 0),), access=at("at", 0, 0, 0)),
            Stage("lm", "load", outs=(OutPort("m", 0),), access=at("keep", 0, 0, 0)),
            Stage("lx", "load", outs=(OutPort("q", 0),), access=at("x", 0, 0, 0)),
            Stage(
                "st", "store", (), (InPort("i", 0), InPort("m", 0), InPort("q", 0)),
                access=at("y", 0, 0, 0, index=Index(0, 1, scale), mask=1),
            ),
        ),
    )  # fmt: skip


def test_a_run_time_row_and_a_row_mask():
    x = np.arange(32, dtype=np.float32).reshape(1, 4, 8)
    tables = {"at": np.array([[[3]]]), "keep": np.array([1, 0, 1, 1]).reshape(1, 4, 1), "x": x}
    found = both(row_copy(), tables)["y"][0]
    assert (found[3] == x[0, 0]).all()
    assert (found[5] == x[0, 2]).all(), "the last row overhangs and is dropped"
    assert np.isnan(found[[0, 1, 2, 4]]).all(), "nothing else is written"
    twice = both(row_copy(2), {**tables, "at": np.array([[[1]]])})["y"][0]
    assert (twice[2] == x[0, 0]).all()
    for bad in (6, -1):
        for executor in ("lockstep", "pagewise"):
            with pytest.raises(Refused, match=f"run-time index of {bad}; its table has 0 to 5"):
                run(row_copy(), {**tables, "at": np.array([[[bad]]])}, executor=executor)


def test_bindings_that_do_not_fit_their_operands_are_refused():
    body = product(32, 32, 32, 32, 1)
    program = program_of(body)
    tables = {"a": np.zeros((1, 32, 32)), "b": np.zeros((1, 32, 32))}
    call = program.phases[0][0]
    for wrong, match in (
        (replace(call.binds[0], extent=(1, 16, 32)), "operand a has extent"),
        (replace(call.binds[0], origin=(0, 32, 0)), "leaves a"),
        (replace(call.binds[0], origin=(1, 0, 0)), "leaves a"),
    ):
        changed = replace(program, phases=((replace(call, binds=(wrong, *call.binds[1:])),),))
        for executor in ("lockstep", "pagewise"):
            with pytest.raises(Refused, match=match):
                run_program(changed, REFERENCE, loaded(changed, tables, REFERENCE), executor)


def corpus() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for case in CASES:
        program = case.program()
        memory = loaded(program, case.inputs(0), REFERENCE)
        try:
            run_program(program, REFERENCE, memory)
        except Refused as refused:
            found[case.name] = str(refused)
        else:
            found[case.name] = {name: t.tobytes() for name, t in outcome(program, memory).items()}
    return found


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "load": lambda patch: patch.setattr(Reader, "load", _zeros(Reader.load)),
    "store": lambda patch: patch.setattr(Reader, "store", lambda *_: None),
    "matmul": lambda patch: patch.setattr(products, "fold", _zeros(products.fold)),
    "generic": lambda patch: patch.setattr(lockstep, "evaluate", _zeros(lockstep.evaluate)),
    "permute": lambda patch: patch.setattr(lockstep, "permuted", lambda pages, perm: pages),
    "multicast": lambda patch: patch.setattr(
        lockstep._StagePlan,
        "_spread",
        _zeros(lockstep._StagePlan._spread),  # pyright: ignore[reportPrivateUsage]
    ),
}


def _zeros(fn: Callable[..., Any]) -> Callable[..., Any]:
    def broken(*args: Any, **more: Any) -> Any:
        return np.zeros_like(fn(*args, **more))

    return broken


@pytest.mark.parametrize("kind", MUTANTS)
def test_breaking_a_stage_kind_changes_every_case_that_uses_it(kind: str, monkeypatch: pytest.MonkeyPatch):
    sound = corpus()
    MUTANTS[kind](monkeypatch)
    broken = corpus()
    using = {c.name for c in CASES if any(s.kind == kind for b in c.program().bodies for s in b.stages)}
    assert using, f"the corpus has no {kind}"
    assert {name for name in sound if sound[name] != broken[name]} >= using


def test_memory_is_only_written_where_a_store_says():
    body = product(40, 32, 40, 32, 1)
    program = program_of(body)
    memory = Memory.of(program, REFERENCE)
    tables = {"a": np.ones((1, 40, 32)), "b": np.ones((1, 32, 40))}
    for name, values in tables.items():
        memory.set(name, values)
    before = memory.share("out").copy()
    run_program(program, REFERENCE, memory)
    changed = np.count_nonzero(memory.share("out").view(np.uint32) != before.view(np.uint32))
    assert changed == 40 * 40


def test_a_state_narrower_than_the_accumulator_must_hold_every_step():
    """Both executors look at the state after each page product, not at the end alone."""
    body = product(1, 64, 1, 32, 1, "i32", "i32")
    a, b = np.zeros((1, 1, 64), np.int64), np.zeros((1, 64, 1), np.int64)
    a[0, 0, [0, 32]], b[0, [0, 32], 0] = 1 << 16, (1 << 15, -(1 << 15))
    for executor in ("lockstep", "pagewise"):
        with pytest.raises(Refused, match="2147483648 does not fit i32"):
            run(body, {"a": a, "b": b}, executor=executor)


def test_weights_mapped_from_a_file_serve_as_they_are(tmp_path: Path):
    body = q8_product(1, 64, 70, 1, 3)
    program = program_of(body)
    rng = np.random.default_rng(0)
    tables = {
        "x": rng.standard_normal((1, 1, 64)).astype(np.float32),
        "w.values": rng.integers(-127, 128, (1, 64, 70)),
        "w.scales": rng.random((1, 2, 70)).astype(np.float16),
    }
    memory = loaded(program, tables, REFERENCE)
    run_program(program, REFERENCE, memory)
    (tmp_path / "w").write_bytes(memory.to_bytes("w"))
    other = loaded(program, {"x": tables["x"]}, REFERENCE)
    other.from_bytes("w", np.memmap(tmp_path / "w", np.uint8, "r"))
    run_program(program, REFERENCE, other)
    assert other.get("out").tobytes() == memory.get("out").tobytes()
