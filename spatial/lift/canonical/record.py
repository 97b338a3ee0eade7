"""What became of the statements that the graph has no statement for: joined, views, fills, duplicates, dead.

Counts and explanations are made of these; nothing of them is in the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from spatial.ir.graph import Recorded
from spatial.lift.algebra.values import Final, Get, Made, Tensor
from spatial.lift.canonical.closed import is_fill
from spatial.lift.canonical.emit import Emitter
from spatial.lift.canonical.units import Unit, Units
from spatial.lift.context.machine import Machine
from spatial.lift.context.state import Seq
from spatial.logos.syntax import NO_SPAN, Span


def recorded(
    units: Units, live: Sequence[Unit], joined: Mapping[Unit, Unit], equal: Mapping[Unit, Unit], emitter: Emitter
) -> tuple[Recorded, ...]:
    """The fate of every unit that was not emitted as a statement, in the order in which they were made.

    `joined`, `equal`: what joined what, and what was the same as what.
    """
    kept = set(live)
    gone = {**joined, **equal}
    found: list[Recorded] = []
    for u in units.all:
        if u in joined:
            fate, of = "joined", _number(joined[u], units, gone, emitter)
        elif u in equal:
            fate, of = "duplicate", _number(equal[u], units, gone, emitter)
        elif u not in kept:
            viewed = u in units.viewed
            fate, of = ("view", _number(u, units, gone, emitter)) if viewed else ("dead", -1)
        elif u in emitter.duplicates:
            fate, of = "duplicate", emitter.numbers[u]
        elif is_fill(u):
            fate, of = "fill", emitter.numbers[u]
        else:
            continue
        found.append(Recorded(fate, u.name, of, u.span.file, u.span.line, u.span.column))
    return tuple(found)


def unread(units: Units, machine: Machine, folded: Set[Tensor]) -> tuple[Recorded, ...]:
    """The top-level sequences of Main that nothing reads: no unit was made of them, nor are they of `folded` layers."""
    found: list[Recorded] = []
    for cell in machine.globals.names.values():
        made = cell.value.tensor if isinstance(cell.value, Seq) else None
        if isinstance(made, Made) and made not in units.made and made not in folded:
            span = made.origin if isinstance(made.origin, Span) else NO_SPAN
            found.append(Recorded("dead", cell.name, -1, span.file, span.line, span.column))
    return tuple(found)


def _number(tensor: Tensor, units: Units, gone: Mapping[Unit, Unit], emitter: Emitter) -> int:
    """The graph's tensor that a unit became part of, or that a view looks through to; -1: there is none."""
    while tensor not in emitter.numbers:
        if isinstance(tensor, Final):
            return emitter.after.get(tensor.block.inner[tensor.slot], -1)
        if not isinstance(tensor, Unit):
            return -1
        if tensor in gone:
            tensor = gone[tensor]
            continue
        value = tensor.pieces[0].value if tensor in units.viewed and tensor.pieces else None
        if not isinstance(value, Get):
            return -1
        tensor = value.tensor
    return emitter.numbers[tensor]
