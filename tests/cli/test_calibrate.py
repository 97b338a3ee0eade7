"""`spatial calibrate`: candidates priced and timed, a ledger entered and kept apart, figures fitted to a new file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spatial.build.targets import load_target
from spatial.cli import main

TARGETS = Path(__file__).parents[2] / "targets"
CHIP = str(TARGETS / "wormhole-n150.yaml")
SOURCE = """## Main
Let y be a new Seq of Seq of Float.
Repeat for i from 1 to rows:
    Let row be a new Seq of Float.
    Repeat for j from 1 to cols:
        Let total be 0.0.
        Repeat for k from 1 to depth:
            Set total to total + item k of (item i of left) * item j of (item k of right).
        Push total to row.
    Push row to y.
Let z be 0.0.
Repeat for i from 1 to rows:
    Set z to z + item 1 of (item i of y).
"""
PRODUCT = ("--target", CHIP, "--size", "rows=64,cols=96,depth=128", "--results", "z,y")
MEASURED = """op,shape,precision,plan,time,note
matmul,64x128x96,f32,best,9000 cycles,
matmul,64x128x96,f32,streamed,21000 cycles,
matmul,64x128x96,f32,blocked-split,12 us,
matmul,64x128x160,f32,best,15000 cycles,
matmul,64x128x160,f32,best,15100 cycles,again
matmul,1024x64x64,f32,best,26000 cycles,
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.lg").write_text(SOURCE)
    Path("more.csv").write_text(MEASURED)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(("calibrate", *arguments)) == code, capsys.readouterr().err
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out if code == 0 else said.err


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    return json.loads(told(capsys, *arguments, "--json"))


def test_sections_are_priced_and_timed_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "two.lg", *PRODUCT).splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert [head.split(" on ")[0] for head in heads] == ["section 0: product", "section 1: reduction"]
    assert lines[1].split() == ["candidate", "arrangement", "priced", "timed", "off", "measured", "bound", "by", "plan"]
    product = found(capsys, "two.lg", *PRODUCT, "--section", "0")["sections"][0]["candidates"]
    assert [c["kind"] for c in product] == ["best", "streamed", "multicast", "blocked"]
    assert all(c["priced"] == pytest.approx(c["timed"], rel=0.25) and c["measured"] is None for c in product)
    assert product[0]["priced"] <= min(c["priced"] for c in product) * 1.02
    best = next(line for line in lines if line.startswith("  best"))
    assert f"{product[0]['priced']:.0f}" in best and f"{product[0]['timed']:.0f}" in best


def test_knobs_hold_every_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    held = found(capsys, "two.lg", *PRODUCT, "--section", "0", "--knobs", "rect=2x2,buffers=1")
    (section,) = held["sections"]
    assert section["knobs"] == "rect=2x2 buffers=1"
    assert section["candidates"]
    assert all(c["rect"] == [2, 2] and c["buffers"] == 1 for c in section["candidates"])
    assert "no legal plan has i0=77" in told(capsys, "two.lg", *PRODUCT, "--section", "0", "--knobs", "i0=77")


def test_a_ledger_is_entered_kept_apart_and_set_beside(capsys: pytest.CaptureFixture[str]) -> None:
    entering = ("--target", CHIP, "--ledger", "ledger.csv", "--enter", "more.csv")
    assert len(told(capsys, *entering).splitlines()) == 6
    ledger = Path("ledger.csv").read_bytes()
    assert ledger.count(b"wormhole-n150") == 6
    again = found(capsys, *entering)
    assert [row["before"] for row in again["entered"]] == [row["time"] for row in again["entered"]]
    assert Path("ledger.csv").read_bytes() == ledger
    Path("newer.csv").write_text("op,shape,precision,plan,time\nmatmul,64x128x96,f32,best,9500 cycles\n")
    said = told(capsys, "--target", CHIP, "--ledger", "ledger.csv", "--enter", "newer.csv")
    assert said == "entered matmul 64x128x96 f32 best: 9500 cycles, before 9000 cycles\n"
    assert Path("ledger.csv").read_bytes() == ledger.replace(b"9000 cycles", b"9500 cycles")
    product = found(capsys, "two.lg", *PRODUCT, "--section", "0", "--ledger", "ledger.csv")["sections"][0]
    measured = {c["kind"]: c["measured"] for c in product["candidates"]}
    assert measured == {"best": 9500.0, "streamed": 21000.0, "multicast": None, "blocked": 12000.0}


