"""What the search for a plan costs: `python tests/benchmarks/plan_search.py [REPEATS]`.

The products of SmolLM2-135M, Llama-3.1-8B and Llama-3.1-70B, in bf16 and Q8_0, on every target of `priced_and_timed`:
processor time of one search each, the median of REPEATS (3), in classes of row counts; no search knows of another.
"""

from __future__ import annotations

import statistics
import sys
import time
from itertools import product as pairs
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.priced_and_timed import ROOT, ROWS, TABLES, TARGETS
from plan.priced_and_timed import product
from plan.templates import template_of

from spatial.build.targets import load_target
from spatial.errors import Refused
from spatial.ir.body import Body
from spatial.plan.search import Choice, choose
from spatial.target import Target


def search(template: Body, target: Target, repeats: int) -> tuple[float, Choice]:
    """Milliseconds of one search, and what it found."""
    took: list[float] = []
    for _ in range(repeats - 1):
        begin = time.process_time()
        choose(template, target)
        took.append(time.process_time() - begin)
    begin = time.process_time()
    choice = choose(template, target)
    return statistics.median([*took, time.process_time() - begin]) * 1000, choice


def main(repeats: int) -> None:
    """Measure and print."""
    targets = [load_target(ROOT / "targets" / f"{name}.yaml") for name in TARGETS]
    tables = dict.fromkeys(kn for found in TABLES.values() for kn in found)
    for rows in ROWS:
        took: list[float] = []
        choices: list[Choice] = []
        for target, (k, n), stored in pairs(targets, tables, ("bf16", "q8_0")):
            try:
                ms, choice = search(template_of(product((rows, k, n), stored), target), target, repeats)
            except Refused:
                continue
            took.append(ms)
            choices.append(choice)
        print(
            f"{rows:5} rows, {len(took)} sections: {statistics.median(took):.0f} ms median, "
            f"{np.percentile(took, 95):.0f} ms at the 95th percentile, {max(took):.0f} ms at most; "
            f"of {statistics.median(c.candidates for c in choices):.0f} candidates "
            f"{statistics.median(c.priced for c in choices):.0f} priced"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
