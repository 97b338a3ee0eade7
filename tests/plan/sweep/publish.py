"""Plans every point of the sweep and writes the published tables: `doit sweep`, or this file by itself.

Two processes, some minutes. No time and nothing of the machine is in the tables: where they come out otherwise, plans
have changed, and the difference is to be read.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from plan.sweep.outcomes import PUBLISHED, outcome, written
from plan.sweep.points import Point, points


def line_of(point: Point) -> str:
    """The line of a point, which is named where planning it fails."""
    try:
        return outcome(point).line()
    except Exception as error:
        error.add_note(f"at {point}")
        raise


def main() -> None:
    """Plan, write, and tell how many there are of what."""
    todo = points()
    with ProcessPoolExecutor(2) as pool:
        lines = dict(zip(todo, pool.map(line_of, todo, chunksize=16), strict=True))
    PUBLISHED.mkdir(exist_ok=True)
    for name, text in written(lines).items():
        (PUBLISHED / name).write_text(text, encoding="utf-8")
    counts = Counter((p.target, "refused" if line.startswith("refused: ") else "planned") for p, line in lines.items())
    for (target, what), count in sorted(counts.items()):
        print(f"{target:16} {what:8} {count}")


if __name__ == "__main__":
    main()
