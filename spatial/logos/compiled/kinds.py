"""What is known of a value before anything runs: its kind, and how values of a kind are held in compiled code.

A kind is Int, Float, Bool, Nothing, Text, or a Seq of a kind; what is not known yet is `UNKNOWN`, of which the items of
an empty sequence are. Kinds are joined as evidence comes in, and only ever become better known.

Note [How sequences are held]. A scalar is one Python variable. A Seq nested r deep is 2 + r of them: a flat numpy
array, the position of its first item in it, how many items it has, and how many each inner sequence has, outermost
first. So a row is the array with another position, and costs nothing; a Seq that was pushed to has an array longer than
its items. Rows of unlike length can't be held so, and stop the program. A variable that is changed in place has its
array to itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["Int", "Float", "Bool", "Nothing", "Text", "Seq", "?"]


@dataclass(frozen=True)
class Kind:
    """A kind of value; `item` is that of a Seq's items."""

    name: Name
    item: Kind | None = None

    def __str__(self) -> str:
        match self.name:
            case "?":
                return "value of no known kind"
            case "Seq" if self.item is not None and self.item != UNKNOWN:
                return f"Seq of {self.item}" if self.item.item is None else f"Seq of ({self.item})"
            case name:
                return name

    @property
    def rank(self) -> int:
        """How deep sequences are nested: 0 for a scalar."""
        return 0 if self.item is None else 1 + self.item.rank

    @property
    def leaf(self) -> Kind:
        """The kind of the scalars inside."""
        return self if self.item is None else self.item.leaf

    @property
    def parts(self) -> int:
        """How many Python variables hold a value (see Note [How sequences are held])."""
        return 0 if self == NOTHING else 1 if self.item is None else 2 + self.rank

    @property
    def is_number(self) -> bool:
        """Whether it may take part in arithmetic; what is not known yet may."""
        return self.name in ("Int", "Float", "?")


UNKNOWN = Kind("?")
INT = Kind("Int")
FLOAT = Kind("Float")
BOOL = Kind("Bool")
NOTHING = Kind("Nothing")
TEXT = Kind("Text")


def seq_of(item: Kind, depth: int = 1) -> Kind:
    """A Seq of `item`, or one nested `depth` deep."""
    return item if depth == 0 else Kind("Seq", seq_of(item, depth - 1))


def join(a: Kind, b: Kind) -> Kind | None:
    """The kind of what is known to be of both; None if no value is."""
    if a == b or b == UNKNOWN:
        return a
    if a == UNKNOWN:
        return b
    if a.item is None or b.item is None:
        return None
    item = join(a.item, b.item)
    return None if item is None else Kind("Seq", item)


def leaf_word(kind: Kind) -> str:
    """How arrays of a kind's scalars are called in compiled code; what stayed unknown is never read."""
    return {"Float": "float", "Bool": "bool"}.get(kind.leaf.name, "int")
