"""Tables of several axes that a program indexes as one sequence are one sequence wherever they are used whole."""

from __future__ import annotations

import numpy as np
import pytest
from lifting import Facts, Table, agree, floats, graph_of, refusals

N, M = 6, 4
FACTS = Facts({"n": N, "m": M}, {"z": Table((N, M), "float"), "kept": Table((N, M), "float", None, True)})

WRITTEN = """Repeat for k from 1 to n * m:
    Set kept[k] to kept[k] + k * 1.0.
"""

WHOLE = {
    "an item of state that was written all over": WRITTEN + "Let y be kept[1].\n",
    "an item of such state in a sum": WRITTEN + "Let y be kept[7] + kept[24].\n",
    "state as a result": WRITTEN + "Let y be kept.\n",
    "a copy that grows": WRITTEN + "Let y be copy of kept.\nPush 1.0 to y.\n",
    "a loop over the items": WRITTEN + "Let y be 0.0.\nRepeat for v in kept:\n    Set y to y + v.\n",
    "items taken out": WRITTEN + "Let y be items 2 through 9 of kept.\n",
    "two of it, one after the other": WRITTEN + "Let y be kept + kept.\n",
    "copies of it": WRITTEN + "Let y be 2 copies of kept.\n",
    "rows that are each the whole": WRITTEN + "Let y be [kept, kept].\n",
    "its length": WRITTEN + "Let y be length of kept.\n",
    "a table as a result": "Let a be z[7] + 0.0.\nLet y be z.\n",
    "a table pushed whole": "Let a be z[7] + 0.0.\nLet y be a new Seq of (Seq of Float).\nPush z to y.\n",
    "a copy written at its own items": """Set kept[7] to 1.0.
Set kept[1] to 2.0.
Let b be copy of kept.
Repeat for k from 2 to 3:
    Set b[k] to b[1].
Let y be 0.0.
Repeat for k from 1 to n * m:
    Set y to y + b[k] * k.
""",
    "state set to a table": "Let a be kept[7] + z[7].\nSet kept to z.\nSet kept[1] to a.\nLet y be kept[24].\n",
    "state set to as many numbers": "Set kept to 24 copies of 1.0.\n" + WRITTEN + "Let y be kept[7].\n",
}

FUNCTIONS = """## To g (a: mutable Seq of Float):
    Set a[2] to a[1] + 1.0.
    Set a to 24 copies of 0.0.
    Set a[7] to 4.0.
## To f (a: Seq of Float) -> Float:
    Return a[8] + a[9].
## To h (a: Seq of Float) -> Seq of Float:
    Repeat for k from 2 to 3:
        Set a[k] to a[1].
    Return a.
## Main
g(kept).
Let b be h(z).
Let y be f(kept) + kept[24] + f(z) + b[3].
"""


@pytest.mark.parametrize("source", [*("## Main\n" + s for s in WHOLE.values()), FUNCTIONS], ids=[*WHOLE, "parameters"])
def test_a_flat_table_is_one_sequence_everywhere(source: str) -> None:
    graph = graph_of(source, FACTS)
    for seed in range(2):
        agree(source, FACTS, {"z": floats(seed, N, M), "kept": np.zeros((N, M))}, graph=graph)


NESTED = {
    "rows are set and items asked for": "Set kept to n copies of (m copies of 0.0).\nLet y be kept[7] + 0.0.\n",
    "items are asked for and rows are set": "Let y be kept[7] + 0.0.\nSet kept to n copies of (m copies of 0.0).\n",
    "a row of what is flat": WRITTEN + "Let y be kept[1][1].\n",
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_flat_here_and_nested_there_is_refused(name: str) -> None:
    ((_, why),) = refusals("## Main\n" + NESTED[name], FACTS)
    told = ("used both as a nested and as a flat", "may exceed 6, the length", "a number stands where a sequence")
    assert any(t in why for t in told)


def test_rows_that_nothing_reads_flat_stay_rows() -> None:
    source = "## Main\nSet kept to n copies of (m copies of 2.0).\nLet y be kept[1].\n"
    graph = agree(source, FACTS, {"kept": np.zeros((N, M))})
    ((_, number),) = graph.results
    assert graph.tensors[number].dims == (M,)
