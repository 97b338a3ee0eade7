"""One program: its bodies, each judged once, then its calls and phases.

Joins the obligations on bodies with those on bindings, rectangles and versions. Knows no other program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spatial.check.bindings import bounded_tensors, check_call, check_rectangles, check_tensors
from spatial.check.bodies import Facts, check_body
from spatial.check.conform import misfits
from spatial.check.targets import check_target
from spatial.check.verdict import Log, Verdict
from spatial.check.versions import check_versions
from spatial.ir.body import Body
from spatial.ir.program import Program
from spatial.target import Target

Declared = Mapping[str, tuple[int, int]]
"""Inclusive ranges declared of integer inputs, by table name."""


@dataclass
class Judged:
    """Bodies judged so far, over all programs: equal bodies are judged once."""

    facts: dict[Body, Facts | None] = field(default_factory=dict[Body, "Facts | None"])


def check_program(program: Program, target: Target, ranges: Declared | None = None) -> Verdict:
    """Judge one program alone.

    `ranges`: what is declared of its integer inputs; an input not named there is assumed to keep its tensor's range.
    Raises nothing, whatever the records hold.
    """
    log = Log()
    fine = conforms(program, Program, "program", log) and conforms(target, Target, "target", log)
    if fine and check_target(target, log):
        judge_program(program, target, ranges or {}, "program", Judged(), log)
    return log.verdict()


def conforms(value: object, record: type, place: str, log: Log) -> bool:
    """Whether `value` is a record of its class, all the way down (part of obligation 1)."""
    log.count("shape")
    found = misfits(value, record, place)
    for where, witness in found:
        log.reject("shape", where, witness, "write the artifact again")
    return not found


def judge_program(program: Program, target: Target, declared: Declared, place: str, judged: Judged, log: Log) -> None:
    """Judge a program whose records have their types; `judged` is shared by the programs of a deployment."""
    facts: list[Facts | None] = []
    for n, body in enumerate(program.bodies):
        if body not in judged.facts:
            judged.facts[body] = check_body(body, target, f"{place}, body {n}", log)
        facts.append(judged.facts[body])
    tensors = check_tensors(program, declared, target, place, log)
    bounded = bounded_tensors(program, facts)
    bound = True
    for n, phase in enumerate(program.phases):
        for c, call in enumerate(phase):
            at = log.at("binding", f"{place}, phase {n}, call {c}")
            bound &= check_call(call, program, tensors, bounded, target, at)
        check_rectangles(phase, program.bodies, target, log.at("rectangle", f"{place}, phase {n}"))
    if bound and all(f is not None for f in facts) and len(tensors) == len(program.tensors):
        check_versions(program, tensors, facts, target, place, log)
