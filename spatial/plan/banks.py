"""How long the memory's banks are kept by one round of accesses: one batch of pages of every site that takes part.

Sites that run the same program come to the memory together, so a round takes as long as its fullest bank. A tensor's
bytes are dealt to the banks in stretches (assumed: one tile of its format each, as `docs/timing.md` has it), so the
bank of a page is linear in its coordinates, and how many pages of a round lie in each bank is the cyclic convolution
of what each coordinate spreads alone. A walk whose stride shares a factor with the number of banks camps on some of
them, and sites that read the same page all ask the same bank. What is dealt hangs on a blocking and its place alone,
so it is found once for all variants of one, and for all that walk alike.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures, alike, placed
from spatial.plan.model import Moved

Spectrum = npt.NDArray[np.complex128]


def fullest(m: Measures, moved: Moved, whole: bool, sites: Ints | None = None) -> Floats:
    """Pages that the fullest bank has of a batch of `moved`, or of the `whole` turn's; in which `sites` sites take
    part, or one alone."""
    c, stream, ones = m.candidates, m.model.streams[moved.stream], np.ones(m.candidates.count)
    looped = m.model.loop is not None and m.model.loop in stream.coords
    times = m.fires(stream).astype(np.float64) if whole and not looped else ones
    if sites is not None:
        differing = ones
        for k in moved.axes:
            differing = differing * np.minimum(c.spread[:, k], m.grid[:, k])
        times = times * np.maximum(sites / differing, 1.0)
    return times * _dealt(m, moved, whole, sites is not None)


@placed
def _dealt(m: Measures, moved: Moved, whole: bool, spread: bool) -> Floats:
    """Those pages that differ on the fullest bank: of all sites if `spread`, of one else."""
    c, banks, stream, (rows, spot) = m.candidates, m.target.memory.banks, m.model.streams[moved.stream], m.spots
    ones = np.ones(len(rows), dtype=np.int64)
    walks: list[tuple[Ints, Ints]] = []
    for k, stride in enumerate(moved.strides):
        factor = c.factors[rows, k]
        along = np.minimum(c.spread[rows, k], m.grid[rows, k]) if k in moved.axes and spread else ones
        rounds = m.fires(stream)[rows] if whole else ones
        if k in stream.coords:  # those of a site, and those of the next, follow each other
            walks.append((stride * ones, factor * (rounds if k == m.model.loop else along)))
        elif k in moved.axes and spread:
            walks.append((stride * factor, along))
    some, where = alike([column for walk in walks for column in walk], len(rows))
    spectrum: Spectrum = np.ones((len(some), banks // 2 + 1), dtype=np.complex128)
    for stride, extent in walks:
        spectrum *= _spectrum(stride[some], extent[some], moved.stretch, banks)
    # Whole numbers come out of the transform up to its rounding, which differs between machines.
    return np.rint(np.fft.irfft(spectrum, banks, axis=1)).max(axis=1)[where[spot]]


def _spectrum(stride: Ints, extent: Ints, stretch: int, banks: int) -> Spectrum:
    """The spectrum of how many of `extent` pages, `stride` bytes apart, lie in each bank."""
    counts = np.empty((len(stride), banks))
    steps = stride % (stretch * banks)  # whole rounds of the banks change no bank
    for step in {*steps.tolist()}:
        rows = np.nonzero(steps == step)[0]
        period = stretch * banks // gcd(step, stretch * banks)
        first = _first(step, min(period, int(extent[rows].max())), stretch, banks)
        if period >= len(first):
            counts[rows] = first[extent[rows]]
        else:
            whole, rest = np.divmod(extent[rows], period)
            counts[rows] = first[rest] + whole[:, None] * first[period]
    return np.asarray(np.fft.rfft(counts, axis=1), dtype=np.complex128)


def _first(step: int, most: int, stretch: int, banks: int) -> Floats:
    """[most + 1, banks]: how many of the first 0 to `most` pages, `step` bytes apart, lie in each bank."""
    at = np.arange(most, dtype=np.int64) * step // stretch % banks
    counts = np.zeros((most + 1, banks))
    counts[np.arange(1, most + 1), at] = 1.0
    return counts.cumsum(axis=0)
