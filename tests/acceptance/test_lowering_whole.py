"""Both programs of the real model lower whole, into plain sections; equal layers cost next to nothing.

Lifting and lowering need no model file. What grows is counted (sections planned, functions called), never timed; the
clock is for `tests/benchmarks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acceptance.deployed import Published, command, make_repository
from effort import effort

from spatial.build.artifacts import open_artifact
from spatial.build.pipeline import Pipeline
from spatial.build.spec import load_deployment
from spatial.build.steps.agree import table_of
from spatial.build.workshop import Folders, Workshop
from spatial.check import bundles, check_bundle, programs
from spatial.ir import wire
from spatial.ir.body import KINDS, Body, Cell, Convert, Expr, Lanes, Matmul, Op, Stage
from spatial.ir.graph import Graph, Lifted
from spatial.ir.program import Program
from spatial.ir.text import parse_program
from spatial.lowering import ProgramLowering, lower

LAYERS = 30
STAGES = {"load", "store", "matmul", "generic", "permute", "multicast", "scatter"}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("lowering") / "repository")


@pytest.fixture(scope="module", params=["decode", "prefill"])
def compiled(request: pytest.FixtureRequest, repository: Path) -> tuple[str, dict[str, Any], Program]:
    """A program of the real deployment: its name, what `compile` says of it, and itself."""
    out = repository / f"{request.param}.program"
    ended = command("spatial", "compile", f"llama:{request.param}", "--json", "-o", out, cwd=repository, environ={})
    assert ended.code == 0, ended.err
    program = open_artifact(out).program
    assert program is not None
    return request.param, ended.json, program


def test_every_statement_is_lowered_and_counted(compiled: tuple[str, dict[str, Any], Program]) -> None:
    """A layer: seven products with weights, two of attention; two norms of two parts, a softmax of three, a gate."""
    name, told, program = compiled
    assert told["schema"] == "spatial.compile/1"
    assert told["whole"]
    assert told["missing"] == []
    assert told["lowered"] == told["statements"] > 0
    assert told["kinds"] == {
        "gather": {"decode": 3, "prefill": 4}[name],
        "map": 4 * LAYERS + 1,
        "product": (7 + 2) * LAYERS + 1,
        "reduction": 4 * LAYERS + 1,
        "rotary": 2 * LAYERS,
    }
    assert told["kinds"]["product"] >= 7 * LAYERS + 1
    assert sum(told["kinds"].values()) == told["sections"] == sum(len(phase) for phase in program.phases)
    assert (told["phases"], told["distinct"]) == (len(program.phases), len(program.bodies))
    written = {"decode": ["v_cache", "k_cache"], "prefill": ["k_cache", "v_cache"]}  # in the order of the source
    assert told["state"] == written[name]


def test_sections_are_plain(compiled: tuple[str, dict[str, Any], Program]) -> None:
    """No section holds more than one map or one reduction, and no stage is of a kind of its own."""
    _, _, program = compiled
    assert {stage.kind for body in program.bodies for stage in body.stages} == STAGES < set(KINDS)
    for body in program.bodies:
        assert faults_of(body) == []


def test_bodies_are_stored_once(compiled: tuple[str, dict[str, Any], Program]) -> None:
    _, _, program = compiled
    assert len(set(program.bodies)) == len(program.bodies) < 30
    assert {call.body for phase in program.phases for call in phase} == set(range(len(program.bodies)))


# ---------------------------------------------------------------- what a plain section is


def faults_of(body: Body) -> list[str]:
    """What makes a body more than one affine map, one row reduction or one product."""
    found: list[str] = []
    stores = [s for s in body.stages if s.kind == "store"]
    products = [s for s in body.stages if s.kind == "matmul"]
    sums = [s for s in body.stages if s.kind == "generic" and s.states]
    lanes = [e for s in body.stages if s.kind == "generic" for e in expressions(s) if isinstance(e, Lanes)]
    if len(stores) != 1:
        found.append(f"{len(stores)} tensors are stored")
    if len(products) > 1:
        found.append(f"{len(products)} products")
    if any(len(s.states) > 1 for s in (*sums, *products)):
        found.append("several accumulators in a stage")
    if products and any(o.prec == "q8_0" for o in body.operands):
        # Partial products, each block times its scale: one sum, in two stages.
        sums = [s for s in sums if not scales_products(s, products[0])]
    if len(sums) + len(products) > 1:
        found.append("a reduction beside another")
    if len(lanes) > 1 or (lanes and products):
        found.append(f"{len(lanes)} reductions of lanes")
    return found


def scales_products(stage: Stage, product: Stage) -> bool:
    """Whether a stage sums what a product gives, times something."""
    (state,) = stage.states
    match state.update:
        case Op("add", (Cell(), Op("mul", (left, _)))):
            return stage.ins[getattr(left, "port", -1)].queue == product.outs[0].queue
        case _:
            return False


def expressions(stage: Stage) -> Iterator[Expr]:
    """Every expression of a stage, and of those inside."""

    def inside(expr: Expr) -> Iterator[Expr]:
        yield expr
        match expr:
            case Op(_, args):
                for arg in args:
                    yield from inside(arg)
            case Convert(_, arg) | Lanes(_, _, arg):
                yield from inside(arg)
            case Matmul(a, b):
                yield from (a, b)
            case _:
                return

    for port in stage.outs:
        if port.value is not None:
            yield from inside(port.value)
    for state in stage.states:
        yield from inside(state.update)


SOFTMAX = """
program {
  tensor x: input f32 flat [1, 4, 32]
  tensor y: result f32 flat [1, 4, 32]
  body b0 template {
    operand x: in f32 flat [1, 4, 32]
    operand out: out f32 flat [1, 4, 32]
    rect 1x1
    items [4] trips [4] at (t0)
    queue x: 1x32 f32 cap 1
    queue y: 1x32 f32 cap 1
    load load_x {
      at x[0, i0, 0]
      push x @0
    }
    generic soft {
      pop x @0
      push y @0 = exp(x - max_cols(x)) / sum_cols(exp(x))
    }
    store store {
      pop y @0
      at out[0, i0, 0]
    }
  }
}
"""


def test_a_softmax_in_one_section_would_be_seen() -> None:
    (body,) = parse_program(SOFTMAX, "softmax.sec").bodies
    assert faults_of(body) == ["2 reductions of lanes"]


# ---------------------------------------------------------------- equal layers


def of_depth(root: Path, base: str, layers: int) -> Callable[[str], ProgramLowering]:
    """Lowers a program of deployment `base` with so many layers, from its lifted graph on."""
    spec = root / f"deployments/{base}-{layers}.yaml"
    spec.write_text(f"schema: 1\nextends: {base}.yaml\nsizes: {{layers: {layers}}}\n")
    pipeline = Pipeline(Workshop(Folders.of(root, {})), load_deployment(spec, root / "targets"))

    def lowering(program: str) -> ProgramLowering:
        lifted = pipeline.get(pipeline.lift(program))
        graph = wire.unpack(pipeline.shop.store.get(lifted["graph"]), Graph)
        side = wire.unpack(pipeline.shop.store.get(lifted["side"]), Lifted)
        tables = {name: table_of(name, row) for name, row in pipeline.rows().items()}
        return lower(replace(side, graph=graph), tables, pipeline.target())

    return lowering


@pytest.mark.parametrize("program", ["decode", "prefill"])
def test_thirty_layers_plan_the_bodies_of_two(repository: Path, program: str) -> None:
    few, many = of_depth(repository, "llama", 2)(program), of_depth(repository, "llama", LAYERS)(program)
    assert few.planned == many.planned == len(many.into_whole().bodies)
    assert set(few.into_whole().bodies) == set(many.into_whole().bodies)
    assert many.sections > 10 * few.sections


@pytest.mark.parametrize("program", ["decode", "prefill"])
def test_forty_layers_cost_at_most_twice_what_two_do(repository: Path, program: str) -> None:
    few, many = of_depth(repository, "tiny", 2), of_depth(repository, "tiny", 40)
    few(program), many(program)  # whatever is kept from call to call, both find
    assert effort(lambda: many(program))[1] <= 2 * effort(lambda: few(program))[1]


def test_each_body_of_a_deployment_is_proved_once(published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = published.open("tiny").whole()
    judged: list[Body] = []
    check_body = programs.check_body

    def judging(body: Body, *rest: Any) -> Any:
        judged.append(body)
        return check_body(body, *rest)

    monkeypatch.setattr(programs, "check_body", judging)
    assert check_bundle(bundle).accepted
    distinct = {body for entry in bundle.entries for body in entry.program.bodies}
    assert len(judged) == len(set(judged)) == len(distinct)
    assert set(judged) == distinct
    assert len(bundles.claims_of(bundle).bodies) == len(distinct)
