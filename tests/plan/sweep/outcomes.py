"""What becomes of a point of the sweep: a plan found and verified, or a refusal; and the lines it is published as.

Goes the way of every statement (`lower`), with the choice of the plan watched. Anything but a refusal that is told is
raised: a point has one of two outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path

from graphs import Drawn
from plan.sweep.ops import OPS
from plan.sweep.points import Point
from running import layouts, lifted

from spatial.build.targets import load_target
from spatial.errors import Problem, Refused
from spatial.ir.body import Body, Plan
from spatial.lowering import Options, ProgramLowering, lower
from spatial.passes import PASS_ORDER, run_passes
from spatial.passes.tile import apply_plan
from spatial.plan.knobs import knobs_of
from spatial.plan.search import Choice, choose
from spatial.target import Target

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "docs" / "sweep"
HEAD = "operation and sizes, and below it\n\tformat\tknobs\toutcome"


@dataclass
class Outcome:
    """A point, its graph and target; what was chosen, or what was told where nothing was."""

    point: Point
    case: Drawn
    target: Target
    choices: list[Choice] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lowering: ProgramLowering | None = None

    @property
    def found(self) -> bool:
        """Whether there is a plan, verified."""
        return self.lowering is not None and self.lowering.whole() is not None

    def line(self) -> str:
        """What is published of it."""
        return " & ".join(map(_chosen, self.choices)) if self.found else _refused(self.problems)


@cache
def target_of(name: str, scratch: int) -> Target:
    """A target as shipped, or with other scratch."""
    target = load_target(ROOT / "targets" / f"{name}.yaml")
    return replace(target, scratch=scratch) if scratch else target


def outcome(point: Point) -> Outcome:
    """What becomes of a point."""
    target, want = target_of(point.target, point.scratch), knobs_of(point.pins.split())
    case = OPS[point.op](point.sizes, point.stored)
    out = Outcome(point, case, target)

    def tile(body: Body, sites: Target) -> Body:
        try:
            choice = choose(body, sites, want)
        except Refused as refusal:
            out.problems += refusal.problems
            raise
        out.choices.append(choice)
        return apply_plan(body, choice.plan)

    def run(template: Body, sites: Target) -> Body:
        passes = [(name, tile if name == "tile" else one) for name, one in PASS_ORDER]
        body = run_passes(template, sites, passes)
        assert body.phase == "verified"
        return body

    try:
        out.lowering = lower(lifted(case.graph), layouts(case, target), target, Options(run=run))
    except Refused as refusal:  # no layout is agreed on
        out.problems += refusal.problems
        return out
    if not out.problems:
        out.problems += [Problem(m.why, "", m.mend) for m in out.lowering.missing]
    assert out.found != bool(out.problems), out.problems
    return out


def _chosen(choice: Choice) -> str:
    plan = choice.plan
    along = "".join(f" i{axis}:{side}" for axis, side in plan.spread)
    blocks = "".join(f" {name}*{factor}" for name, factor in plan.block)
    loads = _loads(" cast", plan.multicast)
    loads += _loads(" deal", (f"{name}/{members}" for name, members in plan.scatter)) + _loads(" hold", plan.resident)
    words = f"{plan.rect[0]}x{plan.rect[1]}{along}{blocks}{loads}"
    return f"{words} x{_buffers(plan)} {plan.cycles:.4g} {choice.bound} {choice.ratio:.3g}"


def _loads(word: str, names: Iterable[str]) -> str:
    short = ",".join(name.removeprefix("load_") for name in names)
    return f"{word} {short}" if short else ""


def _buffers(plan: Plan) -> int:
    return max((n for _, n in plan.depth), default=1)


def _refused(problems: Iterable[Problem]) -> str:
    return "refused: " + "; also: ".join("; ".join(filter(None, (p.what, p.mend or p.why))) for p in problems)


def written(lines: Mapping[Point, str]) -> dict[str, str]:
    """The published tables, by file name: one for each target, its points sorted, those of one size together."""
    texts: dict[str, str] = {}
    for target in sorted({p.target for p in lines}):
        text = [HEAD]
        for what, found in groupby(sorted(p for p in lines if p.target == target), key=_what):
            text += [what, *(f"\t{p.stored}\t{p.knobs}\t{lines[p]}" for p in found)]
        texts[f"{target}.tsv"] = "\n".join(text) + "\n"
    return texts


def published() -> dict[tuple[str, str, str, str], str]:
    """The published outcomes, by target, operation and sizes, format, knobs."""
    found: dict[tuple[str, str, str, str], str] = {}
    for path in sorted(PUBLISHED.glob("*.tsv")):
        text, what = path.read_text(encoding="utf-8"), ""
        for line in text.removeprefix(HEAD + "\n").splitlines():
            if not line.startswith("\t"):
                what = line
                continue
            stored, knobs, said = line[1:].split("\t")
            found[path.stem, what, stored, knobs] = said
    return found


def key_of(point: Point) -> tuple[str, str, str, str]:
    """What a point's outcome is published under."""
    return point.target, _what(point), point.stored, point.knobs


def _what(point: Point) -> str:
    return f"{point.op} {'x'.join(map(str, point.sizes))}"
