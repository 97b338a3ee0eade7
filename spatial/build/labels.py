"""What source files are called in everything that is kept: names that say nothing of where the files lie.

Place: under `pipeline`; messages for people get paths instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def labels(paths: Sequence[Path]) -> tuple[str, ...]:
    """A label for each file of one program: its own name, made unequal by its number where two are called alike."""
    names = [path.name for path in paths]
    return tuple(name if names.count(name) == 1 else f"{n}/{name}" for n, name in enumerate(names))
