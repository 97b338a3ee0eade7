"""One carried value changed by several statements of an iteration, each under a condition of its own."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, ints, refusals

N = 6
FACTS = Facts({"n": N}, {"x": Table((N,), "float"), "q": Table((N,), "int", (-3, 3))}, ("w",))

LIFTED = {
    "terms added under conditions one after another": """## Main
Let a be 0.0.
Let b be 0.
Let c be 1.0.
Repeat for i from 1 to n:
    If x[i] > 0.2:
        Set a to a + x[i].
    If q[i] > 0:
        Set a to a - 1.5.
    Set a to a + 0.25.
    If x[i] > 0.2:
        Set b to b + 1.
    Otherwise:
        If q[i] > 0:
            Set b to b - q[i].
    If q[i] == 1:
        Set b to b + 3.
    Set b to b + q[i].
    If x[i] > 0.2:
        Set c to c * 1.5.
    If q[i] > 0:
        Set c to c * x[i].
Let y be [a, b * 1.0, c].
""",
    "the greatest of two tables, and of one under conditions": """## Main
Let a be -100.0.
Let b be -100.0.
Repeat for i from 1 to n:
    If x[i] > a:
        Set a to x[i].
    If w[i] > a:
        Set a to w[i].
    If q[i] > 0:
        Set b to max(b, x[i]).
    If q[i] < 0:
        If b < w[i] * 2.0:
            Set b to w[i] * 2.0.
Let y be [a, b].
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_terms_one_after_another_are_terms_of_one_reduction(name: str) -> None:
    graph = graph_of(LIFTED[name], FACTS)
    assert len(graph.nodes) > 0
    for seed in range(4):
        given = {"x": floats(seed, N), "q": ints(seed, -3, 3, N), "w": floats(9 + seed, N)}
        agree(LIFTED[name], FACTS, given | ({"x": np.zeros(N)} if seed == 3 else {}), graph=graph)


@pytest.mark.parametrize("change", ["y * 0.5", "y + x[i] * y", "2.0 - y"])
def test_what_follows_a_conditional_term_and_is_none_is_a_recurrence(change: str) -> None:
    source = f"""## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If x[i] > 0.2:
        Set y to y + x[i].
    If q[i] > 0:
        Set y to {change}.
"""
    ((line, why),) = refusals(source, FACTS)
    assert line == 7 and why.endswith("a recurrence"), (line, why)


@pytest.mark.parametrize("test", ["y > 0.5", "x[i] > y"])
def test_a_condition_on_what_is_summed_is_a_recurrence(test: str) -> None:
    source = f"""## Main
Let y be 0.0.
Repeat for i from 1 to n:
    If x[i] > 0.2:
        Set y to y + x[i].
    If {test}:
        Set y to y + 1.0.
"""
    ((_, why),) = refusals(source, FACTS)
    assert why.endswith("a recurrence"), why
