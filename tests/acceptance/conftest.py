"""The small deployments, built once by the commands a user would give, then taken away from where they were built."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from acceptance.deployed import Published, build, make_repository, moved_away


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """`tiny` and `integers`; the repository, sources and store they came from are gone."""
    folder: Path = tmp_path_factory.mktemp("acceptance")
    repository = make_repository(folder / "repository")
    build(repository, "tiny", "integers")
    found = moved_away(repository / "artifacts", folder / "published", "tiny", "integers")
    shutil.rmtree(repository)
    return found
