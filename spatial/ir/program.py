"""Programs: tensors in a chip's memory, and phases of calls that bind bodies to them.

Versions. Version 0 of an input, weight or state is what the host or the deployment put there; an intermediate or
result has no version 0. All stores of one phase into a tensor make its next version. State inherits what was not
stored; every version of an intermediate or result is covered whole. A load reads the version current when its phase
begins, and within a phase no byte is stored twice, nor stored and loaded.

Calls of one phase run at once on disjoint rectangles of sites. A phase ends when every site has finished and every
store has landed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spatial.ir.body import Body

ROLES = ("input", "weight", "state", "result", "intermediate")


@dataclass(frozen=True)
class Tensor:
    """A table in memory: `shape` = (slices, rows, columns), one format, one layout ("flat", "dense", "q8_0").

    `name` is the spec's for inputs, weights, state and results, else canonical (t0, t1, …). `range`: of an integer
    tensor, inclusive bounds declared or proved. A Q8_0 tensor has prec and layout "q8_0" and shape (slices, K, N).
    """

    name: str
    shape: tuple[int, int, int]
    prec: str
    role: str
    layout: str
    range: tuple[int, int] | None = None


@dataclass(frozen=True)
class Bind:
    """A body's operand bound to a part of a tensor: `origin` and `extent` in (slices, rows, columns).

    `version`: of an "in" operand the version read, of an "out" operand the version made.
    """

    tensor: str
    version: int
    origin: tuple[int, int, int]
    extent: tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """Body `body` (by position in the program) run with `binds` (by operand position) at site `place` = (x, y)."""

    body: int
    binds: tuple[Bind, ...]
    place: tuple[int, int]


Phase = tuple[Call, ...]


@dataclass(frozen=True)
class Block:
    """A repeated block of the source as it stands in the phases: `trip` instances of `length` phases from `first` on.

    `carried`: for each instance the tensors it hands on, as (tensor, version) pairs, so that a reader of the
    memory can follow the block.
    """

    first: int
    length: int
    trip: int
    carried: tuple[tuple[tuple[str, int], ...], ...]


@dataclass(frozen=True)
class Show:
    """One thing the program prints: literal `text`, or a tensor's value (`tensor` not empty), in order."""

    text: str
    tensor: str = ""


@dataclass(frozen=True)
class Program:
    """A whole program of one chip. `results`: (name, tensor, version) of each declared result.

    `state`: (tensor, final version) of each table carried from call to call. `assume`: relations between inputs,
    as the spec spells them.
    """

    tensors: tuple[Tensor, ...]
    bodies: tuple[Body, ...]
    phases: tuple[Phase, ...]
    results: tuple[tuple[str, str, int], ...] = ()
    state: tuple[tuple[str, int], ...] = ()
    blocks: tuple[Block, ...] = ()
    shows: tuple[tuple[Show, ...], ...] = ()
    assume: tuple[str, ...] = ()

    def tensor(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(t for t in self.tensors if t.name == name)


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """The program with tensors of other names, by the names they have; no two may have one."""

    def name(old: str) -> str:
        return names.get(old, old)

    return replace(
        program,
        tensors=tuple(replace(t, name=name(t.name)) for t in program.tensors),
        phases=tuple(
            tuple(replace(c, binds=tuple(replace(b, tensor=name(b.tensor)) for b in c.binds)) for c in phase)
            for phase in program.phases
        ),
        results=tuple((result, name(t), v) for result, t, v in program.results),
        blocks=tuple(
            replace(b, carried=tuple(tuple((name(t), v) for t, v in c) for c in b.carried)) for b in program.blocks
        ),
        shows=tuple(tuple(replace(x, tensor=name(x.tensor)) for x in line) for line in program.shows),
    )
