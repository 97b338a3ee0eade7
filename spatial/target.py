"""A chip as data: what a site has, what its datapaths compute, what moving costs.

Ground floor: a frozen record and nothing else. Reading `targets/*.yaml` (with the place of every mistake) is the
build's work; no code asks for a target's name. All rates are per clock cycle, all sizes in bytes, unless a field says
otherwise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from spatial.errors import Bug


@dataclass(frozen=True)
class Engine:
    """One sequential process of a site, and the stage kinds it carries."""

    name: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Matrix:
    """The page-product datapath.

    `floats` and `ints`: formats a page may have when it enters; `operand`: what float operands are rounded to on entry
    ("f32" means not at all); `float_accumulate`, `int_accumulate`: the accumulator's formats; `registers`: accumulator
    tiles at 32 bits that one stage may hold; `step_rows`: rows the engine works on at once (a shorter page still costs
    that many); `macs`: multiply-adds per cycle at full rows; `overhead`: cycles each page product costs beyond those.
    """

    floats: tuple[str, ...]
    ints: tuple[str, ...]
    operand: str
    float_accumulate: str
    int_accumulate: str
    registers: int
    step_rows: int
    macs: float
    overhead: float


@dataclass(frozen=True)
class Vector:
    """The elementwise datapath: computes in `float` and `int`; pages enter and leave in any format of `holds`.

    `results`: lane results per cycle of one simple operation; `registers`: tiles a chain of operations may keep live;
    `cost`: cycles per lane result, relative to a simple operation, of the dearer operations by name.
    """

    float: str
    int: str
    holds: tuple[str, ...]
    results: float
    registers: int
    cost: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Memory:
    """The chip's shared memory: `bytes` in all, `rate` bytes per cycle of all sites together when placed well.

    `granule`: bytes a write covers whole (two writers never share one); `align`: alignment of tensors and of the runs
    of a read; `latency`: cycles from a read's issue to its first byte; `banks`: equal parts that serve one access at a
    time each, consecutive pages lying in consecutive banks; `unplaced`: the rate in all when readers stand anywhere.
    """

    bytes: int
    rate: float
    granule: int
    align: int
    latency: float
    banks: int
    unplaced: float


@dataclass(frozen=True)
class Network:
    """The network between sites: bytes per cycle into one site, cycles per hop and per message, multicast or not.

    `issue`: cycles between the starts of two transfers of one mover, however short they are.
    """

    rate: float
    hop: float
    message: float
    multicast: bool
    issue: float


@dataclass(frozen=True)
class Target:
    """A chip. Sites form a grid of `columns` x `rows`, addressed (x, y) from (0, 0).

    `scratch`: bytes per site for queues and accumulators; `queues`: queues a site may have; `tile`: rows and columns
    of the largest page; `counter_bits`: width of a queue's counters; `clock`: cycles per second; `unpack`, `pack`:
    bytes per cycle from scratch into the compute datapaths of a site and back; `section_cycles`: what starting a
    section and its barrier cost; `step_cycles`: what one iteration of a stage costs beside its work.

    Orders that results depend on are stated: `product_order` ("ascending": inside a page product k ascends, pages in
    stage order) and `lane_order` ("halving": an in-page reduction folds the upper half of the lanes onto the lower
    until one is left).
    """

    name: str
    columns: int
    rows: int
    scratch: int
    queues: int
    counter_bits: int
    tile: tuple[int, int]
    clock: float
    engines: tuple[Engine, ...]
    matrix: Matrix
    vector: Vector
    memory: Memory
    network: Network
    section_cycles: float
    step_cycles: float
    unpack: float
    pack: float
    product_order: str = "ascending"
    lane_order: str = "halving"

    @property
    def sites(self) -> int:
        """Usable sites."""
        return self.columns * self.rows

    def engine_of(self, kind: str) -> tuple[str, ...]:
        """Names of the engines that carry stages of `kind`."""
        return tuple(e.name for e in self.engines if kind in e.kinds)

    def to_record(self) -> dict[str, Any]:
        """The target as plain maps, lists, numbers and words, for an artifact."""
        return cast("dict[str, Any]", _plain(dataclasses.asdict(self)))

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Target:
        """The target that `to_record` made `record` of; raises `Bug` on a record of another shape."""
        try:
            parts = dict(record)
            parts["engines"] = tuple(Engine(e["name"], tuple(e["kinds"])) for e in record["engines"])
            matrix, vector = dict(record["matrix"]), dict(record["vector"])
            matrix["floats"], matrix["ints"] = tuple(matrix["floats"]), tuple(matrix["ints"])
            vector["holds"] = tuple(vector["holds"])
            vector["cost"] = tuple((str(k), float(v)) for k, v in vector["cost"])
            parts["matrix"], parts["vector"] = Matrix(**matrix), Vector(**vector)
            parts["memory"], parts["network"] = Memory(**record["memory"]), Network(**record["network"])
            parts["tile"] = (int(record["tile"][0]), int(record["tile"][1]))
            return Target(**parts)
        except (KeyError, TypeError, ValueError, IndexError) as e:
            raise Bug("a target record is malformed", repr(e)) from e


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {k: _plain(v) for k, v in cast("dict[str, Any]", value).items()}
        case tuple() | list():
            return [_plain(v) for v in cast("list[Any]", value)]
        case _:
            return value
