"""The real model as published, held to golden figures: tokens and logits, the cache, the stream after each layer.

Needs `artifacts/llama-reference` (`doit golden` builds it first). Tokens come from the commands, run in a fresh process
on a copy of the published folder, with neither store, sources nor model file at hand.

Tolerances. The target computes in float32 what the figures were computed in float64 from the same weights: sums of up
to 1536 products, 30 layers deep. Float32 arithmetic in other orders stays within 5e-4 on every logit; a wrong row, a
dropped block of 32 or a stale cache row is off by more than 0.1.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from spatial.build.artifacts import Artifact, open_artifact
from spatial.cli.generate import Roles, Session
from spatial.simulate.host import Host
from spatial.simulate.memory import Memory

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data/smollm2"
PUBLISHED = ROOT / "artifacts/llama-reference"
GOLDEN: dict[str, Any] = json.loads((DATA / "golden.json").read_bytes())
PROMPTS = {prompt["name"]: prompt for prompt in GOLDEN["prompts"]}

LOGITS = 0.002
STREAM = 2e-5  # of the largest element of a layer, up to 554; 1e-6 is measured
CACHE = 0.0005

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the published folder, where nothing else is."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(PUBLISHED, folder / "llama")
    return folder


ALONE = """
import os, sys
shut = [os.path.realpath(p) + os.sep for p in sys.argv.pop(1).split(os.pathsep)]
def guard(event, args):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(args[0], (str, bytes, os.PathLike)):
        path = os.path.realpath(os.fsdecode(args[0])) + os.sep
        if any(path.startswith(s) for s in shut):
            raise SystemExit(f"out of reach: {path}")
sys.addaudithook(guard)
from spatial.cli import main
sys.exit(main(sys.argv[1:]))
"""
SHUT = os.pathsep.join(str(ROOT / part) for part in ("artifacts", "deployments", "targets"))
"""Store, model file, sources and targets: a process that opens anything there ends."""


def spatial(folder: Path, *arguments: str) -> str:
    """What a command prints in a fresh process that reaches the copied folder alone; it must succeed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    command = [sys.executable, "-c", ALONE, SHUT, *arguments]
    run = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", PROMPTS)
def test_tokens(alone: Path, name: str) -> None:
    prompt = PROMPTS[name]
    expected = prompt["B"]["continuation"]
    ids = ",".join(map(str, prompt["prompt_ids"]))
    told = json.loads(spatial(alone, "generate", "llama", "--ids", ids, "-n", "24", "--no-stop", "--json"))
    assert told["ids"] == expected
    forced = ",".join(map(str, expected))
    spatial(alone, "generate", "llama", "--ids", ids, "--force", forced, "--logits", "logits.npz", "--json")
    logits = np.load(alone / "logits.npz")["logits"]
    assert logits.shape == (25, 49152)
    for step, row in (("prompt_last", 0), ("step_1", 1), ("step_8", 8), ("step_24", 24)):
        held_to(logits[row].astype(np.float64), prompt["B"]["logits"][step])


def held_to(found: npt.NDArray[np.float64], figures: dict[str, Any]) -> None:
    for kind in ("top", "probe"):
        got = found[figures[f"{kind}_ids"]]
        np.testing.assert_allclose(got, figures[f"{kind}_logits"], rtol=0, atol=LOGITS)
    best = found.max()
    assert abs(best + np.log(np.exp(found - best).sum()) - figures["logsumexp"]) < LOGITS
    assert abs(found.mean() - figures["mean"]) < LOGITS
    assert abs(np.sqrt((found**2).sum()) - figures["l2"]) < LOGITS * np.sqrt(found.size)


def test_what_is_out_of_reach_is_out_of_reach(alone: Path) -> None:
    command = [sys.executable, "-c", ALONE, SHUT, "check", str(PUBLISHED)]
    run = subprocess.run(command, cwd=alone, capture_output=True, text=True, timeout=600)
    assert run.returncode == 1
    assert "out of reach" in run.stderr


def test_the_checker_accepts_what_is_published(alone: Path) -> None:
    told = json.loads(spatial(alone, "check", "llama", "--json"))
    assert told["answer"] == "accept"
    assert told["certified"]


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return open_artifact(PUBLISHED)


def test_the_stream_after_each_layer_and_the_cache(artifact: Artifact) -> None:
    bundle = artifact.whole()
    host = Host(bundle, artifact.pages)
    trace = np.load(DATA / "trace_capital.npz")
    ids = trace["prompt_ids"]
    program = bundle.entry("prefill").program
    (block,) = program.blocks
    streams = {name for name, _ in block.carried[-1]} - {name for name, _ in program.state}
    (stream,) = streams
    seen: list[npt.NDArray[Any]] = []

    def observe(phase: int, memory: Memory) -> None:
        past = phase - block.first + 1
        if past > 0 and past % block.length == 0 and past <= block.length * block.trip:
            seen.append(memory.get(stream)[0, len(ids) - 1].copy())

    tokens = np.zeros(32, np.int64)
    tokens[: len(ids)] = ids
    given = {"tokens": tokens, "start": np.array([0]), "count": np.array([len(ids)])}
    host.run("prefill", given, observe=observe)
    hidden = trace["B_hidden"]
    scale = np.abs(hidden).max(axis=1, keepdims=True)
    np.testing.assert_allclose(np.stack(seen) / scale, hidden / scale, rtol=0, atol=STREAM)
    for name, rows in (("k_cache", trace["B_k_rows"]), ("v_cache", trace["B_v_rows"])):
        cache = host.state(name)
        np.testing.assert_allclose(cache[:, : len(ids)], rows.reshape(30, len(ids), 192), rtol=0, atol=CACHE)
        assert not cache[:, len(ids) :].any(), "rows past the prompt are not stored"


def test_chunks_of_a_long_prompt_leave_what_one_by_one_leaves(artifact: Artifact) -> None:
    ids = PROMPTS["lighthouse"]["prompt_ids"][:40]
    roles = Roles.of(artifact.whole())
    chunked, single = (Session(Host(artifact.whole(), artifact.pages), roles) for _ in range(2))
    together = chunked.read(ids)
    for token in ids:
        alone = single.feed(token)
    np.testing.assert_allclose(together, alone, rtol=0, atol=LOGITS)
