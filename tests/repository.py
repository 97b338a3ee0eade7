"""A small repository of its own for tests of builds: specs, targets, and a record of what was made."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from spatial.build.actions import Action
from spatial.build.deploying import Publication
from spatial.build.deployment import Deployment
from spatial.build.executor import Inline
from spatial.build.pipeline import LIGHT, Pipeline
from spatial.build.spec import load_deployment
from spatial.build.workshop import Folders, Workshop

SMALL = Path(__file__).parent / "build/small"
TARGETS = Path(__file__).parents[1] / "targets"


@dataclass(frozen=True)
class Repository:
    """A repository at `root`, holding the deployment `small`."""

    root: Path

    @staticmethod
    def make(root: Path) -> Repository:
        """A fresh one."""
        shutil.copytree(SMALL, root / "deployments")
        (root / "targets").mkdir()
        shutil.copy(TARGETS / "reference.yaml", root / "targets")
        return Repository(root)

    @property
    def spec(self) -> Path:
        """The spec of `small`."""
        return self.root / "deployments/small.yaml"

    def source(self, program: str) -> Path:
        """The source of a program of `small`."""
        return self.root / f"deployments/small/{program}.lg"

    def folders(self) -> Folders:
        """Where everything lies."""
        return Folders.of(self.root, {})

    def deployment(self, name: str = "small") -> Deployment:
        """A deployment, read."""
        return load_deployment(self.root / f"deployments/{name}.yaml", self.root / "targets")

    def build(self, name: str = "small") -> tuple[set[str], str]:
        """Build and publish; what was made ("lift:put", "agree", …; light steps left out), and the digest."""
        shop = Recorder(self.folders())
        pipeline = Pipeline(shop, self.deployment(name))
        publication = Publication(pipeline)
        made = set(shop.made)
        if not publication.whole():
            made.add("deploy")
        return made, publication.publish()


class Recorder(Workshop):
    """A workshop that notes the actions it had to perform."""

    def __init__(self, folders: Folders) -> None:
        super().__init__(folders, Inline())
        self.made: list[str] = []

    def make(self, action: Action) -> dict[str, str]:
        """As a workshop does, noted where it was not found."""
        if self.look(action) is None and action.kind not in LIGHT:
            self.made.append(_name(action))
        return super().make(action)


def _name(action: Action) -> str:
    """The kind, and for steps of one program or weight which one."""
    match action.kind:
        case "lift":
            labels = action.params["sources"]
            assert isinstance(labels, list)
            return f"lift:{Path(labels[0][0]).stem}"
        case "lower":
            paths = action.aside["paths"]
            assert isinstance(paths, dict)
            return f"lower:{Path(next(iter(paths))).stem}"
        case "pack":
            return f"pack:{action.aside['table']}"
        case kind:
            return kind
