"""Altered deployments, published anew with every digest right, are rejected by obligation and place.

Each is published twice: with the claims of the sound deployment, bound to the altered one, and with claims made for it.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance.deployed import Published
from acceptance.published_mutants import MUTANTS, Mutant
from acceptance.resealing import kept, regenerated, reseal

from spatial.cli import main


@pytest.mark.parametrize("claims", ["kept", "regenerated"])
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_rejected_by_obligation_and_place(
    published: Published, tmp_path: Path, capsys: pytest.CaptureFixture[str], mutant: Mutant, claims: str
) -> None:
    artifact = published.open(mutant.deployment)
    assert artifact.certificate is not None
    bundle, place = mutant.change(artifact.whole())
    assert bundle != artifact.whole()
    certificate = kept(artifact.certificate, bundle) if claims == "kept" else regenerated(bundle)
    code = main(["check", str(reseal(artifact, bundle, certificate, tmp_path)), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (code, told["answer"]) == (1, "reject")
    found = [(f["obligation"], f["place"]) for f in told["failures"]]
    assert any(name == mutant.obligation and place in where for name, where in found), found
    if claims == "regenerated":
        assert not any(name == "claims" for name, _ in found), "the claims are true of it"
    failure = next(f for f in told["failures"] if f["obligation"] == mutant.obligation and place in f["place"])
    assert failure["witness"]


def test_resealed_without_a_change_it_is_accepted(published: Published, tmp_path: Path) -> None:
    artifact = published.open("tiny")
    assert artifact.certificate is not None
    folder = reseal(artifact, artifact.whole(), artifact.certificate, tmp_path)
    told = published.spatial("check", folder, "--json").json
    assert (told["answer"], told["digest"]) == ("accept", artifact.digest)


def test_a_claim_of_less_than_is_found_is_rejected(published: Published, tmp_path: Path) -> None:
    artifact = published.open("integers")
    assert artifact.certificate is not None
    first, *rest = artifact.certificate.bodies
    lowered = replace(artifact.certificate, bodies=(replace(first, scratch=first.scratch - 1), *rest))
    folder = reseal(artifact, artifact.whole(), lowered, tmp_path)
    told = published.spatial("check", folder, "--json", code=1).json
    assert [(f["obligation"], f["place"]) for f in told["failures"]] == [("claims", "certificate, bodies")]


def test_a_flipped_byte_of_a_weight_is_damage(published: Published, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(published.path("tiny"), folder)
    artifact = published.open("tiny")
    digest = next(p.data for p in artifact.whole().memory if p.tensor == "wq")
    blob = folder / "blobs/sha256" / digest
    blob.chmod(0o644)
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 1
    blob.write_bytes(data)
    for command in (("check", folder), ("generate", folder, "--ids", "1")):
        ended = published.spatial(*command, code=1)
        assert digest in ended.err
        assert "not what its name says" in ended.err
        assert ended.out == ""
