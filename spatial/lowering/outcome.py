"""What a lowering hands back: the program where all of it was lowered, else what is missing; honest counts always."""

from __future__ import annotations

from dataclasses import dataclass

from spatial.errors import Refused, counted
from spatial.ir import graph as g
from spatial.ir.body import Body
from spatial.ir.program import Program


@dataclass(frozen=True)
class Made:
    """What became of a statement, by its node in the graph and its place in a block's body (-1: in none): the kind of
    its section, and the body of each of its parts."""

    node: int
    inner: int
    kind: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class ProgramLowering:
    """What became of a program: counts always, the program only where every statement was lowered and composed.

    `missing`: statements refused for a reason of their own; `depending`: those that read what is missing. `state`:
    tables in the order in which they are first met; `carried`: those of them that no call assembles whole. `kinds`:
    sections by kind, block instances counted; `views`: statements that became views; `fills`: (IR tensor, graph tensor)
    of each constant; `planned`: distinct sections planned here; `made`: what each statement that was lowered became.
    """

    program: Program | None
    statements: int
    lowered: int
    sections: int
    missing: tuple[g.Missing, ...]
    state: tuple[str, ...]
    carried: tuple[str, ...]
    kinds: tuple[tuple[str, int], ...] = ()
    views: int = 0
    fills: tuple[tuple[str, int], ...] = ()
    planned: int = 0
    depending: tuple[g.Missing, ...] = ()
    made: tuple[Made, ...] = ()

    def whole(self) -> Program | None:
        """The program, or None where the lowering is partial."""
        whole = self.statements > 0 and self.lowered == self.statements and not self.missing
        return self.program if whole else None

    def into_whole(self) -> Program:
        """The program; raises `Refused` with the refusal a partial lowering earns."""
        program = self.whole()
        if program is None:
            raise Refused(self.refusal())
        return program

    def refusal(self) -> str:
        """The fraction lowered, up to `g.NAMED` missing statements by name, how many more, and what depends on them."""
        if not self.statements:
            return NOTHING
        if self.lowered == self.statements:
            why = "".join(f": {m.why}" for m in self.missing)
            return (
                f"lowered {self.lowered} of {self.statements} statements into {self.sections} sections, which did not "
                f"compose to one program{why}"
            )
        named = [f"{_place(m)}`{m.binder}` ({m.kind}): {m.why}" for m in self.missing[: g.NAMED]]
        more = len(self.missing) - g.NAMED
        tail = [f"and {more} more"] if more > 0 else []
        if self.depending:
            tail.append(f"{counted(len(self.depending), 'statement')} more read what is missing")
        return f"lowered {self.lowered} of {self.statements} statements; not lowered: " + "; ".join(named + tail)


NOTHING = "the source has no statement that computes a tensor, so there is nothing to lower"
"""What a source without tensor statements earns: never an empty program."""


def _place(m: g.Missing) -> str:
    return f"{m.file}:{m.line}:{m.column} " if m.file else ""
