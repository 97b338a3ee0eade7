"""The real model on the Wormhole target, every logit held to a float64 reference that is itself held to golden figures.

That chip rounds operands of products to TF32 (10 bits of fraction) and keeps everything else in float32. Rounding all
operands of this model so moves no logit by more than about 0.07; a bound looser than 0.2 would hide dropped rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reference_llama import SMOLLM2, Llama, gguf_weights

from spatial.build.artifacts import Artifact, open_artifact
from spatial.cli.generate import Roles, Session
from spatial.simulate.host import Host

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "artifacts/llama"
GOLDEN: dict[str, Any] = json.loads((ROOT / "tests/data/smollm2/golden.json").read_bytes())
PROMPTS = {prompt["name"]: prompt for prompt in GOLDEN["prompts"]}

LOGITS = 0.2
COSINE = 0.9999
MARGIN = 0.4
"""Where the reference's best logit leads by more, the chip must choose it too."""

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return open_artifact(PUBLISHED)


@pytest.fixture(scope="module")
def weights(model_file: Path) -> dict[str, npt.NDArray[np.float32]]:
    return gguf_weights(model_file, "B")


@pytest.mark.parametrize("name", PROMPTS)
def test_logits(artifact: Artifact, weights: dict[str, npt.NDArray[np.float32]], name: str) -> None:
    ids, forced = PROMPTS[name]["prompt_ids"], PROMPTS[name]["B"]["continuation"]
    session = Session(Host(artifact.whole(), artifact.pages), Roles.of(artifact.whole()))
    found = np.stack([session.read(ids), *(session.feed(token) for token in forced)]).astype(np.float64)
    expected = Llama(weights, SMOLLM2).logits([*ids, *forced])[len(ids) - 1 :]
    assert found.shape == expected.shape == (25, 49152)
    np.testing.assert_allclose(found, expected, rtol=0, atol=LOGITS)
    cosines = (found * expected).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() >= COSINE
    second, first = np.sort(expected, axis=1)[:, -2:].T
    clear = first - second > MARGIN
    assert clear.any()
    np.testing.assert_array_equal(found.argmax(axis=1)[clear], expected.argmax(axis=1)[clear])
    # It is the other chip's arithmetic: the same figures to the last bit would mean that nothing was rounded.
    assert np.abs(found - expected).max() > 1e-3
