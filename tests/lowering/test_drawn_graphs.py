"""Every drawn graph is lowered whole, accepted and computes what it says, or is refused for a reason listed here."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from drawing import interleaved, maps, products, reductions, writes
from drawing_programs import blocks, chains, places
from graphs import Drawn, Shape, decoder
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from running import LONE, SMALL, differences, lowered, outcome
from support import REFERENCE, TF32

from spatial.check import check_program
from spatial.ir.program import Program
from spatial.ir.validate import validate_program
from spatial.lowering import ProgramLowering
from spatial.target import Target

REASONS = (
    "a float that is not proved bounded becomes an integer",
    "a guarded product whose condition depends on the column of the result",
    "a product of integers wider than the matrix datapath takes",
    "the accesses of this map share no page",
    "the accesses of this reduction share no page",
)
"""What a drawn graph may be refused for. Integers that overflow are told by their value, see `refused_rightly`."""

PAGEWISE = 1000
"""Items and turns up to which the judge runs a program too."""


@dataclass
class Tally:
    """How many graphs were drawn and how many refused, over a family."""

    drawn: int = 0
    refused: list[str] = field(default_factory=list)


def refused_rightly(result: ProgramLowering) -> bool:
    assert result.program is None and result.whole() is None
    return all(m.why.startswith(REASONS) or "integers are computed exactly or refused" in m.why for m in result.missing)


def work_of(program: Program) -> int:
    """Turns of sites over all calls, times the loops in them: what the judge would step through."""
    total = 0
    for phase in program.phases:
        for call in phase:
            body = program.bodies[call.body]
            turns = body.rect[0] * body.rect[1]
            for n in body.items.trips:
                turns *= n
            deepest = max((s.loops for s in body.stages), key=len, default=())
            for n in deepest:
                turns *= n
            total += turns * len(body.stages)
    return total


def hold(case: Drawn, target: Target) -> bool:
    """Whether the graph was lowered; then everything must be right about it."""
    result = lowered(case, target)
    if result.missing:
        assert refused_rightly(result), [m.why for m in result.missing]
        event(result.missing[0].why[:60])
        return False
    program = result.into_whole()
    assert result.lowered == result.statements
    assert validate_program(program, target) == []
    verdict = check_program(program, target)
    assert verdict.accepted, [str(f) for f in (*verdict.failures, *verdict.unsupported)][:5]
    got, want = outcome(case, program, target)
    assert differences(case, got, want) == []
    if work_of(program) <= PAGEWISE:
        judged, _ = outcome(case, program, target, "pagewise")
        assert {n: v.tobytes() for n, v in judged.items()} == {n: v.tobytes() for n, v in got.items()}
    return True


TARGETS = st.sampled_from((REFERENCE, TF32, SMALL, LONE))
FAMILIES = {
    "maps": (maps(), 80, 0.1),
    "interleaved": (interleaved(), 50, 0.0),
    "writes": (writes(), 60, 0.0),
    "reductions": (reductions(), 100, 0.02),
    "products": (products(), 100, 0.02),
    "blocks": (blocks(), 30, 0.0),
    "chains": (chains(), 60, 0.0),
    "places": (places(), 60, 0.0),
}
"""Of each family the graphs, how many are drawn, and which part of them may be refused."""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_graph_computes_what_it_says(family: str):
    graphs, examples, share = FAMILIES[family]
    tally = Tally()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(graphs, TARGETS)
    def check(case: Drawn, target: Target) -> None:
        tally.drawn += 1
        if not hold(case, target):
            tally.refused.append(repr(case))

    check()
    assert len(tally.refused) <= max(2, share * tally.drawn), tally.refused[:2]


@pytest.mark.nightly
@pytest.mark.parametrize("family", FAMILIES)
def test_many_drawn_graphs_compute_what_they_say(family: str):
    graphs, _, _ = FAMILIES[family]
    settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))(given(graphs, TARGETS)(hold))()


@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL), ids=lambda t: t.name)
@pytest.mark.parametrize("q8", (False, True), ids=("f32", "q8_0"))
def test_a_decoder_computes_what_it_says(target: Target, q8: bool):
    assert hold(decoder(Shape(head=32 if q8 else 24), q8), target)
