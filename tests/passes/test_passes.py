"""What holds of every pass on every section at hand: the order, the contract, validity after each, idempotence.

Sections of drawn statements, of drawn graphs of several statements, and of every program of every shipped deployment.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from drawing import STATEMENTS
from drawing_programs import blocks, chains
from graphs import Drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from passes.promises import LEFT_ALONE, PHASES_AROUND, hold
from running import LONE, SMALL, layouts, lowered
from sources import Source, read_sources, sources
from support import REFERENCE, TF32

from spatial import passes
from spatial.build.spec import load_deployment
from spatial.cli.jobs import job_of
from spatial.cli.options import parse
from spatial.errors import Bug, Refused
from spatial.ir.body import PHASES, Body
from spatial.lowering import Options, lower
from spatial.passes import PASS_ORDER, Pass, run_passes
from spatial.select.layouts import statements_of, store_all
from spatial.select.section import select
from spatial.target import Target

TARGETS = st.sampled_from((REFERENCE, TF32, SMALL))
ROOT = Path(__file__).parents[2]


def test_the_order_is_pinned():
    assert [name for name, _ in PASS_ORDER] == [
        "fuse_generic",
        "tile",
        "place",
        "fuse_readers",
        "size_buffers",
        "synthesize_handshakes",
        "persist",
        "verify",
    ]
    assert list(PHASES_AROUND) == list(LEFT_ALONE) == [name for name, _ in PASS_ORDER]


def test_a_pass_says_what_it_expects_and_ensures():
    for name, run in PASS_ORDER:
        text = inspect.getmodule(run).__doc__
        expected, ensured = PHASES_AROUND[name]
        assert text.startswith(f"{name}: ")
        assert f"\nExpects: {expected}" in text, name
        assert f"  Ensures: {ensured}" in text, name
        assert "\nLeaves alone: " in text, name
        assert name in passes.__doc__


# ---------------------------------------------------------------- sections at hand


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STATEMENTS, TARGETS)
def test_passes_keep_their_promises_on_drawn_statements(case: Drawn, target: Target):
    stored = store_all(case.graph, layouts(case, target), target)
    try:
        body = select(next(statements_of(case.graph)), stored, target).body
        run_passes(body, target)
    except Refused:
        assume(False)
    assert hold(body, target).phase == PHASES[-1]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(chains() | blocks(), TARGETS)
def test_passes_keep_their_promises_on_drawn_graphs(case: Drawn, target: Target):
    seen = Seen()
    lowered(case, target, Options(run=seen.run))
    assert seen.sections


class Seen:
    """How many sections were held to the promises."""

    def __init__(self) -> None:
        self.sections = 0

    def run(self, template: Body, target: Target) -> Body:
        self.sections += 1
        return hold(template, target)


def programs() -> Iterator[str]:
    for path in sorted((ROOT / "deployments").glob("*.yaml")):
        yield from (f"{path.stem}:{program}" for program in load_deployment(path, ROOT / "targets").programs)


@pytest.mark.parametrize("program", list(programs()))
def test_passes_keep_their_promises_on_the_sections_of_a_shipped_program(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    job = job_of(parse(["compile", program, "--artifacts", str(tmp_path), "--store", str(tmp_path / "store")]))
    seen = Seen()
    made = lower(job.lifted, job.tables, job.target, Options(assume=job.assume, run=seen.run)).into_whole()
    assert len(made.bodies) <= seen.sections


@pytest.mark.nightly
@pytest.mark.parametrize("target", (REFERENCE, TF32, SMALL, LONE), ids=lambda t: t.name)
@pytest.mark.parametrize("source", read_sources(ROOT / "tests/lowering/programs"), ids=str)
def test_passes_keep_their_promises_on_written_programs(source: Source, target: Target):
    seen = Seen()
    found = source.lifted()
    assert found.graph is not None
    lowered(Drawn(found.graph, source.stored, 1), target, Options(run=seen.run)).into_whole()
    assert seen.sections


# ---------------------------------------------------------------- promises can be broken


def more_room(body: Body, target: Target) -> Body:
    """As `size_buffers`, and more each time it is asked."""
    made = PASSES["size_buffers"](body, target)
    return replace(made, queues=tuple(replace(q, cap=q.cap + 1) for q in made.queues))


def other_name(body: Body, target: Target) -> Body:
    """As `place`, and an operand is called otherwise."""
    made = PASSES["place"](body, target)
    stages = [replace(s, access=s.access and replace(s.access, operand=f"my_{s.access.operand}")) for s in made.stages]
    operands = [replace(o, name=f"my_{o.name}") for o in made.operands]
    return made if made is body else replace(made, operands=tuple(operands), stages=tuple(stages))


def no_room(body: Body, target: Target) -> Body:
    """As `size_buffers`, without a capacity."""
    made = PASSES["size_buffers"](body, target)
    return made if made is body else replace(made, queues=body.queues)


def counting(body: Body, target: Target) -> Body:
    """As `verify`, and the price of the plan depends on how often it was asked."""
    made = PASSES["verify"](body, target)
    if made is body or made.plan is None:
        return made
    CALLS.append(body)
    return replace(made, plan=replace(made.plan, cycles=float(len(CALLS))))


CALLS: list[Body] = []
PASSES = dict(PASS_ORDER)


@pytest.mark.parametrize(
    ("name", "broken", "told"),
    [
        ("size_buffers", more_room, "size_buffers changes what it made"),
        ("place", other_name, "place changes what it says it leaves alone"),
        ("size_buffers", no_room, "size_buffers"),
        ("verify", counting, "verify gives another result for an equal body"),
    ],
)
def test_a_pass_that_breaks_a_promise_is_found(
    name: str, broken: Pass, told: str, stations: dict[str, Body], monkeypatch: pytest.MonkeyPatch
):
    order = tuple((n, broken if n == name else run) for n, run in PASS_ORDER)
    monkeypatch.setattr("passes.promises.PASS_ORDER", order)
    with pytest.raises(AssertionError, match=told):
        hold(stations["template"], REFERENCE)
    if broken is no_room:
        with pytest.raises(Bug, match="pass size_buffers broke its contract"):
            run_passes(stations["template"], REFERENCE, order)


# ---------------------------------------------------------------- out of order


@pytest.fixture(scope="module")
def stations() -> dict[str, Body]:
    """A section in each phase, as the pass that first reaches it makes it."""
    (source,) = sources("rows", ROWS)
    found: dict[str, Body] = {}

    def run(template: Body, target: Target) -> Body:
        found["template"] = template
        body = template
        for _name, step in PASS_ORDER:
            body = step(body, target)
            found.setdefault(body.phase, body)
        return body

    graph = source.lifted().graph
    assert graph is not None
    lowered(Drawn(graph, (), 1), REFERENCE, Options(run=run))
    return found


ROWS = """# sizes n = 5, k = 70
# weights w
# table x: Float [n, k]
## Main
Let y be a new Seq of Float.
Repeat for i from 1 to n:
    Let total be 0.0.
    Repeat for j from 1 to k:
        Set total to total + x[i][j] * w[j].
    Push total to y.
"""


@pytest.mark.parametrize("name", list(PHASES_AROUND))
def test_a_pass_refuses_a_body_that_has_not_come_so_far_and_leaves_one_that_has_come_further(
    name: str, stations: dict[str, Body]
):
    run, (expected, _) = dict(PASS_ORDER)[name], PHASES_AROUND[name]
    assert list(stations) == list(PHASES)
    for phase, body in stations.items():
        if PHASES.index(phase) < PHASES.index(expected):
            with pytest.raises(Bug, match=f"pass {name} expects a body that is {expected}; it was given one that"):
                run(body, REFERENCE)
        elif phase != expected:
            assert run(body, REFERENCE) is body
