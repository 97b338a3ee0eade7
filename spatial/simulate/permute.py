"""Lane permutations of pages: a transposition, or one choice of lanes for every row. Knows nothing else."""

from __future__ import annotations

import numpy as np

from spatial.errors import Refused
from spatial.numerics import Array


def permuted(pages: Array, perm: str | tuple[int, ...]) -> Array:
    """`pages` [..., R, C] rearranged: "transpose", or for each out lane of a row the in lane it takes."""
    if perm == "transpose":
        return pages.swapaxes(-1, -2)
    if isinstance(perm, str):
        raise Refused(f"no permutation is called {perm!r}", "", "transpose, or a tuple of lanes")
    if any(not 0 <= lane < pages.shape[-1] for lane in perm):
        raise Refused(f"a permutation takes lanes outside 0 to {pages.shape[-1] - 1}")
    return pages[..., np.array(perm, np.int64)]
