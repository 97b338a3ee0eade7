"""Whether a target is a chip at all: the part of obligation 1 that everything else divides by.

A bundle carries its target, so it is judged like the rest of the artifact. Knows no body.
"""

from __future__ import annotations

from spatial.check.verdict import Log
from spatial.numerics import PRECISIONS
from spatial.target import Target

MOST_SITES = 1 << 14
"""Sites that are looked at one by one."""


def check_target(target: Target, log: Log) -> bool:
    """Whether sizes are positive and formats exist."""
    before = log.findings
    at = log.at("shape", "target")
    grid, limits = (target.columns, target.rows, target.chips), (target.scratch, target.queues, target.counter_bits)
    at.require(min(*grid, *target.tile, *limits) >= 1, "a site, a tile or a count of it is nothing")
    if target.columns * target.rows > MOST_SITES:
        at.unsure(f"it has more than {MOST_SITES} sites")
    at.require(min(target.descriptors, target.locks) >= 0, "it has fewer descriptors or locks than none")
    memory = target.memory
    for what, n in (
        ("granule of memory", memory.granule),
        ("alignment of memory", memory.align),
        ("alignment of scratch", target.align),
    ):
        at.require(n >= 1 and n & (n - 1) == 0, f"the {what}, {n} bytes, is no power of two")
    at.require(memory.align >= memory.granule, "tensors are aligned more finely than a write covers memory")
    matrix, vector = target.matrix, target.vector
    for what, prec, kind in (
        ("accumulator", matrix.float_accumulate, "float"),
        ("accumulator", matrix.int_accumulate, "int"),
        ("vector datapath", vector.float, "float"),
        ("vector datapath", vector.int, "int"),
    ):
        at.require(prec in PRECISIONS and PRECISIONS[prec].kind == kind, f"{prec!r} is no {kind} format of the {what}")
    names = [e.name for e in target.engines]
    at.require(len(set(names)) == len(names), "two engines have one name")
    return log.findings == before
