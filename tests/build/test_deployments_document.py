"""`docs/deployments.md` against the code: the keys of a spec, its example built and run, what is published."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spatial.build import image, layout, workshop
from spatial.build.artifacts import open_artifact
from spatial.build.deploying import Publication
from spatial.build.executor import Inline
from spatial.build.models import VARIABLE
from spatial.build.pipeline import Pipeline
from spatial.build.spec import FIELDS, load_deployment
from spatial.build.workshop import Folders, Workshop
from spatial.simulate.host import Host

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "deployments.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[str]:
    """The first cells of the table that follows a heading."""
    text = re.sub(r"```.*?```", "", DOCUMENT, flags=re.DOTALL)
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#+ )", text, re.MULTILINE | re.DOTALL)
    assert section
    return re.findall(r"^\| `([^|]+)` \|", section[1], re.MULTILINE)


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deployments" / "mine").mkdir(parents=True)
    (tmp_path / "deployments" / "mine.yaml").write_text(block("yaml"))
    (tmp_path / "deployments" / "mine" / "scores.lg").write_text(block("logos"))
    return tmp_path


def test_every_key_of_a_spec_is_listed() -> None:
    assert set(rows("The spec")) == set(FIELDS)
    assert rows("`tables`") == ["shape", "type", "range", "state", "precision"]
    assert rows("`programs`") == ["source", "results", "numerics"]


def test_environment_variables_and_media_types_are_listed() -> None:
    variables = {workshop.DEPLOYMENTS, workshop.ARTIFACTS, workshop.STORE, workshop.TARGETS, VARIABLE}
    assert {row.split("`")[0] for row in rows("Environment")} == variables
    types = {value for name, value in vars(image).items() if name.endswith("_TYPE")}
    types |= {layout.ARTIFACT_TYPE, layout.MANIFEST_TYPE, layout.PROVENANCE_TYPE}
    assert set(re.findall(r"`(application/[^`]+)`", DOCUMENT)) == types


def test_the_example_builds_and_runs(folder: Path) -> None:
    folders = replace(Folders.of(folder, {}), targets=ROOT / "targets")
    deployment = load_deployment(folder / "deployments" / "mine.yaml", folders.targets)
    digest = Publication(Pipeline(Workshop(folders, Inline()), deployment)).publish()
    artifact = open_artifact(folders.artifacts / "mine")
    assert artifact.digest == digest
    host = Host(artifact.whole(), artifact.pages)
    first = host.run("classify", {"x": np.linspace(-1, 1, 64)})
    assert first.lines == (f"class {int(first.results['scores'].argmax()) + 1}",)
    host.run("classify", {"x": np.linspace(-1, 1, 64)})
    assert (host.state("sums") == first.results["scores"] * 2).all()


def test_the_dodo_file_of_two_lines_has_every_kind_of_task(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    from spatial.build import tasks

    listed = {row.partition(":")[0] for row in rows("Tasks")[:9]}
    assert {f"task_{kind}" for kind in listed} == set(tasks.__all__) - {"config"}
    assert block("python").splitlines() == ["from spatial.build.tasks import *", "DOIT_CONFIG = config()"]
