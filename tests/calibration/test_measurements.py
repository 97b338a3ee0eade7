"""A ledger keeps apart what is measured: a measurement takes the place of an earlier one of the same thing alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spatial.build.targets import load_target
from spatial.calibration.measurements import (
    LABELS,
    Conditions,
    Measurement,
    condition_words,
    entered,
    plan_words,
    time_words,
)
from spatial.calibration.operations import OPERATIONS, operated, template_of
from spatial.errors import Refused, UsageError
from spatial.plan.knobs import ANY, knobs_of

TARGET = load_target(Path(__file__).resolve().parents[2] / "targets" / "wormhole-n150.yaml")
ONE = Measurement("wormhole-n150", operated("matmul", "32x64x96", "bf16"), "multicast", ANY, Conditions(), 5.0, "us")


def test_measurements_of_different_things_stay_apart():
    others = [
        replace(ONE, label=label) for label in LABELS if label != "multicast"
    ] + [
        replace(ONE, target="reference"),
        replace(ONE, what=operated("matmul", "32x64x128", "bf16")),
        replace(ONE, what=operated("matmul", "32x64x96", "bf16*q8_0")),
        replace(ONE, what=operated("projection", "32x64x96", "bf16")),
        replace(ONE, what=operated("matmul", "32x64x96", "bf16>bf16")),
        replace(ONE, knobs=knobs_of(["i0=1"])),
        replace(ONE, knobs=knobs_of(["packing=split"])),
        replace(ONE, conditions=Conditions(grid=(4, 4))),
        replace(ONE, conditions=Conditions(passes=2)),
        replace(ONE, note="warm"),
    ]  # fmt: skip
    ledger = entered([], [ONE, *others])
    assert len(ledger) == 1 + len(others)
    assert entered(reversed(ledger), []) == ledger


def test_a_later_measurement_takes_the_place_of_an_earlier_one_of_the_same_thing():
    other = replace(ONE, label="multicast-split")
    later = replace(ONE, amount=4800.0, unit="cycles", source="again")
    assert entered([ONE, other], [later]) == [later, other]


def test_times_are_cycles_of_the_clock():
    fast = replace(TARGET, clock=2e9)
    assert [replace(ONE, unit=u).cycles(fast) for u in ("cycles", "ns", "us", "ms", "s")] == [5, 10, 1e4, 1e7, 1e10]


def test_conditions_are_put_on_the_chip():
    chip = condition_words("grid=13x10 passes=2 scratch=4000000 registers=16").chip(TARGET)
    assert (chip.columns, chip.rows, chip.scratch, chip.matrix.registers) == (13, 10, 4_000_000, 16)
    assert {n for _, n in chip.matrix.passes} == {2}
    assert condition_words("").chip(TARGET) == TARGET
    told = Conditions((3, 2), 1, 8, 70_000)
    assert condition_words(str(told)) == told


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (condition_words, "grid=8", "columns x rows"),
        (condition_words, "passes=2 passes=3", "once each"),
        (condition_words, "clock=3", "grid, passes"),
        (condition_words, "passes=x", "numbers from 1"),
        (time_words, "12", "in cycles"),
        (time_words, "-3 us", "above zero"),
        (time_words, "0 us", "above zero"),
        (time_words, "1e3 us", "above zero"),
        (plan_words, "multicats", 'did you mean "multicast"'),
        (plan_words, "blocked i0", "holds no knob"),
    ],
)
def test_words_that_say_nothing_are_refused(read: object, text: str, why: str):
    assert callable(read)
    with pytest.raises(UsageError, match=why):
        read(text)


def test_words_are_read():
    assert plan_words("") == ("best", ANY)
    assert plan_words("blocked-split i0=2") == ("blocked-split", knobs_of(["i0=2"]))
    assert time_words("61.6 us") == time_words("61.6us") == (61.6, "us")
    assert time_words("1200 cycles") == (1200.0, "cycles")


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_templates(name: str):
    shape = "x".join(["64"] * len(OPERATIONS[name].sizes))
    wide, narrow = (template_of(operated(name, shape, words), TARGET) for words in ("bf16", "bf16>bf16"))
    for template, prec in ((wide, "f32"), (narrow, "bf16")):
        assert template.phase == "template"
        assert [o.prec for o in template.operands] == ["bf16"] * len(OPERATIONS[name].tables) + [prec]
        assert [s.kind for s in template.stages].count("store") == 1
    for mistake in (
        (f"{shape}x2", "f32"),
        ("0x" + shape, "f32"),
        (shape, "f32*f32*f32"),
        (shape, "i8"),
        (shape, "f32>q8_0"),
    ):
        with pytest.raises(UsageError):
            operated(name, *mistake)
    with pytest.raises(UsageError, match="did you mean"):
        operated(name[:-1], shape, "f32")
    for words in ("f32", "bf16>bf16", "f16>f32"):
        assert operated(name, shape, words).precision == words


def test_an_operation_that_a_chip_has_no_template_of_is_refused():
    with pytest.raises(Refused):
        template_of(operated("projection", "1x48x64", "f32*q8_0"), TARGET)
