"""With the package registry out of reach the real model cannot be built, and says so; the small one can be built."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from acceptance.deployed import Ended, command, make_repository

from spatial.build.deployment import FileSource
from spatial.build.models import VARIABLE, find
from spatial.build.spec import load_deployment
from spatial.errors import SpecError

SECONDS = 30
"""Within which the failure must be told."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("registry") / "repository")


@pytest.fixture(scope="module")
def source(repository: Path) -> FileSource:
    found = load_deployment(repository / "deployments/llama.yaml", repository / "targets")
    assert not isinstance(found, SpecError)
    assert isinstance(found.weights.source, FileSource)
    return found.weights.source


@pytest.fixture
def unreachable(repository: Path, source: FileSource) -> dict[str, str]:
    """An environment in which nothing answers where pip looks, and nothing was fetched before."""
    if find(source, repository / "artifacts/models", environ={}) is not None:
        pytest.skip("the package that ships the model is installed here")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]  # closed again below: connections to it are refused at once
    return {
        "PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CACHE_DIR": str(repository / "empty"),
        VARIABLE: "",
    }


@pytest.mark.parametrize(
    ("arguments", "code"), [(("doit", "deploy:llama"), 1), (("spatial", "build", "llama"), 4)], ids=["doit", "spatial"]
)
def test_it_is_told_in_time_what_file_is_needed_and_where(
    repository: Path, source: FileSource, unreachable: dict[str, str], arguments: tuple[str, ...], code: int
) -> None:
    began = time.monotonic()
    ended = command(*arguments, cwd=repository, environ=unreachable, limit=2 * SECONDS)
    assert time.monotonic() - began < SECONDS
    assert ended.code == code, ended.out + ended.err
    told = ended.out + ended.err
    assert f"error: the model file {source.files[0]} (sha256 {source.sha256}) cannot be had" in told
    assert f"put it at artifacts/models/{(source.sha256 or '')[:16]}/{source.files[0]}" in told
    assert "a folder named by SPATIAL_MODELS" in told
    assert "doit deploy:tiny" in told
    assert "Traceback" not in told
    assert not (repository / "artifacts/llama").exists()


def test_the_small_model_needs_no_registry(repository: Path, unreachable: dict[str, str]) -> None:
    def run(*arguments: str) -> Ended:
        return command(*arguments, cwd=repository, environ=unreachable)

    assert run("doit", "deploy:tiny").code == 0
    assert run("spatial", "check", "artifacts/tiny").out.startswith("accept\n")
