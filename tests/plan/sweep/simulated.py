"""Plans of the sweep run by the simulator, held to what their graphs mean.

Nothing is shrunk: points are run at the size they have. Products are multiplied by numpy in binary64, with the bound of
`evaluate` in closed form, for it holds every term of a box at once; all else is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from evaluate import Exactness, Held, evaluate
from plan.sweep.ops import elements, steps
from plan.sweep.outcomes import Outcome
from plan.sweep.points import Point
from running import EXACTNESS, differences, ran

from spatial.numerics import Array

MOST = 1 << 30
"""Multiply-adds of the largest point that is run."""
SMALL = 1 << 24
"""Of those that are run in moments."""
SEED = 2
"""Tables around zero, all values different."""


def sample(found: Sequence[Point], count: int, large: int) -> list[Point]:
    """Of points that have plans `count` small ones, of every operation, format and target, products of floats more
    than others; and of each target up to `large` of the largest that are run at all."""
    small = [p for p in found if steps(p.op, p.sizes) <= SMALL and elements(p.op, p.sizes) <= SMALL]
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for p in sorted(small, key=lambda p: (steps(p.op, p.sizes), p)):
        groups.setdefault((p.op, p.stored, p.target), []).append(p)
    chosen: list[Point] = []
    for rank in range(max(map(len, groups.values()), default=0)):
        for (op, *_), group in groups.items():
            many = 4 if op == "matmul" else 1
            chosen += group[many * rank : many * (rank + 1)]
    most: list[Point] = []
    for target in sorted({p.target for p in found}):
        some = [p for p in found if p.target == target and p.op == "matmul" and steps(p.op, p.sizes) <= MOST]
        most += sorted(some, key=lambda p: (-steps(p.op, p.sizes), p))[:large]
    return [*chosen[:count], *most]


def wrong(made: Outcome) -> list[str]:
    """What a plan computes that its graph does not mean."""
    assert made.lowering is not None
    case = replace(made.case, seed=SEED)
    got, held = ran(case, made.lowering.into_whole(), made.target, fills=made.lowering.fills)
    exactness = EXACTNESS[made.target.matrix.operand]
    number = case.graph.results[0][1]
    match made.point.op:
        case "matmul" | "int_product":
            x, w = held["input0"], held.get("w", held.get("weight1"))
            assert w is not None
            want = {number: multiplied(x, w.T if made.point.stored == "q8_0" else w, exactness)}
        case "scores" | "mix":
            want = {number: attended(made.point, held, exactness)}
        case _:
            want = evaluate(case.graph, held, exactness)
    return differences(case, got, want)


def multiplied(x: Array, w: Array, exactness: Exactness) -> Held:
    """The product of two matrices, or of stacks of them, as `evaluate` has it."""
    # Sums of products of small integers are exact in binary64.
    value = x.astype(np.float64) @ w.astype(np.float64)
    if x.dtype.kind == "i":
        return Held.exact(np.rint(value).astype(np.int64))
    terms = np.abs(x) @ np.abs(w)
    unit = exactness.unit
    return Held(value, terms * (2 * exactness.factor + (x.shape[-1] + 1) * unit) + unit * np.abs(value))


def attended(point: Point, held: Mapping[str, Array], exactness: Exactness) -> Held:
    """Scores or mixed values of heads, those of a group beside one table."""
    rows, groups, rep, head, positions = point.sizes
    first, second = (values for _, values in sorted(held.items()))
    table = np.repeat(second.reshape(positions, groups, head).transpose(1, 0, 2), rep, axis=0)
    if point.op == "scores":
        q = first.reshape(rows, groups * rep, head).transpose(1, 0, 2)
        made, scale = multiplied(q, table.transpose(0, 2, 1), exactness), head**-0.5
        return Held(made.value * scale, (made.error + 2 * exactness.unit * np.abs(made.value)) * scale)
    made = multiplied(first, table, exactness)
    flat = [part.transpose(1, 0, 2).reshape(rows, groups * rep * head) for part in (made.value, made.error)]
    return Held(flat[0], flat[1])
