"""Artifacts that no compiler made: programs written by hand as text are checked, and run, without one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance.deployed import NOWHERE, ROOT
from check.mutants import mutants

from spatial.ir import wire
from spatial.ir.text import parse_program, print_program

COMPILER = ("logos", "lift", "graph", "select", "plan", "passes", "lowering")
"""The floors that make programs; none may be there when one is judged."""

PROBE = """
import sys
from spatial.cli import main
code = main(sys.argv[2:])
floors = {name.split(".")[1] for name in sys.modules if name.startswith("spatial.")}
print("loaded:", *sorted(floors & set(sys.argv[1].split(","))), file=sys.stderr)
sys.exit(code)
"""


def checked(*arguments: str | Path, cwd: Path, code: int) -> str:
    """What `spatial check` prints in a fresh process, which must not have loaded any of the compiler."""
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join(COMPILER), "check", *map(str, arguments)],
        cwd=cwd, env={"PATH": "", **NOWHERE, "SPATIAL_TARGETS": str(ROOT / "targets")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.stderr.splitlines()[-1] == "loaded:", ended.stderr
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("name", ["attention", "multicast", "quantised", "layers"])
def test_a_text_is_accepted(tmp_path: Path, name: str) -> None:
    told = json.loads(
        checked(ROOT / f"tests/sections/{name}.sec", "--target", "reference", "--json", cwd=tmp_path, code=0)
    )
    assert (told["answer"], told["certified"], told["digest"]) == ("accept", False, None)
    assert told["obligations"]["schedule"] > 0


def test_its_wire_form_is_accepted_with_the_same_counts(tmp_path: Path) -> None:
    text = ROOT / "tests/sections/attention.sec"
    packed = tmp_path / "attention.program"
    packed.write_bytes(wire.pack(parse_program(text.read_text(), "attention.sec")))
    of_text, of_wire = (
        json.loads(checked(path, "--target", "reference", "--json", cwd=tmp_path, code=0)) for path in (text, packed)
    )
    assert of_text == of_wire


def test_an_altered_text_is_rejected_with_place_and_witness(tmp_path: Path) -> None:
    mutant = next(m for m in mutants() if m.obligation == "schedule" and not m.target)
    altered = tmp_path / "altered.sec"
    altered.write_text(print_program(mutant.program()))
    told = json.loads(checked(altered, "--target", "reference", "--json", cwd=tmp_path, code=1))
    assert told["answer"] == "reject"
    (failure, *_) = [f for f in told["failures"] if f["obligation"] == "schedule"]
    assert mutant.place in failure["place"]
    assert failure["witness"]
