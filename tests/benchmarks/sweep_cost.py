"""What the passes cost, and a section planned before: `python tests/benchmarks/sweep_cost.py [EVERY]`.

Every EVERY-th (12th) point of the published sweep that has a plan: processor time of the eight passes, each with the
validation after it, of sections that nothing is known of; and of the same section again: what a lowering that has
planned it takes to find it, and a build that finds it in the store.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from plan.sweep.ops import OPS
from plan.sweep.outcomes import target_of
from plan.sweep.points import Point, points
from running import layouts, lifted

from spatial.build.actions import StoredNotes
from spatial.build.canonical import digest
from spatial.build.steps.lower import Planned
from spatial.build.store import Store
from spatial.errors import Refused
from spatial.ir import wire
from spatial.ir.body import Body
from spatial.lowering import Options, lower
from spatial.passes import PASS_ORDER, run_passes
from spatial.target import Target

Planning = list[tuple[Body, Target, Body, dict[str, float]]]


def planned(point: Point) -> Planning:
    """The templates of a point, their targets, what the passes made, and the seconds each took."""
    target, case = target_of(point.target, point.scratch), OPS[point.op](point.sizes, point.stored)
    found: Planning = []

    def run(template: Body, sites: Target) -> Body:
        took: dict[str, float] = {}
        body = template
        for name, one in PASS_ORDER:
            begin = time.process_time()
            body = run_passes(body, sites, [(name, one)])
            took[name] = time.process_time() - begin
        found.append((template, sites, body, took))
        return body

    lower(lifted(case.graph), layouts(case, target), target, Options(run=run))
    return found


def main(every: int) -> None:
    """Measure and print."""
    sections: Planning = []
    for point in [p for p in points() if not p.pins][::every]:
        try:
            sections += planned(point)
        except Refused:
            continue
    told(sections)
    looked(sections)


def told(sections: Planning) -> None:
    """Print what each pass and all of them take."""
    each: defaultdict[str, list[float]] = defaultdict(list)
    for *_, took in sections:
        for name, seconds in took.items():
            each[name].append(seconds * 1000)
        each["all eight"].append(sum(took.values()) * 1000)
    for name, ms in each.items():
        high = np.percentile(ms, 95)
        print(f"{name:22} {statistics.median(ms):7.1f} ms median, {high:7.1f} ms at the 95th percentile")


def looked(sections: Planning) -> None:
    """Print what it takes to find what was planned before."""
    known: dict[tuple[Body, Target], Body] = {}
    here, there = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        notes = StoredNotes(Store(Path(folder)), "lower")
        for template, target, body, _ in sections:
            known[template, target] = body
            stored = Planned(notes, digest(wire.pack(target)))
            stored.keep(template, body)
            begin = time.process_time()
            assert known[template, target] == body
            here.append((time.process_time() - begin) * 1000)
            begin = time.process_time()
            assert stored.lookup(template) == body
            there.append((time.process_time() - begin) * 1000)
    for where, ms in (("in the same lowering", here), ("in the store", there)):
        high = np.percentile(ms, 95)
        print(f"found {where:21} {statistics.median(ms):7.2f} ms median, {high:7.2f} ms at the 95th percentile")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
