"""The plans that are measured: the compiler's own, the best of each arrangement, and those that have held knobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spatial.build.targets import load_target
from spatial.calibration.arrangements import ARRANGEMENTS, KINDS, arranged, arrangement
from spatial.calibration.candidates import BEST, Candidate, built, candidates_of
from spatial.calibration.knobs import has, lacking
from spatial.calibration.operations import operated, template_of
from spatial.calibration.sections import alone
from spatial.errors import UsageError
from spatial.ir.body import Body
from spatial.plan.cost import price
from spatial.plan.knobs import ANY, Knobs, allowed, blocked, knobs_of
from spatial.plan.model import model_of
from spatial.plan.order import ranked
from spatial.plan.search import best_of, choose, legal_plans, plan_of
from spatial.simulate.twin.clock import time_program
from spatial.target import Engine, Target

TARGETS = Path(__file__).resolve().parents[2] / "targets"
WORMHOLE = load_target(TARGETS / "wormhole-n150.yaml")
SMALL = replace(WORMHOLE, name="small", columns=3, rows=2, scratch=200_000)
MOVES = next(e for e in WORMHOLE.engines if "load" in e.kinds).kinds
LONE = replace(SMALL, name="lone", engines=(Engine("mover", MOVES, 0), WORMHOLE.engines[-1]))
CASES = (
    ("matmul", "96x160x192", "bf16", SMALL),
    ("matmul", "64x96x128", "f32", LONE),
    ("projection", "1x128x96", "bf16*q8_0", SMALL),
    ("add", "96x160", "f32", SMALL),
    ("rowsum", "64x256", "bf16", SMALL),
)


def case(name: str, shape: str, formats: str, target: Target) -> tuple[Body, Target]:
    return template_of(operated(name, shape, formats), target), target


def found(template: Body, target: Target, want: Knobs = ANY) -> dict[str, Candidate]:
    return {c.kind: c for c in candidates_of(template, target, want)}


@pytest.mark.parametrize("of", CASES, ids=[" ".join((*c[:3], c[3].name)) for c in CASES])
def test_candidates_are_the_compilers_choice_and_the_best_of_each_kind(of: tuple[str, str, str, Target]):
    template, target = case(*of)
    legal = legal_plans(model_of(template, target), target)
    cost = price(legal)
    order = ranked(legal, cost)
    of_kind = {kind: arranged(legal, f"{kind}*") for kind in KINDS}
    assert np.array(list(of_kind.values())).sum(axis=0).tolist() == [1] * legal.candidates.count
    candidates = found(template, target)
    assert candidates[BEST].plan == choose(template, target).plan
    for kind, mask in of_kind.items():
        best = next((row for row in order.tolist() if mask[row]), None)
        assert (kind in candidates) == (best is not None)
        if best is not None:
            assert candidates[kind].plan == plan_of(legal, cost, best)
            assert candidates[kind].arrangement.removesuffix("-split") == kind


@pytest.mark.parametrize("of", CASES[:3], ids=[" ".join((*c[:3], c[3].name)) for c in CASES[:3]])
def test_every_legal_plan_has_one_label_and_the_knobs_it_is_told_by(of: tuple[str, str, str, Target]):
    template, target = case(*of)
    legal = legal_plans(model_of(template, target), target)
    cost = price(legal)
    masks = {label: arranged(legal, label) for label in ARRANGEMENTS}
    for row in np.random.default_rng(0).permutation(legal.candidates.count)[:40].tolist():
        plan = plan_of(legal, cost, row)
        label = arrangement(template, plan)
        assert [x for x, mask in masks.items() if mask[row]] == [label]
        packing = "split" if split_of(template, plan) else "apart"
        names = [c.name for c in legal.model.coordinates]
        held = knobs_of(
            [
                *(f"{name}={blocked(plan).get(name, 1)}" for name in names),
                f"rect={plan.rect[0]}x{plan.rect[1]}",
                f"multicast={'+'.join(plan.multicast) or 'none'}",
                f"resident={'+'.join(plan.resident) or 'none'}",
                f"packing={packing}",
            ]
        )
        assert allowed(legal, held)[row] and has(plan, packing, held)
        assert knobs_of(str(held).split()) == held
        for other in (
            replace(held, rect=(7, 7)),
            replace(held, multicast=frozenset({"no_such"})),
            replace(held, buffers=9),
        ):
            assert not allowed(legal, other)[row] and not has(plan, packing, other)


def split_of(template: Body, plan: object) -> bool:
    engines = dict(plan.engines)  # type: ignore[attr-defined]
    loads = {engines[s.name] for s in template.stages if s.kind == "load"}
    return bool(loads & {engines[s.name] for s in template.stages if s.kind == "store"})


def test_one_mover_makes_every_store_split():
    template, target = case(*CASES[1])
    for candidate in found(template, target).values():
        assert candidate.arrangement == "streamed" or candidate.arrangement.endswith("-split")


@pytest.mark.parametrize(
    "words", ["i0=1", "i1=2 buffers=1", "multicast=none", "rect=3x1", "l1=5 multicast=load_x0+load_x1"]
)
def test_a_search_held_to_knobs_finds_the_best_of_them(words: str):
    template, target = case(*CASES[0])
    model, want = model_of(template, target), knobs_of(words.split())
    legal = legal_plans(model, target)
    few = legal.take(np.nonzero(allowed(legal, want))[0])
    cost = price(few)
    assert 0 < few.candidates.count < legal.candidates.count
    one = best_of(model, target, lambda m: allowed(m, want))
    assert one is not None
    narrow = best_of(model, target, lambda m: allowed(m, ANY), want)
    assert narrow is not None and plan_of(narrow, price(narrow), 0) == plan_of(one, price(one), 0)
    assert plan_of(one, price(one), 0) == plan_of(few, cost, int(ranked(few, cost)[0]))
    assert found(template, target, want)[BEST].plan == plan_of(one, price(one), 0)


def test_knobs_that_no_plan_has_leave_no_candidate():
    template, target = case(*CASES[0])
    for words in ("i0=1000", "multicast=load_none", "l9=2"):
        assert found(template, target, knobs_of(words.split())) == {}
    assert lacking(model_of(template, target), knobs_of(["l9=2", "resident=load_none"])) == ["l9", "load_none"]


@pytest.mark.parametrize(
    ("words", "why"),
    [("i0", "holds no knob"), ("i0=0", "number from 1"), ("rect=4", "width and a height"), ("i0=2 i0=3", "held twice"),
     ("packing=loose", "apart or split"), ("bufers=2", 'did you mean "buffers"'), ("i0=99999999999", "number from 1")],
)  # fmt: skip
def test_knobs_that_are_none_are_refused(words: str, why: str):
    with pytest.raises(UsageError, match=why):
        knobs_of(words.split())


@pytest.mark.parametrize("of", CASES[:4], ids=[" ".join((*c[:3], c[3].name)) for c in CASES[:4]])
def test_what_is_built_is_what_was_priced(of: tuple[str, str, str, Target]):
    template, target = case(*of)
    for candidate in found(template, target).values():
        body = built(template, candidate.plan, target)
        assert body.phase == "verified" and body.plan == candidate.plan
        timed = time_program(alone(body), target).cycles
        assert candidate.plan.cycles == pytest.approx(timed, rel=0.25), candidate.kind
