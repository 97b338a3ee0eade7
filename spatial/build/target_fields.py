"""The figures a target file may hold, and how the value of each is read.

Place: under `targets`, which walks the tables. To give targets a new figure, add it to `spatial.target` and to
`SECTIONS` here (or to `MAPS`, a figure for each of some words); a figure that informs people only goes to `ALSO`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from spatial.build.schema import FLOAT_PRECISIONS, INT_PRECISIONS, Reader
from spatial.build.yaml_nodes import Node, Sequence
from spatial.ir.body import KINDS, OPS

Read = Callable[[Reader, Node, str], Any]
"""Reads the value at a node that messages call by a name; notes what is wrong, and what it then gives is not used."""

MOVING_KINDS = ("load", "store", "multicast", "scatter", "send", "receive", "allreduce")
"""Stage kinds of engines that are on a network, where the chip has one."""

LINK_KINDS = ("send", "receive", "allreduce")
"""Stage kinds that only chips with links to others carry."""

NEEDED_KINDS = ("load", "store", "matmul", "generic", "permute")
"""Stage kinds that some engine of every chip carries; the others are a chip's to have or lack."""

ENGINE_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _whole(low: int, high: int, reader: Reader, node: Node, what: str) -> int | None:
    return reader.integer(node, what, low, high)


def _positive(reader: Reader, node: Node, what: str) -> float | None:
    value = reader.number(node, what)
    if value is not None and value <= 0:
        reader.problem(node, f"{what} is {value:g}", "it is above zero")
    return value


def _zero_or_more(reader: Reader, node: Node, what: str) -> float | None:
    value = reader.number(node, what)
    if value is not None and value < 0:
        reader.problem(node, f"{what} is {value:g}", "it is zero or more")
    return value


def _word(known: tuple[str, ...], reader: Reader, node: Node, what: str) -> str | None:
    return reader.choice(node, what, known)


def _words(known: tuple[str, ...], reader: Reader, node: Node, what: str) -> tuple[str, ...]:
    """A set of words of `known`, at least one, given in the order of `known`: the file's order means nothing."""
    found = reader.words(node, what)
    for item in found:
        if item.text not in known:
            reader.unknown(item, f"item of {what}", item.text, known)
    if isinstance(node, Sequence) and not node.items:
        reader.problem(node, f"{what} is empty", "a chip has at least one", f"known: {', '.join(known)}")
    return tuple(word for word in known if word in [item.text for item in found])


def _some_words(known: tuple[str, ...], reader: Reader, node: Node, what: str) -> tuple[str, ...]:
    """As `_words`, or none of them."""
    return () if isinstance(node, Sequence) and not node.items else _words(known, reader, node, what)


def _several(count: int, read: Read, reader: Reader, node: Node, what: str) -> tuple[Any, ...]:
    """A list of `count` values."""
    items = reader.sequence(node, what)
    if isinstance(node, Sequence) and len(items) != count:
        reader.problem(node, f"{what} has {len(items)} items", f"it has {count}")
    return tuple(read(reader, item, what) for item in items)


def _shapes(reader: Reader, node: Node, what: str) -> tuple[tuple[Any, ...], ...]:
    """A list of sizes, rows and columns."""
    return tuple(_several(2, _COUNT, reader, item, f"a row of {what}") for item in reader.sequence(node, what))


def _rates(reader: Reader, node: Node, what: str) -> tuple[tuple[Any, ...], ...]:
    """A table of rates by size: neither falls from row to row, and sizes rise; none where there is no network."""
    rows = [(item, _several(2, _positive, reader, item, f"a row of {what}")) for item in reader.sequence(node, what)]
    good = [(item, row) for item, row in rows if len(row) == 2 and None not in row]
    for (_, before), (item, row) in pairwise(good):
        if row[0] <= before[0] or row[1] < before[1]:
            reader.problem(item, f"{what} goes from {before} to {row}", "sizes ascend, and rates do not fall")
    return tuple(row for _, row in rows)


def _ascending(reader: Reader, node: Node, what: str) -> tuple[int, ...]:
    """A list of numbers from 0 on, each above the one before; none where the list is empty."""
    found: list[int] = []
    for item in reader.sequence(node, what):
        number = reader.integer(item, f"an item of {what}", 0, 1 << 16)
        if number is not None and found and number <= found[-1]:
            reader.problem(item, f"{what} goes from {found[-1]} to {number}", "its numbers ascend")
        elif number is not None:
            found.append(number)
    return tuple(found)


