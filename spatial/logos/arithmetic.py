"""What the operators do where Python's do something else: division, powers, bits, indices, changes in place.

`+ - *` and comparisons of numbers are Python's own (see `values`); everything here is what generated code calls for
the rest. A misuse raises `Stop` with a message; the interpreter adds the place.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from spatial.logos.show import format_value, show_value
from spatial.logos.stop import Stop, check_characters, check_power
from spatial.logos.values import FALSE, TRUE, Bool, Seq, Text, type_name
from spatial.logos.words import INT64_MAX, INT64_MIN


def is_number(value: object) -> bool:
    """Whether a value is an Int or a Float."""
    return type(value) is int or type(value) is float


def to_float(value: float) -> float:
    """The nearest double, infinite beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


# Arithmetic


def divide(a: Any, b: Any) -> Any:
    """`a / b`: of two Ints toward zero."""
    if type(a) is float and type(b) is float and b:
        return a / b
    if not (is_number(a) and is_number(b)):
        raise Stop(f"cannot divide {type_name(a)} by {type_name(b)}")
    if b == 0:
        floats = type(a) is float or type(b) is float
        why = "Float division by zero is an error too" if floats else "no Int is the quotient"
        raise Stop("division by zero", why, "test the divisor first")
    if type(a) is int and type(b) is int:
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return to_float(a) / to_float(b)


def floor_divide(a: Any, b: Any) -> Any:
    """`a // b`: toward minus infinity; a Float if an operand is one."""
    if not (is_number(a) and is_number(b)):
        raise Stop(f"cannot divide {type_name(a)} by {type_name(b)}")
    if b == 0:
        raise Stop("division by zero", "", "test the divisor first")
    if type(a) is int and type(b) is int:
        return a // b
    quotient = to_float(a) / to_float(b)
    return math.copysign(float(math.floor(quotient)), quotient) if math.isfinite(quotient) else quotient


def remainder(a: Any, b: Any) -> int:
    """`a % b` of two Ints, with the sign of `a`."""
    if type(a) is int and type(b) is int and a >= 0 and b > 0:
        return a % b
    if type(a) is not int or type(b) is not int:
        raise Stop(f"cannot take the remainder of {type_name(a)} by {type_name(b)}", "", "% takes two Ints")
    if b == 0:
        raise Stop("modulo by zero", "", "test the divisor first")
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def power(a: Any, b: Any) -> Any:
    """`a ** b`: exact for Ints, else as C's pow."""
    if type(a) is int and type(b) is int:
        if b < 0:
            raise Stop(
                "a negative exponent on an Int", "an Int can't hold a fraction", "use a Float base, or pow(x, y)"
            )
        return int_power(a, b)
    if not (is_number(a) and is_number(b)):
        raise Stop(f"cannot raise {type_name(a)} to {type_name(b)}")
    return c_pow(to_float(a), to_float(b))


def int_power(a: int, b: int) -> int:
    """An Int to an exponent that is not negative."""
    check_power(a.bit_length(), b)
    return a**b


