"""What is left of the time of large products beside what explains it: `python tests/benchmarks/residue.py [TARGET …]`.

Of each product the plan chosen is timed by the cycle twin. Its roofline has two sides: page products spread evenly over
all sites, and each operand moved once at the rate the plan's readers get. Factors multiply them:

    parted      page products of the busiest site over its even share
    dequant     what computes over page products alone
    again       bytes moved over those of each operand once
    banks       bytes of the fullest bank over its even share

Fixed costs stand apart: the section's start and barrier, and the steps of what computes. The residue is the time
without them over the longer side with its factors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.priced_and_timed import ROOT
from plan.priced_and_timed import Shape, product, timed
from plan.templates import template_of

from spatial.build.targets import load_target
from spatial.errors import Refused
from spatial.ir.body import Plan
from spatial.plan.cost import traffic
from spatial.plan.measures import Measures
from spatial.plan.model import model_of
from spatial.plan.order import ranked
from spatial.plan.search import plan_of, priced
from spatial.plan.work import Parts, computed, parts_of, served, trips
from spatial.target import Target

TARGETS = ("wormhole-n150", "blackhole-p150", "xdna2")
FAMILIES: dict[str, tuple[Shape, ...]] = {
    "prefill": ((512, 4096, 4096), (512, 4096, 14336), (512, 14336, 4096), (2048, 4096, 4096), (2048, 4096, 14336)),
    "decode": ((1, 4096, 14336), (1, 14336, 4096), (32, 4096, 14336), (32, 14336, 4096), (32, 8192, 28672)),
}


@dataclass(frozen=True)
class Explained:
    """A plan, its price and time, and what explains the time: cycles of both sides of its roofline, their factors, and
    fixed costs."""

    plan: Plan
    priced: float
    timed: float
    computing: float
    parted: float
    dequant: float
    moving: float
    again: float
    banks: float
    fixed: float

    @property
    def sides(self) -> tuple[float, float]:
        """Both sides with their factors."""
        return self.computing * self.parted * self.dequant, self.moving * self.again * self.banks

    @property
    def residue(self) -> float:
        """The time without fixed costs over the longer side."""
        return (self.timed - self.fixed) / max(self.sides)


def explained(shape: Shape, stored: str, target: Target) -> Explained:
    """The plan of a product, timed and explained."""
    template = template_of(product(shape, stored), target)
    near, cost, _ = priced(model_of(template, target), target)
    row = int(ranked(near, cost)[0])
    plan, m = plan_of(near, cost, row), near.take(np.array([row]))
    parts = parts_of(m)
    items, turns = int(m.items[0]), int(m.turns[0])
    products, steps = _products(m), _steps(parts)
    works = sum(float(computed(m, name, does)[0]) for name, does in parts.works.items())
    once, moved = _moving(m)
    return Explained(
        plan,
        plan.cycles,
        timed(template, plan, target),
        products * items / target.sites,
        turns * target.sites / items,
        (works - steps) / (products * turns),
        once,
        moved / once,
        float(served(parts)[0]) / moved,
        target.section_cycles + steps,
    )


def _products(m: Measures) -> float:
    """Cycles of the page products of an item."""
    total = 0.0
    for work in m.model.work:
        stage = m.model.body.stage(work.stage)
        for e in work.evaluated if work.matrix else ():
            if e.out is None:
                total += e.cycles * e.times * float((m.blocked(e.coords) * trips(m, stage, e.depth))[0])
    return total


def _steps(parts: Parts) -> float:
    """Cycles of the steps of what computes."""
    bare = {name: replace(does, update={}, made={}) for name, does in parts.works.items()}
    return sum(float(computed(parts.m, name, does)[0]) for name, does in bare.items())


def _moving(m: Measures) -> tuple[float, float]:
    """Cycles of the memory, its banks evenly used, for every operand once, and for all that the plan moves; each load
    at the rate of its readers."""
    memory, once, moves = m.target.memory, 0.0, 0.0
    for moved in (*m.model.loads, *m.model.stores):
        load = moved in m.model.loads
        rate = memory.rate if load and bool(m.scattered(moved)[0]) else memory.unplaced
        places = prod(m.model.body.items.grid[a] for a in moved.axes)
        runs = moved.runs * -(-moved.run_bytes // memory.align) * memory.align
        once += m.model.streams[moved.stream].fires * places * runs / rate
        alone = replace(m.model, loads=(moved,) if load else (), stores=() if load else (moved,))
        moves += float(traffic(Measures(alone, m.candidates, m.target))[0]) / rate
    return once, moves


def line(shape: Shape, stored: str, x: Explained) -> str:
    block = " ".join(f"{k}:{n}" for k, n in x.plan.block)
    name = "x".join(map(str, shape))
    side = "compute" if x.sides[0] >= x.sides[1] else "memory"
    return (
        f"  {name:>16} {stored:5} {x.timed:9.0f} timed, price {x.priced / x.timed - 1:+.1%}, {side} "
        f"compute {x.computing:8.0f} x {x.parted:.2f} parted x {x.dequant:.2f} dequant, "
        f"memory {x.moving:8.0f} x {x.again:.2f} again x {x.banks:.2f} banks, fixed {x.fixed:7.0f}, "
        f"residue {x.residue:.3f}; {x.plan.rect[0]}x{x.plan.rect[1]} {block} "
        f"cast {','.join(s.removeprefix('load_') for s in x.plan.multicast) or '-'} depth {x.plan.depth[0][1]}"
    )


def main(names: Sequence[str]) -> None:
    """Measure and print."""
    found: dict[str, list[float]] = {}
    for name in names:
        target = load_target(ROOT / "targets" / f"{name}.yaml")
        for family, shapes in FAMILIES.items():
            print(f"{name}, {family}")
            for shape in shapes:
                for stored in ("bf16", "q8_0"):
                    start = time.process_time()
                    try:
                        x = explained(shape, stored, target)
                    except Refused as error:
                        print(f"  {shape} {stored}: {error}")
                        continue
                    found.setdefault(family, []).append(x.residue)
                    print(line(shape, stored, x), f"({time.process_time() - start:.1f} s)", flush=True)
    for family, residues in found.items():
        some = np.array(residues)
        print(f"{family}: residue {np.median(some):.3f} at the median of {len(some)}, {some.max():.3f} at most")


if __name__ == "__main__":
    main(sys.argv[1:] or TARGETS)
