"""Figures are found again from the times they make, and no others are touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spatial.build.targets import load_target
from spatial.calibration.candidates import BEST
from spatial.calibration.measurements import Conditions, Measurement
from spatial.calibration.operations import operated
from spatial.calibration.pricing import Priced, priced
from spatial.calibration.refit import FIELDS, FIXED, errors, fit, halves
from spatial.plan.knobs import ANY
from spatial.target import Target

TARGET = load_target(Path(__file__).resolve().parents[2] / "targets" / "wormhole-n150.yaml")
SHAPES = ("32x64x64", "256x512x512", "1x576x576", "64x1024x128")


def ledger(labels: tuple[str, ...] = (BEST, "multicast-split", "blocked-split", "streamed")) -> list[Measurement]:
    """Measurements of products, of times that are not known yet."""
    return [
        Measurement(TARGET.name, operated("matmul", shape, "bf16"), label, ANY, Conditions(), 1.0, "cycles")
        for shape in SHAPES
        for label in labels
    ]


def put(target: Target, **figures: float) -> Target:
    for name, value in figures.items():
        target = FIELDS[name.replace("__", ".")].put(target, value)
    return target


@pytest.fixture(scope="module")
def plans() -> list[Priced]:
    """The plans that are measured, chosen under `TARGET`."""
    good, beyond = priced(ledger(), TARGET)
    assert len(good) >= 14
    assert all("no legal plan" in b.why for b in beyond)
    return good


def measured(plans: list[Priced], truth: Target) -> list[Priced]:
    """Plans with the times that they take under other figures."""
    return [replace(x, measurement=replace(x.measurement, amount=x.under(truth))) for x in plans]


@pytest.mark.parametrize(
    "truth",
    [
        put(TARGET, timing__section_cycles=5200.0, timing__step_cycles=240.0),
        put(TARGET, timing__section_cycles=700.0, timing__step_cycles=60.0),
    ],
)
def test_fixed_costs_are_found_again(plans: list[Priced], truth: Target):
    rows = measured(plans, truth)
    found = fit(rows, TARGET, FIXED[:2])
    assert errors(rows, TARGET).median > 0.05
    assert found.fitted[1].most < 0.01
    for name, figure in zip(FIXED, found.figures, strict=False):
        assert figure.told and figure.new == pytest.approx(FIELDS[name].get(truth), rel=0.02, abs=3.0)
        assert figure.old == FIELDS[name].get(TARGET)
    assert found.target == put(TARGET, **{f.name.replace(".", "__"): f.new for f in found.figures})


def test_a_rate_is_found_again_beside_a_cost(plans: list[Priced]):
    truth = put(TARGET, memory__unplaced=90.0, timing__section_cycles=3000.0)
    rows = measured(plans, truth)
    found = fit(rows, TARGET, ("memory.unplaced", "timing.section_cycles"))
    assert [f.new for f in found.figures] == pytest.approx([90.0, 3000.0], rel=0.02)


def test_no_figure_goes_beyond_what_it_may_be(plans: list[Priced]):
    fast = put(TARGET, memory__unplaced=2 * TARGET.memory.rate)
    found = fit(measured(plans, fast), TARGET, ("memory.unplaced",))
    assert found.figures[0].new == TARGET.memory.rate
    quick = [replace(x, measurement=replace(x.measurement, amount=0.5 * x.cycles)) for x in plans]
    assert min(f.new for f in fit(quick, TARGET, FIXED[:2]).figures) == 0.0


def test_what_no_measurement_tells_of_stays(plans: list[Priced]):
    rows = measured(plans, put(TARGET, timing__section_cycles=4000.0))
    plain = [x for x in rows if x.plan.label == "streamed"]
    found = fit(plain, TARGET, ("network.hop", "timing.section_cycles"))
    hop, section = found.figures
    assert not hop.told and hop.new == hop.old == TARGET.network.hop
    assert section.told and section.new == pytest.approx(4000.0, rel=0.01)
    nothing = fit(plain, TARGET, ("network.hop",))
    assert nothing.target == TARGET and nothing.fitted[0] == nothing.fitted[1]


def test_times_that_are_right_change_nothing(plans: list[Priced]):
    rows = measured(plans, TARGET)
    assert all(f.new == pytest.approx(f.old, rel=5e-3) for f in fit(rows, TARGET, FIXED).figures)


def test_halves_keep_the_measurements_of_a_plan_together(plans: list[Priced]):
    rows = measured(plans, TARGET)
    twice = [*rows, *(x for x, _ in zip(rows, range(5), strict=False))]
    fitted, held = halves(twice)
    assert len(fitted) + len(held) == len(twice)
    chosen = {x.measurement.plan for x in fitted}
    assert chosen.isdisjoint(x.measurement.plan for x in held)
    assert abs(len(chosen) - len({x.measurement.plan for x in held})) <= 1
    again, _ = halves(list(reversed(twice)))
    assert {x.measurement.plan for x in again} == chosen


def test_a_measured_plan_that_there_is_none_of_says_what_there_is():
    good, beyond = priced(ledger(("blocked",)), TARGET)
    assert good == []
    assert all(
        "there are streamed, multicast-split, blocked-split" in b.why
        for b in beyond
        if "512" in str(b.measurement.what)
    )
