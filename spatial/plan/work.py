"""What a call keeps every engine, port and bank at work for, over candidates: sums in closed form, no clock.

Prices name what bounds a plan by these, and no plan takes less than the longest of them (`bound`). Waits are no work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spatial.ir.body import Stage
from spatial.plan.candidates import Ints
from spatial.plan.compute import Computing, computing_of
from spatial.plan.engines import engines_of, sender_of
from spatial.plan.measures import Floats, Measures
from spatial.plan.movers import Reading, Writing, reading, writing
from spatial.target import Target


@dataclass(frozen=True)
class Parts:
    """What each stage of some candidates costs. `engines`: of every stage, and of what sends a load's pages on, the
    number of its engine among the target's."""

    m: Measures
    loads: dict[str, Reading]
    stores: dict[str, Writing]
    works: dict[str, Computing]
    engines: dict[str, Ints]

    @cached_property
    def computed(self) -> dict[str, Floats]:
        """Cycles for which each stage computes in a call."""
        return {name: computed(self.m, name, does) for name, does in self.works.items()}

    def take(self, rows: Ints) -> Parts:
        """The same of some candidates."""
        return Parts(
            self.m.take(rows),
            {n: x.take(rows) for n, x in self.loads.items()},
            {n: x.take(rows) for n, x in self.stores.items()},
            {n: x.take(rows) for n, x in self.works.items()},
            {n: x[rows] for n, x in self.engines.items()},
        )


def parts_of(m: Measures) -> Parts:
    """What each stage costs, over candidates."""
    loads = {x.stage: reading(m, x, n) for n, x in enumerate(m.model.loads)}
    stores = {x.stage: writing(m, x, n + len(loads)) for n, x in enumerate(m.model.stores)}
    return Parts(m, loads, stores, {w.stage: computing_of(m, w) for w in m.model.work}, engines_of(m))


def moving(target: Target) -> list[int]:
    """The engines that carry loads or stores."""
    return [n for n, e in enumerate(target.engines) if {"load", "store"} & set(e.kinds)]


def computing(target: Target) -> list[int]:
    """The other engines."""
    return [n for n in range(len(target.engines)) if n not in moving(target)]


def networks(target: Target) -> list[int]:
    """Of each engine, the network it moves pages on."""
    return [max(e.network, 0) for e in target.engines]


def trips(m: Measures, stage: Stage, depth: int) -> Floats:
    """Iterations of a stage at `depth` in a turn."""
    out, loop = np.ones(m.candidates.count), m.model.loop
    for n, count in enumerate(stage.loops[: max(depth, 0)]):
        blocked = loop is not None and m.model.coordinates[loop].name == f"l{n + 1}"
        out = out * (count // m.candidates.factors[:, loop] if blocked else count)
    return out


def computed(m: Measures, work: str, does: Computing) -> Floats:
    """Cycles for which a stage computes in a call."""
    stage = m.model.body.stage(work)
    total = np.zeros(m.candidates.count)
    for depth in {*does.step, *does.update, *does.made}:
        total = total + does.least(depth) * trips(m, stage, depth) * (m.turns if depth >= 0 else 1)
    return total


def read(m: Measures, load: Reading) -> Floats:
    """Cycles for which a load keeps its mover in a call, sending by the same mover included."""
    step, times, casts = m.target.step_cycles, batches(m, load), load.cast & ~load.apart
    return times * (load.issue + casts * load.send) + steps(m, load) * step * (1 + casts)


def sent(m: Measures, load: Reading) -> Floats:
    """Cycles for which sending a load's pages keeps a mover of its own in a call."""
    each = batches(m, load) * load.send + steps(m, load) * m.target.step_cycles
    return np.where(load.cast & load.apart, each, 0.0)


def steps(m: Measures, load: Reading) -> Ints:
    """Steps of a load in a call: what stays is one for all its batches."""
    return np.where(load.stays, 1, batches(m, load))


def written(m: Measures, store: Writing) -> Floats:
    """Cycles for which a store keeps its mover in a call."""
    return (m.target.step_cycles + store.send) * stored(m, store)


def batches(m: Measures, load: Reading) -> Ints:
    """Batches that a load reads in a call."""
    return load.fires * np.where(load.stays, 1, m.turns)


def stored(m: Measures, store: Writing) -> Ints:
    """Batches that a store writes in a call."""
    return m.fires(m.model.streams[store.moved.stream]) * m.turns


def served(parts: Parts) -> Floats:
    """Cycles for which the fullest bank serves in a call."""
    m, total = parts.m, np.zeros(parts.m.candidates.count)
    for load in parts.loads.values():
        total = total + load.even * batches(m, load)
    for store in parts.stores.values():
        total = total + store.round * stored(m, store)
    return total


def busiest(parts: Parts, cycles: Mapping[str, Floats], of: Sequence[int] | None = None) -> Floats:
    """The most that the stages of one engine have together; `of`: or of one of what these numbers of engines name."""
    names = np.arange(len(parts.m.target.engines)) if of is None else np.array(of)
    count = parts.m.candidates.count
    total, columns = np.zeros((int(names.max()) + 1, count)), np.arange(count)
    for stage, each in cycles.items():
        total[names[parts.engines[stage]], columns] += each
    return np.asarray(total.max(axis=0))


def received(parts: Parts) -> Floats:
    """Cycles for which the busiest port takes pages in."""
    taken: dict[str, Floats] = {}
    for name, load in parts.loads.items():
        times, casts = batches(parts.m, load), load.cast & ~load.apart
        taken[name] = (load.receive * casts + load.transfer * ~casts) * times
        taken[sender_of(parts.m, load.moved)] = load.receive * (load.cast & load.apart) * times
    return busiest(parts, taken, networks(parts.m.target))


def paths(parts: Parts) -> Floats:
    """[4, candidates]: cycles for which the compute engine, the busiest mover, the busiest port and the fullest bank
    work in a call."""
    m, loads = parts.m, parts.loads.items()
    moves = {n: read(m, x) for n, x in loads} | {n: written(m, x) for n, x in parts.stores.items()}
    moves |= {sender_of(m, x.moved): sent(m, x) for _, x in loads}
    return np.stack([busiest(parts, parts.computed), busiest(parts, moves), received(parts), served(parts)])
