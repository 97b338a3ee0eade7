"""A chip as data: what a site has, what its datapaths compute, what moving costs.

Ground floor: a frozen record and nothing else. Reading `targets/*.yaml` (with the place of every mistake) is the
build's work; no code asks for a target's name. All rates are per clock cycle, all sizes in bytes, unless a field says
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """One sequential process of a site: the stage kinds it carries, and which network (from 0) it moves pages on.

    An engine that moves nothing is on none: -1.
    """

    name: str
    kinds: tuple[str, ...]
    network: int = -1


@dataclass(frozen=True)
class Matrix:
    """The page-product datapath.

    `floats` and `ints`: formats a page may have when it enters; `operand`: what float operands are rounded to on entry
    ("f32" means not at all); `float_accumulate`, `int_accumulate`: the accumulator's formats; `registers`,
    `registers_16`: accumulator tiles, at 32 and at 16 bits, that one stage may hold; `halves`: how many times as many
    there are in all, one part being packed while another fills; `step_rows`: rows the engine works on at once (a
    shorter page still costs that many); `macs`: multiply-adds per cycle at full rows and one pass; `passes`: by format,
    the passes it takes at full precision, which is the policy; `overhead`: cycles each page product costs beyond those.
    """

    floats: tuple[str, ...]
    ints: tuple[str, ...]
    operand: str
    float_accumulate: str
    int_accumulate: str
    registers: int
    registers_16: int
    halves: int
    step_rows: int
    macs: float
    passes: tuple[tuple[str, int], ...]
    overhead: float

    def rate(self, *formats: str) -> float:
        """Multiply-adds per cycle, at full rows, of pages of these formats: the one of most passes decides."""
        passes = dict(self.passes)
        return self.macs / max(passes.get(f, 1) for f in formats)


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

    `peak`: the rate it is sold by, which `rate` comes near; `granule`: bytes a write covers whole (two writers never
    share one); `align`: alignment of tensors and of the runs of a read; `latency`: cycles from a read's issue to its
    first byte; `banks`: equal parts that serve one access at a time each, consecutive pages lying in consecutive banks;
    `unplaced`: the rate in all when readers stand anywhere. `beside`: the columns of sites that stand next to banks: a
    reader is placed there and nowhere else (none: it does not matter where); `strip`: columns of tiles that lie in one
    bank, of tables dealt by width (0: no table is).
    """

    bytes: int
    peak: float
    rate: float
    granule: int
    align: int
    latency: float
    banks: int
    unplaced: float
    beside: tuple[int, ...] = ()
    strip: int = 0


@dataclass(frozen=True)
class Network:
    """The networks between sites, `count` of them and alike; with none, sites meet in memory only.

    `rate`: bytes per cycle into one site; `link`: of one link between neighbours; `hop`: cycles per hop; `message`: per
    message, both ends together; `issue`: between the starts of two transfers of one mover, however short they are;
    `rates`: (bytes of a transfer, bytes per cycle it reaches), ascending; `multicast`: shapes of groups that one
    transfer reaches.
    """

    count: int
    rate: float
    link: float
    hop: float
    message: float
    issue: float
    rates: tuple[tuple[float, float], ...]
    multicast: tuple[str, ...]


@dataclass(frozen=True)
class Links:
    """Links between neighbouring chips: `count` of a chip towards one neighbour, each `rate` bytes per cycle each way.

    `rated`: what a link is sold by; `hop`: cycles from chip to chip. A reduction of n bytes to all of N chips is fitted
    by `reduce_start` + `reduce_step` * (N - 1) cycles, and 2 (N - 1) / N * n bytes at `reduce_rate` a cycle.
    """

    count: int
    rated: float
    rate: float
    hop: float
    reduce_start: float
    reduce_step: float
    reduce_rate: float


@dataclass(frozen=True)
class Host:
    """The way to the host: bytes per cycle to the chip and from it, cycles that a transfer takes at least."""

    write: float
    read: float
    latency: float


@dataclass(frozen=True)
class Numerics:
    """What the chip does at the edges of its formats, as declared: for people, nothing computes by it.

    `denormals`: "kept" or "flushed" to zero; `rounding`: "ties-even" or "ties-away"; `nan`: "kept" through both
    datapaths, or "lost" in the matrix datapath.
    """

    denormals: str
    rounding: str
    nan: str


@dataclass(frozen=True)
class Target:
    """A chip, `chips` of them on a board. Sites form a grid of `columns` x `rows`, addressed (x, y) from (0, 0).

    `scratch`: bytes per site for queues and accumulators; `align`: what pages in scratch are aligned to; `queues`:
    queues a site may have; `descriptors`: transfers that movers may have described, one for every slot of a queue at
    each of its ends that moves pages; `locks`: semaphores, two for every queue between engines (0 of either: as many as
    wanted); `tile`: rows and columns of the largest page; `counter_bits`: width of a queue's counters of pages pushed
    and freed, which wrap; `clock`: cycles per second; `unpack`, `pack`: bytes per cycle from scratch into the compute
    datapaths of a site and back; `section_cycles`: what starting a section and its barrier cost; `step_cycles`: what
    one iteration of a stage costs beside its work.

    Orders that results depend on are stated: `product_order` ("ascending": inside a page product k ascends, pages in
    stage order) and `lane_order` ("halving": an in-page reduction folds the upper half of the lanes onto the lower
    until one is left).
    """

    name: str
    columns: int
    rows: int
    chips: int
    scratch: int
    align: int
    queues: int
    descriptors: int
    locks: int
    counter_bits: int
    tile: tuple[int, int]
    clock: float
    engines: tuple[Engine, ...]
    matrix: Matrix
    vector: Vector
    memory: Memory
    network: Network
    links: Links | None
    host: Host
    numerics: Numerics
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

    def slot(self, size: int) -> int:
        """Bytes that `size` bytes take in scratch, so that the next page is aligned too."""
        return -(-size // self.align) * self.align
