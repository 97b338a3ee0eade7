"""Which reductions are cut into chunks for the chip's sites: those whose sections then take fewer cycles.

How many chunks there are follows from shape and sites (`select.divided`). Whether they pay is priced: each way's
sections are selected and planned, and those that fit on the chip at once cost the longest of them. Results are the same
either way, bit for bit, so that nothing but time hangs on prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from spatial.ir.body import Body
from spatial.ir.graph import Statement
from spatial.lowering.sections import Lowering, Options
from spatial.passes.compose import Section, depends, groups, rects
from spatial.passes.fuse_generic import fuse_generic
from spatial.passes.pack import pack
from spatial.plan.search import choose
from spatial.select.divided import chunks_of, cut, divisible
from spatial.select.handing import held_ranges
from spatial.select.layouts import TableLayout, store_all
from spatial.select.pieces import Stored
from spatial.select.staging import Staged, changed
from spatial.select.temporaries import Temporaries
from spatial.target import Target


def divided(
    put: Staged, stored: dict[int, Stored], tables: Mapping[str, TableLayout], target: Target, options: Options
) -> tuple[Staged, dict[int, Stored]]:
    """The graph with its reductions cut where that pays, and the layouts of its tensors: what there was keeps its
    own."""
    options = replace(options, keep=None, run=_planned)
    work = _Dividing(put, stored, tables, target, options, held_ranges(put.graph))
    return changed(put, work.change) or put, work.stored


@dataclass
class _Dividing:
    """The reductions of a graph, looked at one after the other. `stored`: with the tensors of what was cut so far;
    `planned`: templates that were priced."""

    put: Staged
    stored: dict[int, Stored]
    tables: Mapping[str, TableLayout]
    target: Target
    options: Options
    held: Mapping[int, tuple[int, int]]
    planned: dict[tuple[Body, Target], Body] = field(default_factory=dict[tuple[Body, Target], Body])

    def change(self, statement: Statement, work: Temporaries) -> Sequence[Statement] | None:
        """The statements of a reduction that is cut; None where it is not."""
        found = divisible(statement, self.stored, self.target)
        chunks = 0 if found is None else chunks_of(found, self.target.sites)
        if found is None or chunks < 2:
            return None
        whole = self.cycles([statement], self.stored)
        if whole is None or whole <= 2 * self.target.section_cycles:
            return None
        trial = Temporaries(list(work.tensors))
        parts = cut(found, chunks, trial)
        graph = replace(self.put.graph, tensors=tuple(trial.tensors), nodes=tuple(parts))
        stored = store_all(graph, self.tables, self.target) | self.stored
        if not self.alike(found.lanes, parts[-1], stored):
            return None
        cycles = self.cycles(parts, stored)
        if cycles is None or cycles >= whole:
            return None
        self.stored = stored
        return cut(found, chunks, work)

    def alike(self, lanes: int, combined: Statement, stored: dict[int, Stored]) -> bool:
        """Whether what combines partial results of lanes folds as many, so that the two zeros meet as they did."""
        if combined.pieces[0].accs[0].arg is not None:
            return True
        found = divisible(combined, stored, self.target)
        return found is not None and found.lanes == lanes

    def cycles(self, statements: Sequence[Statement], stored: dict[int, Stored]) -> float | None:
        """What the sections of the statements take, one phase after the other; None where one has none."""
        work = Lowering(self.target, self.options, dict(stored), self.put.kept, self.held, self.planned)
        sections: list[Section] = []
        for number, statement in enumerate(statements):
            _, made = work.sections(statement, None, number, 1)
            if not made:
                return None
            sections += made
        packed = pack(rects(sections), depends(sections, {}), self.target, groups(sections))
        longest = [0.0] * packed.phases
        for section, phase in zip(sections, packed.phase, strict=True):
            assert section.body.plan is not None
            longest[phase] = max(longest[phase], section.body.plan.cycles)
        return sum(longest)


def _planned(body: Body, target: Target) -> Body:
    """The template with its plan, and nothing done to it yet."""
    plan = choose(fuse_generic(body, target), target).plan
    return replace(body, plan=plan, rect=plan.rect)
