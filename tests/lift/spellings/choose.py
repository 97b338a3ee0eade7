"""Drawing the choices of a spelling: from a seed, from hypothesis, or again as they were drawn."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

CHOICES: dict[str, tuple[str, ...]] = {
    "counter": ("from 1", "from 0", "from 1", "from 0", "from 3"),
    "loop": ("Repeat", "Repeat", "While"),
    "direction": ("up", "up", "up", "down"),
    "order": ("as written", "permuted"),
    "build": ("Push", "Push", "Set item of copies", "Set item of pushed"),
    "layout": ("nested", "nested", "flat"),
    "accumulator": ("inside", "inside", "outside", "peeled", "in the item"),
    "operands": ("as written", "swapped"),
    "reads": ("in place", "in place", "temporary"),
    "rows": ("by item", "by item", "hoisted"),
    "reduction": ("in line", "in line", "a function"),
    "helper": ("in line", "temporary", "a function"),
    "definition": ("in Main", "in Main", "in Main", "a function", "a function that changes it"),
    "result": ("itself", "itself", "a copy"),
    "axes": ("a loop each", "a loop each", "one counter"),
    "terms": ("as they come", "as they come", "stored first"),
    "tests": ("and", "nested"),
    "steps": ("as written", "another order"),
    "arguments": ("passed", "read from Main"),
    "index": ("computed", "computed", "running"),
    "algebra": ("plain", "plain", "shuffled", "factored", "padded"),
    "guard": ("bounds", "If"),
    "assign": ("Set", "+="),
    "operators": ("symbols", "symbols", "words"),
    "comparison": ("symbol", "words", "negated", "turned"),
    "nests": ("split", "merged"),
    "private": ("whole", "row only"),
    "best": ("max", "If"),
    "branch": ("default", "Otherwise"),
    "brackets": ("item of", "item of", "[ ]"),
    "bound": ("name", "name", "numeral", "length"),
    "quotient": ("/", "//"),
    "while": ("at most", "below"),
    "counters": ("of their own", "of their own", "named again"),
    "early": ("stored at once", "remembered"),
    "row": ("item by item", "whole"),
    "parts": ("pushed", "pushed", "followed by", "chosen"),
}
"""The spelling choices, independent of one another; what is written twice is drawn twice as often."""


@dataclass
class Chooser:
    """Draws by `number(n)`, a number below n; half of the choices hold for a whole program."""

    number: Callable[[int], int]
    drawn: list[int] = field(default_factory=list[int])
    used: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    style: dict[str, str | None] = field(default_factory=dict[str, "str | None"])

    def below(self, n: int) -> int:
        found = self.number(n)
        self.drawn.append(found)
        return found

    def pick(self, name: str, allowed: Sequence[str] | None = None) -> str:
        """An option of a choice, or of those of its options that are possible here."""
        options = CHOICES[name]
        if name not in self.style:
            fixed = self.below(2)
            self.style[name] = options[self.below(len(options))] if fixed else None
        style = self.style[name]
        if allowed is not None:
            options = tuple(o for o in options if o in allowed)
            if style not in options:
                style = None
        found = style if style is not None else options[self.below(len(options))]
        self.used.setdefault(name, set()).add(found)
        return found

    def shuffled(self, items: Sequence[object]) -> list[int]:
        """A random order of the items, as their numbers."""
        left = list(range(len(items)))
        return [left.pop(self.below(len(left))) for _ in items]


def seeded(seed: int) -> Chooser:
    return Chooser(random.Random(seed).randrange)


def again(drawn: Sequence[int]) -> Chooser:
    """The same choices once more; past their end, the first of each."""
    left = iter(drawn)
    return Chooser(lambda n: min(next(left, 0), n - 1))
