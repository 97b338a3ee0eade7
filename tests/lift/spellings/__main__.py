"""`python -m lift.spellings [COUNT [FIRST]]` from `tests/`: draws programs by seed and prints what became of them."""

from __future__ import annotations

import random
import sys

from lift.spellings.outcome import draw, judged, report

count, first = (int(a) for a in (sys.argv[1:] + ["300", "0"][len(sys.argv) - 1 :])[:2])
print("\n".join(report([judged(draw(random.Random(seed).randrange)) for seed in range(first, first + count)])))
