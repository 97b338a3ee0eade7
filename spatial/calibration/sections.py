"""The sections of a program, each to be measured by itself.

A watcher stands where `run_passes` stands in a lowering, and keeps what it is given: every distinct section once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spatial.calibration.candidates import fused
from spatial.errors import Problem, Refused
from spatial.ir.body import Body
from spatial.ir.graph import Lifted
from spatial.ir.program import Bind, Call, Program, Tensor
from spatial.lowering import Options, ProgramLowering, lower
from spatial.passes import run_passes
from spatial.select.layouts import TableLayout
from spatial.target import Target


@dataclass(frozen=True)
class Section:
    """A section as it is planned: its fused template, the chip or the part of it that it is planned for, and what the
    compiler makes of it; None where it refuses it."""

    template: Body
    target: Target
    made: Body | None


def sections_of(
    lifted: Lifted, tables: Mapping[str, TableLayout], target: Target, assume: tuple[str, ...] = ()
) -> tuple[ProgramLowering, list[Section]]:
    """The lowering of a program, and its distinct sections in the order in which they are planned."""
    found: list[Section] = []

    def watched(template: Body, sites: Target) -> Body:
        found.append(Section(fused(template, sites), sites, None))
        made = run_passes(template, sites)
        found[-1] = replace(found[-1], made=made)
        return made

    return lower(lifted, tables, target, Options(assume=assume, run=watched)), found


def templates_of(lifted: Lifted, tables: Mapping[str, TableLayout], target: Target) -> tuple[list[Body], list[Problem]]:
    """The fused templates of a program's distinct sections, none of them planned; why the others have none."""
    found: list[Body] = []

    def watched(template: Body, sites: Target) -> Body:
        found.append(fused(template, sites))
        raise Refused(_UNPLANNED)

    lowering = lower(lifted, tables, target, Options(run=watched))
    return found, [Problem(m.why, "", m.mend) for m in lowering.missing if m.why != _UNPLANNED]


_UNPLANNED = "its template is all that is asked for"


def alone(body: Body) -> Program:
    """A program of one call of `body`, every operand bound to a table of its own."""
    roles = {"in": "input", "out": "result"}
    tensors = tuple(
        Tensor(f"{o.name}{n}", o.extent, o.prec, roles.get(o.mode, "state"), o.layout, o.range)
        for n, o in enumerate(body.operands)
    )
    binds = tuple(
        Bind(t.name, int(t.role != "input"), (0, 0, 0), o.extent) for t, o in zip(tensors, body.operands, strict=True)
    )
    return Program(tensors, (body,), ((Call(0, binds, (0, 0)),),))


def likeness(template: Body) -> Body:
    """What of a template two equal operations share, whatever is proved of what their tables hold."""
    return replace(template, operands=tuple(replace(o, range=None) for o in template.operands))