_COUNT: Read = partial(_whole, 1, 1 << 16)
_BYTES: Read = partial(_whole, 1, 1 << 50)
_LIMIT: Read = partial(_whole, 0, 1 << 16)

NETWORK: Read = partial(_whole, 0, 7)
CARRIES: Read = partial(_words, KINDS)

SECTIONS: dict[str, dict[str, Read]] = {
    "sites": {
        "columns": _COUNT,
        "rows": _COUNT,
        "chips": _COUNT,
        "scratch": _BYTES,
        "align": _COUNT,
        "queues": _COUNT,
        "descriptors": _LIMIT,
        "locks": _LIMIT,
        "counter_bits": partial(_whole, 1, 64),
        "tile": partial(_several, 2, _COUNT),
    },
    "matrix": {
        "floats": partial(_words, FLOAT_PRECISIONS),
        "ints": partial(_words, INT_PRECISIONS),
        "operand": partial(_word, ("f32", "tf32", "bf16", "f16")),
        "float_accumulate": partial(_word, FLOAT_PRECISIONS),
        "int_accumulate": partial(_word, INT_PRECISIONS),
        "registers": _COUNT,
        "registers_16": _COUNT,
        "halves": partial(_whole, 1, 2),
        "step_rows": _COUNT,
        "macs": _positive,
        "overhead": _zero_or_more,
    },
    "vector": {
        "float": partial(_word, FLOAT_PRECISIONS),
        "int": partial(_word, INT_PRECISIONS),
        "holds": partial(_words, (*FLOAT_PRECISIONS, *INT_PRECISIONS)),
        "results": _positive,
        "registers": _COUNT,
    },
    "memory": {
        "bytes": _BYTES,
        "peak": _positive,
        "rate": _positive,
        "granule": _COUNT,
        "align": _COUNT,
        "latency": _zero_or_more,
        "banks": _COUNT,
        "unplaced": _positive,
        "beside": _ascending,
        "strip": _LIMIT,
    },
    "network": {
        "count": partial(_whole, 0, 8),
        "rate": _positive,
        "link": _zero_or_more,
        "hop": _zero_or_more,
        "message": _zero_or_more,
        "issue": _zero_or_more,
        "rates": _rates,
        "multicast": partial(_some_words, ("rectangle",)),
    },
    "links": {
        "count": _COUNT,
        "rated": _positive,
        "rate": _positive,
        "hop": _zero_or_more,
        "reduce_start": _zero_or_more,
        "reduce_step": _zero_or_more,
        "reduce_rate": _positive,
    },
    "host": {"write": _positive, "read": _positive, "latency": _zero_or_more},
    "numerics": {
        "denormals": partial(_word, ("kept", "flushed")),
        "rounding": partial(_word, ("ties-even", "ties-away")),
        "nan": partial(_word, ("kept", "lost")),
    },
    "ports": {"unpack": _positive, "pack": _positive},
    "timing": {"clock": _positive, "section_cycles": _zero_or_more, "step_cycles": _zero_or_more},
    "orders": {"product_order": partial(_word, ("ascending",)), "lane_order": partial(_word, ("halving",))},
}
"""Section -> field of the record -> reader. All are required, but for the sections of `OPTIONAL`."""

OPTIONAL = ("links",)
"""Sections that a chip may be without."""

MAPS: dict[str, tuple[str, str, tuple[str, ...], Read]] = {
    "vector": ("cost", "operation", tuple(OPS), _positive),
    "matrix": ("passes", "format", (*FLOAT_PRECISIONS, *INT_PRECISIONS), partial(_whole, 1, 64)),
}
"""Section -> the field that is a figure for each of some words: its name, what a word is, the words, the reader."""

ALSO: dict[str, Read] = {
    "physical_grid": partial(_several, 2, _COUNT),
    "enabled_sites": _COUNT,
    "scratch_bytes": _BYTES,
    "scratch_reserved": _BYTES,
    "scratch_headroom": _BYTES,
    "scratch_banks": _COUNT,
    "tile_shapes": _shapes,
    "engine_step": partial(_several, 3, _COUNT),
    "packet_bytes": _BYTES,
    "outstanding": _COUNT,
    "program_bytes": _BYTES,
    "middle_bytes": _BYTES,
    "middle_rate": _positive,
    "fitted_overhead": _zero_or_more,
    "fitted_unpack": _positive,
    "fitted_unplaced": _positive,
}
"""Published figures that may stand in a file, under `also`, beside those the record takes."""
