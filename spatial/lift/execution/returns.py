"""What statements return: a value, none, or a value in some cases only, where the function goes on in the others."""

from __future__ import annotations

from dataclasses import dataclass

from spatial.lift.algebra import arith
from spatial.lift.algebra.values import Node
from spatial.lift.context.state import Value
from spatial.logos.syntax import Span


@dataclass(frozen=True)
class Partly:
    """What returns in some cases and goes on in the others: conditions, of which the first that holds, with values."""

    cases: tuple[tuple[Node, Value], ...]
    span: Span

    @property
    def rest(self) -> Node:
        """The condition that none of the cases holds."""
        found: Node = arith.TRUE
        for case, _ in self.cases:
            found = arith.both(found, arith.negate(case))
        return found


Outcome = Value | Partly | None
"""What statements return."""


def returns(outcome: Outcome) -> bool:
    """Whether statements return in every case."""
    return outcome is not None and not isinstance(outcome, Partly)


def cases(outcome: Partly | None, under: Node = arith.TRUE) -> tuple[tuple[Node, Value], ...]:
    """The cases in which statements return that are run under a condition."""
    return () if outcome is None else tuple((arith.both(under, case), value) for case, value in outcome.cases)
