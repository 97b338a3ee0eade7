"""The commands on a built deployment: what they print, what they write, how they end."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from repository import TARGETS

from spatial.cli import main
from spatial.cli.build import translated

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the deployments that need no file, built by the command."""
    root = tmp_path_factory.mktemp("commands")
    shutil.copytree(ROOT / "deployments", root / "deployments")
    shutil.copytree(TARGETS, root / "targets")
    command = [sys.executable, "-m", "spatial", "build", "tiny", "integers", "--json"]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["schema"] == "spatial.build/1"
    assert told["code"] == 0
    assert all(digest.startswith("sha256:") for digest in told["deployments"].values())
    return root


@pytest.fixture(autouse=True)
def there(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What a command prints on standard output; it must end with `code`."""
    capsys.readouterr()
    assert main(arguments) == code, capsys.readouterr().err
    return capsys.readouterr().out


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """The one object a command prints; its schema is the command's."""
    found = json.loads(told(capsys, *arguments, "--json", code=code))
    assert found.pop("schema") == f"spatial.{arguments[0]}/1"
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    """What a command says is wrong, on standard error; nothing is printed, and no traceback."""
    capsys.readouterr()
    assert main(arguments) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert "error: " in said.err
    assert "Traceback" not in said.err
    return said.err


# ---------------------------------------------------------------- check, show


def test_check_accepts_what_was_built(capsys: pytest.CaptureFixture[str]) -> None:
    found = told_json(capsys, "check", "artifacts/tiny")
    assert found["answer"] == "accept"
    assert found["certified"] is True
    assert found["failures"] == found["unsupported"] == []
    assert all(count > 0 for count in found["obligations"].values())
    assert told(capsys, "check", "artifacts/tiny").startswith("accept\n  shape: ")


def test_check_of_a_folder_copied_elsewhere(capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "artifacts/tiny", tmp_path / "copy")
    assert told_json(capsys, "check", str(tmp_path / "copy"))["answer"] == "accept"


def test_a_flipped_byte_of_a_weight_is_told(capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "artifacts/tiny", tmp_path / "copy")
    blobs = sorted((tmp_path / "copy/blobs/sha256").iterdir(), key=lambda p: p.stat().st_size)
    data = bytearray(blobs[-1].read_bytes())
    data[1000] ^= 1
    blobs[-1].chmod(0o644)
    blobs[-1].write_bytes(bytes(data))
    assert blobs[-1].name in refused(capsys, "check", str(tmp_path / "copy"), code=1)


def test_show_prints_what_check_can_read_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = told(capsys, "show", "artifacts/integers", "add")
    (tmp_path / "add.txt").write_text(text)
    assert told(capsys, "check", str(tmp_path / "add.txt"), "--target", "reference").startswith("accept\n")
    assert refused(capsys, "check", str(tmp_path / "add.txt"), code=2).startswith(
        "error: a program alone names no chip"
    )
    whole = told(capsys, "show", "artifacts/integers")
    assert text in whole
    assert "# table totals: state int [20, 45] -30000..30000" in whole
    assert told(capsys, "show", "artifacts/integers", "add:0").startswith("body ")
    assert "did you mean" in refused(capsys, "show", "artifacts/integers", "ad", code=2)
    refused(capsys, "show", "artifacts/integers", "add:99", code=2)


# ---------------------------------------------------------------- time


def test_time_tells_every_program_section_by_section(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "time", "artifacts/tiny").splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert [head.split(":")[0] for head in heads] == ["decode", "prefill"]
    assert all(
        re.fullmatch(r"\w+: \d+ cycles, [\d.]+ ms at 1 GHz, \d+ phases, \d+ bytes of memory traffic", h) for h in heads
    )
    assert lines[1].split() == ["section", "calls", "cycles", "longest", "bound", "by", "roofline"]
    assert lines[2].split()[0] == "decode:0"
    assert told(capsys, "time", "artifacts/tiny", "prefill").splitlines() == lines[lines.index(heads[1]) :]
    assert "did you mean" in refused(capsys, "time", "artifacts/tiny", "decod", code=2)


def test_a_program_alone_is_timed_on_the_chip_that_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "add.txt").write_text(told(capsys, "show", "artifacts/integers", "add"))
    alone = told_json(capsys, "time", str(tmp_path / "add.txt"), "--target", "reference")
    (bundled,) = told_json(capsys, "time", "artifacts/integers", "add")["programs"]
    (program,) = alone["programs"]
    assert (program["name"], program["cycles"]) == ("program", bundled["cycles"])
    assert "names no chip" in refused(capsys, "time", str(tmp_path / "add.txt"), code=2)


# ---------------------------------------------------------------- interpret, run


