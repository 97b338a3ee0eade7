"""How many statements an execution may run: calls of calls and loops in loops make any number of a few of them.

What is refused here is the program as a whole, not a statement of it, and no other reading of a loop would help.
"""

from __future__ import annotations

from dataclasses import dataclass

from spatial.lift.context.state import NotLifted
from spatial.logos import syntax

RUN = 50_000
"""Statements that any program may run: bodies of functions once a call, of loops as often as they are tried."""

_AGAIN = 16
"""How many more it may run for each that it has."""


class Exhausted(Exception):
    """An execution runs more statements than any may."""

    def __init__(self, problem: NotLifted) -> None:
        super().__init__(problem.why)
        self.problem = problem


@dataclass(eq=False)
class Spent:
    """What an execution may still run."""

    left: int

    @classmethod
    def of(cls, program: syntax.Program) -> Spent:
        """As an execution of a program begins."""
        bodies = (program.main, *(f.body for f in program.functions))
        return cls(RUN + _AGAIN * sum(1 for body in bodies for _ in syntax.statements(body)))

    def one(self) -> None:
        """Counts a statement that is run."""
        self.left -= 1
        if self.left < 0:
            raise Exhausted(
                NotLifted(
                    f"calls, and loops taken step by step, make more than {RUN} statements of it",
                    "keep what a call gives in a variable instead of calling twice, and write loops with fewer steps",
                )
            )
