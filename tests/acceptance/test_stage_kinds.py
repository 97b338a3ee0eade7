"""No statement is handled outside the stages: breaking any one kind in the simulator breaks the small model.

The same, on the real model, is in `test_model`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from acceptance.breaking import BREAKS, Break, used_by
from acceptance.chip import BOUND, PROMPT, Chip
from acceptance.deployed import Published

MUCH = 30 * BOUND
"""What a break changes at least: far beyond what rounding could."""

MASKED = {"prefill"}
"""The programs that store under a mask."""


@pytest.fixture(scope="module")
def chip(published: Published) -> Chip:
    return Chip(published)


def prefilled(chip: Chip) -> None:
    """The caches as an unbroken prefill of five tokens leaves them."""
    chip.clear()
    chip.prefill(PROMPT[:5], 0)


def called(chip: Chip, program: str, masked: bool) -> dict[str, npt.NDArray[Any]]:
    """One call of `program` after that.

    `masked`: a prefill of four tokens, so that there are rows it does not store. Else one that fills all rows, of the
    last positions there are: what no row may look at would show nowhere, and sites of their own score it.
    """
    if program == "decode":
        return chip.decode(PROMPT[5], 5)
    last = chip.bundle.table("k_cache").dims[1] - chip.rows
    return chip.prefill(PROMPT[5:9], 5) if masked else chip.prefill(PROMPT[: chip.rows], last)


@pytest.mark.parametrize("program", ["prefill", "decode"])
@pytest.mark.parametrize("fault", BREAKS, ids=lambda fault: fault.name)
def test_breaking_a_kind_of_stage_breaks_the_program(
    chip: Chip, monkeypatch: pytest.MonkeyPatch, fault: Break, program: str
) -> None:
    masked = fault.name == "a mask is ignored"
    prefilled(chip)
    sound = called(chip, program, masked)
    assert used_by(chip.bundle.entry(program).program, fault) == (program in MASKED if masked else True)
    prefilled(chip)
    with monkeypatch.context() as patch, np.errstate(all="ignore"):
        fault.patch(patch)
        broken = called(chip, program, masked)
    off = {name: np.abs(broken[name] - sound[name]) for name in sound}
    # A result that was never stored is no number, or what an earlier call left, and so may lie in the caches alone.
    changed = {name: bool(np.any(~(difference <= MUCH))) for name, difference in off.items()}
    if program not in MASKED and masked:
        assert not any(changed.values())
    elif masked:
        assert changed["k_cache"]
        assert changed["v_cache"]
    else:
        assert all(changed.values()), changed


@pytest.mark.parametrize("program", ["prefill", "decode"])
def test_every_kind_the_program_uses_is_broken_above(chip: Chip, program: str) -> None:
    stages = [stage for body in chip.bundle.entry(program).program.bodies for stage in body.stages]
    kinds = {stage.kind for stage in stages}
    assert kinds == {"load", "store", "matmul", "generic", "permute", "multicast"}
    for kind in kinds:
        assert any(all(fault.used(s) == (s.kind == kind) for s in stages) for fault in BREAKS), kind
