"""What holds of every pass on every drawn section: the order, validity after each, idempotence, determinism."""

from __future__ import annotations

import inspect

from drawing import STATEMENTS
from graphs import Drawn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from running import SMALL, layouts
from support import REFERENCE, TF32

from spatial import passes
from spatial.errors import Refused
from spatial.ir.body import PHASES
from spatial.ir.text import parse_body, print_body
from spatial.ir.validate import validate
from spatial.passes import PASS_ORDER, run_passes
from spatial.select.layouts import statements_of, store_all
from spatial.select.section import select
from spatial.target import Target

TARGETS = st.sampled_from((REFERENCE, TF32, SMALL))
PHASE_AFTER = ("template", "tiled", "placed", "placed", "sized", "scheduled", "persistent", "verified")


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


def test_a_pass_says_what_it_expects_and_ensures():
    for name, run in PASS_ORDER:
        text = inspect.getmodule(run).__doc__
        assert text.startswith(f"{name}: ")
        assert all(word in text for word in ("Expects:", "Ensures:", "Leaves alone:")), name
        assert name in passes.__doc__


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STATEMENTS, TARGETS)
def test_each_pass_is_idempotent_and_its_output_valid(case: Drawn, target: Target):
    stored = store_all(case.graph, layouts(case, target), target)
    try:
        body = select(next(statements_of(case.graph)), stored, target).body
        run_passes(body, target)
    except Refused:
        assume(False)
    for (name, run), phase in zip(PASS_ORDER, PHASE_AFTER, strict=True):
        before, text = body, print_body(body)
        body = run(before, target)
        assert print_body(before) == text, f"{name} changed what it was given"
        assert body.phase == phase
        assert validate(body, target) == [], name
        assert run(body, target) == body, f"{name} changes its own output"
        assert run(parse_body(text), target) == body, f"{name} gives another result for an equal body"
    assert PHASES[-1] == body.phase
