"""The tasks as doit runs them, in a repository of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import Repository

DODO = Path(__file__).parents[2] / "dodo.py"


def doit(root: Path, *arguments: str, code: int = 0) -> str:
    """What doit says, and that it ends with `code`."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SPATIAL_")}
    run = subprocess.run(
        [sys.executable, "-m", "doit", *arguments], cwd=root, env=environ, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == code, run.stdout + run.stderr
    return run.stdout + run.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository.make(tmp_path_factory.mktemp("tasks") / "repository")
    shutil.copy(DODO, repository.root)
    told = doit(repository.root, "deploy:small")
    assert ".  certify:small" in told
    assert "failed" not in told
    return repository


def test_a_second_run_does_nothing(built: Repository) -> None:
    assert "0 done, 10 up to date" in doit(built.root, "deploy:small")


def test_a_lost_database_costs_look_ups_only(built: Repository) -> None:
    for path in (built.root / "artifacts").glob(".doit.db*"):
        path.unlink()
    (built.root / "artifacts/small/index.json").unlink()
    store = sorted(path for path in (built.root / "artifacts/store").rglob("*") if path.is_file())
    times = [path.stat().st_mtime_ns for path in store]
    doit(built.root, "-n", "2", "deploy:small")
    assert [path.stat().st_mtime_ns for path in store] == times
    assert (built.root / "artifacts/small/index.json").is_file()


def test_groups_by_kind_and_by_deployment(built: Repository) -> None:
    listed = doit(built.root, "list", "--all").split()
    assert {"lift", "lift:small", "lift:small:put", "pack:small", "pack:small:w", "deploy", "deploy:small"} <= set(
        listed
    )
    told = doit(built.root, "info", "lower:small", code=1)  # groups always count as to be run
    assert "lower:small:put" in told


def test_a_broken_spec_fails_alone_with_its_places(built: Repository) -> None:
    spec = built.root / "deployments/broken.yaml"
    spec.write_text("schema: 1\ntarget: referense\nprograms: {a: {source: nowhere.lg}}\n")
    try:
        told = doit(built.root, "--continue", "deploy", code=2)  # as doit has it where a group's member fails
        assert "deployments/broken.yaml:2:9: error: no target is called" in told
        assert "deployments/broken.yaml:3:24: error: the source of program a" in told
        assert "deploy:small failed" not in told
        assert "deploy:small" in doit(built.root, "list", "--all")
    finally:
        spec.unlink()


def test_a_mistake_in_a_source_is_told_by_its_path(built: Repository) -> None:
    source = built.source("sum")
    before = source.read_text()
    source.write_text(before.replace("item j of (item r of seen)", "item j of (item r of seem)"))
    try:
        told = doit(built.root, "deploy:small", code=1)
        assert f"deployments/small/{source.name}:8:" in told
        assert "Traceback" not in told
    finally:
        source.write_text(before)


def test_listing_tasks_loads_nothing_heavy(built: Repository) -> None:
    code = (
        "import sys; import dodo\n"
        "for name in dodo.__all__[1:]: list(getattr(dodo, name)())\n"
        "heavy = 'numpy gguf ml_dtypes mpmath spatial.ir spatial.lift spatial.logos spatial.passes'.split()\n"
        "print(*(m for m in heavy if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=built.root, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
