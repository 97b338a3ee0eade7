"""Where builds happen: the folders, the store, the executor, and what was looked up so far.

Place: under `pipeline` and `tasks`. Knows actions, and nothing of what any of them makes. Imports nothing heavy.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spatial.build.actions import Action, perform
from spatial.build.canonical import decode
from spatial.build.executor import Executor, Inline, Pool
from spatial.build.stat_cache import StatCache
from spatial.build.store import Store

DEPLOYMENTS, ARTIFACTS, STORE, TARGETS = (
    f"SPATIAL_{name}" for name in ("DEPLOYMENTS", "ARTIFACTS", "STORE", "TARGETS")
)
"""Environment variables that put folders elsewhere than in the current one."""


@dataclass(frozen=True)
class Folders:
    """Where specs and sources, chips, published deployments, the store and fetched models lie."""

    deployments: Path
    targets: Path
    artifacts: Path
    store: Path

    @property
    def models(self) -> Path:
        """Where fetched model files are kept."""
        return self.artifacts / "models"

    @staticmethod
    def of(root: Path, environ: Mapping[str, str] = os.environ) -> Folders:
        """The folders of a repository at `root`, but for those that `environ` puts elsewhere.

        Targets that a repository does not have itself are those that come with this package's own checkout.
        """
        artifacts = Path(environ.get(ARTIFACTS) or root / "artifacts")
        targets = Path(environ.get(TARGETS) or root / "targets")
        if not targets.is_dir() and OWN_TARGETS.is_dir():
            targets = OWN_TARGETS
        return Folders(
            Path(environ.get(DEPLOYMENTS) or root / "deployments"),
            targets,
            artifacts,
            Path(environ.get(STORE) or artifacts / "store"),
        )


OWN_TARGETS = Path(__file__).resolve().parents[2] / "targets"


class Workshop:
    """The store and the means to add to it. Safe to share between threads."""

    def __init__(self, folders: Folders, executor: Executor | None = None) -> None:
        self.folders = folders
        self.digests = StatCache(folders.store / "digests")
        self.store = Store(folders.store, self.digests)
        self._executor = executor
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, str]] = {}
        self._values: dict[str, Any] = {}

    @property
    def executor(self) -> Executor:
        """Where work runs: in this thread, or, as soon as a second thread asks, in processes of their own."""
        with self._lock:
            if self._executor is None:
                if threading.current_thread() is threading.main_thread():
                    return Inline()
                self._executor = Pool(os.cpu_count() or 1)
            return self._executor

    def look(self, action: Action) -> dict[str, str] | None:
        """The outputs of `action` by name, if the store has them whole."""
        name = action.key.digest
        if name not in self._known:
            found = self.store.lookup(action.key)
            if found is None:
                return None
            self._known[name] = found
        return self._known[name]

    def make(self, action: Action) -> dict[str, str]:
        """The outputs of `action` by name: looked up, or made by the executor. Raises what the step raises."""
        found = self.look(action)
        if found is None:
            found = self.executor.run(perform, self.store.root, action)
            self._known[action.key.digest] = found
        return found

    def value(self, digest: str) -> Any:
        """The canonical value that is object `digest` of the store, read once; not to be changed. Raises Damaged."""
        if digest not in self._values:
            self._values[digest] = decode(self.store.get(digest), "an object of the store")
        return self._values[digest]

    def close(self) -> None:
        """End the processes, and keep the digests learnt."""
        if self._executor is not None:
            self._executor.close()
        if self.folders.store.is_dir():
            self.digests.save()
