"""What must hold of a body at each phase of lowering, of a program and of a graph: every breach, with its place.

A table says from which phase on each rule holds; a rule is a function from a body and a target to problems. The driver
asks after every pass, so that the order of the passes is a checked fact. This is the compiler's own judgement, made of
cheap local rules; what is proved of an artifact is the checker's to judge, which shares none of this code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spatial.errors import Problem
from spatial.ir.body import PHASES, Body
from spatial.ir.graph import Graph
from spatial.ir.program import Program
from spatial.ir.validate.engines import carried, complete
from spatial.ir.validate.flow import ends, rates
from spatial.ir.validate.graphs import graph_problems
from spatial.ir.validate.problems import problem, within
from spatial.ir.validate.programs import program_problems
from spatial.ir.validate.shape import items, names, operands, queues
from spatial.ir.validate.sites import capacities, covered, fits
from spatial.ir.validate.stages import stages
from spatial.target import Target

Rule = Callable[[Body, Target], Iterator[Problem]]

RULES: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("template", (names, operands, queues, items)),
    ("template", (stages,)),
    ("template", (ends, rates)),
    ("placed", (covered,)),
    ("sized", (capacities, fits)),
    ("scheduled", (carried,)),
    ("persistent", (complete,)),
)
"""Rules and the phase from which on they hold, in layers: a layer is asked only where all before it hold."""


def validate(body: Body, target: Target) -> list[Problem]:
    """Every problem of `body` at the phase it says it is in, the first layer of them; none: it is what it says."""
    if body.phase not in PHASES:
        return [problem("body", f"no phase of lowering is called {body.phase!r}")]
    reached = PHASES.index(body.phase)
    for since, rules in RULES:
        if PHASES.index(since) <= reached:
            found = [p for rule in rules for p in rule(body, target)]
            if found:
                return found
    return []


def validate_program(program: Program, target: Target) -> list[Problem]:
    """Every problem of the program's bodies and, where they have none, of its tensors, calls and versions."""
    found = [p for n, body in enumerate(program.bodies) for p in within(f"body {n}", validate(body, target))]
    return found or program_problems(program, target)


def validate_graph(graph: Graph) -> list[Problem]:
    """Every statement of the graph that is seen to make an item of its tensor twice, or not at all."""
    return graph_problems(graph)


__all__ = ["RULES", "validate", "validate_graph", "validate_program"]
