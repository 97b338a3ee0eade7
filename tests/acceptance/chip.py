"""The small model as published, simulated: its caches live on from call to call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from acceptance.deployed import Published

from spatial.simulate.host import Host
from spatial.simulate.run import Executor

Array = npt.NDArray[Any]

BOUND = 1e-4
"""How far float32 may be from the source in binary64.

Rounding errors of a sum of n terms grow like sqrt(n) units of 2^-24. Two layers of seven products of at most 160 terms
each, on values below 5: sqrt(14 * 160) * 2^-24 * 5 = 1.4e-5. The largest difference measured is 7.4e-6, of a key. What
`test_stage_kinds` breaks changes logits by more than 3e-3.
"""

CACHES = ("k_cache", "v_cache")
PROMPT = (3, 1, 4, 1, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64, 33, 83, 27, 95, 2, 88)
"""Twenty tokens: a chunk of twelve and one of eight, and other ways to cut them."""


class Chip:
    """The model, on one executor."""

    def __init__(self, published: Published, executor: str | Executor = "lockstep") -> None:
        artifact = published.open("tiny")
        self.bundle = artifact.whole()
        self.host = Host(self.bundle, artifact.pages, executor)
        self.rows = self.bundle.table("tokens").dims[0]

    def prefill(self, ids: tuple[int, ...], start: int = 0, unused: int = 0) -> dict[str, Array]:
        """One chunk; tokens past its end are `unused`."""
        tokens = np.full(self.rows, unused)
        tokens[: len(ids)] = ids
        return self._call("prefill", tokens=tokens, start=[start], count=[len(ids)])

    def decode(self, token: int, position: int) -> dict[str, Array]:
        """One step."""
        return self._call("decode", token=[token], position=[position])

    def chunks(self, ids: tuple[int, ...], *counts: int) -> dict[str, Array]:
        """Prefill in chunks of these sizes; what the last call leaves."""
        found, start = dict[str, Array](), 0
        for count in counts:
            found = self.prefill(ids[start : start + count], start)
            start += count
        assert start == len(ids)
        return found

    def put(self, caches: dict[str, Array]) -> None:
        """Caches to go on from."""
        for name in CACHES:
            self.host.set_state(name, caches[name])

    def clear(self) -> None:
        """Caches as a deployment starts with them."""
        for name in CACHES:
            self.host.set_state(name, np.zeros(self.bundle.table(name).dims, np.float32))

    def _call(self, program: str, **inputs: npt.ArrayLike) -> dict[str, Array]:
        results = self.host.run(program, {name: np.asarray(value) for name, value in inputs.items()}).results
        return results | {name: self.host.state(name) for name in CACHES}
