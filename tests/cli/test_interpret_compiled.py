"""`spatial interpret --compiled`: what it prints, writes and ends with is what the plain mode does."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spatial.cli import main

SOURCE = """Let y be a new Seq of Float.
Repeat for i from 1 to length of w:
    Push item i of w / 2.0 to y.
Show y.
Show item n of y.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("half.lg").write_text(SOURCE)
    Path("mixed.lg").write_text("Let t be 0.\nSet t to t + 0.5.\nShow t.\n")
    return tmp_path


def test_both_modes_print_write_and_end_alike(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n, code in ((2, 0), (4, 1)):
        np.savez("in.npz", w=np.array([1, 2, 4], np.float32), n=np.array(n))
        told: list[tuple[int, object]] = []
        for mode in ([], ["--compiled"]):
            Path("out.npz").unlink(missing_ok=True)
            ended = main(["interpret", "half.lg", *mode, "--in", "in.npz", "--out", "out.npz"])
            arrays = {}
            if Path("out.npz").exists():
                with np.load("out.npz") as found:
                    arrays = {name: (found[name].dtype, found[name].tolist()) for name in found}
            told.append((ended, (capsys.readouterr(), arrays)))
        assert told[0] == told[1]
        assert told[0][0] == code


def test_a_refusal_says_what_would_mend_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interpret", "mixed.lg"]) == 0
    assert capsys.readouterr().out == "0.5\n"
    assert main(["interpret", "mixed.lg", "--compiled"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("mixed.lg:2:1: error: t holds an Int and, here, a Float; ")
    assert "add 0.0" in told.err and "leave --compiled out" in told.err


def test_without_numba_it_says_how_to_get_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "numba" else found(name, *rest)
    )
    assert main(["interpret", "half.lg", "--compiled"]) == 4
    assert "pip install 'spatial[compiled]'" in capsys.readouterr().err


def test_other_commands_do_without_numba(folder: Path) -> None:
    code = "import sys; from spatial.cli import main; main(['interpret', 'mixed.lg']); print('numba' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "0.5\nFalse\n"
