"""Which banks a round of accesses falls on, and what a transfer takes: against counting one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product as pairs

import numpy as np
import pytest
from plan.priced_and_timed import product
from plan.templates import measures_of, template_of
from support import REFERENCE

from spatial.plan.banks import fullest
from spatial.plan.constraints import legal
from spatial.plan.figures import transfer_cycles
from spatial.plan.measures import Measures

BANKED = replace(REFERENCE, memory=replace(REFERENCE.memory, banks=12))


@pytest.mark.parametrize("shape", [(64, 384, 320), (1, 192, 640), (128, 96, 416)])
def test_the_fullest_bank_is_the_one_counted(shape: tuple[int, int, int]):
    everything = measures_of(template_of(product(shape, "bf16"), BANKED), BANKED)
    full = (everything.grid % everything.candidates.spread == 0).all(axis=1)  # no site is idle in any turn
    rows = np.nonzero(legal(everything) & full)[0]
    rows = np.random.default_rng(0).permutation(rows)[:150]
    m = Measures(everything.model, everything.candidates.take(rows), BANKED)
    for load in m.model.loads:
        found = fullest(m, load, True, m.readers(load))
        for row in range(len(rows)):
            assert found[row] == counted(m, load, row), (load.stage, row)


def counted(m: Measures, load, row: int) -> float:
    """Pages that the fullest bank has of the first turn, page by page."""
    c, stream = m.candidates, m.model.streams[load.stream]
    ranges = []
    for k in range(len(m.model.coordinates)):
        factor = int(c.factors[row, k])
        if k == m.model.loop:
            pages = factor * int(m.fires(stream)[row]) if k in stream.coords else 1
        else:
            pages = (factor if k in stream.coords else 1) * (int(c.spread[row, k]) if k in load.axes else 1)
        ranges.append(range(pages))
    banks = Counter(
        sum(at * stride for at, stride in zip(place, load.strides, strict=True)) // load.stretch % 12
        for place in pairs(*ranges)
    )
    apart = int(np.prod([int(c.spread[row, a]) for a in load.axes]))
    return max(banks.values()) * int(m.readers(load)[row]) / apart


def test_a_transfer_takes_what_its_size_reaches():
    network = REFERENCE.network
    for size, rate in network.rates:
        assert transfer_cycles(REFERENCE, int(size)) == pytest.approx(max(size / rate, size / network.rate))
    (small, slow), (large, fast) = network.rates[0], network.rates[-1]
    assert transfer_cycles(REFERENCE, 1) == small / slow
    assert transfer_cycles(REFERENCE, int(4 * large)) == pytest.approx(4 * large / min(fast, network.rate))
    sizes = [transfer_cycles(REFERENCE, n) for n in range(1, 3000, 7)]
    assert sizes == sorted(sizes)
