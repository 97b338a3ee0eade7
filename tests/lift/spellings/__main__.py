"""`python -m lift.spellings [--equal | --mutants] [COUNT [FIRST]]` from `tests/`: draws by seed, says what became.

Without a flag, COUNT programs. With `--equal`, COUNT problems of every family: which choices of a spelling change the
graph. With `--mutants`, changed programs, drawn and hand-written, until COUNT of them lifted.
"""

from __future__ import annotations

import random
import sys

from lift.spellings import mutants
from lift.spellings.equal import compared, table
from lift.spellings.outcome import draw, judged, report
from lift.spellings.rows_and_tables import FAMILIES

numbers = [a for a in sys.argv[1:] if not a.startswith("--")]
flag = next((a for a in sys.argv[1:] if a.startswith("--")), "")
default = {"--equal": "5", "--mutants": "2000"}.get(flag, "300")
count, first = (int(a) for a in (numbers + [default, "0"][len(numbers) :])[:2])
seeds = range(first, first + count)
match flag:
    case "--equal":
        lines = table([c for seed in seeds for family in range(len(FAMILIES)) for c in compared(family, seed)])
    case "--mutants":
        lines = mutants.report(mutants.lifted_mutants(count, first))
    case "":
        lines = report([judged(draw(random.Random(seed).randrange)) for seed in seeds])
    case _:
        sys.exit(f"no {flag}: --equal or --mutants")
print("\n".join(lines))
