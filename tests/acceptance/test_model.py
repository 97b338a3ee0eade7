"""The real model as published: what one call leaves in its cache, and every kind of stage broken in a decode step.

Beside `tests/golden`, which holds tokens, logits and the stream to golden figures. Needs `artifacts/llama-reference`;
run by `doit golden`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from acceptance.breaking import BREAKS, Break, used_by
from acceptance.deployed import ROOT, Published, moved_away

from spatial.ir.bundle import Bundle
from spatial.simulate.host import Host

pytestmark = pytest.mark.model

Array = npt.NDArray[Any]
DATA = ROOT / "tests/data/smollm2"
NAME = "llama-reference"

LOGITS = 0.002
"""The bound of golden logits; a break changes them by at least ten times as much."""

CACHE = 5e-4
"""Of keys and values up to 20: float32 sums of 576 products, up to 30 layers deep; 4e-5 is measured."""

STEP = [fault for fault in BREAKS if fault.name != "a mask is ignored"]
"""What can go wrong in a decode step, which stores under no mask."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return moved_away(ROOT / "artifacts", tmp_path_factory.mktemp("model"), NAME)


@pytest.fixture(scope="module")
def prompt() -> dict[str, Any]:
    golden = json.loads((DATA / "golden.json").read_bytes())
    return next(prompt for prompt in golden["prompts"] if prompt["name"] == "capital")


def chunk(ids: list[int], rows: int = 32) -> dict[str, Array]:
    """The inputs of a prefill of a whole short prompt."""
    tokens = np.zeros(rows, np.int64)
    tokens[: len(ids)] = ids
    return {"tokens": tokens, "start": np.array([0]), "count": np.array([len(ids)])}


def test_cache_rows_of_a_run(published: Published, prompt: dict[str, Any], tmp_path: Path) -> None:
    ids = prompt["prompt_ids"]
    np.savez(tmp_path / "in.npz", **chunk(ids))
    published.spatial("run", NAME, "prefill", "--in", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    trace = np.load(DATA / "trace_capital.npz")
    with np.load(tmp_path / "out.npz") as found:
        for name, rows in (("k_cache", trace["B_k_rows"]), ("v_cache", trace["B_v_rows"])):
            cache = found[name]
            np.testing.assert_allclose(cache[:, : len(ids)], rows.reshape(30, len(ids), 192), rtol=0, atol=CACHE)
            assert not cache[:, len(ids) :].any(), "rows past the prompt are not stored"
        np.testing.assert_allclose(found["logits"], trace["B_logits"], rtol=0, atol=LOGITS)


@pytest.fixture(scope="module")
def step(published: Published, prompt: dict[str, Any]) -> tuple[Bundle, Callable[[], Array]]:
    """The deployment, and its first decode step after the prompt: logits, from the same caches every time."""
    artifact = published.open(NAME)
    host = Host(artifact.whole(), artifact.pages)
    ids = prompt["prompt_ids"]
    host.run("prefill", chunk(ids))
    caches = {name: host.state(name) for name in ("k_cache", "v_cache")}
    given = {"token": np.array(prompt["B"]["continuation"][:1]), "position": np.array([len(ids)])}

    def run() -> Array:
        for name, cache in caches.items():
            host.set_state(name, cache)
        return host.run("decode", given).results["logits"]

    return artifact.whole(), run


def distance(logits: Array, prompt: dict[str, Any]) -> float:
    """How far logits after the first token are from the golden figures, at most."""
    figures = prompt["B"]["logits"]["step_1"]
    off = [np.abs(logits[figures[f"{kind}_ids"]] - figures[f"{kind}_logits"]).max() for kind in ("top", "probe")]
    return float(max(off))


@pytest.mark.parametrize("fault", STEP, ids=lambda fault: fault.name)
def test_breaking_a_kind_of_stage_breaks_a_decode_step(
    step: tuple[Bundle, Callable[[], Array]], prompt: dict[str, Any], monkeypatch: pytest.MonkeyPatch, fault: Break
) -> None:
    bundle, run = step
    assert used_by(bundle.entry("decode").program, fault)
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        fault.patch(patch)
        broken = run()
    assert not distance(broken, prompt) <= 10 * LOGITS  # no number is wrong as well


def test_the_step_that_is_broken_above_is_right(
    step: tuple[Bundle, Callable[[], Array]], prompt: dict[str, Any]
) -> None:
    bundle, run = step
    assert distance(run(), prompt) <= LOGITS
    kinds = {stage.kind for body in bundle.entry("decode").program.bodies for stage in body.stages}
    assert kinds == {"load", "store", "matmul", "generic", "permute", "multicast"}
