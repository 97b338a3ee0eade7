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
from spatial.plan.work import Parts, computed, parts_of, served
from spatial.target import Target

TARGETS = ("wormhole-n150", "blackhole-p150", "xdna2")
FAMILIES: dict[str, tuple[Shape, ...]] = {
    "prefill": ((512, 4096, 4096), (512, 4096, 14336), (512, 14336, 4096), (2048, 4096, 4096), (2048, 4096, 14336)),
    "decode": ((32, 4096, 14336),),
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
    products, steps, works = (
        _products(m),
        _steps(parts),
        sum(float(computed(m, w, d)[0]) for w, d in parts.works.items()),
    )
    once, moved, rate = _once(m), float(traffic(m)[0]), target.memory.unplaced
    return Explained(
        plan,
        plan.cycles,
        timed(template, plan, target),
        products * items / target.sites,
        turns * target.sites / items,
        (works - steps) / (products * turns),
        once / rate,
        moved / once,
        float(served(parts)[0]) * rate / moved,
        target.section_cycles + steps,
    )


def _products(m: Measures) -> float:
    """Cycles of the page products of an item."""
    total = 0.0
    for work in m.model.work:
        for e in work.evaluated if work.matrix else ():
            each = e.times * float(m.blocked(e.coords)[0]) if e.out is None else 0.0
            total += e.cycles * each * _rounds(m, work.stage, e.depth)
    return total


def _rounds(m: Measures, stage: str, depth: int) -> float:
    """Iterations of a stage at `depth` in a turn."""
    from spatial.plan.work import trips

    return float(trips(m, m.model.body.stage(stage), depth)[0])


def _steps(parts: Parts) -> float:
    """Cycles of the steps of what computes."""
    bare = {name: replace(does, update={}, made={}) for name, does in parts.works.items()}
    return sum(float(computed(parts.m, name, does)[0]) for name, does in bare.items())


def _once(m: Measures) -> float:
    """Bytes of every operand, each moved once."""
    total = 0.0
    for moved in (*m.model.loads, *m.model.stores):
        places = prod(m.model.body.items.grid[a] for a in moved.axes)
        unit = m.target.memory.align
        total += m.model.streams[moved.stream].fires * places * moved.runs * -(-moved.run_bytes // unit) * unit
    return total


def line(shape: Shape, stored: str, x: Explained) -> str:
    block = " ".join(f"{k}:{n}" for k, n in x.plan.block)
    side = "compute" if x.sides[0] >= x.sides[1] else "memory"
    return (
        f"  {'x'.join(map(str, shape)):>16} {stored:5} {x.timed:9.0f} timed {x.priced / x.timed - 1:+6.1%} price, {side} "
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
