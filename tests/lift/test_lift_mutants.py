"""Programs with one thing changed: what lifts is what the changed program means, and never what it meant before."""

from __future__ import annotations

from collections import Counter

import pytest
from lift.spellings.mutants import Mutant, lifted_mutants, report


def held(found: list[Mutant], kinds: int) -> None:
    said = "\n".join(report(found))
    assert not any(m.became == "wrong" for m in found), said
    lifted = Counter(m.change for m in found if m.became == "right")
    assert len(lifted) >= kinds, said


def test_a_mutant_that_lifts_is_what_it_means() -> None:
    held(lifted_mutants(150), 20)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_thousands_of_mutants(part: int) -> None:
    """Every kind of change lifts somewhere."""
    held(lifted_mutants(1000, 100_000 * part), 24)


def test_the_report_counts_and_shows_what_is_wrong() -> None:
    found = [Mutant("f", "c", "right"), Mutant("f", "c", "wrong", "because", "the source")]
    text = "\n".join(report(found))
    assert "==== WRONG f, c: because\nthe source" in text
    assert "         1          0          0          0          1  in all" in text
