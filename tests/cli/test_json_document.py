"""What `--json` prints is what `docs/deployments.md` lists, field by field, and of the type it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "deployments.md").read_text(encoding="utf-8")

CHIP = str(ROOT / "targets" / "wormhole-n150.yaml")

MODEL = """schema: 1
extends: tiny.yaml
sizes: {layers: 1, width: 32, heads: 2, groups: 1, head: 16, kv: 16, ffn: 32, vocab: 20, positions: 12, rows: 4}
"""
"""A model of the shape of the real one, as small as it gets."""

RECURRENCE = """## Main
Let y be 0.0.
Repeat for i from 1 to n:
    Set y to y * 0.5 + item i of x.
"""

CLASH = """program {
  tensor x: input f32 flat [1, 1, 64]
  tensor y: result f32 flat [1, 1, 64]
  body copy persistent {
    operand a: in f32 flat [1, 1, 64]
    operand y: out f32 flat [1, 1, 64]
    rect 2x1
    items [2] trips [1] at (sx)
    queue qa: 1x32 f32 cap 1
    load load_a { at a[0, 0, 32*i0] push qa @0 }
    store store_y { pop qa @0 at y[0, 0, 0] }
    engine mover0 { load_a @-1 store_y @-1 }
  }
  phase { call copy at (0, 0) { a = x@0  y = y@1 } }
  result y = y@1
}
"""
"""Both sites store the same half of the result."""


def fields(command: str) -> dict[str, str]:
    """The fields the page lists for a command, with their types."""
    section = re.search(rf"### spatial\.{command}/1\n(.*?)(?=\n### |\Z)", DOCUMENT, re.DOTALL)
    assert section
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", section[1], re.MULTILINE))


def spatial(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """What a command prints as JSON, run in `folder`."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SPATIAL_")}
    run = subprocess.run(
        [sys.executable, "-m", "spatial", *arguments, "--json"],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == code, run.stdout + run.stderr
    assert run.stdout.count("\n") == 1
    return json.loads(run.stdout)


def held(command: str, found: Mapping[str, Any], optional: tuple[str, ...] = ()) -> None:
    """Hold a printed object to the page: the same fields, each of its type."""
    listed = fields(command)
    assert next(iter(found)) == "schema"
    assert found["schema"] == f"spatial.{command}/1"
    assert {name for name in listed if not re.search(r"\[\]|\*", name)} - set(optional) <= set(found) <= set(listed)
    for path, value in reached(found, listed):
        assert of_type(value, listed[path].strip()), f"{path} is {value!r}, and not of type {listed[path]}"


def reached(found: Mapping[str, Any], listed: Mapping[str, str], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every listed path with a value that stands there; a record with another set of fields fails."""
    for name, value in found.items():
        here = f"{path}{name}"
        yield here, value
        inner = {f[len(here) :] for f in listed if f.startswith((f"{here}[].", f"{here}.*."))}
        records = value if isinstance(value, list) else value.values() if isinstance(value, dict) and inner else ()
        for record in records if inner else ():
            mark = "[]." if isinstance(value, list) else ".*."
            direct = {f.removeprefix(mark) for f in inner}
            assert set(record) == {f for f in direct if not re.search(r"\[\]|\*", f)}
            yield from reached(cast("dict[str, Any]", record), listed, f"{here}{mark}")


def of_type(value: Any, name: str) -> bool:
    """Whether `value` is of the type the page names."""
    if name.endswith("?"):
        return value is None or of_type(value, name[:-1])
    if name.endswith("[]"):
        return isinstance(value, list) and all(of_type(item, name[:-2]) for item in cast("list[Any]", value))
    if name.startswith("{"):
        return isinstance(value, dict) and all(of_type(v, name[1:-1]) for v in cast("dict[str, Any]", value).values())
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    kinds = {"text": str, "bool": bool, "integer": int, "record": dict, "list": list}
    return isinstance(value, kinds[name]) and not (name == "integer" and isinstance(value, bool))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a model in it, built; what building printed is beside it."""
    root = tmp_path_factory.mktemp("json")
    shutil.copytree(ROOT / "deployments" / "llama", root / "deployments" / "llama")
    for name in ("llama.yaml", "tiny.yaml"):
        shutil.copy(ROOT / "deployments" / name, root / "deployments" / name)
    (root / "deployments" / "mini.yaml").write_text(MODEL)
    (root / "built.json").write_text(json.dumps(spatial(root, "build", "mini")))
    return root


def test_build(built: Path) -> None:
    found = json.loads((built / "built.json").read_text())
    held("build", found)
    assert found["code"] == 0
    assert list(found["deployments"]) == ["mini"]


def test_compile(built: Path) -> None:
    found = spatial(built, "compile", "mini:decode")
    held("compile", found, optional=(*EXPLAINED, *TRACED))
    assert found["whole"]
    assert found["lowered"] == found["statements"]
    kinds = next(line for line in DOCUMENT.splitlines() if line.startswith("| `kinds`"))
    assert set(found["kinds"]) <= set(re.findall(r"`(\w+)`", kinds))


EXPLAINED = ("explained", "recorded", "operands", "dense", "links")
TRACED = ("trace",)


def test_compile_explained(built: Path) -> None:
    found = spatial(built, "compile", "mini:decode", "--explain")
    held("compile", found, optional=TRACED)
    families = next(line for line in DOCUMENT.splitlines() if line.startswith("| `explained[].family`"))
    assert {row["family"] for row in found["explained"]} <= set(re.findall(r"`([\w-]+)`", families))


def test_compile_traced(built: Path) -> None:
    found = spatial(built, "compile", "mini:decode", "--trace-passes")
    held("compile", found, optional=EXPLAINED)
    assert {row["body"] for row in found["trace"]} == set(range(found["distinct"]))


def test_compile_refused(tmp_path: Path) -> None:
    (tmp_path / "sum.lg").write_text(RECURRENCE)
    found = spatial(tmp_path, "compile", "sum.lg", "--target", "reference", "--size", "n=8", code=1)
    held("compile", found, optional=(*EXPLAINED, *TRACED))
    assert not found["whole"]
    assert [(m["file"], m["line"], m["binder"]) for m in found["missing"]] == [("sum.lg", 4, "y")]


def test_check(built: Path) -> None:
    found = spatial(built, "check", "artifacts/mini")
    held("check", found)
    assert found["answer"] == "accept"
    assert found["certified"]
    assert found["digest"] == json.loads((built / "built.json").read_text())["deployments"]["mini"]


def test_check_rejected(tmp_path: Path) -> None:
    (tmp_path / "clash.txt").write_text(CLASH)
    found = spatial(tmp_path, "check", "clash.txt", "--target", "reference", code=1)
    held("check", found)
    assert found["answer"] == "reject"
    assert "store" in {failure["obligation"] for failure in found["failures"]}


def test_run(built: Path) -> None:
    np.savez(built / "in.npz", token=np.array([3]), position=np.array([0]))
    found = spatial(built, "run", "artifacts/mini", "decode", "--in", "in.npz", "--out", "out.npz")
    held("run", found)
    assert found["results"]["logits"]["shape"] == [20]
    with np.load(built / "out.npz") as out:
        assert set(out.files) == {*found["results"], *found["state"]}


def test_generate(built: Path) -> None:
    found = spatial(built, "generate", "artifacts/mini", "--ids", "1,2,3,4,5", "-n", "3")
    held("generate", found, optional=("top",))
    assert len(found["ids"]) == found["fed"] + 1 == 3
    more = spatial(built, "generate", "artifacts/mini", "--ids", "1,2,3,4,5", "--force", "7", "--top", "2")
    held("generate", more)
    assert [len(step) for step in more["top"]] == [2, 2]


def test_time(built: Path) -> None:
    found = spatial(built, "time", "artifacts/mini")
    held("time", found)
    assert [p["name"] for p in found["programs"]] == ["decode", "prefill"]
    assert all(p["milliseconds"] == pytest.approx(p["cycles"] / found["clock"] * 1e3) for p in found["programs"])
    (one,) = spatial(built, "time", "artifacts/mini", "decode")["programs"]
    assert one == found["programs"][0]
    environ = {**os.environ, "PYTHONHASHSEED": "1234"}
    command = [sys.executable, "-m", "spatial", "time", "artifacts/mini", "--json"]
    again = subprocess.run(command, cwd=built, env=environ, capture_output=True, text=True, timeout=240, check=True)
    assert json.loads(again.stdout) == found


OF_SOURCE = ("sections",)
OF_LEDGER = ("entered", "measurements", "beyond", "errors", "fit")


def test_calibrate(tmp_path: Path) -> None:
    (tmp_path / "sum.lg").write_text(RECURRENCE.replace("y * 0.5", "y"))
    found = spatial(tmp_path, "calibrate", "sum.lg", "--target", CHIP, "--size", "n=900")
    held("calibrate", found, optional=OF_LEDGER)
    assert [section["kinds"] for section in found["sections"]] == [["reduction"]]
    rows = "add,64x64,f32,best,4 us\nadd,128x64,f32,best,5 us\nadd,64x64,f32,multicast,4 us\n"
    (tmp_path / "times.csv").write_text(f"op,shape,precision,plan,time\n{rows}")
    ledger = ("calibrate", "--target", CHIP, "--ledger", "ledger.yaml")
    held("calibrate", spatial(tmp_path, *ledger, "--enter", "times.csv"), optional=(*OF_SOURCE, *OF_LEDGER[1:]))
    fitted = spatial(tmp_path, *ledger, "--fit", "timing.section_cycles")
    held("calibrate", fitted, optional=OF_SOURCE)
    assert (len(fitted["measurements"]), len(fitted["beyond"])) == (2, 1)
    assert set(fitted["errors"]) == {"count", "median", "percentile95", "most"}
    assert set(fitted["fit"]["figures"][0]) == {"figure", "old", "new", "told", "kind"}


def test_every_command_with_json_is_on_the_page() -> None:
    listed = set(re.findall(r"^### spatial\.(\w+)/1$", DOCUMENT, re.MULTILINE))
    printing = {p.stem for p in (ROOT / "spatial" / "cli").glob("*.py") if f'print_json("{p.stem}"' in p.read_text()}
    assert listed == printing
