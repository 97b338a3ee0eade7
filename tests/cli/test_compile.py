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

ROOT = Path(__file__).parents[2]

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


def test_a_refusal_is_told_though_the_rest_does_not_tell_the_shape_of_a_stored_weight(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "deployments", tmp_path / "deployments")
    shutil.copytree(TARGETS, tmp_path / "targets")
    source = tmp_path / "deployments/llama/layers.lg"
    text = source.read_text(encoding="utf-8")
    squares = "        Set total to total + item i of row * item i of row."
    assert squares in text
    source.write_text(text.replace(squares, squares.replace("total + ", "total * 0.5 + ")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["compile", "tiny:decode"]) == 1
    said = capsys.readouterr().err
    assert re.match(r"error: lowered \d+ of \d+ statements; a program is made whole or not at all\n", said)
    assert "deployments/llama/layers.lg:12:" in said


# ---------------------------------------------------------------- --explain

ROWS = """## To native exp (x: Float) -> Float

## Main
Let scale be a new Seq of Float.
Repeat for i from 1 to n:
    Push 1.0 / i to scale.
Let twin be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of scale to twin.
Let first be item 1 of table.
Let best be 1.
Let top be item 1 of first.
Repeat for i from 2 to n:
    If item i of first > top:
        Set top to item i of first.
        Set best to i.
Let y be a new Seq of Float.
Repeat for p from 1 to 3:
    Let total be 0.0.
    Repeat for i from 1 to n:
        Set total to total + item i of (item p of table) * item i of twin.
    Push exp(total) to y.
Let unused be 2 copies of item 1 of y.
Let a be item 7 of scale.
"""

TOLD = """lowered 6 of 7 statements
views 1, fills 1, duplicates 0, unread 1
sections 3
  argmax: 1
  map: 1
  product: 1
rows.lg:
  16:9 best
    arg-max [] over [4], Float: argmax
      [] = [i + 1 at max, first of table[0, i] over i]
      from 1 to 4
  22:5 y
    product [3] over [4], Float: product
      [i] = exp(sum[table[i, j] * scale[j] over j])
      joined: total (21:9)
no statements of their own:
  6:5 scale: a constant
  9:5 twin: a view of scale
  23:1 unused: needed by nothing that is read
operands:
  table: input, 3 x 4 Float, f32, dense, Unknown
  scale: fill, 4 Float, 1.0 / (i + 1)
dense tables: table
links: none, on one chip
"""


def test_what_every_statement_became_is_told_in_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.lg").write_text(ROWS)
    shutil.copytree(TARGETS, tmp_path / "targets")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    given = ("compile", "rows.lg", "--target", "reference", "--size", "n=4", "--results", "y,best,a", "--explain")
    assert main(given) == 1
    said = capsys.readouterr().out
    assert said.partition("section 0: ")[0] == TOLD
    assert main([*given, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(row["family"], row["float"], row["sections"]) for row in found["explained"]] == [
        ("arg-max", True, ["argmax"]), ("product", True, ["product"]),
    ]  # fmt: skip
    assert found["explained"][0]["range"] == [1, 4]
    assert {o["name"]: o["fill"] for o in found["operands"]} == {"table": "Unknown", "scale": "1.0 / (i + 1)"}
    assert (found["dense"], found["links"]) == (["table"], [])


def test_a_model_is_explained_in_lines_that_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    folders = ("--artifacts", str(tmp_path), "--store", str(tmp_path / "store"))
    capsys.readouterr()
    assert main(["compile", "tiny:decode", "--explain", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 120
    told = [line.strip() for line in lines]
    for part in (
        "11:5 v_cache, in 2 instances",
        "scatter [48] over [96], Float: product",
        "[instance, position[0], i] = sum[wv[instance, i, j] * h[j] over j]",
        "[i] = max[scores[i, j] where j <= position[0] over j]",
        "[i] = embed[token[0], i]",
        "token: input, 1 Int, 0 to 100, i8, flat, Unknown",
        "dense tables: k_cache, v_cache",
        "links: none, on one chip",
    ):
        assert part in told, part
    families = {line.split(" [")[0] for line in told if "], Float" in line}
    assert families == {"gather", "map", "product", "reduction", "pieces", "scatter"}


@pytest.mark.parametrize("text", ["", "## Main\n", "## To f (x: Float) -> Float:\n    Return x.\n"])
def test_a_source_without_a_statement_is_told_as_one(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "none.lg"
    source.write_text(text)
    capsys.readouterr()
    assert main(["compile", str(source), "--target", "reference"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err == f"error: {source} has no statement to compile; write what it computes under `## Main`\n"
