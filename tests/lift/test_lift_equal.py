"""Spellings of one problem that differ by one choice lift to one graph, wherever they are known to."""

from __future__ import annotations

import pytest
from lift.spellings.equal import compared
from lift.spellings.rows_and_tables import FAMILIES

OTHER = {
    "layout": None,
    "best": ("elementwise",),
    "comparison": ("elementwise", "running"),
    "terms": ("window",),
    "build": ("joined",),
    "parts": ("joined",),
    "accumulator": ("triangle",),
}
"""Choices that may spell another graph, and in which families (None: in any): a result laid flat is another result; a
branch on Floats is no maximum and has no opposite where an operand is no number; the terms of sums over several
variables, stored first, stay a statement; parts set at run-time places lie over what was there, and joined or chosen
ones are put together otherwise; a maximum that begins with the first row leaves that out."""


def canonical(choice: str, family: str) -> bool:
    """Whether a choice must leave no trace in a family."""
    name = choice.split(":")[0]
    return name not in OTHER or family not in (OTHER[name] or (family,))


@pytest.mark.parametrize("family", range(len(FAMILIES)), ids=lambda n: FAMILIES[n].__name__)
def test_spellings_by_one_choice_are_one_graph(family: int) -> None:
    found = [c for seed in range(3) for c in compared(family, seed) if canonical(c.choice, c.family)]
    unlike = [c for c in found if c.became != "equal"]
    assert not unlike, "\n\n".join((unlike[0].choice, unlike[0].became, *unlike[0].sources))
    assert len({c.choice for c in found}) >= 9
