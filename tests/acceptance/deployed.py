"""A repository built in a folder of its own, its deployments moved away from it, and commands in fresh processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spatial.build.artifacts import Artifact, open_artifact

ROOT = Path(__file__).parents[2]

NOWHERE = {f"SPATIAL_{name}": "/nonexistent" for name in ("DEPLOYMENTS", "ARTIFACTS", "STORE", "TARGETS", "MODELS")}
"""An environment in which no command finds a spec, a source, a store or a model file."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object it printed."""
        return json.loads(self.out)


def command(*arguments: str | Path, cwd: Path, environ: Mapping[str, str], limit: float = 300) -> Ended:
    """Run `python -m …` in a fresh process; it must end within `limit` seconds."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    ended = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=cwd, env=inherited | dict(environ), capture_output=True, text=True, timeout=limit, check=False,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def make_repository(root: Path) -> Path:
    """A repository at `root` with the specs, sources and chips of this one, and nothing that was ever built."""
    root.mkdir(parents=True)
    for folder in ("deployments", "targets"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / "dodo.py", root)
    return root


def build(root: Path, *names: str) -> None:
    """Build deployments of the repository at `root`, as a user would."""
    ended = command("spatial", "build", *names, cwd=root, environ={})
    assert ended.code == 0, ended.out + ended.err


@dataclass(frozen=True)
class Published:
    """Published deployments, alone in a folder."""

    folder: Path

    def path(self, name: str) -> Path:
        """The folder of a deployment."""
        return self.folder / name

    def open(self, name: str) -> Artifact:
        """A deployment, read."""
        return open_artifact(self.path(name))

    def spatial(self, *arguments: str | Path, code: int = 0) -> Ended:
        """`spatial …` in a fresh process that can reach nothing but the published folders."""
        ended = command("spatial", *arguments, cwd=self.folder, environ=NOWHERE)
        assert ended.code == code, ended.out + ended.err
        assert "Traceback" not in ended.err
        return ended


def moved_away(artifacts: Path, folder: Path, *names: str) -> Published:
    """Copies of published deployments in another folder."""
    for name in names:
        shutil.copytree(artifacts / name, folder / name)
    return Published(folder)
