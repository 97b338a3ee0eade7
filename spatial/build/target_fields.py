"""The figures a target file may hold, and how the value of each is read.

Place: under `targets`, which walks the tables. To give targets a new figure, add it to `spatial.target` and to
`SECTIONS` here; a figure that informs people only goes to `ALSO`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from spatial.build.schema import FLOAT_PRECISIONS, INT_PRECISIONS, Reader
from spatial.build.yaml_nodes import Node, Sequence
from spatial.ir.body import KINDS

Read = Callable[[Reader, Node, str], Any]
"""Reads the value at a node that messages call by a name; notes what is wrong, and what it then gives is not used."""

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


def _flag(reader: Reader, node: Node, what: str) -> bool:
    return reader.flag(node, what)


def _pair(read: Read, reader: Reader, node: Node, what: str) -> tuple[Any, ...]:
    items = reader.sequence(node, what)
    if isinstance(node, Sequence) and len(items) != 2:
        reader.problem(node, f"{what} has {len(items)} items", "it has two")
    return tuple(read(reader, item, what) for item in items)


def _pairs(reader: Reader, node: Node, what: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(_pair(_positive, reader, item, f"a row of {what}") for item in reader.sequence(node, what))


_COUNT: Read = partial(_whole, 1, 1 << 16)
_BYTES: Read = partial(_whole, 1, 1 << 50)

COST: Read = _positive
CARRIES: Read = partial(_words, KINDS)

SECTIONS: dict[str, dict[str, Read]] = {
    "sites": {
        "columns": _COUNT,
        "rows": _COUNT,
        "scratch": _BYTES,
        "queues": _COUNT,
        "counter_bits": partial(_whole, 1, 64),
        "tile": partial(_pair, _COUNT),
    },
    "matrix": {
        "floats": partial(_words, FLOAT_PRECISIONS),
        "ints": partial(_words, INT_PRECISIONS),
        "operand": partial(_word, ("f32", "tf32", "bf16", "f16")),
        "float_accumulate": partial(_word, FLOAT_PRECISIONS),
        "int_accumulate": partial(_word, INT_PRECISIONS),
        "registers": _COUNT,
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
        "rate": _positive,
        "granule": _COUNT,
        "align": _COUNT,
        "latency": _zero_or_more,
        "banks": _COUNT,
        "unplaced": _positive,
    },
    "network": {
        "rate": _positive,
        "hop": _zero_or_more,
        "message": _zero_or_more,
        "multicast": _flag,
        "issue": _zero_or_more,
    },
    "ports": {"unpack": _positive, "pack": _positive},
    "timing": {"clock": _positive, "section_cycles": _zero_or_more, "step_cycles": _zero_or_more},
    "orders": {"product_order": partial(_word, ("ascending",)), "lane_order": partial(_word, ("halving",))},
}
"""Section -> field of the record -> reader. All are required; `vector` has a map of costs by operation besides."""

ALSO: dict[str, Read] = {
    "physical_grid": partial(_pair, _COUNT),
    "enabled_sites": _COUNT,
    "scratch_bytes": _BYTES,
    "scratch_reserved": _BYTES,
    "scratch_headroom": _BYTES,
    "scratch_banks": _COUNT,
    "networks": _COUNT,
    "link_rate": _positive,
    "packet_bytes": _BYTES,
    "transfer_rates": _pairs,
    "memory_peak": _positive,
    "chip_link_rate": _positive,
    "chip_hop_cycles": _positive,
    "host_write_rate": _positive,
    "host_read_rate": _positive,
    "denormals": partial(_word, ("kept", "flushed")),
    "rounding": partial(_word, ("ties-even", "ties-away")),
}
"""Published figures that may stand in a file, under `also`, beside those the record takes."""
