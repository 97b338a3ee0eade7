"""`spatial compile`: what it says of a program, whole or refused, and that a refused one leaves nothing behind."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository import TARGETS

from spatial.cli import main

THREE = """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y + item i of x * item i of x.
Let a be 0.0.
Repeat for i from 1 to n:
    Set a to a * 0.5 + item i of x.
Let b be item 9 of z.
Let c be 1.0.
While c < a:
    Set c to c * 2.0.
Let d be a + y.
Repeat for i from 1 to n:
    Show i.
Let e be 0.0.
Repeat for i from 1 to n:
    If item i of x > 1.0:
        Break.
    Set e to e + item i of x.
"""


def test_a_program_of_which_statements_are_refused_earns_one_report_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "three.lg").write_text(THREE)
    given = (
        "compile",
        str(tmp_path / "three.lg"),
        "--target",
        "reference",
        "--size",
        "n=4",
        "--results",
        "y,a,b,c,d,e",
    )
    capsys.readouterr()
    assert main([*given, "-o", str(tmp_path / "three.txt")]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("lowered 2 of 7 statements\n")
    assert "sections 2\n" in said.out
    first, *named, last = said.err.splitlines()
    assert first == "error: lowered 2 of 7 statements; a program is made whole or not at all"
    place = re.escape(str(tmp_path / "three.lg"))
    assert [re.match(f"{place}:(\\d+:\\d+): error: statement (\\d+) ", line).groups() for line in named] == [
        ("7:5", "5"), ("10:1", "8"), ("14:5", "12"), ("18:9", "16"),
    ]  # fmt: skip
    assert "a sum, product, maximum or minimum of terms" in named[0]
    assert last == "error: 1 statement depends on what is missing; `d` (line 12)"
    assert [path.name for path in tmp_path.iterdir()] == ["three.lg"]
    assert main([*given, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["whole"]
    assert [m["line"] for m in found["missing"]] == [7, 10, 14, 18]
    assert [(m["line"], m["kind"]) for m in found["depending"]] == [(12, "depends")]


def test_a_deployment_of_which_statements_are_refused_builds_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(TARGETS, tmp_path / "targets")
    (tmp_path / "deployments").mkdir()
    (tmp_path / "deployments/three.lg").write_text(THREE)
    spec = "schema: 1\ntarget: reference\nsizes: {n: 4}\ntables: {x: {shape: [n], type: Float}}\n"
    spec += "weights: {source: {fill: {seed: 1, scale: 0.5}}, names: {z: z}}\n"
    spec += "programs: {main: {source: three.lg, results: [y, a, b, c, d, e]}}\n"
    (tmp_path / "deployments/three.yaml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["compile", "three:main"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("lowered 2 of 7 statements\n")
    assert said.err.splitlines()[0] == "error: lowered 2 of 7 statements; a program is made whole or not at all"
    command = [sys.executable, "-m", "spatial", "build", "three"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert all(f"three.lg:{line}: error: " in run.stdout + run.stderr for line in ("7:5", "10:1", "14:5", "18:9"))
    assert "lifted 2 of 7 statements" in run.stdout + run.stderr
    assert not (tmp_path / "artifacts/three").exists()
    store = sorted(path.name for path in (tmp_path / "artifacts").rglob("*") if path.is_file())
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "three.lg:7:5: error: " in run.stdout + run.stderr
    assert sorted(path.name for path in (tmp_path / "artifacts").rglob("*") if path.is_file()) == store
