"""How a running program stops on an error, and how large one value may grow before it does.

A few words can ask for more than any machine has (`10 ** 10 ** 9`, `1000000000000 copies of 0`): what would be larger
than the bounds here is refused before it is made. Knows no value; the interpreter adds the place.
"""

from __future__ import annotations

from typing import Final

# Items of one sequence: a gigabyte.
MAX_ITEMS: Final = 1 << 27

# Characters of one text, or of one line shown.
MAX_CHARACTERS: Final = 1 << 24

# Bits of one power, roughly: five million digits.
MAX_BITS: Final = 1 << 24


class Stop(Exception):
    """The program stops: what happened, why it can't be, what would mend it."""

    def __init__(self, what: str, why: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what, self.why, self.mend = what, why, mend


def check_items(count: int) -> None:
    """Refuse a sequence of more items than one may have."""
    if count > MAX_ITEMS:
        raise Stop("a sequence of too many items", f"one may have {MAX_ITEMS}")


def check_characters(count: int) -> None:
    """Refuse a text, or what Show would print, of more characters than one may have."""
    if count > MAX_CHARACTERS:
        raise Stop("a text of too many characters", f"one may have {MAX_CHARACTERS}")


def check_power(bits: int, exponent: int) -> None:
    """Refuse a power of Ints of too many digits, from the bits of the base."""
    if (bits - 1) * exponent > MAX_BITS:
        raise Stop("a power of too many digits", f"an Int may have {MAX_BITS} bits here", "use a Float base")