def test_programs_over_integers_run_as_their_sources_say(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    given = {"left": draw.integers(-100, 101, (20, 40)), "right": draw.integers(-100, 101, (40, 45))}
    given["totals"] = draw.integers(-30000, 30001, (20, 45))
    np.savez(tmp_path / "in.npz", **given)
    arguments = ("--in", str(tmp_path / "in.npz"), "--out")
    told(capsys, "interpret", "integers:add", *arguments, str(tmp_path / "meant.npz"))
    told(capsys, "run", "artifacts/integers", "add", *arguments, str(tmp_path / "ran.npz"))
    meant, ran = np.load(tmp_path / "meant.npz"), np.load(tmp_path / "ran.npz")
    np.testing.assert_array_equal(ran["totals"], meant["totals"])
    np.testing.assert_array_equal(
        meant["totals"], np.clip(given["totals"] + given["left"] @ given["right"], -30000, 30000)
    )
    arguments = ("--in", str(tmp_path / "ran.npz"), "--out")
    said = told(capsys, "interpret", "integers:rank", *arguments, str(tmp_path / "meant.npz"))
    found = told_json(capsys, "run", "artifacts/integers", "rank", *arguments, str(tmp_path / "ranked.npz"))
    assert found["lines"] == said.splitlines()
    meant, ran = np.load(tmp_path / "meant.npz"), np.load(tmp_path / "ranked.npz")
    for name in ("sums", "ahead", "totals"):
        np.testing.assert_array_equal(ran[name], meant[name])
    assert found["results"]["sums"] == {"shape": [20], "type": "int64"}


def test_a_model_runs_as_its_source_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # Float32 sums of up to 160 products against binary64 ones, two layers deep: each rounds to within 2^-24.
    np.savez(tmp_path / "in.npz", tokens=np.arange(12) * 7, start=np.array([5]), count=np.array([9]))
    arguments = ("--in", str(tmp_path / "in.npz"), "--out")
    told(capsys, "interpret", "tiny:prefill", *arguments, str(tmp_path / "meant.npz"))
    told(capsys, "run", "artifacts/tiny", "prefill", *arguments, str(tmp_path / "ran.npz"))
    meant, ran = np.load(tmp_path / "meant.npz"), np.load(tmp_path / "ran.npz")
    assert set(ran.files) == {"logits", "k_cache", "v_cache"}
    for name in ran.files:
        np.testing.assert_allclose(ran[name], meant[name], rtol=0, atol=1e-4)
        assert np.abs(meant[name]).max() > 1


def test_what_a_run_needs_is_told_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", tokens=np.arange(11), strat=np.array([5]), count=np.array([99]))
    said = refused(capsys, "run", "artifacts/tiny", "prefill", "--in", str(tmp_path / "in.npz"), code=1)
    assert len(said.splitlines()) == 4
    assert 'did you mean "start"?' in said
    assert "decode, prefill" in refused(capsys, "run", "artifacts/tiny", code=2)
    (tmp_path / "in.npz").write_text("no npz")
    assert "is no npz" in refused(capsys, "run", "artifacts/tiny", "prefill", "--in", str(tmp_path / "in.npz"), code=2)
    refused(capsys, "run", "artifacts/tiny", "prefill", "--in", str(tmp_path / "nowhere.npz"), code=4)


def test_what_is_no_npz_of_arrays_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.zeros(3))
    said = refused(capsys, "run", "artifacts/integers", "add", "--in", str(tmp_path / "one.npy"), code=2)
    assert "one array" in said
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as file:
        file.writestr("left.npy", b"junk")
    said = refused(capsys, "run", "artifacts/integers", "add", "--in", str(tmp_path / "bad.npz"), code=2)
    assert "left in" in said and "no array" in said


def test_a_pipe_is_written_to_and_stays_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", totals=np.ones((20, 45), np.int64))
    pipe, given = tmp_path / "pipe", ("run", "artifacts/integers", "rank", "--in", str(tmp_path / "in.npz"), "--out")
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        told(capsys, *given, str(pipe))
        assert reader.stdout is not None
        read = reader.stdout.read()
    assert pipe.is_fifo()
    with np.load(io.BytesIO(read)) as found:
        assert found["sums"].tolist() == [45] * 20


def test_a_program_goes_to_the_pipe_or_through_the_link_that_was_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "sum.lg"
    source.write_text("## Main\nLet y be 0.0.\nRepeat for i from 1 to 4:\n    Set y to y + item i of x.\n")
    given = ("compile", str(source), "--target", "reference", "-o")
    plain, pipe, link, circle = (tmp_path / name for name in ("plain.prog", "pipe", "link", "circle"))
    told(capsys, *given, str(plain))
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        told(capsys, *given, str(pipe))
        assert reader.stdout is not None
        assert reader.stdout.read() == plain.read_bytes()
    assert pipe.is_fifo()
    (tmp_path / "far").mkdir()
    link.symlink_to(tmp_path / "far" / "made")
    for _ in range(2):  # a link to nothing yet, then to a file
        told(capsys, *given, str(link))
        assert link.is_symlink()
        assert (tmp_path / "far" / "made").read_bytes() == plain.read_bytes()
    circle.symlink_to(circle)
    for bad, why in ((circle, "cannot be written"), (tmp_path / "far", "Is a directory")):
        assert main([*given, str(bad)]) == 4
        assert why in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["circle", "far", "link", "pipe", "plain.prog", "sum.lg"]
    assert [p.name for p in (tmp_path / "far").iterdir()] == ["made"]


