"""A build killed at any write loses nothing that was finished, and ends the same when it is run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from repository import Repository

KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from repository import Repository
from spatial.build import store

left, place = int(sys.argv[3]), store.place_file

def place_or_die(file, path):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    place(file, path)

store.place_file = place_or_die
Repository(Path(sys.argv[2])).build()
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], str]:
    """What a build from nothing makes, and its digest."""
    return Repository.make(tmp_path_factory.mktemp("clean") / "repository").build()


@pytest.mark.parametrize("writes", [0, 3, 8, 15, 22, 30])
def test_a_killed_build_goes_on_where_it_was(tmp_path: Path, clean: tuple[set[str], str], writes: int) -> None:
    repository = Repository.make(tmp_path / "repository")
    tests = str(Path(__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", KILLED, tests, str(repository.root), str(writes)], check=False)
    assert run.returncode == 9
    assert not (repository.root / "artifacts/small/index.json").exists()
    actions = list((repository.root / "artifacts/store/actions").rglob("*/*"))
    before = {path: path.stat().st_mtime_ns for path in actions if path.is_file()}
    made, digest = repository.build()
    assert digest == clean[1]
    assert made <= clean[0]
    assert {path: path.stat().st_mtime_ns for path in before} == before, "what was recorded is not made again"
    if writes > 10:
        assert made < clean[0]