def c_pow(a: float, b: float) -> float:
    """C's pow: infinities and nan where Python raises."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a != 0:
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def approximately(a: Any, b: Any) -> Bool:
    """`a is approximately b`."""
    if not (is_number(a) and is_number(b)):
        raise Stop(f"cannot compare {type_name(a)} and {type_name(b)}")
    x, y = to_float(a), to_float(b)
    near = x == y or abs(x - y) <= max(1e-9 * max(abs(x), abs(y)), 1e-12)
    return TRUE if near else FALSE


# Bits


def _bits(op: str, a: Any, b: Any) -> None:
    for value in (a, b):
        if type(value) is not int:
            raise Stop(f"cannot apply {op} to {type_name(a)} and {type_name(b)}", "", "it takes two Ints")
        if not INT64_MIN <= value <= INT64_MAX:
            raise Stop(f"{op} of an Int beyond 64 bits", "bits are those of 64-bit Ints")


def bit_and(a: Any, b: Any) -> Any:
    """`a & b` of two Ints or two Bools."""
    if type(a) is Bool and type(b) is Bool:
        return TRUE if a.value and b.value else FALSE
    _bits("&", a, b)
    return a & b


def bit_or(a: Any, b: Any) -> Any:
    """`a | b` of two Ints or two Bools."""
    if type(a) is Bool and type(b) is Bool:
        return TRUE if a.value or b.value else FALSE
    _bits("|", a, b)
    return a | b


def bit_xor(a: Any, b: Any) -> Any:
    """`a ^ b` of two Ints or two Bools."""
    if type(a) is Bool and type(b) is Bool:
        return TRUE if a.value != b.value else FALSE
    _bits("^", a, b)
    return a ^ b


def shift_left(a: Any, b: Any) -> int:
    """`a shifted left by b`: the count modulo 64, the result wrapped to 64 bits."""
    _bits("a shift", a, b)
    wrapped = (a << (b & 63)) & ((1 << 64) - 1)
    return wrapped - (1 << 64) if wrapped > INT64_MAX else wrapped


def shift_right(a: Any, b: Any) -> int:
    """`a shifted right by b`: the count modulo 64, the sign kept."""
    _bits("a shift", a, b)
    return a >> (b & 63)


# Sequences


def from_end(index: Any) -> Any:
    """An index that is not positive, as a position of a Python list: negative ones count from the end there too."""
    if index == 0:
        raise out_of_range(index)
    return index


def out_of_range(index: int, items: int | None = None) -> Stop:
    """An index that a sequence has no item for; `items`: how many it has, where that is told."""
    if index == 0:
        return Stop("index 0 is out of range", "the first item is item 1")
    why = "" if items is None else f"the sequence has {items} items"
    return Stop(f"index {show_value(index)} is out of range", why)


def undefined(name: str) -> Stop:
    """A variable that nothing has bound."""
    why = "nothing has bound it where this is reached, and it is no input"
    return Stop(f'undefined variable "{name}"', why, f"bind it before with Let {name} be ...")


def length(value: Any) -> int:
    """The number of items; of a Text, of bytes."""
    if type(value) is Text:
        return len(value.value) if value.value.isascii() else len(value.value.encode())
    if type(value) is not Seq:
        raise Stop(f"cannot take the length of {type_name(value)}")
    return len(value.items)


def take_slice(seq: Any, first: Any, last: Any) -> Seq:
    """`items first through last of seq`; empty if that reaches outside."""
    if type(seq) is not Seq or type(first) is not int or type(last) is not int:
        what = f"cannot take items {show_value(first)} through {show_value(last)} of {type_name(seq)}"
        raise Stop(what, "", "a slice takes a Seq and two Ints")
    if first < 0 or last < 0 or max(first, 1) > last or last > len(seq.items):
        return Seq([])
    part = seq.items[max(first, 1) - 1 : last]
    return Seq([item.alias() if type(item) is Seq else item for item in part])


def contains(item: Any, collection: Any) -> Bool:
    """`item in collection`."""
    if type(collection) is Text and type(item) is Text:
        return TRUE if item.value in collection.value else FALSE
    if type(collection) is not Seq:
        raise Stop(f"cannot look for {type_name(item)} in {type_name(collection)}")
    kinds: set[type] = {type(other) for other in collection.items}
    if kinds in ({int}, {float}) and type(item) not in kinds:
        return FALSE  # unlike ==, membership in a Seq of one kind of number does not cross kinds
    if kinds == {float}:
        return TRUE if any(abs(item - other) < sys.float_info.epsilon for other in collection.items) else FALSE
    return TRUE if any(item == other for other in collection.items) else FALSE


def counting(first: Any, last: Any) -> range:
    """The values of a loop from `first` to `last`, both included."""
    if type(first) is not int or type(last) is not int:
        raise Stop(f"cannot count from {type_name(first)} to {type_name(last)}", "", "the bounds of a loop are Ints")
    return range(first, last + 1)


def snapshot(collection: Any) -> list[Any]:
    """The items a loop runs over, as they are now."""
    if type(collection) is not Seq and type(collection) is not Text:
        raise Stop(f"cannot iterate over {type_name(collection)}", "", "loop over a Seq")
    return [item.alias() if type(item) is Seq else item for item in collection.items]


def set_item(seq: Any, index: Any, value: Any) -> None:
    """Change one item in place, the careful way."""
    if type(seq) is not Seq:
        raise Stop(f"cannot set an item of {type_name(seq)}")
    if type(index) is not int:
        raise Stop(f"cannot index a Seq with {type_name(index)}", "", "an index is an Int")
    if abs(index) > len(seq.items):
        raise out_of_range(index, len(seq.items))
    seq.own().items[index - 1 if index > 0 else from_end(index)] = value


def push(seq: Any, value: Any) -> None:
    """Append in place, the careful way."""
    if type(seq) is not Seq:
        raise Stop(f"cannot push to {type_name(seq)}", "", "push to a Seq")
    seq.own().items.append(value)


def pop(seq: Any) -> Any:
    """Take the last item away; nothing from an empty sequence."""
    if type(seq) is not Seq:
        raise Stop(f"cannot pop from {type_name(seq)}", "", "pop from a Seq")
    return seq.own().items.pop() if seq.items else None


# The rest


def join(*parts: str | tuple[Any, str]) -> Text:
    """A string with holes: literal parts, and values with their formats."""
    shown = [part if isinstance(part, str) else format_value(*part) for part in parts]
    check_characters(sum(map(len, shown)))
    return Text("".join(shown))


def combine(a: Any, b: Any) -> Text:
    """`a combined with b`."""
    return Text(show_value(a)) + b


def fail_assertion() -> None:
    """An assertion did not hold."""
    raise Stop("assertion failed", "its condition is false here", "show the values it compares to see why")


def wrong_count(name: str, takes: int, given: int) -> None:
    """A call with the wrong number of arguments."""
    raise Stop(f"{name} takes {takes} argument{'s' * (takes != 1)}, {given} given")


def nothing(*_: Any) -> None:
    """A native nobody supplies gives nothing."""


def unknown_function(name: str, why: str, hint: str) -> None:
    """A call of a function nobody defines."""
    raise Stop(f'unknown function "{name}"', why, hint)
