"""Functions that return in some cases only where a branch ends: what comes after runs in the others."""

from __future__ import annotations

import random

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, refusals

N = 9
FACTS = Facts({"n": N}, {"x": Table((N,), "float"), "z": Table((N,), "float"), "h": Table((N,), "float", state=True)})


def inputs(seed: int) -> dict[str, np.ndarray]:
    return {"x": 2 * floats(seed, N), "z": floats(seed + 1, N), "h": floats(seed + 2, N)}


MAPPED = """
## Main
Let y be [].
Repeat for i from 1 to n:
    Push f(x[i], i) to y.
"""

LIFTED = {
    "otherwise if": """## To f (v: Float, i: Int) -> Float:
    If v > 1.0:
        Return 1.0.
    Otherwise If v < -1.0:
        Return -1.0.
    Return v.
""",
    "an If within": """## To f (v: Float, i: Int) -> Float:
    If v > 1.0:
        Return 1.0.
    Otherwise:
        If v < -1.0:
            Return -1.0.
    Return v.
""",
    "variables of its own": """## To f (v: Float, i: Int) -> Float:
    Let a be v.
    If v > 0.5:
        Set a to a + 3.0.
        If v > 1.0:
            Set a to a * 2.0.
            Return a.
        Set a to a - 1.0.
    Otherwise If v < -1.0:
        Set a to a * 7.0.
        Return a.
    Otherwise:
        Set a to a * 5.0.
    Return a + z[i].
""",
    "reads that only what is left allows": """## To f (v: Float, i: Int) -> Float:
    If i < 2:
        Return 0.0.
    Otherwise:
        If i == n:
            Return v.
    Return x[i - 1] + x[i + 1].
""",
    "a branch that sets and one that returns": """## To f (v: Float, i: Int) -> Float:
    If v > 1.0:
        Set v to v * 0.5.
    Otherwise:
        Return v.
    Return v + 10.0.
""",
}


@pytest.mark.parametrize("name", LIFTED)
def test_a_function_that_returns_in_some_cases_lifts(name: str) -> None:
    text = LIFTED[name] + MAPPED
    graph = graph_of(text, FACTS)
    for seed in range(4):
        agree(text, FACTS, inputs(seed), graph=graph)


def test_an_if_after_another_and_one_in_its_other_branch_are_the_same_function() -> None:
    apart = """## To f (v: Float, i: Int) -> Float:
    If v > 1.0:
        Return 1.0.
    If v < -1.0:
        Return -1.0.
    Return v.
"""
    assert len({str(graph_of(text + MAPPED, FACTS).nodes) for text in (apart, LIFTED["otherwise if"])}) == 1


def test_a_function_that_gives_nothing_may_end_early() -> None:
    text = """## To put (t: mutable Seq of Float, i: Int):
    If x[i] > 0.0:
        If x[i] > 1.0:
            Set item i of t to 1.0.
            Return.
    Otherwise If x[i] < -1.0:
        Return.
    Set item i of t to z[i] + 5.0.

## Main
Let y be copy of z.
Repeat for i from 1 to n:
    put(y, i).
Repeat for i from 1 to n:
    put(h, i).
"""
    for seed in range(4):
        agree(text, FACTS, inputs(seed))


class Drawn:
    """A function of nested branches, some of which return."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def body(self, depth: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 2)):
            self.count += 1
            kind = self.random.choice(("set", "if", "if", "return" if depth < 3 else "set"))
            if kind == "set" or not depth:
                lines.append(f"{indent}Set a to a * 0.5 + v - {self.count}.0.")
            elif kind == "return":
                return [*lines, f"{indent}Return a + {self.count}.0."]
            else:
                test = self.random.choice(("v > {}", "a > {}", "i > {}", "v + a < {}"))
                limit = self.random.randint(-2, 3)
                lines.append(f"{indent}If {test.format(limit if test[0] == 'i' else f'{limit}.5')}:")
                lines += self.body(depth - 1, indent + "    ")
                if self.random.random() < 0.6:
                    lines += [f"{indent}Otherwise:", *self.body(depth - 1, indent + "    ")]
        return lines


def test_drawn_functions_return_what_the_interpreter_does() -> None:
    for seed in range(40):
        body = "\n".join(Drawn(seed).body(3, "    "))
        text = f"## To f (v: Float, i: Int) -> Float:\n    Let a be v.\n{body}\n    Return a.\n{MAPPED}"
        agree(text, FACTS, inputs(seed))


FALLS = {
    "one branch": "    If v > 1.0:\n        Return 1.0.\n",
    "otherwise if": "    If v > 1.0:\n        Return 1.0.\n    Otherwise If v < 0.0:\n        Return 2.0.\n",
    "within": "    If v > 1.0:\n        If v < 3.0:\n            Return 1.0.\n    Otherwise:\n        Return 3.0.\n",
    "what follows is no return": "    If v > 1.0:\n        Return 1.0.\n    Set v to 3.0.\n",
}


@pytest.mark.parametrize("name", FALLS)
def test_a_function_that_may_end_without_a_value_is_refused(name: str) -> None:
    ((line, why),) = refusals(f"## To f (v: Float, i: Int) -> Float:\n{FALLS[name]}{MAPPED}", FACTS)
    assert line == 2 and why == "a function returns on one branch only"


def test_a_return_inside_a_loop_is_told_once() -> None:
    text = """## To f (v: Float, i: Int) -> Float:
    Repeat for j from 1 to n:
        If x[j] > v:
            Return x[j].
    Return 0.0.
"""
    assert refusals(text + MAPPED, FACTS) == [(2, "a function returns from inside a loop")]


def test_many_branches_that_return_within_branches_are_run_once_each() -> None:
    """What follows a branch is not run once for each way to come there."""
    body = "".join(f"    If v > {n}.0:\n        If z[i] > {n}.5:\n            Return {n}.0.\n" for n in range(40))
    agree(f"## To f (v: Float, i: Int) -> Float:\n{body}    Return v.\n{MAPPED}", FACTS, inputs(0))
