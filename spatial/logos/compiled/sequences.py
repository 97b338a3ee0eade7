"""Compiled sequences: positions, growth, copies, comparison, and the words of what is shown.

A sequence is handed over as the array and the position of its first item, with how many scalars it has or what they are
laid out in (see Note [How sequences are held] in `kinds`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spatial.logos.compiled.arithmetic import close, order
from spatial.logos.compiled.machine import (
    BUFFER,
    DEPTH,
    LARGE,
    OUTPUT,
    RULE,
    SHOWN_AT_ONCE,
    TOO_DEEP,
    USED,
    WHOLE,
    fetch,
    flush,
    get,
    helper,
    product_of,
    put,
    routine,
    stop,
    store,
    word,
)
from spatial.logos.stop import MAX_ITEMS

_MOST_SCALARS = 1 << 29
"""Scalars of one array: four gigabytes. The interpreter shares equal rows, and may hold more of them."""

# Positions


@helper
def position(rt: int, site: int, index: int, items: int) -> int:
    """Where an index points, from 0; negative ones count from the end."""
    if index > 0:
        if index > items:
            stop(rt, site, RULE, index, items)
        return index - 1
    if index == 0 or index < -items:
        stop(rt, site, RULE, index, items)
    return items + index


@helper
def position_from_one(rt: int, site: int, index: int, items: int) -> int:
    """Where an index that is at least 1 points, from 0."""
    if index > items:
        stop(rt, site, RULE, index, items)
    return index - 1


@helper
def part_items(first: int, last: int, items: int) -> int:
    """How many items `first through last` are: none if that reaches outside."""
    if first < 0 or last < 0 or max(first, 1) > last or last > items:
        return 0
    return last - max(first, 1) + 1


@helper
def part_start(first: int) -> int:
    """Where `first through …` begins, from 0."""
    return max(first, 1) - 1


# Arrays


@helper
def empty_int(size: int) -> Any:
    """An array for Ints."""
    return np.empty(size, np.int64)


@helper
def empty_float(size: int) -> Any:
    """An array for Floats."""
    return np.empty(size, np.float64)


@helper
def empty_bool(size: int) -> Any:
    """An array for Bools."""
    return np.empty(size, np.bool_)


@routine
def move(to: Any, to_start: int, source: Any, start: int, size: int) -> None:
    """Copy scalars; the two places do not overlap, or are one."""
    for i in range(size):
        put(to, to_start + i, get(source, start + i))


@routine
def copied(source: Any, start: int, size: int) -> Any:
    """A fresh array of these scalars."""
    found = np.empty(size, source.dtype)
    move(found, 0, source, start, size)
    return found


@routine
def joined(a: Any, a_start: int, a_size: int, b: Any, b_start: int, b_size: int) -> Any:
    """A fresh array of both."""
    found = np.empty(a_size + b_size, a.dtype)
    move(found, 0, a, a_start, a_size)
    move(found, a_size, b, b_start, b_size)
    return found


@routine
def grown(array: Any, start: int, used: int, more: int) -> Any:
    """A fresh array of what is used, with room for so many more and as much again."""
    found = np.empty(max(8, 2 * used + more), array.dtype)
    move(found, 0, array, start, used)
    return found


@helper
def room_for(rt: int, site: int, size: int, times: int) -> int:
    """How many scalars `times` copies of `size` are."""
    found, wrong = product_of(size, times)
    if wrong or found > _MOST_SCALARS:
        stop(rt, site, LARGE, size, times)
    return found


@helper
def items_for(rt: int, site: int, items: int, times: int) -> int:
    """How many items `times` copies of a sequence have: no more than the language lets one have."""
    found, wrong = product_of(items, times)
    if wrong or found > MAX_ITEMS:
        stop(rt, site, RULE, items, times)
    return found


@routine
def repeated(array: Any, start: int, size: int, total: int) -> Any:
    """A fresh array of so many scalars: the same ones over and over."""
    found = np.empty(total, array.dtype)
    done = 0
    while done < total:
        move(found, done, array, start, size)
        done += size
    return found


@routine
def filled(array: Any, value: Any) -> Any:
    """The array, every item of it one scalar."""
    for i in range(len(array)):
        put(array, i, value)
    return array


# Comparison


@routine
def same(a: Any, a_start: int, b: Any, b_start: int, size: int) -> bool:
    """Whether scalars of one kind are equal one by one; a NaN never is."""
    for i in range(size):  # noqa: SIM110 - numba has no generators
        if get(a, a_start + i) != get(b, b_start + i):
            return False
    return True


@routine
def same_across(a: Any, a_start: int, b: Any, b_start: int, size: int) -> bool:
    """Whether Ints and Floats are equal one by one, as numbers."""
    for i in range(size):  # noqa: SIM110
        if order(get(a, a_start + i), get(b, b_start + i)) != 0:
            return False
    return True


@routine
def holds(value: Any, array: Any, start: int, items: int) -> bool:
    """Whether an Int or Bool is among them."""
    for i in range(items):  # noqa: SIM110
        if get(array, start + i) == value:
            return True
    return False


@routine
def holds_float(value: float, array: Any, start: int, items: int) -> bool:
    """Whether a Float is among them."""
    for i in range(items):  # noqa: SIM110
        if close(value, get(array, start + i)):
            return True
    return False


# Calls and Show


@helper
def enter(rt: int, site: int, limit: int) -> None:
    """A call opens that takes depth."""
    depth = fetch(rt, DEPTH) + 1
    if depth > limit:
        stop(rt, site, TOO_DEEP, depth, 0)
    store(rt, DEPTH, depth)


@helper
def leave(rt: int) -> None:
    """It is over."""
    store(rt, DEPTH, fetch(rt, DEPTH) - 1)


@routine
def say(rt: int, value: int) -> None:
    """One word of what is shown."""
    used = fetch(rt, USED)
    store(rt, BUFFER + used, value)
    store(rt, USED, used + 1)
    if used + 1 == SHOWN_AT_ONCE and flush(rt) != 0:
        stop(rt, 0, OUTPUT, 0, 0)


@helper
def say_scalar(rt: int, value: Any) -> None:
    """A scalar that is shown."""
    say(rt, word(value))


@routine
def say_all(rt: int, array: Any, start: int, size: int) -> None:
    """Every scalar of a sequence that is shown."""
    for i in range(size):
        say(rt, word(get(array, start + i)))


@routine
def said(rt: int) -> None:
    """All words of a line are there: print it."""
    store(rt, WHOLE, 1)
    if flush(rt) != 0:
        stop(rt, 0, OUTPUT, 0, 0)
