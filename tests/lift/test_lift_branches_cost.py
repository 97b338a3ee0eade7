"""Branches after branches: what they cost grows in proportion to a low power of how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from effort import effort
from lifting import Facts, Table, agree, graph_of, ints

N = 6
FACTS = Facts({"n": N}, {"q": Table((N,), "int", (-9, 9))})


def changes(start: str, change: str, otherwise: str = "") -> str:
    """Twelve statements that each change one number under a condition, in one iteration."""
    body = "".join(f"    If q[i] > {k}:\n        {change.format(k=k)}\n{otherwise}" for k in range(12))
    return f"## Main\nLet y be {start}.\nRepeat for i from 1 to n:\n{body}"


@pytest.mark.parametrize(
    "source",
    [
        changes("0", "Set y to max(y, q[i] * {k} - {k})."),
        changes("0", "Set y to y + q[i] * {k}."),
        changes("0", "Set y to y + q[i] * {k}.", "    Otherwise:\n        Set y to y - 2.\n"),
        changes("0.0", "Set y to y + q[i] * 0.5.", "    Otherwise:\n        Set y to y - 2.0.\n"),
        changes("1.0", "Set y to y * 1.5."),
    ],
)
def test_conditional_changes_of_one_number_are_one_reduction(source: str) -> None:
    for seed in range(3):
        agree(source, FACTS, {"q": ints(seed, -9, 9, N)})


def returning(groups: int) -> str:
    """A function that returns after each of so many groups of branches, or goes on."""
    group = """    If q[2] < {k}:
        If q[3] > a:
            Set a to q[3].
        Return a.
    Otherwise:
        If q[1] + q[2] >= a:
            Set a to q[1] + q[2].
"""
    body = "".join(group.replace("{k}", str(k)) for k in range(groups))
    return f"## To f (p: Int) -> Int:\n    Let a be 0.\n{body}    Return a.\n## Main\nLet y be f(q[1]).\n"


def test_returns_one_after_another_ask_for_bounds_a_bounded_number_of_times() -> None:
    agree(returning(4), FACTS, {"q": np.array([3, 2, 7, 0, 0, 0])})
    few, many = (effort(lambda n=n: graph_of(returning(n), FACTS))[1] for n in (4, 8))
    assert many < 12 * few, (few, many)
