"""`spatial compile --trace-passes`: what each pass changed, alike on every run; texts in a folder; no clock in them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from repository import TARGETS

from spatial.cli import main
from spatial.ir.body import Body
from spatial.ir.program import Program
from spatial.ir.text import parse_body, parse_program, print_body
from spatial.passes import PASS_ORDER
from spatial.target import Target

ORDER = [name for name, _ in PASS_ORDER]

ROWS = """## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let total be 0.0.
    Repeat for j from 1 to k:
        Set total to total + item j of (item i of x) * item j of w.
    Push max(0.0, total * total) to y.
Let z be a new Seq of Float.
Repeat for i from 1 to n:
    Push item i of y * 2.0 to z.
Repeat for i from 1 to n:
    Push item i of y + 1.0 to z.
"""
GIVEN = ("compile", "rows.lg", "--target", "reference", "--size", "n=320,k=96", "--results", "z")


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.lg").write_text(ROWS)
    shutil.copytree(TARGETS, tmp_path / "targets")
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and error of the command."""
    capsys.readouterr()
    assert main([*GIVEN, *arguments]) == code
    found = capsys.readouterr()
    return found.out, found.err


def sections(out: str) -> list[list[str]]:
    """The lines of each traced section."""
    return [part.splitlines() for part in re.split(r"^(?=section \d+: (?:body|no body) )", out, flags=re.MULTILINE)[1:]]


def test_every_section_is_told_with_every_pass_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--trace-passes")
    first, *halves = sections(out)
    assert first[:2] == [
        "section 0: body 0 of the program, for rows.lg:7:5 y",
        "  template: 6 stages (load 2, store 1, matmul 1, generic 2), 5 queues, 10 items",
    ]
    places = [f"section {n}: body {n} of the program, for rows.lg:12:5 z, on 8 x 4 of the sites" for n in (1, 2)]
    assert [lines[0] for lines in halves] == places
    for lines in (first, *halves):
        assert [line.split(":")[0].strip() for line in lines if re.match(r"  \w+: ", line)] == ["template", *ORDER]
        assert lines[-1] == "  verify: verified"
    assert "  fuse_generic: stages 6 -> 5 (generic 2 -> 1), queues 5 -> 4" in first
    assert "  fuse_generic: nothing changed" in halves[0]
    (placed,) = [line for line in first if line.startswith("  place: placed")]
    assert re.fullmatch(r"  place: placed, sites 1 -> (\d+), turns 10 -> \d+", placed)
    assert max(map(len, out.splitlines())) <= 120


def test_a_trace_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys)
    assert not sections(out) and not err
    assert sections(said(capsys, "--trace-dir", "asked")[0])


def test_time_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--trace-passes")
    head, *rows = err.splitlines()
    assert re.fullmatch(r"passes over 3 sections: \d+\.\d ms", head)
    assert [re.fullmatch(r"  (\w+) +\d+\.\d ms", row)[1] for row in rows] == ORDER
    assert " ms" not in out


