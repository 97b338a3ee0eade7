"""Spellings of one problem that differ by one choice lift to one graph, wherever they are known to."""

from __future__ import annotations

import pytest
from lift.spellings.choose import CHOICES
from lift.spellings.equal import compared
from lift.spellings.rows_and_tables import FAMILIES

UNLIKE = (
    *("direction", "layout", "guard", "steps", "comparison", "best"),
    *("tests", "accumulator", "terms", "nests", "build", "operands"),
)
"""Choices that some problem spells to another graph (`python -m lift.spellings --equal` says which, with examples)."""

CANONICAL = tuple(name for name in CHOICES if name not in UNLIKE)


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=lambda n: FAMILIES[n].__name__)
def test_spellings_by_one_choice_are_one_graph(family: int) -> None:
    found = [c for seed in range(3) for c in compared(family, seed, CANONICAL)]
    unlike = [c for c in found if c.became != "equal"]
    assert not unlike, "\n\n".join((unlike[0].choice, unlike[0].became, *unlike[0].sources))
    assert len({c.choice for c in found}) >= 9
