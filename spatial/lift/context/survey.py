"""What a survey finds: an execution that steps over what cannot be lifted, so that one run tells all there is to tell.

A first execution stops at the first refusal of each statement of Main. Only if there was one is the program executed
again with a `Survey` on its machine: bodies then note each refused statement, take from its variables what it would
have given them, and go on. What reads such a variable depends on the refusal and is noted so, not as another cause.
Knows no loop and no rule of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from spatial.lift.algebra.values import Made, Node, Tensor, constant
from spatial.lift.context.state import Cell, NotLifted, Poison, Seq, Value
from spatial.logos.syntax import Span


class Lost(Exception):
    """Variables a loop carries were taken by a refusal in its body: it is to be run again without them."""

    def __init__(self, cells: tuple[Cell, ...]) -> None:
        super().__init__(*(c.name for c in cells))
        self.cells = cells


@dataclass(frozen=True)
class Noted:
    """A statement that is not lifted: why (or, of a silent problem, on what it depends), and where it stands."""

    problem: NotLifted
    span: Span

    @property
    def root(self) -> bool:
        """Whether it is refused for a reason of its own."""
        return not self.problem.silent


@dataclass(eq=False)
class Survey:
    """The statements noted, in the order in which they are met, and what they read that is lifted."""

    noted: list[Noted] = field(default_factory=list[Noted])
    said: dict[Span, list[str]] = field(default_factory=dict[Span, list[str]])
    """What was noted of a statement: the variables at fault, "" for a dependence."""
    around: list[str] = field(default_factory=list[str])
    """What the statements under way bind, outermost first."""
    attempts: list[Callable[[NotLifted], bool]] = field(default_factory=list[Callable[[NotLifted], bool]])
    """Loops under way that would run again otherwise, knowing of a problem: such a one is none yet."""
    left: int = 0
    """How many loops were left early."""
    reads: dict[tuple[str, int], tuple[str, Value]] = field(default_factory=dict[tuple[str, int], tuple[str, Value]])

    def note(self, problem: NotLifted, span: Span) -> None:
        """Notes a statement once; what is refused for a reason of its own depends on nothing."""
        if not problem.binder:
            problem.binder = next((name for name in reversed(self.around) if name), "")
        said = self.said.setdefault(span, [])
        if (said and problem.silent) or _key(problem) in said:
            return
        said.append(_key(problem))
        self.noted.append(Noted(problem, span))

    def since(self, count: int) -> tuple[Noted, ...]:
        """What was noted after the first `count`."""
        return tuple(self.noted[count:])

    def restore(self, count: int) -> None:
        """Forgets all but the first `count`."""
        while len(self.noted) > count:
            last = self.noted.pop()
            self.said[last.span].remove(_key(last.problem))

    def wanted(self, problem: NotLifted) -> bool:
        """Whether a loop under way takes the problem as a hint how to run."""
        return any(attempt(problem) for attempt in reversed(self.attempts))

    def read(self, name: str, value: Value) -> None:
        """What a statement that is not lifted reads, and is lifted: it would be needed."""
        number = isinstance(value, Node) and value.kind != "bool" and constant(value) is None
        if number or (isinstance(value, Seq) and _is_made(value.tensor)):
            self.reads.setdefault((name, id(value)), (name, value))


def lost_from(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Those of the variables that a refusal took."""
    return tuple(c for c in cells if isinstance(c.value, Poison) and not c.value.why)


def _is_made(tensor: Tensor) -> bool:
    """Whether a tensor is made by statements, and is no start of one."""
    shaped = tensor.dims is not None and None not in tensor.dims and 0 not in tensor.dims
    return isinstance(tensor, Made) and shaped and tensor.length is None and tensor.kind in ("int", "float")


def _key(problem: NotLifted) -> str:
    return "" if problem.silent else problem.binder or "?"
