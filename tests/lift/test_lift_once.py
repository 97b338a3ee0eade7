"""A program whose shapes turn nothing while they are learnt is executed once: what it lifts to is what twice would."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

import pytest
from benchmarks.lifting_cost import FACTS as COST_FACTS
from benchmarks.lifting_cost import SHAPES
from lift.blind.records import FOLDER
from lift.families.corpus import Spelling, every, facts
from llama_sources import SMALL
from llama_sources import facts as llama_facts
from llama_sources import program as llama_program
from sources import Source, read_sources
from unrolled import unrolled

from spatial.ir.graph import Lifted
from spatial.lift import Facts, Table, lift
from spatial.lift.context.machine import Machine
from spatial.lift.execution.execute import Executor
from spatial.logos.parser import parse
from spatial.logos.syntax import Program

FACTS = Facts(
    {"n": 4, "m": 3},
    {"x": Table((4,), "float"), "k": Table((1,), "int", (0, 3)), "g": Table((1,), "int")},
    ("w", "v"),
)

ONCE = {
    "items": "Repeat for i from 1 to n:\n    Push item i of v * item i of x to y.\n",
    "items of rows": "Repeat for i from 1 to m:\n    Push item 2 of (item i of w) + item i of x to y.\n",
    "a row bound": "Let r be item 2 of w.\nRepeat for i from 1 to n:\n    Push item i of r + 1.0 to y.\n",
    "a whole weight bound": "Let r be v.\nRepeat for i from 1 to n:\n    Push 2.0 * item i of r to y.\n",
    "a row that a run chooses": "Let r be item (item 1 of k + 1) of w.\nRepeat for i from 1 to n:\n"
    "    Push item i of r + 1.0 to y.\n",
    "a sum": "Let s be 0.0.\nRepeat for i from 1 to n:\n    Set s to s + item i of v.\nPush s to y.\n",
}
TWICE = {
    "a number bound": "Let r be item 2 of v.\nRepeat for i from 1 to n:\n    Push r + item i of x to y.\n",
    "a number carried": "Let b be item 1 of v.\nRepeat for i from 1 to n:\n    Set b to max(b, item i of v).\n"
    "Push b to y.\n",
    "a number pushed": "Repeat for i from 1 to n:\n    Push item i of v to y.\n",
    "a copy of a row": "Let r be copy of item 2 of w.\nRepeat for i from 1 to n:\n    Push item i of r to y.\n"
    "Set item 1 of r to 0.0.\n",
    "rows pushed": "Let z be a new Seq of (Seq of Float).\nRepeat for j from 1 to m:\n    Push item j of w to z.\n"
    "Repeat for i from 1 to n:\n    Push item i of (item 2 of z) + item i of (item 1 of w) to y.\n",
    "a row handed on": "Push item 4 of (item 1 of w) + 0.0 to y.\nLet r be item 1 of w.\n"
    "Repeat for j from 1 to m:\n    Let q be a new Seq of Float.\n"
    "    Repeat for i from 1 to n:\n        Push item i of r * item j of v to q.\n    Set r to q.\n"
    "Repeat for i from 1 to n:\n    Push item i of r to y.\n",
    "a row on one branch": "Push item 4 of (item 1 of w) + 0.0 to y.\nLet r be item 1 of w.\n"
    "If item 1 of k > 1:\n    Set r to item 2 of w.\n"
    "Repeat for i from 1 to n:\n    Push item i of r to y.\n",
}
REFUSED = {
    "rows used as numbers": "Repeat for i from 1 to m:\n    Push item i of w + item 1 of (item i of w) to y.\n",
    "an index that may be 0": "Repeat for i from 1 to n:\n    Push item (i - 1) of v + 1.0 to y.\n",
    "an index of no known range": "Push item (item 1 of g) of v + 1.0 to y.\n",
    "an index of no known end": "Push item max(1, item 1 of g) of v + 1.0 to y.\n",
    "a loop of no known end": "Repeat for i from 1 to item 1 of g:\n    Push item i of v + 1.0 to y.\n",
}
"""What discovering lets pass, and another execution refuses."""


def told(program: Program, known: Facts, results: Sequence[str] | None) -> tuple[Lifted, int]:
    """What a program lifts to, held to what it lifts to executed again; how often it was executed for the first."""
    with mock.patch("spatial.lift.lifter.Executor", side_effect=Executor) as executors:
        found = lift(program, known, results)
    with mock.patch.object(Machine, "learn", return_value=False):
        assert found == lift(program, known, results)
    return found, executors.call_count


@pytest.mark.parametrize("name", [*ONCE, *TWICE, *REFUSED])
def test_a_program_lifts_as_it_would_with_its_shapes_known_before(name: str) -> None:
    text = (ONCE | TWICE | REFUSED)[name]
    program = parse(f"## Main\nLet y be a new Seq of Float.\n{text}", "once.lg")
    found, executions = told(program, FACTS, ("y",))
    assert (found.graph is None) == (name in REFUSED), found.missing
    if name not in REFUSED:
        assert executions == (1 if name in ONCE else 2)


@pytest.mark.parametrize("name", ["decode.lg", "prefill.lg"])
def test_the_shipped_sources_lift_as_they_would_with_their_shapes_known_before(name: str) -> None:
    found, _ = told(llama_program(name), llama_facts(**SMALL), ("logits",))
    assert found.graph is not None


def test_layers_written_out_are_executed_once() -> None:
    known = llama_facts(**SMALL)
    program = parse(unrolled(llama_program("decode.lg"), known.sizes, "layer"), "written out")
    found, executions = told(program, known, ("logits",))
    assert found.graph is not None
    assert executions == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_a_program_without_weights_is_executed_once(shape: str) -> None:
    text, results = SHAPES[shape](5)
    assert told(parse(f"## Main\n{text}", "shape.lg"), COST_FACTS, results)[1] == 1


@pytest.mark.parametrize("spelling", [s for s in every() if facts(s.family, 0).facts.weights], ids=lambda s: s.name)
def test_spellings_lift_as_they_would_with_their_shapes_known_before(spelling: Spelling) -> None:
    known = facts(spelling.family, 0)
    told(parse(spelling.source, "spelled.lg"), known.facts, known.results)


@pytest.mark.parametrize("source", [s for s in read_sources(FOLDER) if s.facts.weights], ids=str)
def test_blind_programs_lift_as_they_would_with_their_shapes_known_before(source: Source) -> None:
    told(parse(source.text, "blind.lg"), source.facts, source.results)
