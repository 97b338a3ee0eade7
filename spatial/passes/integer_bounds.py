"""Intervals of what elementwise operations make of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spatial.errors import Refused

Interval = tuple[int, int]


def times(a: Interval, b: Interval) -> Interval:
    """The interval of products."""
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def integer_result(op: str, args: Sequence[Interval]) -> Interval:
    """The interval of an operation of integers other than a selection; raises `Refused` where it may have no value."""
    a, b = args[0], args[-1]
    match op:
        case "add":
            return a[0] + b[0], a[1] + b[1]
        case "sub":
            return a[0] - b[1], a[1] - b[0]
        case "mul":
            return times(a, b)
        case "neg":
            return -a[1], -a[0]
        case "abs":
            return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "mod" | "rem" | "floordiv" | "truncdiv" if b[0] <= 0 <= b[1]:
            raise Refused(
                f"{op} divides by values {list(b)}, zero among them",
                "a division by zero has no value",
                "declare a range without zero for the table the divisor comes from",
            )
        case "mod":
            return (0, b[1] - 1) if b[0] > 0 else (b[0] + 1, 0)
        case "rem":
            most = max(abs(b[0]), abs(b[1])) - 1
            return max(min(a[0], 0), -most), min(max(a[1], 0), most)
        case "floordiv" | "truncdiv":
            by: Callable[[int, int], int] = _floor if op == "floordiv" else _trunc
            corners = [by(x, y) for x in a for y in b]  # monotonic in each operand, the divisor being of one sign
            return min(corners), max(corners)
        case _:
            return min(a[0], b[0]), max(a[1], b[1])


def _floor(a: int, b: int) -> int:
    return a // b


def _trunc(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
