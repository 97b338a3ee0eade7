"""What a loop carries, and a loop being closed: the records that `nests` and the closing steps share."""

from __future__ import annotations

from dataclasses import dataclass, field

from spatial.lift.algebra.bounds import at_least_zero
from spatial.lift.algebra.values import Node, Start, Sym, Tensor, int_constant, integer, plus
from spatial.lift.carried.rescaled import Running
from spatial.lift.context.state import Cell, NotLifted, Seq, Site, Value
from spatial.logos.syntax import NO_SPAN, Span

ONCE = "let the loop run a known number of times, or choose the value with If after it"
"""What mends a variable that has a value after a loop only if the loop ran."""


@dataclass(eq=False)
class Carry:
    """A variable the loop may change: its value before, a stand-in as an iteration begins, its value as one ends."""

    cell: Cell
    entry: Value
    start: Sym | Start
    exit: Value
    final: Value | None = None
    order: int = 0
    """Its place in the order of completion."""
    growth: int = 0
    """Items an iteration adds to a sequence."""
    closed: bool = False
    loop: Span = NO_SPAN

    @property
    def span(self) -> Span:
        """The statement that changed it last."""
        return self.cell.span or self.loop

    @property
    def site(self) -> Site:
        """What a reduction into it is called."""
        return Site(self.cell.name, self.span)


@dataclass(eq=False)
class Closing:
    """A loop being closed: its variable, guard and count, and what stands for the stand-ins so far."""

    v: Sym
    trip: Node
    guard: Node
    known: tuple[Node, ...]
    span: Span
    carries: list[Carry]
    nodes: dict[Sym, Node]
    tensors: dict[Tensor, Tensor]
    running: dict[Sym, Running] = field(default_factory=dict[Sym, Running])
    """Its running maxima, by their stand-ins."""
    places: dict[Sym, tuple[Node, Node, tuple[Node, ...]]] = field(
        default_factory=dict[Sym, tuple[Node, Node, tuple[Node, ...]]]
    )
    """Places that are indices as the loop runs: what each starts as, what an iteration may give it, and when."""

    @property
    def last(self) -> Node | None:
        """The number of the last iteration, if there surely is one and it is known."""
        n = int_constant(self.trip)
        return plus(self.trip, -1) if n is not None and n > 0 else None

    @property
    def runs(self) -> bool:
        """Whether the loop surely runs at least once."""
        return at_least_zero(plus(self.trip, -1), self.known)


def length_of(value: Seq) -> Node:
    """The length of a sequence before a loop."""
    if value.tensor.length is not None:
        return value.tensor.length
    dims = value.dims
    if not dims or dims[0] is None:
        raise NotLifted("the length of a sequence that grows is not known", "start with a new Seq", None, "write")
    return integer(dims[0])
