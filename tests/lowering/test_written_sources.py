"""Programs as a person writes them: lowered whole, accepted, and computing what the interpreter of the source says."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import LONE, SMALL
from sources import Source, compiled, hold, read_sources, sources
from support import REFERENCE, TF32

from spatial.errors import Refused
from spatial.target import Target

SOURCES = read_sources(Path(__file__).parent / "programs")


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_written_source_computes_what_it_says(source: Source, target: Target):
    work = compiled(source, target)
    for seed in (1, 2, 4):
        hold(work, seed)


def test_what_is_read_at_two_run_time_places_is_refused():
    text = """# sizes n = 9, m = 5
# table z: Float [n, m]
# table k: Int [n] 0 .. n - 1
# table j: Int [n] 0 .. m - 1
## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Push z[item i of k + 1][item i of j + 1] to y.
"""
    (source,) = sources("two places", text)
    with pytest.raises(Refused, match="more than one run-time index"):
        compiled(source, REFERENCE)
