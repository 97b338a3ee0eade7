"""`python -m lift.spellings [--equal] [COUNT [FIRST]]` from `tests/`: draws programs by seed; says what became of them.

With `--equal`, COUNT problems of every family: which choices of a spelling change the graph.
"""

from __future__ import annotations

import random
import sys

from lift.spellings.equal import compared, table
from lift.spellings.outcome import draw, judged, report
from lift.spellings.rows_and_tables import FAMILIES

numbers = [a for a in sys.argv[1:] if a != "--equal"]
equal = len(numbers) < len(sys.argv) - 1
count, first = (int(a) for a in (numbers + ["5" if equal else "300", "0"][len(numbers) :])[:2])
seeds = range(first, first + count)
if equal:
    print("\n".join(table([c for seed in seeds for family in range(len(FAMILIES)) for c in compared(family, seed)])))
else:
    print("\n".join(report([judged(draw(random.Random(seed).randrange)) for seed in seeds])))
