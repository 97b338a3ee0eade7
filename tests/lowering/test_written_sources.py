"""Programs as a person writes them: lowered whole, accepted, and computing what the interpreter of the source says."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import LONE, SMALL
from sources import Source, compiled, hold, read_sources
from support import REFERENCE, TF32

from spatial.target import Target

SOURCES = read_sources(Path(__file__).parent / "programs")


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_a_written_source_computes_what_it_says(source: Source, target: Target):
    work = compiled(source, target)
    for seed in (1, 2, 4):
        hold(work, seed)
