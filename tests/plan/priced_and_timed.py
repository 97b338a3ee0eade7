"""Plans of page products, priced by the search and timed by the cycle twin, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from graphs import Drawn, Maker, Piece, Reduction, at, drawn, fn, read, var
from plan.templates import template_of, under
from simulate.twin.pipes import program_of

from spatial.ir.body import Body, Plan
from spatial.ir.graph import Acc
from spatial.plan.bound import bound
from spatial.plan.cost import Price, price
from spatial.plan.measures import Measures
from spatial.plan.model import model_of
from spatial.plan.order import BAND, ranked
from spatial.plan.search import legal_plans, plan_of
from spatial.plan.work import parts_of
from spatial.simulate.twin.clock import time_program
from spatial.target import Target

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Timed:
    """A plan of the product of [m, k] by [k, n] on a target, its rank (-1: drawn at random), its price, what bounds
    it, and what the twin says."""

    target: str
    shape: Shape
    stored: str
    rank: int
    plan: Plan
    priced: float
    bound: str
    timed: float

    @property
    def error(self) -> float:
        """The part of the time by which the price misses it: below zero where it is too low."""
        return self.priced / self.timed - 1.0


def product(shape: Shape, stored: str, activations: str = "") -> Drawn:
    """Activations [m, k] by a table of weights in the format `stored`, bf16 or q8_0. `activations`: their format, else
    f32 where weights are q8_0, and bf16."""
    m, k, n = shape
    make = Maker()
    x = make.table((m, k))
    blocks = stored == "q8_0"
    w = make.tensor((n, k) if blocks else (k, n), "float", "weight", "w")
    make.stored["w"] = stored
    if activations or not blocks:
        make.stored["input0"] = activations or stored
    term = fn("mul", read(x, var(0), var(2)), read(w, var(1), var(2)) if blocks else read(w, var(2), var(1)))
    piece = Piece((m, n), (k,), at(var(0), var(1)), Acc(0), (Reduction("sum", term),))
    make.result(make.put(make.made((m, n)), piece))
    return drawn(make, 0)


def timed(template: Body, plan: Plan, target: Target) -> float:
    """Cycles of a template under a plan, by the twin."""
    return time_program(program_of(under(template, plan, target, "persist")), target).cycles


def best(shape: Shape, stored: str, target: Target, count: int) -> Iterator[Timed]:
    """The `count` plans ranked first."""
    template = template_of(product(shape, stored), target)
    near, cost = first_plans(legal_plans(model_of(template, target), target), count)
    for rank, row in enumerate(ranked(near, cost)[:count].tolist()):
        plan = plan_of(near, cost, row)
        name = target.name, shape, stored, rank
        yield Timed(*name, plan, plan.cycles, cost.bound(row), timed(template, plan, target))


def first_plans(m: Measures, count: int) -> tuple[Measures, Price]:
    """Candidates with the `count` ranked first among them: none that is left out comes into the bands of these."""
    lowest = bound(parts_of(m))
    cycles = np.sort(price(m.take(np.argsort(lowest, kind="stable")[: 4 * count])).cycles)
    near = m.take(lowest <= cycles[:count].max() + BAND * cycles[0])
    return near, price(near)


def drawn_plans(shape: Shape, stored: str, target: Target, seed: int, count: int) -> Iterator[Timed]:
    """`count` legal plans drawn at random."""
    template = template_of(product(shape, stored), target)
    everything = legal_plans(model_of(template, target), target)
    rows = np.random.default_rng(seed).permutation(everything.candidates.count)[:count]
    few = everything.take(rows)
    cost = price(few)
    for row in range(len(rows)):
        plan = plan_of(few, cost, row)
        yield Timed(target.name, shape, stored, -1, plan, plan.cycles, cost.bound(row), timed(template, plan, target))


def summary(found: Sequence[Timed]) -> str:
    """How far prices are from times."""
    errors = np.array([x.error for x in found])
    size = np.abs(errors)
    return (
        f"{len(found):4} plans, error {np.median(size):6.1%} median, {np.percentile(size, 95):6.1%} at the 95th "
        f"percentile, from {errors.min():+.1%} to {errors.max():+.1%}"
    )


def regrets(found: Sequence[Timed]) -> list[float]:
    """For each section, the time of the plan ranked first over the least of all its ranked plans."""
    sections: dict[tuple[str, Shape, str], list[Timed]] = {}
    for x in found:
        if x.rank >= 0:
            sections.setdefault((x.target, x.shape, x.stored), []).append(x)
    return [next(x.timed for x in xs if x.rank == 0) / min(x.timed for x in xs) for xs in sections.values()]
