"""How long the memory's banks are kept by one round of accesses: one batch of pages of every site that takes part.

Sites that run the same program come to the memory together, so a round takes as long as its fullest bank. A tensor's
bytes are dealt to the banks in stretches (assumed: one tile of its format each, as `docs/timing.md` has it), so the
bank of a page is linear in its coordinates, and how many pages of a round lie in each bank is the cyclic convolution
of what each coordinate spreads alone. A walk whose stride shares a factor with the number of banks camps on some of
them, and sites that read the same page all ask the same bank.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spatial.plan.candidates import Ints
from spatial.plan.measures import Floats, Measures
from spatial.plan.model import Moved

Spectrum = npt.NDArray[np.complex128]


def fullest(m: Measures, moved: Moved, rounds: Ints, sites: Ints | None = None) -> Floats:
    """Pages that the fullest bank has of `rounds` rounds of `moved`, in which `sites` sites take part; or one alone."""
    banks, c = m.target.memory.banks, m.candidates
    pages = m.pages(m.model.streams[moved.stream])
    if banks == 1:
        return (pages * rounds * (1 if sites is None else sites)).astype(np.float64)
    spectrum: Spectrum = np.ones((c.count, banks // 2 + 1), dtype=np.complex128)
    differing = np.ones(c.count, dtype=np.int64)
    stream = m.model.streams[moved.stream]
    for k, stride in enumerate(moved.strides):
        if k in stream.coords:
            extent = c.factors[:, k] * (rounds if k == m.model.loop else 1)
            spectrum = spectrum * _spread(np.full(c.count, stride, dtype=np.int64), extent, moved.stretch, banks)
        if k in moved.axes and sites is not None:
            along = np.minimum(c.spread[:, k], m.grid[:, k])
            spectrum = spectrum * _spread(stride * c.factors[:, k], along, moved.stretch, banks)
            differing = differing * along
    alike = 1.0 if sites is None else np.maximum(sites / differing, 1.0)
    # Whole numbers come out of the transform up to its rounding, which differs between machines.
    counts = np.rint(np.fft.irfft(spectrum, banks, axis=1))
    turned = 1 if m.model.loop is not None and m.model.loop in stream.coords else rounds
    return np.asarray(counts.max(axis=1) * alike * turned, dtype=np.float64)


def _spread(stride: Ints, extent: Ints, stretch: int, banks: int) -> Spectrum:
    """The spectrum of how many of `extent` pages, `stride` bytes apart, lie in each bank."""
    pairs, where = np.unique(np.column_stack((stride, extent)), axis=0, return_inverse=True)
    counts = np.zeros((len(pairs), banks))
    for n in range(len(pairs)):
        step, many = int(pairs[n, 0]), int(pairs[n, 1])
        counts[n] = np.bincount(np.arange(many, dtype=np.int64) * step // stretch % banks, minlength=banks)
    return np.asarray(np.fft.rfft(counts, axis=1)[where.reshape(-1)], dtype=np.complex128)