def test_an_artifact_without_an_end_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("spatial.build.artifacts.MAX_FILE", 1 << 16)
    assert "more than 65536 bytes" in refused(capsys, "check", "/dev/zero", "--target", "reference", code=1)


def test_damaged_provenance_is_told(capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "artifacts/integers", tmp_path / "copy")
    index = json.loads((tmp_path / "copy/index.json").read_text())
    blob = tmp_path / "copy/blobs/sha256" / index["manifests"][1]["digest"].removeprefix("sha256:")
    blob.unlink()
    assert "lacks a blob" in refused(capsys, "check", str(tmp_path / "copy"), code=1)


def test_a_source_of_its_own_is_interpreted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "twice.lg"
    source.write_text('## Main\nLet a be args().\nShow "got " + item 2 of a.\nShow item 5 of xs.\n')
    np.savez(tmp_path / "in.npz", xs=np.array([1.5, 2.5]))
    capsys.readouterr()
    assert main(["interpret", str(source), "this", "--in", str(tmp_path / "in.npz")]) == 1
    said = capsys.readouterr()
    assert said.out == "got this\n"
    assert said.err.startswith(f"{source}:4:")
    source.write_text("## Main\nLet x be.\n")
    assert refused(capsys, "interpret", str(source), code=1).startswith(f"{source}:2:")


# ---------------------------------------------------------------- compile


