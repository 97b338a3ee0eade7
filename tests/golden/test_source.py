"""The sources of the real model, run at full size in the compiled mode of the interpreter, beside what was built.

Needs `artifacts/llama-reference` (`doit golden:source` builds it first) and the extra `compiled`. The interpreter
computes in float64 from the same weights as the artifact: every matrix through Q8_0.

Tolerances. Against a float64 witness that shares no code, sums of up to 1536 products through 30 layers leave some
1e-13 of logits around 20; 1e-9 is far below any mistake. Against the artifact, which computes in float32, the bounds
are those of `test_golden`: float32 in another order stays within 5e-4 on every logit, and a wrong row is off by more
than 0.1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reference_llama import SMOLLM2, Llama, gguf_weights

from spatial.build.artifacts import Artifact, open_artifact
from spatial.build.deployment import Deployment
from spatial.build.spec import load_deployment
from spatial.logos.compiled import Compiled
from spatial.logos.parser import parse_files
from spatial.simulate.host import Host

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "artifacts/llama-reference"
GOLDEN: dict[str, Any] = json.loads((ROOT / "tests/data/smollm2/golden.json").read_bytes())
CAPITAL: dict[str, Any] = next(p for p in GOLDEN["prompts"] if p["name"] == "capital")

WITNESS = 1e-9
LOGITS = 0.002
CACHE = 0.0005
STEPS = 3
"""Tokens fed after the prompt."""

pytestmark = pytest.mark.model

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return load_deployment(ROOT / "deployments/llama-reference.yaml")


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return open_artifact(PUBLISHED)


@pytest.fixture(scope="module")
def weights(model_file: Path) -> dict[str, Array]:
    return {name: values.astype(np.float64) for name, values in gguf_weights(model_file, "B").items()}


@dataclass
class Source:
    """A program of the deployment, from its sources, and the caches its calls leave."""

    compiled: Compiled
    sizes: dict[str, int]
    weights: dict[str, Array]
    state: dict[str, Array]

    def run(self, **given: list[int]) -> Array:
        tables = {name: np.array(values) for name, values in given.items()}
        left = self.compiled.run({**self.sizes, **self.weights, **self.state, **tables}).variables
        self.state.update({name: np.asarray(left[name]) for name in self.state})
        return np.asarray(left["logits"])


def source(deployment: Deployment, program: str, weights: dict[str, Array]) -> Source:
    paths = deployment.programs[program].sources
    parsed = parse_files([(path.name, path.read_text(encoding="utf-8")) for path in paths])
    state = {name: np.zeros(table.shape) for name, table in deployment.tables.items() if table.state}
    return Source(Compiled(parsed), dict(deployment.sizes), weights, state)


def caches_held(source: Source, host: Host, rows: int) -> None:
    for name, values in source.state.items():
        np.testing.assert_allclose(host.state(name), values, rtol=0, atol=CACHE)
        assert values[:, :rows].any() and not values[:, rows:].any()


def logits_held(simulated: Array, computed: Array, witness: Array) -> None:
    np.testing.assert_allclose(computed, witness, rtol=0, atol=WITNESS)
    np.testing.assert_allclose(simulated.reshape(-1), computed, rtol=0, atol=LOGITS)
    second, first = np.sort(computed)[-2:]
    if first - second > 2 * LOGITS:
        assert simulated.argmax() == computed.argmax()


def test_decode(deployment: Deployment, artifact: Artifact, weights: dict[str, Array]) -> None:
    """The prompt and its continuation, token by token: logits, the token chosen, and every row of the caches."""
    decode, host, witness = (
        source(deployment, "decode", weights),
        Host(artifact.whole(), artifact.pages),
        Llama(weights, SMOLLM2),
    )
    ids: list[int] = CAPITAL["prompt_ids"]
    continuation: list[int] = CAPITAL["B"]["continuation"]
    for place, token in enumerate([*ids, *continuation[:STEPS]]):
        computed = decode.run(token=[token], position=[place])
        simulated = host.run("decode", {"token": np.array([token]), "position": np.array([place])}).results["logits"]
        logits_held(simulated, computed, witness.decode(token))
        caches_held(decode, host, place + 1)
        if place >= len(ids) - 1:
            assert int(computed.argmax()) == continuation[place - len(ids) + 1]


def test_prefill(deployment: Deployment, artifact: Artifact, weights: dict[str, Array]) -> None:
    """The prompt as one chunk."""
    prefill, host, witness = (
        source(deployment, "prefill", weights),
        Host(artifact.whole(), artifact.pages),
        Llama(weights, SMOLLM2),
    )
    ids: list[int] = CAPITAL["prompt_ids"]
    tokens = ids + [0] * (deployment.sizes["rows"] - len(ids))
    computed = prefill.run(tokens=tokens, start=[0], count=[len(ids)])
    given = {"tokens": np.array(tokens), "start": np.array([0]), "count": np.array([len(ids)])}
    logits_held(host.run("prefill", given).results["logits"], computed, witness.prefill(ids))
    caches_held(prefill, host, len(ids))
    assert int(computed.argmax()) == CAPITAL["B"]["continuation"][0]
