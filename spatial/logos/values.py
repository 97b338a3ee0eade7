"""What a value is at run time: int, float, Bool, Text, nothing (None) and Seq.

Bool and Text are classes of our own, not Python's, so that Python's operators on them do what the language says: a
Bool is no number, and `+` with a Text joins Show forms. Numbers are Python's own, so arithmetic on them runs as fast
as Python runs. `plain` and `Seq.of` translate at the border.

See Note [Handles and buffers] for the value semantics of sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from spatial.errors import UsageError
from spatial.logos.show import show_value
from spatial.logos.stop import check_characters, check_items

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Bool:
    """A truth value. There are two, and they support no arithmetic and no order."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value

    def __str__(self) -> str:
        return show_value(self.value)

    def __repr__(self) -> str:
        return f"Bool({self.value})"


TRUE = Bool(True)
FALSE = Bool(False)


class Text:
    """A string. `+` on either side joins Show forms; `items` are its characters."""

    __slots__ = ("characters", "value")

    def __init__(self, value: str) -> None:
        self.value = value
        self.characters: list[Text] | None = None  # made once somebody asks

    @property
    def items(self) -> list[Text]:
        """Its characters, each a Text; nobody changes the list."""
        if self.characters is None:
            self.characters = [Text(c) for c in self.value]
        return self.characters

    def __add__(self, other: object) -> Text:
        return Text(_joined(self.value, show_value(other)))

    def __radd__(self, other: object) -> Text:
        return Text(_joined(show_value(other), self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"Text({self.value!r})"


def _joined(before: str, after: str) -> str:
    check_characters(len(before) + len(after))
    return before + after


class Seq:
    """A sequence with value semantics.

    Note [Handles and buffers]. A Seq is a handle on a buffer, a Python list. Each variable, and each item that is a
    sequence, has a handle of its own. `alias` makes a second handle on the same buffer and marks both as not owning
    it; before a change in place, a handle that does not own its buffer copies it (`own`). The handles of inner
    sequences are aliased in that copy, so what is shared stays shared until it is changed. Hence passing, binding and
    reading whole sequences costs O(1), and a change in place costs O(1) unless a second handle saw the buffer since
    the last one. A mutable parameter is given the caller's handle itself.
    """

    __slots__ = ("items", "owned")

    def __init__(self, items: list[Any], owned: bool = True) -> None:
        self.items = items
        self.owned = owned

    @staticmethod
    def of(nested: object) -> Seq:
        """The sequence with the items of a list, tuple or numpy array, nested ones included.

        Raises UsageError for an item that is no value of the language.
        """
        found = internal(nested)
        if not isinstance(found, Seq):
            raise UsageError(
                f"{type(nested).__name__} is no sequence", "", "give a list or an array of one or more axes"
            )
        return found

    def to_list(self) -> list[Any]:
        """Its items as nested Python lists of int, float, bool, str and None."""
        return [plain_nested(item) for item in self.items]

    def to_array(self, dtype: npt.DTypeLike | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        """Its items as an array of as many axes as it is nested deep.

        Raises UsageError if it is ragged.
        """
        import numpy as np

        try:
            return np.array(self.to_list(), dtype=dtype)
        except ValueError as error:
            raise UsageError("the sequence is ragged", str(error), "only equally long rows make an array") from None

    def alias(self) -> Seq:
        """A second handle on the same buffer: the value, shared until one of the two is changed."""
        self.owned = False
        return Seq(self.items, False)

    def own(self) -> Seq:
        """This handle, its buffer its own."""
        if not self.owned:
            self.items = [item.alias() if type(item) is Seq else item for item in self.items]
            self.owned = True
        return self

    def __len__(self) -> int:
        return len(self.items)

    def __add__(self, other: object) -> Seq:
        if not isinstance(other, Seq):
            return NotImplemented
        check_items(len(self.items) + len(other.items))
        return Seq([*self.fresh(), *other.fresh()])

    def __mul__(self, other: object) -> Seq:
        if type(other) is not int:
            return NotImplemented
        check_items(len(self.items) * other)
        return Seq([item for _ in range(other if self.items else 0) for item in self.fresh()])

    __rmul__ = __mul__

    def fresh(self) -> Iterable[Any]:
        """Its items, inner sequences behind handles of their own."""
        return [item.alias() if type(item) is Seq else item for item in self.items]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seq) or len(self.items) != len(other.items):
            return False
        # One by one: a list's own equality takes a nan for equal to itself.
        return all(a == b for a, b in zip(self.items, other.items, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"[{', '.join(self._shown())}]"

    def _shown(self) -> Iterator[str]:
        """The forms of its items: of shared inner sequences together they may be far larger than what is held."""
        size = 0
        for item in self.items:
            form = show_value(item)
            size += len(form) + 2
            check_characters(size)
            yield form

    def __repr__(self) -> str:
        return f"Seq.of({self.to_list()!r})"


# What callers of the interpreter see.
Value = int | float | bool | str | Seq | None


def internal(value: object) -> Any:
    """A caller's value as the interpreter holds it: lists and arrays become sequences, numpy scalars numbers."""
    match value:
        case bool():
            return TRUE if value else FALSE
        case int() | float() | None | Bool() | Text():
            return value
        case str():
            return Text(value)
        case Seq():
            return value.alias()
        case list() | tuple():
            return Seq([internal(item) for item in cast("Iterable[object]", value)])
        case _:
            convert = getattr(value, "tolist", None)
            if convert is None:
                what = f"a {type(value).__name__} is no value of the language"
                raise UsageError(what, "", "give a number, bool, str, None, list or array")
            if getattr(getattr(value, "dtype", None), "kind", "") in "iuf":
                return _rows(convert(), int(getattr(value, "ndim", 0)))
            return internal(convert())


def _rows(nested: Any, axes: int) -> Any:
    """The lists of a numeric array as sequences; its numbers need no look."""
    if axes == 0:
        return nested
    return Seq(nested if axes == 1 else [_rows(row, axes - 1) for row in nested])


def plain(value: Any) -> Any:
    """A value as callers see it: Bool and Text become bool and str, a Seq stays one."""
    return value.value if isinstance(value, (Bool, Text)) else value


def plain_nested(value: Any) -> Any:
    """A value as nested Python lists."""
    return value.to_list() if isinstance(value, Seq) else plain(value)


def type_name(value: object) -> str:
    """The type of a value as the language calls it."""
    match value:
        case Bool() | bool():
            return "Bool"
        case int():
            return "Int"
        case float():
            return "Float"
        case Text() | str():
            return "Text"
        case Seq():
            return "Seq"
        case _:
            return "Nothing"