def test_compile_counts_what_became_of_every_statement(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = told_json(capsys, "compile", "tiny:decode", "-o", str(tmp_path / "decode.bin"))
    assert found["whole"] is True
    assert found["lowered"] == found["statements"]
    assert found["missing"] == []
    assert found["kinds"]["product"] >= 2 * 7 + 1
    assert sum(found["kinds"].values()) == found["sections"]
    assert told(capsys, "check", str(tmp_path / "decode.bin"), "--target", "reference").startswith("accept\n")
    said = told(capsys, "compile", "integers:add", "--explain")
    assert re.match(r"lowered (\d+) of \1 statements\n", said)
    assert "\nsection 0: " in said


def test_constants_are_shown_though_no_section_reads_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deployments").mkdir()
    (tmp_path / "deployments/squares.yaml").write_text(
        "schema: 1\ntarget: reference\nsizes: {n: 4}\nprograms: {main: {source: squares.lg}}\n"
    )
    (tmp_path / "deployments/squares.lg").write_text(
        "Let y be a new Seq of Int.\nRepeat for i from 1 to n:\n    Push i * i to y.\n"
        'Let z be item 3 of y.\nShow "{z} of {y}".\n'
    )
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "spatial", "build", "squares"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    assert told(capsys, "check", "artifacts/squares").startswith("accept\n")
    assert told(capsys, "run", "artifacts/squares") == "9 of [1, 4, 9, 16]\n"


def test_compile_of_a_source_that_does_not_lower_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "odd.lg"
    source.write_text("## Main\nLet y be a new Seq of Float.\nRepeat for i from 1 to n:\n    Push item i of y to y.\n")
    capsys.readouterr()
    assert main(["compile", str(source), "--target", "reference", "--size", "n=4", "--json"]) == 1
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["whole"] is False
    assert found["missing"]
    assert said.err.startswith("error: lowered 0 of 1 statement; a program is made whole or not at all\n")
    assert "no target" in refused(capsys, "compile", str(source), code=2)
    sized = ("compile", str(source), "--target", "reference", "--size")
    assert "the source reads no size m" in refused(capsys, *sized, "n=4,m=3", code=2)
    with pytest.raises(SystemExit, match="2"):
        main([*sized, "n=4,n=3"])
    assert 'did you mean "reference"?' in refused(capsys, "compile", str(source), "--target", "referense", code=2)
    assert 'did you mean "decode"?' in refused(capsys, "compile", "tiny:decod", code=2)
    assert "its spec says all that" in refused(capsys, "compile", "tiny:decode", "--target", "reference", code=2)


@pytest.mark.parametrize("sizes", ["rows=999999999999,cols=99999999999", "rows=400000,cols=100000"])
def test_tables_beyond_memory_are_refused_before_they_are_planned(
    capsys: pytest.CaptureFixture[str], sizes: str
) -> None:
    source = "deployments/integers/rank.lg"
    given = ("compile", source, "--target", "reference", "--size", sizes, "--results", "ahead")
    said = refused(capsys, *given, code=1)
    assert "bytes of memory" in said and "the largest, in bytes: totals " in said


# ---------------------------------------------------------------- generate


def test_generate_feeds_back_what_it_chose(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ids = "3,14,15,92,65,35,89,79,32,38,46,26,43,38"  # two chunks
    logits = str(tmp_path / "free.npz")
    found = told_json(capsys, "generate", "artifacts/tiny", "--ids", ids, "-n", "5", "--top", "2", "--logits", logits)
    assert len(found["ids"]) == 5
    assert found["fed"] == 4
    assert found["stopped"] is False
    assert [step[0][0] for step in found["top"]] == found["ids"]
    forced = ",".join(map(str, found["ids"][:4]))
    again = str(tmp_path / "forced.npz")
    same = told_json(capsys, "generate", "artifacts/tiny", "--ids", ids, "--force", forced, "--logits", again)
    assert same["ids"] == found["ids"]
    free, fed = np.load(logits)["logits"], np.load(again)["logits"]
    assert fed.shape == (5, 101)
    np.testing.assert_array_equal(free, fed)
    plain = told(capsys, "generate", "artifacts/tiny", "--ids", ids, "-n", "5").split()
    assert list(map(int, plain)) == found["ids"]


def test_a_prompt_up_to_the_last_position_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # Positions 48 and 49 have no room for a chunk of 12 any more: they go through decode.
    ids = [(5 * n + 1) % 101 for n in range(50)]
    path = str(tmp_path / "whole.npz")
    text = ",".join(map(str, ids))
    told_json(capsys, "generate", "artifacts/tiny", "--ids", text, "-n", "1", "--logits", path)
    first, rest = ",".join(map(str, ids[:1])), ",".join(map(str, ids[1:]))
    single = str(tmp_path / "single.npz")
    told_json(capsys, "generate", "artifacts/tiny", "--ids", first, "--force", rest, "--logits", single)
    np.testing.assert_allclose(np.load(path)["logits"][0], np.load(single)["logits"][-1], rtol=0, atol=1e-4)


def test_what_a_model_has_no_room_or_token_for_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cache holds 50" in refused(capsys, "generate", "artifacts/tiny", "--ids", "1,2", "-n", "50", code=2)
    assert "from 0 to 100" in refused(capsys, "generate", "artifacts/tiny", "--ids", "1,101", code=2)
    assert "is empty" in refused(capsys, "generate", "artifacts/tiny", "--ids", "", code=2)
    assert "no language model" in refused(capsys, "generate", "artifacts/integers", "--ids", "1", code=2)


# ---------------------------------------------------------------- how commands end


def test_exit_codes_of_the_environment_and_of_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert 'did you mean "tiny"?' in refused(capsys, "check", "artifacts/tin", code=4)
    (tmp_path / "not.bin").write_bytes(b"spatial\x01\xa6Bundle")
    refused(capsys, "check", str(tmp_path / "not.bin"), code=1)
    for arguments, why in (
        (["frobnicate"], "invalid choice"),
        (["generate", "x", "--ids", "1,x"], "'x' is no integer"),
        (["compile", "x", "--size", "3=n"], "is no name=value"),
        (["compile", "x", "--size", "n=99999999999999999999"], "99999999999999999999 is too large"),
        (["compile", "x", "--size", f"n=-{'9' * 5000}"], "9 is too large"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert why in capsys.readouterr().err


def test_a_fault_of_ours_is_told_as_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> None:
        raise IndexError("off by one")

    monkeypatch.setattr("spatial.cli.check.open_artifact", broken)
    said = refused(capsys, "check", "artifacts/tiny", code=3)
    assert "off by one" in said
    assert "--debug" in said


@pytest.mark.parametrize(
    ("code", "faults", "ours"),
    [(0, [], 0), (1, [1], 1), (1, [1, 4], 4), (1, [2], 2), (2, [], 3), (2, [2, 3], 3), (3, [], 2), (1, [], 1)],
)
def test_exit_codes_of_builds(code: int, faults: list[int], ours: int) -> None:
    assert translated(code, faults) == ours


def test_a_broken_spec_ends_a_build_with_2(built: Path) -> None:
    spec = built / "deployments/broken.yaml"
    spec.write_text("schema: 1\n")
    try:
        command = [sys.executable, "-m", "spatial", "build", "broken"]
        run = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=60)
        assert run.returncode == 2
        assert "deployments/broken.yaml:1:1: error: " in run.stdout + run.stderr
        run = subprocess.run([*command[:-1], "tinny"], cwd=built, capture_output=True, text=True, timeout=60)
        assert run.returncode == 2
        assert 'did you mean "tiny"?' in run.stderr
    finally:
        spec.unlink()
