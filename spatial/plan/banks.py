"""How long the memory's banks are kept by one round of accesses: one batch of pages of every site that takes part.

Sites that run the same program come to the memory together, so a round takes as long as its fullest bank. A tensor's
bytes are dealt to the banks in stretches (assumed: one tile of its format each, as `docs/timing.md` has it), so the
bank of a page is linear in its coordinates, and how many pages of a round lie in each bank is the cyclic convolution
of what each coordinate spreads alone. A walk whose stride shares a factor with the number of banks camps on some of
them, and sites that read the same page all ask the same bank. What is dealt hangs on a blocking and its place alone,
so it is found once for all variants of one.
"""

from __future__ import annotations

from math import gcd

import numpy as np
import numpy.typing as npt

from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved

Spectrum = npt.NDArray[np.complex128]


def fullest(m: Measures, moved: Moved, rounds: Ints, sites: Ints | None = None) -> Floats:
    """Pages that the fullest bank has of `rounds` rounds of `moved`, in which `sites` sites take part; or one alone.
    `rounds` are the same for all variants of a blocking at its place."""
    c, stream, once = m.candidates, m.model.streams[moved.stream], np.ones(m.candidates.count, dtype=np.int64)
    looped = m.model.loop is not None and m.model.loop in stream.coords
    alike = once.astype(np.float64) if looped else rounds.astype(np.float64)
    if sites is not None:
        differing = once
        for k in moved.axes:
            differing = differing * np.minimum(c.spread[:, k], m.grid[:, k])
        alike = alike * np.maximum(sites / differing, 1.0)
    rows, where = m.spots
    return alike * _dealt(m, moved, rounds[rows], rows, sites is not None)[where]


def _dealt(m: Measures, moved: Moved, rounds: Ints, rows: Ints, spread: bool) -> Floats:
    """Of candidates `rows`, those pages that differ on the fullest bank: of all sites if `spread`, of one else."""
    c, banks, stream = m.candidates, m.target.memory.banks, m.model.streams[moved.stream]
    once = np.ones(len(rows), dtype=np.int64)
    spectrum: Spectrum = np.ones((len(rows), banks // 2 + 1), dtype=np.complex128)
    for k, stride in enumerate(moved.strides):
        factor = c.factors[rows, k]
        along = np.minimum(c.spread[rows, k], m.grid[rows, k]) if k in moved.axes and spread else once
        if k in stream.coords:  # those of a site, and those of the next, follow each other
            extent = factor * (rounds if k == m.model.loop else along)
            spectrum *= _spectrum(stride * once, extent, moved.stretch, banks)
        elif k in moved.axes and spread:
            spectrum *= _spectrum(stride * factor, along, moved.stretch, banks)
    # Whole numbers come out of the transform up to its rounding, which differs between machines.
    return np.rint(np.fft.irfft(spectrum, banks, axis=1)).max(axis=1)


def _spectrum(stride: Ints, extent: Ints, stretch: int, banks: int) -> Spectrum:
    """The spectrum of how many of `extent` pages, `stride` bytes apart, lie in each bank."""
    out: Spectrum = np.empty((len(stride), banks // 2 + 1), dtype=np.complex128)
    steps = stride % (stretch * banks)  # whole rounds of the banks change no bank
    for step in np.unique(steps).tolist():
        rows = np.nonzero(steps == step)[0]
        extents, where = np.unique(extent[rows], return_inverse=True)
        period = stretch * banks // gcd(step, stretch * banks)
        whole, rest = np.divmod(extents, period)
        first = _first(step, min(period, int(extents.max())), stretch, banks)
        found = first[rest] if period >= len(first) else first[rest] + whole[:, None] * first[period]
        out[rows] = found[where.reshape(-1)]
    return out


def _first(step: int, most: int, stretch: int, banks: int) -> Spectrum:
    """[most + 1, ...]: the spectra of how many of the first 0 to `most` pages, `step` bytes apart, lie in each bank."""
    at = np.arange(most, dtype=np.int64) * step // stretch % banks
    counts = np.zeros((most + 1, banks))
    counts[np.arange(1, most + 1), at] = 1.0
    return np.asarray(np.fft.rfft(counts.cumsum(axis=0), axis=1), dtype=np.complex128)