def test_lines_records_and_texts_are_the_same_on_every_run(tmp_path: Path) -> None:
    def run(seed: str, *more: str) -> str:
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "spatial", *GIVEN, "--trace-passes", *more]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=True).stdout

    assert run("1", "--trace-dir", "one") == run("2", "--trace-dir", "two")
    assert run("3", "--json") == run("4", "--json")
    files = [{str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*.txt")} for top in map(Path, ("one", "two"))]
    assert files[0] == files[1] != {}


def test_a_program_is_the_same_whether_it_is_traced_or_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said(capsys, "-o", "plain.msgpack")
    said(capsys, "--trace-passes", "--trace-dir", "traced", "-o", "watched.msgpack")
    assert (tmp_path / "plain.msgpack").read_bytes() == (tmp_path / "watched.msgpack").read_bytes()


# ---------------------------------------------------------------- --json


def test_records_follow_each_section_from_its_template(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--trace-passes", "--json", "-o", "rows.txt")
    trace = json.loads(out)["trace"]
    program: Program = parse_program(Path("rows.txt").read_text())
    assert [(t["section"], t["body"], t["sites"], t["refused"]) for t in trace] == [
        (0, 0, [8, 8], None), (1, 1, [8, 4], None), (2, 2, [8, 4], None),
    ]  # fmt: skip
    assert [[(s["file"], s["line"], s["binder"]) for s in t["statements"]] for t in trace] == [
        [("rows.lg", 7, "y")], [("rows.lg", 12, "z")], [("rows.lg", 12, "z")],
    ]  # fmt: skip
    for row in trace:
        assert [made["name"] for made in row["passes"]] == ["template", *ORDER]
        before: dict[str, Any] = row["passes"][0]
        for made in row["passes"][1:]:
            named = made["added"] + made["removed"] + made["altered"]
            counts = {n: v for n, v in made.items() if n not in ("name", "changed", "added", "removed", "altered")}
            same = counts == {n: before[n] for n in counts} and not named
            assert made["changed"] is not same
            before = made
        body = program.bodies[row["body"]]
        assert (before["stages"], before["queues"]) == (len(body.stages), len(body.queues))
        assert sum(before["kinds"].values()) == before["stages"]
        assert before["pages"] == sum(q.cap for q in body.queues)
        assert (before["sites"], before["phase"]) == (body.rect[0] * body.rect[1], "verified")


# ---------------------------------------------------------------- --trace-dir


def test_the_text_after_every_pass_that_changed_something_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--trace-dir", "deep/trace", "-o", "rows.txt")
    program = parse_program(Path("rows.txt").read_text())
    folders = sorted(Path("deep/trace").iterdir())
    assert [f.name for f in folders] == ["section-000", "section-001", "section-002"]
    for folder, told, body in zip(folders, sections(out), program.bodies, strict=True):
        same = [line.split(":")[0].strip() for line in told if line.endswith(": nothing changed")]
        names = ["0-template", *(f"{n}-{name}" for n, name in enumerate(ORDER, 1) if name not in same)]
        files = sorted(folder.iterdir())
        assert [f.name for f in files] == [f"{name}.txt" for name in names]
        texts = [f.read_text() for f in files]
        assert all(a != b for a, b in pairwise(texts))
        assert all(print_body(parse_body(text)) == text for text in texts)
        assert parse_body(texts[0]).phase == "template"
        assert parse_body(texts[-1]) == body


def test_a_trace_is_not_mixed_with_other_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    said(capsys, "--trace-dir", "empty")
    before = sorted(Path("empty").rglob("*"))
    for name in ("empty", "rows.lg"):
        out, err = said(capsys, "--trace-dir", name, code=2)
        assert not out
        assert err == f"error: {name} is no empty folder; a trace is not mixed with other files; name a new folder\n"
    assert sorted(Path("empty").rglob("*")) == before


# ---------------------------------------------------------------- what goes wrong


def test_a_section_that_is_refused_is_traced_as_far_as_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("targets/reference.yaml")
    scratch = r"(scratch: \{value: )\d+"
    text, count = re.subn(scratch, r"\g<1>1024", path.read_text())
    assert count == 1
    path.write_text(text)
    out, err = said(capsys, "--trace-dir", "refused", code=1)
    first, *_ = sections(out)
    assert first[0] == "section 0: no body of a program"
    names = [line.split(" ")[2].rstrip(":") for line in first if re.match(r"  \w", line)]
    assert names == ["template", "fuse_generic", "tile"]
    assert "  tile refuses it: no plan of this section fits: scratch needs " in "\n".join(first)
    assert "no plan of this section fits" in err
    assert [p.name for p in sorted(Path("refused/section-000").iterdir())] == ["0-template.txt", "1-fuse_generic.txt"]
    found = json.loads(said(capsys, "--trace-passes", "--json", code=1)[0])
    assert not found["whole"]
    first = found["trace"][0]
    assert (first["body"], first["refused"], first["passes"][-1]["name"]) == (None, "tile", "fuse_generic")


def test_a_pass_that_breaks_its_contract_is_told_with_what_it_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(body: Body, target: Target) -> Body:
        made = dict(PASS_ORDER)["size_buffers"](body, target)
        return replace(made, queues=tuple(replace(q, cap=0) for q in made.queues))

    order = tuple((n, forgetful if n == "size_buffers" else run) for n, run in PASS_ORDER)
    monkeypatch.setattr("spatial.passes.trace.PASS_ORDER", order)
    out, err = said(capsys, "--trace-dir", "broken", code=3)
    assert not out
    (lines,) = sections(err)
    assert "  size_buffers: sized" in lines
    assert any(line.startswith("error: pass size_buffers broke its contract") for line in lines)
    last = sorted(Path("broken/section-000").iterdir())[-1]
    assert last.name == "5-size_buffers.txt"
    assert {q.cap for q in parse_body(last.read_text()).queues} == {0}


def test_a_pass_that_fails_leaves_what_it_was_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(body: Body, target: Target) -> Body:
        raise KeyError(body.phase)

    order = tuple((n, failing if n == "persist" else run) for n, run in PASS_ORDER)
    monkeypatch.setattr("spatial.passes.trace.PASS_ORDER", order)
    _, err = said(capsys, "--trace-dir", "failed", code=3)
    assert "  synthesize_handshakes: scheduled" in err
    assert err.splitlines()[-1].startswith("error: KeyError: 'scheduled'; this is a fault of this program")
    assert sorted(Path("failed/section-000").iterdir())[-1].name == "6-synthesize_handshakes.txt"


def test_a_section_that_stands_for_several_statements_names_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    twice = "Let {0} be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push item i of x * 2.0 to {0}.\n"
    Path("rows.lg").write_text("## Main\n" + twice.format("a") + twice.replace("of x", "of a").format("z"))
    capsys.readouterr()
    assert main([*GIVEN[:5], "n=64", "--results", "z,a", "--trace-passes"]) == 0
    (lines,) = sections(capsys.readouterr().out)
    assert lines[0] == "section 0: body 0 of the program, for rows.lg:4:5 a and 1 more statement"
