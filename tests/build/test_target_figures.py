"""A target's text with other figures: these change and nothing else, and what comes out is a target."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spatial.build.target_figures import Figure, with_figures
from spatial.build.targets import load_target, read_target
from spatial.calibration.refit import FIELDS
from spatial.errors import SpecError

TARGETS = sorted((Path(__file__).resolve().parents[2] / "targets").glob("*.yaml"))


@pytest.mark.parametrize("path", TARGETS, ids=[p.stem for p in TARGETS])
def test_figures_are_replaced_and_nothing_else(path: Path):
    target, data = load_target(path), path.read_bytes()
    figures = {name: Figure(7.5 + n, f'because "{n}" \\ of it', "derived") for n, name in enumerate(FIELDS)}
    text = with_figures(data, str(path), figures, "refit", "a ledger: its times")
    expected = target
    for name, figure in figures.items():
        expected = FIELDS[name].put(expected, figure.value)
    assert read_target(text, str(path), path.stem) == expected
    gone = set(data.decode().splitlines()) - set(text.decode().splitlines())
    assert all(re.search(r"^\s*(\w+: \{value|[^:]*|.*kind: \w+\})", line) for line in gone)
    assert len(gone) <= 5 * len(figures)
    one = with_figures(data, str(path), {"timing.step_cycles": Figure(3, "so", "measured")}, "again", "a")
    assert read_target(one, str(path), path.stem) == replace(target, step_cycles=3.0)
    (line,) = (x for x in one.decode().splitlines() if x.strip().startswith('step_cycles: {value: 3, source: "again'))
    assert line.endswith(f'so; before {target.step_cycles:g}", kind: measured}}')


def test_a_source_of_that_name_is_not_taken_over():
    path = TARGETS[0]
    figures = {"timing.step_cycles": Figure(3, "so", "derived")}
    once = with_figures(path.read_bytes(), "t.yaml", figures, "refit", "a ledger")
    with pytest.raises(SpecError, match='name "refit" already'):
        with_figures(once, "t.yaml", figures, "refit", "another")


def test_a_figure_that_stands_in_lines_of_its_own_is_told():
    text = re.sub(
        r"  step_cycles: \{value: (\S+), source: (\".*?\"), kind: (\w+)\}",
        r"  step_cycles:\n    value: \1\n    source: \2\n    kind: \3",
        TARGETS[0].read_text(),
        flags=re.DOTALL,
    )
    assert text != TARGETS[0].read_text()
    with pytest.raises(SpecError, match="step_cycles does not stand in braces"):
        with_figures(text.encode(), "t.yaml", {"timing.step_cycles": Figure(3, "so", "derived")}, "refit", "a ledger")