def test_prices_stand_beside_what_a_ledger_has(capsys: pytest.CaptureFixture[str]) -> None:
    compared = found(capsys, "--target", CHIP, "--ledger", "more.csv")
    assert len(compared["measurements"]) + len(compared["beyond"]) == 6
    assert compared["fit"] is None
    for row in compared["measurements"]:
        assert row["fitted"] == row["priced"]
        assert row["error"] == pytest.approx(row["priced"] / row["measured"] - 1.0)
    lines = told(capsys, "--target", CHIP, "--ledger", "more.csv").splitlines()
    assert lines[-1].startswith(f"prices: {len(compared['measurements'])} measurements, off by ")


def test_fitted_figures_are_proposed_and_written_as_a_new_target(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(CHIP).read_bytes()
    fitting = ("--target", CHIP, "--ledger", "more.csv", "--fit", "timing.section_cycles,network.hop", "--hold-out")
    proposed = found(capsys, *fitting)
    assert not list(Path().glob("*.yaml"))
    section, hop = proposed["fit"]["figures"]
    assert (section["figure"], section["old"], section["kind"]) == ("timing.section_cycles", 2000.0, "derived")
    assert hop["figure"] == "network.hop"
    assert {row["held"] for row in proposed["measurements"]} == {True, False}
    fitted, held = proposed["fit"]["fitted"], proposed["fit"]["held"]
    assert fitted[0]["count"] + held[0]["count"] == len(proposed["measurements"])
    lines = told(capsys, *fitting, "-o", "mine.yaml").splitlines()
    assert any(line.split()[:3] == ["timing.section_cycles", "2000", f"{section['new']:g}"] for line in lines)
    mine, old = load_target(Path("mine.yaml")), load_target(Path(CHIP))
    assert (mine.section_cycles, mine.matrix, mine.memory) == (section["new"], old.matrix, old.memory)
    assert f'source: "refit, choice: least squares over {fitted[0]["count"]} ' in Path("mine.yaml").read_text()
    assert Path(CHIP).read_bytes() == before
    assert "never written over" in told(capsys, *fitting, "-o", "mine.yaml", code=2)
    assert told(capsys, "two.lg", "--target", "mine.yaml", *PRODUCT[2:], "--section", "1")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("--target", CHIP), 2, "name a source"),
        (("two.lg", "--size", "rows=4,cols=4,depth=4"), 2, "no target"),
        (("two.lg", *PRODUCT, "--fit"), 2, "--fit beside a source"),
        (("two.lg", *PRODUCT, "--section", "7"), 2, "there is no section 7"),
        (("two.lg", *PRODUCT, "--knobs", "i0"), 2, "holds no knob"),
        (("two.lg", *PRODUCT, "--ledger", "none.csv"), 4, "cannot be read"),
        (("--target", CHIP, "--ledger", "more.csv", "--size", "n=4"), 2, "--size without a source"),
        (("--target", CHIP, "--ledger", "more.csv", "-o", "x.yaml"), 2, "add --fit"),
        (("--target", CHIP, "--ledger", "more.csv", "--hold-out"), 2, "add --fit"),
        (("--target", CHIP, "--ledger", "more.csv", "--fit", "timing.step"), 2, 'did you mean "timing.step_cycles"'),
        (("--target", str(TARGETS / "reference.yaml"), "--ledger", "other.csv"), 1, "none of reference"),
    ],
)
def test_what_cannot_be_done_is_told(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, why: str
) -> None:
    Path("other.csv").write_text("op,shape,precision,plan,time,target\nadd,64x64,f32,best,1 us,wormhole-n150\n")
    assert why in told(capsys, *arguments, code=code)


def test_a_refused_program_is_not_calibrated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("no.lg").write_text("## Main\nLet y be 0.0.\nRepeat for i from 1 to n:\n    Set y to y * 0.5 + item i of x.\n")
    assert "no.lg:4:" in told(capsys, "no.lg", "--target", CHIP, "--size", "n=8", code=1)
