"""Every obligation has programs that break it, and each is rejected by that obligation, at the right place."""

from __future__ import annotations

import pytest
from check.mutants import TARGETS, Mutant, mutants

from spatial.check import OBLIGATIONS, check_program

ELSEWHERE = {"graph", "deployment", "claims"}
"""Obligations of bundles, broken in the tests of bundles."""


@pytest.mark.parametrize("mutant", mutants(), ids=lambda m: m.name)
def test_mutant_is_rejected(mutant: Mutant):
    verdict = check_program(mutant.program(), TARGETS[mutant.target])
    assert verdict.answer == "reject", [str(f) for f in verdict.unsupported]
    found = [f for f in verdict.failures if f.obligation == mutant.obligation and mutant.place in f.place]
    assert found, [str(f) for f in verdict.failures]
    assert all(f.witness for f in verdict.failures)


def test_every_obligation_is_broken_by_some_mutant():
    assert {m.obligation for m in mutants()} | ELSEWHERE == set(OBLIGATIONS)
