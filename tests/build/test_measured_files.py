"""Files of measurements: both forms say the same, every mistake is told at once with its line, ledgers are sorted."""

from __future__ import annotations

from pathlib import Path

import pytest

from spatial.build.measured_files import read_measurements, written
from spatial.calibration.measurements import Conditions
from spatial.errors import EnvironmentFault, SpecError
from spatial.plan.knobs import knobs_of

CSV = """# a comment
op, shape, precision, plan, time, target, chip, note, source
projection, 32x576x1536, bf16*q8_0, multicast-split i0=1 rect=8x8, 12.5us,, grid=8x8 passes=2, warm, "a page, its table"
matmul,32x64x96,bf16,best,3000 cycles,reference,,,
"""
YAML = """schema: 1
measurements:
  - {op: projection, shape: 32x576x1536, precision: "bf16*q8_0", plan: multicast-split i0=1 rect=8x8, time: 12.5 us,
     chip: grid=8x8 passes=2, note: warm, source: "a page, its table"}
  - {op: matmul, shape: 32x64x96, precision: bf16, plan: best, time: 3000 cycles, target: reference}
"""


def file(folder: Path, text: str, name: str = "measured.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_both_forms_say_the_same(tmp_path: Path):
    found = read_measurements(file(tmp_path, CSV), "chip")
    assert read_measurements(file(tmp_path, YAML, "measured.yaml"), "chip") == found
    one, other = found
    assert (one.target, one.label, one.knobs) == ("chip", "multicast-split", knobs_of(["i0=1", "rect=8x8"]))
    assert (one.what.shape, one.what.formats) == ((32, 576, 1536), ("bf16", "q8_0"))
    assert (one.conditions, one.amount, one.unit) == (Conditions((8, 8), 2), 12.5, "us")
    assert (one.note, one.source) == ("warm", "a page, its table")
    assert (other.target, other.what.formats, other.unit, other.note) == ("reference", ("bf16", "bf16"), "cycles", "")


@pytest.mark.parametrize("suffix", [".csv", ".yaml"])
def test_a_ledger_reads_back_and_has_one_order(tmp_path: Path, suffix: str):
    found = read_measurements(file(tmp_path, CSV), "chip")
    text = written(found, suffix)
    assert text == written(found[::-1], suffix)
    again = read_measurements(file(tmp_path, text.decode(), f"again{suffix}"), "other")
    assert sorted(m.key for m in again) == sorted(m.key for m in found)
    assert {(m.amount, m.unit, m.source) for m in again} == {(m.amount, m.unit, m.source) for m in found}


def test_every_mistake_is_told_with_its_line(tmp_path: Path):
    text = """op,shape,precision,plan,time
matmull,32x64x96,bf16,best,1 us
matmul,32x64,bf17,best,1 us
matmul,32x64x96,bf16,blocked i0=0,1 hour
matmul,32x64x96,bf16,best
matmul,32x64x96,bf16,best,1 us
matmul,32x64x96,bf16,best,2 us
matmul,,bf16,best,2 us
"""
    path = file(tmp_path, text)
    with pytest.raises(SpecError) as error:
        read_measurements(path, "chip")
    said = [str(p).removeprefix(f"{path}:") for p in error.value.problems]
    wanted = (
        (2, 'did you mean "matmul"'), (3, "no shape of matmul"), (4, "i0 is held at 0"), (4, '"1 hour" is no time'),
        (5, "a row has 4 fields"), (7, "measured twice"), (8, "no shape"),
    )  # fmt: skip
    assert len(said) == len(wanted)
    for line, (number, why) in zip(said, wanted, strict=True):
        assert line.startswith(f"{number}: error: ") and why in line


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.csv", "op,shape,precision,plan\n", "measurements have no time"),
        ("a.csv", "op,shap,precision,plan,time\n", 'did you mean "shape"'),
        ("a.csv", "op,op,shape,precision,plan,time\n", "there twice"),
        ("a.csv", "", "no line of names"),
        ("a.csv", 'op,shape,precision,plan,time\n"a,b\n', "no CSV"),
        ("a.yaml", "schema: 1\n", "no measurements"),
        ("a.yaml", "- a\n", "is no map"),
        ("a.yaml", "schema: 1\nmeasurements: [{op: [a]}]\n", "op is no word"),
        ("a.yaml", "schema: 1\nmeasurements: [{opp: matmul}]\n", 'did you mean "op"'),
    ],
)
def test_files_that_are_none_are_refused(tmp_path: Path, name: str, text: str, why: str):
    with pytest.raises(SpecError, match=why):
        read_measurements(file(tmp_path, text, name), "chip")


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(EnvironmentFault):
        read_measurements(tmp_path / "none.csv", "chip")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="UTF-8"):
        read_measurements(tmp_path / "bytes.csv", "chip")
