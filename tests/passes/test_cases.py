"""Cases of passes, as text: a target, a body before, and the body after or the error.

`<pass>/<name>.case` holds lines of comment, `target NAME`, the body, a line `---`, and what is expected. A case whose
expectation is missing or another fails; with SPATIAL_UPDATE_CASES=1 expectations are written instead, to be reviewed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from running import SMALL
from support import REFERENCE, TF32

from spatial.errors import SpatialError
from spatial.ir.text import parse_body, print_body
from spatial.ir.validate import validate
from spatial.passes import PASS_ORDER

HERE = Path(__file__).parent
TINY = replace(SMALL, name="tiny", scratch=12_288)
NARROW = replace(REFERENCE, name="narrow", vector=replace(REFERENCE.vector, registers=2))
POOR = replace(REFERENCE, name="poor", descriptors=4, locks=4, counter_bits=2)
SINGLE = replace(REFERENCE, name="single", columns=1, rows=1, scratch=262_144)
TARGETS = {t.name: t for t in (REFERENCE, TF32, SMALL, TINY, NARROW, POOR, SINGLE)}
PASSES = dict(PASS_ORDER)
UPDATE = os.environ.get("SPATIAL_UPDATE_CASES") == "1"
FILES = sorted(HERE.glob("*/*.case"))


@dataclass(frozen=True)
class Case:
    head: str
    target: str
    before: str
    after: str


def read(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    match = re.fullmatch(r"((?:#.*\n)*)target (\w+)\n(.*?)(?:\n---\n(.*))?", text, re.DOTALL)
    assert match, f"{path.name} has another form"
    head, target, before, after = match.groups(default="")
    return Case(head, target, before.strip() + "\n", after.strip() + "\n" if after else "")


def outcome(case: Case, name: str) -> str:
    target = TARGETS[case.target]
    body = parse_body(case.before)
    assert validate(body, target) == []
    try:
        made = PASSES[name](body, target)
    except SpatialError as error:
        return "".join(f"{problem}\n" for problem in error.problems)
    assert validate(made, target) == []
    assert PASSES[name](made, target) == made, "the pass changes its own output"
    return print_body(made).strip() + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_case_comes_out_as_it_says(path: Path):
    case = read(path)
    assert case.before == print_body(parse_body(case.before)).strip() + "\n", "the body is not in printed form"
    made = outcome(case, path.parent.name)
    if UPDATE:
        path.write_text(f"{case.head}target {case.target}\n{case.before}---\n{made}", encoding="utf-8")
        return
    assert case.after, f"{path.name} expects nothing yet"
    assert made == case.after


def test_every_pass_has_cases():
    assert {p.parent.name for p in FILES} == set(PASSES)


def test_a_case_that_expects_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(f"{__name__}.UPDATE", False)
    path = tmp_path / "fuse_generic" / "bare.case"
    path.parent.mkdir()
    path.write_text(f"target reference\n{read(FILES[0]).before}", encoding="utf-8")
    with pytest.raises(AssertionError, match="expects nothing yet"):
        test_a_case_comes_out_as_it_says(path)
