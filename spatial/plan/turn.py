"""The order in which the stages of one turn follow each other, as if one engine carried them all.

Stages that hand each other pages inside a loop take turns in that loop, in the order of the dataflow; a stage that
needs what another finishes at the end of its loop comes after the loop, and what needs nothing of it before. Blocking
changes trips and pages and no depth, so a template has the order that its plans will have: prices walk along it, and
`passes.orders` gives each engine its part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from spatial.ir.body import Loop, Stage, Step


def grain(stage: Stage) -> int:
    """The deepest depth at which the stage moves pages."""
    return max((p.depth for p in (*stage.ins, *stage.outs)), default=0)


def turn_of(stages: Sequence[Stage], depth: int = 0) -> tuple[Loop | Step, ...]:
    """The stages of one iteration at `depth`, which depend on one another and on what came before."""
    todo = list(stages)
    made = {o.queue: s.name for s in stages for o in s.outs}
    out: list[Loop | Step] = []

    def ready(stage: Stage, done: Sequence[Stage]) -> bool:
        return all(p.queue not in made or made[p.queue] in {s.name for s in done} for p in stage.ins)

    done: list[Stage] = []
    while todo:
        now = [s for s in todo if ready(s, done)]
        shallow = next((s for s in now if grain(s) <= depth), None)
        if shallow is not None:
            out.append(Step(shallow.name, depth))
            group = [shallow]
        else:
            group = [now[0]]
            while True:
                rest = (s for s in todo if s not in group and ready(s, [*done, *group]))
                joining = next((s for s in rest if grain(s) > depth and _joins(group, s, depth)), None)
                if joining is None:
                    break
                group.append(joining)
            out.append(Loop(group[0].loops[depth], turn_of(group, depth + 1)))
        done += group
        todo = [s for s in todo if s not in group]
    return tuple(out)


def _joins(group: Sequence[Stage], stage: Stage, depth: int) -> bool:
    """Whether the stage may take turns with the group: same trips, and it waits for nothing they finish at their
    end."""
    if group[0].loops[depth] != stage.loops[depth]:
        return False
    made = {o.queue for s in group for o in s.outs}
    return all(p.depth > depth for p in stage.ins if p.queue in made)
