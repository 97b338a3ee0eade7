"""A target's figures as whole numbers of time: ticks, transfers, distances.

Time is counted in ticks, sixteen to a cycle, so that a state of the machine either repeats exactly or does not; every
figure is rounded to ticks once, here. Knows no body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from spatial.target import Target

TICKS = 16
"""Ticks of a cycle."""

Site = tuple[int, int]


def ticks(cycles: float) -> int:
    """`cycles` in ticks, rounded."""
    return round(cycles * TICKS)


@dataclass(frozen=True)
class Figures:
    """What moving costs on `target`, in ticks."""

    target: Target

    @cached_property
    def issue(self) -> int:
        """Between the starts of two transfers of one mover."""
        return ticks(self.target.network.issue)

    @cached_property
    def latency(self) -> int:
        """From a read's issue to its first byte."""
        return ticks(self.target.memory.latency)

    @cached_property
    def message(self) -> int:
        """Of a message, both ends together."""
        return ticks(self.target.network.message)

    def transfer(self, size: int) -> int:
        """How long a transfer of `size` bytes keeps a site's port to a network.

        Linear between the sizes the target tells; shorter ones take as long as the shortest; never faster than the
        site's own rate.
        """
        network = self.target.network
        cycles = size / network.rate
        known = [(n, n / rate) for n, rate in network.rates]
        if known:
            if size <= known[0][0]:
                cycles = max(cycles, known[0][1])
            elif size >= known[-1][0]:
                cycles = max(cycles, size / network.rates[-1][1])
            else:
                (a, ta), (b, tb) = next((x, y) for x, y in pairwise(known) if size <= y[0])
                cycles = max(cycles, ta + (tb - ta) * (size - a) / (b - a))
        return ticks(cycles)

    def on_link(self, size: int) -> int:
        """How long `size` bytes keep a link between neighbours."""
        link = self.target.network.link
        return ticks(size / link) if link else 0

    def served(self, size: int, placed: bool) -> int:
        """How long `size` bytes keep a bank: of readers beside it, or of any others."""
        memory = self.target.memory
        return ticks(size * memory.banks / (memory.rate if placed else memory.unplaced))

    def way(self, a: Site, b: Site) -> int:
        """How long a message takes from site `a` to site `b`: nothing on one site."""
        if a == b:
            return 0
        return self.message + ticks((abs(a[0] - b[0]) + abs(a[1] - b[1])) * self.target.network.hop)
