"""What plans are priced at and what the cycle twin says: `python tests/benchmarks/priced_and_timed.py [SECONDS]`.

The products of SmolLM2-135M, Llama-3.1-8B and Llama-3.1-70B by rows (1 and 32 as in decode, 128 and 2048 as in
prefill), in bf16 and Q8_0, on the targets this repository ships. Of each the ten plans ranked first and five legal
ones at random; a product with more multiply-adds than are timed in moments is left out. Sections are taken in an order
drawn once, until SECONDS (90) of the processor are used, so that the figures of a shorter run are a sample of a longer
one's. Lines: how far prices are from times; the plan ranked first against the best of its ten; the worst of either
side with what bounds them; what the search takes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import product as pairs
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from plan.priced_and_timed import Shape, Timed, best, drawn_plans, product, regrets, summary
from plan.templates import template_of

from spatial.build.targets import load_target
from spatial.errors import Refused
from spatial.plan.search import choose
from spatial.target import Target

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("wormhole-n150", "blackhole-p150", "reference", "xdna2", "h100")
TABLES = {
    "SmolLM2-135M": ((576, 576), (576, 192), (576, 1536), (1536, 576), (576, 49152)),
    "Llama-3.1-8B": ((4096, 4096), (4096, 1024), (4096, 14336), (14336, 4096), (4096, 128256)),
    "Llama-3.1-70B": ((8192, 8192), (8192, 1024), (8192, 28672), (28672, 8192), (8192, 128256)),
}
ROWS = (1, 32, 128, 2048)
MOST = 1 << 27
"""Multiply-adds of the largest product that is timed."""
RANKED, RANDOM = 10, 5


def sections() -> list[tuple[Target, Shape, str]]:
    """All that may be timed, in an order drawn once."""
    targets = [load_target(ROOT / "targets" / f"{name}.yaml") for name in TARGETS]
    tables = [kn for found in TABLES.values() for kn in found]
    found = [
        (target, (m, k, n), stored)
        for target, m, (k, n), stored in pairs(targets, ROWS, tables, ("bf16", "q8_0"))
        if m * k * n <= MOST
    ]
    return [found[n] for n in np.random.default_rng(0).permutation(len(found)).tolist()]


def worst(found: Sequence[Timed], high: bool) -> None:
    """Print the five prices that are furthest off on one side."""
    for x in sorted(found, key=lambda x: x.error, reverse=high)[:5]:
        block = " ".join(f"{k}: {n}" for k, n in x.plan.block)
        print(
            f"  {x.error:+7.1%} {x.priced:9.0f} priced {x.timed:9.0f} timed, {x.target} {x.shape} {x.stored}, "
            f"bound by {x.bound}, rect {x.plan.rect} block {block or '-'} multicast {' '.join(x.plan.multicast) or '-'}"
        )


def main(seconds: float) -> None:
    """Time and print."""
    ranked: list[Timed] = []
    random: list[Timed] = []
    searches: list[float] = []
    refused = done = 0
    begin = time.process_time()
    todo = sections()
    for target, shape, stored in todo:
        if time.process_time() - begin > seconds:
            break
        done += 1
        try:
            template = template_of(product(shape, stored), target)
            start = time.process_time()
            choose(template, target)
            searches.append(time.process_time() - start)
            ranked += best(shape, stored, target, RANKED)
            random += drawn_plans(shape, stored, target, 0, RANDOM)
        except Refused:
            refused += 1
    print(f"{done} of {len(todo)} sections, {refused} without a plan or too long to time")
    for name, found in (
        ("first", [x for x in ranked if x.rank == 0]),
        ("ten", ranked),
        ("random", random),
    ):
        print(f"{name:8} {summary(found)}")
    for target, stored in pairs(TARGETS, ("bf16", "q8_0")):
        some = [x for x in ranked if x.target == target and x.stored == stored]
        if some:
            print(f"  {target:14} {stored:5} {summary(some)}")
    first = np.array(regrets(ranked))
    print(
        f"first over best of ten: {np.median(first):.3f} median, {first.max():.3f} at most, "
        f"within 3 % in {np.mean(first <= 1.03):.0%}"
    )
    for name, high in (("priced too high", True), ("priced too low", False)):
        print(name)
        worst([*ranked, *random], high)
    ms = np.array(searches) * 1000
    print(f"search: {np.median(ms):.0f} ms median, {np.percentile(ms, 95):.0f} ms at the 95th percentile")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 90.0)
