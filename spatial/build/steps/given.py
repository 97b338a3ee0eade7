"""What a step is handed.

Place: all that steps know of where they run. Plain data but for `notes`, by which a step may keep pieces of its work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Notes(Protocol):
    """Pieces of work kept across builds, by what they were made from; a note may be gone at any time."""

    def find(self, params: Mapping[str, object]) -> bytes | None:
        """What was kept under `params` by this step of this compiler."""
        ...

    def keep(self, params: Mapping[str, object], data: bytes) -> None:
        """Keep `data`, a function of `params` and the compiler alone."""
        ...


@dataclass(frozen=True)
class Given:
    """Parameters, the bytes of the inputs, what lies aside, and the notes of the step."""

    params: Mapping[str, Any]
    inputs: Mapping[str, bytes]
    aside: Mapping[str, Any]
    notes: Notes
