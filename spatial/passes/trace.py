"""A record of what each pass did to each section: the bodies before and after, what changed, and how much there is.

A `Trace` stands where `run_passes` stands, and does the same: passes are pure, so that watching them changes nothing.
Its clock is the caller's: this module has none, and no time is in a body. A pass that refuses a section, or breaks its
contract, is recorded too, and what it raises is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

from spatial.errors import SpatialError
from spatial.ir.body import KINDS, Body, Loop, Step
from spatial.passes import PASS_ORDER, Pass, run_passes
from spatial.target import Target


@dataclass(frozen=True)
class Traced:
    """One pass on one section: the body it was given and what it made, or the error it raised; the time it took, by the
    caller's clock."""

    name: str
    before: Body
    after: Body | None
    error: SpatialError | None
    time: float


@dataclass
class History:
    """A section as it was selected, the chip (or the part of it) it is planned for, and its passes as far as they
    came."""

    template: Body
    target: Target
    passes: list[Traced] = field(default_factory=list[Traced])

    def made(self) -> Body | None:
        """What the last pass made; None where one refused the section."""
        whole = [t.name for t in self.passes] == [name for name, _ in PASS_ORDER]
        return self.passes[-1].after if whole else None


@dataclass
class Trace:
    """The passes of a lowering, watched: sections in the order in which they were planned."""

    clock: Callable[[], float]
    sections: list[History] = field(default_factory=list[History])

    def run(self, template: Body, target: Target) -> Body:
        """As `run_passes`, and recorded."""
        section = History(template, target)
        self.sections.append(section)
        return run_passes(template, target, [(name, self._watched(name, run, section)) for name, run in PASS_ORDER])

    def _watched(self, name: str, run: Pass, section: History) -> Pass:
        def watched(body: Body, target: Target) -> Body:
            begun = self.clock()
            try:
                made = run(body, target)
            except SpatialError as error:
                section.passes.append(Traced(name, body, None, error, self.clock() - begun))
                raise
            section.passes.append(Traced(name, body, made, None, self.clock() - begun))
            return made

        return watched


# ---------------------------------------------------------------- what there is


def kinds_of(body: Body) -> dict[str, int]:
    """The stages of a body by kind, those kinds it has."""
    found = Counter(s.kind for s in body.stages)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def counts_of(body: Body) -> dict[str, int]:
    """How much there is of a body, by name.

    A queue is an edge between two stages; `pages` is the room of all queues of a site; `steps` are those written in the
    orders of the engines, however often they are taken.
    """
    return {
        "stages": len(body.stages),
        "queues": len(body.queues),
        "pages": sum(q.cap for q in body.queues),
        "items": prod(body.items.grid),
        "sites": prod(body.rect),
        "turns": prod(body.items.trips),
        "steps": sum(_steps(e.order) for e in body.engines),
    }


def _steps(order: tuple[Loop | Step, ...]) -> int:
    return sum(1 if isinstance(node, Step) else _steps(node.body) for node in order)


# ---------------------------------------------------------------- what changed


@dataclass(frozen=True)
class Change:
    """Parts of a body, as `stage NAME`, `queue NAME` and the like, that a pass added, removed or altered."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


def change(before: Body, after: Body) -> Change:
    """What of `after` is not as it was `before`, the phase apart; parts in the order in which they stand."""
    old, new = dict(_parts(before)), dict(_parts(after))
    return Change(
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        tuple(name for name in new if name in old and new[name] != old[name]),
    )


def _parts(body: Body) -> Iterator[tuple[str, object]]:
    """Every part of a body by its kind and name; the phase is none."""
    yield from ((f"operand {o.name}", o) for o in body.operands)
    yield "rect", body.rect
    yield "items", body.items
    yield from ((f"queue {q.name}", q) for q in body.queues)
    yield from ((f"stage {s.name}", s) for s in body.stages)
    yield from ((f"engine {e.name}", e) for e in body.engines)
    if body.plan is not None:
        yield "plan", body.plan
