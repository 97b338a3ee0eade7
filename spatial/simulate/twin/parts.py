"""What a machine is made of: servers, queues, groups of a multicast, and engines as they stand. Plain records."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from spatial.simulate.twin.orders import Acts


@dataclass(eq=False, slots=True)
class Server:
    """What serves one request at a time: when it is free, and how long it has worked."""

    free: int = 0
    busy: int = 0


@dataclass(eq=False, slots=True)
class Queue:
    """A queue of one site as its two ends know it: when each free slot is known to be so (`room`, in order), when each
    page is there (`pages`); `delay`: of the news that a slot is free; `last`: when the newest page is there.

    `producer`, `consumer`: who waits at an end; the consumer for `wanted` pages.
    """

    name: str
    cap: int
    delay: int = 0
    room: deque[int] = field(default_factory=deque[int])
    pages: deque[int] = field(default_factory=deque[int])
    last: int = 0
    producer: Process | None = None
    consumer: Process | None = None
    wanted: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Transactions of a page that follow each other into one bank, in ticks: `issue` and `send` are the mover's time
    as a read and as a write, `transfer` the port's, `serve` the bank's; a read is served `least` after it began, or
    later."""

    server: Server
    bytes: int
    issue: int
    send: int
    transfer: int
    serve: int
    least: int


@dataclass(frozen=True, eq=False, slots=True)
class Shared:
    """What all calls of a phase contend for: the banks, the ports of sites, the lines of networks. `latency`: of a
    read; `message`: of what is written."""

    banks: tuple[Server, ...]
    ports: tuple[Server, ...]
    lines: tuple[Server, ...]
    latency: int
    message: int


Pages = tuple[list[int], tuple[tuple[Part, ...], ...]]
"""What a load or store moves on one site: the kind of each page in order, and the parts of each kind."""


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A site that a multicast reaches: its queue, its port, the way to it."""

    queue: Queue
    port: Server
    way: int


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """What a multicast or scatter sends: in every turn the members that have a page of it, and the lines it takes. A
    multicast has one turn, a scatter one for each member. A page keeps the sender for `send`, a line for `link`."""

    turns: tuple[tuple[tuple[Member, ...], tuple[Server, ...]], ...]
    send: int
    link: int
    bytes: int


@dataclass(eq=False, slots=True)
class Process:
    """Engine `engine` of a site, for call number `call` of the phase.

    `step`, `act`, `page`, `part`: where it stands in its order; `time`: up to when it is known; `landing`: when the
    page it reads will be there as far as it has been issued; `packer`: until when the last page it made is packed;
    `moved`: pages so far of each stage. `waiting`: the queue it waits for; `asked`: whether it asks to be granted
    something. The rest is counted: ticks at work and waiting, by cause; bytes to and from memory, and to sites.
    """

    number: int
    call: int
    site: tuple[int, int]
    engine: str
    steps: tuple[int, ...]
    blocks: tuple[Acts, ...]
    acts: Acts
    queues: list[Queue]
    pages: dict[int, Pages]
    groups: dict[int, Group]
    port: Server
    moved: list[int]
    time: int = 0
    step: int = 0
    act: int = 0
    page: int = 0
    part: int = 0
    landing: int = 0
    packer: int = 0
    waiting: Queue | None = None
    asked: bool = False
    ended: bool = False
    working: int = 0
    for_pages: int = 0
    for_room: int = 0
    for_lines: int = 0
    moved_bytes: int = 0
    sent_bytes: int = 0

    @property
    def counted(self) -> tuple[int, ...]:
        """All that is counted."""
        return self.working, self.for_pages, self.for_room, self.for_lines, self.moved_bytes, self.sent_bytes

    def count(self, values: list[int]) -> None:
        """Set all that is counted."""
        self.working, self.for_pages, self.for_room, self.for_lines, self.moved_bytes, self.sent_bytes = values
