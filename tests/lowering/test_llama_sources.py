"""The shipped Llama sources at small, ragged sizes: lowered whole, accepted, and computing what their graphs say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import Drawn
from running import SMALL, differences, lowered, outcome, tables_of
from support import REFERENCE, TF32

from spatial.check import check_program
from spatial.lift import Facts, Table, lift
from spatial.logos.parser import parse_files
from spatial.lowering import ProgramLowering
from spatial.numerics import Array
from spatial.target import Target

SOURCES = Path(__file__).parents[2] / "deployments" / "llama"
SIZES = {
    "layers": 2,
    "width": 64,
    "heads": 4,
    "groups": 2,
    "head": 16,
    "kv": 32,
    "ffn": 96,
    "vocab": 50,
    "positions": 40,
    "rows": 7,
}
QUANTISED = ("embed", "wq", "wk", "wv", "wo", "wgate", "wup", "wdown")
WEIGHTS = (*QUANTISED, "attn_norm", "ffn_norm", "output_norm")
CACHES = ("k_cache", "v_cache")


def case_of(name: str, q8: bool) -> Drawn:
    s = SIZES
    cache = Table((s["layers"], s["positions"], s["kv"]), "float", None, True)
    tables = {
        "tokens": Table((s["rows"],), "int", (0, s["vocab"] - 1)),
        "start": Table((1,), "int", (0, s["positions"] - s["rows"])),
        "count": Table((1,), "int", (1, s["rows"])),
        "token": Table((1,), "int", (0, s["vocab"] - 1)),
        "position": Table((1,), "int", (0, s["positions"] - 1)),
        "k_cache": cache,
        "v_cache": cache,
    }
    program = parse_files([(f, (SOURCES / f).read_text(encoding="utf-8")) for f in ("layers.lg", f"{name}.lg")])
    found = lift(program, Facts(s, tables, WEIGHTS), ("logits",))
    assert found.graph is not None, found.missing
    return Drawn(found.graph, tuple((w, "q8_0") for w in QUANTISED) if q8 else (), 1)


def run(case: Drawn, result: ProgramLowering, target: Target, **given: Array) -> dict[str, Array]:
    """Results and state, held to the evaluation."""
    got, want = outcome(case, result.into_whole(), target, fills=result.fills, given=given)
    assert differences(case, got, want) == []
    return got


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL), ids=lambda t: t.name)
@pytest.mark.parametrize("q8", (False, True), ids=("f32", "q8_0"))
@pytest.mark.parametrize("name", ("decode", "prefill"))
def test_a_source_lowers_whole_and_computes_its_graph(name: str, q8: bool, target: Target):
    case = case_of(name, q8)
    result = lowered(case, target)
    verdict = check_program(result.into_whole(), target)
    assert verdict.accepted, [str(f) for f in verdict.failures][:5]
    run(case, result, target)


def integers(*values: int) -> Array:
    return np.array(values)


def test_chunks_of_any_size_leave_the_same_caches():
    case = case_of("prefill", True)
    result = lowered(case, REFERENCE)
    tokens = np.random.default_rng(3).integers(0, SIZES["vocab"], 12)

    def after(*counts: int) -> dict[str, Array]:
        held = {name: np.zeros((SIZES["layers"], SIZES["positions"], SIZES["kv"]), np.float32) for name in CACHES}
        start, got = 0, dict[str, Array]()
        for count in counts:
            chunk = np.zeros(SIZES["rows"], np.int64)
            chunk[:count] = tokens[start : start + count]
            got = run(case, result, REFERENCE, tokens=chunk, start=integers(start), count=integers(count), **held)
            held = {name: got[name] for name in CACHES}
            start += count
        return got

    first = after(7, 5)
    for counts in ((5, 7), (1, 6, 5), (4, 4, 4)):
        again = after(*counts)
        for name in (*CACHES, "logits"):
            assert again[name].tobytes() == first[name].tobytes(), (counts, name)


@pytest.mark.parametrize("position", (0, 1, 31, 32, 39))
def test_what_lies_beyond_the_position_does_not_show(position: int):
    case = case_of("decode", False)
    result = lowered(case, REFERENCE)
    clean = {name: tables_of(case)[name] for name in CACHES}
    spoilt = {name: values.copy() for name, values in clean.items()}
    for values in spoilt.values():
        values[:, position:] = np.nan  # the row at the position itself is written before it is read
        values[:, position + 1 :: 2] = np.inf
    given = {"position": integers(position)}
    a, b = (run(case, result, REFERENCE, **given, **held) for held in (clean, spoilt))
    assert np.isfinite(a["logits"]).all()
    assert a["logits"].tobytes() == b["logits"].tobytes()
    for name in CACHES:
        assert a[name][:, : position + 1].tobytes() == b[name][:, : position + 1].tobytes()


def test_decode_continues_what_prefill_began():
    prefill, decode = case_of("prefill", True), case_of("decode", True)
    first, then = lowered(prefill, REFERENCE), lowered(decode, REFERENCE)
    tokens = np.random.default_rng(5).integers(0, SIZES["vocab"], 7)
    empty = {n: np.zeros((SIZES["layers"], SIZES["positions"], SIZES["kv"]), np.float32) for n in CACHES}
    weights = {n: v for n, v in tables_of(prefill).items() if n in WEIGHTS}
    whole = run(prefill, first, REFERENCE, tokens=tokens, start=integers(0), count=integers(7), **empty, **weights)
    held = dict(empty)
    for place, token in enumerate(tokens):
        got = run(decode, then, REFERENCE, token=integers(token), position=integers(place), **held, **weights)
        held = {n: got[n] for n in CACHES}
    for name in CACHES:
        assert np.abs(held[name] - whole[name]).max() < 1e-4
    assert np.abs(got["logits"] - whole["logits"]).max() < 1e-3
